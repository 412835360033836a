"""What to do in one tick: from the input of the tick and the state of the run to a decision and the next state.

A pure function. Per partition `judge_partition` decides; here is what concerns several of them: who may start, what
the throttles need, how many requests travel together, and what is written down. Nothing here asks, sleeps or writes.

Throttle settings that stay, new partitions and recoveries are decided before the moves, moves between log directories
after them, with the slots that are left. A move goes through these columns from left to right; the first that keeps it
says why it waits:

    verdict           queue                  gates                          throttle            batch
    Hold              deferred if it has     -                              kept while it       -
                      not begun, unless                                     copies
                      it is `soon`
    Suspect           as it was: held until looks agree on its conclusion, then as that conclusion
    End               leaves it              -                              kept while its      -
                                                                            copy runs on
    Request that      -                      admission (paused, cancelled,  in force, or it     resizing
    adds replicas                            contested, others under min    waits; where Kafka
                                             ISR), settings that come       refuses it, it ends
                                             first, slots, `closed_gate`    rejected
    Request of the    -                      paused and not begun;          -                   same size, or
    same or fewer                            `closed_gate`; coordinators                        resizing
    replicas
    Request to elect  -                      paused and not begun           -                   elections, in all
                                                                                                and per leader in
                                                                                                each request
    Request to        -                      -                              -                   resizing
    cancel

Whoever leaves (`admitting` is false) asks for nothing of a move. What a column keeps is held with its reason; what has
not begun is deferred for some seconds, or parked until a broker has a free slot.
"""

from collections import Counter
from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from replan.applying.admission import (
    Coordinators,
    Slots,
    closed_gate,
    foreign_load,
    others_by_topic,
)
from replan.applying.journal.ledger import RequestSubject
from replan.applying.journal.records import MoveRecord, Order, Reached, Record, Status
from replan.applying.observation import TickInput, brings_in, made_again, runs_own
from replan.applying.other_tools import rates_of_others
from replan.applying.partitions import (
    Admitted,
    Deferred,
    End,
    Ended,
    Hold,
    InFlight,
    MoveVerdict,
    Parked,
    PartitionInput,
    Phase,
    Suspect,
    Waiting,
    begun,
    forget_given_up,
    forget_order,
    intent,
    judge_cancelled,
    judge_while_copying,
    never_there,
    remember_given_up,
    remember_order,
)
from replan.applying.reasons.ends import ThrottleRefused
from replan.applying.reasons.holds import (
    ArrivalPossible,
    AwaitingThrottle,
    Cancelling,
    CopyGoesOn,
    NextBatch,
    OthersUnderMinIsr,
    PartitionsFirst,
    Paused,
    SettingFirst,
    Stopping,
    ThrottleContested,
)
from replan.applying.reasons.notes import ArrivedLate
from replan.applying.reasons.reason import EndReason, HoldReason, Note
from replan.applying.settings import Settings
from replan.applying.steering import (
    after_commands,
    closed_by,
    keeps_throttles,
    notes_of,
    obeyed_records,
    throttle_of,
)
from replan.applying.steps.creating import CREATES
from replan.applying.steps.kinds import kinds_of
from replan.applying.steps.log_moves import LOG_MOVES, LogCopies, log_copies
from replan.applying.steps.standing_throttles import STANDING_THROTTLES, first_setting_of, set_first
from replan.applying.steps.step import (
    AnyKind,
    StepInput,
    StepsDecided,
    judge_steps,
)
from replan.applying.throttles import (
    ThrottledCopy,
    ThrottleInput,
    ThrottleTick,
    WantedThrottles,
    admission_closed,
    catches_up_beside,
    gives_way_to,
    throttle_in_place,
    throttle_tick,
    unread,
    with_kept,
)
from replan.applying.tick.decision import Decision
from replan.applying.tick.run_state import RunState
from replan.applying.tick.unchanged import Unchanged
from replan.model.configs import ConfigResource, ConfigScope, SettingName
from replan.model.control_plane import Look
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import under_min_isr
from replan.planning.plans.moves import Move, source_of
from replan.planning.plans.requests import Request, RequestKind

