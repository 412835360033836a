"""Faults in words: one vocabulary for `--fault "kill 3 at 10m for 5m"` and for scenarios.

Here belong the forms, one small module for each family, and reading them with their error texts. Add a fault: its form
here, its value and effect in `simulator.cluster`. Not here: faults at random (`rehearsal.random_faults`), and how a
scenario lets time pass (`scenarios`).
"""
