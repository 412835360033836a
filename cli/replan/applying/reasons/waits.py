"""Why a partition waits, or a copy stands still. `reporting.hold_text` has the sentences."""

from dataclasses import dataclass, field

from replan.applying.reasons.ends import EndReason
from replan.applying.reasons.recovery import RecoveryUnseen, RecoveryWait
from replan.model.configs import SettingName
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.requests import RequestKind


@dataclass(frozen=True, slots=True)
class MetadataBehind:
    """The broker that was asked has not caught up with the controller."""


@dataclass(frozen=True, slots=True)
class PartitionsFirst:
    """Its topic gets more partitions before anything of it moves."""


@dataclass(frozen=True, slots=True)
class TopicUnsettled:
    """A topic gets partitions only while nothing runs on it."""

    running: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class PartitionsUnseen:
    """New partitions were asked for, and brokers do not show them yet."""

    code: int | None = None
    """Kafka's answer, where it was one that says: look again, or ask again."""
    name: str = ""


@dataclass(frozen=True, slots=True)
class NoLeader:
    """Nobody leads it."""


@dataclass(frozen=True, slots=True)
class AwaitingSync:
    """Replicas that have to be in the ISR are not."""

    missing: Replicas
    fenced: Replicas = ()
    unregistered: Replicas = ()
    without_log: Replicas = ()
    """Live brokers that show no log of it: that disk may be lost (KIP-858)."""


@dataclass(frozen=True, slots=True)
class Confirming:
    """The target is in sync, and has to stay so for the settle time."""

    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class SameListElsewhere:
    """Another tool reassigns it to the list that is wanted."""


@dataclass(frozen=True, slots=True)
class Rechecking:
    """A look has shown what would end it; another one has to agree."""

    suspected: EndReason


@dataclass(frozen=True, slots=True)
class EffectUnseen:
    """A request shows no effect yet; before it is asked again another look has to agree."""

    request: RequestKind
    code: int | None = None
    """Kafka's answer, where it was one that says: look again."""
    name: str = ""


@dataclass(frozen=True, slots=True)
class RejectionPending:
    """Rejected, but an earlier copy of the request may still arrive."""

    code: int
    name: str
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class RepeatPending:
    """Nobody knows what became of a request; it is sent again, each time after a longer pause."""

    request: RequestKind
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class JournalSlow:
    """Writing to the journal took longer than an intent may be old, so nothing was sent."""

    seconds: float = field(compare=False)
    limit: float


@dataclass(frozen=True, slots=True)
class OutcomePending:
    """A request may still arrive, so a different one has to wait."""

    asked: RequestKind
    replicas: Replicas
    following: RequestKind
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class ArrivalPossible:
    """Nothing more is asked for it; its last request may still arrive, so the application stays for so long."""

    asked: RequestKind
    replicas: Replicas
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class CopyGoesOn:
    """It has ended in the middle, and its copy still runs: the throttle stays until that ends."""


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
class ClusterSilent:
    """The cluster does not answer; what runs goes on by itself."""

    seconds: float = field(compare=False)
    error: str = field(compare=False)
    waits_for: str | None = None
    """Who does not answer although brokers do: the active controller."""


@dataclass(frozen=True, slots=True)
class AwaitingThrottle:
    """Its throttle is set, and not read back yet."""

    unread: Replicas = ()
    """Live brokers whose rate could not be read."""


@dataclass(frozen=True, slots=True)
class SettingFirst:
    """A standing throttle of its topic or of one of its brokers is set first."""

    setting: SettingName


@dataclass(frozen=True, slots=True)
class SettingUnread:
    """The value of a setting cannot be read now."""


@dataclass(frozen=True, slots=True)
class SettingUnseen:
    """A setting was asked for, and does not show yet or may still be changed by an earlier request."""


@dataclass(frozen=True, slots=True)
class SettingInUse:
    """A move has another value set for a while."""


@dataclass(frozen=True, slots=True)
class CopyingInBroker:
    """Its broker copies it to another log directory; bytes."""

    copied: int = field(compare=False)
    total: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class ReplicaUnread:
    """A broker does not say in which log directories its replicas lie."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class MoveFirst:
    """The partition moves to other brokers first."""


@dataclass(frozen=True, slots=True)
class NextBatch:
    """A tick asks for no more than this."""

    elections: bool


@dataclass(frozen=True, slots=True)
class Stopping:
    """The application is about to leave."""


HoldReason = (
    MetadataBehind
    | PartitionsFirst
    | TopicUnsettled
    | PartitionsUnseen
    | NoLeader
    | AwaitingSync
    | Confirming
    | SameListElsewhere
    | Rechecking
    | EffectUnseen
    | RejectionPending
    | RepeatPending
    | JournalSlow
    | RecoveryWait
    | OutcomePending
    | ArrivalPossible
    | CopyGoesOn
    | NewBrokerFenced
    | NewBrokerCordoned
    | WritesWouldStop
    | UncleanElectionPossible
    | NoRoom
    | TopicReassigned
    | NoSlot
    | ThrottleContested
    | OthersUnderMinIsr
    | Paused
    | Cancelling
    | ClusterSilent
    | AwaitingThrottle
    | SettingFirst
    | SettingUnread
    | SettingUnseen
    | SettingInUse
    | CopyingInBroker
    | ReplicaUnread
    | MoveFirst
    | NextBatch
    | Stopping
)


@dataclass(frozen=True, slots=True)
class Stalled:
    """A copy that does not move, and so has given its slots back."""

    broker: BrokerId
    bytes: int | None = field(default=None, compare=False)
    """What is there; None where the broker is fenced."""
    seconds: float = field(default=0.0, compare=False)


def is_routine(reason: HoldReason) -> bool:
    """Whether a hold is part of every move, and not worth a report."""
    match reason:
        case AwaitingSync(_, fenced, unregistered, without_log):
            return not fenced and not unregistered and not without_log
        case EffectUnseen(_, code):
            return code is None
        case AwaitingThrottle(unread):
            return not unread
        case Confirming() | MetadataBehind() | NextBatch() | Stopping():
            return True
        case SettingFirst() | RecoveryUnseen():
            return True
        case _:
            return False
