"""What one process remembers between ticks; all of it may be lost.

Here belongs the carrying over from one tick to the next, and what to look at next. What is to be done is decided in
`decide`; what must not be lost is in the ledger.
"""

from collections.abc import Mapping
from dataclasses import replace

from replan.applying.admission.disk_space import Room
from replan.applying.admission.gates import internal
from replan.applying.admission.queue import AdmissionQueue
from replan.applying.admission.slots import Slots, grown, halved
from replan.applying.copies import expanding, slots_of
from replan.applying.decide import Decision
from replan.applying.journal.ledger import Ledger
from replan.applying.observation.history import PartitionHistory
from replan.applying.observation.look import Observation, Wanted
from replan.applying.partitions.judge import Suspect
from replan.applying.sending import Answers
from replan.applying.settings import Settings
from replan.applying.throttles.tick import ThrottleHistory, ThrottleInput, history_after
from replan.applying.tick_input import TickInput
from replan.model.configs import ConfigScope
from replan.model.control_plane import Answer, OutcomeUnknown, Rejected
from replan.model.names import BrokerId, TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.plan import Plan

LEAST_WINDOW = 500
"""How many waiting moves are looked at although as many as the window have begun and not ended."""


class RunState:
    """The memory of one run."""

    def __init__(self, plan: Plan, ledger: Ledger, now: float, settings: Settings) -> None:
        """At a takeover every request whose outcome is not definite may still be on its way from now on."""
        self.plan = plan
        self.settings = settings
        self.moves = {m.partition: m for m in plan.moves}
        self.holds: dict[TopicPartition, str] = {}
        self.notes: list[str] = []
        self.room = Room()
        self.watch = PartitionHistory()
        self.admitted: set[TopicPartition] = set()
        self._places = {m.partition: i for i, m in enumerate(plan.moves)}
        waiting = [m for m in plan.moves if m.partition not in ledger.owned]
        self.waiting = AdmissionQueue(
            [self._places[m.partition] for m in waiting if not internal(m)],
            [self._places[m.partition] for m in waiting if internal(m)],
        )
        self._copies_waiting = sum(1 for m in waiting if m.new)
        self._unknown_since = {n: now for n, own in ledger.open.items() if _unconfirmed(ledger, n)}
        self._answers: dict[TopicPartition, Answer] = {}
        self._suspicions: dict[TopicPartition, tuple[Suspect, float]] = {}
        self._limits: dict[BrokerId, int] = {}
        self._throttle_history = ThrottleHistory()
        self.refused_configs: dict[tuple[ConfigScope, str], Rejected] = {}
        self._missing_since: dict[str, float] = {}
        self._configs_unknown_since = dict.fromkeys(touched_by_priors(ledger), now)
        self._slots = Slots({}, settings.slots_per_broker, ())

    def candidates(self, ledger: Ledger, now: float) -> tuple[TopicPartition, ...]:
        """The waiting moves to look at now."""
        alone = not ledger.open and not self.admitted
        room = max(self.settings.window - len(ledger.open), LEAST_WINDOW)
        places = self.waiting.next(room, now, self._slots.free, alone=alone)
        return tuple(self.plan.moves[p].partition for p in places)

    def wanted(self, ledger: Ledger, candidates: tuple[TopicPartition, ...]) -> Wanted:
        """What to look at in this tick."""
        names = {*ledger.open, *self.admitted, *candidates}
        topics = {n.topic for n in names} | {topic for topic, _ in ledger.entries}
        brokers = {broker for broker, _ in ledger.rates}
        if self.plan.throttle is not None:
            for name in names:
                move = self.moves[name]
                brokers.update((*move.original, *move.new) if move.new else ())
        return Wanted(sorted(names), topics, brokers)

    def view(
        self,
        ledger: Ledger,
        seen: Observation,
        now: float,
        candidates: tuple[TopicPartition, ...],
        *,
        admitting: bool,
    ) -> TickInput:
        """Take in a look, and give everything that this tick is decided by."""
        self._note(ledger, seen, now, candidates)
        return TickInput(
            plan=self.plan,
            moves=self.moves,
            ledger=ledger,
            seen=seen,
            now=now,
            settings=self.settings,
            watch=self.watch,
            room=self.room,
            candidates=candidates,
            admitted=frozenset(self.admitted),
            reserving=frozenset(n for n in candidates if self.waiting.starving(self._places[n])),
            answers=self._answers,
            suspicions=self._suspicions,
            unknown_since=self._unknown_since,
            limits=self._limits,
            throttle_history=self._throttle_history,
            refused_configs=self.refused_configs,
            more_copies_wait=self._copies_waiting > 0,
            admitting=admitting,
        )

    def _note(
        self, ledger: Ledger, seen: Observation, now: float, candidates: tuple[TopicPartition, ...]
    ) -> None:
        looked = {n: self.moves[n] for n in (*ledger.open, *self.admitted, *candidates)}
        for loss in self.watch.note(looked, seen, now, self.settings.settle_seconds):
            own = ledger.open.get(loss.partition)
            if own is not None and expanding(own):
                self._limits = halved(self._limits, loss.loaded, self.settings.slots_per_broker)
        missing = {topic for topic, _ in ledger.entries if topic not in seen.topics}
        self._missing_since = {t: self._missing_since.get(t, now) for t in missing}
        gone = {
            t for t, at in self._missing_since.items() if now - at >= self.settings.agreeing_seconds
        }
        self._throttle_history = replace(
            self._throttle_history,
            gone=frozenset(gone),
            may_arrive=frozenset(self._configs_unknown_since),
        )

    def decided(self, view: TickInput, decision: Decision, after: Ledger) -> None:
        """Carry over what was decided and written down."""
        asked = {n for n in after.open if n not in view.ledger.open}
        for name in {*asked, *decision.ended, *decision.admitted}:
            self._begins(name, view)
        self.admitted.update(decision.admitted)
        self.admitted -= asked | set(decision.ended)
        self._wait_again(decision, view.now)
        for name in decision.ended:
            self._unknown_since.pop(name, None)
            self.holds.pop(name, None)
            self._grow(view, name)
        self.holds = {n: r for n, r in self.holds.items() if n not in asked} | decision.holds
        self._suspicions = {
            n: (s, _since(self._suspicions.get(n), s, view.now))
            for n, s in decision.suspected.items()
        }
        self.room = _promised(self.room, view, decision)
        self._slots = slots_of(view)
        throttle_view = ThrottleInput(view.seen.topics, view.seen.configs, self._throttle_history)
        self._throttle_history = history_after(decision.throttles, throttle_view, view.ledger)
        self._answers = {}

    def _begins(self, name: TopicPartition, view: TickInput) -> None:
        if name not in view.ledger.owned and name not in self.admitted:
            self.waiting.remove(self._places[name])
            self._copies_waiting -= 1 if self.moves[name].new else 0

    def _wait_again(self, decision: Decision, now: float) -> None:
        for name, broker in decision.parked.items():
            self.waiting.park(self._places[name], broker)
        for name in decision.withdrawn:
            if name in self.admitted:
                self.admitted.discard(name)
                self.waiting.readmit(self._places[name])
                self._copies_waiting += 1
        for name in (*decision.deferred, *decision.withdrawn):
            self.waiting.defer(self._places[name], now + self.settings.retry_seconds)

    def _grow(self, view: TickInput, name: TopicPartition) -> None:
        state, move = view.seen.partitions.get(name), self.moves[name]
        if self._limits and move.new and state is not None and name in view.ledger.open:
            led = () if state.leader is None else (state.leader,)
            brokers = {*move.original, *move.new, *led}.intersection(self._limits)
            self._limits = grown(self._limits, brokers, self.settings.slots_per_broker)

    def answered(self, answers: Answers, now: float) -> None:
        """Keep answers as hints for the next tick."""
        self._answers = answers.partitions
        for name, answer in answers.partitions.items():
            if isinstance(answer, OutcomeUnknown):
                self._unknown_since[name] = now
        for resource, outcome in answers.configs.items():
            if isinstance(outcome, Rejected):
                self.refused_configs[resource] = outcome
            else:
                self.refused_configs.pop(resource, None)
            if isinstance(outcome, OutcomeUnknown):
                self._configs_unknown_since[resource] = now

    def forget_old_unknowns(self, now: float) -> None:
        """After the quarantine a request is no longer on its way."""
        long_ago = now - self.settings.quarantine_seconds
        self._unknown_since = {n: at for n, at in self._unknown_since.items() if at > long_ago}
        self._configs_unknown_since = {
            resource: at for resource, at in self._configs_unknown_since.items() if at > long_ago
        }

    def configs_may_arrive(self) -> bool:
        """Whether an earlier change of a configuration may still be on its way."""
        return bool(self._configs_unknown_since)

    def new_notes(self, decision: Decision) -> tuple[str, ...]:
        """What is noticed for the first time."""
        fresh = tuple(n for n in decision.throttles.notes if n not in self.notes)
        self.notes.extend(fresh)
        return fresh

    def read_disks(self, snapshot: Snapshot, ledger: Ledger) -> None:
        """Take in the room on log directories; what runs keeps what it has not copied yet."""
        room = Room(snapshot.log_dirs)
        for name, own in ledger.open.items():
            if expanding(own):
                for broker in self.moves[name].new:
                    size = self.watch.size(name, broker)
                    copied = 0 if size is None else size.bytes
                    room = room.reserve((broker,), max(0, self.moves[name].bytes - copied))
        for name in self.admitted:
            room = room.reserve(self.moves[name].new, self.moves[name].bytes)
        self.room = room

    def copies_wait(self) -> bool:
        """Whether moves that copy have not begun."""
        return self._copies_waiting > 0


