"""How old what brokers show may be: the states of a while, and which of them a client is shown."""

from collections import deque

from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.controller.state import ClusterState

LONGEST_LAG_SECONDS = 10.0
"""How far back brokers may show partitions at once: 3.8 to 8 s have been measured after a change of the home broker."""


class Shown:
    """The states that brokers may still show."""

    def __init__(self, now: float, cluster: ClusterState) -> None:
        self._states: deque[tuple[float, ClusterState]] = deque([(now, cluster)])
        self._from = float("-inf")

    def add(self, simulation: Simulation) -> None:
        """A new state; what is older than any lag so far, or than one that another home broker may have, is dropped."""
        world = simulation.world
        self._states.append((world.now, simulation.cluster))
        moment = world.now - max(world.metadata_lag_seconds, LONGEST_LAG_SECONDS)
        while len(self._states) > 1 and self._states[1][0] <= moment:
            self._states.popleft()

    def at(self, simulation: Simulation) -> ClusterState:
        """What is shown now: the last state that is old enough, and none before one that was shown already."""
        world = simulation.world
        self._from = max(self._from, world.now - world.metadata_lag_seconds)
        if not world.metadata_lag_seconds:
            return simulation.cluster
        old = (cluster for at, cluster in reversed(self._states) if at <= self._from)
        return next(old, self._states[0][1])

    def forget_what_was_shown(self) -> None:
        """Another client reads: what it is shown may be older than what the last one was shown."""
        self._from = float("-inf")
