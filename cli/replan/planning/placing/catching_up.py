"""What part of the copies each broker of a rack gets, where some would hold too much or too little by weight alone.

Copies go by weight, so that no broker gets much more than the others and none holds the plan up. Who would come to
hold more than a little above its even share of the bytes gets less, and the others of its rack the more. What leaves
drained brokers is little beside what the others hold, so that evening these with it takes long: there the busiest
receiver counts more, a little goes to those that hold less, and less to who would be far above. A broker that
would hold less than half of what is even (one that joined to replace a dead one, say) has its part by what it lacks:
with the same bytes, what is held becomes even.

What comes to a rack is known before anything is chosen, but for replicas that may go to several racks: those of a
broker that leaves are counted in its rack, or where `other_racks` sends them, others evenly. So is what stays, but
where too many lie in a rack: the leader's is counted, and of each other one its part. So the parts are near what makes
racks even, not exact.
"""

from fractions import Fraction

import numpy as np

from replan.model.columns import Ints, Matrix
from replan.planning.placing.giving_way import FINE, kept_amounts
from replan.planning.placing.loads import MORE, NEAR, Parts
from replan.planning.placing.other_racks import OWN
from replan.planning.placing.positions import Positions
from replan.planning.placing.problem import Layout, PlacementProblem, Rule
from replan.planning.placing.shares import shared_out

BEHIND = 2
"""A broker is far behind where it comes to hold less than this part of an even share."""
LITTLE, FAR, TWENTIETHS = 21, 23, 20
"""So many times its even share of bytes a broker may come to hold by what it gets; `FAR`: where brokers are drained."""
ROWS_AT_ONCE = 1 << 16
"""Partitions whose racks are counted at a time: bounds the memory."""


def parts_of_copies(
    problem: PlacementProblem, at: Positions, lists: Matrix, likely: Ints, others: Ints
) -> dict[int, Parts]:
    """Of each rule under which copies do not go by weight alone: the part of each broker in them, by position.

    `lists`: as positions; `likely`: what part of each member stays (`giving_way`); `others`: the rack that gets what
    leaves each partition, where not its own (`other_racks`).
    """
    there = (problem.partitions.current >= 0).any(axis=1)
    coming = there & ((likely > 0).sum(axis=1) != problem.partitions.factor)
    if not coming.any():
        return {}
    behind = _Behind(problem, at, lists, likely, others)
    parts = {}
    for number in np.unique(problem.partitions.rule[coming]).tolist():
        rows = np.flatnonzero(coming & (problem.partitions.rule == number))
        of_rule = behind.parts(problem.rules[number], rows)
        if of_rule is not None:
            parts[number] = of_rule
    return parts


