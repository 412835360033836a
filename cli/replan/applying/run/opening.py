"""How an application is opened, taken up again, cancelled and closed: records and refusals, no loop. Pure.

At most one application is open on a cluster. The same plan takes up the open one; another plan is refused, naming it
and the three ways on.

What a cancelled application has not finished goes back to its original list, order and leader. These are the states of
the application; every arrow is one append, so a process killed anywhere leaves one of them, and whoever resumes goes on
from it to the same end:

    open            --cancel-->           open, cancelledBy      nothing begins; what runs is asked to be cancelled
    open, cancelledBy --at rest-->        cancelled              nothing is to go back
                      --at rest-->        cancelled, and another application is open that takes it back
    open, takesBack                       an application like any other, of a plan back (`planning.making.way_back`)

A partition of a cancelled application (`partitions.judge_cancelled`):

    is as wanted, and no list of it may arrive        done: finished, and stays
    runs, to a list that replan asked for             cancel (null), as often as needed; waits while there is no leader
    runs, to another one                              changed by another tool: it stays, named
    rests, and a list or cancel of it may arrive      waits (85 s)
    rests at lists that its move can lead to          cancelled, once looks have agreed on the list for 15 s
    rests elsewhere                                   changed by another tool: it stays, named

A copy to another log directory of its broker is ended by asking for the directory in which it lies (`log_moves`). New
partitions are not asked for any more, and stay where they are made (`creating`). Nor is a partition without a leader
recovered any more (`recovering`): a list that was changed for it goes back, one whose election has come stays.

Invariants:

1. No list is asked for on the way to rest, only null; so nothing but what was asked before the cancel can arrive. The
   one exception is the list that was found, of a partition without a leader, once nothing else of it may arrive.
2. The reverse moves begin when every partition of the application has ended and nothing of it may arrive: no late
   request meets them, as with any two applications one after the other.
3. The end of the one and the beginning of the other are one append. What was there before is known all the time: before
   it from the move records, after it from the plan back and the originals that the ended application keeps.
4. The plan back is made from what is observed then, judged by the refusals, and performed with the gates, throttles
   and the settle time of any plan: what was only added goes away, what was removed is copied back.
5. An application that takes one back is not cancelled itself: that would lead to where nobody wanted to be. It can be
   paused and abandoned.
6. Throttles and rates saved before the first effect belong to the cluster's journal, and so go over as they are.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.originals import Originals, PackedTopic, packed
from replan.applying.journal.records import (
    Application,
    ApplicationStatus,
    Command,
    Forget,
    LogMoveRecord,
    MoveRecord,
    OriginalsChunk,
    PlanChunk,
    Record,
    Status,
    StepRecord,
)
from replan.applying.settings import Settings
from replan.applying.steps.kinds import KINDS, kinds_of
from replan.applying.views.outcome import (
    PartitionResult,
    Result,
    plan_results,
    results_of,
    results_summary,
)
from replan.errors import BadFile, Held, WrongCluster
from replan.model.control_plane import ClusterReader, Wanted
from replan.model.snapshot import Snapshot
from replan.planning.making.way_back import WayBack, way_back
from replan.planning.plans.next_request import Done, next_request
from replan.planning.plans.origins import Origin
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest, dumps, loads
from replan.planning.safety.plan_laws import require_lawful

KEPT_APPLICATIONS = 20
"""Closed ones, for people who look back."""
KEPT_ORIGINALS = 10
"""Closed ones that `rollback` can go back over."""


def check_cluster_id(plan: Plan, cluster_id: str) -> None:
    """Raise WrongCluster where the plan was made for another one."""
    if plan.cluster_id != cluster_id:
        raise WrongCluster(
            f"the plan is for cluster {plan.cluster_id}, and cluster {cluster_id} answered\n"
            "Check --bootstrap-server, or make a plan for this cluster."
        )


def finished(plan: Plan, plan_digest: str, ledger: Ledger, cluster: ClusterReader) -> bool:
    """Whether this plan was applied before, or asks for nothing, and the cluster stands where it leads."""
    if not plan.changes:
        return True
    if not ledger.applications(plan_digest):
        return False
    return all(kind.there(plan, cluster) for kind in kinds_of(plan)) and _moved(plan, cluster)


def _moved(plan: Plan, cluster: ClusterReader) -> bool:
    look = cluster.look(Wanted(partitions=sorted(m.partition for m in plan.moves)))
    return not look.unclear and all(
        isinstance(next_request(m, look.partitions.get(m.partition), settled=False), Done)
        for m in plan.moves
    )


def opening(
    plan: Plan,
    plan_digest: str,
    ledger: Ledger,
    settings: Settings,
    *,
    resumes: bool = False,
    others: bool = False,
) -> tuple[Record, ...]:
    """The records that open an application; none where the same plan's is open. Raises Held where another's is.

    `resumes`: whoever asks for it goes on with whatever is open, also where it is being cancelled.
    """
    if ledger.application is not None:
        check_same(ledger.application, plan_digest)
        if ledger.application.cancelled_by and not resumes:
            raise Held(_cancelled_text(ledger.application))
        return ()
    application, more = _opened(plan, plan_digest, ledger, settings, others=others)
    return application, *more


def _opened(
    plan: Plan, plan_digest: str, ledger: Ledger, settings: Settings, *, others: bool = False
) -> tuple[Application, list[Record]]:
    """The application of a plan where none is open, and what is written down with it."""
    application = Application(
        id=next_id(plan_digest, ledger.applications(plan_digest)),
        status=ApplicationStatus.OPEN,
        plan_digest=plan_digest,
        placement_digest=plan.placement_digest,
        placement_commit=plan.placement_commit,
        cluster_id=plan.cluster_id,
        owner=settings.owner,
        opened_at=settings.moment(),
        moves=len(plan.moves),
        settle=settings.settle_seconds,
        slots=settings.slots_per_broker,
        keep_throttles=settings.preserve_throttles,
        others=others,
    )
    kept_no_longer = [replace(saved, kept=False) for saved in ledger.priors if saved.kept]
    plan_chunks = PlanChunk.of(application.id, dumps(plan))
    return application, [*plan_chunks, *kept_no_longer, *_forgotten(ledger)]


def next_id(plan_digest: str, before: Iterable[Application]) -> str:
    """One more than the last of the same plan, of which earlier ones may be forgotten."""
    numbers = (int(a.id.rpartition("-")[2]) for a in before)
    return f"{plan_digest[:12]}-{max(numbers, default=0) + 1}"


def _forgotten(ledger: Ledger) -> list[Forget]:
    """The oldest applications and originals, where more than enough are kept; steps go with their application."""
    records = ledger.records.values()
    over = [r for r in records if isinstance(r, Application)][:-KEPT_APPLICATIONS]
    ids = {a.id for a in over}
    chunks = [r for r in records if isinstance(r, OriginalsChunk)]
    kept = list(dict.fromkeys(c.application for c in chunks))[-KEPT_ORIGINALS:]
    return [
        *(Forget(a.key) for a in over),
        *(Forget(c.key) for c in chunks if c.application not in kept),
        *(Forget(r.key) for r in records if isinstance(r, StepRecord) and r.application in ids),
    ]


def _cancelled_text(application: Application) -> str:
    return (
        f"application {application.id} is being cancelled by {application.cancelled_by}: what it has not finished goes "
        "back\n`replan resume` goes on with that; this plan can be applied again afterwards."
    )


def open_plan(ledger: Ledger) -> Plan | None:
    """The plan of the open application, out of the journal; whoever resumes performs this one, and no new one."""
    if ledger.application is None:
        return None
    application = ledger.application.id
    source = f"journal, application {application}"
    try:
        return require_lawful(loads(ledger.plan_text(application), source), source)
    except BadFile as problem:
        raise BadFile(
            f"{problem}\nThis release cannot go on with that plan, nor take it back: finish it with the release that "
            "began it, or give it up with `replan abandon` (`--cancel-copies` cancels its copies), and plan again."
        ) from problem


def check_same(application: Application, plan_digest: str) -> None:
    """Raise Held where the open application is another plan's."""
    if application.plan_digest != plan_digest:
        raise Held(
            f"application {application.id} of {application.owner} is open on this cluster, with another plan "
            f"({application.plan_digest[:12]}, this one is {plan_digest[:12]})\n"
            "Three ways on: `replan resume` goes on with it; `replan cancel` takes back what it has not finished; "
            "`replan abandon` leaves the moves as they are and puts its throttles back."
        )


