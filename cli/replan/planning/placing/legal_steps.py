"""Which replica may go where within the rule of its partition, and what that costs: for many partitions at a time.

A step takes one replica of a partition from one broker to another. It keeps the rule: the other is a candidate and not
a member, may get new replicas or had this one before, and lies in the same rack, or in one that may get one more while
the first may lose one. Where a rule says nothing of racks, the partition lies in no fewer than at first. It keeps the
topic spread: the other may hold more of it (`spread`). Unless more is allowed (`Way`), a partition gets one new replica
by steps, however many it could give.
"""

from enum import StrEnum

import numpy as np

from replan.model.columns import PAD, Ints, Matrix
from replan.planning.placing.flow import Costs
from replan.planning.placing.positions import Positions
from replan.planning.placing.problem import Flags, Lie, PlacementProblem
from replan.planning.placing.spread import TopicSpread


class Way(StrEnum):
    """Which steps are taken, each for what those before it cannot do."""

    ONE_EACH = "one-each"
    """A new replica of a partition that has none yet, and what takes a new replica elsewhere."""
    MORE = "more"
    """New replicas of partitions that have some already."""
    CROWDED = "crowded"
    """Also to brokers that hold too much of the topic then: for room on disks alone."""


class LegalSteps:
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
        brokers = problem.brokers
        self.brokers = len(brokers.ids)
        self._every = np.arange(self.brokers, dtype=np.int64)
        self.lists, self.had = lists, had
        self.rows, self.topic, self.spread = rows, problem.partitions.topic[rows], spread
        self.way = Way.ONE_EACH
        self.size = problem.partitions.bytes[rows]
        self._stays = np.isin(rows, problem.staying)
        self._rule = problem.partitions.rule[rows]
        self._rack = at.racks(brokers.rack)
        self._candidates = np.array([r.candidates for r in problem.rules])
        self._open = brokers.open
        lies = [r.lie for r in problem.rules]
        self._free = np.array([lie is Lie.NONE for lie in lies])
        self._spread = np.array([lie is Lie.RACK for lie in lies])
        racks = [len(np.unique(brokers.rack[r.candidates])) for r in problem.rules]
        self._floor = problem.partitions.factor[rows] // np.array(racks)[self._rule]
        self.least = self.racks_in(lists)
        """In how many racks each stays, where its rule says nothing of racks."""
        self.new = (~_in(lists, had) & (lists >= 0)).sum(axis=1)
        """How many new replicas each partition gets by now."""
        self._most_new = np.maximum(self.new, 1)

    def members(self, row: int) -> list[int]:
        """The brokers of one list."""
        return [b for b in self.lists[row].tolist() if b >= 0]

    def held(self, rows: Ints) -> Flags:
        """Who had some partitions before; shape (rows, brokers)."""
        return _has(self.had[rows], self._every)

    def left_behind(self) -> Flags:
        """Which partitions have left a broker that had them."""
        return np.asarray((~_in(self.had, self.lists) & (self.had >= 0)).any(axis=1))

    def topic_of(self, row: int) -> int:
        """The number of the partition's topic, 0 where it is always spread."""
        return int(self.spread.of[self.rows[row]])

    def left(self, topic: int, broker: int) -> int:
        """How many more of a topic a broker may hold."""
        return int(self.spread.left[topic, broker])

    def take(self, row: int, source: int, target: int) -> None:
        """Take one replica, which keeps its place in the list."""
        self.new[row] += self._adds(row, source, target)
        self.lists[row, self.lists[row] == source] = target
        self.spread.take(int(self.rows[row]), [source], [target])

    def _adds(self, row: int, source: int, target: int) -> int:
        had = self.had[row].tolist()
        return (target not in had) - (source not in had)

    def legal(self, rows: Ints, source: int | Matrix, to: Ints | None = None) -> Flags:
        """To which brokers, of some or of all, the replica on `source` may go; shape (rows, brokers).

        `source`: one for all rows, or of each.
        """
        to = self._every if to is None else to
        rule, lists, had = self._rule[rows], self.lists[rows], self.had[rows]
        sources = np.broadcast_to(np.asarray(source), len(rows))[:, None]
        there = _has(had, to)
        may = self._candidates[rule][:, to] & ~_has(lists, to) & (self._open[to] | there)
        may &= ~self._stays[rows][:, None]
        if self.way is not Way.CROWDED:
            may &= self.spread.left[self.spread.of[self.rows[rows]]][:, to] > 0
        if self.way is Way.ONE_EACH:
            full = (self.new[rows] >= self._most_new[rows]) & (had == sources).any(axis=1)
            may &= there | ~full[:, None]
        racks = np.where(lists == PAD, -1, self._rack[lists])
        home, rack = self._rack[sources], self._rack[to]
        counts = (racks[:, :, None] == rack).sum(axis=1)
        at_home = (racks == home).sum(axis=1)
        floor = self._floor[rows]
        across = (self._spread[rule] & (at_home > floor))[:, None] & (counts == floor[:, None])
        spare = self.racks_in(lists) - (at_home == 1) - self.least[rows]
        free = self._free[rule][:, None] & (spare[:, None] + (counts == 0) >= 0)
        found: Flags = may & ((rack == home) | across | free)
        return found

    def together(self, rows: Ints, others: Ints, target: int) -> Flags:
        """Which pairs of partitions, each of which may go to a broker, may go there together."""
        of, other = (self.spread.of[self.rows[some]] for some in (rows, others))
        return np.asarray(
            (of != other) | (self.spread.left[of, target] > 1) | (self.way is Way.CROWDED)
        )

    def costs(self, rows: Ints, source: int) -> Costs:
        """What it costs, whether it may or not; shape (rows, brokers)."""
        more = (~self.held(rows)).astype(np.int64)
        more -= ~(self.had[rows] == source).any(axis=1)[:, None]
        return Costs(more * self.size[rows][:, None], more)

    def racks_in(self, lists: Matrix) -> Ints:
        """How many racks each list lies in."""
        racks = np.sort(np.where(lists == PAD, -1, self._rack[lists]), axis=1)
        other = (racks[:, 1:] != racks[:, :-1]).sum(axis=1)
        found: Ints = other + (racks[:, 0] >= 0)
        return found


def _has(lists: Matrix, brokers: Ints) -> Flags:
    """Which lists have which brokers; shape (lists, brokers)."""
    found: Flags = (lists[:, :, None] == brokers).any(axis=1)
    return found


def _in(lists: Matrix, others: Matrix) -> Flags:
    """Which members of each list are in another list of the same row."""
    found = np.zeros(lists.shape, dtype=bool)
    for slot in range(others.shape[1]):
        found |= lists == others[:, slot, None]
    return found
