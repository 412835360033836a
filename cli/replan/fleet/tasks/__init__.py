"""Which work a fleet has: sources, their heads, pairs of snapshot and placement, and a task for each cluster."""
