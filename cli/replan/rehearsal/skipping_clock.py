"""The clock of a rehearsed applier: how far apart its looks may be while nothing happens, or little beside copies.

So a run of hours costs seconds, and comes out as it would with every look.
"""

import math
from collections.abc import Callable, Iterable

from replan.applying.views.progress import Progress
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.faults import At, LoseRequests
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.control_plane import SimulatedControlPlane

QUIET_SECONDS = 10.0
"""Beyond the settle time: no gate of the applier is looked at again later than that."""
AFTER_FAULT_SECONDS = 120.0
"""The quarantine of a request whose outcome is unknown (85 s) and some."""
LOOKS_IN_A_MOVE = 20


def busy_stride(progress: Progress) -> float:
    """Seconds between two looks while copies run; 0 while too few moves are done to tell.

    How long a move takes follows from how many run and how many are done (Little's law).
    """
    if progress.done <= progress.running:
        return 0.0
    return progress.running * progress.at_seconds / progress.done / LOOKS_IN_A_MOVE


class EventSkippingClock:
    """A Clock over a simulated cluster: virtual time in long strides while nothing happens, or little beside what runs.

    Copies run for hours, and nothing changes for the applier between two events. Once it has been quiet for longer than
    any of its patience, a sleep goes on to the next event, or half the way to the moment in which the applier gives up.
    Strides stay short enough for what it measures by itself.

    With many moves it is never quiet. A sleep then takes up to a twentieth of what one of them takes on average: each
    is seen to be done so much later at most, and ten times the bytes need no more looks. Such a sleep ends with the
    next fault; after one, and while a replica comes back that was there before, the applier looks when it would.
    """

    def __init__(
        self,
        plane: SimulatedControlPlane,
        clock: VirtualClock,
        changed_at: Callable[[Simulation], float],
        *,
        settle_seconds: float,
        longest_stride_seconds: float,
        most_seconds: float = math.inf,
        faults: Iterable[At],
    ) -> None:
        """`changed_at`: when the cluster last changed; `settle_seconds`: those of the applier; `faults` by its time.

        Strides grow with the time that has passed, beyond the longest of the beginning, up to `most_seconds`.
        """
        self.looks = 0
        self._plane = plane
        self._clock = clock
        self._changed_at = changed_at
        self._quiet_seconds = settle_seconds + QUIET_SECONDS
        self._longest_stride_seconds, self._most_seconds = longest_stride_seconds, most_seconds
        self._faults = sorted(moment for at in faults for moment in _moments(at))
        """The moments after which the applier looks closely."""
        self._began = clock.now()
        self.gives_up_at = math.inf
        """When the applier gives up if nothing moves, as far as its last look shows."""
        self.busy_stride_seconds = 0.0
        """What a sleep may take while copies run, if that is longer than the applier asks for."""
        self.longest_busy_seconds = 0.0
        """The longest such sleep."""
        self._strode = False
        self._closely_until = -math.inf
        """Until then the applier looks when it would: what ended in a long sleep is confirmed by several looks."""

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
        if simulation.world.metadata_lag_seconds:
            return seconds
        if any(at <= now < at + AFTER_FAULT_SECONDS for at in self._faults):
            return seconds
        if now - self._changed_at(simulation) < self._quiet_seconds:
            return self._busy(seconds)
        if self._strode:
            self._strode, self._closely_until = False, now + self._quiet_seconds
        if now < self._closely_until:
            return seconds
        if self._longest_stride_seconds <= seconds:
            return seconds
        grown = min((now - self._began) / 100, self._most_seconds)
        longest = max(self._longest_stride_seconds, grown)
        ahead = min(longest, self._plane.next_moment() - now, self._patience(now))
        return max(seconds, math.floor(ahead / seconds) * seconds)

    def _busy(self, seconds: float) -> float:
        if self.busy_stride_seconds <= seconds or _replica_comes_back(self._plane.simulation):
            return seconds
        now = self.now()
        coming = min((at for at in self._faults if at >= now), default=math.inf)
        longest = min(self.busy_stride_seconds, self._longest_stride_seconds)
        ahead = min(longest, coming - now, self._patience(now))
        if ahead <= seconds:
            return seconds
        self.longest_busy_seconds = max(self.longest_busy_seconds, ahead)
        self._strode = True
        return ahead

    def _patience(self, now: float) -> float:
        """How long it may sleep and still see, before it gives up, that something has moved."""
        return (self.gives_up_at - now) / 2


def _moments(at: At) -> tuple[float, ...]:
    """When a fault makes itself felt; a lost request may do so up to its delay later."""
    match at.fault:
        case LoseRequests(effect_after_seconds=later) if later is not None:
            return at.seconds, at.seconds + later
        case _:
            return (at.seconds,)


def _replica_comes_back(simulation: Simulation) -> bool:
    """Whether one that is not new is out of sync: the applier may have to lift its throttle."""
    for name, follower in simulation.world.lags:
        partition = simulation.cluster.partition(name)
        if partition is None or follower not in partition.adding:
            return True
    return False
