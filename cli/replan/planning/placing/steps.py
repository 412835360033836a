"""Steps: units of partitions (replicas, leaderships) go from one broker to another, and what they may do.

`flow`, `packing` and `crowding` ask nothing else of a partition. A step keeps the rule of its partition, and the topic
spread, unless more is allowed (`Way`). Those of replicas are here, those of leaders in `leaders`.

A replica goes from one broker to another that is a candidate and not a member, may get new replicas or had this one
before, and lies in the same rack, or in one that may get one more while the first may lose one. Where a rule says
nothing of racks, the partition lies in no fewer than at first. The other may hold more of the topic (`spread`). Unless
more is allowed, a partition gets one new replica by steps, however many it could give.
"""

from abc import ABC, abstractmethod
from enum import StrEnum

import numpy as np
from msgspec import Struct

from replan.model.columns import PAD, Flags, Ints, Matrix
from replan.planning.placing.positions import Positions
from replan.planning.placing.problem import Layout, PlacementProblem
from replan.planning.placing.spread import ANY, TopicSpread

NO_WAY = np.int64(1 << 60)
"""The cost where no unit can go."""


class Way(StrEnum):
    """Which steps are taken, each for what those before it cannot do."""

    ONE_EACH = "one-each"
    """A new replica of a partition that has none yet, and what takes a new replica elsewhere."""
    MORE = "more"
    """New replicas of partitions that have some already."""
    CROWDED = "crowded"
    """Also to brokers that hold more than their share of the topic then: for room on disks alone."""
    ANYWHERE = "anywhere"
    """Also to brokers that hold more of the topic than its rule allows: who asks counts that."""


class Costs(Struct, frozen=True):
    """Of the cheapest unit from each broker to each other; shape (brokers, brokers)."""

    bytes: Ints
    """`NO_WAY` where none can go."""
    changes: Ints


