"""Which replicas of drained brokers leave their rack too, as its other brokers would come to hold too much.

What leaves a broker goes to the others of its rack. Where there are more racks than replicas of a partition, it may as
well go to one that has none of it, at the same bytes. It does where its own would come to hold more than a twentieth
above the mean, by weight: the largest first, each to the rack that holds least, until that is no more so.
"""

import numpy as np

from replan.model.columns import Flags, Ints, Matrix
from replan.planning.placing.loads import amounts
from replan.planning.placing.positions import Positions, may_stay
from replan.planning.placing.problem import Layout, PlacementProblem

ABOVE = 1.05
"""So many times the mean a rack may come to hold."""
OWN = -1
ANYWHERE = (Layout.RACK, Layout.NONE, Layout.LISTED)
"""Where a rack that has none of a partition is as good as its own."""


def other_racks(problem: PlacementProblem, at: Positions, base: Matrix, settled: Flags) -> Ints:
    """Of each partition the rack that gets what leaves it, as `Positions.racks` has it; OWN: the rack that it leaves.

    `base`: its list, as positions; `settled`: it stays as it is.
    """
    to_racks = np.full(len(base), OWN, dtype=np.int64)
    drained = np.isin(at.ids, list(problem.drained))
    rows = _movable(problem, at, base, drained, np.flatnonzero(~settled))
    if not len(rows):
        return to_racks
    codes, rack = np.unique(at.racks(problem.brokers.rack)[:-1], return_inverse=True)
    sizes = problem.partitions.bytes
    held = amounts(base, sizes, len(at.ids))
    held[: at.count] += np.where(drained[: at.count], 0, problem.brokers.bytes)
    able_of = [(rule.candidates & problem.brokers.open).tobytes() for rule in problem.rules]
    for able in dict.fromkeys(able_of):
        of_rules = np.array([some == able for some in able_of])
        some = rows[of_rules[problem.partitions.rule[rows]]]
        loads = _RackLoads(rack, held, drained, np.frombuffer(able, dtype=bool), problem)
        for row in some[np.argsort(-sizes[some], kind="stable")].tolist():
            members = [b for b in base[row].tolist() if b >= 0]
            [leaving] = [b for b in members if drained[b]]
            to = loads.other(int(rack[leaving]), {int(rack[b]) for b in members}, int(sizes[row]))
            to_racks[row] = OWN if to is None else codes[to]
    return to_racks


def _movable(
    problem: PlacementProblem, at: Positions, base: Matrix, drained: Flags, rows: Ints
) -> Ints:
    """Those of some partitions that lose one replica, with a drained broker, and may lie in any racks."""
    partitions = problem.partitions
    lists, rule = base[rows], partitions.rule[rows]
    leaves = (drained[lists] & (lists >= 0)).sum(axis=1)
    stays = may_stay(problem, at, lists, rule).sum(axis=1)
    anywhere = np.array([r.layout in ANYWHERE for r in problem.rules])[rule]
    movable: Ints = rows[
        anywhere
        & (leaves == 1)
        & (stays == partitions.factor[rows] - 1)
        & ~np.isin(rows, problem.staying)
    ]
    return movable


class _RackLoads:
    """What the racks of some candidates come to hold, where what leaves a broker stays in its rack."""

    def __init__(
        self, rack: Ints, held: Ints, drained: Flags, able: Flags, problem: PlacementProblem
    ) -> None:
        """`rack`, `held`, `drained`: of each broker, by position; `able`: of registered ones."""
        count, racks = len(able), int(rack.max()) + 1
        capacity, load = np.zeros(racks, dtype=np.int64), np.zeros(racks, dtype=np.int64)
        np.add.at(capacity, rack[:count][able], problem.brokers.weight[able])
        there = drained.copy()
        there[:count] |= able
        np.add.at(load, rack[there], held[there])
        self._capacity: list[int] = capacity.tolist()
        self._load: list[int] = load.tolist()
        self._able = np.flatnonzero(capacity).tolist()
        self._most = ABOVE * float(load.sum()) / max(int(capacity.sum()), 1)

    def other(self, home: int, taken: set[int], size: int) -> int | None:
        """Where a replica of a size goes instead; None where it stays in its rack. `taken`: racks of the partition."""
        if self._of(home, 0) <= self._most:
            return None
        free = [rack for rack in self._able if rack not in taken]
        to = min(free, key=lambda rack: (self._of(rack, size), rack), default=home)
        if to == home or self._of(to, size) >= self._of(home, 0):
            return None
        self._load[home] -= size
        self._load[to] += size
        return to

    def _of(self, rack: int, more: int) -> float:
        """By weight; nothing of a rack that has none of these candidates, as none of it stays there."""
        return (self._load[rack] + more) / self._capacity[rack] if self._capacity[rack] else 0.0
