"""What to do in one tick: a pure function of plan, ledger, what is seen, and since when.

Per partition `judge` decides; here is what concerns several of them: who is admitted, what the throttles need, how many
requests travel together, and what is written down. Nothing here asks, sleeps or writes.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

from replan.applying.admission.gates import instant_gate, start_gate
from replan.applying.admission.slots import Slots
from replan.applying.copies import copies_under_throttle, copy_of, slots_of
from replan.applying.journal.records import MoveRecord, Record, Status
from replan.applying.partitions.intents import begun, forgetting, intent, remembering
from replan.applying.partitions.judge import End, Hold, PartitionInput, Suspect, Verdict, judge
from replan.applying.throttles.tick import (
    ThrottleInput,
    ThrottleTick,
    admission_closed,
    in_place,
    throttle_tick,
)
from replan.applying.tick_input import TickInput
from replan.model.configs import ConfigScope
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.moves import Move
from replan.planning.requests import Request, RequestKind


@dataclass(slots=True)
class Decision:
    """What one tick does; built by `decide`, read by the loop."""

    records: list[Record] = field(default_factory=list)
    resizing: dict[TopicPartition, Replicas | None] = field(default_factory=dict)
    """Lists that may change the number of replicas, and cancels."""
    same_size: dict[TopicPartition, Replicas | None] = field(default_factory=dict)
    """Lists that must not: sent with AllowReplicationFactorChange = false (KIP-860)."""
    elections: list[TopicPartition] = field(default_factory=list)
    throttles: ThrottleTick = field(default_factory=ThrottleTick)
    admitted: list[TopicPartition] = field(default_factory=list)
    withdrawn: list[TopicPartition] = field(default_factory=list)
    """Admitted before, and a gate has closed since: they wait again."""
    parked: dict[TopicPartition, BrokerId] = field(default_factory=dict)
    """AdmissionQueue for a slot on this broker."""
    deferred: list[TopicPartition] = field(default_factory=list)
    """AdmissionQueue for a gate; to be looked at again in some seconds."""
    holds: dict[TopicPartition, str] = field(default_factory=dict)
    suspected: dict[TopicPartition, Suspect] = field(default_factory=dict)
    ended: list[TopicPartition] = field(default_factory=list)
    admission: str | None = None
    """Why nothing new may be admitted at all, if so."""

    @property
    def asks(self) -> bool:
        """Whether anything is to be sent or written."""
        return bool(self.records or self.throttles.removals or self.throttles.additions)


def decide(view: TickInput) -> Decision:
    """What to do now."""
    draft = _Draft(view)
    for name in [*view.ledger.open, *sorted(view.admitted), *view.candidates]:
        draft.judge(name)
    draft.admit()
    draft.throttle()
    draft.ask()
    return draft.decision


class _Draft:
    """A decision on its way."""

    def __init__(self, view: TickInput) -> None:
        self.view = view
        self.decision = Decision()
        self.room = view.room
        self._to_ask: dict[TopicPartition, tuple[MoveRecord | None, Request]] = {}
        self._to_admit: list[TopicPartition] = []
        self._new_per_leader: Counter[BrokerId] = Counter()

    def judge(self, name: TopicPartition) -> None:
        """Judge one partition, and put what it needs where it belongs."""
        view = self.view
        known = view.ledger.owned.get(name)
        own, verdict = judge(self._sight(name, known))
        resolved = self._resolved(name, verdict)
        match resolved:
            case End(status, message):
                self._end(name, own, status, message)
            case Request():
                self._sort(name, own, resolved)
            case Suspect(_, reason):
                self.decision.holds[name] = reason
            case Hold(reason, soon):
                self._hold(name, reason, soon=soon)
        if not isinstance(resolved, End) and own is not None and own != known:
            self.decision.records.append(own)

    def _sight(self, name: TopicPartition, own: MoveRecord | None) -> PartitionInput:
        view = self.view
        move = view.moves[name]
        return PartitionInput(
            move=move,
            own=own,
            state=view.seen.partitions.get(name),
            seen=view.seen,
            settled=view.watch.settled(name, view.now, view.settings.settle_seconds),
            racks=view.plan.racks,
            answer=view.answers.get(name),
            quarantine_seconds=view.quarantine_left(name),
            logless=frozenset(b for b in move.target if view.watch.shows_no_log(name, b)),
        )

    def _resolved(self, name: TopicPartition, verdict: Verdict) -> Verdict:
        """A suspicion becomes its conclusion when an earlier look, long enough ago, agrees."""
        if not isinstance(verdict, Suspect):
            return verdict
        before = self.view.suspicions.get(name)
        agrees = before is not None and before[0].conclusion == verdict.conclusion
        long_ago = self.view.now - self.view.settings.agreeing_seconds
        if agrees and before is not None and before[1] <= long_ago:
            return verdict.conclusion
        self.decision.suspected[name] = verdict
        return verdict

    def _hold(self, name: TopicPartition, reason: str, *, soon: bool) -> None:
        self.decision.holds[name] = reason
        if not soon and name not in self.view.ledger.owned and name not in self.view.admitted:
            self.decision.deferred.append(name)

    def _end(
        self, name: TopicPartition, own: MoveRecord | None, status: Status, message: str = ""
    ) -> None:
        move = self.view.moves[name]
        record = begun(move, self.view.ledger) if own is None else own
        self.decision.records.append(replace(record, status=status, message=message))
        self.decision.ended.append(name)
        if status is Status.DONE and name not in self.view.plan.remember:
            self.decision.records.extend(forgetting(move, self.view.ledger))

    def _sort(self, name: TopicPartition, own: MoveRecord | None, ask: Request) -> None:
        """Begun and instant requests go out; copies have to be admitted first."""
        if own is not None:
            self._to_ask[name] = own, ask
        elif ask.kind is RequestKind.EXPAND:
            if name not in self.view.admitted:
                self._to_admit.append(name)
            else:
                self._to_ask[name] = None, ask
        elif (closed := instant_gate(self.view.moves[name], self.view.seen)) is not None:
            self._hold(name, closed, soon=False)
        elif self.view.admitting:
            self._to_ask[name] = None, ask

    def admit(self) -> None:
        """Give slots to the waiting copies, in plan order, as long as gates and slots are open."""
        view, decision = self.view, self.decision
        if not view.admitting:
            return
        decision.admission = admission_closed(view.throttle_history)
        slots = slots_of(view)
        for name in self._to_admit:
            if decision.admission is not None:
                self._hold(name, decision.admission, soon=False)
            else:
                self._admit_one(name, slots)

    def _admit_one(self, name: TopicPartition, slots: Slots) -> None:
        view, decision, move = self.view, self.decision, self.view.moves[name]
        state = view.seen.partitions[name]
        leader = move.original[0] if state.leader is None else state.leader
        brokers = (leader, *move.new)
        full = slots.first_full(brokers)
        if full is not None:
            decision.parked[name] = full
            decision.holds[name] = slots.why_full(full)
            if name in view.reserving:
                slots.reserve(brokers)
            return
        closed = start_gate(move, state, view.seen, self.room)
        if closed is not None:
            self._hold(name, closed, soon=False)
            return
        slots.take(brokers)
        self.room = self.room.reserve(move.new, max(move.bytes, state.bytes))
        decision.admitted.append(name)
        self._to_ask[name] = None, Request(RequestKind.EXPAND, move.expanded)

    def throttle(self) -> None:
        """What the copies that run or are about to need of throttles."""
        view = self.view
        copies = copies_under_throttle(view, self.decision.admitted, set(self.decision.ended))
        more = view.more_copies_wait or any(view.moves[n].new for n in view.candidates)
        self.decision.throttles = throttle_tick(
            copies,
            view.plan.throttle,
            view.ledger,
            self._throttle_view(),
            keep_rates=view.admitting and more,
        )
        self.decision.records.extend(self.decision.throttles.records)

    def _throttle_view(self) -> ThrottleInput:
        return ThrottleInput(
            self.view.seen.topics, self.view.seen.configs, self.view.throttle_history
        )

    def ask(self) -> None:
        """Fill the requests of this tick up to their limits, and write down what they ask."""
        for name, (own, ask) in self._to_ask.items():
            if not self.view.admitting:
                self.decision.holds[name] = "stopping"
            elif ask.kind is RequestKind.EXPAND and own is None and not self._may_begin(name):
                pass  # held, withdrawn or ended, with its reason
            elif ask.kind is RequestKind.ELECT:
                self._ask_election(name, own, ask)
            else:
                self._ask_list(name, own, ask)

    def _may_begin(self, name: TopicPartition) -> bool:
        """Whether an admitted copy may begin now: its gates are still open and its throttle was read back."""
        view, move = self.view, self.view.moves[name]
        closed = start_gate(move, view.seen.partitions[name], view.seen, None)
        if closed is None:
            return self._throttled(name, move)
        self.decision.holds[name] = closed
        self.decision.withdrawn.append(name)
        return False

    def _throttled(self, name: TopicPartition, move: Move) -> bool:
        """Whether the throttle of a copy is in force; says why not, or ends it where it never will be."""
        copy = copy_of(self.view, move)
        if in_place(copy, self.view.plan.throttle, self.decision.throttles, self._throttle_view()):
            return True
        refused = self._refused(move)
        if refused is None:
            self.decision.holds[name] = "its throttle is set and not read back yet"
        else:
            self._end(name, None, Status.REJECTED, refused)
        return False

    def _refused(self, move: Move) -> str | None:
        named = [(ConfigScope.TOPIC, move.partition.topic)]
        named += [(ConfigScope.BROKER, str(b)) for b in (*move.original, *move.new)]
        for scope, name in named:
            rejection = self.view.refused_configs.get((scope, name))
            if rejection is not None:
                return (
                    f"{move.partition}: the throttle of {scope} {name} cannot be set: Kafka answered "
                    f"{rejection.code} {rejection.name}: {rejection.message} It was not begun without it; "
                    "grant ALTER_CONFIGS or plan without throttles"
                )
        return None

    def _ask_election(self, name: TopicPartition, own: MoveRecord | None, ask: Request) -> None:
        leader, settings = ask.replicas[0], self.view.settings
        full = len(self.decision.elections) >= settings.elections
        if full or self._new_per_leader[leader] >= settings.elections_per_leader:
            self.decision.holds[name] = "waiting for the next batch of elections"
            return
        self._new_per_leader[leader] += 1
        self.decision.elections.append(name)
        self._intend(name, own, ask)

    def _ask_list(self, name: TopicPartition, own: MoveRecord | None, ask: Request) -> None:
        asked = len(self.decision.resizing) + len(self.decision.same_size)
        if asked >= self.view.settings.batch:
            self.decision.holds[name] = "waiting for the next batch"
            return
        wanted = None if ask.kind is RequestKind.CANCEL else ask.replicas
        same = ask.kind is RequestKind.ASSIGN and self._same_size(name, ask.replicas)
        (self.decision.same_size if same else self.decision.resizing)[name] = wanted
        self._intend(name, own, ask)

    def _same_size(self, name: TopicPartition, wanted: Replicas) -> bool:
        """As Kafka judges it: against the replicas less the removing ones (KIP-860)."""
        state = self.view.seen.partitions.get(name)
        guarded = self.view.seen.features.replication_factor_guard
        if state is None or not guarded:
            return False
        return len(set(state.replicas) - set(state.removing)) == len(wanted)

    def _intend(self, name: TopicPartition, own: MoveRecord | None, ask: Request) -> None:
        view, move = self.view, self.view.moves[name]
        record = begun(move, view.ledger) if own is None else own
        self.decision.records.append(intent(record, ask))
        if move.partition in view.plan.remember:
            self.decision.records.extend(remembering(move, view.ledger))
