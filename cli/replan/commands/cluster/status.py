"""`status`: how the cluster is, what runs there, and how far replan's own application is."""

from typing import TYPE_CHECKING, Annotated

from replan.commands.frame.output import result
from replan.commands.inputs.options import AS, ExitZero, Form, Topics
from replan.commands.inputs.target import JournaledTarget
from replan.errors import Exit

if TYPE_CHECKING:
    from replan.commands.inputs.target import Connection
    from replan.reporting.cluster.status_text import Status


def status(
    *,
    topics: Topics = None,
    form: Annotated[Form, AS] = "text",
    exit_zero: ExitZero = False,
    cluster: JournaledTarget,
) -> Exit:
    """Show the health of the cluster, running reassignments, the open application, and throttles that nobody knows.

    Of an open application each unfinished partition is named, with what it waits for.

    Exit codes:
      0  settled: all partitions have a leader and their min ISR, nothing is running, no application is open
      1  an error
      2  a partition has no leader or is under min ISR, something is running or open, or this user may not see whether
         it is: the journal, min.insync.replicas where a replica is out of sync, or any topic (0 with --exit-zero)

    Examples:
      replan status --bootstrap-server kafka-1:9092
      replan status --simulated cluster.json --topic orders --format json
    """
    from replan.reporting.cluster import status_text

    match form:
        case "text":
            render = status_text.render_status
        case "markdown":
            render = status_text.render_status_markdown
        case "json":
            render = status_text.render_status_json
    if cluster.snapshot is not None:
        found = _of_snapshot(cluster, topics or [])
    else:
        with cluster.connect() as connection:
            found = _of_cluster(cluster, connection, topics or [])
    result(render(found))
    return Exit.OK if found.settled or exit_zero else Exit.CHANGES


def _of_snapshot(cluster: JournaledTarget, patterns: list[str]) -> "Status":
    from replan.placement_file.export import topics_named
    from replan.planning.findings.health import judge
    from replan.planning.findings.replica_progress import shown_rows
    from replan.reporting.cluster.status_text import Status

    seen = cluster.observe()
    health = judge(seen, topics_named(seen, patterns))
    return Status(health=health, rows=shown_rows(health.running), observed_at=seen.observed_at)


def _of_cluster(
    cluster: JournaledTarget, connection: "Connection", patterns: list[str]
) -> "Status":
    from replan.applying.views.reading_progress import read_progress
    from replan.applying.views.standing import unknown_throttles
    from replan.commands.inputs.journals import known_of
    from replan.commands.inputs.unread import note_unread
    from replan.commands.inputs.with_journal import application_of, resume_command
    from replan.placement_file.export import topics_named
    from replan.planning.findings.health import judge
    from replan.planning.findings.replica_progress import Asked, rows_of
    from replan.reporting.cluster.status_text import Status

    plane = connection.control_plane
    seen = plane.observe()
    note_unread(seen)
    health = judge(seen, topics_named(seen, patterns))
    running = [s.partition for s in health.running]
    rows = rows_of(map(Asked, running), read_progress(plane, running)) if running else []
    known = known_of(cluster, connection, seen.cluster_id)
    ledger = known.ledger
    return Status(
        health=health,
        rows=rows,
        observed_at=seen.observed_at,
        application=application_of(known, plane),
        unknown_throttles=unknown_throttles(seen, ledger),
        own_throttles=ledger.throttles,
        resume=resume_command(cluster),
        clear=resume_command(cluster, "throttle", "clear"),
        journal_unread=known.unread,
        open_elsewhere=known.elsewhere,
    )
