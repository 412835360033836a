"""What all steps beside moves have in common: one lifecycle, whatever a step asks for. Pure.

A kind of step is one module: what it reads, what one look says of a step, what is written down of it, and how it is
sent. Everything that holds for all of them is here, so that no kind can forget it:

1. An end that one look alone does not show (`Suspect`) waits until looks have agreed on it; so does a request that is
   asked for once more only when looks agree that it is needed.
2. Nothing ends short of being done while a request of it may still arrive.
3. Nothing is asked for while the application is paused, cancelled or being left, but for what takes back what a step
   has begun.
4. Once the application is cancelled, what has begun is judged by `judge_cancelled`, and nothing else begins.
5. What is asked for is written down first.

The columns that a step goes through: verdict -> agreed -> arrival -> closed -> limits -> asked.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger, RequestSubject, unended
from replan.applying.journal.records import Record, Status, StepRecord
from replan.applying.observation import Job, TickInput
from replan.applying.partitions import End, Hold, Suspect
from replan.applying.reasons.holds import Cancelling
from replan.applying.reasons.reason import HoldReason
from replan.applying.request_memory import RequestMemory
from replan.model.configs import ConfigResource, SettingName
from replan.model.control_plane import (
    Answer,
    ClusterReader,
    ClusterWriter,
    Look,
    Rejected,
    Wanted,
)
from replan.model.names import TopicPartition
from replan.model.replica_logs import LogReader, ProbedLogs
from replan.planning.plans.origins import Origin
from replan.planning.plans.plan import Plan


class Ask(Struct, frozen=True):
    """A request is to be sent."""

    request: Any
    """As its kind sends it."""
    hold: HoldReason | None = None
    """What the step waits for then."""
    takes_back: bool = False
    """It takes back what the step has begun, and is asked for whatever else is not."""
    limits: tuple[tuple[Hashable, int], ...] = ()
    """What it counts for, and how many of that a tick asks for."""
    full: HoldReason | None = None
    """What the step waits for where a limit is reached."""


StepVerdict = Ask | Hold | End | Suspect[Ask]


class StepInput(Struct, frozen=True):
    """What the steps of one tick are judged by."""

    tick: TickInput
    ledger: Ledger
    memory: RequestMemory[RequestSubject]
    asked_at: Mapping[RequestSubject, float] = field(default_factory=dict)
    """When this process last asked for each."""
    arriving: Collection[ConfigResource] = ()
    """Topics and brokers of which a setting may still change by an earlier request."""
    leaderless_since: Mapping[TopicPartition, float] = field(default_factory=dict)
    """As far as this process has seen."""
    logs: Mapping[TopicPartition, ProbedLogs] = field(default_factory=dict)
    """What replicas said last while they had no leader, as far as this process has seen."""

    def refusal(self, subject: RequestSubject) -> Rejected | None:
        """The refusal of the last request, if it is believed."""
        return self.memory.refusal(subject, self.tick.settings.agreeing_seconds)

    def arrives_within(self, subject: RequestSubject) -> float | None:
        """For how many seconds an earlier request may still arrive; None where none may."""
        quarantine = self.tick.settings.quarantine_seconds
        return self.memory.arrives_within(subject, self.tick.now, quarantine)


class Step(Protocol):
    """One step of a plan, and what is written down of it."""

    @property
    def subject(self) -> RequestSubject:
        """What it is about."""

    @property
    def record(self) -> StepRecord | None:
        """What the journal says of it; None where it has not begun."""

    def judge(self, given: StepInput) -> StepVerdict:
        """What one look says of it."""

    def judge_cancelled(self, given: StepInput) -> StepVerdict:
        """The same of one that has begun, once the application is cancelled."""

    def arrival_possible(self, end: End, given: StepInput, seconds: float) -> HoldReason:
        """Why it does not end yet: a request of it may arrive for so many seconds."""

    def begun(self, ledger: Ledger) -> StepRecord:
        """Its record where nothing is written down of it yet."""

    def asking(self, ask: Ask, ledger: Ledger) -> Iterable[Record]:
        """What is written down before a request is sent."""

    def ended(self, end: End, ledger: Ledger) -> Iterable[Record]:
        """What is written down at the end."""


def ending(step: Step, end: End, ledger: Ledger) -> StepRecord:
    """How it ended; a replica is named by its partition."""
    subject = step.subject
    named = subject if isinstance(subject, TopicPartition | SettingName) else subject[0]
    message = "" if end.reason is None else end.reason.of(named)
    return replace(step.record or step.begun(ledger), status=end.status, message=message)


class FromRecord:
    """What most steps write down: that they have begun, and how they ended."""

    __slots__ = ()

    def asking(self: Step, _ask: Ask, ledger: Ledger) -> Iterable[Record]:
        """That it has begun, and was asked for."""
        return () if self.record is not None else (replace(self.begun(ledger), asked=True),)

    def ended(self: Step, end: End, ledger: Ledger) -> Iterable[Record]:
        """How it ended."""
        return (ending(self, end, ledger),)


Requests = Iterator[
    tuple[Collection[RequestSubject], Callable[[ClusterWriter], Mapping[Any, Answer]]]
]
"""What is sent together: the subjects, and the request, whose answers are by subject."""


_S = TypeVar("_S", bound=Step)


class StepKind(ABC, Generic[_S]):
    """One kind of step."""

    part: ClassVar[str]
    """The field of a plan that has them."""
    record: ClassVar[type[StepRecord]]
    """What is written down of one."""
    copies = False
    """Whether its steps copy: then they need slots and a throttle, and are decided after the moves."""

    @abstractmethod
    def steps(self, plan: Plan, ledger: Ledger) -> list[_S]:
        """Those of a plan, with what is written down of them."""

    def is_in(self, plan: Plan) -> bool:
        """Whether a plan has any."""
        return bool(getattr(plan, self.part))

    def pending(self, job: Job, ledger: Ledger) -> list[_S]:
        """Those that have not ended."""
        steps = self.steps(job.plan, ledger) if self.is_in(job.plan) else []
        return [step for step in steps if unended(step.record)]

    @abstractmethod
    def reads(self, job: Job, ledger: Ledger, memory: RequestMemory[RequestSubject]) -> Wanted:
        """What a look has to show of them."""

    def logs(
        self, _reader: LogReader, _job: Job, _ledger: Ledger, _look: Look
    ) -> Mapping[TopicPartition, ProbedLogs]:
        """What replicas say of their logs that a tick is decided by beside its look; nothing is asked without need."""
        return {}

    def waits_until(
        self, _job: Job, _ledger: Ledger, _leaderless_since: Mapping[TopicPartition, float]
    ) -> float:
        """Until when no progress is expected, in seconds of the application's clock; minus infinity: no such time."""
        return -inf

    @abstractmethod
    def there(self, plan: Plan, cluster: ClusterReader) -> bool:
        """Whether the cluster shows all of a plan that has some as they are to be: it was applied before."""

    @abstractmethod
    def requests(self, asks: Mapping[Any, Any]) -> Requests:
        """How it sends what its steps ask for, by subject."""

    @abstractmethod
    def stays(self, plan: Plan | None, ledger: Ledger) -> Mapping[str, Sequence[Any]]:
        """What an ended application keeps of them for a plan back, by field of `Originals`.

        `plan`: its plan, where this release can read it.
        """

    def goes_back(self, _plan: Plan, _ledger: Ledger) -> list[Origin]:
        """What the moves of a plan back restore after a cancel; what else has begun stays as it is."""
        return []

    def settled(self, _plan: Plan, _ledger: Ledger, _cluster: ClusterReader) -> list[Record]:
        """How those have ended that were asked for, where an application is left and none may arrive any more.

        Of a kind that says nothing here they are shown as running.
        """
        return []


