"""The clock of the real world: monotonic seconds, and waits that a signal handler can cut short."""

import os
import time
from pathlib import Path

from replan.kafka.wire.conversations import Interrupt


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


def process_seconds() -> float:
    """How long ago this process began, on a busy machine seconds; 0 where the system does not say (no Linux)."""
    try:
        after_name = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        began = int(after_name[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)
    except (OSError, AttributeError):
        return 0.0
