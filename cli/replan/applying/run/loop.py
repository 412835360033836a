"""The beginning and the end of performing a plan: what is read first, what may be opened, and the run between them."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger, fold
from replan.applying.journal.protocol import Journal
from replan.applying.journal.records import Command, Verb
from replan.applying.observation import Job
from replan.applying.run.application_run import ApplicationRun, Ports
from replan.applying.run.opening import check_cluster_id, finished, opening
from replan.applying.settings import Settings
from replan.applying.steering import (
    MoveRates,
    none_arrived,
    taken_over,
)
from replan.applying.views.outcome import (
    Ending,
    Outcome,
    Result,
    plan_results,
)
from replan.applying.views.progress import ProgressListener
from replan.errors import BadUsage, ClusterUnreachable, Exit
from replan.model.broker import LogDir
from replan.model.control_plane import Clock, ClusterReader, ClusterWriter
from replan.planning.plans.plan import Plan


def never() -> bool:
    """For a question whose answer is no at every moment, as whether nothing will happen to a real cluster any more."""
    return False


def apply_plan(
    plan: Plan,
    reader: ClusterReader,
    writer: ClusterWriter,
    journal: Journal,
    clock: Clock,
    *,
    plan_digest: str,
    settings: Settings,
    report: ProgressListener,
    stop: Callable[[], bool],
    idle: Callable[[], bool] = never,
    arrived: Callable[[], Sequence[Command]] = none_arrived,
    verb: Verb | None = None,
    rates: MoveRates | None = None,
    others: bool = False,
    silent_since: float | None = None,
) -> Outcome:
    """Perform a plan, or go on with it, until nothing is left or `stop` says so.

    It gives up when nothing has moved for `settings.give_up_seconds`; and where `idle` says that nothing will happen to
    the cluster by itself any more, which only a simulated one can know, as soon as no timer can move anything either.

    `arrived` gives the commands in the inbox, and never fails. `verb`: what to do to an application that is open, as if
    somebody had sent it there: go on although it was paused, cancel it, or go on at other `rates`. `others`: throttle
    reassignments of other tools, too, until none runs. `silent_since`: when the process before was last seen to write.

    Raises WrongCluster, Held (another application is open, or another process took over), ClusterRefused, and
    ClusterUnreachable or BadFile where cluster or journal cannot be read at the beginning, within the patience.
    """
    log_dirs = _first_reading(plan, reader, clock, settings, stop)
    ledger = fold(journal.read())
    if verb is Verb.CANCEL and ledger.application is None:
        raise BadUsage("no application is open on this cluster; there is nothing to cancel")
    if ledger.application is None and not others and finished(plan, plan_digest, ledger, reader):
        there = plan_results(plan, Ledger(), {})
        if not ledger.throttles:
            return Outcome(
                exit_code=plan.left_out,
                ending=Ending.NOTHING_TO_DO,
                results=tuple(replace(r, result=Result.DONE) for r in there),
                refusals=plan.refusals,
            )
    opened = opening(
        plan,
        plan_digest,
        ledger,
        settings,
        resumes=verb in {Verb.RESUME, Verb.CANCEL},
        others=others,
    )
    opened += taken_over(ledger, settings, verb, rates)
    journal.append(opened)
    ports = Ports(reader, writer, journal, clock, report, stop, idle, arrived)
    job = Job.of(plan, settings)
    end = ApplicationRun(job, ledger.after(opened), ports, log_dirs, silent_since).to_end()
    before = ledger.application
    if before is not None and end.performed is not None:
        end = replace(end, performed=replace(end.performed, resumed=True))
    to_cancel = verb is Verb.CANCEL or (before is not None and before.is_cancelled)
    surprises = end.cancelled and end.exit_code is Exit.OK and not to_cancel
    return replace(end, exit_code=Exit.HELD) if surprises else end


def _first_reading(
    plan: Plan,
    cluster: ClusterReader,
    clock: Clock,
    settings: Settings,
    stop: Callable[[], bool],
) -> Sequence[LogDir]:
    """The room on disks, of the cluster that the plan is for; one that does not answer is asked again for a while."""
    until = clock.now() + settings.patience_seconds
    while True:
        try:
            check_cluster_id(plan, cluster.cluster_id())
            return cluster.log_dirs()
        except ClusterUnreachable:
            if clock.now() >= until or stop():
                raise
        clock.sleep(settings.poll_seconds)
