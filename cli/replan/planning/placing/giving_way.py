"""Which replicas give way where too many of a partition lie in one rack, decided before anything is filled.

Who is fenced or cordoned goes first, the leader last, and of the others who holds more, half in replicas and half in
bytes, of what stays: the largest partitions first. So it is known what each broker keeps before `catching_up` says what
part of the copies each gets.

A leader goes as others do where its broker keeps more bytes than are even by what it leads alone, which no copies can
heal; unless a placement says that it is to lead.
"""

from collections.abc import Iterable

import numpy as np

from replan.model.columns import PAD, Flags, Ints, Matrix
from replan.planning.placing.loads import amounts
from replan.planning.placing.positions import Positions, may_stay
from replan.planning.placing.problem import Layout, PlacementProblem
from replan.planning.placing.shares import shares

FINE = 1000
"""The part of a replica that stays for sure."""


def staying(problem: PlacementProblem, at: Positions, lists: Matrix, settled: Flags) -> Ints:
    """What part of each replica is likely to stay, of FINE; nothing of those that give way or are drained.

    `lists`: of all partitions, as positions; `settled`: they stay as they are. The answer has the shape of `lists`.
    """
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


def kept_amounts(
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
        number, taken = kept_amounts(problem, at, lists, likely)
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
