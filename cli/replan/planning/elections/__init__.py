"""Elections that are asked for by themselves: which partitions are meant, who can lead them, and the plan of it. Pure.

Belongs here: choosing partitions for an election, and what may be elected now. Not here: the orders and leaders that a
placement declares (`comparison`), how an election is asked for and confirmed (`next_request`, `applying`).
"""
