"""The one port: what replan asks of a cluster. A real cluster and the simulator implement it, nothing else.

Reading methods raise ClusterUnreachable or ClusterRefused when the whole request fails. Writing methods
never raise for a single partition: each gets an Answer. An answer is a hint: the next observation is the
result. Whole-request failures whose effect is not known (timeouts, lost connections, codes -1, 7, 41)
give OutcomeUnknown for every partition of that request.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from replan.model.broker import Broker
from replan.model.configs import ConfigChange, Configs, ConfigScope, TopicSettings
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState, Reassignment
from replan.model.snapshot import Features, Snapshot


@dataclass(frozen=True, slots=True)
class Accepted:
    """The controller took it (Kafka's code 0)."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The controller said no, with Kafka's code, its name, and its own message."""

    code: int
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class OutcomeUnknown:
    """Nobody can say whether it took effect, or still will: brokers re-send for up to 75 s."""

    reason: str


Answer = Accepted | Rejected | OutcomeUnknown


class ElectionType(IntEnum):
    """The two elections of ElectLeaders (KIP-460)."""

    PREFERRED = 0
    UNCLEAN = 1


class ControlPlane(Protocol):
    """A cluster that can be observed and asked to change."""

    def features(self) -> Features:
        """What the cluster can do."""
        ...

    def observe(self) -> Snapshot:
        """Everything at one moment; brokers that do not answer are named in it, not raised."""
        ...

    def brokers(self) -> Mapping[BrokerId, Broker]:
        """All registered brokers, fenced ones included."""
        ...

    def running(self) -> Mapping[TopicPartition, Reassignment]:
        """All running reassignments of the cluster, read from the active controller."""
        ...

    def partitions(
        self, wanted: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, PartitionState]:
        """The named partitions as brokers show them; those that do not exist are left out.

        Read `running` first: metadata may lag behind the controller, never the other way round.
        """
        ...

    def topic_settings(self, topics: Collection[str]) -> Mapping[str, TopicSettings]:
        """Settings of the named topics; those that do not exist are left out."""
        ...

    def configs(self, scope: ConfigScope, names: Collection[str]) -> Mapping[str, Configs]:
        """Effective configurations; brokers that are not live, and topics that do not exist, are left out."""
        ...

    def replica_bytes(
        self, wanted: Collection[TopicPartition]
    ) -> Mapping[tuple[TopicPartition, BrokerId], int]:
        """Sizes on disk of the replicas of the named partitions, on the brokers that answer."""
        ...

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

    def alter_configs(
        self, changes: Sequence[ConfigChange]
    ) -> Mapping[tuple[ConfigScope, str], Answer]:
        """Change configurations; one answer per topic or broker, which fails or succeeds as a whole."""
        ...

    def close(self) -> None:
        """Let go of connections and files."""
        ...


class Clock(Protocol):
    """Monotonic seconds; the simulator's is virtual, and sleeping on it lets the cluster go on."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; may return early when the process is asked to stop."""
        ...
