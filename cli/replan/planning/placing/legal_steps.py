"""Which replica may go where within the rule of its partition, and what that costs: for many partitions at a time.

A step takes one replica of a partition from one broker to another. It keeps the rule: the other is a candidate and not
a member, may get new replicas or had this one before, and lies in the same rack, or in one that may get one more while
the first may lose one. Where a rule says nothing of racks, the partition lies in no fewer than at first.
"""

import numpy as np

from replan.model.columns import PAD, Ints, Matrix
from replan.planning.placing.flow import Costs
from replan.planning.placing.problem import NO_RACK, Flags, Lie, PlacementProblem


class LegalSteps:
    """The lists of some partitions, all of which keep their rules, and the steps that they allow."""

    def __init__(self, problem: PlacementProblem, rows: Ints, lists: Matrix, had: Matrix) -> None:
        """Take rows of a problem; `lists`: what they shall have by now, `had`: what they have, both as positions."""
        brokers = problem.brokers
        self.brokers = len(brokers.ids)
        self.lists = lists
        self.size = problem.partitions.bytes[rows]
        self._stays = np.isin(rows, problem.staying)
        self._rule = problem.partitions.rule[rows]
        unknown = len(brokers.racks) + np.arange(self.brokers)
        self._rack = np.where(brokers.rack == NO_RACK, unknown, brokers.rack)
        self._candidates = np.array([r.candidates for r in problem.rules])
        self._open = brokers.open
        lies = [r.lie for r in problem.rules]
        self._free = np.array([lie is Lie.NONE for lie in lies])
        self._spread = np.array([lie is Lie.RACK for lie in lies])
        racks = [len(np.unique(brokers.rack[r.candidates])) for r in problem.rules]
        self._floor = problem.partitions.factor[rows] // np.array(racks)[self._rule]
        self._had = self._membership(had)
        self._least = self._racks_in(lists)

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
        may &= ~self._stays[rows][:, None]
        racks = np.where(lists == PAD, -1, self._rack[lists])
        home = self._rack[source]
        counts = (racks[:, :, None] == self._rack).sum(axis=1)
        at_home = (racks == home).sum(axis=1)
        floor = self._floor[rows]
        across = (self._spread[rule] & (at_home > floor))[:, None] & (counts == floor[:, None])
        spare = self._racks_in(lists) - (at_home == 1) - self._least[rows]
        free = self._free[rule][:, None] & (spare[:, None] + (counts == 0) >= 0)
        found: Flags = may & ((self._rack == home) | across | free)
        return found

    def costs(self, rows: Ints, source: int) -> Costs:
        """What it costs, whether it may or not; shape (rows, brokers)."""
        more = (~self._had[rows]).astype(np.int64) - ~self._had[rows, source][:, None]
        return Costs(more * self.size[rows][:, None], more)

    def _racks_in(self, lists: Matrix) -> Ints:
        """How many racks each list lies in."""
        racks = np.sort(np.where(lists == PAD, -1, self._rack[lists]), axis=1)
        other = (racks[:, 1:] != racks[:, :-1]).sum(axis=1)
        found: Ints = other + (racks[:, 0] >= 0)
        return found

    def _membership(self, lists: Matrix) -> Flags:
        found = np.zeros((len(lists), self.brokers + 2), dtype=bool)
        at = np.where((lists >= 0) & (lists < self.brokers), lists, self.brokers)
        found[np.arange(len(lists))[:, None], at] = True
        return found[:, : self.brokers]
