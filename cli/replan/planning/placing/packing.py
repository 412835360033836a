"""A measure of brokers within bounds: bin packing, so a search with a budget of steps, and no proof in its failing.

It starts from lists that keep their rules, and holds other measures within bounds of their own. A step takes one unit
elsewhere, or exchanges two between two brokers, or, where none of those helps, two for one. Of all steps that the worst
broker allows, those that bring most for the bytes that they copy are looked at, and of these the one that brings most
is taken. Exchanges are not looked at where a single unit brings as much for its bytes as any step can. Not found where
no step helps, or the budget is spent: it counts closer looks as well, so that the time is bounded.

Of a broker those units are looked at first that are next to what is lacking, of all that may leave it; where none of
these brings as much as any step can, some of all sizes. It is tried with those brokers first that gain most: so a step
takes as long however many partitions and brokers there are. Where there are many brokers, several of the worst take a
step at once, each with another one. What brought nothing between two brokers is not tried again
until one of them gives or gets something, and who was not helped waits until nobody else is.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from replan.model.columns import PAD, Flags, Ints
from replan.planning.placing.flow import Bounds
from replan.planning.placing.steps import Steps

WIDTH = 48
"""Partitions of each broker that are tried in exchanges."""
NARROW = 16
"""The same where two are exchanged for one."""
CLOSER = 6
"""So many steps of the budget one look counts as at units of all sizes, or at exchanges."""
OTHERS = 16
"""So many other brokers are looked at first: those that gain most by a step."""
FURTHER = 4
"""And so many times as many next, where that brought nothing, or not the best there is."""
GRADES = 4
"""What a step brings for what it copies is graded: the twice of a step from too much to too little has so many."""
NEARLY = 0.9
"""So much of a grade may lack: one partition larger than what is lacking, by four fifths, rather than several small.

