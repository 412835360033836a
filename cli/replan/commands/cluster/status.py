"""`status`: how the cluster is, what runs there, and how far replan's own application is; once, or to its end."""

import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct, field
from msgspec.structs import replace

from replan.commands.frame.output import (
    Color,
    coloured,
    is_live,
    is_read,
    note,
    result,
    result_lines,
)
from replan.commands.shared.options import COLOR, Everything, ExitZero, ReportForm, Topics
from replan.commands.shared.target import JournaledTarget, seconds
from replan.errors import BadUsage, ClusterUnreachable, Exit

if TYPE_CHECKING:
    from replan.applying.journal.ledger import JournalState
    from replan.applying.observation import PartitionHistory
    from replan.applying.views.progress import CopyPace
    from replan.commands.shared.target import Connection
    from replan.model.control_plane import Clock
    from replan.model.snapshot import Snapshot
    from replan.planning.findings.health import Health
    from replan.planning.findings.replica_progress import AskedPartition, Reading
    from replan.reporting.cluster.status_text import ClusterStatus

OVER_SECONDS = 12.0
"""A throttled follower fetches in bursts, in windows of eleven seconds (replication.quota.window)."""
WATCH_EVERY_SECONDS = 4.0
"""Between two readings of `--watch`."""
LINE_SECONDS = 60.0
"""Between two lines of `--watch` where there is no terminal."""


def status(
    *,
    topics: Topics = None,
    partitions: Annotated[
        list[str] | None,
        typer.Option(
            "--partition",
            metavar="PARTITION",
            help="Show the replicas of this partition, e.g. orders-7, whether or not it moves; repeatable.",
        ),
    ] = None,
    reassignment_file: Annotated[
        Path | None,
        typer.Option(
            "--reassignment-json-file",
            metavar="FILE",
            help="Show the partitions and targets of this file of kafka-reassign-partitions.sh.",
        ),
    ] = None,
    over: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=seconds,
            show_default="12s with --watch",
            help="Measure rates and the time left between two readings so far apart.",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on until nothing runs and nothing is open.")
    ] = False,
    everything: Everything = False,
    form: ReportForm = "text",
    color: Annotated[Color, COLOR] = "auto",
    exit_zero: ExitZero = False,
    cluster: JournaledTarget,
) -> Exit:
    """Show the health of the cluster, running reassignments, the open application, and throttles that nobody knows.

    What is wrong comes first. Of each replica that is being copied, whoever has begun that, there is a row of KIP-179's
    table: its status, how many messages it is behind, and its bytes. Of an open application: how much of all is copied,
    and what waits for what. `--watch` shows the same from any terminal, in place, with rates and the time left, less
    what is produced meanwhile; where there is no terminal, all of it at the beginning and at the end, and between them
    a line each minute, and whenever the health changes; as JSON a document for each look, on a line of its own. With
    --partition or a file of Kafka's tool all replicas of these are shown.

    Exit codes:
      0  settled: all partitions have a leader and their min ISR, nothing is running, no application is open, and no
         throttle of a move of replan is left
      1  an error
      2  a partition has no leader or is under min ISR, something is running or open, or this user may not see whether
         it is: the journal, min.insync.replicas where a replica is out of sync, or one of the topics that are meant
         (0 with --exit-zero)
      3  nothing runs, and some partitions are not where the file wants them

    Examples:
      replan status --bootstrap-server kafka-1:9092 --watch
      replan status --simulated cluster.json --topic orders --format json
    """
    scope = _Selection(topics or [], partitions or [], reassignment_file)
    if cluster.snapshot is not None:
        if watch or over is not None or partitions or reassignment_file is not None:
            raise BadUsage("a snapshot does not move; name a cluster")
        shown = _of_snapshot(cluster, scope.topics)
        _write(shown, form, color, everything=everything)
        return _code(shown, exit_zero=exit_zero)
    from replan.reporting.cluster.status_text import render_status_json

    between = over if over is not None else OVER_SECONDS if watch else 0.0
    live = watch and form == "text"
    with (
        cluster.connect() as connection,
        _screen(color, connection.clock, live=live, everything=everything) as show,
    ):
        watcher, clock = _Watcher(cluster, connection, scope, between), connection.clock
        shown = watcher.look()
        if between and not watch and shown.rows:
            clock.sleep(between)
            shown = watcher.look()
        while True:
            if live:
                show(shown)
            elif watch and form == "json":
                result(render_status_json(shown, indent=None))
            else:
                _write(shown, form, color, everything=everything)
            if not watch or not shown.works or not is_read():
                return _code(shown, exit_zero=exit_zero)
            clock.sleep(min(WATCH_EVERY_SECONDS, between))
            try:
                shown = watcher.look()
            except ClusterUnreachable as problem:
                note(f"note: {problem}; asked again")


