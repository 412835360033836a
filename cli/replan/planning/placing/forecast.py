"""What is known of all partitions before the first is filled: what stays, where what leaves goes, who gets how much.

Partitions are filled one by one (`filling`), and each would be filled as if it were the last. So three things are
decided, or estimated, for all of them together.

What stays: which replicas give way where too many of a partition lie in one rack. Who is fenced or cordoned goes first,
the leader last, and of the others who holds more, half in replicas and half in bytes, of what stays: the largest
partitions first. A leader goes as others do where its broker keeps more bytes than are even by what it leads alone,
which no copies can heal; unless a placement says that it is to lead.

Where what leaves goes: what leaves a broker goes to the others of its rack. Where there are more racks than replicas of
a partition, it may as well go to one that has none of it, at the same bytes. It does where its own would come to hold
more than a twentieth above the mean, by weight: the largest first, each to the rack that holds least, until that is no
more so.

Who gets how much: copies go by weight, so that no broker gets much more than the others and none holds the plan up. Who
would come to hold more than a little above its even share of the bytes gets less, and the others of its rack the more.
What leaves drained brokers is little beside what the others hold, so that evening these with it takes long: there the
busiest receiver counts more, a little goes to those that hold less, and less to who would be far above. A broker that
would hold less than half of what is even (one that joined to replace a dead one, say) has its part by what it lacks:
with the same bytes, what is held becomes even. What comes to a rack is known before anything is chosen, but for
replicas that may go to several racks: those of a broker that leaves are counted in its rack, or where they are sent,
others evenly. So is what stays, but where too many lie in a rack: the leader's is counted, and of each other one its
part. So the parts are near what makes racks even, not exact.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm

import numpy as np
from msgspec import Struct

from replan.model.columns import PAD, Flags, Ints, Matrix
from replan.planning.placing.positions import Positions, amounts, may_stay
from replan.planning.placing.problem import Layout, PlacementProblem, Rule
from replan.planning.placing.shares import shared_out, shares

FINE = 1000
"""The part of a replica that stays for sure."""
OWN = -1
ANYWHERE = (Layout.RACK, Layout.NONE, Layout.LISTED)
"""Where a rack that has none of a partition is as good as its own."""
ABOVE = 1.05
"""So many times the mean a rack may come to hold."""
BEHIND = 2
"""A broker is far behind where it comes to hold less than this part of an even share."""
LITTLE, FAR, TWENTIETHS = 21, 23, 20
"""So many times its even share of bytes a broker may come to hold by what it gets; `FAR`: where brokers are drained."""
MORE, NEAR, THAN = 110, 103, 100
"""What a broker gets may be so many times its part; `NEAR`: where its part is by what it holds already."""
ROWS_AT_ONCE = 1 << 16
"""Partitions whose racks are counted at a time: bounds the memory."""


class Forecast(Struct, frozen=True):
    """What filling goes by."""

    stays: Ints
    """What part of each replica is likely to stay, of FINE; 0 of those that give way or are drained. As the lists."""
    other_racks: Ints
    """Of each partition the rack that gets what leaves it, as `Positions.racks` has it; OWN: the one that it leaves."""
    parts: Mapping[int, "Parts"]
    """Of each rule under which copies do not go by weight alone: the part of each broker in them, by position."""


def forecast(problem: PlacementProblem, at: Positions, lists: Matrix, settled: Flags) -> Forecast:
    """Look ahead. `lists`: of all partitions, as positions; `settled`: those that stay as they are."""
    others = _other_racks(problem, at, lists, settled)
    stays = _staying(problem, at, lists, settled)
    return Forecast(stays, others, _parts_of_copies(problem, at, lists, stays, others))


class Parts(Struct, frozen=True):
    """The part that each broker is to have in what is copied."""

    of: Sequence[int]
    step: Sequence[int]
    """One part, in units that are whole for every broker."""
    most: int = MORE
    """So many times its part each may get, by `THAN`."""

    @classmethod
    def by(cls, parts: Sequence[int], most: int = MORE) -> "Parts":
        """Who has no part gets something only where nobody else can."""
        common = lcm(*[part for part in parts if part])
        return cls(parts, [common // part if part else 0 for part in parts], most)


def _staying(problem: PlacementProblem, at: Positions, lists: Matrix, settled: Flags) -> Ints:
    """What part of each replica stays."""
    stays = may_stay(problem, at, lists, problem.partitions.rule)
    stays |= settled[:, None] & (lists >= 0) & (lists < at.count)
    likely = np.where(stays, FINE, 0)
    rows = np.flatnonzero(~settled)
    if not len(rows):
        return likely
    likely[rows], crowded = _likely(problem, at, lists, stays, rows)
    rows = rows[crowded & ~np.isin(rows, problem.staying)]
    if len(rows):
        _decide(problem, at, lists, likely, stays, rows)
    return likely


def _likely(
    problem: PlacementProblem, at: Positions, lists: Matrix, stays: Flags, rows: Ints
) -> tuple[Ints, Flags]:
    """What part of each replica of some partitions stays: the leader's all, the others' as many as may.

    Too many lie in a rack where replicas spread over racks, else anywhere. And in which partitions that is a rack.
    """
    lists, stays, partitions = lists[rows], stays[rows], problem.partitions
    rule, factor = partitions.rule[rows], partitions.factor[rows]
    spread = np.array([r.layout is Layout.RACK for r in problem.rules])[rule]
    most = np.where(spread, _most(problem, rule, factor), factor)
    group = np.where(spread[:, None], at.racks(problem.brokers.rack)[lists], 0)
    leads = stays & (lists == at.find(partitions.leader)[rows][:, None])
    likely = np.zeros(lists.shape, dtype=np.int64)
    crowded = np.zeros(len(rows), dtype=bool)
    for slot in range(lists.shape[1]):
        alike = stays & (group == group[:, slot, None])
        led, others = (alike & leads).sum(axis=1), (alike & ~leads).sum(axis=1)
        part = np.clip(most - led, 0, others) * FINE // np.maximum(others, 1)
        likely[:, slot] = np.where(leads[:, slot], FINE, part) * stays[:, slot]
        crowded |= spread & stays[:, slot] & (led + others > most)
    return likely, crowded


def _most(problem: PlacementProblem, rule: Ints, factor: Ints) -> Ints:
    """The most replicas that a rack may hold of partitions that spread over racks."""
    racks = [len(np.unique(problem.brokers.rack[of.candidates])) for of in problem.rules]
    most: Ints = -(-factor // np.maximum(np.array(racks)[rule], 1))
    return most


def _decide(
    problem: PlacementProblem, at: Positions, lists: Matrix, likely: Ints, stays: Flags, rows: Ints
) -> None:
    """Say in `likely` who of some partitions stays and who gives way, the largest first."""
    partitions = problem.partitions
    rows = rows[np.argsort(-partitions.bytes[rows], kind="stable")]
    kept, rack = _Kept(problem, at, lists, likely), at.racks(problem.brokers.rack).tolist()
    most = _most(problem, partitions.rule[rows], partitions.factor[rows]).tolist()
    leaders = at.find(partitions.leader)[rows].tolist()
    declared = np.isin(rows, problem.led).tolist()
    for number, row in enumerate(rows.tolist()):
        members, parts, size = lists[row].tolist(), likely[row].tolist(), int(partitions.bytes[row])
        by_rack: dict[int, list[int]] = {}
        for slot, (broker, may) in enumerate(zip(members, stays[row].tolist(), strict=True)):
            if may:
                by_rack.setdefault(rack[broker], []).append(slot)
        for slots in by_rack.values():
            if len(slots) > most[number]:
                had = {members[slot]: parts[slot] for slot in slots}
                goes = kept.decide(had, most[number], size, leaders[number], declared[number])
                for slot in slots:
                    parts[slot] = 0 if members[slot] in goes else FINE
        likely[row] = parts


class _Kept:
    """What each broker keeps, while it is decided who gives way."""

    def __init__(
        self, problem: PlacementProblem, at: Positions, lists: Matrix, likely: Ints
    ) -> None:
        brokers, sizes = problem.brokers, problem.partitions.bytes
        number, taken = _kept_amounts(problem, at, lists, likely)
        replicas, bytes_ = (number // FINE).tolist(), taken.tolist()
        self._opens: list[bool] = brokers.open.tolist()
        self._of_a_replica, self._of_a_byte = max(sum(bytes_), 1), max(sum(replicas), 1)
        self._load = [
            n * self._of_a_replica + size * self._of_a_byte
            for n, size in zip(replicas, bytes_, strict=True)
        ]
        elsewhere = problem.listed
        self._bytes: list[int] = bytes_
        registered = np.where(lists < at.count, lists, PAD)
        share = shares(problem, np.arange(len(lists)), registered, sizes, brokers.open)
        others = brokers.bytes + amounts(registered[elsewhere], sizes[elsewhere], at.count)
        self._even = [int(of) + more for of, more in zip(share, others.tolist(), strict=True)]

    def decide(
        self, parts: dict[int, int], most: int, size: int, leader: int, declared: bool
    ) -> set[int]:
        """Who of some brokers of a rack gives way, so that so many (`most`) keep a partition of a size.

        `parts`: what part of it each was counted with until now, of FINE; `declared`: its leader stays.
        """
        for broker, part in parts.items():
            self._count(broker, -part, size)
        leads = declared or not self._has_enough(leader, parts)
        order = sorted(
            parts, key=lambda b: (self._opens[b], b == leader and leads, -self._load[b], -b)
        )
        for broker in order[-most:] if most else []:
            self._count(broker, FINE, size)
        return set(order[: len(order) - most])

    def _has_enough(self, leader: int, others: Iterable[int]) -> bool:
        """Whether the leader's broker keeps more bytes than are even without it, and another one keeps fewer."""
        return (
            leader in others
            and self._bytes[leader] > self._even[leader]
            and any(self._bytes[b] < self._bytes[leader] for b in others)
        )

    def _count(self, broker: int, part: int, size: int) -> None:
        one = self._of_a_replica + size * self._of_a_byte
        self._load[broker] += part * one // FINE
        self._bytes[broker] += part * size // FINE


