"""Replicas and bytes per broker within the tolerance of their shares, over the partitions that are placed by rule.

A balance is aimed at. Replicas are exact (`flow`): where no moves bring all brokers within their bounds, the bounds
give way, as little as can be, to those that no replica can leave, or none can come to. Bytes are searched for
(`packing`), and the search keeps what it has found. How near that is, an `Imbalance` says. Room on disks is searched
for with them.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from replan.model.columns import Ints, Matrix, same_width
from replan.planning.placing.arranging import arranged
from replan.planning.placing.exchanges import ReplicaExchanges
from replan.planning.placing.flow import Bounds, Stuck, bring_within
from replan.planning.placing.legal_steps import LegalSteps, Way
from replan.planning.placing.packing import Packed, Packing
from replan.planning.placing.positions import Positions
from replan.planning.placing.problem import (
    NO_LIMIT,
    NO_RACK,
    Flags,
    Imbalance,
    Impossible,
    Lie,
    Measure,
    Obstacle,
    PlacementProblem,
)
from replan.planning.placing.shares import PARTS, Aim, shares
from replan.planning.placing.spread import TopicSpread
from replan.planning.placing.sweep import sweep

Amounts = tuple[Ints, Ints]
"""Replicas and bytes of each broker."""
FEW = 64
"""So many replicas take the cheapest paths from the first one on."""


@dataclass(frozen=True, slots=True)
class Balanced:
    """What is in the way."""

    impossible: tuple[Impossible, ...] = ()
    imbalances: tuple[Imbalance, ...] = ()


def balance(problem: PlacementProblem, at: Positions, lists: Matrix, placed: Flags) -> Balanced:
    """Change `lists`, as ids, of the partitions that are placed by rule.

    Replicas go only where something is out of bounds, so that what is balanced stays as it is.
    """
    by_rule = np.array([rule.lie is not Lie.LISTED for rule in problem.rules] + [False])
    rows = np.flatnonzero(by_rule[problem.partitions.rule] & placed)
    limited = bool((problem.brokers.room < NO_LIMIT).any())
    tolerance = problem.balance
    if not len(rows) or (tolerance.replicas is None and tolerance.bytes is None and not limited):
        return Balanced()
    mine, base = at.find(lists[rows]), at.find(problem.partitions.current[rows])
    before, sizes = mine.copy(), problem.partitions.bytes[rows]
    counts, used = _amounts(mine, sizes, at.count)
    replicas = _aim(problem, rows, mine, np.ones_like(sizes), counts, tolerance.replicas)
    bytes_ = _aim(problem, rows, mine, sizes, used, tolerance.bytes)
    room = _room(problem, at, lists, rows)
    found = Balanced()
    if not (_within(counts, _bounds(replicas, at.count)) and _within(used, _fit(bytes_, room))):
        spread = TopicSpread(problem, at, rows, lists)
        found = _Search(
            problem, LegalSteps(problem, at, rows, mine, base, spread), replicas, bytes_, room
        ).run()
    rack = at.numbers(problem.brokers.rack, NO_RACK).tolist()
    for row in np.flatnonzero((mine != before).any(axis=1)).tolist():
        had = [b for b in base[row].tolist() if b >= 0]
        stays = {b for b in mine[row].tolist() if b >= 0}
        order = arranged(had, sorted(stays.difference(had)), stays, rack)
        lists[rows[row], : len(order)] = at.ids[order]
    return found


class _Search:
    """Takes replicas elsewhere: first by count, then by bytes and room; `steps.lists` changes in place."""

    def __init__(
        self,
        problem: PlacementProblem,
        steps: LegalSteps,
        replicas: Aim | None,
        bytes_: Aim | None,
        room: Ints,
    ) -> None:
        self._problem, self._steps = problem, steps
        self._replicas, self._bytes, self._room = replicas, bytes_, room

    def run(self) -> Balanced:
        """Come as near as can be; what is still in the way."""
        found: list[Imbalance] = []
        impossible: list[Impossible] = []
        counts, _ = self._amounts()
        asked = _bounds(self._replicas, self._steps.brokers)
        if self._replicas is not None:
            while stuck := self._brought_within(counts, self._replicas.bounds):
                give_way = self._replicas.give_way_above
                if not stuck.over:
                    give_way = self._replicas.give_way_below
                give_way(stuck.brokers, counts)
        counts, used = self._amounts()
        if not _within(used, _fit(self._bytes, self._room)):
            asked = Bounds(np.minimum(asked.least, counts), np.maximum(asked.most, counts))
            ended, impossible = self._packed(used, counts, asked)
            counts, used = self._amounts()
            tolerance = self._problem.balance.bytes
            if self._bytes is not None and tolerance is not None:
                found += self._imbalance(Measure.BYTES, tolerance, self._bytes, used, ended.steps)
        tolerance = self._problem.balance.replicas
        if self._replicas is not None and tolerance is not None:
            found = [
                *self._imbalance(Measure.REPLICAS, tolerance, self._replicas, counts, None),
                *found,
            ]
        return Balanced(tuple(impossible), tuple(found))

    def _brought_within(self, counts: Ints, bounds: Bounds) -> Stuck | None:
        """One replica of each partition as far as that does, then more."""
        for way in (Way.ONE_EACH, Way.MORE):
            self._steps.way = way
            stuck = self._carried(counts, bounds)
            if stuck and stuck.over and way is Way.ONE_EACH:
                self._carried(counts, Bounds(bounds.least, np.maximum(bounds.most, counts)))
            if not stuck:
                break
        return stuck

    def _carried(self, counts: Ints, bounds: Bounds) -> Stuck | None:
        """Many are swept, and few or what is left take the cheapest paths."""
        if _out(counts, bounds) > FEW:
            sweep(counts, bounds, self._steps)
        while not _within(counts, bounds):
            exchanges = ReplicaExchanges(self._steps)
            stuck = bring_within(counts, bounds, exchanges)
            if not exchanges.stale:
                return stuck
        return None

    def _amounts(self) -> Amounts:
        return _amounts(self._steps.lists, self._steps.size, self._steps.brokers)

    def _packed(
        self, used: Ints, counts: Ints, by_count: Bounds
    ) -> tuple[Packed, list[Impossible]]:
        """Search for bytes and room; without a balance of bytes it is for room alone, and all or nothing."""
        mine = self._steps.lists
        bounds, before = _fit(self._bytes, self._room), mine.copy()
        proved = [] if self._bytes is not None else self._no_room(bounds)
        if proved:
            return Packed(within=False, steps=0), proved
        packing, ended = Packing(self._steps, used, bounds, counts, by_count), Packed(False, 0)
        for self._steps.way in Way:
            if not ended.within and (self._bytes is None or self._steps.way is not Way.CROWDED):
                more = packing.pack(self._problem.budget - ended.steps)
                ended = Packed(more.within, ended.steps + more.steps)
        if ended.within or (self._amounts()[1] <= self._room).all():
            return ended, []
        if self._bytes is None:  # each move without room is refused by itself
            mine[:] = before
        return ended, [Impossible(Obstacle.ROOM_NOT_FOUND, needed=ended.steps)]

    def _no_room(self, bounds: Bounds) -> list[Impossible]:
        """The proof that the disks cannot hold all of it, if there is one."""
        among = _among(self._problem)
        size = self._steps.size
        total = int((size * (self._steps.lists >= 0).sum(axis=1)).sum())
        room = int(np.minimum(bounds.most, total)[among].sum())
        largest, most = int(size.max(initial=0)), int(bounds.most[among].max(initial=0))
        if total > room:
            return [Impossible(Obstacle.ROOM_IMPOSSIBLE, needed=total, available=room)]
        if largest > most:
            return [Impossible(Obstacle.ROOM_IMPOSSIBLE, needed=largest, available=most)]
        return []

    def _imbalance(
        self, measure: Measure, asked: Fraction, aim: Aim, amounts: Ints, steps: int | None
    ) -> list[Imbalance]:
        reached = aim.reached(amounts)
        far = [b for b, parts in enumerate(reached) if Fraction(parts, PARTS) > asked]
        if not far:
            return []
        brokers = tuple(int(b) for b in self._problem.brokers.ids[far])
        return [Imbalance(measure, asked, Fraction(max(reached), PARTS), brokers, steps)]


def _amounts(lists: Matrix, sizes: Ints, brokers: int) -> Amounts:
    there = lists >= 0
    of_each = np.broadcast_to(sizes[:, None], lists.shape)[there]
    used = np.zeros(brokers, dtype=np.int64)
    np.add.at(used, lists[there], of_each)
    return np.bincount(lists[there], minlength=brokers).astype(np.int64), used


def _out(amounts: Ints, bounds: Bounds) -> int:
    """How many have to come or to go at least."""
    over = np.maximum(amounts - bounds.most, 0).sum()
    return int(max(over, np.maximum(bounds.least - amounts, 0).sum()))


def _within(amounts: Ints, bounds: Bounds) -> bool:
    return bool(((amounts >= bounds.least) & (amounts <= bounds.most)).all())


def _aim(
    problem: PlacementProblem,
    rows: Ints,
    mine: Matrix,
    units: Ints,
    amounts: Ints,
    tolerance: Fraction | None,
) -> Aim | None:
    if tolerance is None:
        return None
    among = _among(problem)
    opens = among & problem.brokers.open
    of = [shares(problem, rows, mine, units, takes) for takes in (opens, among)]
    return Aim.at(of, tolerance, amounts, opens)


def _bounds(aim: Aim | None, brokers: int) -> Bounds:
    """The fewest and most of each broker; none where nothing is balanced."""
    if aim is None:
        return Bounds(np.zeros(brokers, dtype=np.int64), np.full(brokers, NO_LIMIT))
    return aim.bounds


def _fit(aim: Aim | None, room: Ints) -> Bounds:
    """The bounds, where the disks hold less."""
    bounds = _bounds(aim, len(room))
    return Bounds(np.minimum(bounds.least, room), np.minimum(bounds.most, room))


def _among(problem: PlacementProblem) -> Flags:
    """The candidates of all rules together."""
    among = np.zeros(len(problem.brokers.ids), dtype=bool)
    for rule in problem.rules:
        if rule.lie is not Lie.LISTED:
            among |= rule.candidates
    return among


def _room(problem: PlacementProblem, at: Positions, lists: Matrix, rows: Ints) -> Ints:
    """What each broker may hold: the disks hold the partitions that are not placed by rule as well."""
    room = problem.brokers.room
    if not (room < NO_LIMIT).any():
        return room
    elsewhere = np.ones(len(lists), dtype=bool)
    elsewhere[rows] = False
    others = np.flatnonzero(elsewhere)
    held, lists = same_width(problem.partitions.current, lists)
    stays = np.isin(others, problem.staying)
    lying = at.find(np.where(stays[:, None], held[others], lists[others]))
    lying = np.where(lying < at.count, lying, -1).astype(np.int32)
    _, taken = _amounts(lying, problem.partitions.bytes[others], at.count)
    left: Ints = np.maximum(room - taken, 0)
    return left
