"""The same problems as integer programs, for an exact solver: of the product only its nouns and
the shares of the brokers are used.

One binary variable for each partition and broker; the cost is bytes first, then copies. Each rack of the candidates is
bound from below and above; or one binary variable for each rack says that it is used: of those there is one, or, where
the rule says nothing of racks, as many as the partition lies in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import highspy
import numpy as np
from tests.unit.planning.placing.problems import only

from replan.model.api import Matrix
from replan.planning.api import NO_LIMIT, NO_RACK, Layout, PlacementProblem, shares

ANY = 1_000
COPIES = 10_000
"""What a byte costs where a copy costs 1: more than all copies of the small problems together."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """The least there is."""

    bytes: int
    copies: int


class _Program:
    """One problem as an integer program."""

    def __init__(self, problem: PlacementProblem) -> None:
        self._problem = problem
        self._model = highspy.Highs()  # type: ignore[no-untyped-call]
        self._model.silent()
        self._on: dict[tuple[int, int], highspy.highs.highs_var] = {}
        self._cost: list[highspy.highs.highs_linear_expression] = []
        self.possible = True

    def place(self, row: int, racks_kept: int, copies: int) -> None:
        """A variable for each broker that one partition may be on, its rule, and how often it is copied at most."""
        partitions, table = self._problem.partitions, self._problem.brokers
        rule = self._problem.rules[int(partitions.rule[row])]
        held = {int(b) for b in partitions.current[row] if b >= 0}
        allowed = [i for i in range(len(table.ids)) if rule.candidates[i]]
        mine = {}
        for i in allowed:
            stays = int(table.ids[i]) in held
            if stays or table.open[i]:
                mine[i] = self._on[row, i] = self._model.addBinary()
                if not stays:
                    self._cost.append((int(partitions.bytes[row]) * COPIES + 1) * mine[i])
        factor = int(partitions.factor[row])
        self.require(list(mine.values()), factor, factor)
        self.require([v for i, v in mine.items() if int(table.ids[i]) not in held], 0, copies)
        racks = {i: int(table.rack[i]) for i in allowed}
        if rule.layout is Layout.NONE:
            self._as_many_racks(mine, racks_kept)
        else:
            self._racks(rule.layout, mine, racks, factor)

    def _as_many_racks(self, mine: "dict[int, highspy.highs.highs_var]", least: int) -> None:
        here: dict[int, list[highspy.highs.highs_var]] = {}
        for i, var in mine.items():
            here.setdefault(_rack(self._problem, int(self._problem.brokers.ids[i])), []).append(var)
        used = []
        for some in here.values():
            used.append(self._model.addBinary())
            self._model.addConstr(self._model.qsum(some) - used[-1] >= 0)
        if used and least:
            self._model.addConstr(self._model.qsum(used) >= least)

    def keep(self, row: int) -> None:
        """One partition stays on the brokers that it is on."""
        held = {int(b) for b in self._problem.partitions.current[row] if b >= 0}
        for (of, broker), var in list(self._on.items()):
            if of == row and int(self._problem.brokers.ids[broker]) in held:
                self.require([var], 1, 1)

    def require(self, some: "list[highspy.highs.highs_var]", least: int, most: int) -> None:
        """Some of the variables are so many together."""
        if not some:
            self.possible &= least <= 0
            return
        self._model.addConstr(self._model.qsum(some) >= least)
        self._model.addConstr(self._model.qsum(some) <= most)

    def bound(self, broker: int, least: int, most: int) -> None:
        """One broker holds so many replicas."""
        self.require([var for (_, b), var in self._on.items() if b == broker], least, most)

    def fit(self, broker: int, room: int) -> None:
        """One broker holds so many bytes at most."""
        sizes = self._problem.partitions.bytes
        held = [int(sizes[row]) * var for (row, b), var in self._on.items() if b == broker]
        if held:
            self._model.addConstr(self._model.qsum(held) <= room)

    def _racks(
        self,
        layout: Layout,
        mine: "dict[int, highspy.highs.highs_var]",
        racks: dict[int, int],
        factor: int,
    ) -> None:
        every = sorted(set(racks.values()))
        self.possible &= bool(every) and every[0] >= 0
        here = {rack: [var for i, var in mine.items() if racks[i] == rack] for rack in every}
        if layout is Layout.RACK:
            for some in here.values():
                self.require(some, factor // len(every), -(-factor // len(every)))
            return
        chosen = [self._model.addBinary() for rack in every if here[rack]]
        self.require(chosen, 1, 1)
        for yes, some in zip(chosen, filter(None, here.values()), strict=True):
            self._model.addConstr(self._model.qsum([*some, -factor * yes]) == 0)

    def solve(self) -> Optimum | None:
        """The least cost."""
        if not self.possible:
            return None
        self._model.minimize(self._model.qsum(self._cost))
        if self._model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return Optimum(*divmod(round(self._model.getObjectiveValue()), COPIES))


def optimum(
    problem: PlacementProblem,
    bounds: Sequence[tuple[int, int]] = (),
    placed: Matrix | None = None,
    *,
    one_each: bool = False,
) -> Optimum | None:
    """Bytes and copies of the cheapest placement; None where there is none.

    `bounds`: the fewest and most replicas that each broker may hold; `placed`: lists that lie in so many racks as shall
    be kept; `one_each`: no partition is copied more than once, or than it is in these lists.
    """
    program = _Program(problem)
    for row in range(len(problem.partitions)):
        if placed is None:
            program.place(row, racks_kept(problem, row), ANY)
        else:
            new = cost_of(only(problem, [row]), placed[row : row + 1]).copies
            program.place(row, racks(problem, placed[row]), max(new, 1) if one_each else ANY)
    for row in problem.staying.tolist():
        program.keep(row)
    for broker, (least, most) in enumerate(bounds):
        program.bound(broker, least, most)
    for broker, room in enumerate(problem.brokers.room.tolist()):
        if room < NO_LIMIT:
            program.fit(broker, room)
    return program.solve()


def racks_kept(problem: PlacementProblem, row: int) -> int:
    """In how many racks a partition has to lie whose rule says nothing of racks: as many as now, as far as it can."""
    partitions, table = problem.partitions, problem.brokers
    may = problem.rules[int(partitions.rule[row])].candidates
    had = partitions.current[row]
    able = table.ids[may & (table.open | np.isin(table.ids, had))]
    return min(racks(problem, had), int(partitions.factor[row]), racks(problem, able))


def racks(problem: PlacementProblem, brokers: Iterable[int]) -> int:
    """In how many racks these brokers are."""
    return len({_rack(problem, int(b)) for b in brokers if b >= 0})


def _rack(problem: PlacementProblem, broker: int) -> int:
    """A broker whose rack is not known, or that is not registered, is a rack of its own."""
    rack = problem.brokers.rack[problem.brokers.ids == broker]
    return int(rack[0]) if len(rack) and rack[0] != NO_RACK else -1 - broker


def cost_of(problem: PlacementProblem, lists: Matrix) -> Optimum:
    """What some lists copy."""
    bytes_ = copies = 0
    for row, found in enumerate(lists):
        had = {int(b) for b in problem.partitions.current[row] if b >= 0}
        new = len({int(b) for b in found if b >= 0} - had)
        bytes_ += new * int(problem.partitions.bytes[row])
        copies += new
    return Optimum(bytes_, copies)


def balance_bounds(
    problem: PlacementProblem, lists: Matrix, tolerance: Fraction
) -> list[tuple[int, int]]:
    """The bounds of each broker: its share, less and more the tolerance, to whole replicas outwards.

    `lists`: without balance; a broker that gets nothing new keeps what it has there.
    """
    table = problem.brokers
    position = {int(b): i for i, b in enumerate(table.ids)}
    at = np.array([[position.get(int(b), -1) for b in row] for row in lists], dtype=np.int32)
    ones = np.ones(len(lists), dtype=np.int64)
    among = np.array([any(r.candidates[i] for r in problem.rules) for i in range(len(table.ids))])
    both = [
        shares(problem, np.arange(len(lists)), at, ones, takes)
        for takes in (among, among & table.open)
    ]
    bounds = []
    for i, of in enumerate(zip(*both, strict=True)):
        low, high = min(of) * max(1 - tolerance, Fraction(0)), max(of) * (1 + tolerance)
        least, most = low.numerator // low.denominator, -(-high.numerator // high.denominator)
        has = int((at == i).sum())
        bounds.append((least, most) if among[i] and table.open[i] else (has, has))
    return bounds
