"""What was filled goes elsewhere where a broker has come to hold too much of a topic, and another can take it.

Partitions are filled one by one, and what a later one leaves is not known before. A new replica is copied wherever it
comes, so it costs nothing to change where.
"""

import numpy as np

from replan.model.columns import Ints, Matrix
from replan.planning.placing.legal_steps import LegalSteps
from replan.planning.placing.positions import Positions
from replan.planning.placing.problem import Flags, PlacementProblem
from replan.planning.placing.spread import TopicSpread


def respread(
    problem: PlacementProblem, at: Positions, lists: Matrix, rows: Ints, spread: TopicSpread
) -> None:
    """Change `lists`, as ids, of some rows that were filled."""
    rows = rows[np.isin(spread.of[rows], np.flatnonzero((spread.left < 0).any(axis=1)))]
    if not len(rows):
        return
    mine, had = at.find(lists[rows]), at.find(problem.partitions.current[rows])
    steps = LegalSteps(problem, at, rows, mine, had, spread)
    steps.least = np.minimum(steps.least, steps.racks_in(had))
    changed = True
    while changed:
        changed = False
        for topic, broker in np.argwhere(spread.left < 0).tolist():
            changed |= _elsewhere(steps, spread.of[rows] == topic, topic, broker)
    lists[rows, : mine.shape[1]] = np.where(mine >= 0, at.ids[mine], lists[rows])


def _elsewhere(steps: LegalSteps, of_topic: Flags, topic: int, broker: int) -> bool:
    """Whether a new replica of the topic goes from one broker to the one that may take most."""
    new = (steps.lists == broker).any(axis=1) & ~(steps.had == broker).any(axis=1)
    rows = np.flatnonzero(of_topic & new)
    left = np.where(steps.legal(rows, broker), steps.spread.left[topic, : steps.brokers], 0)
    if not left.any():
        return False
    row, target = divmod(int(left.argmax()), steps.brokers)
    steps.take(int(rows[row]), broker, target)
    return True
