"""What the controller knows: registered brokers, topics, partitions, dynamic configurations.

Frozen values, and questions about them that every rule asks. Mappings are never changed in place; `evolve` makes new
ones. Rules are in `partition` and its siblings, what physically happens on brokers in `physical_state`; `from_snapshot`
translates from and to the model that the rest of replan sees.

The controller comes upon what it keeps by number in the order of a hash table (BaseHashTable, TimelineHashMap): how
many slots one has, and which key an iteration meets first, is here too. A table grows before something is added or
replaced, and never shrinks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from operator import is_

from msgspec import Struct, field

from replan.model.configs import MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION, ConfigResource, ConfigScope
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.model.partition import effective_min_isr
from replan.simulator.controller.versions import Rules, rules_of

GOLDEN_RATIO = 0x9E3779B97F4A7C15
HASHES = 1 << 64
FEWEST_SLOTS = 2


def slots_for(elements: int) -> int:
    """The slots of a table to which so many elements were added, and none replaced."""
    slots = FEWEST_SLOTS
    while 3 * elements > 4 * slots:
        slots *= 2
    return slots


def slots_after_replacing(elements: int) -> int:
    """The slots that a table of so many elements has at least, once one of them was replaced: room for one more."""
    return slots_for(elements + 1)


def first_iterated(keys: Iterable[int], slots: int) -> int:
    """The key that an iteration meets first: the latest in the first slot, where ascending keys were added."""
    return max(key for key in keys if key * GOLDEN_RATIO % HASHES * slots < HASHES)


Directories = tuple[str | None, ...]

CLUSTER_DEFAULT: ConfigResource = (ConfigScope.BROKER, "")


class BrokerRegistration(Struct, frozen=True):
    """One registered broker (BrokerRegistration)."""

    id: BrokerId
    rack: str | None = None
    epoch: int = 0
    """Of its latest registration; a broker that shuts down cleanly names it when it comes back."""
    fenced: bool = False
    shutting_down: bool = False
    """In controlled shutdown; only a new registration ends it."""
    log_dirs: tuple[str, ...] = ("data",)
    """Those that are online, each by an id: its path, until its disk is replaced."""
    cordoned_dirs: frozenset[str] = frozenset()

    @property
    def default_dir(self) -> str | None:
        """Where a new replica lies without being asked (ClusterControlManager.defaultDir)."""
        return self.log_dirs[0] if len(self.log_dirs) == 1 else None

    def has_online(self, directory: str | None) -> bool:
        """Whether a replica in this directory can be served; one that has none yet can (DirectoryId.isOnline)."""
        return directory is None or directory in self.log_dirs

    @property
    def active(self) -> bool:
        """Whether it may lead and be in the ISR (ClusterControlManager.isActive)."""
        return not self.fenced and not self.shutting_down

    @property
    def cordoned(self) -> bool:
        """Whether all of its log directories are cordoned (KIP-1066)."""
        return self.cordoned_dirs.issuperset(self.log_dirs)


class Partition(Struct, frozen=True):
    """One partition (PartitionRegistration)."""

    replicas: Replicas
    isr: Replicas
    leader: BrokerId | None
    adding: Replicas = ()
    removing: Replicas = ()
    leader_epoch: int = 0
    partition_epoch: int = 0
    elr: Replicas = ()
    last_known_elr: Replicas = ()
    """Holds the last leader while there is none, and nothing else."""
    recovering: bool = False
    """The leader came from an unclean election and has not confirmed its log yet."""
    directories: Directories = ()
    """Of each replica, in their order (KIP-858); empty where no broker has reported any."""

    @property
    def reassigning(self) -> bool:
        """Whether a reassignment runs (PartitionReassignmentReplicas.isReassignmentInProgress)."""
        return bool(self.adding or self.removing)

    def directory(self, broker: BrokerId) -> str | None:
        """The log directory of a broker's replica; None where it has not reported it yet (DirectoryId.UNASSIGNED)."""
        if not self.directories or broker not in self.replicas:
            return None
        return self.directories[self.replicas.index(broker)]

    @property
    def led_by_preferred(self) -> bool:
        """Whether the first replica leads (PartitionRegistration.hasPreferredLeader)."""
        return self.leader == self.replicas[0]


class Topic(Struct, frozen=True, eq=False, dict=True):
    """One topic with its partitions."""

    id: TopicId
    partitions: Mapping[int, Partition]
    slots: int = 0
    """Of the controller's table of the partitions, where changes have made it larger than their number did.

    A controller that starts has forgotten it, and so has one that was written to a file: it tells no topics apart.
    """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Topic):
            return NotImplemented
        return (self.id, self.partitions) == (other.id, other.partitions)

    __hash__ = None  # type: ignore[assignment]  # it holds a mapping

    @property
    def first(self) -> Partition:
        """The partition that the controller comes upon first; not always number 0."""
        slots = max(self.slots, slots_for(len(self.partitions)))
        return self.partitions[first_iterated(self.partitions, slots)]

    @cached_property
    def reassigning(self) -> tuple[int, ...]:
        """The partitions that are being reassigned, in ascending order."""
        return tuple(sorted(i for i, p in self.partitions.items() if p.reassigning))

    @cached_property
    def not_led_by_preferred(self) -> tuple[int, ...]:
        """The partitions not led by their preferred replica, or leaderless; in ascending order.

        The controller keeps them too (ReplicationControlManager.imbalancedPartitions): timers ask every few minutes.
        """
        return tuple(sorted(i for i, p in self.partitions.items() if not p.led_by_preferred))


