"""Replicas on their way to another log directory of their broker: ask for it, wait, or an end. Pure.

A broker copies such a replica by itself and then swaps it in (KIP-113). The same request once more changes nothing,
while it copies and when it is done: so one without an answer is sent again, and one that arrives late does no harm. One
copy takes one slot of its broker, and starts only under the throttle that the plan declares for what the broker
receives (`replica.alter.log.dirs.io.max.bytes.per.second`, saved and restored as the other rates). A partition that the
plan moves to other brokers comes first. One starts only where it has room beside all copies that may come to its
directory.

A replica is known by its partition and the topic's id: AlterReplicaLogDirs and DescribeLogDirs know names only, so the
partition is looked at, too. One of a recreated topic, or that its broker has no more, is stale, once no request of it
may arrive.

While the application is cancelled, none is begun, and one that was asked for

    lies where it was to go                        done: it stays
    copies there                                   its own directory is asked for, which ends the copy
                                                   (ReplicaManager.alterReplicaLogDirs), as often as needed
    lies where it was, and a request of it may     waits (85 s after one without an answer, or after a takeover)
    arrive
    lies where it was                              cancelled, once looks agree for 15 s
    lies or copies elsewhere                       changed by another tool: it stays, named
"""

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct, field

from replan.applying.admission import Room, Slots
from replan.applying.journal.ledger import Ledger, RequestSubject
from replan.applying.journal.records import LogMoveRecord, Status
from replan.applying.observation import Job, unshown
from replan.applying.partitions import End, Hold, Suspect, rejection_end, suspected
from replan.applying.reasons.ends import Fact, NotAsPlanned, OtherLogDir, ReplicaGone, StaysInLogDir
from replan.applying.reasons.holds import (
    CopyingInBroker,
    MoveFirst,
    Rechecking,
    ReplicaUnread,
    SettingFirst,
)
from replan.applying.reasons.reason import HoldReason
from replan.applying.request_memory import RequestMemory
from replan.applying.steering import throttle_of
from replan.applying.steps.standing_throttles import first_setting_of
from replan.applying.steps.step import (
    Ask,
    FromRecord,
    Requests,
    StepInput,
    StepKind,
    StepsDecided,
    StepVerdict,
    judge_steps,
)
from replan.applying.throttles import RateKey
from replan.model.configs import LOG_DIRS_RATE, ConfigResource, SettingName
from replan.model.control_plane import (
    ClusterReader,
    LogPlace,
    Look,
    ReplicaName,
    Wanted,
    partitions_by_broker,
)
from replan.model.declared.placement import MoveThrottle, Side
from replan.model.names import BrokerId, TopicPartition
from replan.planning.plans.log_dirs import LogMove
from replan.planning.plans.plan import Plan

LOOKED_AT = 4
"""How many waiting replicas of a broker are looked at, for each of its slots."""


class LogMoveStep(Struct, FromRecord, frozen=True):
    """A replica that is to lie in another log directory of its broker."""

    move: LogMove
    record: LogMoveRecord | None = None

    @property
    def subject(self) -> ReplicaName:
        """The replica."""
        return self.move.replica

    def judge(self, given: StepInput) -> StepVerdict:
        """By where a look shows it."""
        place = _place(self.move, given.tick.look)
        if not isinstance(place, LogPlace):
            return place
        move = self.move
        if place.future_path == move.target:
            return Hold(self._copying(place))
        if place.path == move.target:
            return End(Status.DONE)
        if place.future_path is not None or place.path != move.source:
            elsewhere = OtherLogDir(move.source, place.future_path or place.path)
            return suspected(Status.STALE, elsewhere)
        refusal = given.refusal(self.subject)
        start = Ask(move.target, self._copying(place))
        return start if refusal is None else rejection_end(refusal)

    def judge_cancelled(self, given: StepInput) -> StepVerdict:
        """The same; while it copies, its own directory is asked for."""
        move = self.move
        place = _place(move, given.tick.look)
        if not isinstance(place, LogPlace):
            return place
        if place.future_path == move.target:
            return Ask(move.source, self._copying(place), takes_back=True)
        if place.future_path is not None or place.path != move.source:
            return self.judge(given)
        stays = StaysInLogDir(move.source)
        if given.arrives_within(self.subject) is not None:
            return Hold(Rechecking(stays))
        return suspected(Status.CANCELLED, stays)

    def _copying(self, place: LogPlace) -> CopyingInBroker:
        return CopyingInBroker(place.future_bytes, max(place.bytes, self.move.bytes))

    def arrival_possible(self, end: End, _given: StepInput, _seconds: float) -> HoldReason:
        """A request names no topic id: a replica of another topic of the name would be copied by it."""
        return ReplicaUnread(self.move.broker) if end.reason is None else Rechecking(end.reason)

    def begun(self, ledger: Ledger) -> LogMoveRecord:
        """Of which replica, and where it goes."""
        move, application = self.move, ledger.application_id
        return LogMoveRecord(application, move.partition, move.topic_id, move.broker, move.target)


