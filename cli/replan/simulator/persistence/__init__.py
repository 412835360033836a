"""A simulated cluster as a snapshot and as a file, and back.

Here belong the translation to and from snapshots, the part `simulation` that a cluster file has, and
the file with its lock. Not here: the forms of snapshots themselves (`replan.snapshots`).
"""
