"""Why something may not begin now: the gates, slots, and what comes first."""

from dataclasses import dataclass, field

from replan.model.configs import SettingName
from replan.model.names import BrokerId, Replicas, TopicPartition


@dataclass(frozen=True, slots=True)
class OthersFirst:
    """It is not looked at yet: others of the plan have their turn before it."""


@dataclass(frozen=True, slots=True)
class PartitionsFirst:
    """Its topic gets more partitions before anything of it moves."""


@dataclass(frozen=True, slots=True)
class CoordinatorLoads:
    """It would lead a partition of an internal topic, and is about to load another one."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class TopicUnsettled:
    """A topic gets partitions only while nothing runs on it."""

    running: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class NewBrokerFenced:
    """A broker that is to receive a replica is fenced."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class NewBrokerCordoned:
    """All log directories of a broker that is to receive a replica are cordoned (KIP-1066)."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class WritesWouldStop:
    """With more replicas min ISR would not be met."""

    in_sync: Replicas
    min_insync_replicas: int
    needed: int


@dataclass(frozen=True, slots=True)
class UncleanElectionPossible:
    """An empty new replica could be elected."""

    topic: str
    in_sync: Replicas


@dataclass(frozen=True, slots=True)
class NoRoom:
    """The log directory that Kafka would choose has no room; all sizes in bytes."""

    broker: BrokerId
    path: str
    size: int = field(compare=False)
    usable: int = field(compare=False)
    promised: int = field(compare=False)
    """Of `usable`, to other copies."""
    kept_free: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class TopicReassigned:
    """Another tool reassigns its topic, and this version cannot guard a reorder against that (KIP-860)."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class NoSlot:
    """A broker takes part in as many copies as it may."""

    broker: BrokerId
    limit: int
    usual: int
    """The limit before in-sync replicas were lost."""
    others: tuple[TopicPartition, ...] = field(default=(), compare=False)
    """The partitions of other tools' reassignments that take some of its slots."""


@dataclass(frozen=True, slots=True)
class ThrottleContested:
    """Another tool has removed a throttle twice: nothing new is admitted."""

    places: tuple[tuple[str | BrokerId, str], ...]
    """Topic or broker, and the setting."""


@dataclass(frozen=True, slots=True)
class OthersUnderMinIsr:
    """Partitions that are not replan's have fallen under their min ISR on brokers that copies load."""

    partitions: tuple[TopicPartition, ...]
    brokers: Replicas


@dataclass(frozen=True, slots=True)
class Paused:
    """Somebody has paused the application: nothing new begins."""

    by: str


@dataclass(frozen=True, slots=True)
class Cancelling:
    """Somebody has cancelled the application: nothing begins, and what has begun is taken back."""

    by: str


@dataclass(frozen=True, slots=True)
class SettingFirst:
    """A standing throttle of its topic or of one of its brokers is set first."""

    setting: SettingName


@dataclass(frozen=True, slots=True)
class SettingInUse:
    """A move has another value set for a while."""


@dataclass(frozen=True, slots=True)
class MoveFirst:
    """The partition moves to other brokers first."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """The application is about to leave."""