_K = TypeVar("_K", bound=Hashable)


def decide(tick: TickInput, state: RunState) -> tuple[Decision, RunState]:
    """What is written down and sent now, and the state of the run once it is written down."""
    builder = DecisionBuilder(tick, state)
    builder.take_up()
    for kind in kinds_of(tick.job.plan):
        if not kind.copies:
            builder.decide_steps(kind)
    for name in [*state.ledger.open, *sorted(state.admitted), *builder.candidates]:
        builder.judge(name)
    builder.watch()
    builder.admit()
    builder.throttle()
    builder.ask()
    wanted = builder.decision()  # with what pauses, which is not sent now and is kept in mind
    return state.repeats.due(wanted, tick.now), state.decided(tick, wanted)


class DecisionBuilder:
    """A decision in the making; it lives for one call of `decide`."""

    def __init__(self, tick: TickInput, state: RunState) -> None:
        self._tick, self._state = tick, state
        # of each partition
        self._phases: dict[TopicPartition, Phase] = {}
        """Those that change; of all others the state has them."""
        self._holds: dict[TopicPartition, HoldReason] = {}
        self._suspected: list[tuple[TopicPartition, Request | End]] = []
        self._records: list[Record] = []
        """Beside those of the phases."""
        self._notes: list[Note] = []
        # why nothing new begins
        application = state.ledger.application
        self._admission: ThrottleContested | OthersUnderMinIsr | Paused | Cancelling | None = (
            admission_closed(state.throttle_history) if tick.admitting else None
        )
        if application is not None:
            application = after_commands(application, tick.commands)
            self._records += obeyed_records(
                state.ledger, application, tick.commands, tick.settings.owner
            )
            self._admission = closed_by(application) or self._admission
        remembers = not isinstance(self._admission, Cancelling)
        self._unchanged = Unchanged(
            tick, state.waits, state.moves, state.history, remembers=remembers
        )
        # what has to begin first
        self._growing = {s.create.topic for s in CREATES.pending(tick.job, state.ledger)}
        self._set_first: Mapping[ConfigResource, SettingName] = {}
        """Settings that come before the copies that need their places."""
        # what moves ask for, and what they take of the brokers
        self._to_start: dict[TopicPartition, Request] = {}
        """Lists that add replicas; whoever asks for one passes the gates, whatever was asked before."""
        self._to_ask: dict[TopicPartition, Request] = {}
        self._slots = Slots.of({}, tick.settings.slots_per_broker)
        self._room = state.room
        self._coordinators = Coordinators.at(tick.now, state.loads)
        self._others = others_by_topic(tick.look, state.ledger.owned)
        self._batches = Batches()
        # throttles
        self._throttle = throttle_of(tick.job.plan.throttle, application)
        of_others = application is not None and application.throttles_others
        self._other_copies = state.others.copies(tick.look) if of_others else []
        self._throttle_input = throttle_input(tick, state)
        self._throttles = ThrottleTick()
        # steps beside moves
        self._step_input = step_input(tick, state)
        self._steps: dict[AnyKind, StepsDecided] = {}
        self._log_copies: LogCopies | None = None

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
            name, own = record.partition, self._state.ledger.owned[record.partition]
            self._phases[name] = InFlight(record)
            if own.status is Status.DONE:
                listed = self._tick.look.running[name].target
                self._notes.append(ArrivedLate(name, listed))

    def decide_steps(self, kind: AnyKind) -> None:
        """The steps of a kind that does not copy come before the moves: nothing of a move is needed for them."""
        decided, ledger = StepsDecided(), self._state.ledger
        steps = kind.pending(self._tick.job, ledger)
        for step, ask in judge_steps(steps, self._step_input, self._nothing_new(), decided):
            decided.ask(step, ask, ledger)
        self._take_in(kind, decided)

    def _take_in(self, kind: AnyKind, decided: StepsDecided) -> None:
        self._steps[kind] = decided
        self._records.extend(decided.records)
        for subject, reason in decided.holds.items():
            if isinstance(subject, TopicPartition):
                self._holds[subject] = reason
        self._set_first = {**self._set_first, **set_first(decided.holds)}

    def judge(self, name: TopicPartition) -> None:
        """Judge one partition, and put what it needs where it belongs."""
        own = self._state.ledger.owned.get(name)
        if own is None and name.topic in self._growing:
            self._holds.setdefault(name, PartitionsFirst())
            return
        cancelling = self._admission if isinstance(self._admission, Cancelling) else None
        if cancelling is not None and own is None:
            self._defer(name, cancelling)
            return
        if (still := self._unchanged.wait(name, own)) is not None:
            self._holds[name] = still.reason
            return
        given = partition_input(self._tick, self._state, name, own)
        record, verdict = (
            judge_while_copying(given) if cancelling is None else judge_cancelled(given)
        )
        if record is not None and record != own:
            self._phases[name] = InFlight(record)
        match self._concluded(name, verdict):
            case End(status, reason):
                self._end(name, status, reason)
            case Suspect(_, reason):
                self._holds[name] = reason
            case Hold(reason, soon):
                self._hold(name, reason, soon=soon)
                if record == own:
                    self._unchanged.keep(name, own, reason)
            case Request() as ask:
                self._sort(name, ask)

    def _sort(self, name: TopicPartition, ask: Request) -> None:
        state = self._tick.look.partitions[name]
        if not self._tick.admitting:
            self._holds[name] = Stopping()
        elif isinstance(self._admission, Paused) and not isinstance(self._phase(name), InFlight):
            self._defer(name, self._admission)
        elif not set(ask.replicas) <= set(state.replicas):
            self._to_start[name] = ask
        elif (closed := self._closed(name, ask)) is not None:
            self._defer(name, closed)
        elif (busy := self._coordinators.busy(self._tick.job.moves[name], ask, state)) is not None:
            self._hold(name, busy, soon=True)
        else:
            self._to_ask[name] = ask

    def _closed(self, name: TopicPartition, ask: Request) -> HoldReason | None:
        """The gate that keeps a list from being asked for; elections and cancels have none."""
        if ask.kind not in {RequestKind.EXPAND, RequestKind.ASSIGN}:
            return None
        tick = self._tick
        move, state = tick.job.moves[name], tick.look.partitions[name]
        return closed_gate(move, ask.replicas, state, tick.look, self._room, self._others)

    def watch(self) -> None:
        """Say what an ended partition keeps the application for."""
        for name in lingering(self._tick, self._state):
            self._holds[name] = CopyGoesOn()
        for name in may_arrive(self._state):
            asked = self._state.ledger.owned[name].asked
            seconds = quarantine_left(self._tick, self._state, name)
            ended = name not in self._state.ledger.open
            if ended and asked is not None and seconds is not None:
                self._holds[name] = ArrivalPossible(asked.kind, asked.replicas, seconds)

    def admit(self) -> None:
        """Give slots to copies that are to start or start again, in this order: begun, admitted, waiting."""
        self._slots = slots_of(self._tick, self._state, self._to_start.keys())
        self._admission = self._admission or others_suffer(self._tick, self._state)
        for name, ask in list(self._to_start.items()):
            if not self._admits(name, ask):
                del self._to_start[name]
        if self._tick.job.plan.log_moves:
            self._admit_log_moves()

    def _admit_log_moves(self) -> None:
        ledger = self._state.ledger
        moving = self._tick.job.moves.keys() - (ledger.owned.keys() - ledger.open.keys())
        closed = self._nothing_new() or self._admission
        self._log_copies = log_copies(
            self._step_input, closed, self._slots, frozenset(moving), self._room, self._set_first
        )
        self._room = self._log_copies.room

    def _heals(self, name: TopicPartition) -> bool:
        """Whether a partition is under its own min ISR: its copy is what ends that, so it waits for no other move."""
        if not isinstance(self._admission, OthersUnderMinIsr):
            return False
        move, state = self._tick.job.moves[name], self._tick.look.partitions[name]
        return under_min_isr(move.min_insync_replicas, state.isr, state.replicas)

    def _admits(self, name: TopicPartition, ask: Request) -> bool:
        tick, move = self._tick, self._tick.job.moves[name]
        brokers = (_sends(tick, move), *move.new)
        if self._admission is not None and not self._heals(name):
            self._defer(name, self._admission)
        elif (
            first := first_setting_of(name.topic, (*move.original, *move.new), self._set_first)
        ) is not None:
            self._defer(name, SettingFirst(first))
        elif (full := self._slots.first_full(brokers)) is not None:
            self._put_back(name, Parked(full), self._slots.why_full(full))
            if self._state.queue.starving(tick.job.places[name]):
                self._slots.reserve(brokers)
        elif (closed := self._closed(name, ask)) is not None:
            self._defer(name, closed)
        else:
            self._slots.take(brokers)
            size = max(move.bytes, tick.look.partitions[name].bytes)
            self._room = self._room.reserve(name, move.new, size)
            if not isinstance(self._phase(name), InFlight | Admitted):
                self._phases[name] = Admitted()
            return True
        return False

    def throttle(self) -> None:
        """What the copies that run or are about to need of throttles."""
        tick, state, throttle = self._tick, self._state, self._throttle
        admitted = {n for n in state.admitted if n not in self._phases} | {
            n for n, phase in self._phases.items() if isinstance(phase, Admitted)
        }
        admitted.update(self._to_start)  # one that was taken back is in flight, and begins again
        ended = {n for n, phase in self._phases.items() if isinstance(phase, Ended)}
        copies = copies_under_throttle(tick, state, admitted, ended)
        released = {
            step.subject.resource for step in STANDING_THROTTLES.pending(tick.job, state.ledger)
        }
        keeps = keeps_throttles(throttle, state.ledger.application)
        wanted = WantedThrottles.of([*copies, *self._other_copies], throttle)
        if self._log_copies is not None:
            within = self._log_copies.rates(throttle)
            wanted = replace(wanted, rates={**wanted.rates, **within})
        if keeps:
            wanted = with_kept(wanted, copies, state.ledger, self._throttle_input, released)
        cancelling = isinstance(self._admission, Cancelling)
        waiting = tick.admitting and state.copies_waiting > 0 and not cancelling
        throttles = throttle_tick(
            wanted,
            state.ledger,
            self._throttle_input,
            keep_rates=keeps or waiting,
            released=released,
        )
        notes = rates_of_others(self._other_copies, throttle, state.ledger, self._throttle_input)
        self._throttles = replace(throttles, notes=(*throttles.notes, *notes))

    def ask(self) -> None:
        """Fill the requests of this tick up to their limits, and write down what they ask."""
        self._batches.in_flight.update(elections_in_flight(self._tick, self._state, self._to_ask))
        for name, ask in self._to_ask.items():
            self._add(name, ask)
        for name, ask in self._to_start.items():
            if self._throttled(name):
                self._add(name, ask)
        if self._log_copies is not None:
            self._ask_log_moves(self._log_copies)

    def _ask_log_moves(self, copies: LogCopies) -> None:
        tick, state, in_force = self._tick, self._state, self._throttles.rates_in_force
        decided = copies.decided
        for step in copies.ask(in_force, self._throttle, state.ledger):
            broker = step.move.broker
            refused = refused_setting(tick, state, (), [broker])
            if refused is None:
                silent = state.unanswered((broker,))
                decided.holds[step.subject] = AwaitingThrottle(unanswered=silent)
            else:
                decided.end(step, End(Status.REJECTED, refused), state.ledger)
        self._take_in(LOG_MOVES, decided)

    def _throttled(self, name: TopicPartition) -> bool:
        """Whether the throttle of a copy is in force; holds it if not, or ends it where it never will be."""
        tick, state, view, throttle = self._tick, self._state, self._throttle_input, self._throttle
        move = tick.job.moves[name]
        copy, brokers = copy_of(tick, state, move), (*move.original, *move.new)
        if throttle_in_place(copy, throttle, self._throttles, view):
            return True
        refused = refused_setting(tick, state, [name.topic], brokers)
        if refused is not None:
            self._end(name, Status.REJECTED, refused)
        else:
            self._holds[name] = AwaitingThrottle(
                unread(copy, throttle, view),
                gives_way_to(copy, throttle, view),
                state.unanswered(brokers),
            )
        return False

    def _add(self, name: TopicPartition, ask: Request) -> None:
        job = self._tick.job
        if (full := self._batches.add(name, ask, self._tick.look, job.settings)) is not None:
            self._holds[name] = full
            return
        self._phases[name] = InFlight(intent(self._record(name), ask))
        if name in job.plan.remember:
            self._records.extend(remember_order(job.moves[name], self._state.ledger))

    def decision(self) -> Decision:
        """The decision as it stands."""
        state = self._state
        step_holds: dict[RequestSubject, HoldReason] = {}
        suspected = list[tuple[RequestSubject, Hashable]]()
        for decided in self._steps.values():
            of = decided.holds.items()
            step_holds |= {s: why for s, why in of if not isinstance(s, TopicPartition)}
            suspected += decided.suspected
        touched = (p.record for p in self._phases.values() if isinstance(p, InFlight | Ended))
        moves = (replace(record, changed_at=self._tick.moment) for record in touched)
        return Decision(
            records=(*moves, *self._records, *self._throttles.records),
            resizing=self._batches.resizing,
            same_size=self._batches.same_size,
            elections=tuple(tuple(request.names) for request in self._batches.elections),
            steps={k: self._steps[k].asks for k in kinds_of(self._tick.job.plan)},
            step_holds=_kept(step_holds, state.step_holds),
            steps_suspected=tuple(suspected),
            throttles=self._throttles,
            notes=(*notes_of(self._tick.commands), *self._notes),
            phases=self._phases,
            holds=_kept(self._holds, state.holds),
            waits=self._unchanged.waits(),
            admission=self._admission,
            suspected=tuple(self._suspected),
            loads=self._coordinators.loads,
            room=self._room,
            slots=self._slots,
        )

    def _hold(self, name: TopicPartition, reason: HoldReason, *, soon: bool) -> None:
        """Let a partition wait; one that has not begun is looked at again `soon`, or after some seconds."""
        self._holds[name] = reason
        if not soon and isinstance(self._phase(name), Waiting):
            self._phases[name] = self._deferred()

    def _concluded(self, name: TopicPartition, verdict: MoveVerdict) -> MoveVerdict:
        """A suspicion becomes its conclusion once looks have agreed on it for long enough."""
        if not isinstance(verdict, Suspect):
            return verdict
        self._suspected.append((name, verdict.conclusion))
        agreed = verdict.agreed(self._tick, name, self._state.moves.suspected)
        return verdict.conclusion if agreed else verdict

    def _phase(self, name: TopicPartition) -> Phase:
        """The phase of a partition as it is now."""
        return self._phases.get(name) or self._state.phase(name)

    def _deferred(self) -> Deferred:
        return Deferred(self._tick.now + self._tick.settings.retry_seconds)

    def _defer(self, name: TopicPartition, reason: HoldReason) -> None:
        """Let a partition wait until its gates are asked again, after some seconds; what is in flight stays so."""
        self._put_back(name, self._deferred(), reason)

    def _put_back(self, name: TopicPartition, phase: Phase, reason: HoldReason) -> None:
        """Let a partition wait; what is in flight stays so."""
        self._holds[name] = reason
        if not isinstance(self._phase(name), InFlight):
            self._phases[name] = phase

    def _end(self, name: TopicPartition, status: Status, reason: EndReason | None) -> None:
        """Ask nothing more for a partition, and write down how it ended and what stays behind."""
        job, ledger = self._tick.job, self._state.ledger
        message = "" if reason is None else reason.of(name)
        record = replace(self._record(name), status=status, message=message)
        self._holds.pop(name, None)
        self._phases[name] = Ended(record)
        state = self._tick.look.partitions.get(name)
        if status is not Status.DONE:
            if state is not None and state.topic_id == record.topic_id:
                rests = state.running is None and state.replicas == record.original
                records_of = forget_given_up if rests else remember_given_up
                self._records.extend(records_of(record, ledger))
        elif name not in job.plan.remember:
            self._records.extend(forget_order(job.moves[name], ledger))

    def _record(self, name: TopicPartition) -> MoveRecord:
        """The record of a partition so far."""
        phase = self._phase(name)
        if isinstance(phase, InFlight | Ended):
            return phase.record
        return begun(self._tick.job.moves[name], self._state.ledger)


