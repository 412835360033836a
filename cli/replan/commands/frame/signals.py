"""SIGINT, SIGTERM and SIGHUP: at any moment a clean stop with exit code 130, never a traceback.

While the program starts and while it ends, nothing is under way: it leaves at once. While a command works, a signal is
a KeyboardInterrupt, and files are written whole or not at all. While a plan is performed, the first one asks the
application to leave at the next safe point (`asked_to_stop`). Imports nothing heavy: it is the first thing to run.

What is ignored when the program starts stays ignored, by the custom of shells: a hangup after `nohup`, and for a
script's job in the background (`replan apply … &`) the ^C that is meant for what runs before it.
"""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED = 130
_STOPPING = "stopping at the next safe point; press ^C again to leave at once"
_LEAVING = "leaving at once; rerun to resume"

Handler = Callable[[int, FrameType | None], object]


def on_signal(handler: Handler) -> None:
    """Let a function handle the signals, but those that are ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def leave_at_once(_number: int, _frame: FrameType | None) -> None:
    """End the process while nothing is under way."""
    with suppress(OSError):
        os.write(2, b"replan: interrupted\n")
    os._exit(INTERRUPTED)


def raise_interrupt(_number: int, _frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt; another signal, while that unwinds, ends the process."""
    on_signal(leave_at_once)
    raise KeyboardInterrupt


def keep_result(code: int) -> None:
    """From now on the result is known: a signal may end the process, and changes its exit code no more."""
    on_signal(lambda _number, _frame: os._exit(code))


class Stop:
    """Set by the first signal; the second interrupts at once."""

    def __init__(self, end_wait: Callable[[], None], note: Callable[[str], None]) -> None:
        self.asked = False
        self._end_wait, self._note = end_wait, note

    def __call__(self) -> bool:
        """Whether the loop is to leave."""
        return self.asked

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Ask the loop to leave at the next safe point."""
        twice, self.asked = self.asked, True
        self._end_wait()
        with suppress(RuntimeError):  # the signal may have come in the middle of a write to stderr
            self._note(_LEAVING if twice else _STOPPING)
        if twice:
            raise_interrupt(number, frame)


def asked_to_stop(end_wait: Callable[[], None], note: Callable[[str], None]) -> Stop:
    """From now on turn signals into a question that a loop asks; `end_wait` ends what it waits for."""
    stop = Stop(end_wait, note)
    on_signal(stop.on_signal)
    return stop
