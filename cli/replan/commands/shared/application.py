"""One application of a plan: where the plan comes from, who approves it, how it is performed and stopped."""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.abandoning import left_running, left_running_text
from replan.applying.journal.ledger import JournalState, Ledger, fold
from replan.applying.journal.protocol import PatientJournal
from replan.applying.journal.records import Verb, timestamp_now
from replan.applying.reasons.holds import Paused
from replan.applying.run.loop import apply_plan
from replan.applying.run.opening import check_same, open_plan
from replan.applying.settings import Settings
from replan.applying.steering import MoveRates, throttle_of
from replan.applying.views.by_journal import as_planned_from, knows_nothing, unknown_throttles
from replan.applying.views.outcome import Outcome
from replan.applying.views.progress import Progress, ProgressListener
from replan.commands.frame.output import Color, note, report_outcome, result_lines, save
from replan.commands.frame.signals import asked_to_stop
from replan.commands.shared.journals import journal_state, owned_journal, owner
from replan.commands.shared.options import Detail
from replan.commands.shared.permissions import check_allowed
from replan.commands.shared.plans import allowed_of, planning
from replan.commands.shared.progress import Metrics, progress_to
from replan.commands.shared.target import Connection, LiveTarget
from replan.commands.shared.unread import note_unread
from replan.commands.shared.with_journal import for_placement
from replan.errors import BadFile, BadUsage, Exit, Held, UnsafePlan
from replan.model.declared.placement import MoveThrottle, Placement
from replan.model.rates import Rates
from replan.placement_file.digest import digest_of
from replan.placement_file.load import load_placement
from replan.planning.making.journal_topic import plan_with_journal
from replan.planning.making.planner import make_plan
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.planning.plans.reasons import left_out_text
from replan.reporting.application.junit import outcome_junit
from replan.reporting.application.outcome_text import refused_line, render_outcome
from replan.reporting.cluster.status_text import throttle_lines
from replan.reporting.plans.plan_context import PlanContext
from replan.reporting.plans.plan_report import plan_lines
from replan.wording import NAMES_SHOWN, capped, count


class FilesPlan(Struct, frozen=True):
    """What there is to do for placement files."""

    plan: Plan
    approved: bool = False
    """Their application is open: its plan was approved when it began."""
    rates: MoveRates | None = None
    """What they declare now, where nothing but the rates of moves differs from what is in force."""


class PlanInputs(Struct, frozen=True):
    """What a plan shall be made from, as it was asked for."""

    files: Sequence[Path]
    allow: Sequence[str] = ()
    within_limits: bool = False
    rates: Rates | None = None
    color: Color = "auto"


def plan_of_files(inputs: PlanInputs, cluster: LiveTarget, connection: Connection) -> FilesPlan:
    """Plan from placement files, or go on with their application where it is open."""
    allowed, placement = allowed_of(inputs.allow), load_placement(inputs.files)
    snapshot = connection.control_plane.observe()
    note_unread(snapshot)
    journal = journal_state(cluster, connection, snapshot.cluster_id)
    other, ledger = _with_other_rates(placement, journal), journal.ledger
    if other is not None:
        return other
    begun = plan_to_resume(ledger, placement.digest)
    if begun is not None:
        return FilesPlan(begun, approved=True)
    snapshot = for_placement(snapshot, placement, connection.control_plane)
    make = plan_with_journal if cluster.journal_is_topic else make_plan
    with planning(placement, snapshot):
        plan = make(
            placement,
            as_planned_from(snapshot, ledger),
            allowed,
            rates=inputs.rates,
            within_limits=inputs.within_limits,
        )
    check_free(ledger, plan)
    result_lines(plan_lines(plan, PlanContext(snapshot=snapshot)), inputs.color)
    return FilesPlan(plan)


def plan_to_resume(ledger: Ledger, placement_digest: str) -> Plan | None:
    """The plan of the open application, where it is of what is asked for now; a note says that it goes on."""
    begun = ledger.application
    if begun is None or begun.placement_digest != placement_digest:
        return None
    note(f"resuming application {begun.id}, begun by {begun.owner}")
    return open_plan(ledger)


