"""Faults in words: one vocabulary for `--fault "kill 3 at 10m for 5m"` and for scenarios.

Here belong the forms (`kinds`), and reading them with their error texts (`read`). Add a fault: its form here, its value
and effect in `simulator.cluster`. Not here: faults at random (`rehearsal.setup`, `rehearsal.loop_faults`), and how a
scenario lets time pass (`scenarios`).
"""
