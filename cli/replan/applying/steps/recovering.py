"""What a tick does about partitions that nobody leads: whose logs are probed, what is asked for and written down. Pure.

Here belongs what concerns several of them; `judge_recovery` says what follows for one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from replan.applying.journal.ledger import Ledger, unended
from replan.applying.journal.records import Forget, Order, changed
from replan.applying.journal.steps import RecoveryRecord, RecoveryStep, Status
from replan.applying.observation.history import held_since
from replan.applying.observation.refusals import Refused, believed, refusals
from replan.applying.partitions.judge import End, Hold
from replan.applying.reasons.ends import TakenBack
from replan.applying.reasons.gates import Cancelling
from replan.applying.reasons.recovery import LedAgain
from replan.applying.reasons.requests import NextBatch
from replan.applying.reasons.waits import HoldReason
from replan.applying.steps.judge_recovery import (
    NOTHING_SAID,
    Measured,
    RecoveryInput,
    Unsure,
    arrival_possible,
    judge_cancelled,
    judge_recovery,
)
from replan.applying.tick_input import Job, TickInput
from replan.model.control_plane import Answer, OutcomeUnknown
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState
from replan.model.replica_logs import LogsFound, ReplicaLog
from replan.planning.recovery.recovery import Recovery


@dataclass(frozen=True, slots=True)
class Recovering:
    """What a process knows of its recoveries from tick to tick."""

    answers: Mapping[TopicPartition, Answer] = field(default_factory=dict)
    """The last of each partition."""
    refused: Mapping[TopicPartition, Refused] = field(default_factory=dict)
    asked_at: Mapping[TopicPartition, float] = field(default_factory=dict)
    leaderless_since: Mapping[TopicPartition, float] = field(default_factory=dict)
    """As far as this process has seen."""
    unknown_since: Mapping[TopicPartition, float] = field(default_factory=dict)
    """Partitions of which a request may still be on its way."""
    suspected: Mapping[tuple[TopicPartition, End], float] = field(default_factory=dict)
    logs: Mapping[TopicPartition, LogsFound] = field(default_factory=dict)
    """What replicas said last, while nobody led."""

    def answered(self, answers: Mapping[TopicPartition, Answer], now: float) -> "Recovering":
        """With the answers of one tick."""
        if not answers:
            return self
        unknown = {n: now for n, a in answers.items() if isinstance(a, OutcomeUnknown)}
        return replace(
            self,
            answers={**self.answers, **answers},
            refused=refusals(self.refused, answers, now),
            asked_at={**self.asked_at, **dict.fromkeys(answers, now)},
            unknown_since={**self.unknown_since, **unknown},
        )


@dataclass(slots=True)
class RecoveryTick:
    """What one tick decides of recoveries."""

    records: list[RecoveryRecord | Order | Forget] = field(default_factory=list)
    lists: dict[TopicPartition, Replicas] = field(default_factory=dict)
    unclean: list[TopicPartition] = field(default_factory=list)
    clean: list[TopicPartition] = field(default_factory=list)
    holds: dict[TopicPartition, HoldReason] = field(default_factory=dict)
    leaderless_since: Mapping[TopicPartition, float] = field(default_factory=dict)
    unknown_since: Mapping[TopicPartition, float] = field(default_factory=dict)
    suspected: Mapping[tuple[TopicPartition, End], float] = field(default_factory=dict)
    logs: Mapping[TopicPartition, LogsFound] = field(default_factory=dict)

    @property
    def asks(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.lists or self.unclean or self.clean)

    def after(self, known: Recovering) -> Recovering:
        """What the process knows then."""
        return replace(
            known,
            leaderless_since=self.leaderless_since,
            unknown_since=self.unknown_since,
            suspected=self.suspected,
            logs=self.logs,
        )


def pending(job: Job, ledger: Ledger) -> list[Recovery]:
    """The recoveries that have not ended."""
    return [
        recovery
        for name, recovery in job.recoveries.items()
        if unended(ledger.recoveries.get(name))
    ]


def waits_until(job: Job, ledger: Ledger, known: Recovering) -> float:
    """When the last of the declared waits that run is over; minus infinity where none does."""
    since = known.leaderless_since
    ends = (
        since[r.partition] + r.wait_seconds for r in pending(job, ledger) if r.partition in since
    )
    return max(ends, default=-inf)


def first_known(ledger: Ledger, now: float) -> Recovering:
    """What a process knows that begins: every request that was announced may still be on its way."""
    begun = [n for n, r in ledger.recoveries.items() if r.status is Status.OPEN and r.asked]
    return Recovering(unknown_since=dict.fromkeys(begun, now))


def to_probe(
    job: Job,
    ledger: Ledger,
    states: Mapping[TopicPartition, PartitionState],
    live: Iterable[BrokerId],
) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """Whose logs this tick needs: all live replicas where something may be asked for, the leader where one is there."""
    able, found = frozenset(live), dict[TopicPartition, tuple[BrokerId, ...]]()
    for recovery in pending(job, ledger):
        state = states.get(recovery.partition)
        if state is None or recovery.clean:
            continue
        if state.leader is None:
            found[recovery.partition] = tuple(b for b in recovery.original if b in able)
        elif state.leader == recovery.chosen and state.leader_epoch > recovery.leader_epoch:
            found[recovery.partition] = (state.leader,)
    return found


def recovery_tick(
    tick: TickInput, ledger: Ledger, known: Recovering, closed: HoldReason | None
) -> RecoveryTick:
    """Decide for each recovery that has not ended; `closed`: why nothing is to be asked for now, if so."""
    waiting = pending(tick.job, ledger)
    states = tick.seen.partitions
    nobody = [
        r.partition for r in waiting if r.partition in states and states[r.partition].leader is None
    ]
    found = RecoveryTick(
        leaderless_since=held_since(known.leaderless_since, nobody, tick.now),
        unknown_since={
            n: at
            for n, at in known.unknown_since.items()
            if at > tick.now - tick.settings.quarantine_seconds
        },
        logs={**known.logs, **{n: tick.logs[n] for n in nobody if n in tick.logs}},
    )
    per_leader, suspected = Counter[BrokerId](), list[tuple[TopicPartition, End]]()
    for recovery in waiting:
        name = recovery.partition
        sight = RecoveryInput(
            recovery=recovery,
            record=ledger.recoveries.get(name),
            refusal=believed(known.refused.get(name), tick.settings.agreeing_seconds),
            asked_at=known.asked_at.get(name),
            leaderless_since=found.leaderless_since.get(name),
            unknown_since=found.unknown_since.get(name),
            logs=found.logs.get(name, NOTHING_SAID),
        )
        begun = sight.record if isinstance(closed, Cancelling) else None
        verdict = (
            judge_recovery(sight, tick) if begun is None else judge_cancelled(sight, begun, tick)
        )
        if isinstance(verdict, Unsure):
            suspicion = (recovery.partition, verdict.conclusion)
            suspected.append(suspicion)
            sure = tick.agreed(known.suspected, suspicion, listed=False)
            verdict = verdict.conclusion if sure else Hold(verdict.reason)
        if isinstance(verdict, End) and sight.unknown_since is not None:
            verdict = Hold(arrival_possible(sight, tick))
        _take(recovery, verdict, tick, ledger, found, closed, per_leader)
    found.suspected = held_since(known.suspected, suspected, tick.ended)
    return found


def _take(
    recovery: Recovery,
    verdict: RecoveryStep | Measured | Hold | End,
    tick: TickInput,
    ledger: Ledger,
    into: RecoveryTick,
    closed: HoldReason | None,
    per_leader: Counter[BrokerId],
) -> None:
    name = recovery.partition
    record = ledger.recoveries.get(name) or _begun(recovery, ledger)
    match verdict:
        case Hold(reason):
            into.holds[name] = reason
        case RecoveryStep() as step if closed is not None and not (
            step is RecoveryStep.BACK and tick.admitting
        ):
            into.holds[name] = closed
        case RecoveryStep() as step:
            if _full(step, recovery, tick, into, per_leader):
                into.holds[name] = NextBatch(elections=step is RecoveryStep.ELECT)
                return
            into.records.append(changed(record, asked=step))
            if step is RecoveryStep.LIST:
                into.lists[name] = recovery.order
                into.records.extend(_remembered(recovery, ledger))
            elif step is RecoveryStep.BACK:
                into.lists[name] = recovery.original
            else:
                (into.clean if recovery.clean else into.unclean).append(name)
        case Measured(lost):
            reason = LedAgain(recovery.chosen, recovery.loss.records, lost)
            message = tick.job.end_text(name, reason)
            into.records.append(changed(record, status=Status.DONE, measured=lost, message=message))
        case End(status, reason):
            message = "" if reason is None else tick.job.end_text(name, reason)
            into.records.append(changed(record, status=status, message=message))
            if reason == TakenBack(recovery.original, recovery.original):
                into.records.extend(_forgotten(recovery, ledger))


def _full(
    step: RecoveryStep,
    recovery: Recovery,
    tick: TickInput,
    into: RecoveryTick,
    per_leader: Counter[BrokerId],
) -> bool:
    """Whether the requests of this tick have no room for it."""
    settings = tick.settings
    if step is not RecoveryStep.ELECT:
        return len(into.lists) >= settings.batch
    if len(into.unclean) + len(into.clean) >= settings.elections:
        return True
    per_leader[recovery.chosen] += 1
    return per_leader[recovery.chosen] > settings.elections_per_leader


def _begun(recovery: Recovery, ledger: Ledger) -> RecoveryRecord:
    return RecoveryRecord(
        application=ledger.application_id,
        partition=recovery.partition,
        topic_id=recovery.topic_id,
        order=recovery.order,
        method=recovery.method,
        clean=recovery.clean,
        evidence="; ".join(_said(recovery)),
        lost=recovery.loss.records,
    )


def _said(recovery: Recovery) -> Iterable[str]:
    """What each replica said, as the journal keeps it."""
    for candidate in recovery.candidates:
        log = candidate.log
        if not candidate.alive:
            yield f"{candidate.broker}: not live"
        elif isinstance(log, ReplicaLog):
            yield f"{candidate.broker}: epoch {log.last_epoch}, end {log.end}"
        else:
            yield f"{candidate.broker}: {'not asked' if log is None else log.problem.value}"


def _remembered(recovery: Recovery, ledger: Ledger) -> Iterable[Order]:
    """The order before, which the next plan puts back where none is declared."""
    order = Order(recovery.partition, recovery.topic_id, recovery.original, recovered=True)
    whole = len(recovery.order) == len(recovery.original)
    return (order,) if whole and ledger.order(order.key) is None else ()


def _forgotten(recovery: Recovery, ledger: Ledger) -> Iterable[Forget]:
    """That order, once it is there again."""
    order = Order(recovery.partition, recovery.topic_id, recovery.original, recovered=True)
    return (Forget(order.key),) if ledger.order(order.key) == order else ()
