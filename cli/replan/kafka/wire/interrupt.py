"""What a signal handler calls so that a wait ends early: a pipe, because a wait for sockets hears nothing else."""

import contextlib
import os
import select
import weakref


class Interrupt:
    """Cuts short what is waited for at this moment, and nothing later; a signal handler may call it."""

    def __init__(self) -> None:
        self.calls = 0
        """How often it was called: whoever waits in several parts compares."""
        self.file, self._calling = os.pipe()
        os.set_blocking(self.file, False)
        os.set_blocking(self._calling, False)
        weakref.finalize(self, _close, self.file, self._calling)

    def __call__(self) -> None:
        """End the wait."""
        self.calls += 1
        with contextlib.suppress(BlockingIOError):
            os.write(self._calling, b"!")

    def sleep(self, seconds: float) -> None:
        """Wait; a call ends it."""
        if select.select([self.file], [], [], seconds)[0]:
            self.forget()

    def forget(self) -> None:
        """Take notice of all calls so far."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.file, 64)


def _close(*files: int) -> None:
    for file in files:
        os.close(file)
