"""Cancelling an application: what it has not finished goes back to its original list, order and leader. Pure.

States of the application; every arrow is one append, so a process killed anywhere leaves one of them, and whoever
resumes goes on from it to the same end:

    open            --cancel-->           open, cancelledBy      nothing begins; what runs is asked to be cancelled
    open, cancelledBy --at rest-->        cancelled              nothing is to go back
                      --at rest-->        cancelled, and another application is open that takes it back
    open, takesBack                       an application like any other, of a plan back (`planning.making.way_back`)

A partition of a cancelled application (`partitions.judge_cancelled`):

    is as wanted, and no list of it may arrive        done: finished, and stays
    runs, to a list that replan asked for             cancel (null), as often as needed; waits while nobody leads
    runs, to another one                              changed by another tool: it stays, named
    rests, and a list or cancel of it may arrive      waits (90 s)
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

import hashlib

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import Application, ApplicationStatus, Record, changed
from replan.applying.journal.steps import Status
from replan.applying.run.opening import closing, opening
from replan.applying.settings import Settings
from replan.applying.views.outcome import (
    create_results,
    recovery_results,
    results_of,
    summary,
)
from replan.model.snapshot import Snapshot
from replan.planning.making.way_back import WayBack, way_back
from replan.planning.plans.origins import Origin
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest


def is_cancelled(ledger: Ledger) -> bool:
    """Whether the open application is on its way to rest."""
    return ledger.application is not None and bool(ledger.application.cancelled_by)


def unfinished(ledger: Ledger, plan: Plan) -> list[Origin]:
    """What is to go back: what was begun and is not done, but for what another tool has changed."""
    stays = {Status.DONE, Status.FOREIGN}
    led = {m.partition: m.leader in {None, m.original[0]} for m in plan.moves}
    moved = [
        Origin(own.partition, own.topic_id, own.original, own.target, led=led.get(name, True))
        for name, own in ledger.owned.items()
        if own.asked is not None and own.status not in stays
    ]
    return moved + [
        Origin(r.partition, r.topic_id, r.original, r.order, led=False)
        for r in plan.recoveries
        if r.partition in ledger.recoveries
        and ledger.recoveries[r.partition].status is Status.CANCELLED
    ]


def plan_back(ledger: Ledger, plan: Plan, snapshot: Snapshot) -> Plan:
    """The plan that takes back what the cancelled application has not finished."""
    wanted = WayBack(
        application=ledger.application_id,
        origins=unfinished(ledger, plan),
        digest=hashlib.sha256(f"back to before {ledger.application_id}".encode()).hexdigest(),
        throttle=plan.throttle,
        warn_of_placement=False,
    )
    return way_back(wanted, snapshot)


def turned(ledger: Ledger, plan: Plan, back: Plan, settings: Settings) -> tuple[Record, ...]:
    """The records that end the cancelled application, and open the one that takes it back where something is to do."""
    known = ledger.application
    if known is None:
        return ()
    results = [
        *create_results((c for c in plan.creates if c.topic in ledger.creates), ledger, {}),
        *recovery_results(
            (r for r in plan.recoveries if r.partition in ledger.recoveries), ledger, {}
        ),
        *results_of(sorted(ledger.owned), ledger, {}),
    ]
    ending = closing(ledger, ApplicationStatus.CANCELLED, summary(results), settings.moment(), plan)
    if not back.moves:
        return ending
    application, *more = opening(back, digest(back), ledger.after(ending), settings)
    if not isinstance(application, Application):  # pragma: no cover - `opening` begins with it
        raise TypeError(application)
    return (
        *ending,
        changed(application, takes_back=known.id, rate=known.rate, brokers=known.brokers),
        *more,
    )
