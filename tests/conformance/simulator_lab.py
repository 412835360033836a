"""The lab over the simulator: a fresh cluster for each test, in virtual time."""

import itertools
from collections.abc import Mapping, Sequence

from tests.conformance.lab import NO_CONFIGS, RACKS

from replan.model.broker import LogDir
from replan.model.configs import MIN_INSYNC_REPLICAS
from replan.model.control_plane import Wanted
from replan.model.names import BrokerId, TopicId, TopicPartition, replicas
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.faults import Ask, Produce, StartBroker, StopBroker
from replan.simulator.cluster.physical_state import Simulation, Speeds, World
from replan.simulator.control_plane import SimulatedControlPlane
from replan.simulator.controller.commands import CreateTopic
from replan.simulator.controller.state import CLUSTER_DEFAULT, BrokerRegistration, ClusterState
from replan.simulator.controller.versions import rules_of

_DIRECTORIES = ("data-0", "data-1")
_VOLUME_BYTES = 1_000_000_000
RECORD_BYTES = 100_000
"""As the harness writes them to real brokers."""


class SimulatorLab:
    """A simulated cluster of five brokers."""

    def __init__(self, kafka_version: str) -> None:
        self.clock = VirtualClock()
        self._version = kafka_version
        self._numbers = itertools.count(1)
        self.control_plane = SimulatedControlPlane(_cluster(kafka_version), self.clock)

    @property
    def version(self) -> tuple[int, int]:
        """Kafka's version."""
        major, minor = self._version.split(".")[:2]
        return int(major), int(minor)

    def create_topic(
        self, assignments: Sequence[Sequence[int]], configs: Mapping[str, str] = NO_CONFIGS
    ) -> str:
        """Create a topic."""
        number = next(self._numbers)
        name = f"topic-{number}"
        lists = tuple(replicas(*brokers) for brokers in assignments)
        command = CreateTopic(name, TopicId(f"{number:022d}"), lists, configs)
        self.control_plane.inject(Ask(command))
        assert name in self.control_plane.look(Wanted(topics=[name])).topics, (
            f"{name} was not created"
        )
        return name

    def write(self, topic: str, bytes_per_partition: int) -> None:
        """Produce for a second; in-sync followers keep up."""
        topics = self.control_plane.simulation.cluster.topics
        names = [TopicPartition(topic, number) for number in topics[topic].partitions]
        for rate in (bytes_per_partition, 0):
            for name in names:
                self.control_plane.inject(Produce(name, rate))
            self.clock.sleep(1)

    def stop_broker(self, broker: int) -> None:
        """Begin a controlled shutdown."""
        self.control_plane.inject(StopBroker(BrokerId(broker)))

    def start_broker(self, broker: int) -> None:
        """Start the process again."""
        self.control_plane.inject(StartBroker(BrokerId(broker)))


def _cluster(version: str) -> Simulation:
    elr = rules_of(version).elr_by_default
    cluster = ClusterState(
        cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
        version=version,
        elr_enabled=elr,
        brokers={
            BrokerId(number): BrokerRegistration(
                BrokerId(number), rack, epoch=number, log_dirs=_DIRECTORIES
            )
            for number, rack in RACKS.items()
        },
        # With ELR the cluster has a default of its own; without, the nodes' files count.
        configs={CLUSTER_DEFAULT: {MIN_INSYNC_REPLICAS: "2"}} if elr else {},
        file_configs={"": {MIN_INSYNC_REPLICAS: "2"}},
        next_broker_epoch=len(RACKS) + 1,
    )
    directories = tuple(
        LogDir(BrokerId(broker), path, _VOLUME_BYTES, _VOLUME_BYTES)
        for broker in RACKS
        for path in _DIRECTORIES
    )
    return Simulation(
        cluster, World(log_dirs=directories, speeds=Speeds(record_bytes=RECORD_BYTES))
    )
