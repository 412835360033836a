"""Keeps a file of metrics up to date while a plan is performed."""

import time
from pathlib import Path

from replan.applying.views.outcome import Outcome
from replan.applying.views.progress import Progress, ProgressListener
from replan.commands.frame.output import note, save
from replan.errors import BadFile
from replan.reporting.prometheus import render_application_prometheus

METRICS_SECONDS = 5.0


class Metrics:
    """Written whole or not at all; a file that cannot be written is noted once, and nothing else is held up."""

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
