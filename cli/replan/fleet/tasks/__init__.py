"""Which work a fleet has: a task for each cluster, and what it is done with."""
