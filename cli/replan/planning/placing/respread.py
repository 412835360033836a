"""What was filled goes elsewhere where a broker has come to hold too much of a topic, and another can take it.

Partitions are filled one by one, and what a later one leaves is not known before. A new replica is copied wherever it
comes, so it costs nothing to change where. A declared broker stays.

In turn, each crowded broker of a topic gives one replica to the broker that may take most. Who takes is never crowded
by it, so crowded brokers become fewer. Where a replica may go depends on its own partition alone: that is found once
for all of them, and again for the partition that a step changes.
"""

import numpy as np

from replan.model.columns import Flags, Ints, Matrix
from replan.planning.placing.legal_steps import LegalSteps
from replan.planning.placing.positions import Positions, base_lists
from replan.planning.placing.problem import PlacementProblem
from replan.planning.placing.spread import TopicSpread
from replan.planning.placing.steps import Way

CHUNK = 1 << 14
"""Partitions whose legal steps are found at a time: bounds the memory."""


def respread(
    problem: PlacementProblem, at: Positions, lists: Matrix, rows: Ints, spread: TopicSpread
) -> None:
    """Change `lists`, as ids, of some rows that were filled."""
    crowded = np.flatnonzero((spread.left < 0).any(axis=1))
    rows = rows[np.isin(spread.of[rows], crowded)]
    if not len(rows):
        return
    mine, had = at.find(lists[rows]), at.find(problem.partitions.current[rows])
    base = at.find(base_lists(problem)[rows])
    steps = LegalSteps(problem, at, rows, mine, had, spread)
    steps.least = np.minimum(steps.least, steps.racks_in(had))
    steps.way = Way.CROWDED  # what a broker may hold is asked at each step
    order = np.argsort(spread.of[rows], kind="stable")
    ends = np.searchsorted(spread.of[rows][order], crowded + 1)
    for topic, of_topic in zip(crowded.tolist(), np.split(order, ends[:-1]), strict=True):
        _respread_topic(steps, base, topic, of_topic)
    lists[rows, : mine.shape[1]] = np.where(mine >= 0, at.ids[mine], lists[rows])


def _respread_topic(steps: LegalSteps, base: Matrix, topic: int, rows: Ints) -> None:
    left = steps.spread.left[topic]
    takers = np.flatnonzero(left[: steps.brokers] > 0)
    givers = {}
    for broker in np.flatnonzero(left < 0).tolist():
        fixed = _hold(steps.had[rows], broker) | _hold(base[rows], broker)
        filled = _hold(steps.lists[rows], broker) & ~fixed
        givers[broker] = _Giver(steps, rows[filled], broker, takers)
    changed = True
    while changed:
        changed = False
        for broker, giver in givers.items():
            step = giver.best(left[takers].tolist()) if left[broker] < 0 else None
            if step:
                row, target = step
                members = steps.members(row)
                steps.take(row, broker, target)
                for other in givers.keys() & members:
                    givers[other].look_again(row)
                changed = True


class _Giver:
    """A broker that holds too much of a topic, and where its new replicas may go."""

    def __init__(self, steps: LegalSteps, rows: Ints, broker: int, takers: Ints) -> None:
        self._steps, self._broker, self._takers = steps, broker, takers
        self._rows = rows
        self._legal = np.zeros((len(takers), len(rows) + 1), dtype=bool)
        """Shape (takers, partitions and one that ends the search)."""
        self._legal[:, -1] = True
        for start in range(0, len(rows), CHUNK):
            some = rows[start : start + CHUNK]
            self._legal[:, start : start + len(some)] = steps.legal(some, broker, takers).T
        self._first: list[int] = self._legal.argmax(axis=1).tolist()

    def best(self, left: list[int]) -> tuple[int, int] | None:
        """The replica that goes to who may take most, by the row, and who takes it; the first of equal ones."""
        none = len(self._rows)
        ways = [
            (-more, first, taker)
            for taker, (more, first) in enumerate(zip(left, self._first, strict=True))
            if more > 0 and first < none
        ]
        if not ways:
            return None
        _, first, taker = min(ways)
        return int(self._rows[first]), int(self._takers[taker])

    def look_again(self, row: int) -> None:
        """Find again where a partition may go, that has changed."""
        place = int(np.searchsorted(self._rows, row))
        if not (self._rows[place : place + 1] == row).any():
            return
        self._legal[:, place] = False
        if self._broker in self._steps.members(row):
            self._legal[:, place] = self._steps.legal(np.array([row]), self._broker, self._takers)
        for taker, first in enumerate(self._first):
            start = min(first, place)
            self._first[taker] = start + int(self._legal[taker, start:].argmax())


def _hold(lists: Matrix, broker: int) -> Flags:
    """Which lists have a broker."""
    return np.asarray((lists == broker).any(axis=1))
