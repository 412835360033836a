"""What judges: rules that refuse a move, and invariants that every plan and every run must keep. Pure.

Belongs here: why a move is not planned (`refusals`), what must hold of any plan (`plan_invariants`) and of any run
(`run_invariants`). Not here: what makes a plan or performs one; a judge never repairs what it judges.
"""
