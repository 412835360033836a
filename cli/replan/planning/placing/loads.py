"""How loaded each broker is while partitions are filled one by one: replicas over weight, and room in bytes."""

from collections.abc import Iterable
from math import lcm

import numpy as np

from replan.model.columns import Ints, Matrix
from replan.planning.placing.problem import BrokerTable


class Loads:
    """The load of each registered broker, in whole numbers: a replica adds the inverse of the broker's weight.

    They are Python's, since the least common multiple of the weights may have any length.
    """

    def __init__(self, brokers: BrokerTable) -> None:
        weights = brokers.weight.tolist()
        common = lcm(*weights)
        self._step: list[int] = [common // w for w in weights]
        self._replicas: list[int] = brokers.replicas.tolist()
        self._room: list[int] = brokers.room.tolist()

    def add(self, lists: Matrix, sizes: Ints) -> None:
        """Count partitions of these sizes on the brokers of their lists, by position."""
        count = len(self._step)
        there = (lists >= 0) & (lists < count)
        taken = np.zeros(count, dtype=np.int64)
        np.add.at(taken, lists[there], np.broadcast_to(sizes[:, None], lists.shape)[there])
        for broker, number in enumerate(np.bincount(lists[there], minlength=count).tolist()):
            self._replicas[broker] += number
            self._room[broker] -= int(taken[broker])

    def put(self, brokers: Iterable[int], size: int) -> None:
        """Count one partition of this size on these brokers."""
        for broker in brokers:
            if broker < len(self._step):
                self._replicas[broker] += 1
                self._room[broker] -= size

    def of(self, broker: int, more: int = 0) -> int:
        """The load of a broker, with some replicas more; 0 of one that is not registered."""
        if broker >= len(self._step):
            return 0
        return (self._replicas[broker] + more) * self._step[broker]

    def fits(self, broker: int, size: int) -> bool:
        """Whether a replica of this size finds room."""
        return self._room[broker] >= size
