"""What a loop is and says at one moment: a frozen value, which encodes to JSON, and the port of those who watch it.

All times are seconds since 1970-01-01T00:00:00Z; all durations are seconds. `msgspec.json.encode` writes the document;
each reason and each `whyNot` has its type in `is`.
"""

from enum import StrEnum
from typing import Final, Literal, Protocol

import msgspec

from replan.applying.journal.records import moment_of
from replan.model.declared.placement import Placement
from replan.model.declared.reconcile import REST_SECONDS, DeviationKind
from replan.model.snapshot import Snapshot
from replan.planning.plans.plan import Plan
from replan.wording import count, duration, listed, size

STATUS_KIND: Final = "replan.reconcile"
STATUS_FORMAT_VERSION: Final = 1
LISTED_DEVIATIONS = 200
"""So many deviations are listed one by one; all of them are counted."""
KEPT_ROUNDS = 20
"""So many of the last rounds that did something are kept."""


class LoopState(StrEnum):
    """What a loop does now; the package says when."""

    STARTING = "starting"
    WAITING_FOR_LEASE = "waiting-for-lease"
    UNREACHABLE = "unreachable"
    BROKEN_PLACEMENT = "broken-placement"
    PAUSED = "paused"
    HELD_BY_ANOTHER = "held-by-another"
    ACTING = "acting"
    HOLDING = "holding"
    BACKING_OFF = "backing-off"
    OUTSIDE_WINDOW = "outside-window"
    WAITING = "waiting"
    DIFFERS = "differs"
    AT_REST = "at-rest"
    ENDED = "ended"


def utc(seconds: float) -> str:
    """A moment within a sentence: `2026-11-24 03:00:00 UTC`."""
    return moment_of(seconds).replace("T", " ").replace("Z", " UTC")


def _some(names: tuple[str, ...], total: int) -> str:
    shown = names[:10]
    more = total - len(shown)
    return listed(shown) + (f" and {more:,} more" if more > 0 else "")


