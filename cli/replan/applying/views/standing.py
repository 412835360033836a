"""How an open application and the throttles stand now, for those who only look: nothing is asked or written.

Every command that plans or reports imports this, so it imports nothing of what decides. What partitions wait for is in
`waiting`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from replan.applying.journal.ledger import Ledger, Subject
from replan.applying.journal.records import Application
from replan.applying.reasons.reason import HoldReason
from replan.applying.views.outcome import (
    AnyResult,
    PartitionResult,
    Result,
    create_results,
    log_move_results,
    recovery_results,
    results_of,
    setting_results,
)
from replan.model.names import Replicas, TopicPartition
from replan.planning.plans.plan import Plan


@dataclass(frozen=True, slots=True)
class Waits:
    """Why steps of an open application wait, as far as that was looked up."""

    partitions: Mapping[TopicPartition, HoldReason] = field(default_factory=dict)
    steps: Mapping[Subject, HoldReason] = field(default_factory=dict)
    """Settings, and replicas that go to other log directories."""


NOT_LOOKED_UP = Waits()


@dataclass(frozen=True, slots=True)
class OpenApplication:
    """The application that is open on a cluster."""

    id: str
    owner: str
    process: str | None
    """What performs it now: `pid 12 on host since …`; None where it is interrupted."""
    unfinished: tuple[AnyResult, ...]
    """Of all that its plan asks for, in plan order; what each waits for only where it was looked up."""
    ended: int
    targets: Mapping[TopicPartition, Replicas]
    """Where the unfinished partitions go."""
    throttled: bool
    """Whether throttle settings of replan are in the cluster."""
    paused_by: str = ""
    cancelled_by: str = ""
    takes_back: str = ""
    """The cancelled application that it takes back."""


def open_application(
    ledger: Ledger,
    plan: Plan | None,
    process: str | None,
    waits: Waits = NOT_LOOKED_UP,
) -> OpenApplication | None:
    """The open application of a journal; `waits`: what its steps wait for, where that was looked up.

    `plan` is its plan; None where the journal does not hold one that can be read.
    """
    application = ledger.application
    if application is None:
        return None
    targets = {name: record.target for name, record in ledger.open.items()}
    targets |= {m.partition: m.target for m in (() if plan is None else plan.moves)}
    results = _results(ledger, plan, waits)
    unfinished = tuple(
        replace(r, last_step_at=application.opened_at)
        if isinstance(r, PartitionResult) and not r.last_step_at
        else r
        for r in results
        if r.result in {Result.RUNNING, Result.WAITING}
    )
    return OpenApplication(
        id=application.id,
        owner=application.owner,
        process=process,
        unfinished=unfinished,
        ended=len(results) - len(unfinished),
        targets={n: targets[n] for r in unfinished if (n := r.subject) in targets},
        throttled=bool(ledger.throttles),
        paused_by=application.paused_by,
        cancelled_by=application.cancelled_by,
        takes_back=application.takes_back,
    )


def _results(ledger: Ledger, plan: Plan | None, waits: Waits) -> tuple[AnyResult, ...]:
    """How each step of the plan stands; without a plan, each partition that the journal knows of."""
    if plan is None:
        return results_of(ledger.owned, ledger, waits.partitions)
    return (
        *setting_results(plan.standing, ledger, waits.steps),
        *create_results(plan.creates, ledger, waits.partitions),
        *recovery_results(plan.recoveries, ledger, waits.partitions),
        *results_of((m.partition for m in plan.moves), ledger, waits.partitions),
        *log_move_results(plan.log_moves, ledger, waits.steps),
    )


def knows_nothing(ledger: Ledger) -> bool:
    """Whether a journal has never had an application: it is new, or another one was lost."""
    return not any(isinstance(record, Application) for record in ledger.records.values())