class LogMoveKind(StepKind[LogMoveStep]):
    """The kind of step that moves replicas between the log directories of their broker."""

    part = "log_moves"
    record = LogMoveRecord
    copies = True

    def steps(self, plan: Plan, ledger: Ledger) -> list[LogMoveStep]:
        """Those of a plan."""
        records = ledger.steps_of(LogMoveRecord)
        return [LogMoveStep(move, records.get(move.replica)) for move in plan.log_moves]

    def looked_at(self, job: Job, ledger: Ledger) -> list[LogMoveStep]:
        """Those to look at now: all that were asked for, and of each broker the first that wait."""
        waiting, steps = Counter[BrokerId](), list[LogMoveStep]()
        for step in self.pending(job, ledger):
            begun, broker = step.record is not None, step.move.broker
            if not begun:
                waiting[broker] += 1
            if begun or waiting[broker] <= LOOKED_AT * job.settings.slots_per_broker:
                steps.append(step)
        return steps

    def reads(self, job: Job, ledger: Ledger, _memory: RequestMemory[RequestSubject]) -> Wanted:
        """Their partitions, where their replicas lie, and the rates of their brokers where they are throttled."""
        moves = [step.move for step in self.looked_at(job, ledger)]
        throttled = throttle_of(job.plan.throttle, ledger.application) is not None
        return Wanted(
            partitions=[m.partition for m in moves],
            places_of=partitions_by_broker(m.replica for m in moves),
            rates_of={m.broker for m in moves} if throttled else (),
        )

    def there(self, plan: Plan, cluster: ClusterReader) -> bool:
        """Whether each replica lies where it is to lie."""
        names = [m.partition for m in plan.log_moves]
        places = partitions_by_broker(m.replica for m in plan.log_moves)
        look = cluster.look(Wanted(partitions=names, places_of=places))
        return all(_is_moved(m, look) for m in plan.log_moves)

    def requests(self, asks: Mapping[ReplicaName, str]) -> Requests:
        """All in one request."""
        yield asks.keys(), lambda writer: writer.move_logs(asks)

    def stays(self, _plan: Plan | None, ledger: Ledger) -> Mapping[str, list[str]]:
        """Their partitions."""
        return {"within": sorted({str(r.partition) for r in ledger.lasting(LogMoveRecord)})}


LOG_MOVES = LogMoveKind()


def places_of_begun(ledger: Ledger) -> dict[BrokerId, list[TopicPartition]]:
    """The replicas that were sent and have not ended, by their broker; as `abandon` has it, which reads no plan."""
    return partitions_by_broker(_begun(ledger))


def copying_within(ledger: Ledger, look: Look) -> dict[ReplicaName, str]:
    """Those of them whose copies run to where they were sent, and where each replica lies."""
    begun = {replica: (of, _place_of(replica, look)) for replica, of in _begun(ledger).items()}
    return {
        replica: place.path
        for replica, (record, place) in begun.items()
        if place.path and place.future_path == record.target
    }


def with_log_moves(
    room: Room, job: Job, ledger: Ledger, holds: Mapping[RequestSubject, HoldReason]
) -> Room:
    """The room beside the replicas that were sent and have not ended, less what was there at the last look."""
    begun = _begun(ledger)
    for move in job.plan.log_moves:
        if move.replica in begun:
            hold = holds.get(move.replica)
            uncopied = hold.total - hold.copied if isinstance(hold, CopyingInBroker) else move.bytes
            room = room.reserve_within(move.replica, move.target, max(0, uncopied))
    return room


def rates_of_copies(ledger: Ledger, look: Look) -> set[RateKey]:
    """The rates of the brokers on which any of them copies."""
    copying = (replica for replica in _begun(ledger) if _place_of(replica, look).future_path)
    return {(broker, LOG_DIRS_RATE) for _, broker in copying}


def _begun(ledger: Ledger) -> dict[ReplicaName, LogMoveRecord]:
    records = ledger.steps_of(LogMoveRecord).items()
    return {replica: record for replica, record in records if record.status is Status.OPEN}


def _place_of(replica: ReplicaName, look: Look) -> LogPlace:
    partition, broker = replica
    return look.places.get(broker, {}).get(partition, LogPlace(None))


