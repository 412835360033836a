"""What a placement file says, as values: lists, rules, throttles, policy, recovery, and where each of it stands.

Not here: how the file is read (`placement_file`), and what is observed of a cluster (`model`).
"""
