"""The lab over real brokers that die: each of some brokers is a process, and a cluster is a test's own."""

from collections.abc import Mapping, Sequence

from tests.conformance.lab import NO_CONFIGS, minor
from tests.kafka.harness import clients
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import Layout

from replan.kafka.api import SystemClock, open_cluster


def layout_of(
    version: str, racks: Mapping[int, str], directories: int, session: float, lag: float
) -> Layout:
    """A cluster with these seconds of sessions and of replica.lag.time.max.ms, which finds lost disks soon."""
    return Layout(
        version=version,
        racks=racks,
        log_directories=directories,
        broker_session_timeout_ms=round(session * 1000),
        broker_properties={
            "replica.lag.time.max.ms": str(round(lag * 1000)),
            "replica.high.watermark.checkpoint.interval.ms": "500",
        },
    )


class MortalKafkaLab:
    """A connection to a cluster of processes."""

    def __init__(self, cluster: Cluster, session_seconds: float) -> None:
        self.clock = SystemClock()
        self.control_plane = open_cluster(cluster.bootstrap, None, clock=self.clock)
        self.session_seconds = session_seconds
        self._cluster = cluster
        self._topics = 0

    @property
    def version(self) -> tuple[int, int]:
        """Kafka's version."""
        return minor(self._cluster.ground.layout.version)

    def create_topic(
        self, assignments: Sequence[Sequence[int]], configs: Mapping[str, str] = NO_CONFIGS
    ) -> str:
        """Create a topic."""
        self._topics += 1
        name = f"topic-{self._topics}"
        clients.create_topic(self._cluster.bootstrap, name, assignments, configs)
        return name

    def write(self, topic: str, bytes_per_partition: int) -> None:
        """Produce with acks=all."""
        clients.fill(self._cluster.bootstrap, topic, bytes_per_partition)

    def write_to_leaders(self, topic: str, bytes_per_partition: int) -> None:
        """Produce with acks=1."""
        clients.fill(self._cluster.bootstrap, topic, bytes_per_partition, acks="1")

    def stop_broker(self, broker: int) -> None:
        """Stop a broker cleanly."""
        self._cluster.stop(broker)

    def kill_broker(self, broker: int) -> None:
        """Kill its process."""
        self._cluster.kill(broker)

    def start_broker(self, broker: int) -> None:
        """Start it, and wait until it is unfenced."""
        self._cluster.start(broker)

    def die_while_starting(self, broker: int) -> None:
        """Start it, and kill it when the marks of its clean shutdown are gone."""
        directories = self._cluster.ground.log_directories(broker)
        self._cluster.begin(broker)
        while any((d / ".kafka_cleanshutdown").exists() for d in directories):
            self.clock.sleep(0.1)
        self.kill_broker(broker)

    def lose_disk(self, broker: int, number: int) -> str:
        """Let a log directory fail."""
        self._cluster.lose_disk(broker, number)
        return str(self._cluster.ground.log_directories(broker)[number])

    def close(self) -> None:
        """Close the connection; the cluster ends with its fixture."""
        self.control_plane.close()
