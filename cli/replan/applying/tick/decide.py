"""What to do in one tick: from the input of the tick and the state of the run to a decision and the next state.

A pure function. Per partition `judge` decides; here is what concerns several of them: who may start, what the throttles
need, how many requests travel together, and what is written down. Nothing here asks, sleeps or writes.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from replan.applying.admission.coordinators import Coordinators
from replan.applying.admission.gates import closed_gate, others_by_topic, under_min_isr
from replan.applying.admission.slots import Slots
from replan.applying.journal.records import changed
from replan.applying.journal.steps import Status
from replan.applying.other_tools import throttles_others
from replan.applying.partitions.intents import intent, remembering
from replan.applying.partitions.judge import End, Hold, Suspect
from replan.applying.partitions.judge_cancelled import judge_cancelled
from replan.applying.partitions.judge_copying import judge_while_copying
from replan.applying.partitions.phase import Admitted, Ended, InFlight, Parked
from replan.applying.reasons.copies import AwaitingThrottle, CopyGoesOn
from replan.applying.reasons.gates import (
    Cancelling,
    OthersUnderMinIsr,
    PartitionsFirst,
    Paused,
    SettingFirst,
    Stopping,
    ThrottleContested,
)
from replan.applying.reasons.notes import ArrivedLate
from replan.applying.reasons.requests import ArrivalPossible
from replan.applying.reasons.waits import HoldReason
from replan.applying.steering import acknowledged, notes_of, steered, throttle_of
from replan.applying.steps.creating import CreateTick, create_tick, pending
from replan.applying.steps.log_moves import LogMoveTick, log_move_tick
from replan.applying.steps.recovering import RecoveryTick, recovery_tick
from replan.applying.steps.standing_throttles import StandingTick, first_of, standing_tick
from replan.applying.throttles.tick import ThrottleTick, admission_closed
from replan.applying.tick.batches import Batches
from replan.applying.tick.copies import (
    copies_under_throttle,
    elections_in_flight,
    lingering,
    may_arrive,
    others_suffer,
    refused_setting,
    slots_of,
    source_of,
    taken_up,
)
from replan.applying.tick.draft import Draft
from replan.applying.tick.next_state import Decision, next_state
from replan.applying.tick.run_state import RunState
from replan.applying.tick.throttling import (
    Throttled,
    throttle_input,
    throttle_missing,
    throttles_now,
)
from replan.applying.tick.verdicts import Unchanged, partition_input, quarantine_left
from replan.applying.tick_input import TickInput
from replan.model.names import TopicPartition
from replan.planning.plans.requests import Request, RequestKind

Subject = TypeVar("Subject", bound=Hashable)


def decide(tick: TickInput, state: RunState) -> tuple[Decision, RunState]:
    """What to do now, and the state of the run once that is written down."""
    builder = TickBuilder(tick, state)
    builder.take_up()
    builder.configure()
    builder.create()
    builder.recover()
    for name in [*state.ledger.open, *sorted(state.admitted), *builder.candidates]:
        builder.judge(name)
    builder.watch()
    builder.admit()
    builder.throttle()
    builder.ask()
    decision = builder.decision()
    return decision, next_state(tick, state, decision)


class TickBuilder:
    """A decision in the making; it lives for one call of `decide`."""

    def __init__(self, tick: TickInput, state: RunState) -> None:
        self._tick, self._state = tick, state
        self._draft = Draft(tick, state)
        self._to_start: dict[TopicPartition, Request] = {}
        """Lists that add replicas; whoever asks for one passes the gates, whatever was asked before."""
        self._to_ask: dict[TopicPartition, Request] = {}
        known = state.ledger.application
        application = None if known is None else steered(known, tick.commands)
        self._throttle = throttle_of(tick.job.plan.throttle, application)
        self._other_copies = state.others.copies(tick.seen) if throttles_others(application) else []
        self._admission: ThrottleContested | OthersUnderMinIsr | Paused | Cancelling | None = (
            admission_closed(state.throttle_history) if tick.admitting else None
        )
        if application is not None:
            self._draft.records += acknowledged(
                state.ledger, application, tick.commands, tick.settings.owner
            )
            if application.paused_by:
                self._admission = Paused(application.paused_by)
            if application.cancelled_by:
                self._admission = Cancelling(application.cancelled_by)
        self._slots = Slots({}, tick.settings.slots_per_broker)
        self._coordinators = Coordinators.at(tick.now, state.loads)
        self._room = state.room
        self._view = throttle_input(tick, state)
        self._throttles = ThrottleTick()
        self._standing = StandingTick()
        self._log_moves = LogMoveTick()
        self._creates, self._growing = CreateTick(), set[str]()
        self._recoveries = RecoveryTick()
        self._batches = Batches()
        self._others = others_by_topic(tick.seen, state.ledger.open)
        self._unchanged = Unchanged(
            tick, state, remembers=not isinstance(self._admission, Cancelling)
        )

    @property
    def candidates(self) -> Sequence[TopicPartition]:
        """The waiting moves to look at."""
        return () if isinstance(self._admission, Paused | Cancelling) else self._tick.candidates

    def _nothing_new(self) -> HoldReason | None:
        """Why neither settings nor partitions are asked for now, if so."""
        if isinstance(self._admission, Paused | Cancelling):
            return self._admission
        return None if self._tick.admitting else Stopping()

    def take_up(self) -> None:
        """What has ended goes on where a list of replan's own runs that is not to stay; the next tick judges it."""
        for record in taken_up(self._tick, self._state):
            name, known = record.partition, self._state.ledger.owned[record.partition]
            self._draft.phases[name] = InFlight(record)
            if known.status is Status.DONE:
                listed = self._tick.seen.running[name].target
                self._draft.notes.append(ArrivedLate(name, listed))

    def configure(self) -> None:
        """Throttle settings that stay come before the copies that need their places."""
        state, late = self._state, self._state.configs_unknown_since
        self._standing = standing_tick(
            self._tick, state.ledger, state.standing, late, self._nothing_new()
        )
        self._draft.records.extend(self._standing.records)

    def create(self) -> None:
        """Creates come before any move of their topic."""
        ledger, closed = self._state.ledger, self._nothing_new()
        self._creates = create_tick(self._tick, ledger, self._state.creating, closed)
        self._growing = {create.topic for create in pending(self._tick.job, ledger)}
        self._draft.holds.update(self._creates.holds)
        self._draft.records.extend(self._creates.records)

    def recover(self) -> None:
        """Partitions without a leader wait for nothing else."""
        state, closed = self._state, self._nothing_new()
        self._recoveries = recovery_tick(self._tick, state.ledger, state.recovering, closed)
        self._draft.holds.update(self._recoveries.holds)
        self._draft.records.extend(self._recoveries.records)

    def judge(self, name: TopicPartition) -> None:
        """Judge one partition, and put what it needs where it belongs."""
        known = self._state.ledger.owned.get(name)
        if known is None and name.topic in self._growing:
            self._draft.holds.setdefault(name, PartitionsFirst())
            return
        cancelling = self._admission if isinstance(self._admission, Cancelling) else None
        if cancelling is not None and known is None:
            self._draft.defer(name, cancelling)
            return
        if (still := self._unchanged.wait(name, known)) is not None:
            self._draft.holds[name] = still.reason
            return
        sight = partition_input(self._tick, self._state, name, known)
        record, verdict = (
            judge_while_copying(sight) if cancelling is None else judge_cancelled(sight)
        )
        if record is not None and record != known:
            self._draft.phases[name] = InFlight(record)
        match self._draft.concluded(name, verdict):
            case End(status, reason):
                self._draft.end(name, status, reason)
            case Suspect(_, reason):
                self._draft.holds[name] = reason
            case Hold(reason, soon):
                self._draft.hold(name, reason, soon=soon)
                if record == known:
                    self._unchanged.keep(name, known, reason)
            case Request() as ask:
                self._sort(name, ask)

    def _sort(self, name: TopicPartition, ask: Request) -> None:
        found = self._tick.seen.partitions[name]
        if not self._tick.admitting:
            self._draft.holds[name] = Stopping()
        elif isinstance(self._admission, Paused) and not isinstance(
            self._draft.phase(name), InFlight
        ):
            self._draft.defer(name, self._admission)
        elif not set(ask.replicas) <= set(found.replicas):
            self._to_start[name] = ask
        elif (closed := self._closed(name, ask)) is not None:
            self._draft.defer(name, closed)
        elif (busy := self._coordinators.busy(self._tick.job.moves[name], ask, found)) is not None:
            self._draft.hold(name, busy, soon=True)
        else:
            self._to_ask[name] = ask

    def _closed(self, name: TopicPartition, ask: Request) -> HoldReason | None:
        """The gate that keeps a list from being asked for; elections and cancels have none."""
        if ask.kind not in {RequestKind.EXPAND, RequestKind.ASSIGN}:
            return None
        tick = self._tick
        move, found = tick.job.moves[name], tick.seen.partitions[name]
        return closed_gate(move, ask.replicas, found, tick.seen, self._room, self._others)

    def watch(self) -> None:
        """Say what an ended partition keeps the application for."""
        for name in lingering(self._tick, self._state):
            self._draft.holds[name] = CopyGoesOn()
        for name in may_arrive(self._state):
            asked, left = (
                self._state.ledger.owned[name].asked,
                quarantine_left(self._tick, self._state, name),
            )
            ended = name not in self._state.ledger.open
            if ended and asked is not None and left is not None:
                self._draft.holds[name] = ArrivalPossible(asked.kind, asked.replicas, left)

    def admit(self) -> None:
        """Give slots to copies that are to start or start again, in this order: begun, admitted, waiting."""
        self._slots = slots_of(self._tick, self._state, self._to_start.keys())
        self._admission = self._admission or others_suffer(self._tick, self._state)
        for name, ask in list(self._to_start.items()):
            if not self._admits(name, ask):
                del self._to_start[name]
        ledger, plan = self._state.ledger, self._tick.job.plan
        moving = (
            self._tick.job.moves.keys() - (ledger.owned.keys() - ledger.open.keys())
            if plan.log_moves
            else frozenset()
        )
        self._log_moves = log_move_tick(
            self._tick,
            ledger,
            self._state.log_moving,
            self._nothing_new() or self._admission,
            self._slots,
            frozenset(moving),
        )

    def _heals(self, name: TopicPartition) -> bool:
        """Whether a partition is under its own min ISR: its copy is what ends that."""
        if not isinstance(self._admission, OthersUnderMinIsr):
            return False
        return under_min_isr(self._tick.job.moves[name], self._tick.seen.partitions[name])

    def _admits(self, name: TopicPartition, ask: Request) -> bool:
        tick, move = self._tick, self._tick.job.moves[name]
        brokers = (source_of(tick, move), *move.new)
        if self._admission is not None and not self._heals(name):
            self._draft.defer(name, self._admission)
        elif (first := first_of(move, self._standing.first)) is not None:
            self._draft.defer(name, SettingFirst(first))
        elif (full := self._slots.first_full(brokers)) is not None:
            self._draft.put_back(name, Parked(full), self._slots.why_full(full))
            if self._state.queue.starving(tick.job.places[name]):
                self._slots.reserve(brokers)
        elif (closed := self._closed(name, ask)) is not None:
            self._draft.defer(name, closed)
        else:
            self._slots.take(brokers)
            size = max(move.bytes, tick.seen.partitions[name].bytes)
            self._room = self._room.reserve(name, move.new, size)
            if not isinstance(self._draft.phase(name), InFlight | Admitted):
                self._draft.phases[name] = Admitted()
            return True
        return False

    def throttle(self) -> None:
        """What the copies that run or are about to need of throttles."""
        tick, state = self._tick, self._state
        admitted = {n for n in state.admitted if n not in self._draft.phases} | {
            n for n, phase in self._draft.phases.items() if isinstance(phase, Admitted)
        }
        admitted.update(self._to_start)  # one that was taken back is in flight, and begins again
        ended = {n for n, phase in self._draft.phases.items() if isinstance(phase, Ended)}
        self._throttles = throttles_now(
            tick,
            state,
            self._view,
            Throttled(
                self._throttle,
                copies_under_throttle(tick, state, admitted, ended),
                self._other_copies,
                self._log_moves.rates(self._throttle),
            ),
            cancelling=isinstance(self._admission, Cancelling),
        )

    def ask(self) -> None:
        """Fill the requests of this tick up to their limits, and write down what they ask."""
        self._batches.per_leader.update(elections_in_flight(self._tick, self._state, self._to_ask))
        for name, ask in self._to_ask.items():
            self._add(name, ask)
        for name, ask in self._to_start.items():
            if self._throttled(name):
                self._add(name, ask)
        tick, state, in_force = self._tick, self._state, self._throttles.rates_in_force
        missing = self._log_moves.ask(in_force, self._throttle, state.ledger)
        for move in missing:
            refused = refused_setting(tick, state, (), [move.broker])
            silent = state.unanswered((move.broker,))
            self._log_moves.without_throttle(move, refused, silent, tick, state.ledger)
        self._draft.records.extend(self._log_moves.records)

    def _throttled(self, name: TopicPartition) -> bool:
        """Whether the throttle of a copy is in force; holds it if not, or ends it where it never will be."""
        tick, state, move = self._tick, self._state, self._tick.job.moves[name]
        missing = throttle_missing(tick, state, self._view, move, self._throttle, self._throttles)
        match missing:
            case None:
                return True
            case AwaitingThrottle():
                self._draft.holds[name] = missing
            case _:
                self._draft.end(name, Status.REJECTED, missing)
        return False

    def _add(self, name: TopicPartition, ask: Request) -> None:
        job = self._tick.job
        if (full := self._batches.add(name, ask, self._tick.seen, job.settings)) is not None:
            self._draft.holds[name] = full
            return
        self._draft.phases[name] = InFlight(intent(self._draft.record(name), ask))
        if name in job.plan.remember:
            self._draft.records.extend(remembering(job.moves[name], self._state.ledger))

    def decision(self) -> Decision:
        """The decision as it stands."""
        state = self._state
        self._standing.holds = _kept(self._standing.holds, state.setting_holds)
        self._log_moves.holds = _kept(self._log_moves.holds, state.log_holds)
        touched = (p.record for p in self._draft.phases.values() if isinstance(p, InFlight | Ended))
        moves = (changed(record, changed_at=self._tick.moment) for record in touched)
        return Decision(
            records=(*moves, *self._draft.records, *self._throttles.records),
            resizing=self._batches.resizing,
            same_size=self._batches.same_size,
            elections=tuple(self._batches.elections),
            creates=self._creates,
            standing=self._standing,
            recoveries=self._recoveries,
            log_moves=self._log_moves,
            throttles=self._throttles,
            notes=(*notes_of(self._tick.commands), *self._draft.notes),
            phases=self._draft.phases,
            holds=_kept(self._draft.holds, state.holds),
            waits=self._unchanged.waits(),
            admission=self._admission,
            suspected=tuple(self._draft.suspected),
            loads=self._coordinators.loads,
            room=self._room,
            slots=self._slots,
        )


def _kept(
    found: Mapping[Subject, HoldReason], before: Mapping[Subject, HoldReason]
) -> dict[Subject, HoldReason]:
    """The reasons to wait; whoever leaves still says what held each before that."""
    return {n: before.get(n, r) if isinstance(r, Stopping) else r for n, r in found.items()}
