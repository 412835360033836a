"""Replicas on their way to another log directory of their broker: ask for it, wait, or an end. Pure.

A broker copies such a replica by itself and then swaps it in (KIP-113). The same request once more changes nothing,
while it copies and when it is done: so one without an answer is sent again, and one that arrives late does no harm. One
copy takes one slot of its broker, and starts only under the throttle that the plan declares for what the broker
receives (`replica.alter.log.dirs.io.max.bytes.per.second`, saved and restored as the other rates). A partition that the
plan moves to other brokers comes first.

A replica is known by its partition and the topic's id: AlterReplicaLogDirs and DescribeLogDirs know names only, so the
partition is looked at, too. One of a recreated topic, or that its broker has no more, is stale.

While the application is cancelled (`cancelling`), none is begun, and one that was asked for

    lies where it was to go                        done: it stays
    copies there                                   its own directory is asked for, which ends the copy
                                                   (ReplicaManager.alterReplicaLogDirs), as often as needed
    lies where it was, and a request of it may     waits (90 s after one without an answer, or after a takeover)
    arrive
    lies where it was                              cancelled, once looks agree for 15 s
    lies or copies elsewhere                       changed by another tool: it stays, named
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from replan.applying.admission.slots import Slots
from replan.applying.journal.ledger import Ledger, unended
from replan.applying.journal.steps import LogMoveRecord, Status
from replan.applying.observation import Refused, believed, held_since, refusals, unshown
from replan.applying.partitions.judge import End, Hold, rejected
from replan.applying.reasons.ends import (
    Fact,
    NotAsPlanned,
    OtherLogDir,
    ReplicaGone,
    StaysInLogDir,
    ThrottleRefused,
)
from replan.applying.reasons.holds import (
    AwaitingThrottle,
    Cancelling,
    CopyingInBroker,
    MoveFirst,
    Rechecking,
    ReplicaUnread,
)
from replan.applying.reasons.reason import EndReason, HoldReason
from replan.applying.steps.rechecking import rechecked
from replan.applying.throttles.broker_rates import Rate
from replan.applying.tick_input import Job, TickInput
from replan.model.configs import LOG_DIRS_RATE
from replan.model.control_plane import Answer, Look, OutcomeUnknown, Rejected, ReplicaName
from replan.model.declared.placement import MoveThrottle, Side
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.plans.log_dirs import LogMove

LOOKED_AT = 4
"""How many waiting replicas of a broker are looked at, for each of its slots."""


@dataclass(frozen=True, slots=True)
class Start:
    """It may be asked for."""


@dataclass(frozen=True, slots=True)
class LogMoving:
    """What a process knows of them from tick to tick."""

    refused: Mapping[ReplicaName, Refused] = field(default_factory=dict)
    suspected: Mapping[tuple[ReplicaName, EndReason], float] = field(default_factory=dict)
    """What looks have suggested so far, and since when."""
    unknown_since: Mapping[ReplicaName, float] = field(default_factory=dict)
    """Those of which a request may be on its way, and since when."""

    def answered(self, answers: Mapping[ReplicaName, Answer], now: float) -> "LogMoving":
        """What is known once requests were answered."""
        unknown = {name: now for name, a in answers.items() if isinstance(a, OutcomeUnknown)}
        refused = refusals(self.refused, answers, now)
        return replace(self, refused=refused, unknown_since={**self.unknown_since, **unknown})


@dataclass(slots=True)
class LogMoveTick:
    """What one tick decides of them."""

    records: list[LogMoveRecord] = field(default_factory=list)
    starting: list[LogMove] = field(default_factory=list)
    """Those that may start, once their throttle is in force."""
    running: list[LogMove] = field(default_factory=list)
    asks: dict[ReplicaName, str] = field(default_factory=dict)
    holds: dict[ReplicaName, HoldReason] = field(default_factory=dict)
    suspected: Mapping[tuple[ReplicaName, EndReason], float] = field(default_factory=dict)

    def rates(self, throttle: MoveThrottle | None) -> dict[Rate, int]:
        """The rates that they need, bytes per second."""
        if throttle is None:
            return {}
        wanted = {m.broker: throttle.rate_of(m.broker, Side.FOLLOWER) for m in self._all()}
        return {(b, LOG_DIRS_RATE): rate for b, rate in wanted.items() if rate is not None}

    def _all(self) -> Iterable[LogMove]:
        return (*self.running, *self.starting)

    def ask(
        self,
        in_force: frozenset[Rate],
        throttle: MoveThrottle | None,
        ledger: Ledger,
    ) -> list[LogMove]:
        """Ask for those whose throttle is in force, and write that down; the others are given back."""
        rates, missing = self.rates(throttle), list[LogMove]()
        for move in self.starting:
            where = (move.broker, LOG_DIRS_RATE)
            if where in rates and where not in in_force:
                missing.append(move)
                continue
            self.asks[move.replica] = move.target
            self.holds[move.replica] = CopyingInBroker(0, move.bytes)
            if move.replica not in ledger.log_moves:
                self.records.append(record_of(move, ledger, Status.OPEN))
        return missing

    def without_throttle(
        self,
        move: LogMove,
        refused: ThrottleRefused | None,
        unanswered: Replicas,
        ledger: Ledger,
    ) -> None:
        """Let one wait for its throttle, or end it where Kafka refuses that."""
        if refused is None:
            self.holds[move.replica] = AwaitingThrottle(unanswered=unanswered)
        else:
            _take(move, End(Status.REJECTED, refused), ledger, self)


def pending(job: Job, ledger: Ledger) -> list[LogMove]:
    """Those that have not ended."""
    return [move for move in job.plan.log_moves if unended(ledger.log_moves.get(move.replica))]


def looked_at(job: Job, ledger: Ledger) -> list[LogMove]:
    """Those to look at now: all that were asked for, and of each broker the first that wait."""
    seen, found = Counter[BrokerId](), list[LogMove]()
    for move in pending(job, ledger):
        begun = move.replica in ledger.log_moves
        if not begun:
            seen[move.broker] += 1
        if begun or seen[move.broker] <= LOOKED_AT * job.settings.slots_per_broker:
            found.append(move)
    return found


def places_of(moves: Iterable[LogMove]) -> dict[BrokerId, list[TopicPartition]]:
    """The replicas of these, by their broker."""
    found: dict[BrokerId, list[TopicPartition]] = {}
    for move in moves:
        found.setdefault(move.broker, []).append(move.partition)
    return found


def log_move_tick(
    tick: TickInput,
    ledger: Ledger,
    known: LogMoving,
    closed: HoldReason | None,
    slots: Slots,
    moving: frozenset[TopicPartition],
) -> LogMoveTick:
    """Decide for each that has not ended; `closed`: why nothing is to be asked for now, if so.

    `moving`: the partitions whose moves to other brokers have not ended. Takes slots.
    """
    found = LogMoveTick()
    agreeing: list[tuple[ReplicaName, EndReason]] = []
    ready: list[LogMove] = []
    for move in looked_at(tick.job, ledger):
        if isinstance(closed, Cancelling) and move.replica in ledger.log_moves:
            verdict = _cancel(move, tick, known, found)
        else:
            refusal = believed(known.refused.get(move.replica), tick.settings.agreeing_seconds)
            verdict = judge_log_move(move, tick.seen, refusal)
        verdict = rechecked(verdict, move.replica, tick, known.suspected, agreeing)
        if isinstance(verdict, Start):
            ready.append(move)
        else:
            _take(move, verdict, ledger, found)
    for move in found.running:
        slots.take((move.broker,))
    for move in ready:
        reason = closed or (MoveFirst() if move.partition in moving else None)
        full = slots.first_full((move.broker,))
        if reason is None and full is not None:
            reason = slots.why_full(full)
        if reason is not None:
            found.holds[move.replica] = reason
        else:
            slots.take((move.broker,))
            found.starting.append(move)
    found.suspected = held_since(known.suspected, agreeing, tick.ended)
    return found


def _take(move: LogMove, verdict: Hold | End, ledger: Ledger, into: LogMoveTick) -> None:
    match verdict:
        case Hold(reason):
            into.holds[move.replica] = reason
            if isinstance(reason, CopyingInBroker):
                into.running.append(move)
        case End(status, why):
            message = "" if why is None else why.of(move.partition)
            into.records.append(record_of(move, ledger, status, message))


def _cancel(
    move: LogMove, tick: TickInput, known: LogMoving, into: LogMoveTick
) -> Start | Hold | End:
    """The same of one that is to be cancelled: while it copies, its own directory is asked for."""
    other = _another(move, tick.seen)
    if other is not None:
        return other
    place = tick.seen.places.get(move.broker, {}).get(move.partition)
    if place is not None and place.future_path == move.target:
        into.asks[move.replica] = move.source
        return Hold(CopyingInBroker(place.future_bytes, max(place.bytes, move.bytes)))
    verdict = judge_log_move(move, tick.seen, None)
    if not isinstance(verdict, Start):
        return verdict
    since, quarantine = known.unknown_since.get(move.replica), tick.settings.quarantine_seconds
    waits, stays = since is not None and tick.now < since + quarantine, StaysInLogDir(move.source)
    return Hold(Rechecking(stays)) if waits else End(Status.CANCELLED, stays)


def judge_log_move(move: LogMove, seen: Look, refusal: Rejected | None) -> Start | Hold | End:
    """What one look says of one replica; that it is stale, a later look must agree with. `refusal`: a believed one."""
    other = _another(move, seen)
    if other is not None:
        return other
    place = seen.places.get(move.broker, {}).get(move.partition)
    if place is None:
        return Hold(ReplicaUnread(move.broker))
    if place.future_path == move.target:
        return Hold(CopyingInBroker(place.future_bytes, max(place.bytes, move.bytes)))
    if place.path == move.target:
        return End(Status.DONE)
    if place.future_path is not None or place.path != move.source:
        return End(Status.STALE, OtherLogDir(move.source, place.future_path or place.path))
    return Start() if refusal is None else rejected(refusal)


def _another(move: LogMove, seen: Look) -> Hold | End | None:
    """What follows where the replica is not there any more, or is another topic's."""
    hidden = unshown(seen, move.partition)
    if hidden is not None:
        return Hold(hidden)
    state = seen.partitions.get(move.partition)
    if state is None or state.topic_id != move.topic_id:
        found = None if state is None else state.topic_id
        return End(Status.STALE, NotAsPlanned(Fact.TOPIC, move.topic_id, found))
    if move.broker not in seen.brokers:
        unregistered = NotAsPlanned(Fact.REGISTRATION, True, False, move.broker)
        return End(Status.STALE, unregistered)
    if move.broker not in state.replicas:
        return End(Status.STALE, ReplicaGone(move.broker, state.replicas))
    return None


def record_of(move: LogMove, ledger: Ledger, status: Status, message: str = "") -> LogMoveRecord:
    """The record of one."""
    return LogMoveRecord(
        ledger.application_id,
        move.partition,
        move.topic_id,
        move.broker,
        move.target,
        status,
        message,
    )
