"""Shows how far an application is: live lines on a terminal, a log elsewhere, and a file of metrics.

A log has a summary every minute of the cluster's clock, and a line where a new reason to wait appears; `--verbose`
has every running copy at each change, `--quiet` nothing. A log is read later, so nothing in it overwrites anything.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replan.applying.views.outcome import Outcome
from replan.applying.views.progress import CopyPace, Progress, ProgressListener
from replan.commands.frame.output import Color, coloured, is_live, note, save
from replan.errors import BadFile
from replan.reporting.application.progress_text import (
    copies,
    counts,
    display,
    progress_line,
    reasons,
)
from replan.reporting.lines import drawn
from replan.reporting.prometheus import render_application_prometheus
from replan.wording import duration, visible

SUMMARY_SECONDS = 60.0
VERBOSE_SECONDS = 5.0
METRICS_SECONDS = 5.0
DRAWN_SECONDS = 0.1
"""Between two drawings on a terminal: the ticks of a simulated cluster follow each other at once."""


@contextmanager
def progress_to(*, quiet: bool, verbose: bool, color: Color = "auto") -> Iterator[ProgressListener]:
    """A function that shows each progress on stderr, in the way that suits it."""
    if quiet:
        yield lambda _: None
    elif verbose:
        yield _Everything().show
    elif is_live(sys.stderr):
        with _live(color) as show:
            yield show
    else:
        yield _Summaries().show


@contextmanager
def _live(color: Color) -> Iterator[ProgressListener]:
    """Draw in the place of what was drawn before; what is noted stays above it."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    colours = coloured(color, terminal=True)
    console = Console(file=sys.stderr, highlight=False, no_color=not colours)
    drawn_at, pace = float("-inf"), CopyPace()
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def show(progress: Progress) -> None:
            nonlocal drawn_at
            for noted in progress.notes:
                console.print(Text(visible(str(noted))))
            if time.monotonic() - drawn_at < DRAWN_SECONDS:
                return
            drawn_at = time.monotonic()
            lines = display(pace.of(progress), height=console.height, width=console.width)
            text = drawn(lines, width=console.width, colours=colours)
            live.update(Text.from_ansi(text.rstrip("\n")), refresh=True)

        yield show


class _Summaries:
    """A line where a reason to wait appears that was not there before, and how far all is every minute."""

    def __init__(self) -> None:
        self._summed_at, self._pace = float("-inf"), CopyPace()
        self._unfinished = 1
        self._shown_at = dict[type[object], float]()
        """When a line was written for each kind of reason."""

    def show(self, progress: Progress) -> None:
        """Write what is new."""
        for noted in progress.notes:
            note(str(noted))
        now = progress.at_seconds
        for kind, line in reasons(progress).items():
            if now - self._shown_at.get(kind, float("-inf")) >= SUMMARY_SECONDS:
                note(f"{duration(now)}: {line}")
            self._shown_at[kind] = now
        before = self._unfinished
        self._unfinished = progress.total - progress.done - progress.stopped
        ended = before > 0 and self._unfinished == 0
        if ended or now - self._summed_at >= SUMMARY_SECONDS:
            self._summed_at = now
            note(progress_line(self._pace.of(progress)))


class _Everything:
    """All copies and all that waits, at every change and every few seconds."""

    def __init__(self) -> None:
        self._shown_at = float("-inf")
        self._shown: object = None

    def show(self, progress: Progress) -> None:
        """Write what is new."""
        for noted in progress.notes:
            note(str(noted))
        counted = (progress.done, progress.running, progress.waiting, progress.stopped)
        state = (counted, reasons(progress).keys())
        if state == self._shown and progress.at_seconds - self._shown_at < VERBOSE_SECONDS:
            return
        self._shown, self._shown_at = state, progress.at_seconds
        note("\n  ".join([counts(progress), *copies(progress)]))


class Metrics:
    """Keeps a file of metrics up to date, written whole or not at all.

    Where it cannot be written, that is noted once, and nothing else is held up.
    """

    def __init__(self, path: Path | None, cluster_id: str) -> None:
        self._path, self._cluster_id = path, cluster_id
        self._progress: Progress | None = None
        self._written_at = float("-inf")
        self._noted = False

    def also(self, report: ProgressListener) -> ProgressListener:
        """Reports there, and here now and then."""

        def both(progress: Progress) -> None:
            report(progress)
            self._progress = progress
            if time.monotonic() - self._written_at >= METRICS_SECONDS:
                self._write(None)

        return report if self._path is None else both

    def ended(self, outcome: Outcome) -> None:
        """Write how it ended."""
        if self._path is not None:
            self._write(outcome)

    def _write(self, outcome: Outcome | None) -> None:
        self._written_at = time.monotonic()
        if self._path is None:
            return
        text = render_application_prometheus(self._progress, outcome, self._cluster_id, time.time())
        try:
            save(text, self._path)
        except BadFile as problem:
            if not self._noted:
                note(f"note: no metrics: {problem}")
            self._noted = True