AnyKind = StepKind[Any]


class StepsDecided(Struct):
    """What one tick decides of the steps of one kind."""

    records: list[Record] = field(default_factory=list)
    asks: dict[RequestSubject, Any] = field(default_factory=dict)
    """The requests."""
    holds: dict[RequestSubject, HoldReason] = field(default_factory=dict)
    suspected: list[tuple[RequestSubject, Ask | End]] = field(default_factory=list)
    """What this look suggests, and another one has to agree with."""
    counts: Counter[Hashable] = field(default_factory=Counter)

    def ask(self, step: Step, ask: Ask, ledger: Ledger) -> None:
        """Ask for one, or let it wait where the tick asks for enough."""
        if ask.full is not None and any(self.counts[of] >= limit for of, limit in ask.limits):
            self.holds[step.subject] = ask.full
            return
        self.counts.update(of for of, _ in ask.limits)
        self.asks[step.subject] = ask.request
        self.records.extend(step.asking(ask, ledger))
        if ask.hold is not None:
            self.holds[step.subject] = ask.hold

    def end(self, step: Step, end: End, ledger: Ledger) -> None:
        """End one."""
        self.records.extend(step.ended(end, ledger))


def judge_steps(
    steps: Iterable[_S], given: StepInput, closed: HoldReason | None, into: StepsDecided
) -> Iterator[tuple[_S, Ask]]:
    """Judge steps, one after the other; yields what may be asked for, and takes in all else.

    `closed`: why nothing is to be asked for now, if so.
    """
    for step in steps:
        begun = step.record is not None
        cancelled = begun and isinstance(closed, Cancelling)
        verdict = step.judge_cancelled(given) if cancelled else step.judge(given)
        match _arrived(step, _agreed(step, verdict, given, into), given):
            case Hold(reason):
                into.holds[step.subject] = reason
            case End() as end:
                into.end(step, end, given.ledger)
            case Ask() as ask if closed is not None and not ask.takes_back:
                into.holds[step.subject] = closed
            case Ask() as ask:
                yield step, ask


def _agreed(
    step: Step, verdict: StepVerdict, given: StepInput, into: StepsDecided
) -> Ask | Hold | End:
    """The verdict, or a hold while looks do not agree on it; what was asked for again is to be agreed on again."""
    if not isinstance(verdict, Suspect):
        return verdict
    agreed = verdict.agreed(given.tick, step.subject, given.memory.suspected)
    if not (agreed and isinstance(verdict.conclusion, Ask)):
        into.suspected.append((step.subject, verdict.conclusion))
    return verdict.conclusion if agreed else Hold(verdict.reason)


def _arrived(step: Step, verdict: Ask | Hold | End, given: StepInput) -> Ask | Hold | End:
    """The verdict, or a hold where it is an end and a request may still arrive."""
    if not isinstance(verdict, End) or verdict.status is Status.DONE:
        return verdict
    seconds = given.arrives_within(step.subject)
    if seconds is None:
        return verdict
    return Hold(step.arrival_possible(verdict, given, seconds))
