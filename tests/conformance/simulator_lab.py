"""The lab over the simulator: a fresh cluster for each test, in virtual time."""

import itertools
from collections.abc import Mapping, Sequence

from tests.conformance.lab import NO_CONFIGS, RACKS, RECORD_BYTES, minor

from replan.model.api import (
    MIN_INSYNC_REPLICAS,
    BrokerId,
    LogDir,
    TopicId,
    TopicPartition,
    Wanted,
    replicas,
)
from replan.simulator.api import (
    CLUSTER_DEFAULT,
    BrokerRegistration,
    ClusterState,
    CreateTopic,
    KillBroker,
    LoseDisk,
    Produce,
    SendRequest,
    SimulatedControlPlane,
    Simulation,
    Speeds,
    StartBroker,
    StopBroker,
    VirtualClock,
    World,
    rules_of,
)

_DIRECTORIES = ("data-0", "data-1")
_VOLUME_BYTES = 1_000_000_000


class SimulatorLab:
    """A simulated cluster, of five brokers unless said otherwise."""

    def __init__(
        self,
        kafka_version: str,
        *,
        racks: Mapping[int, str] = RACKS,
        directories: Sequence[str] = _DIRECTORIES,
        session_seconds: float = Speeds().session_seconds,
        lag_seconds: float = Speeds().lag_seconds,
    ) -> None:
        self.clock = VirtualClock()
        self._version = kafka_version
        self._numbers = itertools.count(1)
        self.session_seconds = session_seconds
        speeds = Speeds(
            record_bytes=RECORD_BYTES, session_seconds=session_seconds, lag_seconds=lag_seconds
        )
        start = _cluster(kafka_version, racks, directories, speeds)
        self.control_plane = SimulatedControlPlane(start, self.clock)

    @property
    def version(self) -> tuple[int, int]:
        """Kafka's version."""
        return minor(self._version)

    def create_topic(
        self, assignments: Sequence[Sequence[int]], configs: Mapping[str, str] = NO_CONFIGS
    ) -> str:
        """Create a topic."""
        number = next(self._numbers)
        name = f"topic-{number}"
        lists = tuple(replicas(*brokers) for brokers in assignments)
        command = CreateTopic(name, TopicId(f"{number:022d}"), lists, configs)
        self.control_plane.inject(SendRequest(command))
        assert name in self.control_plane.look(Wanted(topics=[name])).topics, (
            f"{name} was not created"
        )
        return name

    def write(self, topic: str, bytes_per_partition: int) -> None:
        """Produce for a second; in-sync followers that live keep up."""
        topics = self.control_plane.simulation.cluster.topics
        names = [TopicPartition(topic, number) for number in topics[topic].partitions]
        for rate in (bytes_per_partition, 0):
            for name in names:
                self.control_plane.inject(Produce(name, rate))
            self.clock.sleep(1)

    def write_to_leaders(self, topic: str, bytes_per_partition: int) -> None:
        """The same: nobody waits for the others."""
        self.write(topic, bytes_per_partition)

    def stop_broker(self, broker: int) -> None:
        """Begin a controlled shutdown."""
        self.control_plane.inject(StopBroker(BrokerId(broker)))

    def start_broker(self, broker: int) -> None:
        """Start the process again."""
        self.control_plane.inject(StartBroker(BrokerId(broker)))

    def kill_broker(self, broker: int) -> None:
        """Let the process die."""
        self.control_plane.inject(KillBroker(BrokerId(broker)))

    def die_while_starting(self, broker: int) -> None:
        """Start its process, and let it die a second later."""
        self.start_broker(broker)
        self.clock.sleep(1)
        self.kill_broker(broker)

    def lose_disk(self, broker: int, number: int) -> str:
        """Let a log directory fail, and say which it was."""
        dirs = [d.path for d in self.control_plane.log_dirs() if d.broker == broker]
        self.control_plane.inject(LoseDisk(BrokerId(broker), dirs[number]))
        return dirs[number]


def _cluster(
    version: str, racks: Mapping[int, str], paths: Sequence[str], speeds: Speeds
) -> Simulation:
    elr = rules_of(version).elr_by_default
    cluster = ClusterState(
        cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
        version=version,
        elr_enabled=elr,
        brokers={
            BrokerId(number): BrokerRegistration(
                BrokerId(number), rack, epoch=number, log_dirs=tuple(paths)
            )
            for number, rack in racks.items()
        },
        # With ELR the cluster has a default of its own; without, the nodes' files count.
        configs={CLUSTER_DEFAULT: {MIN_INSYNC_REPLICAS: "2"}} if elr else {},
        file_configs={"": {MIN_INSYNC_REPLICAS: "2"}},
        next_broker_epoch=len(racks) + 1,
    )
    directories = tuple(
        LogDir(BrokerId(broker), path, _VOLUME_BYTES, _VOLUME_BYTES)
        for broker in racks
        for path in paths
    )
    return Simulation(cluster, World(log_dirs=directories, speeds=speeds))
