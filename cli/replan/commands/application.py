"""One application of a plan: where the plan comes from, who approves it, how it is performed and stopped."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from replan.applying.journal.ledger import fold
from replan.applying.journal.moment import moment
from replan.applying.journal.records import Verb
from replan.applying.known_snapshot import as_planned_from
from replan.applying.loop import apply_plan
from replan.applying.opening import check_same, open_plan
from replan.applying.outcome import Outcome, left_out_text
from replan.applying.progress import Report
from replan.applying.settings import Settings
from replan.applying.standing import knows_nothing, unknown_throttles
from replan.commands.journals import known_of, owned_journal, owner, place_of
from replan.commands.observed import for_placement
from replan.commands.options import Detail
from replan.commands.output import note, report_outcome, result
from replan.commands.plans import allowed_of
from replan.commands.progress import progress_to
from replan.commands.signals import asked_to_stop
from replan.commands.target import Connection, LiveTarget
from replan.errors import BadUsage, Exit, Held, UnsafePlan
from replan.manifest.load import load_placement
from replan.planning.plan import Plan
from replan.planning.plan_file import digest
from replan.planning.planner import make_plan
from replan.reporting.application_text import throttle_lines
from replan.reporting.hold_text import end_text
from replan.reporting.outcome_text import refused_line, render_outcome
from replan.reporting.plan_text import render_plan
from replan.wording import capped, count


def plan_of_files(
    files: Sequence[Path], allow: Sequence[str], cluster: LiveTarget, connection: Connection
) -> tuple[Plan, bool]:
    """Plan from placement files, and whether it is approved: where their application is open, its plan was."""
    allowed, placement = allowed_of(allow), load_placement(files)
    seen = connection.control_plane.observe()
    ledger = known_of(cluster, connection, seen.cluster_id).ledger
    begun = ledger.application
    if begun is not None and begun.manifest_digest == placement.digest:
        plan = open_plan(ledger)
        if plan is not None:
            note(f"resuming application {begun.id}, begun by {begun.owner}")
            return plan, True
    seen = for_placement(seen, placement, connection.control_plane)
    plan = make_plan(placement, as_planned_from(seen, ledger), allowed)
    if begun is not None:
        check_same(begun, digest(plan))
    result(render_plan(plan))
    return plan, False


def begun_plan(cluster: LiveTarget, connection: Connection, to: str = "resume") -> Plan:
    """The plan of the open application; raises BadUsage where none is open."""
    cluster_id = connection.control_plane.cluster_id()
    plan = open_plan(known_of(cluster, connection, cluster_id).ledger)
    if plan is None:
        where = place_of(cluster)
        raise BadUsage(f"nothing to {to}: the journal {where} knows of no open application")
    return plan


def check_all(plan: Plan) -> None:
    """Raise UnsafePlan where a rule refuses a part of the plan, Held where other parties alone are in the way."""
    if plan.refusals:
        named = "\n".join(f"  {line}" for line in capped(plan.refusals, refused_line, limit=20))
        raise (Held if plan.left_out is Exit.HELD else UnsafePlan)(
            f"--all-or-nothing: {left_out_text(plan.refusals)}; nothing applied:\n{named}\n"
            "Fix these, or take the partitions out of the placement, and plan again."
        )


def approve(plan: Plan) -> bool:
    """Ask on the terminal whether to apply a plan that changes something. Raises BadUsage where there is none."""
    if not plan.changes:
        return True
    if sys.stdin is None or not sys.stdin.isatty():  # None where it was closed before the start
        raise BadUsage(
            "stdin is not a terminal, so nobody can approve this plan; pass --auto-approve, "
            "or save the plan, review it, and apply it: replan plan -o plan.json, replan apply plan.json"
        )
    sys.stderr.write("Type 'yes' to apply: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip() == "yes"


def approve_unclean(plan: Plan, *, unclean: bool, auto_approve: bool) -> bool:
    """Whether a plan that loses records may be performed: it needs --unclean, and somebody who agrees.

    Raises UnsafePlan where --unclean is missing, BadUsage where there is no terminal to ask on.
    """
    if plan.unclean and not unclean:
        raise UnsafePlan(
            f"{count(len(plan.unclean), 'partition')} can be led again only by unclean elections, which lose records "
            "for good; nothing was changed. Pass --unclean to allow that"
        )
    return not plan.unclean or auto_approve or approve(plan)


def perform(
    plan: Plan,
    cluster: LiveTarget,
    connection: Connection,
    settings: Settings,
    detail: Detail,
    inject: Callable[[Report], Report] = lambda report: report,
    *,
    verb: Verb | None = None,
    until: float | None = None,
) -> Exit:
    """Perform a plan as `performed` does, and print how it ended."""
    outcome = performed(plan, cluster, connection, settings, detail, inject, verb=verb, until=until)
    report_outcome(render_outcome(outcome))
    return outcome.exit_code


def performed(
    plan: Plan,
    cluster: LiveTarget,
    connection: Connection,
    settings: Settings,
    detail: Detail,
    inject: Callable[[Report], Report] = lambda report: report,
    *,
    verb: Verb | None = None,
    until: float | None = None,
) -> Outcome:
    """Perform a plan until nothing is left, or a stop is requested; `inject` begins faults and reports them.

    `verb`: what to do to an application that is open, resume or cancel it; `until`: leave, resumable, in so many
    seconds of the clock of the cluster.
    """
    leave_at = None if until is None else connection.clock.now() + until
    with (
        owned_journal(cluster, connection, plan.cluster_id) as journal,
        progress_to(quiet=detail.quiet, verbose=detail.verbose) as report,
    ):
        stop = asked_to_stop(connection.interrupt, note)
        if not detail.quiet:
            note(f"journal: {place_of(cluster)}")
        return apply_plan(
            plan,
            connection.control_plane,
            connection.control_plane,
            journal,
            connection.clock,
            plan_digest=digest(plan),
            settings=replace(
                settings,
                owner=owner(),
                moment=moment,
                leave_at=leave_at,
                soon_seconds=connection.soon_seconds,
            ),
            report=inject(report),
            stop=stop,
            end_text=end_text,
            idle=connection.idle,
            arrived=journal.arrived,
            verb=verb,
        )


def with_journal(do: Callable[..., Outcome], cluster: LiveTarget, *, unknown: bool = False) -> Exit:
    """Do something to the open application rather than go on with it.

    `unknown`: list the throttles that the journal does not know; where it is empty, they are what is left to resolve.
    """
    with cluster.connect() as connection:
        cluster_id = connection.control_plane.cluster_id()
        with owned_journal(cluster, connection, cluster_id, create=False) as journal:
            outcome = do(
                connection.control_plane,
                connection.control_plane,
                journal,
                connection.clock,
                settings=Settings(owner=owner(), moment=moment),
                report=note,
            )
            ledger = fold(journal.read())
        others = unknown_throttles(connection.control_plane.observe(), ledger) if unknown else []
    text = "" if others and knows_nothing(ledger) else render_outcome(outcome)
    report_outcome(text + "".join(f"{line}\n" for line in throttle_lines(others)))
    return outcome.exit_code if text else Exit.HELD
