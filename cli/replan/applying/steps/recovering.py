"""What one look says of a partition that nobody leads: put the chosen replica first, let Kafka elect it, measure. Pure.

What a look shows of a partition, and what follows; the journal says only what was asked, and whether that is certain:

    it is gone, or another topic's              stale
    led, as of before the plan                  the broker that was asked is behind: wait
    led by the chosen one                       ask its log what it kept, then done
    led by another                              stale: another tool was quicker, or a replica came back
    no leader, a reassignment runs              another tool's, unless it ran when planned: then the list stays
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
   unknown outcome it does not end, and the application stays open, for as long as a copy of it may arrive. ElectLeaders
   names no epoch: nothing but a leader makes a late election void, and while the chosen one is live it elects that one.
   So where a better log has returned meanwhile, the operator is asked to stop the chosen broker for so long.
4. A clean recovery asks for a preferred election, which never elects a replica that lost records.

While the application is cancelled no election and no list with the chosen one first is asked for, whatever is written
down: that says what was meant to be sent, and not that it was. A recovery of which nothing was written has not begun.
Of the others a look shows (`judge_cancelled`):

    gone, reassigned, or with another list      as above
    a request of it may arrive                  wait (90 s after one without an answer, or after a takeover); what it
                                                does meanwhile is then judged as what it is:
    led by the chosen one, whose election       done: it is measured, and stays
    was asked for
    led otherwise                               cancelled; where the list is ours, the plan back restores it
    no leader, the list that was found          cancelled
    no leader, our list                         ask for the list that was found, which Kafka takes at once; a plan back
                                                waits for a leader
    no leader, our list, which Kafka keeps      cancelled; the plan back refuses the partition by name

`recovery_tick` does what concerns several of them: whose logs are probed, how many requests travel together.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from replan.applying.journal.ledger import Ledger, unended
from replan.applying.journal.records import Forget, Order, changed
from replan.applying.journal.steps import RecoveryRecord, RecoveryStep, Status
from replan.applying.observation import Refused, believed, held_since, refusals, unshown
from replan.applying.partitions.judge import End, Hold, rejected
from replan.applying.reasons.ends import (
    EvidenceChanged,
    Fact,
    LedAgain,
    LedByAnother,
    NotAsPlanned,
    OtherReassignment,
    TakenBack,
)
from replan.applying.reasons.holds import (
    Cancelling,
    LeaderlessTooShort,
    LogsSilent,
    MetadataBehind,
    NextBatch,
    Rechecking,
    RecoveryArrivalPossible,
    RecoveryUnseen,
)
from replan.applying.reasons.reason import HoldReason
from replan.applying.tick_input import Job, TickInput
from replan.model.control_plane import Answer, OutcomeUnknown, Rejected
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState
from replan.model.replica_logs import LogsFound, ProbeFailure, ReplicaLog
from replan.planning.recovery.candidates import lost
from replan.planning.recovery.recovery import Recovery

LOOK_AGAIN = frozenset({84, 85})
"""Rejections that say: look. An election that is not needed, no reassignment that runs."""
NOTHING_SAID: LogsFound = {}


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
class RecoveryInput:
    """What a process knows of one partition beside a look at it."""

    recovery: Recovery
    record: RecoveryRecord | None
    refusal: Rejected | None
    """Of its last request, if it is believed."""
    asked_at: float | None
    leaderless_since: float | None
    """As far as this process has seen."""
    unknown_since: float | None
    """When a request was sent that may still be on its way."""
    logs: LogsFound
    """What replicas said last while nobody led it, as far as this process has seen."""


def judge_recovery(sight: RecoveryInput, tick: TickInput) -> Verdict:
    """What one look says of one partition."""
    state = _shown(sight.recovery, tick)
    if not isinstance(state, PartitionState):
        return state
    if state.leader is not None:
        return _led(sight, state.leader, tick)
    return _leaderless(sight, state, tick)


def judge_cancelled(sight: RecoveryInput, record: RecoveryRecord, tick: TickInput) -> Verdict:
    """The same of one that has begun, once its application is cancelled."""
    recovery, state = sight.recovery, _shown(sight.recovery, tick)
    if not isinstance(state, PartitionState):
        return state
    if state.leader == recovery.chosen and record.asked is RecoveryStep.ELECT:
        return _led(sight, recovery.chosen, tick)
    rest = TakenBack(recovery.original, state.replicas)
    rests = Unsure(End(Status.CANCELLED, rest), Rechecking(rest))
    if state.leader is not None or state.replicas == recovery.original:
        return rests
    if sight.unknown_since is not None:
        return Hold(arrival_possible(sight, tick))
    refusal = sight.refusal if record.asked is RecoveryStep.BACK else None
    if refusal is not None and refusal.code not in LOOK_AGAIN:
        return rests
    return _again(RecoveryStep.BACK, sight, record, tick)


def arrival_possible(sight: RecoveryInput, tick: TickInput) -> RecoveryArrivalPossible:
    """Why a recovery does not end yet of which a request may be on its way."""
    recovery, state = sight.recovery, tick.seen.partitions.get(sight.recovery.partition)
    since = tick.now if sight.unknown_since is None else sight.unknown_since
    led = state is not None and state.leader is not None
    elects = sight.record is not None and sight.record.asked is RecoveryStep.ELECT
    unclean = elects and not recovery.clean
    return RecoveryArrivalPossible(
        recovery.chosen,
        led,
        _better(recovery, sight.logs) if unclean else (),
        seconds=tick.settings.quarantine_seconds - (tick.now - since),
    )


def _better(recovery: Recovery, logs: LogsFound) -> tuple[BrokerId, ...]:
    """The brokers that said they have more than the plan knew, and than the chosen one."""
    planned = {c.broker: c.known for c in recovery.candidates}
    chosen = planned[recovery.chosen]
    better = []
    for broker, log in sorted(logs.items()):
        known = planned.get(broker)
        fresh = isinstance(log, ReplicaLog) and (known is None or log.rank > known.rank)
        if fresh and isinstance(log, ReplicaLog) and (chosen is None or log.rank > chosen.rank):
            better.append(broker)
    return tuple(better)


def _shown(recovery: Recovery, tick: TickInput) -> PartitionState | Verdict:
    """The partition as a look shows it, or what follows where that is not as it may be on the way of a recovery."""
    seen, name = tick.seen, recovery.partition
    hidden = unshown(seen, name)
    if hidden is not None:
        return Hold(hidden)
    state = seen.partitions.get(name)
    if state is None or state.topic_id != recovery.topic_id:
        found = None if state is None else state.topic_id
        return _unsure(Status.STALE, NotAsPlanned(Fact.TOPIC, recovery.topic_id, found))
    if state.leader is not None:
        behind = state.leader_epoch <= recovery.leader_epoch
        return Hold(MetadataBehind()) if behind else state
    running, listed = state.running, _listed(state)
    if running is not None and not recovery.reassigned and listed != recovery.order:
        other = OtherReassignment(running.target, running.adding, running.removing)
        return _unsure(Status.FOREIGN, other)
    if state.replicas != recovery.original and listed != recovery.order:
        moved = NotAsPlanned(Fact.REPLICAS, recovery.original, state.replicas)
        return _unsure(Status.STALE, moved)
    return state


def _listed(state: PartitionState) -> Replicas:
    """Its list, without what Kafka drops once the others are in sync, as a broker that is not registered."""
    return state.replicas if state.running is None else state.running.target


def _led(sight: RecoveryInput, leader: BrokerId, tick: TickInput) -> Verdict:
    recovery = sight.recovery
    if sight.unknown_since is not None:
        return Hold(arrival_possible(sight, tick))
    if leader != recovery.chosen:
        return _unsure(Status.STALE, LedByAnother(leader, recovery.chosen))
    if recovery.clean:
        return Measured(0)
    log = tick.logs.get(recovery.partition, {}).get(leader)
    return Measured(
        lost_records(recovery, log, sight.logs) if isinstance(log, ReplicaLog) else None
    )


def lost_records(
    recovery: Recovery, log: ReplicaLog, later: LogsFound = NOTHING_SAID
) -> int | None:
    """What a new leader's log lacks of all that was known: at least; None where it does not show any more.

    The leader has kept what it had up to where the epoch of its last record ends now. `later`: what was said after the
    plan; what a replica has more since then counts.
    """
    logs = {c.broker: c.last_known for c in recovery.candidates if c.last_known is not None}
    for broker, said in later.items():
        told = logs.get(broker)
        more = isinstance(said, ReplicaLog) and (told is None or said.rank > told.rank)
        if broker != recovery.chosen and more and isinstance(said, ReplicaLog):
            logs[broker] = said
    own = logs[recovery.chosen]
    kept = log.epochs.get(own.last_epoch) if own.end else 0
    if kept is None:
        return None
    others = sum(tail.records for tail in lost(logs, recovery.chosen))
    return others + max(0, own.end - max(kept, own.start))


def _leaderless(sight: RecoveryInput, state: PartitionState, tick: TickInput) -> Verdict:
    recovery, since = sight.recovery, sight.leaderless_since
    passed = 0.0 if since is None else tick.now - since
    if passed < recovery.wait_seconds:
        return Hold(LeaderlessTooShort(recovery.wait_seconds, recovery.wait_seconds - passed))
    if not recovery.clean:
        differs = evidence_differs(recovery, tick.logs.get(recovery.partition, {}))
        if differs is not None:
            return differs
    step = _next_step(recovery, state)
    if sight.record is None or sight.record.asked is not step:
        return step
    if sight.refusal is not None and sight.refusal.code not in LOOK_AGAIN:
        return rejected(sight.refusal)
    return _again(step, sight, sight.record, tick)


def _again(
    step: RecoveryStep, sight: RecoveryInput, record: RecoveryRecord, tick: TickInput
) -> Hold | RecoveryStep:
    """A step, but not again before looks had the time to show it."""
    asked_at = sight.asked_at if record.asked is step else None
    recently = asked_at is not None and tick.now - asked_at < tick.settings.agreeing_seconds
    return Hold(RecoveryUnseen(step)) if recently else step


def _next_step(recovery: Recovery, state: PartitionState) -> RecoveryStep:
    first = _listed(state) == recovery.order or not recovery.reorders
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
            message = reason.of(name)
            into.records.append(changed(record, status=Status.DONE, measured=lost, message=message))
        case End(status, reason):
            message = "" if reason is None else reason.of(name)
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