def partition_input(
    tick: TickInput, state: RunState, name: TopicPartition, record: MoveRecord | None
) -> PartitionInput:
    """All that one partition is judged by."""
    move = tick.job.moves[name]
    order = state.ledger.order(Order(name, move.topic_id, move.original).key)
    memory, repeat = state.moves, state.moves.repeats.get(name)
    return PartitionInput(
        move=move,
        own=record,
        state=tick.look.partitions.get(name),
        look=tick.look,
        settled=state.history.settled(name, tick.settings.settle_seconds),
        settle_seconds=tick.settings.settle_seconds,
        racks=tick.job.plan.racks,
        answer=memory.answers.get(name),
        refusal=memory.refusal(name, tick.settings.agreeing_seconds),
        repeat_seconds=None if repeat is None else max(0.0, repeat.at - tick.now),
        repeat_refusal="" if repeat is None else repeat.refusal,
        quarantine_seconds=quarantine_left(tick, state, name),
        logless=frozenset(b for b in move.target if state.history.shows_no_log(name, b)),
        given_up_list=() if order is None else order.left,
    )


def quarantine_left(tick: TickInput, state: RunState, name: TopicPartition) -> float | None:
    """How long an earlier request of a partition may still be on its way."""
    return state.moves.arrives_within(name, tick.now, tick.settings.quarantine_seconds)


