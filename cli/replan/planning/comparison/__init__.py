"""Declared against observed: what belongs together, what it should look like, and what differs. In columns.

Belongs here: the join of the two (`alignment`), mistakes that only show against a cluster (`cluster_check`), the
declared lists under their overlays (`overlays`), the comparison itself (`diff`). Not here: what to do about a
difference (`planner`), whether that is safe (`safety`), and anything that makes an object of a partition that does not
differ.
"""
