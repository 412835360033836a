"""The clock of the real world: monotonic seconds, and a sleep that a signal handler can cut short."""

import threading
import time


class SystemClock:
    """Monotonic time of this process; `interrupt` ends the sleep that runs and all that come."""

    def __init__(self) -> None:
        self._interrupted = threading.Event()

    def now(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait; returns at once after `interrupt`."""
        self._interrupted.wait(seconds)

    def interrupt(self) -> None:
        """Let every sleep return early from now on; may be called from a signal handler."""
        self._interrupted.set()
