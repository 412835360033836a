"""What one look says of a partition without a leader: put the chosen replica first, let Kafka elect it, measure. Pure.

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
    a request of it may arrive                  wait (85 s after one without an answer, or after a takeover); what it
                                                does meanwhile is then judged as what it is:
    led by the chosen one, whose election       done: it is measured, and stays
    was asked for
    led otherwise                               cancelled; where the list is ours, the plan back restores it
    no leader, the list that was found          cancelled
    no leader, our list                         ask for the list that was found, which Kafka takes at once; a plan back
                                                waits for a leader
    no leader, our list, which Kafka keeps      cancelled; the plan back refuses the partition by name

Logs are probed through the port (`probe`), in rounds of questions until the best log and all points of parting are
known; `RecoveryKind.logs` says whose.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger, RequestSubject
from replan.applying.journal.records import (
    Forget,
    Order,
    Record,
    RecoveryRecord,
    RecoveryStep,
    Status,
)
from replan.applying.observation import Job, unshown
from replan.applying.partitions import End, Hold, Suspect, rejection_end, suspected
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
    LeaderlessTooShort,
    LogsSilent,
    MetadataBehind,
    NextBatch,
    RecoveryArrivalPossible,
    RecoveryUnseen,
)
from replan.applying.request_memory import RequestMemory
from replan.applying.steps.step import (
    Ask,
    FromRecord,
    Requests,
    StepInput,
    StepKind,
    StepVerdict,
    ending,
)
from replan.model.control_plane import (
    Answer,
    ClusterReader,
    ClusterWriter,
    ElectionType,
    Look,
    Wanted,
)
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState
from replan.model.replica_logs import LogReader, ProbedLogs, ProbeFailure, ReplicaLog
from replan.model.snapshot import Snapshot
from replan.planning.comparison.alignment import named_partitions, partition_rows
from replan.planning.plans.origins import Origin
from replan.planning.plans.plan import Plan
from replan.planning.recovery.candidates import lost
from replan.planning.recovery.probing import Probing
from replan.planning.recovery.recovery import Recovery

NOTHING_EARLIER: Mapping[TopicPartition, ProbedLogs] = {}


def with_logs(
    reader: LogReader,
    snapshot: Snapshot,
    names: Iterable[TopicPartition],
    earlier_logs: Mapping[TopicPartition, ProbedLogs] = NOTHING_EARLIER,
) -> Snapshot:
    """The snapshot with what the live replicas of these partitions say of their logs.

    They also say where they part from those of `earlier_logs`, which an earlier snapshot knew.
    """
    live, named = snapshot.live_brokers(), named_partitions(sorted(names))
    rows = partition_rows(named, snapshot.partitions).tolist()
    wanted = {
        state.partition: tuple(b for b in state.replicas if b in live)
        for state in snapshot.states(row for row in rows if row >= 0)
    }
    return replace(snapshot, logs={**snapshot.logs, **probe(reader, wanted, earlier_logs)})


def probe(
    reader: LogReader,
    wanted: Mapping[TopicPartition, Collection[BrokerId]],
    earlier_logs: Mapping[TopicPartition, ProbedLogs] = NOTHING_EARLIER,
) -> dict[TopicPartition, ProbedLogs]:
    """What the replicas of partitions on these brokers hold, or why that is not known."""
    probing = Probing(wanted, earlier_logs)
    probing.with_ends(reader.log_ends(probing.ends_wanted()))
    while epochs := probing.epochs_wanted():
        probing.with_epochs(epochs, reader.epoch_ends(epochs))
    return probing.logs()


NOT_FINAL_FOR_RECOVERIES = frozenset(
    {ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS}
)
"""Rejections that say: look again."""
NOTHING_SAID: ProbedLogs = {}


class Measured(End, frozen=True):
    """It is led by the chosen one, which lost so many records; None where that could not be measured."""

    lost: int | None = None


class LeaderRequest(Struct, frozen=True):
    """What is asked for a partition."""

    step: RecoveryStep
    replicas: Replicas = ()
    """The list; of an election nothing."""
    kind: ElectionType = ElectionType.PREFERRED
    """Of an election."""


class RecoveringStep(Struct, FromRecord, frozen=True):
    """A partition that is to be led again."""

    recovery: Recovery
    record: RecoveryRecord | None = None

    @property
    def subject(self) -> TopicPartition:
        """The partition."""
        return self.recovery.partition

    def judge(self, given: StepInput) -> StepVerdict:
        """By who leads it, and what its replicas say."""
        state = _shown(self.recovery, given)
        if not isinstance(state, PartitionState):
            return state
        if state.leader is not None:
            return self._led(given, state.leader)
        return self._leaderless(given, state)

    def judge_cancelled(self, given: StepInput) -> StepVerdict:
        """By the table at the head of this module."""
        recovery, state = self.recovery, _shown(self.recovery, given)
        if not isinstance(state, PartitionState):
            return state
        last = None if self.record is None else self.record.step
        if state.leader == recovery.chosen and last is RecoveryStep.ELECT:
            return self._led(given, recovery.chosen)
        rests = suspected(Status.CANCELLED, TakenBack(recovery.original, state.replicas))
        if state.leader is not None or state.replicas == recovery.original:
            return rests
        seconds = given.arrives_within(self.subject)
        if seconds is not None:
            return Hold(self._arrival(given, seconds))
        refusal = given.refusal(self.subject) if last is RecoveryStep.BACK else None
        if refusal is not None and refusal.code not in NOT_FINAL_FOR_RECOVERIES:
            return rests
        return self._again(RecoveryStep.BACK, given)

    def _led(self, given: StepInput, leader: BrokerId) -> StepVerdict:
        recovery, seconds = self.recovery, given.arrives_within(self.subject)
        if seconds is not None:
            return Hold(self._arrival(given, seconds))
        if leader != recovery.chosen:
            return suspected(Status.STALE, LedByAnother(leader, recovery.chosen))
        log = given.tick.logs.get(self.subject, {}).get(leader)
        lost = 0 if recovery.clean else None
        if not recovery.clean and isinstance(log, ReplicaLog):
            lost = lost_records(recovery, log, given.logs.get(self.subject, NOTHING_SAID))
        reason = LedAgain(recovery.chosen, recovery.loss.records, lost)
        return Measured(Status.DONE, reason, lost)

    def _leaderless(self, given: StepInput, state: PartitionState) -> StepVerdict:
        recovery, now = self.recovery, given.tick.now
        passed = now - given.leaderless_since.get(self.subject, now)
        if passed < recovery.wait_seconds:
            return Hold(LeaderlessTooShort(recovery.wait_seconds, recovery.wait_seconds - passed))
        if not recovery.clean:
            differs = evidence_differs(recovery, given.tick.logs.get(self.subject, {}))
            if differs is not None:
                return differs
        first = _listed(state) == recovery.order or not recovery.reorders
        step = RecoveryStep.ELECT if first else RecoveryStep.LIST
        refusal = given.refusal(self.subject)
        is_last = self.record is not None and self.record.step is step
        if is_last and refusal is not None and refusal.code not in NOT_FINAL_FOR_RECOVERIES:
            return rejection_end(refusal)
        return self._again(step, given)

    def _again(self, step: RecoveryStep, given: StepInput) -> Hold | Ask:
        """A step, but not again before looks had the time to show it."""
        tick, is_last = given.tick, self.record is not None and self.record.step is step
        asked_at = given.asked_at.get(self.subject) if is_last else None
        if asked_at is not None and tick.now - asked_at < tick.settings.agreeing_seconds:
            return Hold(RecoveryUnseen(step))
        return self._ask(step, given)

    def _ask(self, step: RecoveryStep, given: StepInput) -> Ask:
        recovery, settings = self.recovery, given.tick.settings
        if step is RecoveryStep.ELECT:
            kind = ElectionType.PREFERRED if recovery.clean else ElectionType.UNCLEAN
            per_leader = (recovery.chosen, settings.elections_per_leader)
            limits = (("elections", settings.elections), per_leader)
            request = LeaderRequest(step, (), kind)
            return Ask(request, limits=limits, full=NextBatch(elections=True))
        back = step is RecoveryStep.BACK
        return Ask(
            LeaderRequest(step, recovery.original if back else recovery.order),
            takes_back=back,
            limits=(("lists", settings.batch),),
            full=NextBatch(elections=False),
        )

    def arrival_possible(
        self, _end: End, given: StepInput, seconds: float
    ) -> RecoveryArrivalPossible:
        """What it may do, and to whose log."""
        return self._arrival(given, seconds)

    def _arrival(self, given: StepInput, seconds: float) -> RecoveryArrivalPossible:
        recovery, state = self.recovery, given.tick.look.partitions.get(self.subject)
        led = state is not None and state.leader is not None
        elects = self.record is not None and self.record.step is RecoveryStep.ELECT
        logs = given.logs.get(self.subject, NOTHING_SAID)
        better = _better(recovery, logs) if elects and not recovery.clean else ()
        return RecoveryArrivalPossible(recovery.chosen, led, better, seconds=seconds)

    def begun(self, ledger: Ledger) -> RecoveryRecord:
        """What was found, and what it loses."""
        recovery = self.recovery
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

    def asking(self, ask: Ask, ledger: Ledger) -> Iterable[Record]:
        """What is asked for; with the list, the order before, which the next plan puts back where none is declared."""
        recovery, step = self.recovery, ask.request.step
        yield replace(self.record or self.begun(ledger), asked=True, step=step)
        order = _order_before(recovery)
        whole = len(recovery.order) == len(recovery.original)
        if step is RecoveryStep.LIST and whole and ledger.order(order.key) is None:
            yield order

    def ended(self, end: End, ledger: Ledger) -> Iterable[Record]:
        """How it ended; the order before is forgotten once it is there again."""
        recovery, record = self.recovery, ending(self, end, ledger)
        yield replace(record, measured=end.lost) if isinstance(end, Measured) else record
        order = _order_before(recovery)
        back = end.reason == TakenBack(recovery.original, recovery.original)
        if back and ledger.order(order.key) == order:
            yield Forget(order.key)


class RecoveryKind(StepKind[RecoveringStep]):
    """The kind of step that lets partitions be led again."""

    part = "recoveries"
    record = RecoveryRecord

    def steps(self, plan: Plan, ledger: Ledger) -> list[RecoveringStep]:
        """Those of a plan."""
        records = ledger.steps_of(RecoveryRecord)
        return [RecoveringStep(r, records.get(r.partition)) for r in plan.recoveries]

    def reads(self, job: Job, ledger: Ledger, _memory: RequestMemory[RequestSubject]) -> Wanted:
        """Their partitions."""
        return Wanted(partitions=[step.subject for step in self.pending(job, ledger)])

    def logs(
        self, reader: LogReader, job: Job, ledger: Ledger, look: Look
    ) -> dict[TopicPartition, ProbedLogs]:
        """Of all live replicas where something may be asked for, of the leader where one is there."""
        brokers = dict[TopicPartition, tuple[BrokerId, ...]]()
        for recovery in (step.recovery for step in self.pending(job, ledger)):
            state = look.partitions.get(recovery.partition)
            if state is None or recovery.clean:
                continue
            if state.leader is None:
                brokers[recovery.partition] = tuple(b for b in recovery.original if look.live(b))
            elif state.leader == recovery.chosen and state.leader_epoch > recovery.leader_epoch:
                brokers[recovery.partition] = (state.leader,)
        return probe(reader, brokers) if brokers else {}

    def waits_until(self, job: Job, ledger: Ledger, since: Mapping[TopicPartition, float]) -> float:
        """When the last of the declared waits that run is over."""
        recoveries = [step.recovery for step in self.pending(job, ledger)]
        ends = (since[r.partition] + r.wait_seconds for r in recoveries if r.partition in since)
        return max(ends, default=-inf)

    def there(self, plan: Plan, cluster: ClusterReader) -> bool:
        """Whether each of them has a leader."""
        names = [r.partition for r in plan.recoveries]
        shown = cluster.look(Wanted(partitions=names)).partitions
        return all(n in shown and shown[n].leader is not None for n in names)

    def requests(self, asks: Mapping[TopicPartition, LeaderRequest]) -> Requests:
        """Lists, unclean elections and clean ones."""
        lists = {n: r.replicas for n, r in asks.items() if r.step is not RecoveryStep.ELECT}
        yield lists, lambda writer: writer.reassign(lists, allow_replication_factor_change=True)
        for kind in (ElectionType.UNCLEAN, ElectionType.PREFERRED):
            names = [n for n, r in asks.items() if r.step is RecoveryStep.ELECT and r.kind is kind]
            yield names, partial(_elected, names=names, kind=kind)

    def stays(self, _plan: Plan | None, ledger: Ledger) -> Mapping[str, list[str]]:
        """Their partitions."""
        return {"recovered": sorted(str(r.partition) for r in ledger.lasting(RecoveryRecord))}

    def goes_back(self, plan: Plan, ledger: Ledger) -> list[Origin]:
        """The lists of those that were cancelled."""
        ended = [
            step.recovery
            for step in self.steps(plan, ledger)
            if step.record is not None and step.record.status is Status.CANCELLED
        ]
        return [Origin(r.partition, r.topic_id, r.original, r.order, led=False) for r in ended]


RECOVERIES = RecoveryKind()


def _elected(
    writer: ClusterWriter, names: list[TopicPartition], kind: ElectionType
) -> Mapping[TopicPartition, Answer]:
    return writer.elect(names, kind)


def _better(recovery: Recovery, logs: ProbedLogs) -> tuple[BrokerId, ...]:
    """The brokers that said they have more than the plan knew, and than the chosen one."""
    planned = {c.broker: c.known_log for c in recovery.candidates}
    chosen = planned[recovery.chosen]
    better = []
    for broker, log in sorted(logs.items()):
        as_planned = planned.get(broker)
        fresh = isinstance(log, ReplicaLog) and (as_planned is None or log.rank > as_planned.rank)
        if fresh and isinstance(log, ReplicaLog) and (chosen is None or log.rank > chosen.rank):
            better.append(broker)
    return tuple(better)


def _shown(recovery: Recovery, given: StepInput) -> PartitionState | Hold | Suspect[Ask]:
    """The partition as a look shows it, or what follows where that is not as it may be on the way of a recovery."""
    look, name = given.tick.look, recovery.partition
    hidden = unshown(look, name)
    if hidden is not None:
        return Hold(hidden)
    state = look.partitions.get(name)
    if state is None or state.topic_id != recovery.topic_id:
        topic_id = None if state is None else state.topic_id
        return suspected(Status.STALE, NotAsPlanned(Fact.TOPIC, recovery.topic_id, topic_id))
    if state.leader is not None:
        behind = state.leader_epoch <= recovery.leader_epoch
        return Hold(MetadataBehind()) if behind else state
    running, listed = state.running, _listed(state)
    if running is not None and not recovery.reassigned and listed != recovery.order:
        other = OtherReassignment(running.target, running.adding, running.removing)
        return suspected(Status.FOREIGN, other)
    if state.replicas != recovery.original and listed != recovery.order:
        moved = NotAsPlanned(Fact.REPLICAS, recovery.original, state.replicas)
        return suspected(Status.STALE, moved)
    return state


def _listed(state: PartitionState) -> Replicas:
    """Its list, without what Kafka drops once the others are in sync, as a broker that is not registered."""
    return state.replicas if state.running is None else state.running.target


def lost_records(
    recovery: Recovery, log: ReplicaLog, later: ProbedLogs = NOTHING_SAID
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


def evidence_differs(recovery: Recovery, logs: ProbedLogs) -> Hold | End | None:
    """Why what replicas say now is not what the plan was made of; None where it is."""
    silent: list[BrokerId] = []
    for candidate in recovery.candidates:
        planned, now = candidate.known_log, logs.get(candidate.broker)
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


def _order_before(recovery: Recovery) -> Order:
    return Order(recovery.partition, recovery.topic_id, recovery.original, recovered=True)
