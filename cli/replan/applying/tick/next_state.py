"""What a tick decides, and the state of the run after it was written down. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from replan.applying.admission.coordinators import Loads
from replan.applying.admission.disk_space import Room
from replan.applying.admission.slots import Slots, grown
from replan.applying.journal.records import Record
from replan.applying.journal.steps import MoveRecord
from replan.applying.observation.history import held_since
from replan.applying.partitions.judge import End
from replan.applying.partitions.phase import (
    Admitted,
    Deferred,
    Ended,
    InFlight,
    Parked,
    Phase,
    Waiting,
    check_transition,
)
from replan.applying.reasons.notes import Note
from replan.applying.reasons.requests import LookTooOld
from replan.applying.reasons.waits import HoldReason
from replan.applying.steps.creating import CreateTick
from replan.applying.steps.log_moves import LogMoveTick
from replan.applying.steps.recovering import RecoveryTick
from replan.applying.steps.standing_throttles import StandingTick
from replan.applying.throttles.tick import ThrottleInput, ThrottleTick, history_after
from replan.applying.tick.run_state import Repeat, RunState
from replan.applying.tick.unchanged import Waits
from replan.applying.tick_input import TickInput
from replan.model.layered import Layered
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.plans.requests import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one tick does."""

    records: tuple[Record, ...] = ()
    """Written down before anything is sent."""
    resizing: Mapping[TopicPartition, Replicas | None] = field(default_factory=dict)
    """Lists that may change the number of replicas, and cancels."""
    same_size: Mapping[TopicPartition, Replicas | None] = field(default_factory=dict)
    """Lists that must not: sent with AllowReplicationFactorChange = false (KIP-860)."""
    elections: tuple[TopicPartition, ...] = ()
    creates: CreateTick = field(default_factory=CreateTick)
    standing: StandingTick = field(default_factory=StandingTick)
    recoveries: RecoveryTick = field(default_factory=RecoveryTick)
    log_moves: LogMoveTick = field(default_factory=LogMoveTick)
    throttles: ThrottleTick = field(default_factory=ThrottleTick)
    notes: tuple[Note, ...] = ()
    """Beside those of the throttles."""
    phases: Mapping[TopicPartition, Phase] = field(default_factory=dict)
    """The phases that partitions come into."""
    holds: Mapping[TopicPartition, HoldReason] = field(default_factory=dict)
    """Why partitions wait."""
    waits: Waits = field(default_factory=Waits)
    """Those of partitions in flight that hold until something of them changes."""
    admission: HoldReason | None = None
    """Why nothing new may be admitted at all, if so."""
    suspected: tuple[tuple[TopicPartition, Request | End], ...] = ()
    """What this look suggests, and another one has to agree with."""
    loads: Loads = field(default_factory=dict)
    """Of leaders of internal topics that have moved."""
    room: Room = field(default_factory=Room)
    slots: Slots | None = None
    """Room and slots that are left."""

    @property
    def asks(self) -> bool:
        """Whether anything is to be sent or written."""
        return bool(
            self.records
            or self.creates.asks
            or self.standing.changes
            or self.recoveries.asks
            or self.log_moves.asks
            or self.throttles.removals
            or self.throttles.additions
        )


