"""A measure of brokers within bounds: bin packing, so a search with a budget of steps, and no proof in its failing.

It starts from lists that keep their rules, and holds other measures within bounds of their own. A step takes one unit
elsewhere, or exchanges two between two brokers, or, where none of those helps, two for one. Of all steps that the worst
broker allows, those that bring most for the bytes that they copy are looked at, and of these the one that brings most
is taken. Exchanges are not looked at where a single unit brings as much for its bytes as any step can. Not found where
no step helps, or the budget is spent.

A broker with many units shows some of them, of all sizes, so that a step takes as long however many partitions there
are. What brought nothing between two brokers is not tried again until one of them has changed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from replan.model.columns import Ints, Matrix
from replan.planning.placing.flow import Bounds
from replan.planning.placing.problem import Flags
from replan.planning.placing.steps import Steps

LOOK = 4
"""So many times as many partitions of a broker are looked at as are tried, since not all may go."""
SPARSE = 4
"""Where fewer than this part of those that are tried may go, but some, all of the broker are looked at."""
WIDTH = 48
"""Partitions of each broker that are tried in exchanges."""
NARROW = 16
"""The same where two are exchanged for one."""
FIRST = 64
"""So many of the best steps are asked first whether they are legal."""
FURTHER = 8
"""And so many times as many of the next ones, where none was."""
GRADES = 4
"""What a step brings for what it copies is graded: the twice of a step from too much to too little has so many."""
NEARLY = 0.9
"""So much of a grade may lack: one partition larger than what is lacking, by four fifths, rather than several small.