class _Behind:
    """What each broker holds of what stays, half in replicas and half in bytes, and what comes to its rack."""

    def __init__(
        self, problem: PlacementProblem, at: Positions, lists: Matrix, likely: Ints, others: Ints
    ) -> None:
        self._problem, self._at = problem, at
        self._lists, self._stays, self._others = lists, likely > 0, others
        self._rack = at.racks(problem.brokers.rack)
        number, taken = kept_amounts(problem, at, lists, likely)
        number //= FINE
        self._drained = np.isin(at.ids, list(problem.drained))
        self._of_a_replica, self._of_a_byte = max(int(taken.sum()), 1), max(int(number.sum()), 1)
        self._held = [self._load(*of) for of in zip(number.tolist(), taken.tolist(), strict=True)]
        self._bytes: list[int] = taken.tolist()

    def _load(self, replicas: int, size: int) -> int:
        return replicas * self._of_a_replica + size * self._of_a_byte

    def parts(self, rule: Rule, rows: Ints) -> Parts | None:
        """The part of each broker under a rule; nothing where each gets its part by weight."""
        weight = self._problem.brokers.weight
        able = np.flatnonzero(rule.candidates & self._problem.brokers.open)
        racks = [able[self._rack[able] == r].tolist() for r in np.unique(self._rack[able])]
        if not racks:
            return None
        wanted: dict[int, Fraction] = {}
        uneven, drains = False, self._drains(rows)
        for some, (replicas, size) in zip(racks, self._coming(rule, rows, racks), strict=True):
            weights, more = [int(weight[b]) for b in some], self._load(replicas, size)
            if self._lags(some, weights, more):
                held = [self._held[b] for b in some]
                parts = shared_out(more, weights, [more] * len(some), held)
                parts = [part / (2 * self._of_a_byte) for part in parts]  # as bytes
                uneven = True
            elif drains:
                parts = self._drained_to(some, weights, size)
                uneven = True
            else:
                most = self._room_below(some, weights, size, LITTLE)
                parts = shared_out(size, weights, most)
                uneven |= any(part == top for part, top in zip(parts, most, strict=True))
            wanted.update(zip(some, parts, strict=True))
        largest = max(wanted.values(), default=Fraction(0))
        if not uneven or not largest:
            return None
        lacking = [0] * self._at.count
        for broker, part in wanted.items():
            lacking[broker] = -int(-part * FINE // largest)
        return Parts.by(lacking, NEAR if drains else MORE)

    def _drains(self, rows: Ints) -> bool:
        """Whether most of what some partitions lack leaves drained brokers."""
        lists, sizes = self._lists[rows], self._problem.partitions.bytes[rows]
        leaves = (self._drained[lists] & (lists >= 0)).sum(axis=1)
        lacks = self._problem.partitions.factor[rows] - self._stays[rows].sum(axis=1)
        return bool(2 * int(sizes @ leaves) > int(sizes @ np.maximum(lacks, leaves)))

    def _drained_to(self, some: list[int], weights: list[int], size: int) -> list[Fraction]:
        """The parts that leave some brokers as even as can be while the busiest gets little more than by weight.

        More only as far as somebody would come to hold far more than an even share.
        """
        held, together = [self._bytes[b] for b in some], sum(weights)
        least = shared_out(size, weights, self._room_below(some, weights, size, FAR))
        busiest = max(part / weight for part, weight in zip(least, weights, strict=True))
        level = max(busiest, Fraction(size * LITTLE, together * TWENTIETHS))
        return shared_out(size, weights, [level * weight for weight in weights], held)

    def _room_below(self, some: list[int], weights: list[int], more: int, most: int) -> list[int]:
        """What each of some brokers may get until it has so much more (`most`) than an even share of their bytes."""
        total = sum(self._bytes[b] for b in some) + more
        shares = [total * weight * most // (sum(weights) * TWENTIETHS) for weight in weights]
        return [max(share - self._bytes[b], 0) for b, share in zip(some, shares, strict=True)]

    def _lags(self, some: list[int], weights: list[int], more: int) -> bool:
        """Whether one of some brokers is far behind once each got its part, by weight, of what comes."""
        together, total = sum(weights), sum(self._held[b] for b in some) + more
        return any(
            (self._held[b] * together + more * weight) * BEHIND < total * weight
            for b, weight in zip(some, weights, strict=True)
        )

    def _coming(self, rule: Rule, rows: Ints, racks: list[list[int]]) -> list[tuple[int, int]]:
        """About how many replicas come to each of these racks, and bytes."""
        place = np.full(int(self._rack.max()) + 1, -1)
        for number, brokers in enumerate(racks):
            place[self._rack[brokers[0]]] = number
        replicas, sizes = np.zeros(len(racks), np.int64), np.zeros(len(racks), np.int64)
        anywhere = [0, 0]
        for start in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[start : start + ROWS_AT_ONCE]
            size = self._problem.partitions.bytes[some]
            come, rest = self._lacking(rule, some, place, len(racks))
            replicas += come.sum(axis=0)
            sizes += size @ come
            anywhere[0] += int(rest.sum())
            anywhere[1] += int(size @ rest)
        extra, more = (of // len(racks) for of in anywhere)
        return [
            (n + extra, m + more) for n, m in zip(replicas.tolist(), sizes.tolist(), strict=True)
        ]

    def _lacking(self, rule: Rule, rows: Ints, place: Ints, racks: int) -> tuple[Ints, Ints]:
        """What each of some partitions lacks in each rack, and what may come to any of them."""
        factor = self._problem.partitions.factor[rows]
        stays, lists, others = self._stays[rows], self._lists[rows], self._others[rows][:, None]
        rack_of = np.where((others == OWN) | stays, self._rack[lists], others)
        there, leaves = (
            np.stack([((place[rack_of] == rack) & of).sum(axis=1) for rack in range(racks)], 1)
            for of in (stays, ~stays & (lists >= 0))
        )
        least, most = np.zeros_like(there), np.broadcast_to(factor[:, None], there.shape)
        if rule.layout is Layout.RACK:
            least, most = (
                np.broadcast_to(of[:, None], there.shape)
                for of in (factor // racks, -(-factor // racks))
            )
        there = np.minimum(there, most)
        come = np.maximum(least - there, 0)
        rest = factor - (there + come).sum(axis=1)
        for rack in range(racks):
            again = np.minimum(
                leaves[:, rack] - come[:, rack], most[:, rack] - there[:, rack] - come[:, rack]
            )
            again = np.clip(again, 0, np.maximum(rest, 0))
            come[:, rack] += again
            rest -= again
        return come, np.maximum(rest, 0)