def next_state(tick: TickInput, state: RunState, decision: Decision) -> RunState:
    """The state after a decision; raises ValueError where a phase cannot follow another."""
    phases, settings = decision.phases, tick.settings
    for name, phase in phases.items():
        check_transition(state.phase(name), phase)
    asked = {*decision.resizing, *decision.same_size, *decision.elections}
    begun = {n for n, p in phases.items() if isinstance(p, InFlight | Ended)}
    ended = {n for n, p in phases.items() if isinstance(p, Ended)}
    admitted = {n for n, p in phases.items() if isinstance(p, Admitted)}
    read = ThrottleInput(tick.seen.topics, tick.seen.rates, state.throttle_history)
    notes = (n for n in decision.throttles.notes if n not in state.notes)
    agreeing = (s for s in decision.suspected if s[0] not in asked)
    over = ended | (begun - state.ledger.open.keys())
    holds, since = _holds_after(state, decision.holds, over, tick.now)
    return replace(
        state,
        ledger=state.ledger.after(decision.records),
        queue=state.queue.after(
            {tick.job.places[n]: p for n, p in phases.items() if n not in state.ledger.open}
        ),
        admitted=(state.admitted - phases.keys()) | admitted,
        given_up=state.given_up.difference(begun)
        | {n for n, p in phases.items() if isinstance(p, Ended) and p.record.given_up},
        copies_waiting=state.copies_waiting + _copies_back(tick, state, phases),
        throttle_history=history_after(decision.throttles, read, state.ledger),
        loads=decision.loads,
        room=decision.room,
        slots=decision.slots,
        limits=_grown(
            state.limits, tick, ended & state.ledger.open.keys(), settings.slots_per_broker
        ),
        holds=holds,
        held_since=since,
        waits=decision.waits,
        notes=(*state.notes, *notes, *decision.notes),
        suspected=held_since(state.suspected, agreeing, tick.ended),
        answers={},
        recovering=decision.recoveries.after(state.recovering),
        creating=replace(state.creating, suspected=decision.creates.suspected),
        standing=replace(state.standing, suspected=decision.standing.suspected),
        setting_holds=decision.standing.holds,
        log_moving=replace(state.log_moving, suspected=decision.log_moves.suspected),
        log_holds=decision.log_moves.holds,
        repeats={n: r for n, r in state.repeats.items() if n not in ended},
        moved_at=tick.now if _moves(state, decision) else state.moved_at,
    )


def too_slow(decision: Decision, after: RunState, reason: LookTooOld) -> tuple[Decision, RunState]:
    """What becomes of a decision that took too long to write down: nothing of it is sent, and it is decided again."""
    unsent = {*decision.resizing, *decision.same_size, *decision.elections}
    holds = dict.fromkeys(unsent, reason)
    repeats = dict.fromkeys(unsent, Repeat(0, 0.0))
    return (
        replace(decision, holds={**decision.holds, **holds}),
        replace(after, holds=after.holds.changed(holds), repeats={**after.repeats, **repeats}),
    )


def _moves(state: RunState, decision: Decision) -> bool:
    """Whether a decision goes beyond what was decided before: the same request once more does not."""
    for record in decision.records:
        if not isinstance(record, MoveRecord):
            return True
        known = state.ledger.owned.get(record.partition)
        if known is None or _stands(known) != _stands(record):
            return True
    return False


def _stands(record: MoveRecord) -> tuple[object, ...]:
    asked = record.asked
    request = None if asked is None else (asked.kind, asked.replicas)
    return record.status, record.reached, request


def _holds_after(
    state: RunState,
    found: Mapping[TopicPartition, HoldReason],
    over: set[TopicPartition],
    now: float,
) -> tuple[Layered[TopicPartition, HoldReason], Layered[TopicPartition, float]]:
    """The reasons to wait, and since when each partition waits for the same kind of thing.

    They are as many as moves wait, so only what changes is gone through.
    """
    before, since = state.holds, state.held_since
    fresh = {n: r for n, r in found.items() if (b := before.get(n)) is not r and b != r}
    gone = {n for n in over if n in before}
    if not fresh and not gone:
        return before, since
    began = {
        n: now
        for n, r in fresh.items()
        if n in gone or n not in since or type(before.get(n)) is not type(r)
    }
    return before.changed(fresh, gone), since.changed(began, gone)


def _copies_back(tick: TickInput, state: RunState, phases: Mapping[TopicPartition, Phase]) -> int:
    """How many more moves that copy wait in the queue than before."""
    copying = [n for n in phases if tick.job.moves[n].new]
    into = sum(1 for n in copying if isinstance(phases[n], Deferred | Parked))
    return into - sum(1 for n in copying if isinstance(state.phase(n), Waiting))


def _grown(
    limits: Mapping[BrokerId, int], tick: TickInput, ended: set[TopicPartition], usual: int
) -> Mapping[BrokerId, int]:
    """Limits that have shrunk grow back with every copy that ends."""
    for name in sorted(ended) if limits else ():
        move, found = tick.job.moves[name], tick.seen.partitions.get(name)
        if move.new and found is not None:
            led = () if found.leader is None else (found.leader,)
            limits = grown(limits, {*move.original, *move.new, *led}.intersection(limits), usual)
    return limits
