"""A cluster as it is read for a plan, for drift or for status: with what its journal says of it."""

import shlex
from contextlib import suppress

from replan.applying.journal.ledger import Ledger
from replan.applying.views.by_journal import (
    as_planned_from,
    knows_nothing,
    open_application_view,
    unknown_throttles,
)
from replan.commands.frame.output import note
from replan.commands.shared.journals import journal_state
from replan.commands.shared.rates import leaders_log_ends
from replan.commands.shared.target import Observed, Target
from replan.commands.shared.unread import note_unread
from replan.errors import BadFile, UnsafePlan
from replan.model.control_plane import ClusterReader
from replan.model.declared.placement import Placement
from replan.model.snapshot import Snapshot
from replan.planning.plans.plan import Plan
from replan.wording import count


def readable_open_plan(ledger: Ledger) -> Plan | None:
    """The plan of the open application; None where this release cannot read it."""
    from replan.applying.run.opening import open_plan

    with suppress(BadFile, UnsafePlan):
        return open_plan(ledger)
    return None


def resume_command(cluster: Target, *words: str) -> str:
    """What to type to go on with the open application, or to do something else to it."""
    return shlex.join(["replan", *(words or ("resume",)), *cluster.words()])


def for_placement(
    snapshot: Snapshot, placement: Placement | None, reader: ClusterReader
) -> Snapshot:
    """The snapshot with the logs of those partitions without a leader that `recovery` of a placement is about."""
    if placement is None or not placement.recovery:
        return snapshot
    from replan.applying.steps.recovering import with_logs
    from replan.planning.making.recoveries import declared_wishes

    return with_logs(reader, snapshot, declared_wishes(placement, snapshot))


def observed_with_journal(
    cluster: Target, placement: Placement | None, *, log_ends: bool, lenient: bool
) -> Observed:
    """A cluster that answers; its journal is read without its lock. As `observed` says."""
    with cluster.connect() as connection:
        plane = connection.control_plane
        allowed = connection.observe_allowed if lenient else None
        snapshot = for_placement((allowed or plane.observe)(), placement, plane)
        journal = journal_state(cluster, connection, snapshot.cluster_id)
        logs = leaders_log_ends(connection, snapshot) if log_ends else {}
        ends = {name: log.end for name, log in logs.items()}
    ledger = journal.ledger
    application = (
        None
        if ledger.application is None
        else open_application_view(ledger, readable_open_plan(ledger), journal.holder)
    )
    note_unread(snapshot)
    if application is not None:
        from replan.reporting.cluster.status_text import headline

        note(f"note: {headline(application, resume_command(cluster))}")
    throttles, unknown = ledger.throttles, unknown_throttles(snapshot, ledger)
    if throttles and application is None:
        from replan.reporting.cluster.status_text import own_throttles_text

        clear = resume_command(cluster, "throttle", "clear")
        note(f"note: {own_throttles_text(throttles, clear)}")
    if unknown and knows_nothing(ledger):
        note(
            f"note: {count(len(unknown), 'throttle setting')} in the cluster, and no journal that knows whose; "
            f"`{resume_command(cluster, 'status')}` lists them"
        )
    unread = journal.unread or bool(journal.elsewhere)
    return Observed(
        as_planned_from(snapshot, ledger, application), application, ledger, unread, ends
    )
