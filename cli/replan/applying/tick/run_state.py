"""What a run knows from one tick to the next: a value, and the steps from one to the next that are no decisions.

All but the ledger is this process's alone and may be lost. What is to be done is decided in `decide`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from replan.applying.admission.coordinators import Loads
from replan.applying.admission.disk_space import Room
from replan.applying.admission.queue import AdmissionQueue
from replan.applying.admission.slots import Slots, halved
from replan.applying.journal.ledger import Ledger
from replan.applying.journal.steps import Status
from replan.applying.observation.history import PartitionHistory, held_since
from replan.applying.observation.neighbours import Neighbours
from replan.applying.observation.refusals import Refused, refusals
from replan.applying.other_tools import OtherCopies
from replan.applying.partitions.judge import End
from replan.applying.partitions.phase import Admitted, Ended, InFlight, Phase, Waiting
from replan.applying.reasons.notes import Note, ReadingsApart
from replan.applying.reasons.waits import HoldReason
from replan.applying.steering import throttle_of
from replan.applying.steps.creating import Creating
from replan.applying.steps.log_moves import LogMoving
from replan.applying.steps.recovering import Recovering, first_known
from replan.applying.steps.standing_throttles import Standing
from replan.applying.throttles.giving_way import behind_entries_of_others
from replan.applying.throttles.tick import ThrottleHistory
from replan.applying.tick.unchanged import Waits
from replan.applying.tick_input import Job, TickInput
from replan.model.broker import LogDir
from replan.model.configs import ConfigScope, SettingName
from replan.model.control_plane import Answer, OutcomeUnknown, Rejected, ReplicaName
from replan.model.declared.placement import MoveThrottle
from replan.model.layered import Layered
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.plans.requests import Request

LEAST_WINDOW = 500
"""How many waiting moves are looked at although as many as the window have begun and not ended."""

LONGEST_PAUSE = 30.0
"""Seconds before a request without a known outcome is sent once more."""
MOST_TIMES = 6
"""From then on the pauses are the longest."""

Configured = tuple[ConfigScope, str]
"""A topic or a broker, as something whose configuration is changed."""


@dataclass(slots=True)
class Answers:
    """What came back of the requests of one tick; partitions that were not sent for are missing."""

    partitions: dict[TopicPartition, Answer] = field(default_factory=dict)
    configs: dict[Configured, Answer] = field(default_factory=dict)
    creates: dict[str, Answer] = field(default_factory=dict)
    """By topic."""
    standing: dict[Configured, Answer] = field(default_factory=dict)
    recoveries: dict[TopicPartition, Answer] = field(default_factory=dict)
    log_moves: dict[ReplicaName, Answer] = field(default_factory=dict)

    @property
    def refused(self) -> str | None:
        """What the cluster said where it refused a whole request: this user may not ask for that now."""
        of = (
            self.partitions,
            self.configs,
            self.creates,
            self.standing,
            self.recoveries,
            self.log_moves,
        )
        found = (answer for answers in of for answer in answers.values())
        refused = (a.reason for a in found if isinstance(a, OutcomeUnknown) and a.refused)
        return next(refused, None)


@dataclass(frozen=True, slots=True)
class Repeat:
    """A request without a known outcome: how often in a row, and when it may be sent again."""

    times: int
    at: float
    refusal: str = ""
    """What the cluster said where it refused the whole request; empty where nothing was said."""


def again(known: Repeat | None, now: float, refusal: str = "") -> Repeat:
    """The next one: at once the first time, then after pauses that grow to half a minute."""
    times = min(1 if known is None else known.times + 1, MOST_TIMES)
    pause = 0 if times == 1 else min(2.0 ** (times - 1), LONGEST_PAUSE)
    return Repeat(times, now + pause, refusal)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """Everything that is carried from tick to tick."""

    ledger: Ledger
    """With an open application. It holds what is InFlight or Ended."""
    queue: AdmissionQueue = field(default_factory=AdmissionQueue)
    """What is Waiting, Deferred or Parked."""
    admitted: frozenset[TopicPartition] = frozenset()
    given_up: frozenset[TopicPartition] = frozenset()
    """What is Ended in the middle, after an expand: its copy may still run."""
    copies_waiting: int = 0
    """How many moves that copy wait in the queue."""
    history: PartitionHistory = field(default_factory=PartitionHistory)
    throttle_history: ThrottleHistory = field(default_factory=ThrottleHistory)
    room: Room = field(default_factory=Room)
    slots: Slots | None = None
    """As the tick before left them."""
    loads: Loads = field(default_factory=dict)
    """Of leaders of internal topics that have moved."""
    neighbours: Neighbours = field(default_factory=Neighbours)
    limits: Mapping[BrokerId, int] = field(default_factory=dict)
    """Of the brokers whose number of slots has shrunk."""
    holds: Layered[TopicPartition, HoldReason] = field(default_factory=Layered)
    """Why each partition waits, as last seen."""
    held_since: Layered[TopicPartition, float] = field(default_factory=Layered, compare=False)
    """Since when each waits for the same kind of thing; for people, nothing is decided by it."""
    waits: Waits = field(default_factory=Waits)
    """The partitions in flight that need not be judged again until something of them changes."""
    suspected: Mapping[tuple[TopicPartition, Request | End], float] = field(default_factory=dict)
    """What looks have suggested so far, and since when."""
    answers: Mapping[TopicPartition, Answer] = field(default_factory=dict)
    """To the requests of the tick before."""
    repeats: Mapping[TopicPartition, Repeat] = field(default_factory=dict)
    """Requests that are to be sent again, as nobody knows what became of them."""
    unknown_since: Mapping[TopicPartition, float] = field(default_factory=dict)
    """Partitions of which a request may still be on its way."""
    configs_unknown_since: Mapping[Configured, float] = field(default_factory=dict)
    refused_configs: Mapping[Configured, Rejected] = field(default_factory=dict)
    """Settings that Kafka refused when they were last asked for."""
    refused: Mapping[TopicPartition, Refused] = field(default_factory=dict)
    """Lists and elections that Kafka refuses."""
    refused_settings: Mapping[Configured, Refused] = field(default_factory=dict)
    unanswered_configs: frozenset[Configured] = frozenset()
    """Places whose last change nobody answered."""
    missing_since: Mapping[str, float] = field(default_factory=dict)
    """Topics with throttles set by replan that no look has found."""
    unregistered_since: Mapping[BrokerId, float] = field(default_factory=dict)
    """Brokers with rates set by replan that no look has found."""
    creating: Creating = field(default_factory=Creating)
    standing: Standing = field(default_factory=Standing)
    others: OtherCopies = field(default_factory=OtherCopies)
    setting_holds: Mapping[SettingName, HoldReason] = field(default_factory=dict)
    """Why each standing throttle setting waits."""
    recovering: Recovering = field(default_factory=Recovering)
    log_moving: LogMoving = field(default_factory=LogMoving)
    log_holds: Mapping[ReplicaName, HoldReason] = field(default_factory=dict)
    """Why each replica waits that is to lie in another log directory."""
    notes: tuple[Note, ...] = ()
    moved_at: float = 0.0
    """When something last moved: bytes, an ISR, a phase, a request that is not a repeated one, a throttle."""

    def repeat_seconds(self, name: TopicPartition, now: float) -> float | None:
        """In how long the last request of a partition may be sent again; None where its outcome is known."""
        repeat = self.repeats.get(name)
        return None if repeat is None else max(0.0, repeat.at - now)

    def unanswered(self, brokers: Iterable[BrokerId]) -> Replicas:
        """Those of these brokers that did not answer when they were last asked to change a setting."""
        places = self.unanswered_configs
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

    def chosen(self, job: Job, now: float) -> tuple["RunState", tuple[TopicPartition, ...]]:
        """The waiting moves to look at now."""
        limit = max(job.settings.window - len(self.ledger.open), LEAST_WINDOW)
        queue = self.queue.released(now, _none if self.slots is None else self.slots.free)
        places = queue.next(limit)
        return replace(self, queue=queue), tuple(job.plan.moves[p].partition for p in places)

    def observed(self, tick: TickInput) -> "RunState":
        """Take in what a look shows only beside earlier ones."""
        job, seen, now = tick.job, tick.seen, tick.now
        moves = {n: job.moves[n] for n in (*self.ledger.open, *self.admitted, *tick.candidates)}
        limits = self.limits
        for loss in self.history.losses(moves.values(), seen):
            record = self.ledger.open.get(loss.partition)
            if record is not None and record.expanding:
                limits = halved(limits, loss.loaded, job.settings.slots_per_broker)
        topics = {topic for topic, _ in self.ledger.entries if not seen.may_exist(topic)}
        missing = held_since(self.missing_since, topics, tick.ended)
        brokers = {broker for broker, _ in self.ledger.rates if broker not in seen.brokers}
        unregistered = held_since(self.unregistered_since, brokers, tick.ended)
        long_ago = now - job.settings.agreeing_seconds
        settle = job.settings.settle_seconds
        history = self.history.after(moves, seen, now, tick.ended, settle)
        behind = behind_entries_of_others(seen, self.ledger)
        catching_up = held_since(self.throttle_history.catching_up, behind, tick.ended)
        others = self.others.after(seen, self.ledger, now, job.settings.agreeing_seconds)
        moved = history.moved(self.history) or others.progress != self.others.progress
        return replace(
            self,
            notes=(*self.notes, *self._readings_apart(tick)),
            history=history,
            others=others,
            moved_at=now if moved else self.moved_at,
            limits=limits,
            missing_since=missing,
            unregistered_since=unregistered,
            throttle_history=replace(
                self.throttle_history,
                gone=frozenset(t for t, at in missing.items() if at <= long_ago),
                unregistered=frozenset(
                    b for b, at in unregistered.items() if at <= now - job.settings.ending_seconds
                ),
                may_arrive=frozenset(self.configs_unknown_since),
                catching_up=catching_up,
                giving_way=frozenset(r for (r, _), at in catching_up.items() if at < tick.ended),
            ),
        )

    def _readings_apart(self, tick: TickInput) -> Iterator[ReadingsApart]:
        """A note where readings are so far apart that confirming takes longer; once for the same silent brokers."""
        silent = tuple(sorted(tick.seen.silent))
        gap = self.history.gap(tick.now) - tick.overslept
        noted = any(isinstance(n, ReadingsApart) and n.silent == silent for n in self.notes)
        longest = max(tick.settings.settle_seconds / 2, 2 * tick.settings.poll_seconds)
        if gap > longest and self.ledger.open and not noted:
            yield ReadingsApart(round(gap), silent)

    def without_a_look(self) -> "RunState":
        """The state after a look that failed."""
        return replace(self, history=self.history.without_a_look())

    def answered(self, answers: Answers, now: float) -> "RunState":
        """Keep answers as hints for the next tick."""
        refused: dict[Configured, Rejected] = {}
        unknown = dict(self.configs_unknown_since)
        asked = (*answers.configs.items(), *answers.standing.items())
        unanswered = set(self.unanswered_configs).difference(resource for resource, _ in asked)
        for resource, outcome in asked:
            if isinstance(outcome, Rejected) and resource in answers.configs:
                refused[resource] = outcome
            if isinstance(outcome, OutcomeUnknown):
                unknown[resource] = now
                unanswered.add(resource)
        repeats = dict(self.repeats)
        for name, answer in answers.partitions.items():
            known = repeats.pop(name, None)
            if isinstance(answer, OutcomeUnknown):
                repeats[name] = again(known, now, answer.reason if answer.refused else "")
        return replace(
            self,
            answers=answers.partitions,
            creating=self.creating.answered(answers.creates, now),
            standing=replace(
                self.standing, refused=refusals(self.standing.refused, answers.standing, now)
            ),
            recovering=self.recovering.answered(answers.recoveries, now),
            log_moving=self.log_moving.answered(answers.log_moves, now),
            repeats=repeats,
            unknown_since=dict(self.unknown_since)
            | {n: now for n, a in answers.partitions.items() if isinstance(a, OutcomeUnknown)},
            refused_configs=refused,
            unanswered_configs=frozenset(unanswered),
            refused=refusals(self.refused, answers.partitions, now),
            refused_settings=refusals(self.refused_settings, answers.configs, now),
            configs_unknown_since=unknown,
        )

    def without_old_unknowns(self, now: float, quarantine_seconds: float) -> "RunState":
        """After the quarantine a request is no longer on its way."""
        long_ago = now - quarantine_seconds
        if not self.unknown_since and not self.configs_unknown_since:
            return self
        return replace(
            self,
            unknown_since={n: at for n, at in self.unknown_since.items() if at > long_ago},
            configs_unknown_since={
                resource: at for resource, at in self.configs_unknown_since.items() if at > long_ago
            },
        )

    def with_room(self, job: Job, log_dirs: Iterable[LogDir]) -> "RunState":
        """Take in a reading of the log directories; what runs keeps what it has not copied yet."""
        room = Room(tuple(log_dirs))
        for name, record in self.ledger.open.items():
            move = job.moves[name]
            for broker in move.new if record.expanding else ():
                size = self.history.sizes.get((name, broker))
                copied = 0 if size is None else size.bytes
                room = room.reserve(name, (broker,), max(0, move.bytes - copied))
        for name in self.admitted:
            room = room.reserve(name, job.moves[name].new, job.moves[name].bytes)
        return replace(self, room=room)


def _none(_: BrokerId) -> int:
    return 0


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
        ledger=ledger,
        queue=AdmissionQueue(tuple(job.places[m.partition] for m in waiting)),
        given_up=frozenset(n for n, r in ledger.owned.items() if r.given_up),
        copies_waiting=sum(1 for m in waiting if m.new),
        moved_at=now,
        unknown_since=dict.fromkeys(unconfirmed, since),
        configs_unknown_since=dict.fromkeys(
            throttled(ledger)
            | {(r.scope, r.name) for r in ledger.standing.values() if r.status is Status.OPEN},
            since,
        ),
        creating=Creating(
            unknown_since={t: since for t, r in ledger.creates.items() if r.status is Status.OPEN}
        ),
        recovering=first_known(ledger, since),
        log_moving=LogMoving(
            unknown_since={n: since for n, r in ledger.log_moves.items() if r.status is Status.OPEN}
        ),
    )


def throttled(ledger: Ledger) -> set[Configured]:
    """The topics and brokers with throttles set by replan."""
    topics = {(ConfigScope.TOPIC, topic) for topic, _ in ledger.entries}
    return topics | {(ConfigScope.BROKER, str(broker)) for broker, _ in ledger.rates}
