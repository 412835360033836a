"""(placement, snapshot, rates) -> plan, and what one move asks next. Pure: no clock, no disk, no network.

Here belong the comparison of what is declared with what is observed (`comparison`, `drift`), the choice of brokers
(`placing`), moves and the plan of them (`planner`, `moves`, `plan`), and what judges a plan (`safety`). Not here:
performing it (`applying`), and words for readers (`reporting`).
"""
