"""`status`: health, running reassignments with their progress, and the application that the journal knows."""

from collections.abc import Sequence
from pathlib import Path

from replan.commands.cluster import connect, observe
from replan.commands.journals import read_ledger, told
from replan.commands.output import Format, result
from replan.commands.target import Target
from replan.errors import BadUsage, Exit
from replan.model.names import BrokerId, TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.health import Health, judge
from replan.reporting.status_text import render_status, render_status_json, replica_progress


def status(chosen: Target, topics: Sequence[str], how: Format, journal: Path | None) -> Exit:
    """Tell how the cluster stands. 0 settled, 2 running."""
    if how is Format.MARKDOWN:
        raise BadUsage("status is written as text or json")
    seen, health, sizes = _look(chosen, frozenset(topics))
    rows = replica_progress(health, sizes)
    known = (
        [] if chosen.snapshot is not None else told(read_ledger(chosen, journal, seen.cluster_id))
    )
    application = "\n".join(known) or None
    render = render_status_json if how is Format.JSON else render_status
    result(render(health, rows, application, seen.observed_at))
    return Exit.CHANGES if health.running else Exit.OK


def _look(
    chosen: Target, topics: frozenset[str]
) -> tuple[Snapshot, Health, dict[tuple[TopicPartition, BrokerId], int]]:
    if chosen.snapshot is not None:
        seen = observe(chosen)
        return seen, judge(seen, topics), {}
    with connect(chosen) as connection:
        seen = connection.control_plane.observe()
        health = judge(seen, topics)
        running = [s.partition for s in health.running]
        sizes = connection.control_plane.replica_bytes(running) if running else {}
    return seen, health, dict(sizes)
