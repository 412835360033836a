"""Kafka's controller: `decide(state, command) -> events` and `evolve(state, event) -> state`, both pure.

Here belong the controller's state, its commands and events, and one module for each family of requests; each rule cites
the class it imitates. What differs between Kafka versions is in `versions`, and nowhere else. Not here: time,
processes, disks, bytes (`cluster`), and files (`persistence`).
"""
