"""How fast replicas are copied, and how large logs become: networks, disks, throttles and retention.

Here belong questions about bytes per second alone; they read a state and never change one. Not here: when something
happens (`cluster.advance`).
"""
