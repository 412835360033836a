"""The lab over real brokers: one cluster in one JVM for all tests, a topic of its own for each."""

import uuid
from collections.abc import Mapping, Sequence

from tests.conformance.lab import NO_CONFIGS, RACKS, minor, until, until_reads
from tests.kafka.harness import clients
from tests.kafka.harness.one_jvm import OneJvmCluster

from replan.kafka.api import SystemClock, open_cluster
from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_RATE,
    BrokerId,
    ConfigOperation,
    TopicPartition,
    Wanted,
    broker_change,
)


class KafkaLab:
    """A connection to the shared cluster; closing it puts brokers and rates back."""

    def __init__(self, cluster: OneJvmCluster) -> None:
        self.clock = SystemClock()
        self.control_plane = open_cluster(cluster.bootstrap, None, clock=self.clock)
        self._cluster = cluster
        self._stopped: list[int] = []

    @property
    def version(self) -> tuple[int, int]:
        """Kafka's version."""
        return minor(self._cluster.ground.layout.version)

    def create_topic(
        self, assignments: Sequence[Sequence[int]], configs: Mapping[str, str] = NO_CONFIGS
    ) -> str:
        """Create a topic."""
        name = f"topic-{uuid.uuid4().hex[:12]}"
        clients.create_topic(self._cluster.bootstrap, name, assignments, configs)
        names = [TopicPartition(name, number) for number in range(len(assignments))]
        # The harness asked some broker; the one that the control plane asks may know a moment later.
        until(self, lambda: self._all_in_sync(names), f"{name} to be in sync")
        return name

    def write(self, topic: str, bytes_per_partition: int) -> None:
        """Produce with acks=all."""
        clients.fill(self._cluster.bootstrap, topic, bytes_per_partition)

    def stop_broker(self, broker: int) -> None:
        """Stop a broker cleanly."""
        self._cluster.stop(broker)
        self._stopped.append(broker)

    def start_broker(self, broker: int) -> None:
        """Start it, and wait until it is unfenced."""
        self._cluster.start(broker)
        self._stopped.remove(broker)

    def _all_in_sync(self, names: Sequence[TopicPartition]) -> bool:
        seen = self.control_plane.look(Wanted(partitions=names)).partitions
        return len(seen) == len(names) and all(set(s.isr) == set(s.replicas) for s in seen.values())

    def close(self) -> None:
        """Leave the cluster as it was, but for the test's topics."""
        for broker in list(self._stopped):
            self.start_broker(broker)
        clients.await_brokers(self._cluster.bootstrap, tuple(RACKS))
        self.control_plane.alter_configs(
            [
                broker_change(BrokerId(broker), key, ConfigOperation.DELETE)
                for broker in RACKS
                for key in (LEADER_RATE, FOLLOWER_RATE)
            ]
        )
        until_reads(self, lambda: dict(self.control_plane.observe().broker_configs), {})
        self.control_plane.close()
