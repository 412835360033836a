"""What to do about partitions that nobody leads: put the chosen replica first, let Kafka elect it, measure. Pure.

What a look shows of a partition, and what follows; the journal says only what was asked, and whether that is certain:

    it is gone, or another topic's              stale
    led, as of before the plan                  the broker that was asked is behind: wait
    led by the chosen one                       ask its log what it kept, then done
    led by another                              stale: another tool was quicker, or a replica came back
    no leader, a reassignment runs              another tool's
    no leader, the list is neither ours nor the planned one      stale
    no leader, not for long enough              wait
    a log that the plan knew is silent          wait
    the logs are not those of the plan          stale: plan again
    no leader, the planned list                 ask for the list with the chosen one first
    no leader, our list                         ask for the election

Invariants:

1. An unclean election, and a list that prepares one, is asked for only in a tick in which every log that the plan knew
   was probed and is the same, and no replica answers that the plan did not know. A broker that restarted in between is
   therefore probed again; its epoch, which Kafka shows no client, is not needed for it.
2. Kafka elects the first able replica of the list, so nothing is elected before the list is seen to be ours.
3. What is asked for is written down first, and an end is final. The same request may be asked for again; after one of
   unknown outcome the application stays open for as long as a copy of it may arrive.
4. A clean recovery asks for a preferred election, which never elects a replica that lost records.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import Order, RecoveryRecord, RecoveryStep, Status, changed
from replan.applying.observation.history import held_since
from replan.applying.partitions.judge import End, Hold
from replan.applying.reasons.ends import (
    Fact,
    NotAsPlanned,
    OtherReassignment,
    RejectedByKafka,
)
from replan.applying.reasons.recovery import (
    ElectionArrivalPossible,
    EvidenceChanged,
    LeaderlessTooShort,
    LedAgain,
    LedByAnother,
    LogsSilent,
    RecoveryUnseen,
)
from replan.applying.reasons.waits import (
    Cancelling,
    HoldReason,
    MetadataBehind,
    NextBatch,
    Rechecking,
)
from replan.applying.tick_input import Job, TickInput
from replan.model.control_plane import Answer, OutcomeUnknown, Rejected
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState
from replan.model.replica_logs import LogsFound, ProbeFailure, ReplicaLog
from replan.planning.recovery.candidates import parting
from replan.planning.recovery.recovery import Recovery

LOOK_AGAIN = frozenset({84, 85})
"""Rejections that say: look. An election that is not needed, no reassignment that runs."""


@dataclass(frozen=True, slots=True)
class Measured:
    """It is led by the chosen one, which lost so many records; None where that could not be measured."""

    lost: int | None


@dataclass(frozen=True, slots=True)
class Unsure:
    """An end that later looks must agree with."""

    conclusion: End
    reason: HoldReason


Verdict = RecoveryStep | Measured | Hold | End | Unsure


@dataclass(frozen=True, slots=True)
class Recovering:
    """What a process knows of its recoveries from tick to tick."""

    answers: Mapping[TopicPartition, Answer] = field(default_factory=dict)
    """The last of each partition."""
    asked_at: Mapping[TopicPartition, float] = field(default_factory=dict)
    leaderless_since: Mapping[TopicPartition, float] = field(default_factory=dict)
    """As far as this process has seen."""
    unknown_since: Mapping[TopicPartition, float] = field(default_factory=dict)
    """Partitions of which a request may still be on its way."""
    suspected: Mapping[tuple[TopicPartition, End], float] = field(default_factory=dict)

    def answered(self, answers: Mapping[TopicPartition, Answer], now: float) -> "Recovering":
        """With the answers of one tick."""
        if not answers:
            return self
        unknown = {n: now for n, a in answers.items() if isinstance(a, OutcomeUnknown)}
        return Recovering(
            {**self.answers, **answers},
            {**self.asked_at, **dict.fromkeys(answers, now)},
            self.leaderless_since,
            {**self.unknown_since, **unknown},
            self.suspected,
        )


@dataclass(slots=True)
class RecoveryTick:
    """What one tick decides of recoveries."""

    records: list[RecoveryRecord | Order] = field(default_factory=list)
    lists: dict[TopicPartition, Replicas] = field(default_factory=dict)
    unclean: list[TopicPartition] = field(default_factory=list)
    clean: list[TopicPartition] = field(default_factory=list)
    holds: dict[TopicPartition, HoldReason] = field(default_factory=dict)
    leaderless_since: Mapping[TopicPartition, float] = field(default_factory=dict)
    unknown_since: Mapping[TopicPartition, float] = field(default_factory=dict)
    suspected: Mapping[tuple[TopicPartition, End], float] = field(default_factory=dict)

    @property
    def asks(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.lists or self.unclean or self.clean)

    def after(self, known: Recovering) -> Recovering:
        """What the process knows then."""
        return Recovering(
            known.answers,
            known.asked_at,
            self.leaderless_since,
            self.unknown_since,
            self.suspected,
        )


def pending(job: Job, ledger: Ledger) -> list[Recovery]:
    """The recoveries that have not ended."""
    return [
        recovery
        for name, recovery in job.recoveries.items()
        if name not in ledger.recoveries or ledger.recoveries[name].status is Status.OPEN
    ]


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
    """Decide for each recovery that has not ended; `closed`: why nothing is to be asked for now, if so.

    What was asked for goes on to its end where the application is cancelled: nothing can take it back.
    """
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
    )
    per_leader, suspected = Counter[BrokerId](), list[tuple[TopicPartition, End]]()
    for recovery in waiting:
        record = ledger.recoveries.get(recovery.partition)
        verdict = judge_recovery(recovery, record, tick, known, found)
        if isinstance(verdict, Unsure):
            suspicion = (recovery.partition, verdict.conclusion)
            suspected.append(suspicion)
            since = known.suspected.get(suspicion, tick.ended)
            sure = since <= tick.now - tick.settings.ending_seconds
            verdict = verdict.conclusion if sure else Hold(verdict.reason)
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
        case RecoveryStep() if closed is not None and not (
            record.asked is not None and isinstance(closed, Cancelling)
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
            else:
                (into.clean if recovery.clean else into.unclean).append(name)
        case Measured(lost):
            reason = LedAgain(recovery.chosen, recovery.loss.records, lost)
            message = tick.job.end_text(name, reason)
            into.records.append(changed(record, status=Status.DONE, measured=lost, message=message))
        case End(status, reason):
            message = "" if reason is None else tick.job.end_text(name, reason)
            into.records.append(changed(record, status=status, message=message))


def _full(
    step: RecoveryStep,
    recovery: Recovery,
    tick: TickInput,
    into: RecoveryTick,
    per_leader: Counter[BrokerId],
) -> bool:
    """Whether the requests of this tick have no room for it."""
    settings = tick.settings
    if step is RecoveryStep.LIST:
        return len(into.lists) >= settings.batch
    if len(into.unclean) + len(into.clean) >= settings.elections:
        return True
    per_leader[recovery.chosen] += 1
    return per_leader[recovery.chosen] > settings.elections_per_leader


def _begun(recovery: Recovery, ledger: Ledger) -> RecoveryRecord:
    return RecoveryRecord(
        application="" if ledger.application is None else ledger.application.id,
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
    order = Order(recovery.partition, recovery.topic_id, recovery.original)
    whole = len(recovery.order) == len(recovery.original)
    return (order,) if whole and ledger.order(order.key) is None else ()


def judge_recovery(
    recovery: Recovery,
    record: RecoveryRecord | None,
    tick: TickInput,
    known: Recovering,
    now_known: RecoveryTick,
) -> Verdict:
    """What one look says of one partition."""
    name, seen = recovery.partition, tick.seen
    if name in seen.unclear:
        return Hold(MetadataBehind())
    state = seen.partitions.get(name)
    if state is None or state.topic_id != recovery.topic_id:
        found = None if state is None else state.topic_id
        return _unsure(Status.STALE, NotAsPlanned(Fact.TOPIC, recovery.topic_id, found))
    if state.leader is not None:
        return _led(recovery, state, state.leader, tick, now_known)
    if state.running is not None:
        running = state.running
        other = OtherReassignment(running.target, running.adding, running.removing)
        return _unsure(Status.FOREIGN, other)
    if state.replicas not in {recovery.original, recovery.order}:
        moved = NotAsPlanned(Fact.REPLICAS, recovery.original, state.replicas)
        return _unsure(Status.STALE, moved)
    return _leaderless(recovery, record, state, tick, known, now_known)


def _led(
    recovery: Recovery,
    state: PartitionState,
    leader: BrokerId,
    tick: TickInput,
    now_known: RecoveryTick,
) -> Verdict:
    if state.leader_epoch <= recovery.leader_epoch:
        return Hold(MetadataBehind())
    since = now_known.unknown_since.get(recovery.partition)
    if since is not None:
        return Hold(ElectionArrivalPossible(tick.settings.quarantine_seconds - (tick.now - since)))
    if leader != recovery.chosen:
        return _unsure(Status.STALE, LedByAnother(leader, recovery.chosen))
    if recovery.clean:
        return Measured(0)
    log = tick.logs.get(recovery.partition, {}).get(leader)
    return Measured(lost_records(recovery, log) if isinstance(log, ReplicaLog) else None)


def lost_records(recovery: Recovery, log: ReplicaLog) -> int | None:
    """What a new leader's log lacks of the best that was known: at least; None where it does not show any more.

    The leader has kept what it had up to where the epoch of its last record ends now.
    """
    logs = {c.broker: c.known for c in recovery.candidates if c.known is not None}
    own = logs[recovery.chosen]
    kept = log.epochs.get(own.last_epoch) if own.end else 0
    if kept is None:
        return None
    lost = [own.end - kept]
    if recovery.loss.records:
        lost.append(recovery.loss.offset + recovery.loss.records - min(kept, recovery.loss.offset))
    for broker, other in logs.items():
        if broker != recovery.chosen:
            lost.append(other.end - min(kept, parting(own, other)))
    return max(0, *lost)


def _leaderless(
    recovery: Recovery,
    record: RecoveryRecord | None,
    state: PartitionState,
    tick: TickInput,
    known: Recovering,
    now_known: RecoveryTick,
) -> Verdict:
    name = recovery.partition
    passed = tick.now - now_known.leaderless_since[name]
    if passed < recovery.wait_seconds:
        return Hold(LeaderlessTooShort(recovery.wait_seconds, recovery.wait_seconds - passed))
    if not recovery.clean:
        differs = evidence_differs(recovery, tick.logs.get(name, {}))
        if differs is not None:
            return differs
    step = _next_step(recovery, state)
    if record is None or record.asked is not step:
        return step
    answer = known.answers.get(name)
    if isinstance(answer, Rejected) and answer.code not in LOOK_AGAIN:
        return End(Status.REJECTED, RejectedByKafka(answer.code, answer.name, answer.message))
    asked_at = known.asked_at.get(name)
    if asked_at is not None and tick.now - asked_at < tick.settings.agreeing_seconds:
        return Hold(RecoveryUnseen(step))
    return step


def _next_step(recovery: Recovery, state: PartitionState) -> RecoveryStep:
    first = state.replicas == recovery.order or not recovery.reorders
    return RecoveryStep.ELECT if first else RecoveryStep.LIST


def evidence_differs(recovery: Recovery, logs: LogsFound) -> Hold | End | None:
    """Why what replicas say now is not what the plan was made of; None where it is."""
    silent: list[BrokerId] = []
    for candidate in recovery.candidates:
        planned, now = candidate.known, logs.get(candidate.broker)
        if planned is None:
            if isinstance(now, ReplicaLog):
                return End(Status.STALE, EvidenceChanged(candidate.broker, None, now.rank))
            if isinstance(now, ProbeFailure) and not candidate.alive:
                silent.append(candidate.broker)
        elif not isinstance(now, ReplicaLog):
            silent.append(candidate.broker)
        elif now.rank != planned.rank:
            return End(Status.STALE, EvidenceChanged(candidate.broker, planned.rank, now.rank))
    return Hold(LogsSilent(tuple(silent))) if silent else None


def _unsure(status: Status, reason: NotAsPlanned | OtherReassignment | LedByAnother) -> Unsure:
    return Unsure(End(status, reason), Rechecking(reason))
