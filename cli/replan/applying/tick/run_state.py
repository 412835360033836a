"""What a run knows from one tick to the next. Pure.

It has one owner, `ApplicationRun`, and changes in these steps of a tick and in no other:

    look      `look_for_tick`   what was read, and when; moves whose time has come wait in the queue again
              `observed`        what only several looks show
    decide    -                 `decide` changes nothing: it returns a `Decision` and the state that follows
    append    `decided`         that state, once the records are in the journal; if they are not, the one before stays
    send      `answered`        what became of the requests

Whoever asks in which phase a partition is, and why it waits, finds it in one place:

    Waiting, Deferred, Parked   `queue`, by place in the plan
    Admitted                    `admitted`
    InFlight, Ended             `ledger`: they are written down, and outlive the process
    why it waits                `holds`; of steps that are not of a partition `step_holds`

All but the ledger is this process's alone and may be lost.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from replan.applying.admission import (
    AdmissionQueue,
    LoadingUntil,
    Room,
    Slots,
    halved,
    limits_after_success,
)
from replan.applying.journal.ledger import Ledger, RequestSubject
from replan.applying.journal.records import MoveRecord, Status
from replan.applying.observation import Job, Neighbours, PartitionHistory, Readings, TickInput
from replan.applying.other_tools import OtherCopies
from replan.applying.partitions import (
    Admitted,
    Deferred,
    Ended,
    InFlight,
    Parked,
    Phase,
    Waiting,
    check_transition,
    new_and_cordoned,
)
from replan.applying.reasons.holds import LookTooOld
from replan.applying.reasons.notes import ReadingsApart
from replan.applying.reasons.reason import HoldReason, Note
from replan.applying.request_memory import Repeat, RequestMemory, held_since
from replan.applying.steering import throttle_of
from replan.applying.steps.kinds import kinds_of
from replan.applying.steps.log_moves import with_log_moves
from replan.applying.steps.recovering import RECOVERIES
from replan.applying.throttles import (
    ThrottleHistory,
    ThrottleInput,
    behind_entries_of_others,
    history_after,
)
from replan.applying.tick.decision import Answers, Decision, Repeats
from replan.applying.tick.unchanged import KeptHolds
from replan.model.broker import LogDir
from replan.model.configs import ConfigResource, ConfigScope, SettingName
from replan.model.declared.placement import MoveThrottle
from replan.model.layered import Layered
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.replica_logs import ProbedLogs
from replan.planning.plans.moves import Move

LEAST_WINDOW = 500
"""How many waiting moves are looked at although as many as the window have begun and not ended."""


class RunState(Struct, frozen=True, kw_only=True):
    """Everything that is carried from tick to tick."""

    readings: Readings
    ledger: Ledger
    """With an open application. It holds what is InFlight or Ended."""
    queue: AdmissionQueue = field(default_factory=AdmissionQueue)
    """What is Waiting, Deferred or Parked."""
    admitted: frozenset[TopicPartition] = frozenset()
    copies_waiting: int = 0
    """How many moves that copy wait in the queue."""
    history: PartitionHistory = field(default_factory=PartitionHistory)
    throttle_history: ThrottleHistory = field(default_factory=ThrottleHistory)
    room: Room = field(default_factory=Room)
    slots: Slots | None = None
    """As the tick before left them."""
    loads: LoadingUntil = field(default_factory=dict)
    """Of leaders of internal topics that have moved."""
    neighbours: Neighbours = field(default_factory=Neighbours)
    limits: Mapping[BrokerId, int] = field(default_factory=dict)
    """Of the brokers whose number of slots has shrunk."""
    holds: Layered[TopicPartition, HoldReason] = field(default_factory=Layered)
    """Why each partition waits, as last seen."""
    held_since: Layered[TopicPartition, float] = field(default_factory=Layered)
    """Since when each waits for the same kind of thing; for people, nothing is decided by it."""
    waits: KeptHolds = field(default_factory=KeptHolds)
    """The partitions in flight that need not be judged again until something of them changes."""
    moves: RequestMemory[TopicPartition] = field(default_factory=RequestMemory)
    configs: RequestMemory[ConfigResource] = field(default_factory=RequestMemory)
    """Of the settings that copies need."""
    steps: RequestMemory[RequestSubject] = field(default_factory=RequestMemory)
    steps_asked_at: Mapping[RequestSubject, float] = field(default_factory=dict)
    """When this process last asked for each."""
    repeats: Repeats = field(default_factory=Repeats)
    """Of settings and steps."""
    refused: tuple[float, str] | None = None
    """Since when the cluster has refused whole requests, and with what words."""
    missing_since: Mapping[str, float] = field(default_factory=dict)
    """Topics with throttles set by replan that no look has found."""
    unregistered_since: Mapping[BrokerId, float] = field(default_factory=dict)
    """Brokers with rates set by replan that no look has found."""
    leaderless_since: Mapping[TopicPartition, float] = field(default_factory=dict)
    """Partitions to recover."""
    leaderless_logs: Mapping[TopicPartition, ProbedLogs] = field(default_factory=dict)
    """What their replicas said last, while they had no leader."""
    others: OtherCopies = field(default_factory=OtherCopies)
    step_holds: Mapping[RequestSubject, HoldReason] = field(default_factory=dict)
    """Why each standing throttle setting waits, and each replica that is to lie in another log directory."""
    notes: tuple[Note, ...] = ()
    moved_at: float = 0.0
    """When something last moved: bytes, an ISR, a phase, a request that is not a repeated one, a throttle."""

    @property
    def configs_unknown_since(self) -> dict[ConfigResource, float]:
        """Topics and brokers of which a change may still be on its way, of whichever step."""
        since = dict(self.configs.unknown_since)
        for subject, at in self.steps.unknown_since.items():
            if isinstance(subject, SettingName):
                place = subject.resource
                since[place] = max(at, since.get(place, at))
        return since

    @property
    def config_resources(self) -> set[ConfigResource]:
        """Topics and brokers of which the tick before has asked to change a setting."""
        return {*self.configs.answers, *_places(self.steps.answers)}

    def unanswered(self, brokers: Iterable[BrokerId]) -> Replicas:
        """Those of these brokers that did not answer when they were last asked to change a setting."""
        places = {*self.configs.repeats, *_places(self.steps.repeats)}
        return tuple(sorted({b for b in brokers if (ConfigScope.BROKER, str(b)) in places}))

    def throttle(self, job: Job) -> MoveThrottle | None:
        """The throttle of copies now."""
        return throttle_of(job.plan.throttle, self.ledger.application)

    def phase(self, name: TopicPartition) -> Phase:
        """The phase of a partition that is looked at: what is Deferred or Parked waits in the queue unseen."""
        record = self.ledger.owned.get(name)
        if record is not None:
            return InFlight(record) if record.status is Status.OPEN else Ended(record)
        return Admitted() if name in self.admitted else Waiting()

    def next_candidates(
        self, job: Job, now: float
    ) -> tuple["RunState", tuple[TopicPartition, ...]]:
        """The waiting moves to look at now."""
        limit = max(job.settings.window - len(self.ledger.open), LEAST_WINDOW)
        queue = self.queue.released(now, _none if self.slots is None else self.slots.free)
        places = queue.next(limit)
        return replace(self, queue=queue), tuple(job.plan.moves[p].partition for p in places)

    def observed(self, tick: TickInput) -> "RunState":
        """Take in what a look shows only beside earlier ones."""
        job, look, now = tick.job, tick.look, tick.now
        moves = {n: job.moves[n] for n in (*self.ledger.open, *self.admitted, *tick.candidates)}
        topics = {topic for topic, _ in self.ledger.entries if not look.may_exist(topic)}
        missing = held_since(self.missing_since, topics, tick.ended)
        brokers = {broker for broker, _ in self.ledger.rates if broker not in look.brokers}
        unregistered = held_since(self.unregistered_since, brokers, tick.ended)
        history = self.history.after(moves, look, now, tick.ended, job.settings.settle_seconds)
        others = self.others.after(look, self.ledger, now, job.settings.agreeing_seconds)
        shown = look.partitions
        recoveries = (step.subject for step in RECOVERIES.pending(job, self.ledger))
        leaderless = [n for n in recoveries if n in shown and shown[n].leader is None]
        told = {n: tick.logs[n] for n in leaderless if n in tick.logs}
        moved = history.moved(self.history) or others.progress != self.others.progress
        return replace(
            self,
            notes=(*self.notes, *self._readings_apart(tick)),
            history=history,
            leaderless_since=held_since(self.leaderless_since, leaderless, now),
            leaderless_logs={**self.leaderless_logs, **told} if told else self.leaderless_logs,
            others=others,
            moved_at=now if moved else self.moved_at,
            limits=self._limits_after(moves.values(), tick),
            moves=self.moves.without_refusals(
                n for n, move in moves.items() if new_and_cordoned(move, look) is not None
            ),
            missing_since=missing,
            unregistered_since=unregistered,
            throttle_history=self._throttle_history_after(tick, missing, unregistered),
        )

    def _limits_after(self, moves: Iterable[Move], tick: TickInput) -> Mapping[BrokerId, int]:
        """The slots that brokers have, fewer where in-sync replicas were lost beside a copy."""
        limits = self.limits
        for loss in self.history.losses(moves, tick.look):
            record = self.ledger.open.get(loss.partition)
            if record is not None and record.expanding:
                limits = halved(limits, loss.loaded, tick.job.settings.slots_per_broker)
        return limits

    def _throttle_history_after(
        self,
        tick: TickInput,
        missing: Mapping[str, float],
        unregistered: Mapping[BrokerId, float],
    ) -> ThrottleHistory:
        """With what looks agree on: `missing` topics and `unregistered` brokers, each since when."""
        long_ago = tick.now - tick.job.settings.ending_seconds
        behind = behind_entries_of_others(tick.look, self.ledger)
        catching_up = held_since(self.throttle_history.catching_up, behind, tick.ended)
        return replace(
            self.throttle_history,
            gone=frozenset(t for t, at in missing.items() if at <= long_ago),
            unregistered=frozenset(b for b, at in unregistered.items() if at <= long_ago),
            may_arrive=frozenset(self.configs_unknown_since),
            catching_up=catching_up,
            giving_way=frozenset(r for (r, _), at in catching_up.items() if at < tick.ended),
        )

    def _readings_apart(self, tick: TickInput) -> Iterator[ReadingsApart]:
        """A note where readings are so far apart that confirming takes longer; once for the same silent brokers."""
        silent = tuple(sorted(tick.look.silent))
        gap = self.history.gap(tick.now) - tick.overslept
        noted = any(isinstance(n, ReadingsApart) and n.silent == silent for n in self.notes)
        longest = max(tick.settings.settle_seconds / 2, 2 * tick.settings.poll_seconds)
        if gap > longest and self.ledger.open and not noted:
            yield ReadingsApart(round(gap), silent)

    def without_a_look(self) -> "RunState":
        """The state after a look that failed."""
        return replace(self, history=self.history.without_a_look())

    def decided(self, tick: TickInput, decision: Decision) -> "RunState":
        """The state once a decision is written down, with what pauses; ValueError where no phase may follow another."""
        phases, settings = decision.phases, tick.settings
        for name, phase in phases.items():
            check_transition(self.phase(name), phase)
        requested = decision.requested
        begun = {n for n, p in phases.items() if isinstance(p, InFlight | Ended)}
        ended = {n for n, p in phases.items() if isinstance(p, Ended)}
        admitted = {n for n, p in phases.items() if isinstance(p, Admitted)}
        read = ThrottleInput(tick.look.topics, tick.look.rates, self.throttle_history)
        notes = (n for n in decision.throttles.notes if n not in self.notes)
        agreeing = (s for s in decision.suspected if s[0] not in requested)
        over = ended | (begun - self.ledger.open.keys())
        holds, since = _holds_after(self, decision.holds, over, tick.now)
        return replace(
            self,
            ledger=self.ledger.after(decision.records),
            queue=self.queue.after(
                {tick.job.places[n]: p for n, p in phases.items() if n not in self.ledger.open}
            ),
            admitted=(self.admitted - phases.keys()) | admitted,
            copies_waiting=self.copies_waiting + _copies_back(tick, self, phases),
            throttle_history=history_after(decision.throttles, read, self.ledger),
            loads=decision.loads,
            room=decision.room,
            slots=decision.slots,
            limits=_grown(
                self.limits, tick, ended & self.ledger.open.keys(), settings.slots_per_broker
            ),
            holds=holds,
            held_since=since,
            waits=decision.waits,
            notes=(*self.notes, *notes, *decision.notes),
            moves=replace(
                self.moves,
                suspected=held_since(self.moves.suspected, agreeing, tick.ended),
                answers={},
                repeats={n: r for n, r in self.moves.repeats.items() if n not in ended},
            ),
            steps=replace(
                self.steps,
                suspected=held_since(self.steps.suspected, decision.steps_suspected, tick.ended),
            ),
            step_holds=decision.step_holds,
            repeats=self.repeats.wanted(decision),
            moved_at=tick.now if _moves(self, decision) else self.moved_at,
        )

    def answered(self, decision: Decision, answers: Answers, now: float) -> "RunState":
        """Keep answers as hints for the next tick; what was to be asked for and was not sent goes then."""
        steps_asked_at, refused = self.steps_asked_at, self.refused
        unsent = {n: Repeat(0, 0.0) for n in decision.requested if n not in answers.partitions}
        if answers.steps:
            steps_asked_at = {**steps_asked_at, **dict.fromkeys(answers.steps, now)}
        if answers.refused is not None:
            refused = (now if refused is None else refused[0]), answers.refused
        elif answers.partitions or any(not isinstance(s, SettingName) for s in answers.steps):
            refused = None
        return replace(
            self,
            moves=self.moves.with_repeats(unsent).answered(answers.partitions, now),
            configs=self.configs.answered(answers.configs, now),
            steps=self.steps.answered(answers.steps, now),
            steps_asked_at=steps_asked_at,
            repeats=self.repeats.answered(decision, answers, now),
            refused=refused,
        )

    def without_old_unknowns(self, now: float, quarantine_seconds: float) -> "RunState":
        """After the quarantine a request is no longer on its way."""
        return replace(
            self,
            moves=self.moves.without_old(now, quarantine_seconds),
            configs=self.configs.without_old(now, quarantine_seconds),
            steps=self.steps.without_old(now, quarantine_seconds),
        )

    def with_room(self, job: Job, log_dirs: Iterable[LogDir]) -> "RunState":
        """Take in a reading of the log directories; what runs keeps what it has not copied yet."""
        room = Room.of(log_dirs)
        for name, record in self.ledger.open.items():
            move = job.moves[name]
            for broker in move.new if record.expanding else ():
                size = self.history.sizes.get((name, broker))
                copied = 0 if size is None else size.bytes
                room = room.reserve(name, (broker,), max(0, move.bytes - copied))
        for name in self.admitted:
            room = room.reserve(name, job.moves[name].new, job.moves[name].bytes)
        return replace(self, room=with_log_moves(room, job, self.ledger, self.step_holds))


def _none(_: BrokerId) -> int:
    return 0


def _places(subjects: Iterable[RequestSubject]) -> Iterator[ConfigResource]:
    """The topics and brokers of those that are settings."""
    return (subject.resource for subject in subjects if isinstance(subject, SettingName))


def first_state(
    job: Job, ledger: Ledger, now: float, silent_since: float | None = None
) -> RunState:
    """The state of a process that begins; every request whose outcome is not definite may still be on its way.

    None was sent later than the process before wrote something: `silent_since`, where that was watched.
    """
    since = now if silent_since is None else silent_since
    waiting = [m for m in job.plan.moves if m.partition not in ledger.owned]
    unconfirmed = [
        n
        for n, r in ledger.owned.items()
        if r.list_pending or (n in ledger.open and r.asked is not None and not r.asked.confirmed)
    ]
    return RunState(
        readings=Readings(disks_at=now),
        ledger=ledger,
        queue=AdmissionQueue(tuple(job.places[m.partition] for m in waiting)),
        copies_waiting=sum(1 for m in waiting if m.new),
        moved_at=now,
        moves=RequestMemory(unknown_since=dict.fromkeys(unconfirmed, since)),
        configs=RequestMemory(unknown_since=dict.fromkeys(throttled_resources(ledger), since)),
        steps=RequestMemory(
            unknown_since={
                step.subject: since
                for kind in kinds_of(job.plan)
                for step in kind.pending(job, ledger)
                if step.record is not None
            }
        ),
    )


def throttled_resources(ledger: Ledger) -> set[ConfigResource]:
    """The topics and brokers with throttles set by replan."""
    topics = {(ConfigScope.TOPIC, topic) for topic, _ in ledger.entries}
    return topics | {(ConfigScope.BROKER, str(broker)) for broker, _ in ledger.rates}


def too_slow(decision: Decision, after: RunState, reason: LookTooOld) -> tuple[Decision, RunState]:
    """What becomes of a decision that took too long to write down: nothing of it is sent, and it is decided again."""
    holds = dict.fromkeys(decision.requested, reason)
    return (
        replace(decision, holds={**decision.holds, **holds}),
        replace(after, holds=after.holds.changed(holds)),
    )


def _moves(state: RunState, decision: Decision) -> bool:
    """Whether a decision goes beyond what was decided before: the same request once more does not."""
    for record in decision.records:
        if not isinstance(record, MoveRecord):
            return True
        before = state.ledger.owned.get(record.partition)
        if before is None or _stands(before) != _stands(record):
            return True
    return False


def _stands(record: MoveRecord) -> tuple[object, ...]:
    asked = record.asked
    request = None if asked is None else (asked.kind, asked.replicas)
    return record.status, record.reached, request


def _holds_after(
    state: RunState,
    holds: Mapping[TopicPartition, HoldReason],
    over: set[TopicPartition],
    now: float,
) -> tuple[Layered[TopicPartition, HoldReason], Layered[TopicPartition, float]]:
    """The reasons to wait, and since when each partition waits for the same kind of thing.

    They are as many as moves wait, so only what changes is gone through.
    """
    before, since = state.holds, state.held_since
    fresh = {n: r for n, r in holds.items() if (b := before.get(n)) is not r and b != r}
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
        move, state = tick.job.moves[name], tick.look.partitions.get(name)
        if move.new and state is not None:
            led = () if state.leader is None else (state.leader,)
            limits = limits_after_success(
                limits, {*move.original, *move.new, *led}.intersection(limits), usual
            )
    return limits