def _code(shown: "ClusterStatus", *, exit_zero: bool) -> Exit:
    if shown.settled or exit_zero:
        return Exit.REFUSED if shown.settled and shown.stopped else Exit.OK
    return Exit.CHANGES


def _write(shown: "ClusterStatus", form: ReportForm, color: Color, *, everything: bool) -> None:
    from replan.reporting.cluster import status_text

    match form:
        case "text":
            result_lines(status_text.status_lines(shown, everything=everything), color)
        case "markdown":
            result(status_text.render_status_markdown(shown))
        case "json":
            result(status_text.render_status_json(shown))


@contextmanager
def _screen(
    color: Color, clock: "Clock", *, live: bool, everything: bool
) -> "Iterator[Callable[[ClusterStatus], None]]":
    """Show each status: on a terminal in the place of the one before, elsewhere a line now and then."""
    if not (live and is_live(sys.stdout)):
        yield _Lines(color, clock, everything=everything).show
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from replan.reporting.cluster.status_text import status_lines
    from replan.reporting.lines import drawn

    colours = coloured(color, terminal=True)
    console = Console(highlight=False, no_color=not colours)
    with Live(console=console, auto_refresh=False) as screen:

        def show(shown: "ClusterStatus") -> None:
            lines = status_lines(shown, everything=everything)
            text = drawn(lines, width=get_terminal_size().columns, colours=colours)
            screen.update(Text.from_ansi(text.rstrip("\n")), refresh=True)

        yield show


class _Lines(Struct):
    """A log of statuses: the first and the last whole, a line each minute and where the health is another one."""

    color: Color
    clock: "Clock"
    everything: bool
    shown_at: float = float("-inf")
    summary: str = ""

    def show(self, shown: "ClusterStatus") -> None:
        """Write what is new."""
        from replan.reporting.cluster.status_text import status_line

        now, first = self.clock.now(), not self.summary
        if first or not shown.works:
            _write(shown, "text", self.color, everything=self.everything)
        elif shown.summary != self.summary or now - self.shown_at >= LINE_SECONDS:
            result(f"{status_line(shown)}\n")
        else:
            return
        self.shown_at, self.summary = now, shown.summary


class _Selection(Struct, frozen=True):
    """Which partitions are shown. Raises BadUsage unless they are named in one way at most."""

    topics: list[str]
    partitions: list[str]
    file: Path | None

    def __post_init__(self) -> None:
        if sum(map(bool, (self.topics, self.partitions, self.file))) > 1:
            raise BadUsage("name --topic, --partition or --reassignment-json-file, one of them")

    def named(self) -> "list[AskedPartition] | None":
        """Those that were named one by one; None where all count that run. Raises BadUsage and BadFile."""
        from replan.model.names import parse_topic_partition
        from replan.planning.findings.replica_progress import AskedPartition

        if self.file is not None:
            from replan.placement_file.kafka_json import read_reassignment

            return [
                AskedPartition(name, target)
                for name, target in read_reassignment(self.file).items()
            ]
        try:
            partitions = [
                AskedPartition(parse_topic_partition(text))
                for text in dict.fromkeys(self.partitions)
            ]
        except ValueError as problem:
            raise BadUsage(f"--partition: {problem}; write e.g. orders-7") from problem
        return partitions or None


def _of_snapshot(cluster: JournaledTarget, patterns: list[str]) -> "ClusterStatus":
    from replan.planning.findings.replica_progress import shown_rows
    from replan.reporting.cluster.status_text import ClusterStatus
    from replan.reporting.plans.plan_context import own_text

    snapshot = cluster.observe()
    health, own = _health(snapshot, patterns), snapshot.application
    return ClusterStatus(
        health=health,
        rows=shown_rows(health.running),
        observed_at=snapshot.observed_at,
        was_open="" if own is None else own_text(own),
    )


