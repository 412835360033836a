"""What one look says of a partition that nobody leads: put the chosen replica first, let Kafka elect it, measure. Pure.

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

from dataclasses import dataclass

from replan.applying.journal.steps import RecoveryRecord, RecoveryStep, Status
from replan.applying.partitions.judge import End, Hold, rejected
from replan.applying.reasons.ends import (
    Fact,
    NotAsPlanned,
    OtherReassignment,
)
from replan.applying.reasons.recovery import (
    ElectionArrivalPossible,
    EvidenceChanged,
    LeaderlessTooShort,
    LedByAnother,
    LogsSilent,
    RecoveryUnseen,
)
from replan.applying.reasons.requests import MetadataBehind, Rechecking
from replan.applying.reasons.waits import HoldReason
from replan.applying.tick_input import TickInput
from replan.model.control_plane import Answer, Rejected
from replan.model.names import BrokerId
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
class RecoveryInput:
    """What a process knows of one partition beside a look at it."""

    recovery: Recovery
    record: RecoveryRecord | None
    answer: Answer | None
    """To its last request."""
    asked_at: float | None
    leaderless_since: float | None
    """As far as this process has seen."""
    unknown_since: float | None
    """When a request was sent that may still be on its way."""


def judge_recovery(sight: RecoveryInput, tick: TickInput) -> Verdict:
    """What one look says of one partition."""
    recovery, seen = sight.recovery, tick.seen
    name = recovery.partition
    if name in seen.unclear:
        return Hold(MetadataBehind())
    state = seen.partitions.get(name)
    if state is None or state.topic_id != recovery.topic_id:
        found = None if state is None else state.topic_id
        return _unsure(Status.STALE, NotAsPlanned(Fact.TOPIC, recovery.topic_id, found))
    if state.leader is not None:
        return _led(sight, state, state.leader, tick)
    if state.running is not None:
        running = state.running
        other = OtherReassignment(running.target, running.adding, running.removing)
        return _unsure(Status.FOREIGN, other)
    if state.replicas not in {recovery.original, recovery.order}:
        moved = NotAsPlanned(Fact.REPLICAS, recovery.original, state.replicas)
        return _unsure(Status.STALE, moved)
    return _leaderless(sight, state, tick)


def _led(sight: RecoveryInput, state: PartitionState, leader: BrokerId, tick: TickInput) -> Verdict:
    recovery, since = sight.recovery, sight.unknown_since
    if state.leader_epoch <= recovery.leader_epoch:
        return Hold(MetadataBehind())
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
            lost.append(other.end - max(other.start, min(kept, parting(own, other))))
    return max(0, *lost)


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
    answer = sight.answer
    if isinstance(answer, Rejected) and answer.code not in LOOK_AGAIN:
        return rejected(answer)
    recently = sight.asked_at is not None and (
        tick.now - sight.asked_at < tick.settings.agreeing_seconds
    )
    return Hold(RecoveryUnseen(step)) if recently else step


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
