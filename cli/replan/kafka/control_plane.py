"""A real cluster behind the ControlPlane port; each method is a line or two over the module that does it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from replan.kafka.clock import SystemClock
from replan.kafka.properties.client_properties import ClientProperties, client_properties
from replan.kafka.reads import brokers, configs, log_dirs, partitions
from replan.kafka.reads.observe import observe
from replan.kafka.reads.patience import Reads
from replan.kafka.reads.reassignments import running
from replan.kafka.wire.wire import Wire, connect
from replan.kafka.writes.alter import ConfigWriter
from replan.kafka.writes.elect import elect
from replan.kafka.writes.reassign import reassign
from replan.model.broker import Broker
from replan.model.configs import ConfigChange, Configs, ConfigScope, TopicSettings
from replan.model.control_plane import Answer, Clock, ElectionType
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState, Reassignment
from replan.model.snapshot import Features, Snapshot

PATIENCE_SECONDS = 45.0
"""Longer than the 30 s for which brokers keep talking to a frozen controller (controller.socket.timeout.ms)."""
BOOTSTRAP_SECONDS = 10.0
BROKER_SECONDS = 5.0
"""For a question that each broker answers for itself; after that it counts as silent."""


class KafkaControlPlane:
    """One cluster, over one connection to each of its brokers.

    Readings are asked again within the patience; writes are sent once. Fit for several threads.
    """

    def __init__(
        self,
        wire: Wire,
        properties: ClientProperties,
        clock: Clock,
        *,
        wall_clock: Callable[[], datetime],
        patience_seconds: float,
        broker_seconds: float,
    ) -> None:
        self._wire = wire
        self._reads = Reads(wire, clock, patience_seconds=patience_seconds)
        self._configs = ConfigWriter(properties.librdkafka)
        self._wall_clock = wall_clock
        self._broker_seconds = broker_seconds

    def features(self) -> Features:
        """What the cluster can do."""
        return brokers.features(self._reads)

    def observe(self) -> Snapshot:
        """Everything at one moment; brokers that do not answer are named in it, not raised."""
        moment = self._wall_clock().astimezone(UTC).replace(microsecond=0)
        return observe(
            self._reads,
            observed_at=moment.isoformat().replace("+00:00", "Z"),
            broker_seconds=self._broker_seconds,
        )

    def brokers(self) -> Mapping[BrokerId, Broker]:
        """All registered brokers, fenced ones included."""
        known = self._registered()
        cordoned = self._cordoned([b.id for b in known.values() if b.live])
        return {b.id: replace(b, cordoned=b.id in cordoned) for b in known.values()}

    def running(self) -> Mapping[TopicPartition, Reassignment]:
        """All running reassignments of the cluster, read from the active controller."""
        return running(self._reads, None)

    def partitions(
        self, wanted: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, PartitionState]:
        """The named partitions as brokers show them; those that do not exist are left out."""
        return partitions.states(self._reads, wanted, running(self._reads, wanted))

    def topic_settings(self, topics: Collection[str]) -> Mapping[str, TopicSettings]:
        """Settings of the named topics; those that do not exist are left out."""
        found = configs.of_topics(self._reads, topics)
        return {topic: configs.settings(of) for topic, of in found.items()}

    def configs(self, scope: ConfigScope, names: Collection[str]) -> Mapping[str, Configs]:
        """Effective values of the keys that replan knows; what is not live or not there is left out."""
        if scope is ConfigScope.TOPIC:
            return configs.of_topics(self._reads, names)
        live = self._live()
        wanted = [broker for broker in live if str(broker) in names]
        found = configs.of_brokers(self._reads, wanted, limit_seconds=self._broker_seconds)
        return {str(broker): of for broker, of in found.items()}

    def replica_bytes(
        self, wanted: Collection[TopicPartition]
    ) -> Mapping[tuple[TopicPartition, BrokerId], int]:
        """Sizes on disk of the replicas of the named partitions, on the brokers that answer."""
        return log_dirs.ask_partitions(
            self._reads, self._live(), wanted, limit_seconds=self._broker_seconds
        )

    def reassign(
        self,
        lists: Mapping[TopicPartition, Replicas | None],
        *,
        allow_replication_factor_change: bool,
    ) -> Mapping[TopicPartition, Answer]:
        """Ask for new replica lists; None cancels what runs."""
        return reassign(
            self._wire, lists, allow_replication_factor_change=allow_replication_factor_change
        )

    def elect(
        self, partitions: Collection[TopicPartition], kind: ElectionType
    ) -> Mapping[TopicPartition, Answer]:
        """Ask for elections."""
        return elect(self._wire, partitions, kind)

    def alter_configs(
        self, changes: Sequence[ConfigChange]
    ) -> Mapping[tuple[ConfigScope, str], Answer]:
        """Change configurations; a broker that is not live is answered with 42 at once."""
        touches_brokers = any(change.scope is ConfigScope.BROKER for change in changes)
        return self._configs.alter(changes, self._live() if touches_brokers else ())

    def close(self) -> None:
        """Let go of all connections and threads."""
        self._configs.close()
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _registered(self) -> dict[BrokerId, Broker]:
        described = brokers.describe_cluster(self._reads)
        known = brokers.listed(described)
        if brokers.tells_fenced(described):
            return known
        columns = partitions.PartitionColumns({})
        for topic in partitions.pages(self._reads, None):
            columns.add(topic)
        return brokers.with_members(known, columns.members())

    def _live(self) -> list[BrokerId]:
        described = brokers.describe_cluster(self._reads)
        return [broker.id for broker in brokers.listed(described).values() if broker.live]

    def _cordoned(self, live: Collection[BrokerId]) -> frozenset[BrokerId]:
        if not log_dirs.tells_cordoned(self._reads):
            return frozenset()
        told = log_dirs.ask_directories(self._reads, live, limit_seconds=self._broker_seconds)
        return log_dirs.cordoned(tuple(log_dirs.directories(told)))


def open_cluster(
    bootstrap: str,
    command_config: Path | None,
    *,
    clock: Clock | None = None,
    wall_clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    bootstrap_seconds: float = BOOTSTRAP_SECONDS,
    patience_seconds: float = PATIENCE_SECONDS,
    broker_seconds: float = BROKER_SECONDS,
) -> KafkaControlPlane:
    """Connect to the cluster behind `--bootstrap-server` and `--command-config`.

    Raises:
        BadUsage: an address is not HOST:PORT.
        BadFile: the properties cannot be used.
        ClusterUnreachable: no address answers in time.
        ClusterRefused: the credentials are not accepted.
    """
    properties = client_properties(bootstrap, command_config)
    return KafkaControlPlane(
        connect(properties, limit_seconds=bootstrap_seconds),
        properties,
        SystemClock() if clock is None else clock,
        wall_clock=wall_clock,
        patience_seconds=patience_seconds,
        broker_seconds=broker_seconds,
    )