def _kept_amounts(
    problem: PlacementProblem, at: Positions, lists: Matrix, likely: Ints
) -> tuple[Ints, Ints]:
    """How many replicas each registered broker keeps, of FINE, and bytes."""
    brokers, sizes = problem.brokers, problem.partitions.bytes
    number, taken = brokers.replicas * FINE, brokers.bytes.copy()
    for slot in range(lists.shape[1]):
        there = (likely[:, slot] > 0) & (lists[:, slot] < at.count)
        holders, parts = lists[there, slot], likely[there, slot]
        np.add.at(number, holders, parts)
        np.add.at(taken, holders, sizes[there] * parts // FINE)
    return number, taken


def _other_racks(problem: PlacementProblem, at: Positions, lists: Matrix, settled: Flags) -> Ints:
    """Which replicas of drained brokers leave their rack too, as its other brokers would come to hold too much."""
    to_racks = np.full(len(lists), OWN, dtype=np.int64)
    drained = np.isin(at.ids, list(problem.drained))
    rows = _movable(problem, at, lists, drained, np.flatnonzero(~settled))
    if not len(rows):
        return to_racks
    codes, rack = np.unique(at.racks(problem.brokers.rack)[:-1], return_inverse=True)
    sizes = problem.partitions.bytes
    held = amounts(lists, sizes, len(at.ids))
    held[: at.count] += np.where(drained[: at.count], 0, problem.brokers.bytes)
    able_of = [(rule.candidates & problem.brokers.open).tobytes() for rule in problem.rules]
    for able in dict.fromkeys(able_of):
        of_rules = np.array([some == able for some in able_of])
        some = rows[of_rules[problem.partitions.rule[rows]]]
        loads = _RackLoads(rack, held, drained, np.frombuffer(able, dtype=bool), problem)
        for row in some[np.argsort(-sizes[some], kind="stable")].tolist():
            members = [b for b in lists[row].tolist() if b >= 0]
            [leaving] = [b for b in members if drained[b]]
            to = loads.other(int(rack[leaving]), {int(rack[b]) for b in members}, int(sizes[row]))
            to_racks[row] = OWN if to is None else codes[to]
    return to_racks


def _movable(
    problem: PlacementProblem, at: Positions, every: Matrix, drained: Flags, rows: Ints
) -> Ints:
    """Those of some partitions that lose one replica, with a drained broker, and may lie in any racks."""
    partitions = problem.partitions
    lists, rule = every[rows], partitions.rule[rows]
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


def _parts_of_copies(
    problem: PlacementProblem, at: Positions, lists: Matrix, likely: Ints, others: Ints
) -> dict[int, Parts]:
    """The part of each broker in the copies of each rule; `likely`, `others`: what stays, and other racks."""
    there = (problem.partitions.current >= 0).any(axis=1)
    coming = there & ((likely > 0).sum(axis=1) != problem.partitions.factor)
    if not coming.any():
        return {}
    copies = _Copies(problem, at, lists, likely, others)
    parts = {}
    for number in np.unique(problem.partitions.rule[coming]).tolist():
        rows = np.flatnonzero(coming & (problem.partitions.rule == number))
        of_rule = copies.parts(problem.rules[number], rows)
        if of_rule is not None:
            parts[number] = of_rule
    return parts


class _Copies:
    """What each broker holds of what stays, half in replicas and half in bytes, and what comes to its rack."""

    def __init__(
        self, problem: PlacementProblem, at: Positions, lists: Matrix, likely: Ints, others: Ints
    ) -> None:
        self._problem, self._at = problem, at
        self._lists, self._stays, self._others = lists, likely > 0, others
        self._rack = at.racks(problem.brokers.rack)
        number, taken = _kept_amounts(problem, at, lists, likely)
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