def step_input(tick: TickInput, state: RunState) -> StepInput:
    """What steps beside moves are judged by."""
    return StepInput(
        tick,
        state.ledger,
        state.steps,
        state.steps_asked_at,
        state.configs_unknown_since.keys(),
        state.leaderless_since,
        state.leaderless_logs,
    )


class Elections(Struct):
    """One request for elections."""

    names: list[TopicPartition]
    leaders: Counter[BrokerId]
    """How many of them each broker shall lead."""


class Batches(Struct):
    """What one tick asks for partitions; it lives for that tick."""

    resizing: dict[TopicPartition, Replicas | None] = field(default_factory=dict)
    """Lists that may change the number of replicas, and cancels."""
    same_size: dict[TopicPartition, Replicas | None] = field(default_factory=dict)
    """Lists that must not (KIP-860)."""
    elections: list[Elections] = field(default_factory=list)
    in_flight: Counter[BrokerId] = field(default_factory=Counter)
    """Elections of earlier ticks that the controller may not have made yet, by who shall lead."""

    def add(
        self, name: TopicPartition, ask: Request, look: Look, settings: Settings
    ) -> NextBatch | None:
        """Add a request, or say that this tick is full."""
        if ask.kind is RequestKind.ELECT:
            return self._add_election(name, ask.replicas[0], settings)
        if len(self.resizing) + len(self.same_size) >= settings.batch:
            return NextBatch(elections=False)
        wanted = None if ask.kind is RequestKind.CANCEL else ask.replicas
        same = ask.kind is RequestKind.ASSIGN and _is_same_size(name, ask.replicas, look)
        (self.same_size if same else self.resizing)[name] = wanted
        return None

    def _add_election(
        self, name: TopicPartition, leader: BrokerId, settings: Settings
    ) -> NextBatch | None:
        room = settings.elections_per_leader - self.in_flight[leader]
        full = sum(len(request.names) for request in self.elections) >= settings.batch
        if full or room <= 0:
            return NextBatch(elections=True)
        for request in self.elections:
            if len(request.names) < settings.elections and request.leaders[leader] < room:
                break
        else:
            request = Elections([], Counter())
            self.elections.append(request)
        request.names.append(name)
        request.leaders[leader] += 1
        return None