class Value(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A part of the status."""


class Typed(Value, frozen=True, tag_field="is"):
    """One of several: its type is in `is`."""


# Why the loop is in its state, and the way out where a person has one, as a sentence.
# `needs_person`: it does not go on by itself; `replan resume` lets it.


class LeaseHeld(Typed, frozen=True, tag="lease-held"):
    """Another loop works on this cluster."""

    holder: str
    """`alice@ops-1 (pid 4711)`."""
    since: float
    silent_seconds: float
    """For how long it has shown no sign of life; taken over at `taken_over_at_seconds`."""
    taken_over_at_seconds: float

    def __str__(self) -> str:
        return (
            f"{self.holder} has worked on it since {utc(self.since)}; its last sign of life was "
            f"{duration(self.silent_seconds)} ago, and it is taken over after "
            f"{duration(self.taken_over_at_seconds)} without one."
        )


class Failed(Typed, frozen=True, tag="failed"):
    """The cluster, the journal, the placement or git could not be read; in the words of the error."""

    text: str
    since: float

    def __str__(self) -> str:
        return f"Since {utc(self.since)}: {self.text}"


class SomebodyPaused(Typed, frozen=True, tag="paused-by"):
    """Somebody paused the loop, or its application."""

    sender: str
    since: float

    def __str__(self) -> str:
        return f"{self.sender} paused it, {utc(self.since)}."


class OtherApplication(Typed, frozen=True, tag="other-application"):
    """An application that no loop opened is open."""

    application: str
    owner: str
    at_work: bool
    """Whether a process performs it."""
    text: str = ""

    def __str__(self) -> str:
        works = "is being applied" if self.at_work else "is open, and no process is at work"
        return f"Application {self.application} of {self.owner} {works}.{f' {self.text}' if self.text else ''}"


class LockHeld(Typed, frozen=True, tag="lock-held"):
    """Another process has the lock of the cluster, or took it."""

    text: str

    def __str__(self) -> str:
        return self.text


class BrokersDown(Typed, frozen=True, tag="brokers-down"):
    """As many brokers are down as `hold` says, or more."""

    down: tuple[int, ...]
    registered: int
    most: int
    """So many hold."""

    def __str__(self) -> str:
        return (
            f"{count(len(self.down), 'broker')} of {self.registered:,} {'is' if len(self.down) == 1 else 'are'} down "
            f"({listed(self.down)}); it holds from {self.most:,} on (`hold.brokersDown`)."
        )


class RacksDown(Typed, frozen=True, tag="racks-down"):
    """As many racks have no live broker as `hold` says, or more."""

    down: tuple[str, ...]
    most: int

    def __str__(self) -> str:
        return (
            f"{count(len(self.down), 'rack')} without a live broker ({listed(self.down)}); it holds from "
            f"{self.most:,} on (`hold.racksDown`)."
        )


class UnderMinIsr(Typed, frozen=True, tag="under-min-isr"):
    """Partitions came under their min ISR since the round began, and the round does not heal them."""

    partitions: tuple[str, ...]
    """The first of them."""
    total: int

    def __str__(self) -> str:
        return (
            f"{count(self.total, 'partition')} came under min ISR since the round began, which it does not heal: "
            f"{_some(self.partitions, self.total)}."
        )


class BrokersFirst(Typed, frozen=True, tag="brokers-first"):
    """Brokers died while the round was at work, and are due to be replaced: the next round does that first."""

    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return (
            f"{count(len(self.brokers), 'broker')} died while the round was at work ({listed(self.brokers)}), and "
            "the replicas there come first; the rest of the round comes after."
        )


class EndedWorse(Typed, frozen=True, tag="ended-worse"):
    """The last round ended with more partitions without leader, or under min ISR, than it began with."""

    round: int
    before: int
    after: int
    needs_person: bool = True

    def __str__(self) -> str:
        looks = " `replan resume` lets it go on." if self.needs_person else ""
        return (
            f"Round {self.round:,} ended with {self.after:,} partitions without a leader or under min ISR, and began "
            f"with {self.before:,}; a person must look.{looks}"
        )


class MovedTooOften(Typed, frozen=True, tag="moved-too-often"):
    """A partition was moved three times within a day, and is to be moved again."""

    partitions: tuple[str, ...]
    """The first of them."""
    total: int
    times: int
    until: float

    def __str__(self) -> str:
        return (
            f"Moved {self.times:,} times within a day, and to be moved again: "
            f"{_some(self.partitions, self.total)}; not before {utc(self.until)}."
        )


class RoundsFail(Typed, frozen=True, tag="rounds-fail"):
    """The last rounds failed; in the words of the last one."""

    times: int
    text: str
    until: float

    def __str__(self) -> str:
        return f"{count(self.times, 'round')} failed; the next one is at {utc(self.until)}. The last one: {self.text}"


class NoWindow(Typed, frozen=True, tag="no-window"):
    """No window is open."""

    opens_at: float | None

    def __str__(self) -> str:
        return "No window is open; " + (
            "none opens."
            if self.opens_at is None
            else f"the next one opens at {utc(self.opens_at)}."
        )


LoopReason = (
    LeaseHeld
    | Failed
    | SomebodyPaused
    | OtherApplication
    | LockHeld
    | BrokersDown
    | RacksDown
    | UnderMinIsr
    | BrokersFirst
    | EndedWorse
    | MovedTooOften
    | RoundsFail
    | NoWindow
)


# Why a deviation is not put right at this moment.


class NotAllowed(Typed, frozen=True, tag="not-allowed"):
    """Policy says `never`, or nothing, of its kind."""

    def __str__(self) -> str:
        return "policy never puts it right"


class NoHistory(Typed, frozen=True, tag="no-history"):
    """No round was completed yet, so nobody knows whether the placement or the cluster was changed."""

    def __str__(self) -> str:
        return "no round was completed yet, so nobody knows who changed it"


class TooEarly(Typed, frozen=True, tag="too-early"):
    """It has not lasted long enough."""

    def __str__(self) -> str:
        return "has not lasted long enough"


class WindowClosed(Typed, frozen=True, tag="window-closed"):
    """No window is open for its kind."""

    opens_at: float | None

    def __str__(self) -> str:
        return "no window is open" + (
            "" if self.opens_at is None else f" until {utc(self.opens_at)}"
        )


class LoopHolds(Typed, frozen=True, tag="loop-holds"):
    """The loop does nothing now: see its reasons."""

    def __str__(self) -> str:
        return "the loop does nothing now"


class Refused(Typed, frozen=True, tag="refused"):
    """Safety or a limit refuses it; `rule` as in a plan."""

    rule: str

    def __str__(self) -> str:
        return f"refused [{self.rule}]"


class NextStage(Typed, frozen=True, tag="next-stage"):
    """The limits leave it for a later round."""

    def __str__(self) -> str:
        return "in a later round, by the limits"


class RunsElsewhere(Typed, frozen=True, tag="runs-elsewhere"):
    """A reassignment of another tool runs on it."""

    def __str__(self) -> str:
        return "another tool moves it"


class NeedsBrokers(Typed, frozen=True, tag="needs-brokers"):
    """Its replicas are to be on brokers that are down: it goes on once they serve, or are replaced."""

    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return f"waits for {'broker' if len(self.brokers) == 1 else 'brokers'} {listed(self.brokers)}, down"


class DeclaredByList(Typed, frozen=True, tag="declared-by-list"):
    """Its replicas are declared one by one: a person changes the placement."""

    def __str__(self) -> str:
        return "declared by list: change the placement"


class NeedsRates(Typed, frozen=True, tag="needs-rates"):
    """The balance goes by what producers write, and nobody has said that: `--rates`."""

    def __str__(self) -> str:
        return "not known without --rates, which says what producers write"


class FitsNowhere(Typed, frozen=True, tag="no-room"):
    """So many bytes of a log directory fit nowhere else without filling that, or are of topics that nobody declares."""

    bytes: int

    def __str__(self) -> str:
        return f"{size(self.bytes)} of it have room nowhere else by the rules"


class FillsLogDirs(Typed, frozen=True, tag="fills-log-dirs"):
    """Its lists would bring log directories of these brokers above the share at which policy empties them."""

    brokers: tuple[int, ...]

    def __str__(self) -> str:
        brokers = f"{'broker' if len(self.brokers) == 1 else 'brokers'} {listed(self.brokers)}"
        return (
            f"would fill log directories of {brokers} above the share of logDirFull: "
            "give them more room, or widen the balance"
        )


class PersonActs(Typed, frozen=True, tag="person-acts"):
    """No policy puts it right: it has no leader, a date has passed, partitions are too many, a topic is absent."""

    def __str__(self) -> str:
        return "needs a person"


class DryRun(Typed, frozen=True, tag="dry-run"):
    """It would be put right now, and the loop only watches."""

    def __str__(self) -> str:
        return "would be put right now (dry run)"


WhyNot = (
    NotAllowed
    | NoHistory
    | TooEarly
    | WindowClosed
    | LoopHolds
    | Refused
    | NextStage
    | RunsElsewhere
    | NeedsBrokers
    | DeclaredByList
    | NeedsRates
    | FitsNowhere
    | FillsLogDirs
    | PersonActs
    | DryRun
)


class Subject(Value, frozen=True, omit_defaults=True):
    """What a deviation is about: a partition, a topic, a broker, a log directory of it, or the cluster."""

    topic: str | None = None
    partition: int | None = None
    broker: int | None = None
    path: str | None = None
    detail: str = ""
    """What is set, or where it is written."""


class ListedDeviation(Value, frozen=True, omit_defaults=True):
    """One thing that is not as it is declared, as a status lists it."""

    kind: DeviationKind | None
    """None: no policy puts it right, and a person acts."""
    subject: Subject
    since: float
    """As far as loops have seen it."""
    due_at: float | None = None
    """When policy lets it be put right, windows and holds aside; None: never."""
    why_not: WhyNot | None = None
    """None: it is put right now, or by the next round."""
    declared: tuple[int, ...] = ()
    observed: tuple[int, ...] = ()
    drift: str = ""
    """The rule by which `drift` classes it, e.g. `lists-differ`."""


class Tally(Value, frozen=True, omit_defaults=True):
    """All deviations of one kind."""

    kind: DeviationKind | None
    count: int
    since: float
    """Of the oldest."""
    due_at: float | None = None
    """Of the next one that is due."""


class RoundResult(StrEnum):
    """How a round that did something ended."""

    DONE = "done"
    PARTLY = "partly"
    """Some partitions are refused, or stopped; by name in the journal."""
    CANCELLED = "cancelled"
    """Its window ended, a broker came back, or somebody cancelled it: what was not begun is left."""
    LEFT = "left"
    """Another process took over, or it gave up waiting: the application is open."""
    FAILED = "failed"


class Round(Value, frozen=True, omit_defaults=True):
    """One round that applied a plan."""

    number: int
    began_at: float
    ended_at: float
    result: RoundResult
    kinds: tuple[DeviationKind, ...]
    """What it put right."""
    moves: int
    bytes: int
    """Of its copies, by the sizes of the plan."""
    plan_digest: str
    application: str = ""
    placement_digest: str = ""
    commit: str = ""
    text: str = ""
    """How it ended, in words."""


class CopyingReplica(Value, frozen=True):
    """One new replica of a running copy."""

    topic: str
    partition: int
    broker: int
    copied_bytes: int | None
    total_bytes: int
    bytes_per_second: float | None
    seconds_left: float | None


class Running(Value, frozen=True):
    """The application that this loop performs now."""

    application: str
    plan_digest: str
    began_at: float
    kinds: tuple[DeviationKind, ...]
    total: int
    """Steps of the plan; the next four add up to it."""
    done: int
    stopped: int
    running: int
    waiting: int
    copied_bytes: int = 0
    total_bytes: int = 0
    bytes_per_second: float = 0.0
    seconds_left: float | None = None
    copies: tuple[CopyingReplica, ...] = ()
    """The first `LISTED_DEVIATIONS`."""
    nothing_begins: LoopReason | None = None
    """Why nothing more of it is begun, if so."""


class Next(Value, frozen=True, omit_defaults=True):
    """What the loop would do next, and when, if nothing changes."""

    round_at: float
    """When it looks again."""
    acts_at: float | None = None
    """When something is put right; None: nothing of what differs ever is."""
    kinds: tuple[DeviationKind, ...] = ()
    """What is then."""
    count: int = 0
    """How many deviations."""


class PlacementSource(Value, frozen=True, omit_defaults=True):
    """The placement that the last round read."""

    place: str
    """Its files, or the repository without user and password."""
    digest: str = ""
    commit: str = ""
    """Of git, in full."""


class LoopStatus(Value, frozen=True):
    """A loop at one moment."""

    at: float
    instance: str
    """Which process this is: `alice@ops-1 (pid 4711)`."""
    state: LoopState
    since: float
    """Since when it is in this state."""
    reasons: tuple[LoopReason, ...] = ()
    cluster_id: str = ""
    cluster_name: str = ""
    source: PlacementSource | None = None
    dry_run: bool = False
    every_seconds: float = REST_SECONDS
    rounds_begun: int = 0
    """By this process."""
    looked_at: float | None = None
    """When a round last read placement and cluster; a loop whose last look is older than some rounds is not well."""
    differs: tuple[Tally, ...] = ()
    deviations: tuple[ListedDeviation, ...] = ()
    """The first `LISTED_DEVIATIONS`, the oldest of each kind first."""
    running: Running | None = None
    rounds: tuple[Round, ...] = ()
    """The last ones that did something, the latest first."""
    next: Next | None = None
    kind: Literal["replan.reconcile"] = STATUS_KIND
    format_version: Literal[1] = STATUS_FORMAT_VERSION


class Proposal(msgspec.Struct, frozen=True):
    """What the loop may not do, or not before a person has changed the placement. Not part of the status document."""

    placement: Placement
    """As the round read it."""
    snapshot: Snapshot
    plan: Plan
    """What would put right all that differs and that policy does not allow; may be empty."""
    lists: dict[str, dict[int, tuple[int, ...]]]
    """By topic and partition: lists of the placement that would have to change, and into what."""
    commit: str = ""


class Observer(Protocol):
    """Who watches a loop. Its methods return at once and never raise: the loop waits for nobody."""

    def changed(self, status: LoopStatus) -> None:
        """The status, whenever it changed; while something is applied, every few seconds."""
        ...

    def planned(self, plan: Plan, snapshot: Snapshot) -> None:
        """The plan that is about to be applied; of a dry run, that would be."""
        ...

    def proposed(self, proposal: Proposal) -> None:
        """What a round found that it may not do, whenever that changed."""
        ...


def encode_status(status: LoopStatus) -> bytes:
    """The status as a JSON document."""
    return msgspec.json.encode(status)
