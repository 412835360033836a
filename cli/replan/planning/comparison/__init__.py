"""Declared against observed: what belongs together, what it should look like, and what differs. In columns.

In the order in which `planning.compared` asks for it:

1. `alignment`: which row of the one is which row of the other, and which entry counts; `blacklist`: which entries of
   blacklists hold now, and whom they reach.
2. `cluster_check`: mistakes that only show against a cluster.
3. `chosen`: the lists that drains and rules make, by `placing`; with the brokers that topics leave to others (`apart`),
   and what a balance asks for beside shares (`balanced`).
4. `overlays`: these lists in the order that is wanted: by preferred leaders, `leader_order` and leader blacklists; or
   in an order that comes back (`remembered`).
5. `diff`: what differs.
6. `acknowledged`: what of it is known; `without_effect`: what is declared and changes nothing; `part`: what is planned.

Not here: what to do about a difference (`making`), whether that is safe (`safety`), and anything that makes an object
of a partition that does not differ.
"""
