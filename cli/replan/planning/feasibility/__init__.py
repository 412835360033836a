"""Which constraints of a partition leave no placement together: exact for counts, racks and minimums.

Belongs here: the constraints of one partition and the exact answer under any part of them (`one_partition`), the search
for those that cannot be spared, and the conflicts of everything that a plan refuses (`conflicts`).
Not here: choosing a placement (`placing`), refusing a move (`safety`), and sentences (`reporting`).
"""