def _health(snapshot: "Snapshot", patterns: list[str]) -> "Health":
    """That of the topics that are meant, those among them that this user may not describe; raises as `topics_named`."""
    from replan.model.declared.topic_patterns import matches
    from replan.placement_file.export import topics_named
    from replan.planning.findings.health import health_of

    meant = (t for t in snapshot.hidden if not patterns or any(matches(p, t) for p in patterns))
    return replace(health_of(snapshot, topics_named(snapshot, patterns)), hidden=tuple(meant))


class _Watcher(Struct):
    """Looks at a cluster again and again, and keeps of earlier looks what rates are measured by."""

    cluster: JournaledTarget
    connection: "Connection"
    selection: _Selection
    over: float
    readings: "deque[Reading]" = field(default_factory=deque)
    history: "PartitionHistory | None" = None
    pace: "CopyPace | None" = None
    noted: bool = False

    def look(self) -> "ClusterStatus":
        """One look."""
        from replan.applying.journal.records import moment_of
        from replan.applying.views.by_journal import nobodys, throttles_seen_twice
        from replan.commands.shared.journals import journal_state, loop_of
        from replan.commands.shared.unread import note_unread
        from replan.commands.shared.with_journal import resume_command
        from replan.planning.findings.replica_progress import (
            AskedPartition,
            reassignment_state,
            replica_rows,
        )
        from replan.reporting.cluster.status_text import ClusterStatus

        plane = self.connection.control_plane
        snapshot = plane.observe()
        at = self.connection.moment().timestamp()
        if not self.noted:
            note_unread(snapshot)
            self.noted = True
        health = _health(snapshot, self.selection.topics)
        named = self.selection.named()
        partitions = (
            [AskedPartition(s.partition) for s in health.running] if named is None else named
        )
        before, now = self._read(partitions)
        journal = journal_state(self.cluster, self.connection, snapshot.cluster_id)
        applying = journal.ledger.application is not None
        throttles = throttles_seen_twice(snapshot, self.cluster.observe, journal.ledger)
        shown = ClusterStatus(
            health=health,
            rows=[] if now is None else replica_rows(partitions, now, before),
            reassignments={}
            if now is None
            else {a.partition: reassignment_state(a, now) for a in partitions},
            named=named is not None,
            observed_at=moment_of(at),
            unknown_throttles=nobodys(throttles),
            own_throttles=journal.ledger.throttles,
            own=frozenset(s.partition for s in health.running if journal.ledger.began(s)),
            resume=resume_command(self.cluster),
            clear=resume_command(self.cluster, "throttle", "clear"),
            loop=None
            if journal.unread
            else loop_of(self.cluster, self.connection, at, applying=applying),
            asked_at=at,
            journal_unread=journal.unread,
            open_elsewhere=journal.elsewhere,
        )
        return self._with_application(shown, journal, snapshot.cluster_id)

    def _read(
        self, partitions: "Collection[AskedPartition]"
    ) -> "tuple[Reading | None, Reading | None]":
        """The reading to measure rates by, and the one of now."""
        from replan.applying.views.progress import read_progress

        if not partitions:
            self.readings.clear()
            return None, None
        clock, names = self.connection.clock, [a.partition for a in partitions]
        now = read_progress(self.connection.control_plane, names, clock.now())
        while len(self.readings) > 1 and now.seconds - self.readings[1].seconds >= self.over:
            self.readings.popleft()
        before = self.readings[0] if self.readings else None
        self.readings.append(now)
        return before, now

    def _with_application(
        self, shown: "ClusterStatus", journal: "JournalState", cluster_id: str
    ) -> "ClusterStatus":
        """With what the open application waits for, and how far it is."""
        from replan.applying.views.by_journal import open_application_view
        from replan.commands.shared.journals import journal_state
        from replan.commands.shared.with_journal import readable_open_plan

        ledger = journal.ledger
        if ledger.application is None:
            return shown
        plan = readable_open_plan(ledger)
        if plan is None:
            return replace(shown, application=open_application_view(ledger, plan, journal.holder))
        from replan.applying.views.progress import CopyPace
        from replan.applying.views.waiting import NOTHING_SEEN, watched

        plane, now = self.connection.control_plane, self.connection.clock.now()
        progress_now = watched(
            plan,
            ledger,
            plane,
            now,
            self.history or NOTHING_SEEN,
            read=lambda: journal_state(self.cluster, self.connection, cluster_id).ledger,
        )
        self.history = progress_now.history
        application = open_application_view(ledger, plan, journal.holder, progress_now.waits)
        self.pace = self.pace or CopyPace()
        return replace(shown, application=application, progress=self.pace.of(progress_now.progress))