What moves then is less in number, and a balance ends less near to its bounds, so that a point of tolerance moves less.
"""
BOTH = 1.125
"""A step that ends what two brokers lack is of the best grade, if it copies up to so many times the larger lack."""


class Packed(Struct, frozen=True):
    """How the search ended."""

    within: bool
    steps: int


class Measured(Struct, frozen=True):
    """What each broker has of one measure while units go, and what it shall have."""

    units: Ints
    """What one unit of each partition counts."""
    used: Ints
    """Of each broker; changes in place."""
    bounds: Bounds

    @property
    def excess(self) -> Ints:
        """How far each broker is outside."""
        over = np.maximum(self.used - self.bounds.most, 0)
        return np.asarray(over + np.maximum(self.bounds.least - self.used, 0))

    def take(self, row: int, source: int, target: int) -> None:
        """Count that one unit goes."""
        self.used[source] -= self.units[row]
        self.used[target] += self.units[row]

    def after(self, source: int | Ints, target: int | Ints, gone: Ints) -> Ints:
        """How far both are outside when so much has gone; in the shape of `gone`. One for all, or of each."""
        total = np.zeros(gone.shape, dtype=np.int64)
        for broker, sign in ((source, -1), (target, 1)):
            used = self.used[broker] + sign * gone
            total += np.maximum(used - self.bounds.most[broker], 0)
            total += np.maximum(self.bounds.least[broker] - used, 0)
        return total


class _Step(NamedTuple):
    """Units that go, and what that brings; the smallest is the best."""

    grade: int
    """What it brings for what it copies, the best lowest."""
    excess: int
    copied: int
    goes: tuple[tuple[int, int, int], ...]
    """Row, source, target."""


class _Tried(Enum):
    """What was tried between two brokers."""

    ONE_FOR_ONE = auto()
    """Single units, too."""
    TWO_FOR_ONE = auto()


class _Holders:
    """The partitions of each broker: those with the fewest units first, of equal ones in their order.

    Those that a broker shows are kept until it has others.
    """

    def __init__(self, lists: Matrix, units: Ints, brokers: int) -> None:
        self._by_rank = np.argsort(units, kind="stable")
        self._rank = np.empty_like(self._by_rank)
        self._rank[self._by_rank] = np.arange(len(units))
        row, slot = np.nonzero((lists >= 0) & (lists < brokers))
        broker, rank = lists[row, slot], self._rank[row]
        order = np.lexsort((rank, broker))
        ends = np.searchsorted(broker[order], np.arange(1, brokers))
        self._of = np.split(rank[order], ends)
        self._shown: dict[int, Ints] = {}

    def shown(self, broker: int) -> Ints:
        """Some of a broker, of all sizes."""
        if broker not in self._shown:
            self._shown[broker] = self._by_rank[spread_out(self._of[broker], LOOK * WIDTH)]
        return self._shown[broker]

    def all(self, broker: int) -> Ints:
        """All of a broker."""
        return np.asarray(self._by_rank[self._of[broker]])

    def number(self, broker: int) -> int:
        """How many a broker has."""
        return len(self._of[broker])

    def take(self, row: int, source: int, target: int) -> None:
        """Count that one goes."""
        rank = self._rank[row]
        for broker in (source, target):
            self._shown.pop(broker, None)
        gives, gets = self._of[source], self._of[target]
        self._of[source] = np.delete(gives, np.searchsorted(gives, rank))
        self._of[target] = np.insert(gets, np.searchsorted(gets, rank), rank)


class Packing:
    """One measure that is brought within its bounds, while others are held within theirs."""

    def __init__(self, steps: Steps, aimed: Measured, held: Sequence[Measured]) -> None:
        self._steps, self._aimed, self._held = steps, aimed, held
        units = max(int(aimed.units.sum()), 1)
        self._worth = int(steps.size.sum()) / units
        """Bytes for one of the measure, on average."""
        self._holders = _Holders(steps.lists, aimed.units, steps.brokers)
        self._changed = np.zeros(steps.brokers, dtype=np.int64)
        """How often each broker, or a partition that it has, has changed."""
        self._in_vain: dict[tuple[_Tried, int, int], tuple[int, int]] = {}
        """How often both had changed when nothing was found between two brokers, the worst first."""

    def pack(self, budget: int) -> Packed:
        """Take steps until all brokers are within their bounds, nothing helps, or the budget is spent."""
        self._in_vain.clear()  # another way allows more
        for spent in range(budget):
            excess = self._aimed.excess
            if not excess.any():
                return Packed(True, spent)
            best = self._of_the_worst(excess, self._one_for_one)
            if best is None:
                best = self._of_the_worst(excess, self._two_for_one)
            if best is None:
                return Packed(False, spent)
            for row, source, target in best.goes:
                self._take(row, source, target)
        return Packed(not self._aimed.excess.any(), budget)

    def _take(self, row: int, source: int, target: int) -> None:
        self._steps.take(row, source, target)
        self._holders.take(row, source, target)
        for measured in (self._aimed, *self._held):
            measured.take(row, source, target)
        for broker in {source, target, *self._steps.members(row)}:
            if broker < len(self._changed):
                self._changed[broker] += 1

    def _of_the_worst(self, excess: Ints, best: Callable[[int], "_Step | None"]) -> "_Step | None":
        """The best step that concerns the worst broker for which one helps."""
        for worst in np.argsort(-excess, kind="stable").tolist():
            if not excess[worst]:
                break
            step = best(worst)
            if step:
                return step
        return None

    def _over(self, broker: int) -> bool:
        return bool(self._aimed.used[broker] > self._aimed.bounds.most[broker])

    def _untried(self, tried: _Tried, worst: int) -> Ints:
        """The others with which something may be found."""
        mine, found = int(self._changed[worst]), []
        for other, changed in enumerate(self._changed.tolist()):
            if other != worst and self._in_vain.get((tried, worst, other)) != (mine, changed):
                found.append(other)
        return np.array(found, dtype=np.int64)

    def _note(self, tried: _Tried, worst: int, others: Iterable[int]) -> None:
        """That nothing was found."""
        for other in others:
            state = (int(self._changed[worst]), int(self._changed[other]))
            self._in_vain[tried, worst, other] = state

    def _one_for_one(self, worst: int) -> _Step | None:
        """The best single unit, or exchange of two, that helps one broker."""
        others = self._untried(_Tried.ONE_FOR_ONE, worst)
        if not len(others):
            return None
        over = self._over(worst)
        best = self._single(worst, others, over=over)
        if best and best.grade <= -GRADES // 2:
            others = others[self._gain(others, over=over)]
        if best and (best.grade == -GRADES or not len(others)):
            return best
        found = [best] if best else []
        mine, theirs = self._able_with(worst, others)
        for other, given, back in zip(others.tolist(), mine, theirs, strict=True):
            pair = (worst, other, given, back) if over else (other, worst, back, given)
            step = self._exchange(*pair)
            if step:
                found.append(step)
        if not found:
            self._note(_Tried.ONE_FOR_ONE, worst, others.tolist())
        return min(found, default=None)

    def _gain(self, others: Ints, *, over: bool) -> Flags:
        """Which of some brokers are too low where another is too high (`over`), or too high where it is too low."""
        used, bounds = self._aimed.used[others], self._aimed.bounds
        return np.asarray(used < bounds.least[others] if over else used > bounds.most[others])

    def _single(self, worst: int, others: Ints, *, over: bool) -> _Step | None:
        """The best unit that goes to another broker, or comes from one."""
        if over:
            rows, targets = self._holders.shown(worst), others
            source = np.full(len(rows), worst)
        else:
            rows, source = self._of_others(others)
            targets = np.array([worst])
        at, to = np.divmod(np.arange(len(rows) * len(targets)), len(targets))
        gives, gets, units = source[at], targets[to], rows[at]
        cost = self._steps.copied(units, gives, gets)

        def legal(places: Ints) -> Flags:
            some, which = np.unique(at[places], return_inverse=True)
            able, there = np.unique(to[places], return_inverse=True)
            may = self._steps.legal(rows[some], source[some], targets[able])
            return np.asarray(may[which, there])

        best = self._best(gives, gets, lambda of: of[units], cost, legal)
        if best is None:
            return None
        return best.step(((int(units[best.at]), int(gives[best.at]), int(gets[best.at])),))

    def _of_others(self, others: Ints) -> tuple[Ints, Ints]:
        """Some partitions of some brokers, of all sizes, and which of them has each."""
        of = [self._holders.shown(other) for other in others.tolist()]
        return np.concatenate(of), np.repeat(others, [len(rows) for rows in of])

    def _able_with(self, worst: int, others: Ints) -> tuple[list[Ints], list[Ints]]:
        """What may go from one broker to each of some others, and what from each of them to it."""
        rows = self._holders.shown(worst)
        legal = self._steps.legal(rows, worst, others)
        mine = [
            self._enough(worst, other, rows[legal[:, at]], WIDTH)
            for at, other in enumerate(others.tolist())
        ]
        rows, source = self._of_others(others)
        may = self._steps.legal(rows, source, np.array([worst]))[:, 0]
        ends = np.searchsorted(source[may], others[1:])
        theirs = [
            self._enough(other, worst, able, WIDTH)
            for other, able in zip(others.tolist(), np.split(rows[may], ends), strict=True)
        ]
        return mine, theirs

    def _enough(self, source: int, target: int, able: Ints, width: int) -> Ints:
        """Those of a part of the partitions that may go; of all, where some may, but few."""
        if 0 < len(able) * SPARSE < width and self._holders.number(source) > LOOK * WIDTH:
            able = self._holders.all(source)
            able = able[self._steps.legal(able, source, np.array([target]))[:, 0]]
        return spread_out(able, width)

    def _able(self, source: int, target: int, width: int) -> Ints:
        """Some partitions whose unit may go: spread over all sizes."""
        rows = self._holders.shown(source)
        rows = rows[self._steps.legal(rows, source, np.array([target]))[:, 0]]
        return self._enough(source, target, rows, width)

    def _exchange(self, source: int, target: int, given: Ints, back: Ints) -> _Step | None:
        """The best exchange of two between two brokers."""
        if not len(given) or not len(back):
            return None
        cost = self._steps.copied(given, source, target)
        returned = self._steps.copied(back, target, source)
        best = self._best(
            source,
            target,
            lambda units: units[given][:, None] - units[back][None, :],
            cost[:, None] + returned[None, :],
        )
        if best is None:
            return None
        i, j = divmod(best.at, len(back))
        return best.step(((int(given[i]), source, target), (int(back[j]), target, source)))

    def _two_for_one(self, worst: int) -> _Step | None:
        """The best exchange of two for one that helps one broker."""
        found: list[_Step] = []
        over = self._over(worst)
        for other in self._untried(_Tried.TWO_FOR_ONE, worst).tolist():
            steps = self._two_for_one_with(*((worst, other) if over else (other, worst)))
            if not steps:
                self._note(_Tried.TWO_FOR_ONE, worst, [other])
            found += steps
        return min(found, default=None)

    def _two_for_one_with(self, source: int, target: int) -> list[_Step]:
        """The best steps that take something from one broker to another by an exchange of two for one."""
        found: list[_Step] = []
        for gives, gets in ((source, target), (target, source)):
            two, one = self._able(gives, gets, NARROW), self._able(gets, gives, NARROW)
            first, second = np.triu_indices(len(two), 1)
            may = self._steps.together(two[first], two[second], gets)
            first, second = two[first[may]], two[second[may]]
            if not len(first) or not len(one):
                continue
            cost = self._steps.copied(first, gives, gets) + self._steps.copied(second, gives, gets)
            back = self._steps.copied(one, gets, gives)
            best = self._best(gives, gets, _two_for(first, second, one), cost[:, None] + back)
            if best is not None:
                i, j = divmod(best.at, len(one))
                goes = tuple((int(rows[i]), gives, gets) for rows in (first, second))
                found.append(best.step((*goes, (int(one[j]), gets, gives))))
        return found

    def _best(
        self,
        source: int | Ints,
        target: int | Ints,
        gone: Callable[[Ints], Ints],
        copied: Ints,
        legal: Callable[[Ints], Flags] | None = None,
    ) -> "_Best | None":
        """The best of some steps between two brokers, or those of each; `gone`: how much each takes.

        `gone` is asked for a measure with the units that it gets; `legal` of places, where not all may be taken.
        """
        aimed = self._aimed
        excess = aimed.excess
        before = excess[source] + excess[target]
        brings = before - aimed.after(source, target, gone(aimed.units))
        may: Flags = brings > 0
        for held in self._held:
            may &= held.after(source, target, gone(held.units)) == 0
        places = np.flatnonzero(may.ravel())
        if not len(places):
            return None
        more, costs = brings.ravel()[places], copied.ravel()[places]
        grade = -np.minimum(
            np.floor(more * self._worth / np.maximum(costs, 1) * GRADES / 2 + NEARLY), GRADES
        ).astype(np.int64)
        lacks = np.maximum(excess[source], excess[target]) * (before > excess[source])
        lacks *= before > excess[target]  # two that both are outside
        of_both, lacking = (
            np.broadcast_to(of, brings.shape).ravel()[places] for of in (before, lacks)
        )
        grade[(more == of_both) & (costs <= BOTH * lacking * self._worth)] = -GRADES
        for some in _in_order(grade, -more, costs):
            able = some if legal is None else some[legal(places[some])]
            if len(able):
                best = int(able[0])
                left = int(excess.sum()) - int(more[best])
                return _Best(int(places[best]), int(grade[best]), left, int(costs[best]))
        return None


def _in_order(grade: Ints, excess: Ints, copied: Ints) -> Iterator[Ints]:
    """Places of steps, the best first: a few, then more, and then all others, as one of the first is mostly taken."""
    rough = grade * (4 * float(np.abs(excess).max()) + 1) + excess
    """It keeps the order of grade and excess, but that near ones may be equal."""
    left, few = np.arange(len(rough)), FIRST
    while len(left):
        first = np.ones(len(left), dtype=bool)
        if len(left) > 2 * few:
            first = rough[left] <= np.partition(rough[left], few)[few]
        some = left[first]
        yield some[np.lexsort((some, copied[some], excess[some], grade[some]))]
        left, few = left[~first], few * FURTHER


def spread_out(rows: Ints, width: int) -> Ints:
    """At most so many of some rows, from the first to the last."""
    if len(rows) <= width:
        return rows
    return rows[np.linspace(0, len(rows) - 1, width).astype(np.int64)]


class _Best(NamedTuple):
    """The place of a step among those that were looked at, and what it brings."""

    at: int
    grade: int
    excess: int
    copied: int

    def step(self, goes: tuple[tuple[int, int, int], ...]) -> _Step:
        """The step, by what goes."""
        return _Step(self.grade, self.excess, self.copied, goes)


def _two_for(first: Ints, second: Ints, one: Ints) -> Callable[[Ints], Ints]:
    """What pairs of partitions less one take, of a measure with these units."""

    def taken(units: Ints) -> Ints:
        found: Ints = (units[first] + units[second])[:, None] - units[one]
        return found

    return taken
