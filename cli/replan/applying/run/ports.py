"""The outside of one run: the cluster, the journal, the clock, and whoever watches or stops it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from replan.applying.journal.protocol import Journal
from replan.applying.journal.records import Command
from replan.applying.views.progress import Report
from replan.model.control_plane import Clock, ClusterReader, ClusterWriter


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside of one run."""

    reader: ClusterReader
    writer: ClusterWriter
    journal: Journal
    clock: Clock
    report: Report
    stop: Callable[[], bool]
    idle: Callable[[], bool]
    """Whether nothing will happen to the cluster by itself any more."""
    arrived: Callable[[], Sequence[Command]]
    """The commands in the inbox."""
