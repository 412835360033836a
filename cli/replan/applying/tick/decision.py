"""What one tick decides, and what comes back of it. Pure."""

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from replan.applying.admission import LoadingUntil, Room, Slots
from replan.applying.journal.ledger import RequestSubject
from replan.applying.journal.records import Record
from replan.applying.partitions import End, Phase
from replan.applying.reasons.reason import HoldReason, Note
from replan.applying.request_memory import Repeat, again
from replan.applying.steps.step import AnyKind
from replan.applying.throttles import ThrottleTick
from replan.applying.tick.unchanged import KeptHolds
from replan.model.configs import ConfigChange, ConfigResource
from replan.model.control_plane import Accepted, Answer, OutcomeUnknown
from replan.model.names import Replicas, TopicPartition
from replan.planning.plans.requests import Request


class Decision(Struct, frozen=True, kw_only=True, dict=True):
    """What one tick does, all of it and nothing else, and what the run knows then."""

    records: tuple[Record, ...] = ()
    """Written down before anything is sent."""
    resizing: Mapping[TopicPartition, Replicas | None] = field(default_factory=dict)
    """Lists that may change the number of replicas, and cancels."""
    same_size: Mapping[TopicPartition, Replicas | None] = field(default_factory=dict)
    """Lists that must not: sent with AllowReplicationFactorChange = false (KIP-860)."""
    elections: tuple[tuple[TopicPartition, ...], ...] = ()
    """By request, in the order in which they are sent, each once the one before was answered."""
    steps: Mapping[AnyKind, Mapping[RequestSubject, Any]] = field(default_factory=dict)
    """What is asked for beside moves, by its kind."""
    throttles: ThrottleTick = field(default_factory=ThrottleTick)

    phases: Mapping[TopicPartition, Phase] = field(default_factory=dict)
    """The phases that partitions come into; all others stay in theirs."""
    holds: Mapping[TopicPartition, HoldReason] = field(default_factory=dict)
    """Why partitions wait."""
    step_holds: Mapping[RequestSubject, HoldReason] = field(default_factory=dict)
    """Why steps wait that are not of a partition."""
    suspected: tuple[tuple[TopicPartition, Request | End], ...] = ()
    """What this look suggests, and another one has to agree with."""
    steps_suspected: tuple[tuple[RequestSubject, Hashable], ...] = ()
    """The same of steps."""
    admission: HoldReason | None = None
    """Why nothing new may be admitted at all, if so."""
    waits: KeptHolds = field(default_factory=KeptHolds)
    """Why partitions in flight wait until something of them changes."""
    loads: LoadingUntil = field(default_factory=dict)
    """Of leaders of internal topics that have moved."""
    room: Room = field(default_factory=Room)
    slots: Slots | None = None
    """Room and slots that are left."""
    notes: tuple[Note, ...] = ()
    """Beside those of the throttles."""

    @cached_property
    def requested(self) -> set[TopicPartition]:
        """The partitions that something is asked for."""
        return {*self.resizing, *self.same_size, *chain(*self.elections)}

    @property
    def acts(self) -> bool:
        """Whether anything is to be sent or written."""
        return bool(
            self.records
            or any(self.steps.values())
            or self.throttles.removals
            or self.throttles.additions
        )


class Answers(Struct):
    """What came back of the requests of one tick; partitions that were not sent for are missing."""

    partitions: dict[TopicPartition, Answer] = field(default_factory=dict)
    configs: dict[ConfigResource, Answer] = field(default_factory=dict)
    steps: dict[RequestSubject, Answer] = field(default_factory=dict)

    @property
    def refused(self) -> str | None:
        """What the cluster said where it refused a whole request: this user may not ask for that now."""
        answers = (*self.partitions.values(), *self.configs.values(), *self.steps.values())
        refused = (a.reason for a in answers if isinstance(a, OutcomeUnknown) and a.refused)
        return next(refused, None)


Repeatable = ConfigChange | tuple[RequestSubject, Hashable]
"""A change of a setting, or what a step asks for."""


class Repeats(Struct, frozen=True):
    """What was asked for without a known outcome, by this process.

    A tick decides from what it sees what is to be asked for, however often that was asked before. A setting, or a copy
    between log directories, goes again after the pauses of `request_memory`; anything else for the same thing goes at
    once. Such a copy that is refused and still to be asked for pauses likewise.
    """

    waiting: Mapping[Repeatable, Repeat] = field(default_factory=dict)

    def due(self, decision: Decision, now: float) -> Decision:
        """The decision without what pauses."""
        early = {subject for subject, repeat in self.waiting.items() if repeat.at > now}
        if not early:
            return decision
        return replace(
            decision,
            throttles=decision.throttles.without(early),
            steps={
                kind: {s: r for s, r in asks.items() if _of_step(s, r) not in early}
                for kind, asks in decision.steps.items()
            },
        )

    def wanted(self, decision: Decision) -> "Repeats":
        """Those that a decision asks for once more, pausing or not; the others are over."""
        if not self.waiting:
            return self
        requests = {request for request, _ in _requests(decision, Answers())}
        return Repeats({of: repeat for of, repeat in self.waiting.items() if of in requests})

    def answered(self, sent: Decision, answers: Answers, now: float) -> "Repeats":
        """What waits once a decision was sent and answered."""
        repeats = dict(self.waiting)
        for subject, answer in _requests(sent, answers):
            repeat = repeats.pop(subject, Repeat(0, now))
            if answer is None:
                repeats[subject] = repeat
            elif isinstance(answer, OutcomeUnknown) or (
                not isinstance(subject, ConfigChange) and not isinstance(answer, Accepted)
            ):
                repeats[subject] = again(repeat, now)
        return Repeats(repeats)


def _requests(decision: Decision, answers: Answers) -> Iterator[tuple[Repeatable, Answer | None]]:
    """What a decision asks for, each with its answer, if there is one."""
    for change in (*decision.throttles.removals, *decision.throttles.additions):
        yield change, answers.configs.get((change.scope, change.name))
    for asks in decision.steps.values():
        for subject, request in asks.items():
            yield _of_step(subject, request), answers.steps.get(subject)


def _of_step(subject: RequestSubject, request: Any) -> Repeatable:
    return request if isinstance(request, ConfigChange) else (subject, request)
