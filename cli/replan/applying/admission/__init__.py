"""Which waiting moves may begin: the queue, slots, room on disks, and the gates. A new gate belongs in `gates`.

Not here: what a partition needs next (`partitions`), and the throttle of a copy (`throttles`).
"""
