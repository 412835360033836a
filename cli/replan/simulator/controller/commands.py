"""What can be asked of the controller, and what it answers.

Here belong the commands: requests of clients (reassign, elect, configure, create), requests of brokers (register,
heartbeat, change an ISR) and the controller's own timers. Not here: how they are decided.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from replan.model.configs import ConfigChange
from replan.model.control_plane import Accepted, Answer, ElectionType
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.simulator.controller.events import Event
from replan.simulator.controller.state import Resource

Subject = TopicPartition | Resource | str
"""What one answer is about: a partition, a configuration, a topic's name."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The events of a command and the reply to whoever asked."""

    events: tuple[Event, ...] = ()
    whole: Answer = field(default_factory=Accepted)
    """The answer to the request as a whole; where it is not Accepted there are no others."""
    each: tuple[tuple[Subject, Answer], ...] = ()


@dataclass(frozen=True, slots=True)
class RegisterBroker:
    """A broker starts (BrokerRegistration); it is fenced until it asks to be unfenced."""

    broker: BrokerId
    rack: str | None = None
    previous_epoch: int = -1
    """The epoch before its clean shutdown; -1 after an unclean one."""
    log_dirs: tuple[str, ...] = ("data",)
    """Those that are online."""
    cordoned_dirs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FenceBroker:
    """A broker's session ends, or it asks to be fenced."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class UnfenceBroker:
    """A broker has caught up with the metadata and asks to serve."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class ShutDownBroker:
    """One heartbeat of a broker that wants to stop; it repeats it until it is fenced."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class UnregisterBroker:
    """UnregisterBroker (KIP-631)."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class CordonDirs:
    """A heartbeat names the log directories that are cordoned now (KIP-1066)."""

    broker: BrokerId
    dirs: frozenset[str]


@dataclass(frozen=True, slots=True)
class LoseDirs:
    """A heartbeat names the log directories that went offline (OfflineLogDirs, KIP-858)."""

    broker: BrokerId
    dirs: frozenset[str]


@dataclass(frozen=True, slots=True)
class AssignDirs:
    """AssignReplicasToDirs (KIP-858): a broker says in which of its log directories replicas lie."""

    broker: BrokerId
    replicas: tuple[tuple[TopicPartition, str], ...]


@dataclass(frozen=True, slots=True)
class AlterIsr:
    """AlterPartition: a leader asks for another ISR."""

    broker: BrokerId
    partition: TopicPartition
    leader_epoch: int
    partition_epoch: int
    isr: Replicas
    recovering: bool = False
    epochs: Mapping[BrokerId, int] = field(default_factory=dict)
    """Epochs of the ISR's brokers as the leader knows them; one that is not named is not checked."""


@dataclass(frozen=True, slots=True)
class AlterReassignments:
    """AlterPartitionReassignments (KIP-455): None cancels. The same partition may come twice."""

    items: tuple[tuple[TopicPartition, Replicas | None], ...]
    allow_replication_factor_change: bool = True


@dataclass(frozen=True, slots=True)
class ElectLeaders:
    """ElectLeaders (KIP-460); None means all partitions."""

    partitions: tuple[TopicPartition, ...] | None
    kind: ElectionType = ElectionType.PREFERRED


@dataclass(frozen=True, slots=True)
class AlterConfigs:
    """IncrementalAlterConfigs (KIP-339), each resource sent to where it belongs."""

    changes: tuple[ConfigChange, ...]


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """CreateTopics with a manual assignment; partitions 0, 1, 2 ... in order."""

    name: str
    id: TopicId
    assignments: tuple[Replicas, ...]
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatePartitions:
    """CreatePartitions with explicit replicas for the additional ones."""

    topic: str
    count: int
    assignments: tuple[Replicas, ...]


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    """DeleteTopics, of one topic."""

    name: str


@dataclass(frozen=True, slots=True)
class RebalanceLeaders:
    """The timer of auto.leader.rebalance.enable: a preferred election of whatever is imbalanced."""


@dataclass(frozen=True, slots=True)
class ElectUncleanLeaders:
    """The timer of unclean.leader.election.interval.ms: for leaderless partitions whose topic allows it."""


Command = (
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
