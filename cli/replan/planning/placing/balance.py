"""Replicas and bytes per broker within the tolerance of their shares, over the partitions that are placed by rule.

The share of a broker is its part by weight of all that is balanced, among the candidates of the rules. Its bounds are
the share less and more the tolerance, to whole numbers outwards: a tolerance of 0 means within one. A broker that may
get nothing new needs no more than it has. Replicas are exact (`flow`), bytes are searched for (`packing`).
"""

from fractions import Fraction

import numpy as np

from replan.model.columns import Ints, Matrix
from replan.planning.placing.arranging import arranged
from replan.planning.placing.exchanges import ReplicaExchanges
from replan.planning.placing.flow import Bounds, bring_within
from replan.planning.placing.legal_steps import LegalSteps
from replan.planning.placing.packing import Packing
from replan.planning.placing.positions import Positions
from replan.planning.placing.problem import (
    NO_LIMIT,
    NO_RACK,
    Flags,
    Impossible,
    Lie,
    Obstacle,
    PlacementProblem,
)

Amounts = tuple[Ints, Ints]
"""Replicas and bytes of each broker."""


def balance(
    problem: PlacementProblem, at: Positions, lists: Matrix, placed: Flags
) -> list[Impossible]:
    """Change `lists`, as ids, of the partitions that are placed by rule; reasons where that cannot be.

    Replicas go only where something is out of bounds, so that what is balanced stays as it is.
    """
    by_rule = np.array([rule.lie is not Lie.LISTED for rule in problem.rules] + [False])
    rows = np.flatnonzero(by_rule[problem.partitions.rule] & placed)
    limited = bool((problem.brokers.room < NO_LIMIT).any())
    tolerance = problem.balance
    if not len(rows) or (tolerance.replicas is None and tolerance.bytes is None and not limited):
        return []
    mine = at.find(lists[rows])
    counts, used = _amounts(mine, problem.partitions.bytes[rows], at.count)
    replicas = _bounds(problem, counts, tolerance.replicas)
    bytes_ = _with_room(problem, at, lists, rows, _bounds(problem, used, tolerance.bytes))
    if _within(counts, replicas) and _within(used, bytes_):
        return []
    before, base = mine.copy(), at.find(problem.partitions.current[rows])
    rack = at.numbers(problem.brokers.rack, NO_RACK).tolist()
    steps = LegalSteps(problem, rows, mine, base)
    if not _within(counts, replicas):
        stuck = bring_within(counts, replicas, ReplicaExchanges(steps))
        if stuck is not None:
            brokers = tuple(int(at.ids[b]) for b in stuck.brokers)
            return [Impossible(Obstacle.BALANCE_IMPOSSIBLE, brokers=brokers, needed=stuck.units)]
    _, used = _amounts(mine, problem.partitions.bytes[rows], at.count)
    found: list[Impossible] = []
    if not _within(used, bytes_):
        unpacked = mine.copy()
        found = _packed(problem, steps, Packing(steps, used, bytes_, counts, replicas), bytes_)
        if found and tolerance.bytes is None:  # each move without room is refused by itself
            mine[:] = unpacked
    for row in np.flatnonzero((mine != before).any(axis=1)).tolist():
        had = [b for b in base[row].tolist() if b >= 0]
        stays = {b for b in mine[row].tolist() if b >= 0}
        order = arranged(had, sorted(stays.difference(had)), stays, rack)
        lists[rows[row], : len(order)] = at.ids[order]
    return found


def _amounts(lists: Matrix, sizes: Ints, brokers: int) -> Amounts:
    there = lists >= 0
    of_each = np.broadcast_to(sizes[:, None], lists.shape)[there]
    used = np.zeros(brokers, dtype=np.int64)
    np.add.at(used, lists[there], of_each)
    return np.bincount(lists[there], minlength=brokers).astype(np.int64), used


def _within(amounts: Ints, bounds: Bounds) -> bool:
    return bool(((amounts >= bounds.least) & (amounts <= bounds.most)).all())


def _bounds(problem: PlacementProblem, amounts: Ints, tolerance: Fraction | None) -> Bounds:
    """The fewest and most of each broker; none where it is no candidate."""
    brokers = problem.brokers
    if tolerance is None:
        return Bounds(np.zeros_like(amounts), np.full_like(amounts, NO_LIMIT))
    weights = np.where(_among(problem), brokers.weight, 0).tolist()
    share = [Fraction(int(amounts.sum()) * w, max(sum(weights), 1)) for w in weights]
    low = [s * max(1 - tolerance, Fraction(0)) for s in share]
    high = [s * (1 + tolerance) for s in share]
    least = np.array([f.numerator // f.denominator for f in low], dtype=np.int64)
    return Bounds(
        np.where(brokers.open, least, np.minimum(least, amounts)),
        np.array([min(-(-f.numerator // f.denominator), NO_LIMIT) for f in high], dtype=np.int64),
    )


def _among(problem: PlacementProblem) -> Flags:
    """The candidates of all rules together."""
    among = np.zeros(len(problem.brokers.ids), dtype=bool)
    for rule in problem.rules:
        if rule.lie is not Lie.LISTED:
            among |= rule.candidates
    return among


def _with_room(
    problem: PlacementProblem, at: Positions, lists: Matrix, rows: Ints, bounds: Bounds
) -> Bounds:
    """The bounds, where the disks hold less: they hold the partitions that are not placed by rule as well."""
    if not (problem.brokers.room < NO_LIMIT).any():
        return bounds
    others = np.setdiff1d(np.arange(len(lists)), rows)
    lying = at.find(lists[others])
    lying = np.where(lying < at.count, lying, -1).astype(np.int32)
    _, taken = _amounts(lying, problem.partitions.bytes[others], at.count)
    return Bounds(
        bounds.least, np.minimum(bounds.most, np.maximum(problem.brokers.room - taken, 0))
    )


def _packed(
    problem: PlacementProblem, steps: LegalSteps, packing: Packing, bounds: Bounds
) -> list[Impossible]:
    room_only = problem.balance.bytes is None
    impossible = Obstacle.ROOM_IMPOSSIBLE if room_only else Obstacle.BYTES_IMPOSSIBLE
    total = int((steps.size * (steps.lists >= 0).sum(axis=1)).sum())
    room = int(np.minimum(bounds.most, total)[_among(problem)].sum())
    if total > room or total < int(bounds.least.sum()):
        return [Impossible(impossible, needed=total, available=room)]
    largest = int(steps.size.max(initial=0))
    most = int(bounds.most[_among(problem)].max(initial=0))
    if largest > most:
        return [Impossible(impossible, needed=largest, available=most)]
    ended = packing.pack(problem.budget)
    if ended.within:
        return []
    not_found = Obstacle.ROOM_NOT_FOUND if room_only else Obstacle.NOT_FOUND_WITHIN_BUDGET
    return [Impossible(not_found, needed=ended.steps)]