def check_free(ledger: Ledger, plan: Plan) -> None:
    """Raise Held where an application of another plan is open."""
    if ledger.application is not None:
        check_same(ledger.application, digest(plan))


def _with_other_rates(placement: Placement, journal: JournalState) -> FilesPlan | None:
    """The open application, where the placement is its own, and declares other rates of moves than are in force.

    The placement that it began with changes nothing but a process at work: whoever resumes with it keeps the rates that
    somebody has set since.
    """
    begun, plan = journal.ledger.application, open_plan(journal.ledger)
    wanted = placement.move_throttle
    if begun is None or plan is None or _keeps(wanted) != _keeps(plan.throttle):
        return None
    as_then = digest_of(replace(placement, move_throttle=plan.throttle))
    same, in_force = begun.placement_digest == placement.digest, throttle_of(plan.throttle, begun)
    if as_then != begun.placement_digest or (same and journal.holder is None):
        return None
    if same and MoveRates.of(wanted) == MoveRates.of(in_force):
        return None
    return FilesPlan(plan, approved=True, rates=MoveRates.of(wanted))


def _keeps(throttle: MoveThrottle | None) -> bool:
    return throttle is not None and throttle.keep


def begun_plan(cluster: LiveTarget, connection: Connection, to: str = "resume") -> Plan:
    """The plan of the open application; raises BadUsage where none is open."""
    cluster_id = connection.control_plane.cluster_id()
    ledger = journal_state(cluster, connection, cluster_id).ledger
    plan = open_plan(ledger)
    if plan is None:
        orders = left_running(ledger, connection.control_plane)
        more = f"; {left_running_text(orders)}" if orders else ""
        where = cluster.journal_place
        raise BadUsage(f"nothing to {to}: the journal {where} knows of no open application{more}")
    return plan


def check_all(plan: Plan) -> None:
    """Raise UnsafePlan where a rule refuses a part of the plan, Held where other parties alone are in the way."""
    if plan.refusals:
        named = "\n".join(
            f"  {line}" for line in capped(plan.refusals, refused_line, limit=NAMES_SHOWN)
        )
        raise (Held if plan.left_out is Exit.HELD else UnsafePlan)(
            f"--all-or-nothing: {left_out_text(plan.refusals)}; nothing applied:\n{named}\n"
            "Fix these, or take the partitions out of the placement, and plan again."
        )


def approve(plan: Plan) -> bool:
    """Ask on the terminal whether to apply a plan that changes something. Raises BadUsage where there is none."""
    saved = (
        ", or save the plan (-o plan.json of `replan plan` and `replan elect`), review it, and apply it: "
        "replan apply plan.json"
    )
    return not plan.changes or agreed(saved)


