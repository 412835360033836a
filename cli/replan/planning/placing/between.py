"""What may go between one broker and others: what is next to a size, or some of all sizes of a broker with many.

So it takes as long however many partitions a broker has.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from replan.model.columns import PAD, Flags, Ints
from replan.planning.placing.steps import Steps

LOOK = 192
"""So many partitions of a broker are looked at."""
SPARSE = 4
"""Where fewer than this part of those that are tried may go, but some, more of the broker are looked at."""
CLOSELY = 1536
"""So many."""
NEIGHBOURS = np.arange(-8, 4)
"""The places of those that are next to some number of units, the smaller and the larger ones."""


class Holders:
    """The partitions of each broker that may leave it: those with the fewest units first, then in their order.

    What a broker shows is kept until it, or a partition that it has, has changed.
    """

    def __init__(self, steps: Steps, units: Ints) -> None:
        self._steps = steps
        self._by_rank = np.argsort(units, kind="stable")
        self._units = units[self._by_rank]
        self._rank = np.empty_like(self._by_rank)
        self._rank[self._by_rank] = np.arange(len(units))
        by_rank = steps.lists[self._by_rank]
        rank, slot = np.nonzero((by_rank >= 0) & (by_rank < steps.brokers))
        broker = by_rank[rank, slot]
        order = np.argsort(broker, kind="stable")
        ends = np.searchsorted(broker[order], np.arange(1, steps.brokers))
        self._of = np.split(rank[order], ends)
        self._able: dict[int, Ints] = {}
        self._shown: dict[int, Ints] = {}
        self.largest = np.array([self._most_of(broker) for broker in range(steps.brokers)])
        """The most units of a partition that each broker has."""

    def _most_of(self, broker: int) -> int:
        ranks = self._of[broker]
        return int(self._units[ranks[-1]]) if len(ranks) else 0

    def smallest(self, broker: int) -> int:
        """The fewest units of a partition that may leave a broker; 0 where none may."""
        ranks = self._ranks(broker)
        return int(self._units[ranks[0]]) if len(ranks) else 0

    def shown(self, broker: int) -> Ints:
        """Some of a broker, of all sizes."""
        if broker not in self._shown:
            self._shown[broker] = self.some(broker, LOOK)
        return self._shown[broker]

    def some(self, broker: int, number: int) -> Ints:
        """So many of a broker, of all sizes."""
        return np.asarray(self._by_rank[spread_out(self._ranks(broker), number)])

    def near(self, broker: int, units: Ints) -> Ints:
        """Those of a broker that are next to each of some numbers of units; shape (numbers, `NEIGHBOURS`), -1 pads."""
        ranks = self._ranks(broker)
        at = np.searchsorted(ranks, np.searchsorted(self._units, units))[:, None] + NEIGHBOURS
        there = (at >= 0) & (at < len(ranks))
        rows = np.full(at.shape, PAD, dtype=np.int64)
        rows[there] = self._by_rank[ranks[at[there]]]
        return rows

    def number(self, broker: int) -> int:
        """How many may leave a broker."""
        return len(self._ranks(broker))

    def _ranks(self, broker: int) -> Ints:
        if broker not in self._able:
            ranks = self._of[broker]
            self._able[broker] = ranks[self._steps.may_leave(self._by_rank[ranks], broker)]
        return self._able[broker]

    def forget(self) -> None:
        """What may leave is another now: other steps are allowed."""
        self._able.clear()
        self._shown.clear()

    def take(self, row: int, source: int, target: int) -> None:
        """Count that one goes."""
        rank = int(self._rank[row])
        self._of[source] = _without(self._of[source], rank)
        self._of[target] = _with(self._of[target], rank)
        for broker in (source, target):
            self.largest[broker] = self._most_of(broker)
        members = self._steps.members(row)
        able = self._steps.may_leave(np.full(len(members), row), np.array(members)).tolist()
        for broker, may in ((source, False), *zip(members, able, strict=True)):
            self._shown.pop(broker, None)
            if broker in self._able:
                self._able[broker] = (_with if may else _without)(self._able[broker], rank)


def _with(ranks: Ints, rank: int) -> Ints:
    """Some ranks in order, with one more where it is not among them."""
    at = int(np.searchsorted(ranks, rank))
    there = at < len(ranks) and ranks[at] == rank
    return ranks if there else np.concatenate((ranks[:at], (rank,), ranks[at:]))


def _without(ranks: Ints, rank: int) -> Ints:
    """Some ranks in order, without one where it is among them."""
    at = int(np.searchsorted(ranks, rank))
    there = at < len(ranks) and ranks[at] == rank
    return np.concatenate((ranks[:at], ranks[at + 1 :])) if there else ranks


class Units(NamedTuple):
    """Units that may go between pairs of brokers; shapes (pairs, units), of `gives` and `gets` (pairs, 1)."""

    rows: Ints
    """-1 pads."""
    gives: Ints
    gets: Ints
    legal: Flags

    def only(self, legal: Flags) -> "Units":
        """Those of them that may go, without columns of which none may."""
        some = legal.any(axis=0)
        return Units(self.rows[:, some], self.gives, self.gets, legal[:, some])


class Between:
    """One broker and some others, and what may go from it to each of them, and from each of them to it."""

    def __init__(self, steps: Steps, holders: Holders, broker: int, others: Ints) -> None:
        self._steps, self._holders = steps, holders
        self._broker, self._others = broker, others

    def some(self, places: Ints) -> "Between":
        """Only some of the others."""
        return Between(self._steps, self._holders, self._broker, self._others[places])

    @cached_property
    def going(self) -> Units:
        """From the one to the others."""
        return self._going(self._holders.shown(self._broker), self._others)

    @cached_property
    def coming(self) -> Units:
        """From the others to the one."""
        shown = [self._holders.shown(other) for other in self._others.tolist()]
        return self._coming(shown, self._others)

    def going_some(self, width: int) -> Units:
        """So many at most that may go to each, of all sizes."""
        units, of = _picked(self.going, width), self._holders
        few = np.flatnonzero(_sparse(self.going, width))
        if len(few) and of.number(self._broker) > LOOK:
            more = self._going(of.some(self._broker, CLOSELY), self._others[few])
            units.rows[few] = _picked(more, width).rows
        return units._replace(legal=units.rows >= 0)

    def coming_some(self, width: int) -> Units:
        """So many at most that may come from each, of all sizes."""
        units, of = _picked(self.coming, width), self._holders
        many = np.array([of.number(other) > LOOK for other in self._others.tolist()], dtype=bool)
        few = np.flatnonzero(_sparse(self.coming, width) & many)
        if len(few):
            shown = [of.some(other, CLOSELY) for other in self._others[few].tolist()]
            units.rows[few] = _picked(self._coming(shown, self._others[few]), width).rows
        return units._replace(legal=units.rows >= 0)

    def _going(self, rows: Ints, others: Ints) -> Units:
        legal = self._steps.legal(rows, self._broker, others).T
        gives = np.full((len(others), 1), self._broker)
        return Units(np.broadcast_to(rows, legal.shape), gives, others[:, None], legal)

    def _coming(self, shown: Sequence[Ints], others: Ints) -> Units:
        lengths = [len(rows) for rows in shown]
        this, source = np.array([self._broker]), np.repeat(others, lengths)
        there = np.arange(max(lengths, default=0)) < np.array(lengths)[:, None]
        rows = np.full(there.shape, PAD, dtype=np.int64)
        rows[there] = np.concatenate(shown)
        legal = np.zeros(there.shape, dtype=bool)
        legal[there] = self._steps.legal(rows[there], source, this)[:, 0]
        return Units(rows, others[:, None], np.full((len(others), 1), self._broker), legal)


def near(steps: Steps, holders: Holders, gives: Ints, gets: Ints, units: Ints) -> Units:
    """What may go from each of some brokers to each of others, next to so many units; shape (gives, gets)."""
    rows = np.concatenate(
        [holders.near(broker, of) for broker, of in zip(gives.tolist(), units, strict=True)]
    )
    gives, gets = np.repeat(gives, len(gets))[:, None], np.tile(gets, len(gives))[:, None]
    source, target = (np.broadcast_to(of, rows.shape).ravel() for of in (gives, gets))
    legal = steps.legal(rows.ravel(), source, target[:, None]).reshape(rows.shape)
    return Units(rows, gives, gets, legal & (rows >= 0))


def _sparse(units: Units, width: int) -> Flags:
    """Between which pairs some units may go, but few."""
    able = units.legal.sum(axis=1)
    return np.asarray((able > 0) & (able * SPARSE < width))


def _picked(units: Units, width: int) -> Units:
    """So many at most of those that may go between each pair, of all sizes."""
    picked = np.full((len(units.rows), width), PAD, dtype=np.int64)
    for pair, (rows, legal) in enumerate(zip(units.rows, units.legal, strict=True)):
        able = spread_out(rows[legal], width)
        picked[pair, : len(able)] = able
    return Units(picked, units.gives, units.gets, picked >= 0)


def spread_out(rows: Ints, width: int) -> Ints:
    """At most so many of some rows, from the first to the last."""
    if len(rows) <= width:
        return rows
    return rows[np.arange(width) * (len(rows) - 1) // (width - 1)]
