"""How loaded each broker is while partitions are filled one by one, and who gets the next replica.

A topic stays spread: no broker comes to hold more of it than its share, rounded up, and one, while another can. Then
two things shall be even: what each broker gets, since the broker that gets most decides how long the copies take; and
what it holds in the end, in replicas and in bytes alike. Copies come first, so far as a broker may get a twentieth more
than the others on average; within that the least loaded one gets the replica. A new partition copies nothing, and goes
to those that hold least of its topic. All of it is divided by the weights, in Python's whole numbers, since the least
common multiple of the weights may have any length.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import lcm

import numpy as np

from replan.model.columns import Ints, Matrix
from replan.planning.placing.problem import BrokerTable

MORE, THAN = 21, 20
"""What a broker gets may be so many times what others get on average."""


class Loads:
    """What each registered broker holds and gets; `sizes`: of all replicas that are counted at first or later."""

    def __init__(self, brokers: BrokerTable, replicas: int, bytes_: int) -> None:
        """`replicas`, `bytes_`: of all partitions together; a replica counts as much as so many bytes on average."""
        weights = brokers.weight.tolist()
        common = lcm(*weights)
        self._weight: list[int] = weights
        self._step: list[int] = [common // w for w in weights]
        self._replicas: list[int] = brokers.replicas.tolist()
        self._bytes: list[int] = brokers.bytes.tolist()
        self._room: list[int] = brokers.room.tolist()
        self._got = [0] * len(weights)
        self._of_a_replica: int = max(bytes_ + sum(self._bytes), 1)
        self._of_a_byte: int = max(replicas + sum(self._replicas), 1)

    def add(self, lists: Matrix, sizes: Ints) -> None:
        """Count partitions of these sizes on the brokers of their lists, by position."""
        count = len(self._step)
        there = (lists >= 0) & (lists < count)
        taken = np.zeros(count, dtype=np.int64)
        np.add.at(taken, lists[there], np.broadcast_to(sizes[:, None], lists.shape)[there])
        for broker, number in enumerate(np.bincount(lists[there], minlength=count).tolist()):
            self._replicas[broker] += number
            self._bytes[broker] += int(taken[broker])
            self._room[broker] -= int(taken[broker])

    def put(self, brokers: Iterable[int], size: int) -> None:
        """Count one partition of this size on these brokers."""
        for broker in brokers:
            if broker < len(self._step):
                self._replicas[broker] += 1
                self._bytes[broker] += size
                self._room[broker] -= size

    def give(self, broker: int, size: int) -> None:
        """Count that a broker gets a replica of this size."""
        self._got[broker] += size

    def of(self, broker: int, size: int | None = None) -> int:
        """The load of a broker, with one replica of a size more; 0 of one that is not registered."""
        if broker >= len(self._step):
            return 0
        replicas, bytes_ = self._replicas[broker], self._bytes[broker]
        if size is not None:
            replicas, bytes_ = replicas + 1, bytes_ + size
        load: int = replicas * self._of_a_replica + bytes_ * self._of_a_byte
        return load * self._step[broker]

    def fits(self, broker: int, size: int) -> bool:
        """Whether a replica of this size finds room."""
        return self._room[broker] >= size

    def next_of_a_new_partition(self, among: Sequence[int], held: Counter[int]) -> int:
        """Who of some brokers gets one, of those that hold least of its topic; the lowest of equal ones."""
        return min(among, key=lambda b: (held[b] * self._step[b], self.of(b, 0), b))

    def within_share(
        self, among: Sequence[int], every: Sequence[int], held: Counter[int]
    ) -> list[int]:
        """Those of some brokers that may hold one more of a topic; or who holds least of it, if none may.

        `every`: those that share the topic; `held`: what each broker holds of it.
        """
        if len(among) == 1:
            return list(among)
        total = held.total() + 1
        weights = sum(self._weight[b] for b in every)
        may = [b for b in among if (held[b] - 1) * weights < total * self._weight[b]]
        least = min(held[b] * self._step[b] for b in among)
        return may or [b for b in among if held[b] * self._step[b] == least]

    def next(self, among: Sequence[int], size: int) -> int:
        """Who of some brokers gets a replica of this size; the lowest of equal ones."""
        if len(among) == 1:
            return among[0]
        got, weight = self._got, self._weight
        least = min(got[b] * self._step[b] for b in among)
        together = MORE * (sum(got[b] for b in among) + size)
        weights = THAN * sum(weight[b] for b in among)
        even = [
            b
            for b in among
            if got[b] * self._step[b] == least or (got[b] + size) * weights <= together * weight[b]
        ]
        return min(even, key=lambda b: (self.of(b, size), b))