class ClusterState(Struct, frozen=True):
    """Everything that the controller decides by."""

    cluster_id: str
    version: str
    elr_enabled: bool
    brokers: Mapping[BrokerId, BrokerRegistration] = field(default_factory=dict)
    topics: Mapping[str, Topic] = field(default_factory=dict)
    configs: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=dict)
    """Dynamic values only."""
    file_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Values of the properties files: of one broker by its id in decimal, of all nodes by the empty name."""
    next_broker_epoch: int = 1

    @property
    def rules(self) -> Rules:
        """The rules of its version."""
        return rules_of(self.version)

    def partition(self, name: TopicPartition) -> Partition | None:
        """One partition; None where it does not exist."""
        topic = self.topics.get(name.topic)
        return None if topic is None else topic.partitions.get(name.partition)

    def partitions(self) -> Iterator[tuple[TopicPartition, Partition]]:
        """All partitions, topic by topic in order of name."""
        for name in sorted(self.topics):
            for index, partition in sorted(self.topics[name].partitions.items()):
                yield TopicPartition(name, index), partition

    def partitions_where(
        self, holds: Callable[[Partition], bool]
    ) -> Iterator[tuple[TopicPartition, Partition]]:
        """Those of all partitions for which something holds, in the same order."""
        return self._chosen(lambda t: sorted([i for i, p in t.partitions.items() if holds(p)]))

    def reassigning(self) -> Iterator[tuple[TopicPartition, Partition]]:
        """All partitions that are being reassigned, in the same order."""
        return self._chosen(lambda topic: topic.reassigning)

    def not_led_by_preferred(self) -> Iterator[tuple[TopicPartition, Partition]]:
        """All partitions that are not led by their preferred replica, in the same order."""
        return self._chosen(lambda topic: topic.not_led_by_preferred)

    def _chosen(
        self, chosen: Callable[[Topic], Iterable[int]]
    ) -> Iterator[tuple[TopicPartition, Partition]]:
        for name, topic in sorted(self.topics.items()):
            for index in chosen(topic):
                yield TopicPartition(name, index), topic.partitions[index]

    def online(self, broker: BrokerId, directory: str | None) -> bool:
        """Whether a broker is registered and one of its directories online (ClusterControlManager.hasOnlineDir)."""
        registration = self.brokers.get(broker)
        return registration is not None and registration.has_online(directory)

    def default_dir(self, broker: BrokerId) -> str | None:
        """The directory of a new replica on a broker, where the controller knows it by itself."""
        registration = self.brokers.get(broker)
        return None if registration is None else registration.default_dir

    def active(self, broker: BrokerId) -> bool:
        """Whether a broker is registered, not fenced, and not shutting down."""
        registration = self.brokers.get(broker)
        return registration is not None and registration.active

    def topic_config(self, topic: str, key: str, default: str) -> str:
        """The effective value of a topic's key as the controller sees it (KafkaConfigSchema)."""
        for values in (
            self.configs.get((ConfigScope.TOPIC, topic), {}),
            self.configs.get(CLUSTER_DEFAULT, {}),
            self.file_configs.get("", {}),
        ):
            if key in values:
                return values[key]
        return default

    def unclean_election(self, topic: str) -> bool:
        """Whether unclean.leader.election.enable holds for a topic."""
        return self.topic_config(topic, UNCLEAN_ELECTION, "false").strip().lower() == "true"

    def min_insync_replicas(self, topic: str) -> int:
        """min.insync.replicas of a topic."""
        return int(self.topic_config(topic, MIN_INSYNC_REPLICAS, "1"))

    def effective_min_isr(self, topic: str) -> int:
        """The controller's min ISR, by which it keeps the ELR of *every* partition of the topic.

        It is capped by the replica count of partition 0, transitional list included, whatever the others
        have (ReplicationControlManager.getTopicEffectiveMinIsr).
        """
        first = self.topics[topic].partitions[0]
        return effective_min_isr(self.min_insync_replicas(topic), len(first.replicas))


def identical(some: tuple[object, ...], others: tuple[object, ...]) -> bool:
    """Whether two tuples hold the very same values."""
    return len(some) == len(others) and all(map(is_, some, others))


def changed_partitions(
    before: Mapping[str, Topic], after: Mapping[str, Topic]
) -> Iterator[tuple[TopicPartition, Partition]]:
    """The partitions of `after` that are new or differ; a topic that is the same object is not gone through."""
    for name, topic in after.items():
        was = before.get(name)
        if was is topic:
            continue
        partitions = {} if was is None else was.partitions
        for number, partition in topic.partitions.items():
            if partitions.get(number) is not partition:
                yield TopicPartition(name, number), partition


def changed_configs(
    before: Mapping[ConfigResource, Mapping[str, str]],
    after: Mapping[ConfigResource, Mapping[str, str]],
) -> Iterator[ConfigResource]:
    """Whose dynamic configuration is new, gone, or differs; one that is the same object is not gone through."""
    if before is after:
        return
    for resource, values in after.items():
        if before.get(resource) is not values:
            yield resource
    yield from before.keys() - after.keys()
