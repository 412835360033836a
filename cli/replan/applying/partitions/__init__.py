"""One partition: what it was planned from, and what to do about it now.

Not here: what several partitions share, such as slots, room on disks and throttles (`admission`, `throttles`).
"""
