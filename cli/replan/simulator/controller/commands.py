"""What can be asked of the controller, and what it answers.

Commands are requests of clients (reassign, elect, configure, create), requests of brokers (register, heartbeat, change
an ISR) and the controller's own timers. An answer that is an error has Kafka's code and its standard text. Not here:
how commands are decided.
"""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct, field

from replan.model.configs import ConfigChange, ConfigResource
from replan.model.control_plane import Accepted, Answer, ElectionType, Rejected, ReplicaName
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.simulator.controller.events import Event

_STANDARD_TEXTS = MappingProxyType(
    {
        ErrorCode.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
        ErrorCode.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: "No partition reassignment is in progress.",
    }
)
"""What Kafka says where the controller adds nothing of its own."""


def rejection(code: ErrorCode, message: str | None = None) -> Rejected:
    """An answer with this code."""
    standard = _STANDARD_TEXTS.get(code, code.name)
    return Rejected(int(code), code.name, standard if message is None else message)


CommandSubject = TopicPartition | ConfigResource | ReplicaName | str
"""What one answer is about: a partition, a configuration, a replica, a topic's name."""


class ControllerResult(Struct, frozen=True):
    """The events of a command and the reply to whoever asked."""

    events: tuple[Event, ...] = ()
    whole: Answer = field(default_factory=Accepted)
    """The answer to the request as a whole; where it is not Accepted there are no others."""
    each: tuple[tuple[CommandSubject, Answer], ...] = ()


class RegisterBroker(Struct, frozen=True):
    """A broker starts (BrokerRegistration); it is fenced until it asks to be unfenced."""

    broker: BrokerId
    rack: str | None = None
    previous_epoch: int = -1
    """The epoch before its clean shutdown; -1 after an unclean one."""
    log_dirs: tuple[str, ...] = ("data",)
    """Those that are online."""
    cordoned_dirs: frozenset[str] = frozenset()


class FenceBroker(Struct, frozen=True):
    """A broker's session ends, or it asks to be fenced."""

    broker: BrokerId


class UnfenceBroker(Struct, frozen=True):
    """A broker has caught up with the metadata and asks to serve."""

    broker: BrokerId


class ShutDownBroker(Struct, frozen=True):
    """One heartbeat of a broker that wants to stop; it repeats it until it is fenced."""

    broker: BrokerId


class UnregisterBroker(Struct, frozen=True):
    """UnregisterBroker (KIP-631)."""

    broker: BrokerId


class CordonDirs(Struct, frozen=True):
    """A heartbeat names the log directories that are cordoned now (KIP-1066)."""

    broker: BrokerId
    dirs: frozenset[str] | None = None
    """None: all that are online (`cordoned.log.dirs=*`)."""


class LoseDirs(Struct, frozen=True):
    """A heartbeat names the log directories that went offline (OfflineLogDirs, KIP-858)."""

    broker: BrokerId
    dirs: frozenset[str]


class AssignDirs(Struct, frozen=True):
    """AssignReplicasToDirs (KIP-858): a broker says in which of its log directories replicas lie."""

    broker: BrokerId
    replicas: tuple[tuple[TopicPartition, str], ...]


class AlterIsr(Struct, frozen=True):
    """AlterPartition: a leader asks for another ISR."""

    broker: BrokerId
    partition: TopicPartition
    leader_epoch: int
    partition_epoch: int
    isr: Replicas
    recovering: bool = False
    epochs: Mapping[BrokerId, int] = field(default_factory=dict)
    """Epochs of the ISR's brokers as the leader knows them; one that is not named is not checked."""


class AlterReassignments(Struct, frozen=True):
    """AlterPartitionReassignments (KIP-455): None cancels. The same partition may come twice."""

    items: tuple[tuple[TopicPartition, Replicas | None], ...]
    allow_replication_factor_change: bool = True


class ElectLeaders(Struct, frozen=True):
    """ElectLeaders (KIP-460); None means all partitions."""

    partitions: tuple[TopicPartition, ...] | None
    kind: ElectionType = ElectionType.PREFERRED


class AlterConfigs(Struct, frozen=True):
    """IncrementalAlterConfigs (KIP-339), each resource sent to where it belongs."""

    changes: tuple[ConfigChange, ...]


class CreateTopic(Struct, frozen=True):
    """CreateTopics with a manual assignment; partitions 0, 1, 2 ... in order."""

    name: str
    id: TopicId
    assignments: tuple[Replicas, ...]
    configs: Mapping[str, str] = field(default_factory=dict)


class CreatePartitions(Struct, frozen=True):
    """CreatePartitions with explicit replicas for the additional ones."""

    topic: str
    count: int
    assignments: tuple[Replicas, ...]


class DeleteTopic(Struct, frozen=True):
    """DeleteTopics, of one topic."""

    name: str


class RebalanceLeaders(Struct, frozen=True):
    """The timer of auto.leader.rebalance.enable: a preferred election of whatever is imbalanced."""


class ElectUncleanLeaders(Struct, frozen=True):
    """The timer of unclean.leader.election.interval.ms: for leaderless partitions whose topic allows it."""


ControllerCommand = (
    RegisterBroker
    | FenceBroker
    | UnfenceBroker
    | ShutDownBroker
    | UnregisterBroker
    | CordonDirs
    | LoseDirs
    | AssignDirs
    | AlterIsr
    | AlterReassignments
    | ElectLeaders
    | AlterConfigs
    | CreateTopic
    | CreatePartitions
    | DeleteTopic
    | RebalanceLeaders
    | ElectUncleanLeaders
)