def agreed(otherwise: str = "") -> bool:
    """Whether whoever sits at the terminal agrees. Raises BadUsage where there is none.

    `otherwise`: what can be done instead.
    """
    if sys.stdin is None or not sys.stdin.isatty():  # None where it was closed before the start
        raise BadUsage(
            f"stdin is not a terminal, so nobody can approve this; pass --auto-approve{otherwise}"
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
    inject: Callable[[ProgressListener], ProgressListener] = lambda report: report,
    *,
    verb: Verb | None = None,
    rates: MoveRates | None = None,
    others: bool = False,
    leave_in: float | None = None,
    color: Color = "auto",
    render: Callable[[Outcome], str] = render_outcome,
) -> Exit:
    """Perform a plan until nothing is left, or a stop is requested, and print how it ended.

    `inject` begins faults and reports them. `verb`, `rates`: what to do to an application that is open, as if somebody
    had sent it; `others`: throttle reassignments of other tools, too; `leave_in`: leave, resumable, in so many
    seconds of the clock of the cluster.
    """
    leave_at = None if leave_in is None else connection.clock.now() + leave_in
    paced = settings.on_a_real_clock() if cluster.is_real else settings
    patience = max(settings.journal_patience_seconds, cluster.timeout_seconds)
    if plan.changes:
        check_allowed(plan, cluster, connection)
    with (
        owned_journal(
            cluster,
            connection,
            plan.cluster_id,
            create=plan.changes or others,
            placed=plan.journal_replicas,
        ) as journal,
        progress_to(quiet=detail.quiet, verbose=detail.verbose, color=color) as progress,
    ):
        metrics = Metrics(detail.metrics_file, plan.cluster_id)
        report = metrics.also(progress)
        stop, paused = asked_to_stop(connection.interrupt, note), _Paused(connection.idle)
        if not detail.quiet:
            note(f"journal: {cluster.journal_place}")
        outcome = apply_plan(
            plan,
            connection.control_plane,
            connection.control_plane,
            journal,
            connection.clock,
            plan_digest=digest(plan),
            settings=replace(
                paced,
                owner=owner(),
                moment=timestamp_now,
                leave_at=leave_at,
                journal_patience_seconds=patience,
            ),
            report=paused.also(inject(report)),
            stop=stop,
            idle=paused.idle,
            arrived=journal.arrived,
            verb=verb,
            rates=rates,
            others=others,
            silent_since=journal.silent_since,
        )
    metrics.ended(outcome)
    report_outcome(render(outcome))
    if detail.junit is not None:
        try:
            name = f"replan {plan.cluster_name or plan.cluster_id}"
            save(outcome_junit(outcome, name), detail.junit)
        except BadFile as problem:  # what has been done does not depend on it
            note(f"note: no report for CI: {problem}")
    return outcome.exit_code


class _Paused:
    """Lets an application that is paused wait for `replan resume` on the embedded cluster, too.

    Hours pass there in no time. So once nothing has moved there for a minute of that cluster, they pass as for people.
    """

    def __init__(self, idle: Callable[[], bool]) -> None:
        """`idle`: whether nothing will happen to the cluster by itself any more."""
        self._idle, self._paused = idle, False
        self._moved: tuple[object, float] = None, 0.0
        self._heard = 0.0

    def idle(self) -> bool:
        """The same, and nobody is waited for."""
        return not self._paused and self._idle()

    def also(self, report: ProgressListener) -> ProgressListener:
        """The report, after which it waits."""

        def hear(progress: Progress) -> None:
            report(progress)
            self._paused = isinstance(progress.admission, Paused)
            if self._paused and self._idle() and self._still(progress) >= STILL_SECONDS:
                time.sleep(progress.now - self._heard)
            self._heard = progress.now

        return hear

    def _still(self, progress: Progress) -> float:
        """For how long nothing has moved."""
        counts = progress.done, progress.running, progress.volume().copied_bytes
        if counts != self._moved[0]:
            self._moved = counts, progress.now
        return progress.now - self._moved[1]


STILL_SECONDS = 60.0
"""After so long without anything moving, a paused embedded cluster goes at the pace of people."""


def act_on_open_application(
    do: Callable[..., Outcome], cluster: LiveTarget, *, unknown: bool = False
) -> Exit:
    """Do something to the open application rather than go on with it.

    `unknown`: list the throttles that the journal does not know; where it is empty, they are what is left to resolve.
    """
    with cluster.connect() as connection:
        cluster_id = connection.control_plane.cluster_id()
        with owned_journal(cluster, connection, cluster_id, create=False) as journal:
            outcome = do(
                connection.control_plane,
                connection.control_plane,
                PatientJournal(journal, connection.clock, cluster.timeout_seconds, note),
                connection.clock,
                settings=Settings(owner=owner(), moment=timestamp_now),
                report=note,
                silent_since=journal.silent_since,
            )
            ledger = fold(journal.read())
        others = unknown_throttles(connection.control_plane.observe(), ledger) if unknown else []
    text = "" if others and knows_nothing(ledger) else render_outcome(outcome)
    report_outcome(text + "".join(f"{line}\n" for line in throttle_lines(others)))
    return outcome.exit_code if text else Exit.HELD
