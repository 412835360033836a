"""`progress`: how far running reassignments are, whoever has begun them."""

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replan.commands.frame.output import is_live, result
from replan.commands.inputs.options import AS, ExitZero
from replan.commands.inputs.target import Connection, JournaledTarget, seconds
from replan.errors import BadUsage, Exit
from replan.wording import visible

if TYPE_CHECKING:
    from replan.commands.inputs.journals import Known
    from replan.planning.findings.replica_progress import Asked, Reading
    from replan.reporting.cluster.replica_progress_text import ShownProgress

OVER_SECONDS = 12.0
"""A throttled follower fetches in bursts, in windows of eleven seconds (replication.quota.window)."""


def _between(text: str | float) -> float:
    """Read a duration that may be nothing. Raises BadParameter."""
    return 0.0 if str(text).strip() in {"0", "0s"} else seconds(text)


def progress(
    *,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic", metavar="NAME", help="What runs on topics of this name or glob; repeatable."
        ),
    ] = None,
    partitions: Annotated[
        list[str] | None,
        typer.Option(
            "--partition", metavar="PARTITION", help="This partition, e.g. orders-7; repeatable."
        ),
    ] = None,
    reassignment_file: Annotated[
        Path | None,
        typer.Option(
            "--reassignment-json-file",
            metavar="FILE",
            help="The partitions and targets of this file of kafka-reassign-partitions.sh.",
        ),
    ] = None,
    over: Annotated[
        float,
        typer.Option(
            metavar="DURATION",
            parser=_between,
            help="Between the two readings that rates are measured by; 0 measures none.",
        ),
    ] = OVER_SECONDS,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on until nothing runs any more.")
    ] = False,
    form: Annotated[Literal["text", "json"], AS] = "text",
    exit_zero: ExitZero = False,
    cluster: JournaledTarget,
) -> Exit:
    """Show how far running reassignments are, replan's own and those of others.

    The table of KIP-179, one row for each new replica: its status and how many messages it is behind; with bytes, and
    the rate and the time left as measured between two readings, less what is produced meanwhile. With a file, all
    replicas of its targets.

    Exit codes:
      0  nothing runs, and everything asked for is as it is to be
      1  an error
      2  a reassignment runs, or an application is open (0 with --exit-zero)
      3  some have stopped before they were where the file wants them

    Examples:
      replan progress --bootstrap-server kafka-1:9092 --watch
      replan progress --topic orders --simulated cluster.json --format json
    """
    from replan.model.declared.topic_patterns import is_pattern
    from replan.reporting.cluster import replica_progress_text

    if cluster.snapshot is not None:
        raise BadUsage("a snapshot does not move; name a cluster")
    if sum(map(bool, (topics, partitions, reassignment_file))) > 1:
        raise BadUsage("name --topic, --partition or --reassignment-json-file, one of them")
    if watch and over <= 0:
        raise BadUsage("--watch reads every --over seconds; leave --over out, or write e.g. 5s")
    exact = [name for name in topics or [] if not is_pattern(name)]
    asked_of = _scope(topics or [], partitions or [], reassignment_file)
    render = replica_progress_text.render_replica_progress
    if form == "json":
        render = replica_progress_text.render_replica_progress_json
    with cluster.connect() as connection, _shown(watch=watch and form == "text") as show:
        before = None
        while True:
            now, asked = _read(connection, asked_of, exact)
            if before is None and over > 0 and now.look.running:
                before = now
                connection.clock.sleep(over)
                continue
            found, code = _found(cluster, connection, asked, now, before)
            show(render(found))
            if not watch or code is not Exit.CHANGES:
                return Exit.OK if exit_zero and code is Exit.CHANGES else code
            before = now
            connection.clock.sleep(over)


Scope = Callable[["Reading"], list["Asked"]]