def _is_same_size(name: TopicPartition, wanted: Replicas, look: Look) -> bool:
    """As Kafka judges it: against the replicas less the removing ones (KIP-860)."""
    state = look.partitions[name]
    guarded = look.features.replication_factor_guard
    return guarded and len(set(state.replicas) - set(state.removing)) == len(wanted)


def lingering(tick: TickInput, state: RunState) -> list[TopicPartition]:
    """Partitions that ended in the middle and whose copy still runs: it keeps its throttle until it ends.

    Also where another tool's reassignment goes on with it: the bytes flow because replan has begun them. What runs on a
    topic that was made again is that tool's alone.
    """
    return [
        name
        for name in sorted(state.ledger.given_up)
        if name in tick.look.running and _is_copied(tick, name)
    ]


def taken_up(tick: TickInput, state: RunState) -> Iterator[MoveRecord]:
    """The records of ended partitions that go on, since a list of replan's own runs there that is not to stay.

    It came when the partition was done or rested, or it can never end. What the controller lists is never old, so one
    look is enough; a list that was left to another tool is that tool's.
    """
    for name, running in tick.look.running.items():
        own = state.ledger.owned.get(name)
        if own is None or own.status in {Status.OPEN, Status.FOREIGN}:
            continue
        if not runs_own(tick.look, own):
            continue
        late = own.status in {Status.DONE, Status.CANCELLED} and running.target != own.target
        if late or never_there(running, tick.look):
            yield replace(
                own, status=Status.OPEN, message="", reached=min(own.reached, Reached.EXPANDED)
            )


