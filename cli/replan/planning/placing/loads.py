"""How loaded each broker is while partitions are filled one by one: replicas over weight, and room in bytes."""

import numpy as np

from replan.model.columns import Ints, Matrix
from replan.planning.placing.problem import BrokerTable


class Loads:
    """The load of each registered broker, in whole numbers: a replica adds the inverse of the broker's weight."""

    def __init__(self, brokers: BrokerTable) -> None:
        common = int(np.lcm.reduce(brokers.weight)) if len(brokers.weight) else 1
        self._step = np.asarray(common // brokers.weight, dtype=np.int64)
        self._load = brokers.replicas * self._step
        self._room = brokers.room.copy()

    def add(self, lists: Matrix, sizes: Ints) -> None:
        """Count partitions of these sizes on the brokers of their lists, by position."""
        there = (lists >= 0) & (lists < len(self._load))
        self._load += np.bincount(lists[there], minlength=len(self._load)) * self._step
        np.subtract.at(
            self._room, lists[there], np.broadcast_to(sizes[:, None], lists.shape)[there]
        )

    def of(self, broker: int, more: int = 0) -> int:
        """The load of a broker, with some replicas more; 0 of one that is not registered."""
        if broker >= len(self._load):
            return 0
        return int(self._load[broker]) + more * int(self._step[broker])

    def fits(self, broker: int, size: int) -> bool:
        """Whether a replica of this size finds room."""
        return int(self._room[broker]) >= size
