"""What a tick reads of the cluster, and what only several readings show.

Not here: what is concluded from it (`partitions`, `admission`, `throttles`).
"""