def may_arrive(state: RunState) -> list[TopicPartition]:
    """Partitions of which a list that was asked for may still arrive; elections come too late without harm."""
    owned = state.ledger.owned
    return [n for n in state.moves.unknown_since if n in owned and owned[n].list_pending]


def _is_copied(tick: TickInput, name: TopicPartition) -> bool:
    """Whether what runs brings a new replica of replan's move into sync; one of a broker that is gone never will be."""
    move, look = tick.job.moves[name], tick.look
    return brings_in(look, name, move.topic_id, look.brokers.keys() & set(move.new))


def slots_of(tick: TickInput, state: RunState, starting: Collection[TopicPartition]) -> Slots:
    """The slots as they are taken now, without those of moves whose start is about to be judged.

    A copy of replan's own that runs on although its partition has ended takes slots, too, and is not another tool's.
    """
    beside = {
        name: foreign_load(running, tick.look.live)
        for name, running in tick.look.running.items()
        if name not in state.ledger.open or not state.ledger.open[name].expanding
    }
    own = {n for n in beside if runs_own(tick.look, state.ledger.owned.get(n))}
    loads = chain(_loads(tick, state, starting), (beside[n] for n in own))
    others = {n: brokers for n, brokers in beside.items() if n not in own}
    return Slots.of(state.limits, tick.settings.slots_per_broker, loads, others)


