"""A measure of brokers within bounds: bin packing, so a search with a budget of steps, and no proof in its failing.

It starts from lists that keep their rules, and holds other measures within bounds of their own. A step takes one unit
elsewhere, or exchanges two between two brokers, or, where none of those helps, two for one. Of all steps that the worst
broker allows, those that bring most for the bytes that they copy are looked at, and of these the one that brings most
is taken. Not found where no step helps, or the budget is spent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from replan.model.columns import Ints
from replan.planning.placing.flow import Bounds
from replan.planning.placing.problem import Flags
from replan.planning.placing.steps import Steps

WIDTH = 48
"""Partitions of each broker that are tried in exchanges."""
NARROW = 16
"""The same where two are exchanged for one."""
GRADES = 4
"""What a step brings for what it copies is graded: the twice of a step from too much to too little has so many."""


@dataclass(frozen=True, slots=True)
class Packed:
    """How the search ended."""

    within: bool
    steps: int


@dataclass(frozen=True, slots=True)
class Measured:
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

    def after(self, source: int, target: int, gone: Ints) -> Ints:
        """How far both are outside when so much has gone; in the shape of `gone`."""
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


class Packing:
    """One measure that is brought within its bounds, while others are held within theirs."""

    def __init__(self, steps: Steps, aimed: Measured, held: Sequence[Measured]) -> None:
        self._steps, self._aimed, self._held = steps, aimed, held
        units = max(int(aimed.units.sum()), 1)
        self._worth = int(steps.size.sum()) / units
        """Bytes for one of the measure, on average."""

    def pack(self, budget: int) -> Packed:
        """Take steps until all brokers are within their bounds, nothing helps, or the budget is spent."""
        for spent in range(budget):
            excess = self._aimed.excess
            if not excess.any():
                return Packed(True, spent)
            best = self._of_the_worst(excess, self._between)
            if best is None:
                best = self._of_the_worst(excess, self._two_for_one)
            if best is None:
                return Packed(False, spent)
            for row, source, target in best.goes:
                self._steps.take(row, source, target)
                for measured in (self._aimed, *self._held):
                    measured.take(row, source, target)
        return Packed(not self._aimed.excess.any(), budget)

    def _of_the_worst(self, excess: Ints, steps: Callable[[int, int], list[_Step]]) -> _Step | None:
        """The best step that concerns the worst broker for which one helps."""
        for worst in np.argsort(-excess, kind="stable").tolist():
            if not excess[worst]:
                break
            over = bool(self._aimed.used[worst] > self._aimed.bounds.most[worst])
            found = [
                step
                for other in range(self._steps.brokers)
                if other != worst
                for step in steps(*((worst, other) if over else (other, worst)))
            ]
            if found:
                return min(found)
        return None

    def _between(self, source: int, target: int) -> list[_Step]:
        """Steps that take something from one broker to another: single units, and exchanges of two."""
        given, back = self._able(source, target), self._able(target, source)
        found: list[_Step] = []
        if not len(given):
            return found
        cost = self._steps.costs(given, source).bytes[:, target]
        at = self._best(source, target, lambda units: units[given], cost)
        if at is not None:
            found.append(at.going(((given, source, target),)))
        if len(back):
            returned = self._steps.costs(back, target).bytes[:, source]
            at = self._best(
                source,
                target,
                lambda units: units[given][:, None] - units[back][None, :],
                cost[:, None] + returned[None, :],
            )
            if at is not None:
                found.append(at.going(((given, source, target), (back, target, source))))
        return found

    def _two_for_one(self, source: int, target: int) -> list[_Step]:
        """The best steps that take something from one broker to another by an exchange of two for one."""
        found: list[_Step] = []
        for gives, gets in ((source, target), (target, source)):
            two, one = self._able(gives, gets, NARROW), self._able(gets, gives, NARROW)
            first, second = np.triu_indices(len(two), 1)
            may = self._steps.together(two[first], two[second], gets)
            first, second = two[first[may]], two[second[may]]
            if not len(first) or not len(one):
                continue
            cost = self._steps.costs(first, gives).bytes + self._steps.costs(second, gives).bytes
            back = self._steps.costs(one, gets).bytes[:, gives]
            at = self._best(
                gives, gets, _two_for(first, second, one), cost[:, gets][:, None] + back
            )
            if at is not None:
                pairs = ((first, gives, gets), (second, gives, gets))
                i, j = divmod(at.at, len(one))
                goes = tuple((int(rows[i]), a, b) for rows, a, b in pairs)
                found.append(at.step((*goes, (int(one[j]), gets, gives))))
        return found

    def _best(
        self, source: int, target: int, gone: Callable[[Ints], Ints], copied: Ints
    ) -> "_Best | None":
        """The best of some steps between two brokers; `gone`: how much each takes, of a measure with these units."""
        aimed = self._aimed
        excess = aimed.excess
        before = int(excess[source] + excess[target])
        after = aimed.after(source, target, gone(aimed.units))
        may: Flags = after < before
        for held in self._held:
            may &= held.after(source, target, gone(held.units)) == 0
        places = np.flatnonzero(may.ravel())
        if not len(places):
            return None
        left, costs = after.ravel()[places], copied.ravel()[places]
        brings = (before - left) * self._worth / np.maximum(costs, 1)
        grade = -np.minimum(np.floor(brings * GRADES / 2), GRADES).astype(np.int64)
        best = np.lexsort((places, costs, left, grade))[0]
        rest = int(excess.sum()) - before
        return _Best(int(places[best]), int(grade[best]), rest + int(left[best]), int(costs[best]))

    def _able(self, source: int, target: int, width: int = WIDTH) -> Ints:
        """Some partitions whose unit may go: spread over all sizes."""
        rows = np.flatnonzero((self._steps.lists == source).any(axis=1))
        rows = rows[self._steps.legal(rows, source, np.array([target]))[:, 0]]
        rows = rows[np.argsort(self._aimed.units[rows], kind="stable")]
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

    def going(self, of: tuple[tuple[Ints, int, int], ...]) -> _Step:
        """The step, where each of its dimensions is a list of rows."""
        places = np.unravel_index(self.at, tuple(len(rows) for rows, _, _ in of))
        goes = [(int(rows[i]), a, b) for (rows, a, b), i in zip(of, places, strict=True)]
        return self.step(tuple(goes))


def _two_for(first: Ints, second: Ints, one: Ints) -> Callable[[Ints], Ints]:
    """What pairs of partitions less one take, of a measure with these units."""

    def taken(units: Ints) -> Ints:
        found: Ints = (units[first] + units[second])[:, None] - units[one]
        return found

    return taken
