"""How loaded each broker is while partitions are filled one by one, and who gets the next replica.

Among the brokers that may hold more of the topic (`spread`) two things shall be even: what each broker gets, since the
broker that gets most decides how long the copies take; and what it holds in the end, in replicas and in bytes alike.
Copies come first, so far as a broker may get a tenth more than its part of them: by weight, or by what it lacks where
one of its rack is far behind (`catching_up`). Within that a large partition
goes to who holds the fewest bytes, and a small one, which is little of them, to who holds the fewest replicas: as the
largest come first, the bytes are even by then. A new partition copies nothing, and goes to those that hold least of its
topic. All of it is divided by the weights, in Python's whole numbers, since the least common multiple of the weights
may have any length.
"""

from collections.abc import Iterable, Sequence
from math import lcm

import numpy as np
from msgspec import Struct

from replan.model.columns import Ints, Matrix
from replan.planning.placing.problem import NO_LIMIT, BrokerTable

MORE, NEAR, THAN = 110, 103, 100
"""What a broker gets may be so many times its part; `NEAR`: where its part is by what it holds already."""
LARGE, TENTHS = 3, 10
"""From so many parts of the average of all replicas on, a replica is a large one."""


def amounts(lists: Matrix, units: Ints, brokers: int) -> Ints:
    """What each broker has of some lists, by what one unit of each counts."""
    there = lists >= 0
    totals = np.zeros(brokers, dtype=np.int64)
    np.add.at(totals, lists[there], np.broadcast_to(units[:, None], lists.shape)[there])
    return totals


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


class Loads:
    """What each registered broker holds and gets; `sizes`: of all replicas that are counted at first or later."""

    def __init__(self, brokers: BrokerTable, replicas: int, bytes_: int) -> None:
        """`replicas`, `bytes_`: of all partitions together; a replica counts as much as so many bytes on average."""
        weights = brokers.weight.tolist()
        self._by_weight = Parts.by(weights)
        self._step = self._by_weight.step
        self._even = len(set(weights)) == 1
        self._room: list[int] = brokers.room.tolist()
        self._below: list[int] = (brokers.room if brokers.below is None else brokers.below).tolist()
        self._limited = bool((brokers.room < NO_LIMIT).any())
        self._got = [0] * len(weights)
        self._of_a_replica: int = max(bytes_ + int(brokers.bytes.sum()), 1)
        self._of_a_byte: int = max(replicas + int(brokers.replicas.sum()), 1)
        self._replicas = [0] * len(weights)
        self._bytes = [0] * len(weights)
        self._load = [0] * len(weights)
        self._put(brokers.replicas.tolist(), brokers.bytes.tolist())

    def add(self, lists: Matrix, sizes: Ints) -> None:
        """Count partitions of these sizes on the brokers of their lists, by position."""
        count = len(self._step)
        number, taken = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        for brokers in lists.T:
            there = (brokers >= 0) & (brokers < count)
            number += np.bincount(brokers[there], minlength=count)
            np.add.at(taken, brokers[there], sizes[there])
        self._put(number.tolist(), taken.tolist())
        for room in (self._room, self._below):
            room[:] = [free - int(gone) for free, gone in zip(room, taken, strict=True)]

    def _put(self, replicas: Sequence[int], bytes_: Sequence[int]) -> None:
        for broker, (number, size) in enumerate(zip(replicas, bytes_, strict=True)):
            self._replicas[broker] += number
            self._bytes[broker] += size
            self._load[broker] += self._of(number, size) * self._step[broker]

    def put(self, brokers: Iterable[int], size: int) -> None:
        """Count one partition of this size on these brokers."""
        more, step = self._of(1, size), self._step
        for broker in brokers:
            if broker < len(step):
                self._load[broker] += more * step[broker]
                self._replicas[broker] += 1
                self._bytes[broker] += size
                self._room[broker] -= size
                self._below[broker] -= size

    def give(self, broker: int, size: int) -> None:
        """Count that a broker gets a replica of this size."""
        self._got[broker] += size

    def of(self, broker: int) -> int:
        """The load of a broker, half replicas, half bytes; 0 of one that is not registered."""
        return self._load[broker] if broker < len(self._step) else 0

    def _of(self, replicas: int, size: int) -> int:
        return replicas * self._of_a_replica + size * self._of_a_byte

    def least(self, among: Iterable[int], size: int) -> int:
        """The load of the least loaded one of some brokers, with one replica of a size more; 0 of none."""
        load, step, more = self._load, self._step, self._of(1, size)
        if self._even:
            loads = [load[b] for b in among]
            return min(loads) + more * step[0] if loads else 0
        return min([load[b] + more * step[b] for b in among], default=0)

    def with_room(self, among: list[int], size: int) -> list[int]:
        """Those of some brokers whose disks have room for a replica of this size; all where none has.

        Of these those that the policy would not empty again then, where there are any.
        """
        room, below = self._room, self._below
        if not self._limited:
            return among
        among = [b for b in among if room[b] >= size] or among
        return [b for b in among if below[b] >= size] or among

    def next_of_a_new_partition(self, among: Sequence[int], held: Sequence[int]) -> int:
        """Who of some brokers gets one, of those that hold least of its topic; the lowest of equal ones."""
        load, step, more = self._load, self._step, self._of(1, 0)
        return min(among, key=lambda b: (held[b] * step[b], load[b] + more * step[b], b))

    def next(self, among: Sequence[int], size: int, parts: Parts | None = None) -> int:
        """Who of some brokers gets a replica of this size; the lowest of equal ones. `parts`: else by weight."""
        parts = parts or self._by_weight
        part, per_part, got, step = parts.of, parts.step, self._got, self._step
        among = [b for b in among if part[b]] or among
        if len(among) == 1:
            return among[0]
        least = min([got[b] * per_part[b] for b in among])
        together = parts.most * (sum([got[b] for b in among]) + size)
        every = THAN * sum([part[b] for b in among])
        large = size * self._of_a_byte * TENTHS >= LARGE * self._of_a_replica
        held, more = (self._bytes, size) if large else (self._replicas, 1)
        return min(
            [
                ((held[b] + more) * step[b], b)
                for b in among
                if got[b] * per_part[b] == least or (got[b] + size) * every <= together * part[b]
            ]
        )[1]