def _loads(
    tick: TickInput, state: RunState, starting: Collection[TopicPartition]
) -> Iterator[frozenset[BrokerId]]:
    copying = {n for n, record in state.ledger.open.items() if record.expanding}
    for name in sorted((copying | state.admitted).difference(starting)):
        move = tick.job.moves[name]
        if _loads_now(tick, state, move):
            yield frozenset((_sends(tick, move), *move.new))


def loaded_by(tick: TickInput, state: RunState) -> set[BrokerId]:
    """The brokers that the copies load which run now; not those of copies that are about to begin."""
    loads = _loads(tick, state, state.admitted)
    return {broker for brokers in loads for broker in brokers}


def _sends(tick: TickInput, move: Move) -> BrokerId:
    """From where a move copies now."""
    state = tick.look.partitions.get(move.partition)
    return source_of(None if state is None else state.leader, move.original)


def _loads_now(tick: TickInput, state: RunState, move: Move) -> bool:
    """Until its new replicas are in sync, unless it stands still, or this user may not see whether it goes on."""
    partition, admitted = tick.look.partitions.get(move.partition), move.partition in state.admitted
    if (partition is None or admitted) and move.partition.topic in tick.look.forbidden:
        return False
    if partition is not None and set(partition.isr).issuperset(move.new):
        return False
    stalled = state.history.stalled(move, tick.look, tick.now, tick.settings.stalled_seconds)
    return admitted or stalled is None


