"""What the journal holds: one frozen value per kind of record, and the key of each.

The latest record of a key is the whole truth about it; `Forget` takes a key away. How a record is written as JSON is
in `record_json`; what all of them together mean is in `ledger`. Nothing here is secret: lists, digests, rates, names.
"""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.planning.requests import RequestKind


class ApplicationStatus(StrEnum):
    """How an application stands."""

    OPEN = "open"
    CLOSED = "closed"
    ABANDONED = "abandoned"


class Status(StrEnum):
    """How one partition of an application stands; all but OPEN are final."""

    OPEN = "open"
    DONE = "done"
    STALE = "stale"
    REJECTED = "rejected"
    FOREIGN = "foreign"


class Reached(IntEnum):
    """How far a move was seen to get; it never goes back, except by our own cancel."""

    NOTHING = 0
    EXPANDED = 1
    ASSIGNED = 2


@dataclass(frozen=True, slots=True)
class Application:
    """One run of one plan, however many processes it takes."""

    id: str
    status: ApplicationStatus
    plan_digest: str
    manifest_digest: str
    cluster_id: str
    owner: str
    """Who opened it and where, for people: `alice@ops-1 (pid 4711)`."""
    summary: str = ""
    """How it ended."""

    @property
    def key(self) -> str:
        """Its key."""
        return f"app/{self.id}"


@dataclass(frozen=True, slots=True)
class PlanChunk:
    """A piece of the plan file of an application."""

    application: str
    index: int
    text: str

    @property
    def key(self) -> str:
        """Its key; the number is padded so that keys sort as the pieces do."""
        return f"plan/{self.application}/{self.index:06d}"


@dataclass(frozen=True, slots=True)
class Asked:
    """The last request of a partition."""

    kind: RequestKind
    replicas: Replicas
    """The list asked for; for an election the leader alone; empty for a cancel."""
    confirmed: bool = False
    """Its outcome is definite: no copy of it can still be on its way."""


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """One partition that an application has touched or ended; cumulative, one record."""

    application: str
    partition: TopicPartition
    topic_id: TopicId
    original: Replicas
    target: Replicas
    status: Status = Status.OPEN
    asked: Asked | None = None
    past: tuple[Replicas, ...] = ()
    """Every list that was asked for so far: a running state that equals one of them is an echo."""
    reached: Reached = Reached.NOTHING
    message: str = ""
    """Why it ended, when not done."""

    @property
    def expanding(self) -> bool:
        """Whether expand is what was asked last: it runs, or has ended and waits for assign."""
        return self.asked is not None and self.asked.kind is RequestKind.EXPAND

    @property
    def given_up(self) -> bool:
        """Whether it has ended in the middle: its copy may still run."""
        return self.expanding and self.status not in {Status.OPEN, Status.DONE}

    @property
    def list_pending(self) -> bool:
        """Whether a list, or a cancel, was asked for last whose outcome is not definite."""
        asked = self.asked
        return asked is not None and not asked.confirmed and asked.kind is not RequestKind.ELECT

    @property
    def key(self) -> str:
        """Its key; the topic's id, so that a topic of the same name made later is another one."""
        return f"own/{self.application}/{self.topic_id}-{self.partition.partition}"


@dataclass(frozen=True, slots=True)
class SavedReplicaList:
    """One throttled-replicas list of a topic: what was there before, and which entries are ours."""

    topic: str
    config: str
    overridden: bool
    """Whether the topic had an override before ours, however empty."""
    ours: tuple[str, ...]

    @property
    def key(self) -> str:
        """Its key."""
        return f"prior/topic/{self.topic}/{self.config}"


@dataclass(frozen=True, slots=True)
class SavedRate:
    """One throttle rate of a broker: its own dynamic value before, and the values that are ours."""

    broker: BrokerId
    config: str
    before: str | None
    ours: tuple[str, ...]
    """All values that we set or are about to set; the last is the wanted one."""

    @property
    def key(self) -> str:
        """Its key."""
        return f"prior/broker/{self.broker}/{self.config}"


@dataclass(frozen=True, slots=True)
class Order:
    """The order that a partition had before a leader blacklist changed it."""

    partition: TopicPartition
    topic_id: TopicId
    replicas: Replicas

    @property
    def key(self) -> str:
        """Its key."""
        return f"order/{self.topic_id}-{self.partition.partition}"


@dataclass(frozen=True, slots=True)
class Forget:
    """A tombstone."""

    key: str


Kept = Application | PlanChunk | MoveRecord | SavedReplicaList | SavedRate | Order
Record = Kept | Forget
