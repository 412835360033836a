"""What is not the controller: time, processes, disks and copies.

Here belong the physical state, `advance` (what happens by itself with time), `submit` (how a command reaches the
controller and what its decision does to logs), and the faults with their effects. Add a fault: its value in `faults`,
its effect in `apply_fault`, its words in `replan.faults`. Not here: the controller's rules (`controller`), the Kafka
client's view (`client_view`).
"""