def touched_by_priors(ledger: Ledger) -> set[tuple[ConfigScope, str]]:
    """The topics and brokers whose throttles are ours in part."""
    topics = {(ConfigScope.TOPIC, topic) for topic, _ in ledger.entries}
    return topics | {(ConfigScope.BROKER, str(broker)) for broker, _ in ledger.rates}


def _unconfirmed(ledger: Ledger, name: TopicPartition) -> bool:
    asked = ledger.open[name].asked
    return asked is not None and not asked.confirmed


def _since(before: tuple[Suspect, float] | None, now_suspected: Suspect, now: float) -> float:
    agrees = before is not None and before[0].conclusion == now_suspected.conclusion
    return before[1] if agrees and before is not None else now


def _promised(room: Room, view: TickInput, decision: Decision) -> Room:
    for name in decision.admitted:
        state, move = view.seen.partitions.get(name), view.moves[name]
        room = room.reserve(move.new, max(move.bytes, 0 if state is None else state.bytes))
    return room


def refusals_in_words(refused: Mapping[tuple[ConfigScope, str], Rejected]) -> list[str]:
    """Configurations that Kafka refused to change, for people."""
    return [
        f"{scope} {name}: Kafka answered {answer.code} {answer.name}: {answer.message}"
        for (scope, name), answer in sorted(refused.items())
    ]
