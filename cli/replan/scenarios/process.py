"""One process that applies, paused and resumed by a scenario.

The applier is a loop that sleeps between two ticks. It runs in a thread of its own that is paused only while it
sleeps: scenario and process never run at the same time, and every run is the same.
"""

from collections.abc import Callable
from threading import Semaphore, Thread

from replan.applying.views.outcome import Outcome
from replan.errors import ReplanError
from replan.model.control_plane import Clock
from replan.simulator.clock import VirtualClock


class Killed(BaseException):
    """The process died; nothing in the applier may catch it."""


End = Outcome | ReplanError | Killed


class Process:
    """A run of the applier that can be paused while it sleeps."""

    def __init__(self, clock: VirtualClock, run: Callable[[Clock], Outcome]) -> None:
        self._clock = clock
        self._run = run
        self._go = Semaphore(0)
        self._rest = Semaphore(0)
        self._until = 0.0
        self._reached: Callable[[], bool] = _never
        self._killed = False
        self._failure: BaseException | None = None
        self.end: End | None = None
        """How it ended; None as long as it lives."""
        self._thread = Thread(target=self._live, daemon=True)
        self._thread.start()

    def resume_until(self, until: float, reached: Callable[[], bool] | None = None) -> None:
        """Run it until this second, or until it sleeps and `reached` holds, or to its end."""
        self._until = until
        self._reached = _never if reached is None else reached
        self._go.release()
        self._rest.acquire()
        if self._failure is not None:
            raise self._failure

    def kill(self) -> None:
        """Kill it where it sleeps."""
        if self.end is None:
            self._killed = True
            self.resume_until(self._until)

    def now(self) -> float:
        """Its clock: that of the cluster."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Sleep in virtual time; the only place where it rests."""
        wakes = self._clock.now() + seconds
        if self._reached():
            self._rest_here()
        while self._until < wakes:
            self._clock.jump_to(self._until)
            self._rest_here()
        self._clock.jump_to(wakes)

    def _rest_here(self) -> None:
        self._rest.release()
        self._go.acquire()
        if self._killed:
            raise Killed

    def _live(self) -> None:
        self._go.acquire()
        try:
            self.end = self._run(self)
        except (ReplanError, Killed) as end:
            self.end = end
        except BaseException as failure:  # noqa: BLE001 - raised again in the scenario's own thread
            self._failure = failure
        self._rest.release()


def _never() -> bool:
    return False
