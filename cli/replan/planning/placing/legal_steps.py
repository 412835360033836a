"""Which replica may go where within the rule of its partition, and what that costs: for many partitions at a time.

A step takes one replica of a partition from one broker to another. It keeps the rule: the other is a candidate and not
a member, may get new replicas or had this one before, and lies in the same rack, or in one that may get one more while
the first may lose one.
"""

import numpy as np

from replan.model.columns import PAD, Ints, Matrix
from replan.planning.placing.flow import Costs
from replan.planning.placing.problem import Flags, Lie, PlacementProblem


class LegalSteps:
    """The lists of some partitions, all of which keep their rules, and the steps that they allow."""

    def __init__(self, problem: PlacementProblem, rows: Ints, lists: Matrix, had: Matrix) -> None:
        """Take rows of a problem; `lists`: what they shall have by now, `had`: what they have, both as positions."""
        brokers = problem.brokers
        self.brokers = len(brokers.ids)
        self.lists = lists
        self.size = problem.partitions.bytes[rows]
        self._rule = problem.partitions.rule[rows]
        self._rack = brokers.rack
        self._candidates = np.array([r.candidates for r in problem.rules])
        self._open = brokers.open
        lies = [r.lie for r in problem.rules]
        self._free = np.array([lie is Lie.NONE for lie in lies])
        self._spread = np.array([lie is Lie.RACK for lie in lies])
        racks = [len(np.unique(brokers.rack[r.candidates])) for r in problem.rules]
        self._floor = problem.partitions.factor[rows] // np.array(racks)[self._rule]
        self._had = self._membership(had)

    def members(self, row: int) -> list[int]:
        """The brokers of one list."""
        return [b for b in self.lists[row].tolist() if b >= 0]

    def changed(self) -> Flags:
        """Which lists have other members than before."""
        found: Flags = (self._membership(self.lists) != self._had).any(axis=1)
        return found

    def take(self, row: int, source: int, target: int) -> None:
        """Take one replica, which keeps its place in the list."""
        self.lists[row, self.lists[row] == source] = target

    def legal(self, rows: Ints, source: int) -> Flags:
        """To whom the replica on `source` may go; shape (rows, brokers)."""
        rule, lists = self._rule[rows], self.lists[rows]
        may = self._candidates[rule] & ~self._membership(lists) & (self._open | self._had[rows])
        racks = np.where(lists == PAD, -1, self._rack[lists])
        home = self._rack[source]
        near = self._free[rule][:, None] | (self._rack == home)
        counts = (racks[:, :, None] == self._rack).sum(axis=1)
        spare = (racks == home).sum(axis=1) > self._floor[rows]
        across = (self._spread[rule] & spare)[:, None] & (counts == self._floor[rows][:, None])
        found: Flags = may & (near | across)
        return found

    def costs(self, rows: Ints, source: int) -> Costs:
        """What it costs, whether it may or not; shape (rows, brokers)."""
        more = (~self._had[rows]).astype(np.int64) - ~self._had[rows, source][:, None]
        return Costs(more * self.size[rows][:, None], more)

    def _membership(self, lists: Matrix) -> Flags:
        found = np.zeros((len(lists), self.brokers + 2), dtype=bool)
        at = np.where((lists >= 0) & (lists < self.brokers), lists, self.brokers)
        found[np.arange(len(lists))[:, None], at] = True
        return found[:, : self.brokers]
