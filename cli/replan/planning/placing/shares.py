"""What each broker should hold of the partitions that are placed by rule: its share, and how far from it is too far.

Each set of brokers has a share of its own: what one rule places is shared by weight among the candidates of that rule,
and the shares of all rules are added. Where a rule spreads over racks, a rack has what the rule gives it, and its
brokers share that. A broker that gets nothing new (fenced, cordoned) keeps what it has, and the others share the rest:
a new one counts once it takes something. What lies within the bounds of all brokers is near enough as well, so that
nothing moves while one of them restarts.

Tolerances are in thousandths, as many as a person can write and read; a bound is rounded to whole numbers outwards.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np
from msgspec import Struct

from replan.model.columns import Flags, Ints, Matrix
from replan.planning.placing.flow import Bounds
from replan.planning.placing.loads import amounts
from replan.planning.placing.problem import NO_LIMIT, Layout, PlacementProblem, Rule

PARTS = 1000
ENDLESS = 1 << 40
"""A tolerance that is never reached: of a broker whose share is nothing."""


def shares(
    problem: PlacementProblem, rows: Ints, lists: Matrix, units: Ints, takes: Flags
) -> list[Fraction]:
    """The share of each broker that takes something, 0 of the others, which keep what they have.

    `lists`: of these rows; `units`: what one replica of each counts.
    """
    brokers = problem.brokers
    by_broker = [Fraction(0)] * len(brokers.ids)
    for number, rule in enumerate(problem.rules):
        mine = problem.partitions.rule[rows] == number
        if rule.layout is Layout.LISTED or not mine.any():
            continue
        factor = problem.partitions.factor[rows][mine]
        held = amounts(lists[mine], units[mine], len(brokers.ids))
        for some, total in _parts(problem, rule, factor, units[mine], held, takes):
            among = [b for b in some if takes[b]]
            rest = total - int(sum(held[b] for b in some if not takes[b]))
            most = int(units[mine].sum())
            weights = [int(brokers.weight[b]) for b in among]
            for broker, part in zip(
                among, shared_out(rest, weights, [most] * len(among)), strict=True
            ):
                by_broker[broker] += part
    return by_broker


def _parts(
    problem: PlacementProblem, rule: Rule, factor: Ints, units: Ints, held: Ints, takes: Flags
) -> Iterable[tuple[list[int], Fraction]]:
    """Brokers that share something together, and what."""
    brokers = problem.brokers
    candidates = np.flatnonzero(rule.candidates)
    if rule.layout is Layout.NONE:
        return [(candidates.tolist(), Fraction(int((units * factor).sum())))]
    racks = np.unique(brokers.rack[candidates])
    of = [candidates[brokers.rack[candidates] == rack].tolist() for rack in racks]
    if rule.layout is Layout.IN_RACK:
        return [(some, Fraction(int(held[some].sum()))) for some in of]
    if rule.layout is Layout.PER_RACK:
        every = int(units.sum())
        wanted = [rule.per_rack[rack] for rack in racks.tolist()]
        return [(some, Fraction(every * n)) for some, n in zip(of, wanted, strict=True)]
    each = int((units * (factor // len(racks))).sum())
    extra = int((units * (factor % len(racks))).sum())
    once = int(units[factor % len(racks) > 0].sum())
    stays = [int(sum(held[b] for b in some if not takes[b])) for some in of]
    weights = [sum(int(brokers.weight[b]) for b in some if takes[b]) for some in of]
    levels = shared_out(extra, weights, [once] * len(of), [each - s for s in stays])
    return [(some, each + more) for some, more in zip(of, levels, strict=True)]


def shared_out(
    total: int | Fraction,
    weights: Sequence[int],
    most: Sequence[int | Fraction],
    base: Sequence[int] = (),
) -> list[Fraction]:
    """A total in parts, none over its most, so that base and part together are as even by weight as they can be."""
    base = base or [0] * len(weights)
    parts = [Fraction(0)] * len(weights)
    rest = Fraction(total)
    every = [i for i, weight in enumerate(weights) if weight and most[i] > 0]
    sharing = every
    while sharing and rest > 0:
        level = (rest + sum(base[i] for i in sharing)) / sum(weights[i] for i in sharing)
        part = {i: level * weights[i] - base[i] for i in sharing}
        under = [i for i in sharing if part[i] < 0]
        over = [i for i in sharing if part[i] > most[i]]
        if under:  # who has more than the others together come to gets nothing
            sharing = [i for i in sharing if i not in under]
            continue
        for i in over or sharing:
            parts[i] = min(part[i], Fraction(most[i]))
            rest -= parts[i]
        every = [i for i in every if i not in over] if over else []
        sharing = every  # where some are full, those that have more may get something as well
    return parts


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


def least_that(holds: Callable[[int], bool], start: int = 0) -> int:
    """The smallest number from `start` on for which it holds; it holds of all above one for which it holds."""
    if holds(start):
        return start
    low, high = start, start + 1
    while not holds(high) and high < ENDLESS:
        low, high = high, 2 * high - start
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
