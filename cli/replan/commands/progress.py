"""Shows progress while an application runs: live lines on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from replan.applying.progress import Progress, Report
from replan.reporting.note_text import note_text
from replan.reporting.progress_text import copies, counts

PLAIN_SECONDS = 5.0
"""How often plain lines are written while nothing changes."""


@contextmanager
def progress_to(stream: TextIO) -> Iterator[Report]:
    """A function that shows each progress on `stream`, in the way that suits it."""
    if not stream.isatty():
        yield _Plain(stream).show
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def show(progress: Progress) -> None:
            for note in progress.notes:
                console.print(Text(note_text(note)))
            text = Text("\n".join([counts(progress), *copies(progress)]))
            text.no_wrap, text.overflow = True, "ellipsis"
            live.update(text, refresh=True)

        yield show


class _Plain:
    """Lines for a log: at every change of the counts or of the reasons to wait, and every few seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown_at = float("-inf")
        self._standing: tuple[object, ...] = ()

    def show(self, progress: Progress) -> None:
        """Write what is new."""
        for note in progress.notes:
            self._write(note_text(note))
        now, standing = time.monotonic(), _standing(progress)
        if standing == self._standing and now - self._shown_at < PLAIN_SECONDS:
            return
        self._standing, self._shown_at = standing, now
        self._write(counts(progress))
        for line in copies(progress):
            self._write("  " + line)

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


def _standing(progress: Progress) -> tuple[object, ...]:
    """What is worth a line when it changes; a count-down within a reason is not."""
    reasons = {type(reason) for reason in (progress.holds or {}).values()}
    counted = (progress.done, progress.running, progress.waiting, progress.stopped)
    return (*counted, reasons, progress.admission)