What moves then is less in number, and a balance ends less near to its bounds, so that a point of tolerance moves less.
"""
BEYOND = (GRADES - NEARLY) * 2 / GRADES - 1
"""What the one lacks that lacks less is so much at least of a step of the best grade."""
BOTH = 1.125
"""A step that ends what two brokers lack is of the best grade, if it copies up to so many times the larger lack."""
TOGETHER = 16
"""So many brokers at most are helped at once, one of so many: a look at many takes little longer than at one."""
LOOK = 192
"""So many partitions of a broker are looked at."""
SPARSE = 4
"""Where fewer than this part of those that are tried may go, but some, more of the broker are looked at."""
CLOSELY = 1536
"""So many."""
NEIGHBOURS = np.arange(-8, 4)
"""The places of those that are next to some number of units, the smaller and the larger ones."""


class Packed(Struct, frozen=True):
    """How the search ended."""

    within: bool
    steps: int


class BrokerTotals(Struct, frozen=True):
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


_Goes = tuple[tuple[int, int, int], ...]
"""Row, source and target of each unit of one step."""


class _Step(NamedTuple):
    """Units that go, and what that brings; the smallest is the best."""

    grade: int
    """What it brings for what it copies, the best lowest."""
    excess: int
    copied: int
    goes: _Goes


class _Tried(Enum):
    """What was tried between two brokers."""

    ONE_FOR_ONE = auto()
    """Single units, too."""
    TWO_FOR_ONE = auto()


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


class Packing:
    """One measure that is brought within its bounds, while others are held within theirs."""

    def __init__(self, steps: Steps, aimed: BrokerTotals, held: Sequence[BrokerTotals]) -> None:
        self._steps, self._aimed, self._held = steps, aimed, held
        units = max(int(aimed.units.sum()), 1)
        self._worth = int(steps.size.sum()) / units
        """Bytes for one of the measure, on average."""
        self._holders = Holders(steps, aimed.units)
        self._spent = 0
        self._changed = np.zeros(steps.brokers, dtype=np.int64)
        """How often each broker has given or got something."""
        self._in_vain: dict[_Tried, Ints] = {}
        """How often two brokers together had changed when nothing was found between them; shape (brokers, brokers)."""
        self._waits = np.zeros(steps.brokers, dtype=bool)
        """Who was not helped since a step changed what it has: it waits until nobody else is helped."""

    def pack(self, budget: int) -> Packed:
        """Take steps until all brokers are within their bounds, nothing helps, or the budget is spent."""
        shape = (self._steps.brokers, self._steps.brokers)  # another way allows more
        self._in_vain = {tried: np.full(shape, -1, dtype=np.int64) for tried in _Tried}
        self._waits[:] = False
        self._holders.forget()
        self._spent, many = 0, budget
        while self._spent < budget and self._aimed.excess.any():
            steps = self._at_once(min(many, budget - self._spent)) or self._best_step()
            if not steps:
                break
            for units in steps:
                for row, source, target in units:
                    self._take(row, source, target)
            self._spent += len(steps)
            many = 2 * len(steps)
        return Packed(not self._aimed.excess.any(), min(self._spent, budget))

    def _best_step(self) -> list[_Goes]:
        """The best step of the worst broker for which one helps, if any does."""
        best = self._of_the_worst(_Tried.ONE_FOR_ONE, self._one_for_one)
        if best is None:
            self._waits[:] = False
            best = self._of_the_worst(_Tried.TWO_FOR_ONE, self._two_for_one)
        return [best.goes] if best else []

    def _at_once(self, many: int) -> list[_Goes]:
        """Single units of the best grade, of so many of the worst brokers at most, where there are many brokers.

        Brokers and partitions of all are different ones, so that none changes what another brings.
        """
        worst = self._worst(min(many, self._steps.brokers // TOGETHER, TOGETHER))
        if len(worst) < 2:
            return []
        over, others = self._over(int(worst[0])), ~self._waits
        others[worst] = False
        promising = self._promising(int(worst[0]), np.flatnonzero(others))
        promising = promising[: OTHERS + len(worst)]
        units = self._near(worst, promising)
        graded = self._graded_units(units)
        pair, at = graded.at
        rows, source, target = units.rows[pair, at], units.gives[pair, 0], units.gets[pair, 0]
        mine, theirs = (source, target) if over else (target, source)
        by_mine = np.argsort(mine, kind="stable")
        unused, gains = np.ones(len(self._steps.size), dtype=bool), np.zeros_like(others)
        gains[promising] = self._gain(int(worst[0]), promising)
        steps: list[_Goes] = []
        for broker in worst.tolist():
            start, end = np.searchsorted(mine[by_mine], [broker, broker + 1])
            some = by_mine[start:end]
            some = some[others[theirs[some]] & unused[rows[some]]]
            best = graded.best(some)
            if best is None or graded.grade[best] > (-GRADES if gains.any() else -GRADES // 2):
                continue
            others[theirs[best]] = gains[theirs[best]] = unused[rows[best]] = False
            steps.append(((int(rows[best]), int(source[best]), int(target[best])),))
        return steps

    def _worst(self, many: int) -> Ints:
        """So many brokers at most that are more than half as far outside as the worst, on its side; none that waits."""
        excess = np.where(self._waits, 0, self._aimed.excess)
        worst = np.argsort(-excess, kind="stable")[:many]
        worst = worst[excess[worst] > excess.max() // 2]
        over = self._aimed.used[worst] > self._aimed.bounds.most[worst]
        return np.asarray(worst[over == over[:1]])

    def _take(self, row: int, source: int, target: int) -> None:
        self._steps.take(row, source, target)
        self._holders.take(row, source, target)
        for measured in (self._aimed, *self._held):
            measured.take(row, source, target)
        self._waits[[source, target]] = False
        self._changed[[source, target]] += 1

    def _of_the_worst(
        self, tried: _Tried, best_with: Callable[[int, Ints], _Step | None]
    ) -> _Step | None:
        """The best step that concerns the worst broker for which one helps; those that wait come last."""
        for broker in self._worst_first():
            others = self._untried(tried, broker)
            if step := self._with_others(tried, broker, others, best_with):
                return step
            self._waits[broker] = True
        return None

    def _worst_first(self) -> Iterator[int]:
        """Who is outside its bounds, the worst first; who waits comes last. Who is not helped has to wait by then."""
        excess, waits = self._aimed.excess, self._waits.copy()
        for of in (excess * ~waits, excess * waits):
            while of.any():
                worst = int(of.argmax())
                of[worst] = 0
                yield worst

    def _over(self, broker: int) -> bool:
        return bool(self._aimed.used[broker] > self._aimed.bounds.most[broker])

    def _with_others(
        self,
        tried: _Tried,
        worst: int,
        others: Ints,
        best_with: Callable[[int, Ints], _Step | None],
    ) -> _Step | None:
        """The best step between one broker and some others, of which the next are tried where the first do not do."""
        others, best, many = self._promising(worst, others), None, OTHERS
        while len(others):
            some, others = np.sort(others[:many]), others[many:]
            step = best_with(worst, some)
            if step is None:
                self._in_vain[tried][worst, some] = self._changed[worst] + self._changed[some]
            elif best is None or step < best:
                best = step
            if best and (many > OTHERS or best.grade <= self._best_grade(worst, others)):
                break
            many *= FURTHER
        return best

    def _untried(self, tried: _Tried, worst: int) -> Ints:
        """The others with which something may be found: none that would have too much, whatever it gives back."""
        untried = self._in_vain[tried][worst] != self._changed + self._changed[worst]
        untried[worst] = False
        if self._over(worst):
            holders, excess = self._holders, self._aimed.excess
            back = holders.largest * (1 if tried is _Tried.ONE_FOR_ONE else 2)
            has = self._aimed.used - back + holders.smallest(worst)
            untried &= has - excess - excess[worst] < self._aimed.bounds.most
        return np.flatnonzero(untried)

    def _promising(self, worst: int, others: Ints) -> Ints:
        """Some others in another order: who gains most by a step first, in turns by rack; who waits comes last."""
        used, bounds = self._aimed.used[others], self._aimed.bounds
        gains, room = bounds.least[others] - used, bounds.most[others] - used
        if not self._over(worst):
            gains, room = -room, -gains
        others = others[np.lexsort((-room, -np.maximum(gains, 0), self._waits[others]))]
        rack = self._steps.rack[others]
        by_rack = np.argsort(rack, kind="stable")
        turn = np.empty_like(by_rack)
        turn[by_rack] = np.arange(len(rack)) - np.searchsorted(rack[by_rack], rack[by_rack])
        return others[np.argsort(turn, kind="stable")]

    def _best_grade(self, worst: int, others: Ints) -> int:
        """Of any step between one broker and some others."""
        return -GRADES if self._gain(worst, others).any() else -GRADES // 2

    def _gain(self, worst: int, others: Ints) -> Flags:
        """Which of some brokers are too low where one is too high, or the other way round, and can be helped."""
        used, bounds = self._aimed.used[others], self._aimed.bounds
        gains = used < bounds.least[others] if self._over(worst) else used > bounds.most[others]
        return np.asarray(gains & ~self._waits[others])

    def _one_for_one(self, worst: int, others: Ints) -> _Step | None:
        """The best single unit, or exchange of two, between one broker and some others."""
        between, over = Between(self._steps, self._holders, worst, others), self._over(worst)
        if over and not self._holders.number(worst):
            return None
        best = self._single(self._near(np.array([worst]), others))
        if best and best.grade <= self._best_grade(worst, others):
            return best
        self._spent += CLOSER
        best = self._single(between.going if over else between.coming)
        if best and best.grade <= -GRADES // 2:
            useful = np.flatnonzero(self._gain(worst, others))
            between, others = between.some(useful), others[useful]
        if best and (best.grade == -GRADES or not len(others)):
            return best
        steps = [best] if best else []
        for mine, theirs in self._both_ways(between, len(others), WIDTH, over=over):
            step = self._exchange(*((mine, theirs) if over else (theirs, mine)))
            steps += [step] if step else []
        return min(steps, default=None)

    def _both_ways(
        self, between: "Between", count: int, width: int, *, over: bool
    ) -> Iterator[tuple[Units, Units]]:
        """What may go from one broker to others and back, for some of them at a time, which bounds the memory."""
        for start in range(0, count, OTHERS):
            some = between.some(np.arange(start, min(start + OTHERS, count)))
            mine = some.going_some(width)
            if not over or (mine.legal & ~self._too_large(mine)).any():
                self._spent += CLOSER
                yield mine, some.coming_some(width)

    def _near(self, worst: Ints, others: Ints) -> Units:
        """Single units between some brokers and some others that are next to what brings most."""
        over = self._over(int(worst[0]))
        wanted = self._wanted(worst[:, None], others, over=over)
        gives, gets = (worst, others) if over else (others, worst)
        return near(self._steps, self._holders, gives, gets, wanted if over else wanted.T)

    def _wanted(self, worst: Ints, others: Ints, *, over: bool) -> Ints:
        """How many units in one step bring most between two brokers, at the best grade; shape (worst, others).

        `over`: whether the worst have too much, not too little.
        """
        used, bounds = self._aimed.used, self._aimed.bounds
        above, below = used - bounds.most, bounds.least - used
        lack, takes = (above[worst], -below[worst]), (below[others], -above[others])
        if not over:
            lack, takes = (below[worst], -above[worst]), (above[others], -below[others])
        less, more = np.minimum(lack[0], takes[0]), np.maximum(lack[0], takes[0])
        most = np.where(less > 0, np.minimum(more, less / BEYOND), lack[0])
        amounts: Ints = np.minimum(np.minimum(most, lack[1]), takes[1]).astype(np.int64)
        return amounts

    def _single(self, units: Units) -> _Step | None:
        """The best unit of some."""
        rows, gives, gets, _ = units
        best = self._best(self._graded_units(units), rows.shape)
        if best is None:
            return None
        pair, at = divmod(best.at, rows.shape[1])
        return best.step(((int(rows[pair, at]), int(gives[pair, 0]), int(gets[pair, 0])),))

    def _graded_units(self, units: Units) -> "_Graded":
        rows, gives, gets, legal = units
        copied = self._steps.copied(rows, gives, gets)
        return self._graded(gives, gets, lambda of: of[rows], copied, legal)

    def _two_for_one(self, worst: int, others: Ints) -> _Step | None:
        """The best exchange of two for one between one broker and some others, whoever gives the two."""
        steps, between = [], Between(self._steps, self._holders, worst, others)
        over = self._over(worst)
        for mine, theirs in self._both_ways(between, len(others), NARROW, over=over):
            steps += [
                self._exchange(mine, theirs, two=True),
                self._exchange(theirs, mine, two=True),
            ]
        return min([step for step in steps if step], default=None)

    def _exchange(self, given: Units, back: Units, *, two: bool = False) -> _Step | None:
        """The best exchange of one that is given, or of two, for one that goes back."""
        given, back = given.only(given.legal & ~self._too_large(given)), back.only(back.legal)
        if not (given.rows.size and back.rows.size):
            return None
        rows, gives, gets, legal = given
        units = [rows]
        if two:
            one, other = np.triu_indices(rows.shape[1], 1)
            units = [rows[:, one], rows[:, other]]
            legal = legal[:, one] & legal[:, other]
            legal &= self._steps.together(units[0], units[1], gets)
        cost = np.zeros(legal.shape, dtype=np.int64)
        for rows in units:
            cost += self._steps.copied(rows, gives, gets)
        returned = self._steps.copied(back.rows, gets, gives)

        def gone(of: Ints) -> Ints:
            given = np.sum([of[rows] for rows in units], axis=0)
            return np.asarray(given[:, :, None] - of[back.rows][:, None, :])

        legal = legal[:, :, None] & back.legal[:, None, :]
        costs = cost[:, :, None] + returned[:, None, :]
        graded = self._graded(gives[:, :, None], gets[:, :, None], gone, costs, legal)
        best = self._best(graded, legal.shape)
        if best is None:
            return None
        place, at = divmod(best.at, back.rows.shape[1])
        pair, of = divmod(place, legal.shape[1])
        source, target = int(gives[pair, 0]), int(gets[pair, 0])
        goes = [(int(rows[pair, of]), source, target) for rows in units]
        return best.step((*goes, (int(back.rows[pair, at]), target, source)))

    def _too_large(self, units: Units) -> Flags:
        """Which units take who gets them too far for any gain, whatever goes back."""
        excess, most = self._aimed.excess, self._aimed.bounds.most[units.gets]
        lacks = excess[units.gives] + excess[units.gets]
        return np.asarray(self._aimed.units[units.rows] - most >= lacks)

    def _best(self, graded: "_Graded", shape: tuple[int, ...]) -> "_Best | None":
        """The best of some steps, in a shape."""
        best = graded.best(np.arange(len(graded.grade)))
        if best is None:
            return None
        place = int(np.ravel_multi_index([at[best] for at in graded.at], shape))
        excess = int(self._aimed.excess.sum()) - int(graded.brings[best])
        return _Best(place, int(graded.grade[best]), excess, int(graded.copied[best]))

    def _graded(
        self, source: Ints, target: Ints, gone: Callable[[Ints], Ints], copied: Ints, legal: Flags
    ) -> "_Graded":
        """The steps that bring something, of some between brokers, in the shape of `legal`.

        `gone`: how much each takes of a measure with the units that it gets.
        """
        aimed, excess = self._aimed, self._aimed.excess
        before = excess[source] + excess[target]
        brings = before - aimed.after(source, target, gone(aimed.units))
        at = np.nonzero(legal & (brings > 0))
        for held in self._held:
            gives, gets = (np.broadcast_to(of, legal.shape)[at] for of in (source, target))
            kept = held.after(gives, gets, gone(held.units)[at]) == 0
            at = tuple(of[kept] for of in at)
        before, gives, gets, costs = (
            np.broadcast_to(of, legal.shape)[at]
            for of in (before, excess[source], excess[target], copied)
        )
        more = brings[at]
        grade = -np.minimum(
            np.floor(more * self._worth / np.maximum(costs, 1) * GRADES / 2 + NEARLY), GRADES
        ).astype(np.int64)
        lacks = np.where((gives > 0) & (gets > 0), np.maximum(gives, gets), 0)
        grade[(more == before) & (costs <= BOTH * lacks * self._worth)] = -GRADES
        return _Graded(at, grade, more, costs)


class _Graded(NamedTuple):
    """Steps that bring something: their places, grades, what they bring, and the bytes that they copy."""

    at: tuple[Ints, ...]
    grade: Ints
    brings: Ints
    copied: Ints

    def best(self, some: Ints) -> int | None:
        """The best of some of them, the first of equal ones."""
        for of, sign in ((self.grade, 1), (self.brings, -1), (self.copied, 1)):
            values = sign * of[some]
            some = some[values == values.min(initial=np.iinfo(np.int64).max)]
        return int(some[0]) if len(some) else None


class _Best(NamedTuple):
    """The place of a step among those that were looked at, and what it brings."""

    at: int
    grade: int
    excess: int
    copied: int

    def step(self, goes: _Goes) -> _Step:
        """The step, by what goes."""
        return _Step(self.grade, self.excess, self.copied, goes)


class Between:
    """One broker and some others, and what may go from it to each of them, and from each of them to it."""

    def __init__(self, steps: Steps, holders: "Holders", broker: int, others: Ints) -> None:
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


def near(steps: Steps, holders: "Holders", gives: Ints, gets: Ints, units: Ints) -> Units:
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


def spread_out(rows: Ints, width: int) -> Ints:
    """At most so many of some rows, from the first to the last."""
    if len(rows) <= width:
        return rows
    return rows[np.arange(width) * (len(rows) - 1) // (width - 1)]