def closing(
    ledger: Ledger,
    status: ApplicationStatus,
    summary: str,
    at: str,
    plan: Plan | None,
) -> tuple[Record, ...]:
    """The records that close the open application; `plan`: its plan, where this release can read it."""
    application = ledger.application
    if application is None:
        return ()
    kept = [] if application.takes_back else packed(application.id, originals_of(ledger, plan))
    application = replace(application, bytes=copied_bytes(ledger, plan))
    return *ending_records(application, ledger.records.values(), status, summary, at), *kept


def originals_of(ledger: Ledger, plan: Plan | None) -> Originals:
    """What the open application has touched; `plan`: its plan, where this release can read it."""
    led = {} if plan is None else {m.partition: m.led_by_first for m in plan.moves}
    topics = dict[tuple[str, str], PackedTopic]()
    for name, own in sorted(ledger.owned.items()):
        if own.asked is None:
            continue
        topic = topics.setdefault(
            (name.topic, own.topic_id), PackedTopic(name.topic, own.topic_id, [])
        )
        origin = _origin(own, led=led.get(name, True))
        topic.partitions.append(
            (name.partition, origin.original, origin.target, origin.done, origin.led)
        )
    throttle = None if plan is None else plan.throttle
    stays = dict[str, list[Any]]()
    for kind in (kind for kind in KINDS if kind.record in ledger.begun):
        for field, of in kind.stays(plan, ledger).items():
            stays.setdefault(field, []).extend(of)
    return Originals(list(topics.values()), throttle=throttle, **stays)


