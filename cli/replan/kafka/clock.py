"""The clock of the real world: monotonic seconds, and waits that a signal handler can cut short."""

import time

from replan.kafka.wire.interrupt import Interrupt


class SystemClock:
    """Monotonic time of this process."""

    def __init__(self) -> None:
        self.interrupt = Interrupt()
        """Called, it ends the sleep or the silent reading that goes on at this moment."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait; returns early when `interrupt` is called."""
        self.interrupt.sleep(seconds)
