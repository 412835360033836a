"""What a process says when it leaves, or when its application has ended: outcomes of what it knows. Pure."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from replan.applying.journal.originals import Originals, taken_back
from replan.applying.journal.steps import Status
from replan.applying.reasons.notes import Leftover, RefusedSetting
from replan.applying.steps.log_moves import pending as logs_pending
from replan.applying.throttles.broker_rates import leftovers
from replan.applying.throttles.replica_lists import unread_lists
from replan.applying.tick.next_state import Decision
from replan.applying.tick.run_state import RunState
from replan.applying.tick_input import Job, TickInput
from replan.applying.views.outcome import (
    Ending,
    LogMoveResult,
    Outcome,
    PartitionResult,
    Result,
    SettingResult,
    create_results,
    log_move_results,
    recovery_results,
    results_of,
    setting_results,
)
from replan.errors import Exit
from replan.model.control_plane import Look
from replan.model.names import BrokerId, TopicPartition


@dataclass(frozen=True, slots=True)
class Leaving:
    """Why a process leaves, and since when it does."""

    since: float
    ending: Ending
    still_seconds: float
    """For how long nothing had moved."""


def partition_results(job: Job, state: RunState, now: float) -> tuple[PartitionResult, ...]:
    """How each partition stands, and for how long it has waited for what it waits for."""
    order = [m.partition for m in job.plan.moves]
    ledger, holds, since = state.ledger, state.holds, state.held_since
    created = create_results(job.plan.creates, ledger, holds)
    recovered = recovery_results(job.plan.recoveries, ledger, holds)
    return tuple(
        r if r.hold is None else replace(r, held_seconds=now - since.get(r.partition, now))
        for r in (*created, *recovered, *results_of(order, ledger, holds))
    )


def settings_of(job: Job, state: RunState) -> tuple[SettingResult, ...]:
    """How each standing throttle setting stands."""
    return setting_results(job.plan.standing, state.ledger, state.setting_holds)


def log_moves_of(job: Job, state: RunState) -> tuple[LogMoveResult, ...]:
    """How each replica stands that is to lie in another log directory."""
    return log_move_results(job.plan.log_moves, state.ledger, state.log_holds)


def left_behind(
    state: RunState, answering: Collection[BrokerId], seen: Look
) -> tuple[Leftover, ...]:
    """Settings of replan that are still there and that no running copy needs."""
    refused = (
        RefusedSetting(scope, name, answer.code, answer.name, answer.message)
        for (scope, name), answer in sorted(state.refused_configs.items())
    )
    unregistered = state.throttle_history.unregistered
    return (
        *leftovers(state.ledger.rates, answering, unregistered),
        *unread_lists(state.ledger.entries, seen.forbidden),
        *refused,
    )


def left(job: Job, state: RunState, now: float, code: Exit, ending: Ending) -> Outcome:
    """The application as it stands."""
    ledger = state.ledger
    application = ledger.application
    cancelled = "" if application is None else application.takes_back
    before = Originals([]) if application is None else taken_back(ledger, application)
    finished = [o.partition for o in before.origins() if o.done]
    kept = {*before.recovered, *(str(TopicPartition(g.topic, g.before)) for g in before.grown)}
    results = partition_results(job, state, now)
    if application is not None and application.cancelled_by:
        cancelled = application.id
        finished = [own.partition for own in ledger.ended(Status.DONE)]
        done = (r.partition for r in results if r.result is Result.DONE)
        kept = {str(name) for name in done if name not in finished}
    return Outcome(
        exit_code=code,
        ending=ending,
        cancelled=cancelled,
        finished=tuple(sorted(finished)),
        kept=tuple(sorted(kept)),
        results=results,
        settings=settings_of(job, state),
        log_moves=log_moves_of(job, state),
        others=state.others.total,
        notes=state.notes,
        refusals=job.plan.refusals,
    )


def stopped_code(leaving: Leaving) -> Exit:
    """The exit code of a process that leaves."""
    held = leaving.ending in {Ending.GAVE_UP, Ending.LEFT_TO_ANOTHER}
    return Exit.HELD if held else Exit.INTERRUPTED


def stopped(
    whole: Outcome,
    tick: TickInput,
    state: RunState,
    leaving: Leaving,
    decision: Decision,
    answering: Collection[BrokerId],
) -> Outcome:
    """The end of a process that leaves what runs to itself; `whole`: the application as it stands, `tick`: the last."""
    begun = {n for n, own in state.ledger.open.items() if own.expanding}
    running = begun & tick.seen.running.keys()
    within = {
        m.partition
        for m in logs_pending(tick.job, state.ledger)
        if (place := tick.seen.places.get(m.broker, {}).get(m.partition)) is not None
        and place.future_path == m.target
    }
    return replace(
        whole,
        copying=tuple(sorted(running.union(state.others.found))),
        copying_within=tuple(sorted(within)),
        may_begin=tuple(sorted((begun - running) & state.unknown_since.keys())),
        throttled=state.throttle(tick.job) is not None,
        seconds=leaving.still_seconds,
        admission=decision.admission,
        leftovers=left_behind(state, answering, tick.seen),
    )
