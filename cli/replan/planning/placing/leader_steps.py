"""Which leadership may go where: to another member of the partition's list, by a change of order that copies nothing.

The other may lead: it is registered and not fenced, and no blacklist keeps it from leading the topic. It keeps the
topic spread: the other may lead more of it (`spread`).
"""

import numpy as np

from replan.model.columns import Flags, Ints, Matrix
from replan.planning.placing.problem import PlacementProblem
from replan.planning.placing.spread import TopicSpread
from replan.planning.placing.steps import Steps, Way, has


class LeaderSteps(Steps):
    """Who leads some partitions, as lists of one broker each, and the members of each that may."""

    def __init__(
        self,
        problem: PlacementProblem,
        rows: Ints,
        heads: Ints,
        may_lead: Matrix,
        spread: TopicSpread,
    ) -> None:
        """`heads`: who leads each by now; `may_lead`: the members that may, -1 elsewhere; both as positions."""
        lists: Matrix = heads[:, None].astype(np.int32)
        super().__init__(problem, rows, lists, lists.copy(), spread)
        self._may_lead = may_lead
        self.size = np.zeros(len(rows), dtype=np.int64)

    def legal(self, rows: Ints, source: int | Ints | Matrix, to: Ints | None = None) -> Flags:
        """To which brokers, of some or of all, the leadership of `source` may go; shape (rows, brokers)."""
        to = self._every if to is None else to
        sources = np.broadcast_to(np.asarray(source), len(rows))[:, None]
        may: Flags = has(self._may_lead[rows], to) & (to != sources)
        may &= self.lists[rows] == sources
        if self.way is not Way.CROWDED:
            may &= self.may_take(self.spread.of[self.rows[rows]][:, None], to) > 0
        return may

    def may_leave(self, rows: Ints, source: int | Ints) -> Flags:
        """Which of some partitions may give the leadership of `source` to anybody."""
        return np.asarray((self._may_lead[rows] >= 0).any(axis=1) & (self.lists[rows, 0] == source))