def _origin(own: MoveRecord, *, led: bool) -> Origin:
    """Where it was before the first request; `led`: whether the first of the planned original led it.

    Where no list was asked for it had that of the plan already, by another tool, and was led by another replica.
    """
    done = own.status is Status.DONE
    if own.past:
        return Origin(own.partition, own.topic_id, own.original, own.target, done=done, led=led)
    return Origin(own.partition, own.topic_id, own.target, own.target, done=done, led=False)


def copied_bytes(ledger: Ledger, plan: Plan | None) -> int:
    """Bytes of the copies that are done, between brokers and between directories.

    What was there already was not asked for, so nothing was copied for it.
    """
    if plan is None:
        return 0
    done = {n for n, own in ledger.owned.items() if own.status is Status.DONE and own.past}
    within = {r.about for r in ledger.lasting(LogMoveRecord) if r.status is Status.DONE}
    return sum(m.copies_bytes for m in plan.moves if m.partition in done) + sum(
        m.bytes for m in plan.log_moves if m.replica in within
    )


def ending_records(
    application: Application,
    records: Iterable[Record],
    status: ApplicationStatus,
    summary: str,
    at: str,
) -> tuple[Record, ...]:
    """The records that end an application: what is over need not be kept."""
    over = {
        r.key: Forget(r.key)
        for r in records
        if isinstance(r, MoveRecord | StepRecord | PlanChunk | Command)
        and not (isinstance(r, StepRecord) and r.stays)
        and r.application == application.id
    }
    return replace(application, status=status, summary=summary, ended_at=at), *over.values()


def kept(ledger: Ledger) -> tuple[Record, ...]:
    """The records by which throttles of moves stay in place on purpose."""
    return tuple(replace(saved, kept=True) for saved in ledger.priors)


def unfinished(ledger: Ledger, plan: Plan) -> list[Origin]:
    """What is to go back: what was begun and is not done, but for what another tool has changed."""
    stays = {Status.DONE, Status.FOREIGN}
    led = {m.partition: m.led_by_first for m in plan.moves}
    moved = [
        _origin(own, led=led.get(name, True))
        for name, own in ledger.owned.items()
        if own.asked is not None and own.status not in stays
    ]
    return moved + [origin for kind in kinds_of(plan) for origin in kind.goes_back(plan, ledger)]


def plan_back(ledger: Ledger, plan: Plan, snapshot: Snapshot) -> Plan:
    """The plan that takes back what the cancelled application has not finished."""
    wanted = WayBack(
        application=ledger.application_id,
        origins=unfinished(ledger, plan),
        throttle=plan.throttle,
        warn_of_placement=False,
    )
    return way_back(wanted, snapshot)


def turned(
    cancelled: Application, ledger: Ledger, plan: Plan, back: Plan, settings: Settings
) -> tuple[Record, ...]:
    """The records that end the cancelled application, and open the one that takes it back."""
    moves = results_of(sorted(ledger.owned), ledger, {})
    results = [
        r
        for r in plan_results(plan, ledger, {}, moves)
        if isinstance(r, PartitionResult) and r.result is not Result.WAITING
    ]
    ending = closing(
        ledger, ApplicationStatus.CANCELLED, results_summary(results), settings.moment(), plan
    )
    application, more = _opened(back, digest(back), ledger.after(ending), settings)
    return (
        *ending,
        replace(
            application, takes_back=cancelled.id, rate=cancelled.rate, brokers=cancelled.brokers
        ),
        *more,
    )
