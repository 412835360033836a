"""The one port: what replan asks of a cluster. A real cluster and the simulator implement it, nothing else.

Reading methods raise ClusterUnreachable or ClusterRefused when the whole request fails; what a user may not read of one
topic is named in what is read (`Look.forbidden`), and takes no other topic along. Writing methods
never raise for a single partition: each gets an Answer. An answer is a hint: the next observation is the
result. Whole-request failures whose effect is not known (timeouts, lost connections, codes -1, 7, 41)
give OutcomeUnknown for every partition of that request.

Lag. The active controller knows first; brokers show partitions as they were a moment ago (seconds under load), each
its own moment. Both implementations promise the same: `Look.running` is the controller's list, and `Look.partitions`
is what one broker shows. Where that list has a reassignment and the broker shows other replicas than it, the broker
lags (or the reassignment ended in between), and the partition is `unclear` instead. Where nothing runs, what is shown
may be old, and is never older than what an earlier look of the same process showed, whichever broker shows it now. An
observation takes the lists of what runs from the controller.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from replan.model.broker import Broker, LogDir
from replan.model.configs import ConfigChange, ConfigResource, Configs, TopicSettings
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState, Reassignment
from replan.model.replica_logs import LogReader
from replan.model.snapshot import Features, Snapshot

ELECTIONS_PER_REQUEST = 1_000
"""So many elections are asked for at once."""


class Accepted(Struct, frozen=True):
    """The controller took it (Kafka's code 0)."""


class Rejected(Struct, frozen=True):
    """The controller said no, with Kafka's code, its name, and its own message."""

    code: int
    name: str
    message: str
    whole: bool = False
    """The request as a whole was refused, not this part of it."""


class OutcomeUnknown(Struct, frozen=True):
    """Nobody can say whether it took effect, or still will: brokers re-send for up to 70 s."""

    reason: str
    refused: bool = False
    """This user may not ask for it now: asked again as one without an answer, since permissions come and go."""


Answer = Accepted | Rejected | OutcomeUnknown


class NewPartitions(Struct, frozen=True):
    """Partitions that a topic is to get."""

    count: int
    """How many it has afterwards."""
    lists: tuple[Replicas, ...]
    """Of each additional one, in the order of their numbers; as many as are missing."""


class ElectionType(IntEnum):
    """The two elections of ElectLeaders (KIP-460)."""

    PREFERRED = 0
    UNCLEAN = 1


ReplicaName = tuple[TopicPartition, BrokerId]
"""One replica of a partition."""


class LogPlace(Struct, frozen=True):
    """In which log directories a replica lies."""

    path: str | None
    """Where it serves from; None where no directory that works has it."""
    bytes: int = 0
    future_path: str | None = None
    """Where it is being copied to on the same broker (KIP-113)."""
    future_bytes: int = 0


class Wanted(Struct, frozen=True, kw_only=True):
    """What a look is to read; what is not wanted costs nothing."""

    partitions: Collection[TopicPartition] = ()
    topics: Collection[str] = ()
    """Whose settings."""
    rates_of: Collection[BrokerId] = ()
    """Whose throttle rates: one request each."""
    cordons_of: Collection[BrokerId] = ()
    """Of which brokers it is to be read whether all their directories are cordoned: one request each."""
    sizes_of: Mapping[BrokerId, Collection[TopicPartition]] = field(default_factory=dict)
    """The replicas whose sizes on disk are read, by their broker: one request each."""
    places_of: Mapping[BrokerId, Collection[TopicPartition]] = field(default_factory=dict)
    """The replicas whose log directories are read, by their broker: one request each."""
    registered: Collection[BrokerId] = ()
    """Brokers that were registered when the caller last knew: before Kafka 4.1 nobody lists one that is fenced, so
    it is asked whether these still are; where nobody says, they are taken to be fenced when they are not live."""


class TopicPermission(StrEnum):
    """What a look needs with each topic that it is to read."""

    DESCRIBE = "Describe"
    """Its partitions."""
    DESCRIBE_CONFIGS = "DescribeConfigs"
    """Its settings."""


class Look(Struct, frozen=True, kw_only=True):
    """What one round of requests found."""

    brokers: Mapping[BrokerId, Broker]
    """All registered brokers, fenced ones included; cordoned as of when their cordons were last wanted."""
    running: Mapping[TopicPartition, Reassignment] = field(default_factory=dict)
    """All running reassignments of the cluster, as the active controller lists them."""
    partitions: Mapping[TopicPartition, PartitionState] = field(default_factory=dict)
    """The wanted ones that exist and are clear, with the lists of what runs; ELR and size are not read."""
    unclear: frozenset[TopicPartition] = frozenset()
    """Wanted ones of which the broker shows other replicas than the controller lists."""
    topics: Mapping[str, TopicSettings] = field(default_factory=dict)
    """Settings of the wanted ones that exist."""
    forbidden: Mapping[str, TopicPermission] = field(default_factory=dict)
    """Topics of which this user may not read what is wanted, with what is missing: nobody knows whether they exist.

    Their settings, or their partitions too, are left out; all other topics are as they are."""
    rates: Mapping[BrokerId, Configs] = field(default_factory=dict)
    """Throttle rates of the wanted live brokers that answered, each with its source."""
    sizes: Mapping[BrokerId, Mapping[TopicPartition, int]] = field(default_factory=dict)
    """Bytes of the wanted replicas on the brokers that answered; a replica that has no log there is left out."""
    places: Mapping[BrokerId, Mapping[TopicPartition, LogPlace]] = field(default_factory=dict)
    """Where the wanted replicas lie, on the brokers that answered; each that was asked for is there."""
    silent: Mapping[BrokerId, str] = field(default_factory=dict)
    """Live brokers that were asked about themselves and did not answer, with the reason."""
    features: Features = field(default_factory=Features)

    def may_exist(self, topic: str) -> bool:
        """Whether a wanted topic is there, or this user may not know."""
        return topic in self.topics or topic in self.forbidden

    def live(self, broker: BrokerId) -> bool:
        """Whether a broker is registered and not fenced."""
        registered = self.brokers.get(broker)
        return registered is not None and registered.live


def partitions_by_broker(replicas: Iterable[ReplicaName]) -> dict[BrokerId, list[TopicPartition]]:
    """The partitions of these replicas by their broker, as `Wanted.places_of` takes them."""
    by_broker: dict[BrokerId, list[TopicPartition]] = {}
    for partition, broker in replicas:
        by_broker.setdefault(broker, []).append(partition)
    return by_broker


def listed_by_broker(
    lists: Mapping[TopicPartition, Iterable[BrokerId]],
) -> dict[BrokerId, list[TopicPartition]]:
    """The same of all replicas that lists name."""
    return partitions_by_broker((name, broker) for name, of in lists.items() for broker in of)


def agreeing(
    shown: Mapping[TopicPartition, PartitionState], running: Mapping[TopicPartition, Reassignment]
) -> tuple[dict[TopicPartition, PartitionState], frozenset[TopicPartition]]:
    """Put what runs into what is shown, and name what does not fit together."""
    clear: dict[TopicPartition, PartitionState] = {}
    for name, state in shown.items():
        runs = running.get(name)
        if runs is None:
            clear[name] = (
                replace(state, adding=(), removing=()) if state.adding or state.removing else state
            )
        elif runs.replicas == state.replicas:
            agrees = (runs.adding, runs.removing) == (state.adding, state.removing)
            clear[name] = (
                state if agrees else replace(state, adding=runs.adding, removing=runs.removing)
            )
    return clear, frozenset(shown.keys() - clear.keys())


class ClusterReader(LogReader, Protocol):
    """A cluster that can be observed."""

    def cluster_id(self) -> str:
        """The id that the cluster gave itself when it was formatted."""
        ...

    def features(self) -> Features:
        """What the cluster can do."""
        ...

    def observe(self) -> Snapshot:
        """Everything at one moment; brokers that do not answer are named in it, not raised."""
        ...

    def look(self, wanted: Wanted) -> Look:
        """What is wanted, in one round of requests; tried for seconds, not for the patience of the other methods."""
        ...

    def log_dirs(self) -> Sequence[LogDir]:
        """The log directories of the live brokers that answer, by broker and path; later looks know their cordons."""
        ...

    def would_create(self, added: Mapping[str, NewPartitions]) -> Mapping[str, Answer]:
        """What `create_partitions` would be answered now; nothing is created (`validate_only`)."""
        ...

    def would_alter(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Answer]:
        """What `alter_configs` would be answered now; nothing is changed (`validate_only`)."""
        ...

    def close(self) -> None:
        """Release connections and files."""
        ...


class ClusterWriter(Protocol):
    """A cluster that can be asked to change."""

    def reassign(
        self,
        lists: Mapping[TopicPartition, Replicas | None],
        *,
        allow_replication_factor_change: bool,
    ) -> Mapping[TopicPartition, Answer]:
        """Ask for new replica lists; None cancels what runs. Sent in requests of at most 5,000."""
        ...

    def elect(
        self, partitions: Collection[TopicPartition], kind: ElectionType
    ) -> Mapping[TopicPartition, Answer]:
        """Ask for elections, in requests of at most 1,000. 84 (not needed) comes back as Rejected."""
        ...

    def create_partitions(self, added: Mapping[str, NewPartitions]) -> Mapping[str, Answer]:
        """Add partitions to topics (KIP-195); one answer per topic.

        The count is absolute, so the same request once more changes nothing: 37 where the topic has as many already.
        """
        ...

    def move_logs(self, paths: Mapping[ReplicaName, str]) -> Mapping[ReplicaName, Answer]:
        """Copy replicas to other log directories of their brokers, each of which is asked itself (KIP-113).

        The same once more changes nothing, also when it is done.
        """
        ...

    def alter_configs(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Answer]:
        """Change configurations; one answer per topic or broker, which fails or succeeds as a whole."""
        ...


class ControlPlane(ClusterReader, ClusterWriter, Protocol):
    """A cluster that can be observed and asked to change."""


class Clock(Protocol):
    """Monotonic seconds; the simulator's is virtual, and sleeping on it lets the cluster go on."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; may return early when the process is asked to stop."""
        ...