class Steps(ABC):
    """Who has units of some partitions, who had them before, and the steps that are allowed; brokers as positions."""

    def __init__(
        self, problem: PlacementProblem, rows: Ints, lists: Matrix, had: Matrix, spread: TopicSpread
    ) -> None:
        """Take rows of a problem; `lists`: who shall have units of each by now, `had`: who has them."""
        self.brokers = len(problem.brokers.ids)
        self._every = np.arange(self.brokers, dtype=np.int64)
        self.lists, self.had = lists, had
        self.rows, self.topic, self.spread = rows, problem.partitions.topic[rows], spread
        self.rack = problem.brokers.rack
        self.way = Way.ONE_EACH
        self.size = problem.partitions.bytes[rows]
        """Bytes that a step copies."""
        self.new = (~is_in(lists, had) & (lists >= 0)).sum(axis=1)
        """How many new units each partition gives by now."""

    def members(self, row: int) -> list[int]:
        """The brokers of one list."""
        return [b for b in self.lists[row].tolist() if b >= 0]

    def held(self, rows: Ints) -> Flags:
        """Who had some partitions before; shape (rows, brokers)."""
        return has(self.had[rows], self._every)

    def changed_rows(self) -> Flags:
        """Which partitions have left a broker that had them."""
        return np.asarray((~is_in(self.had, self.lists) & (self.had >= 0)).any(axis=1))

    def topic_of(self, row: int) -> int:
        """The number of the partition's topic, 0 where it is always spread."""
        return int(self.spread.of[self.rows[row]])

    def allowance(self, topic: int, broker: int) -> int:
        """How many more of a topic a broker may have."""
        return int(self.spread.allowance[topic, broker])

    def take(self, row: int, source: int, target: int) -> None:
        """Take one unit, which keeps its place in the list."""
        had = self.had[row].tolist()
        self.new[row] += (target not in had) - (source not in had)
        self.lists[row, self.lists[row] == source] = target
        self.spread.take(int(self.rows[row]), [source], [target])

    def put_back(self, lists: Matrix) -> None:
        """Let all units lie where they were in `lists`, an earlier state of them."""
        for row in np.flatnonzero((self.lists != lists).any(axis=1)).tolist():
            here, there = ({b for b in of[row].tolist() if b >= 0} for of in (self.lists, lists))
            self.spread.take(int(self.rows[row]), here - there, there - here)
        self.lists[:] = lists
        self.new = (~is_in(lists, self.had) & (lists >= 0)).sum(axis=1)

    @abstractmethod
    def legal(self, rows: Ints, source: int | Ints | Matrix, to: Ints | None = None) -> Flags:
        """To which brokers, of some or of all, the unit on `source` may go; shape (rows, brokers).

        `source`: one for all rows, or of each.
        """

    @abstractmethod
    def may_leave(self, rows: Ints, source: int | Ints) -> Flags:
        """Which of some partitions may give the unit on `source` to anybody, but for who had it before."""

    def together(self, rows: Ints, others: Ints, target: Ints) -> Flags:
        """Which pairs of partitions, each of which may go to its target, may go there together."""
        of, other = (self.spread.of[self.rows[some]] for some in (rows, others))
        return np.asarray((of != other) | (self.may_take(of, target) > 1))

    def may_take(self, topics: Ints, to: Ints) -> Matrix:
        """How many more of some topics some brokers may have on this way; in the shape of both together."""
        if self.way is Way.ANYWHERE:
            return np.full(np.broadcast_shapes(topics.shape, to.shape), ANY, dtype=np.int32)
        allowance: Matrix = self.spread.allowance[topics, to]
        if self.way is Way.CROWDED:
            allowance = allowance - self.spread.most[topics, to] + self.spread.ruled[topics]
        return allowance

    def copied(self, rows: Ints, source: int | Ints, target: int | Ints) -> Ints:
        """The bytes that it costs, whether it may or not; in the shape of all together."""
        had, size = self.had[rows], self.size[rows]
        more = self._had_not(had, target).astype(np.int64) - self._had_not(had, source)
        copied: Ints = more * size
        return copied

    @staticmethod
    def _had_not(had: Matrix, broker: int | Ints) -> Flags:
        return ~_any_slot(had, np.asarray(broker))

    def costs(self, rows: Ints, source: int) -> Costs:
        """What it costs, whether it may or not; shape (rows, brokers)."""
        more = (~self.held(rows)).astype(np.int64)
        more -= ~(self.had[rows] == source).any(axis=1)[:, None]
        return Costs(more * self.size[rows][:, None], more)


def has(lists: Matrix, brokers: Ints) -> Flags:
    """Which lists have which brokers; shape (lists, brokers)."""
    return _any_slot(lists[:, None, :], brokers)


def _any_slot(lists: Matrix, brokers: Ints) -> Flags:
    """Whether some member of each list is this broker: a slot at a time, which is quicker than all at once."""
    has_it: Flags = lists[..., 0] == brokers
    for slot in range(1, lists.shape[-1]):
        has_it |= lists[..., slot] == brokers
    return has_it


def is_in(lists: Matrix, others: Matrix) -> Flags:
    """Which members of each list are in another list of the same row."""
    inside = np.zeros(lists.shape, dtype=bool)
    for slot in range(others.shape[1]):
        inside |= lists == others[:, slot, None]
    return inside


class ReplicaSteps(Steps):
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
        lies = [r.layout for r in problem.rules]
        self._free = np.array([lie is Layout.NONE for lie in lies])
        self._spread = np.array([lie is Layout.RACK for lie in lies])
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
        legal: Flags = may & ((rack == home) | across)
        if self._free[rule].any():
            spare = self.racks_in(lists) - (at_home == 1) - self.least[rows]
            free = self._free[rule][:, None] & (spare[:, None] + (counts == 0) >= 0)
            legal |= may & free
        return legal

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
        number: Ints = other + (racks[:, 0] >= 0)
        return number


def _count(racks: Ints, rack: Ints) -> Ints:
    """How many replicas of each list lie in a rack: a slot at a time, as in `steps.has`."""
    counts = np.zeros(np.broadcast_shapes(racks.shape[:-1], rack.shape), dtype=np.int64)
    for slot in range(racks.shape[-1]):
        counts += racks[..., slot] == rack
    return counts
