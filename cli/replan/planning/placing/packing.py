"""Bytes per broker within bounds: bin packing, so a search with a budget of steps, and no proof where it finds nothing.

It starts from lists that keep their rules and counts. A step takes one replica elsewhere, or exchanges two between two
brokers, or, where none of those helps, two for one; of all steps that the worst broker allows the one that brings most
is taken, and of equal ones the cheapest. Not found where no step helps, or the budget is spent. Impossible where the
sum alone, or one partition, says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from replan.model.columns import Ints
from replan.planning.placing.flow import Bounds
from replan.planning.placing.legal_steps import LegalSteps

WIDTH = 48
"""Partitions of each broker that are tried in exchanges."""
NARROW = 16
"""The same where two are exchanged for one."""


@dataclass(frozen=True, slots=True)
class Packed:
    """How the search ended."""

    within: bool
    steps: int


class _Step(NamedTuple):
    """Replicas that go, and what that brings; the smallest is the best."""

    excess: int
    copied: int
    goes: tuple[tuple[int, int, int], ...]
    """Row, source, target."""


class Packing:
    """The bytes of each broker while replicas go."""

    def __init__(
        self, steps: LegalSteps, used: Ints, bytes_: Bounds, counts: Ints, replicas: Bounds
    ) -> None:
        """`used`, `counts`: what each broker has; both change."""
        self._steps, self._used, self._bytes = steps, used, bytes_
        self._counts, self._replicas = counts, replicas

    def pack(self, budget: int) -> Packed:
        """Take steps until all brokers are within their bounds, nothing helps, or the budget is spent."""
        for spent in range(budget):
            excess = self._excess(self._used)
            if not excess.any():
                return Packed(True, spent)
            best = self._of_the_worst(excess, self._between)
            if best is None:
                best = self._of_the_worst(excess, self._two_for_one)
            if best is None:
                return Packed(False, spent)
            for row, source, target in best.goes:
                self._take(row, source, target)
        return Packed(not self._excess(self._used).any(), budget)

    def _take(self, row: int, source: int, target: int) -> None:
        self._steps.take(row, source, target)
        size = int(self._steps.size[row])
        for broker, sign in ((source, -1), (target, 1)):
            self._used[broker] += sign * size
            self._counts[broker] += sign

    def _excess(self, used: Ints) -> Ints:
        over = np.maximum(used - self._bytes.most, 0)
        return np.asarray(over + np.maximum(self._bytes.least - used, 0))

    def _of_the_worst(self, excess: Ints, steps: Callable[[int, int], list[_Step]]) -> _Step | None:
        """The best step that concerns the worst broker for which one helps."""
        for worst in np.argsort(-excess, kind="stable").tolist():
            if not excess[worst]:
                break
            over = bool(self._used[worst] > self._bytes.most[worst])
            found = [
                step
                for other in range(self._steps.brokers)
                if other != worst
                for step in steps(*((worst, other) if over else (other, worst)))
            ]
            helping = [step for step in found if step.excess < int(excess.sum())]
            if helping:
                return min(helping)
        return None

    def _between(self, source: int, target: int) -> list[_Step]:
        """Steps that take bytes from one broker to another: single replicas, and exchanges of two."""
        given, back = self._able(source, target), self._able(target, source)
        found: list[_Step] = []
        base = self._excess(self._used)
        rest = int(base.sum() - base[source] - base[target])
        singles = self._counts[source] > self._replicas.least[source]
        if singles and self._counts[target] < self._replicas.most[target] and len(given):
            sizes = self._steps.size[given]
            after = self._after(source, target, sizes)
            cost = self._steps.costs(given, source).bytes[:, target]
            at = int(np.lexsort((given, cost, after))[0])
            found.append(
                _Step(rest + int(after[at]), int(cost[at]), ((int(given[at]), source, target),))
            )
        if len(given) and len(back):
            sizes = self._steps.size[given][:, None] - self._steps.size[back][None, :]
            after = self._after(source, target, sizes)
            cost = (
                self._steps.costs(given, source).bytes[:, target][:, None]
                + self._steps.costs(back, target).bytes[:, source][None, :]
            )
            flat = int(np.lexsort((cost.ravel(), after.ravel()))[0])
            i, j = divmod(flat, len(back))
            goes = ((int(given[i]), source, target), (int(back[j]), target, source))
            found.append(_Step(rest + int(after[i, j]), int(cost[i, j]), goes))
        return found

    def _two_for_one(self, source: int, target: int) -> list[_Step]:
        """The best step that takes bytes from one broker to another by an exchange of two for one, if there is one."""
        found: list[_Step] = []
        base = self._excess(self._used)
        rest = int(base.sum() - base[source] - base[target])
        for gives, gets in ((source, target), (target, source)):
            if not (
                self._counts[gives] > self._replicas.least[gives]
                and self._counts[gets] < self._replicas.most[gets]
            ):
                continue
            two, one = self._able(gives, gets, NARROW), self._able(gets, gives, NARROW)
            first, second = np.triu_indices(len(two), 1)
            may = self._steps.together(two[first], two[second], gets)
            first, second = first[may], second[may]
            if not len(first) or not len(one):
                continue
            size = self._steps.size
            gone = (size[two[first]] + size[two[second]])[:, None] - size[one][None, :]
            after = self._after(gives, gets, gone)
            cost = self._steps.costs(two, gives).bytes[:, gets]
            back = self._steps.costs(one, gets).bytes[:, gives]
            copied = (cost[first] + cost[second])[:, None] + back[None, :]
            flat = int(np.lexsort((copied.ravel(), after.ravel()))[0])
            i, j = divmod(flat, len(one))
            goes = (
                (int(two[first[i]]), gives, gets),
                (int(two[second[i]]), gives, gets),
                (int(one[j]), gets, gives),
            )
            found.append(_Step(rest + int(after[i, j]), int(copied[i, j]), goes))
        return found

    def _after(self, source: int, target: int, sizes: Ints) -> Ints:
        """The excess of both when so many bytes have gone."""
        total = np.zeros(sizes.shape, dtype=np.int64)
        for broker, sign in ((source, -1), (target, 1)):
            used = self._used[broker] + sign * sizes
            total += np.maximum(used - self._bytes.most[broker], 0)
            total += np.maximum(self._bytes.least[broker] - used, 0)
        return total

    def _able(self, source: int, target: int, width: int = WIDTH) -> Ints:
        """Some partitions whose replica may go: spread over all sizes."""
        rows = np.flatnonzero((self._steps.lists == source).any(axis=1))
        rows = rows[self._steps.legal(rows, source)[:, target]]
        rows = rows[np.argsort(self._steps.size[rows], kind="stable")]
        if len(rows) <= width:
            return rows
        return rows[np.linspace(0, len(rows) - 1, width).astype(np.int64)]
