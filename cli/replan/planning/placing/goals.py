"""Measures of brokers brought within the tolerance of their shares, one after the other, by steps of one kind.

The first measure counts most: the steps for a later one keep an earlier one within its bounds, or as near as it has
come. A measure that counts units alone, and is the first, is exact (`flow`): where no steps bring all brokers within
their bounds, the bounds give way, as little as can be, to those that nothing can leave, or nothing can come to. All
others are searched for (`packing`), and the search keeps what it has found.

What lies within the bounds of all brokers is near enough as well, so that nothing moves while one of them restarts.
Tolerances are in thousandths, as many as a person can write and read; a bound is rounded to whole numbers outwards.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from msgspec import Struct

from replan.model.columns import Flags, Ints
from replan.model.declared.rules import Tolerance
from replan.planning.placing.flow import Bounds, Stuck, carry, least_that
from replan.planning.placing.packing import BrokerTotals, Packed, Packing
from replan.planning.placing.positions import amounts
from replan.planning.placing.problem import NO_LIMIT, Imbalance
from replan.planning.placing.steps import Steps, Way

PARTS = 1000


class Goal(Struct, frozen=True):
    """One measure of the balance."""

    tolerance: Tolerance
    units: Ints
    """What one unit of each partition counts."""
    aim: "Aim | TopMost"
    most: Ints | None = None
    """What each broker can have at most, whatever its share is; None: anything."""

    @property
    def bounds(self) -> Bounds:
        """What each broker shall have."""
        return fit(self.aim.bounds, self.most)

    def full(self, used: Ints) -> Flags:
        """Which brokers can have no more, or less than their share, though the share would allow more."""
        if self.most is None:
            return np.zeros(len(used), dtype=bool)
        bounds = self.aim.bounds
        full = (used >= self.most) | (self.most < bounds.least)
        return np.asarray(full & (self.most < bounds.most))

    @property
    def counts_alone(self) -> bool:
        """Whether every unit counts one, and nothing but the shares bounds them."""
        return self.most is None and bool((self.units == 1).all())


class Search:
    """Brings measures to their goals, by `flow` or by `packing`; `steps.lists` changes in place."""

    def __init__(self, steps: Steps, budget: int, ids: Ints) -> None:
        """`ids`: of the brokers."""
        self._steps, self._budget, self._ids = steps, budget, ids
        self.spent = 0
        """Steps of the searches so far."""

    def run(self, goals: Sequence[Goal]) -> list[Imbalance]:
        """Come as near as can be; how near, where that is not as asked."""
        held: list[BrokerTotals] = []
        searched: list[int | None] = []
        for goal in goals:
            before = self.spent
            if goal.counts_alone and all((of.units == 1).all() for of in held):
                self._flow(goal, held)
                searched.append(None)
            else:
                self.pack(goal.units, goal.bounds, held, list(Way)[:2])
                searched.append(self.spent - before)
            held.append(self.held(goal))
        imbalances = []
        for goal, steps in zip(goals, searched, strict=True):
            imbalances += self._imbalance(goal, steps)
        return imbalances

    def held(self, goal: Goal) -> BrokerTotals:
        """What brokers have of a measure, which they keep within its bounds, or no further from them than now."""
        used, bounds = self._used(goal.units), goal.bounds
        loose = Bounds(np.minimum(bounds.least, used), np.maximum(bounds.most, used))
        return BrokerTotals(goal.units, used, loose)

    def pack(
        self, units: Ints, bounds: Bounds, held: Sequence[BrokerTotals], ways: Sequence[Way]
    ) -> bool:
        """Search for a measure, with what is held as it is by now; whether it is within its bounds."""
        aimed = BrokerTotals(units, self._used(units), bounds)
        if not aimed.excess.any():
            return True
        for measured in held:
            measured.used[:] = self._used(measured.units)
        packing, ended = Packing(self._steps, aimed, held), Packed(False, 0)
        for self._steps.way in ways:
            if not ended.within:
                more = packing.pack(self._budget - ended.steps)
                ended = Packed(more.within, ended.steps + more.steps)
        self.spent += ended.steps
        return ended.within

    def _flow(self, goal: Goal, held: Sequence[BrokerTotals]) -> None:
        """Exact; what would come no nearer than it is stays as it is, so that no two ends change places for ever."""
        before, lists = self._used(goal.units), self._steps.lists.copy()
        self._come_near(goal, held)
        if isinstance(goal.aim, Aim):
            now = goal.aim.beyond(self._used(goal.units), goal.tolerance.within)
            was = goal.aim.beyond(before, goal.tolerance.within) if now else {}
            if now and sorted(was.values(), reverse=True) <= sorted(now.values(), reverse=True):
                self._steps.put_back(lists)

    def _come_near(self, goal: Goal, held: Sequence[BrokerTotals]) -> None:
        counts, aim = self._used(goal.units), goal.aim
        bounds = _inside(aim.bounds, held)
        while stuck := self._brought_within(counts, bounds):
            give_way = aim.give_way_above if stuck.over else aim.give_way_below
            give_way(stuck.brokers, counts)
            before, bounds = bounds, _inside(aim.bounds, held)
            if (bounds.most == before.most).all() and (bounds.least == before.least).all():
                break  # what is held leaves no more

    def _brought_within(self, counts: Ints, bounds: Bounds) -> Stuck | None:
        """One unit of each partition as far as that does, then more."""
        for way in (Way.ONE_EACH, Way.MORE):
            self._steps.way = way
            stuck = carry(self._steps, counts, bounds)
            if stuck and stuck.over and way is Way.ONE_EACH:
                carry(self._steps, counts, Bounds(bounds.least, np.maximum(bounds.most, counts)))
            if not stuck:
                break
        return stuck

    def _used(self, units: Ints) -> Ints:
        return amounts(self._steps.lists, units, self._steps.brokers)

    def _imbalance(self, goal: Goal, steps: int | None) -> list[Imbalance]:
        if isinstance(goal.aim, TopMost):
            return self._too_many(goal, goal.aim.elsewhere)
        within = goal.tolerance.within
        used = self._used(goal.units)
        reached = goal.aim.beyond(used, within)
        if not reached:
            return []
        brokers, full = (
            tuple(self._ids[of].tolist()) for of in (list(reached), np.flatnonzero(goal.full(used)))
        )
        nearest = Fraction(max(reached.values()), PARTS)
        return [Imbalance(goal.tolerance.measure, within, nearest, brokers, steps, full)]

    def _too_many(self, goal: Goal, elsewhere: Ints) -> list[Imbalance]:
        within, has = goal.tolerance.within, self._used(goal.units) + elsewhere
        far = np.flatnonzero(has > int(within))
        if not len(far):
            return []
        brokers = tuple(int(b) for b in self._ids[far])
        return [Imbalance(goal.tolerance.measure, within, Fraction(int(has.max())), brokers, None)]


class Aim(Struct):
    """The bounds of each broker, which give way where they cannot be kept."""

    low: list[Fraction]
    """The share that a broker is to have at least."""
    high: list[Fraction]
    """The share that it is to have at most."""
    closed: Flags
    """They keep what they have."""
    above: list[int]
    """Of each broker, how far it may be above its share, in thousandths."""
    below: list[int]
    has: Ints
    """What each broker has at first."""

    @classmethod
    def at(
        cls, shares: Sequence[list[Fraction]], tolerance: Fraction, has: Ints, open_: Flags
    ) -> "Aim":
        """All within one tolerance of any of some shares."""
        parts = tolerance * PARTS
        whole = [-(-parts.numerator // parts.denominator)] * len(has)
        low, high = (list(map(of, zip(*shares, strict=True))) for of in (min, max))
        return cls(low, high, ~open_, whole, list(whole), has.copy())

    @property
    def bounds(self) -> Bounds:
        """The fewest and the most of each broker."""
        least = [self.least(b) for b in range(len(self.has))]
        most = [min(self.most(b), NO_LIMIT) for b in range(len(self.has))]
        return Bounds(np.array(least, dtype=np.int64), np.array(most, dtype=np.int64))

    def least(self, broker: int, parts: int | None = None) -> int:
        """The fewest, within so many thousandths."""
        if self.closed[broker]:
            return int(self.has[broker])
        within = max(PARTS - (self.below[broker] if parts is None else parts), 0)
        low = self.low[broker] * within / PARTS
        return low.numerator // low.denominator

    def most(self, broker: int, parts: int | None = None) -> int:
        """The most, within so many thousandths."""
        if self.closed[broker]:
            return int(self.has[broker])
        high = self.high[broker] * (PARTS + (self.above[broker] if parts is None else parts))
        return -(-high.numerator // (PARTS * high.denominator))

    def give_way_above(self, brokers: Sequence[int], counts: Ints) -> None:
        """Let these brokers, which together have too much, hold it, each as little above its share as can be."""
        together = int(counts[list(brokers)].sum())
        parts = least_that(lambda k: sum(self.most(b, k) for b in brokers) >= together)
        for broker in brokers:
            self.above[broker] = max(self.above[broker], parts)

    def give_way_below(self, brokers: Sequence[int], counts: Ints) -> None:
        """The same of brokers that together have too little."""
        together = int(counts[list(brokers)].sum())
        parts = least_that(lambda k: sum(self.least(b, k) for b in brokers) <= together)
        for broker in brokers:
            self.below[broker] = max(self.below[broker], parts)

    def beyond(self, counts: Ints, tolerance: Fraction) -> dict[int, int]:
        """The brokers that are not within a tolerance, and that within which each of them is, in thousandths."""
        allowed, far = int(tolerance * PARTS), {}
        for broker, count in enumerate(counts.tolist()):

            def holds(parts: int, broker: int = broker, count: int = count) -> bool:
                return self.least(broker, parts) <= count <= self.most(broker, parts)

            if not holds(allowed):
                far[broker] = least_that(holds)
        return far


class TopMost(Struct):
    """One number that no broker is to be above, which gives way for all alike where that cannot be kept."""

    most: int
    elsewhere: Ints
    """What each broker has that cannot go."""
    closed: Flags
    """They keep what they have."""
    has: Ints
    """What each broker has at first beside that."""

    @property
    def bounds(self) -> Bounds:
        """The fewest and the most of each broker, beside what cannot go."""
        free = np.maximum(self.most - self.elsewhere, 0)
        return Bounds(np.where(self.closed, self.has, 0), np.where(self.closed, self.has, free))

    def give_way_above(self, brokers: Sequence[int], counts: Ints) -> None:
        """Let these brokers, which together have too much, hold it."""
        some, together = list(brokers), int(counts[list(brokers)].sum())
        self.most = self.most + least_that(
            lambda more: (
                int(
                    TopMost(self.most + more, self.elsewhere, self.closed, self.has)
                    .bounds.most[some]
                    .sum()
                )
                >= together
            )
        )

    def give_way_below(self, brokers: Sequence[int], counts: Ints) -> None:
        """Nobody has too little."""


def _inside(bounds: Bounds, held: Sequence[BrokerTotals]) -> Bounds:
    """Bounds of a number within those of others that are held."""
    least, most = bounds.least, bounds.most
    for of in held:
        most = np.minimum(most, of.bounds.most)
        least = np.maximum(least, of.bounds.least)
    return Bounds(np.minimum(least, most), most)


def fit(bounds: Bounds, most: Ints | None) -> Bounds:
    """The bounds, where brokers can have less."""
    if most is None:
        return bounds
    return Bounds(np.minimum(bounds.least, most), np.minimum(bounds.most, most))


def no_bounds(brokers: int) -> Bounds:
    """Anything."""
    return Bounds(np.zeros(brokers, dtype=np.int64), np.full(brokers, NO_LIMIT))