def _wants(move: LogMove, look: Look) -> tuple[ReplicaName, str, int]:
    """Which replica goes to which directory, and how many bytes."""
    return move.replica, move.target, max(move.bytes, _place_of(move.replica, look).bytes)


def _place(move: LogMove, look: Look) -> LogPlace | Hold | Suspect[Ask]:
    """Where it lies; or what follows where it is not there any more, is another topic's, or is not read."""
    hidden = unshown(look, move.partition)
    if hidden is not None:
        return Hold(hidden)
    state = look.partitions.get(move.partition)
    if state is None or state.topic_id != move.topic_id:
        topic_id = None if state is None else state.topic_id
        return suspected(Status.STALE, NotAsPlanned(Fact.TOPIC, move.topic_id, topic_id))
    if move.broker not in look.brokers:
        gone = NotAsPlanned(Fact.REGISTRATION, True, False, move.broker)
        return suspected(Status.STALE, gone)
    if move.broker not in state.replicas:
        return suspected(Status.STALE, ReplicaGone(move.broker, state.replicas))
    place = look.places.get(move.broker, {}).get(move.partition)
    return Hold(ReplicaUnread(move.broker)) if place is None else place


def _is_moved(move: LogMove, look: Look) -> bool:
    """Whether a look shows it where it is to lie."""
    place = _place(move, look)
    if not isinstance(place, LogPlace):
        return False
    return place.path == move.target and place.future_path != move.target


class LogCopies(Struct):
    """The copies between log directories in one tick: what runs, and what may start once its throttle is in force."""

    decided: StepsDecided = field(default_factory=StepsDecided)
    running: list[LogMoveStep] = field(default_factory=list)
    starting: list[tuple[LogMoveStep, Ask]] = field(default_factory=list)
    room: Room = field(default_factory=Room)
    """Less what those take that start."""

    def rates(self, throttle: MoveThrottle | None) -> dict[RateKey, int]:
        """The rates that they need, bytes per second."""
        if throttle is None:
            return {}
        steps = (*self.running, *(step for step, _ in self.starting))
        brokers = {step.move.broker for step in steps}
        wanted = {broker: throttle.rate_of(broker, Side.FOLLOWER) for broker in brokers}
        return {(b, LOG_DIRS_RATE): rate for b, rate in wanted.items() if rate is not None}

    def ask(
        self, in_force: frozenset[RateKey], throttle: MoveThrottle | None, ledger: Ledger
    ) -> list[LogMoveStep]:
        """Ask for those whose throttle is in force; the others are given back."""
        rates, missing = self.rates(throttle), list[LogMoveStep]()
        for step, ask in self.starting:
            where = (step.move.broker, LOG_DIRS_RATE)
            if where in rates and where not in in_force:
                missing.append(step)
            else:
                self.decided.ask(step, ask, ledger)
        return missing


def log_copies(
    given: StepInput,
    closed: HoldReason | None,
    slots: Slots,
    moving: frozenset[TopicPartition],
    room: Room,
    first: Mapping[ConfigResource, SettingName],
) -> LogCopies:
    """Decide for each that has not ended; `closed`: why nothing is to be asked for now, if so.

    `moving`: the partitions whose moves to other brokers have not ended; `first`: the throttles that are on their way
    to stay. Takes slots.
    """
    copies, ready = LogCopies(room=room), list[tuple[LogMoveStep, Ask]]()
    steps = LOG_MOVES.looked_at(given.tick.job, given.ledger)
    for step, ask in judge_steps(steps, given, closed, copies.decided):
        if ask.takes_back:
            copies.decided.ask(step, ask, given.ledger)
        else:
            ready.append((step, ask))
    holds = copies.decided.holds
    copies.running = [s for s in steps if isinstance(holds.get(s.subject), CopyingInBroker)]
    for step in copies.running:
        slots.take((step.move.broker,))
    for step, ask in ready:
        brokers = (step.move.broker,)
        full = slots.first_full(brokers)
        if step.move.partition in moving:
            holds[step.subject] = MoveFirst()
        elif (setting := first_setting_of(step.move.partition.topic, brokers, first)) is not None:
            holds[step.subject] = SettingFirst(setting)
        elif full is not None:
            holds[step.subject] = slots.why_full(full)
        elif (lacks := copies.room.why_not_within(*_wants(step.move, given.tick.look))) is not None:
            holds[step.subject] = lacks
        else:
            slots.take(brokers)
            copies.room = copies.room.reserve_within(*_wants(step.move, given.tick.look))
            copies.starting.append((step, ask))
    return copies