def _scope(topics: list[str], partitions: list[str], file: Path | None) -> Scope:
    """What is asked for, once it is known what runs. Raises BadUsage and BadFile."""
    from replan.model.declared.topic_patterns import matches
    from replan.model.names import parse_topic_partition
    from replan.planning.findings.replica_progress import Asked

    if file is not None:
        from replan.placement_file.kafka_json import read_reassignment

        named = [Asked(name, target) for name, target in read_reassignment(file).items()]
        return lambda _: named
    if partitions:
        try:
            chosen = [Asked(parse_topic_partition(text)) for text in dict.fromkeys(partitions)]
        except ValueError as problem:
            raise BadUsage(f"--partition: {problem}; write e.g. orders-7") from problem
        return lambda _: chosen

    def running(now: "Reading") -> list[Asked]:
        return [
            Asked(name)
            for name in sorted(now.look.running)
            if not topics or any(matches(pattern, name.topic) for pattern in topics)
        ]

    return running


def _read(
    connection: Connection, scope: Scope, exact: Collection[str]
) -> tuple["Reading", list["Asked"]]:
    """One reading: what runs, then the partitions that are asked for, and where the logs of their replicas end.

    Raises BadUsage where one of the `exact` topics does not exist.
    """
    from replan.applying.views.reading_progress import read_progress
    from replan.model.control_plane import Wanted
    from replan.planning.findings.replica_progress import Reading

    plane, clock = connection.control_plane, connection.clock
    look = plane.look(Wanted(topics=exact))
    unknown = [topic for topic in exact if topic not in look.topics]
    if unknown:
        raise BadUsage(f"--topic {unknown[0]}: there is no such topic on this cluster")
    asked = scope(Reading(seconds=clock.now(), look=look))
    names = [a.partition for a in asked]
    return read_progress(plane, names, clock.now()), asked


def _found(
    cluster: JournaledTarget,
    connection: Connection,
    asked: list["Asked"],
    now: "Reading",
    before: "Reading | None",
) -> tuple["ShownProgress", Exit]:
    from replan.applying.reasons.gates import NewBrokerFenced
    from replan.applying.reasons.waits import HoldReason
    from replan.commands.inputs.journals import known_of
    from replan.commands.inputs.with_journal import application_of, resume_command
    from replan.model.names import TopicPartition
    from replan.planning.findings.replica_progress import Standing, replicas_of, rows_of, standing
    from replan.reporting.cluster.application_text import headline
    from replan.reporting.cluster.replica_progress_text import ShownProgress

    plane = connection.control_plane
    known: Known = known_of(cluster, connection, plane.cluster_id())
    application = application_of(known, plane)
    ours = frozenset(known.ledger.open)
    standings = {a.partition: standing(a, now) for a in asked}
    holds = dict[TopicPartition, HoldReason]()
    for one in asked:
        dead = [b for b in replicas_of(one, now.look) if not now.look.live(b)]
        if one.partition not in ours and standings[one.partition] is Standing.RUNNING and dead:
            holds[one.partition] = NewBrokerFenced(dead[0])
    found = () if application is None else application.unfinished
    holds |= {r.partition: r.hold for r in found if r.hold is not None and r.partition in ours}
    shown = ShownProgress(
        rows=rows_of(asked, now, before),
        standings=standings,
        observed_at=(
            f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
            if cluster.is_real
            else connection.control_plane.observe().observed_at
        ),
        ours=ours,
        holds=holds,
        application="" if application is None else headline(application, resume_command(cluster)),
    )
    if application is not None or Standing.RUNNING in standings.values():
        return shown, Exit.CHANGES
    stopped = Standing.STOPPED in standings.values()
    return shown, Exit.REFUSED if stopped else Exit.OK


@contextmanager
def _shown(*, watch: bool) -> Iterator[Callable[[str], None]]:
    """Write each text; on a terminal in the place of the one before."""
    if not (watch and is_live(sys.stdout)):
        yield result
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(highlight=False), auto_refresh=False) as live:

        def show(text: str) -> None:
            shown = Text(visible(text.rstrip("\n")))
            shown.no_wrap, shown.overflow = True, "ellipsis"
            live.update(shown, refresh=True)

        yield show
