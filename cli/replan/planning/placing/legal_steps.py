"""Which replica may go where within the rule of its partition: for many partitions at a time.

A step takes one replica of a partition from one broker to another. It keeps the rule: the other is a candidate and not
a member, may get new replicas or had this one before, and lies in the same rack, or in one that may get one more while
the first may lose one. Where a rule says nothing of racks, the partition lies in no fewer than at first. It keeps the
topic spread: the other may hold more of it (`spread`). Unless more is allowed (`Way`), a partition gets one new replica
by steps, however many it could give.
"""

import numpy as np

from replan.model.columns import PAD, Flags, Ints, Matrix
from replan.planning.placing.positions import Positions
from replan.planning.placing.problem import Lie, PlacementProblem
from replan.planning.placing.spread import TopicSpread
from replan.planning.placing.steps import Steps, Way, has


class LegalSteps(Steps):
    """The lists of some partitions, all of which keep their rules, and the steps that they allow."""

    def __init__(
        self,
        problem: PlacementProblem,
        at: Positions,
        rows: Ints,
        lists: Matrix,
        had: Matrix,
        spread: TopicSpread,
    ) -> None:
        """Take rows of a problem; `lists`: what they shall have by now, `had`: what they have, both as positions."""
        super().__init__(problem, rows, lists, had, spread)
        brokers = problem.brokers
        self._stays = np.isin(rows, problem.staying)
        self._rule = problem.partitions.rule[rows]
        self._rack = at.racks(brokers.rack)
        self._candidates = np.array([r.candidates for r in problem.rules])
        self._open = brokers.open
        lies = [r.lie for r in problem.rules]
        self._free = np.array([lie is Lie.NONE for lie in lies])
        self._spread = np.array([lie is Lie.RACK for lie in lies])
        racks = [len(np.unique(brokers.rack[r.candidates])) or 1 for r in problem.rules]
        self._floor = problem.partitions.factor[rows] // np.array(racks)[self._rule]
        self.least = self.racks_in(lists)
        """In how many racks each stays, where its rule says nothing of racks."""
        self._most_new = np.maximum(self.new, 1)

    def legal(self, rows: Ints, source: int | Ints | Matrix, to: Ints | None = None) -> Flags:
        """To which brokers, of some or of all, the replica on `source` may go; shape (rows, brokers)."""
        to = self._every if to is None else to
        rule, lists, had = self._rule[rows], self.lists[rows], self.had[rows]
        sources = np.broadcast_to(np.asarray(source), len(rows))[:, None]
        there = has(had, to)
        may = self._candidates[rule[:, None], to] & ~has(lists, to) & (self._open[to] | there)
        may &= ~self._stays[rows][:, None]
        if self.way is not Way.ANYWHERE and (self.way is not Way.CROWDED or self.spread.any_ruled):
            may &= self.may_take(self.spread.of[self.rows[rows]][:, None], to) > 0
        if self.way is Way.ONE_EACH:
            may &= there | ~self._full(rows, sources)[:, None]
        racks = np.where(lists == PAD, -1, self._rack[lists])
        home, rack = self._rack[sources], self._rack[to]
        counts = _count(racks[:, None, :], rack)
        at_home = _count(racks, home[:, 0])
        floor = self._floor[rows]
        across = (self._spread[rule] & (at_home > floor))[:, None] & (counts == floor[:, None])
        found: Flags = may & ((rack == home) | across)
        if self._free[rule].any():
            spare = self.racks_in(lists) - (at_home == 1) - self.least[rows]
            free = self._free[rule][:, None] & (spare[:, None] + (counts == 0) >= 0)
            found |= may & free
        return found

    def may_leave(self, rows: Ints, source: int | Ints) -> Flags:
        """Which of some partitions may give the replica on `source` to anybody, but for who had it before."""
        able = ~self._stays[rows]
        if self.way is Way.ONE_EACH:
            able &= ~self._full(rows, np.broadcast_to(np.asarray(source), len(rows))[:, None])
        return able

    def _full(self, rows: Ints, sources: Ints) -> Flags:
        """Which partitions give no further new replica by the one on `sources`."""
        had = (self.had[rows] == sources).any(axis=1)
        return np.asarray(had & (self.new[rows] >= self._most_new[rows]))

    def racks_in(self, lists: Matrix) -> Ints:
        """How many racks each list lies in."""
        racks = np.sort(np.where(lists == PAD, -1, self._rack[lists]), axis=1)
        other = (racks[:, 1:] != racks[:, :-1]).sum(axis=1)
        found: Ints = other + (racks[:, 0] >= 0)
        return found


def _count(racks: Ints, rack: Ints) -> Ints:
    """How many replicas of each list lie in a rack: a slot at a time, as in `steps.has`."""
    found = np.zeros(np.broadcast_shapes(racks.shape[:-1], rack.shape), dtype=np.int64)
    for slot in range(racks.shape[-1]):
        found += racks[..., slot] == rack
    return found
