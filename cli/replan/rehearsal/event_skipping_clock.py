"""Virtual time in long strides while nothing happens.

Copies run for hours, and nothing changes for the applier between two events. Once it has been quiet for longer than any
of its patience, a sleep goes on to the next event, or to the moment in which the applier gives up. Strides stay short
enough for what it measures by itself.
"""

import math
from collections.abc import Callable, Collection

from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.advance import next_moment
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.control_plane import SimulatedControlPlane

AFTER_FAULT_SECONDS = 120.0
"""The quarantine of a request whose outcome is unknown (90 s) and some."""


class EventSkippingClock:
    """A Clock over a simulated cluster."""

    def __init__(
        self,
        plane: SimulatedControlPlane,
        clock: VirtualClock,
        changed_at: Callable[[Simulation], float],
        *,
        quiet_seconds: float,
        longest_stride_seconds: float,
        faults: Collection[float],
    ) -> None:
        """`changed_at`: when the cluster last changed; `faults`: the moments after which it is looked at closely."""
        self.looks = 0
        self._plane = plane
        self._clock = clock
        self._changed_at = changed_at
        self._quiet_seconds = quiet_seconds
        self._longest_stride_seconds = longest_stride_seconds
        self._faults = sorted(faults)
        self._began = clock.now()
        self.gives_up_at = math.inf
        """When the applier gives up if nothing moves: no stride goes beyond."""

    def now(self) -> float:
        """Virtual seconds."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Let at least so much time pass."""
        self.looks += 1
        self._clock.sleep(self._stride(seconds))

    def _stride(self, seconds: float) -> float:
        now = self.now()
        simulation = self._plane.simulation
        if (
            now - self._changed_at(simulation) < self._quiet_seconds
            or simulation.world.metadata_lag_seconds
        ):
            return seconds
        if any(at <= now < at + AFTER_FAULT_SECONDS for at in self._faults):
            return seconds
        if self._longest_stride_seconds <= seconds:
            return seconds
        longest = max(self._longest_stride_seconds, (now - self._began) / 100)
        ahead = min(longest, next_moment(simulation) - now, self.gives_up_at - now)
        return max(seconds, math.floor(ahead / seconds) * seconds)
