"""Who comes first in the lists that were changed, and so leads them, is spread by topic as well.

Where the first of a list has left, its place is that of who came for it, unless that one would lead too much of the
topic (`spread`): then of the first live one in the list that would not, or else that leads least of it. Declared lists
and those of new partitions keep their order.
"""

import numpy as np

from replan.model.columns import Flags, Matrix
from replan.planning.placing.positions import Positions, base_lists
from replan.planning.placing.problem import Lie, PlacementProblem
from replan.planning.placing.spread import TopicSpread


def spread_heads(problem: PlacementProblem, at: Positions, lists: Matrix, placed: Flags) -> None:
    """Change the order of `lists`, as ids, where a new first one leads too much."""
    base = base_lists(problem)[:, 0]
    by_rule = np.array([rule.lie is not Lie.LISTED for rule in problem.rules] + [False])
    free = by_rule[problem.partitions.rule] & placed & (base >= 0)
    rows = np.flatnonzero(free & (lists[:, 0] != base))
    if not len(rows):
        return
    fenced = at.flags(problem.brokers.fenced, others=True, padding=True)
    spread = TopicSpread(problem, at, rows, lists, heads=True)
    for row, members in zip(rows.tolist(), at.find(lists[rows]).tolist(), strict=True):
        left = spread.left_of(row)
        if left[members[0]] >= 0:
            continue
        others = [b for b in members[1:] if not fenced[b]]
        able = [b for b in others if left[b] > 0]
        least = max(others, key=lambda b: left[b], default=members[0])
        if able or left[least] > left[members[0]] + 1:
            head = able[0] if able else least
            spread.take(row, [members[0]], [head])
            order = [head, *(b for b in members if b != head and b >= 0)]
            lists[row, : len(order)] = at.ids[order]