def others_suffer(tick: TickInput, state: RunState) -> OthersUnderMinIsr | None:
    """Why nothing more is begun beside the copies that run, if partitions of others suffer on their brokers."""
    neighbours = state.neighbours
    if not neighbours.fallen or not tick.admitting:
        return None
    loaded = frozenset(loaded_by(tick, state))
    suffering = neighbours.suffering(loaded)
    if not suffering:
        return None
    theirs = {b for n in suffering for b in neighbours.fallen[n]}
    return OthersUnderMinIsr(suffering, tuple(sorted(theirs & loaded)))


def copies_under_throttle(
    tick: TickInput,
    state: RunState,
    admitted: Iterable[TopicPartition],
    ended: Collection[TopicPartition],
) -> list[ThrottledCopy]:
    """The copies whose entries should be there: from just before expand until settled, or a cancel arrived."""
    settle = tick.settings.settle_seconds
    names = {
        name
        for name, record in state.ledger.open.items()
        if record.expanding
        and (_is_copied(tick, name) if name in ended else not state.history.copied(name, settle))
    }
    names.update(
        n for n, own in state.ledger.open.items() if own.cancelling and _is_copied(tick, n)
    )
    names.update(lingering(tick, state))
    if tick.admitting:
        names.update(n for n in admitted if n not in ended)
    moves = [tick.job.moves[name] for name in sorted(names)]
    moves = [m for m in moves if not made_again(tick.look, m.partition, m.topic_id)]
    return [copy_of(tick, state, move) for move in moves]


def copy_of(tick: TickInput, state: RunState, move: Move) -> ThrottledCopy:
    """A move as throttles see it."""
    partition = tick.look.partitions.get(move.partition)
    isr = state.history.isr.get(move.partition) if partition is None else partition.isr
    if isr is None:
        return ThrottledCopy(move)
    suspended = catches_up_beside(move.original, move.kept, isr, tick.look)
    return ThrottledCopy(move, leader_throttle_suspended=suspended)


def throttle_input(tick: TickInput, state: RunState) -> ThrottleInput:
    """What a tick has read of throttles."""
    look = tick.look
    live = {b for b, broker in look.brokers.items() if broker.live}
    return ThrottleInput(look.topics, look.rates, state.throttle_history, live)


def refused_setting(
    tick: TickInput, state: RunState, topics: Iterable[str], brokers: Iterable[BrokerId]
) -> ThrottleRefused | None:
    """A setting of a copy's throttle that Kafka refuses."""
    named = [(ConfigScope.TOPIC, topic) for topic in topics]
    named += [(ConfigScope.BROKER, str(b)) for b in brokers]
    for scope, name in named:
        rejection = state.configs.refusal((scope, name), tick.settings.agreeing_seconds)
        if rejection is not None:
            return ThrottleRefused(scope, name, rejection.code, rejection.name, rejection.message)
    return None


def elections_in_flight(
    tick: TickInput, state: RunState, asking: Container[TopicPartition]
) -> Iterator[BrokerId]:
    """Who shall lead by the elections of which nobody knows what became of them; not by those that go again now.

    What the controller has answered it has done, however late a broker shows it.
    """
    for name in state.moves.unknown_since.keys() & state.ledger.open.keys():
        asked, partition = state.ledger.open[name].asked, tick.look.partitions.get(name)
        if asked is None or asked.kind is not RequestKind.ELECT or name in asking:
            continue
        if partition is None or partition.leader != asked.replicas[0]:
            yield asked.replicas[0]


def _kept(holds: Mapping[_K, HoldReason], before: Mapping[_K, HoldReason]) -> dict[_K, HoldReason]:
    """The reasons to wait; whoever leaves still says what held each before that."""
    return {n: before.get(n, r) if isinstance(r, Stopping) else r for n, r in holds.items()}
