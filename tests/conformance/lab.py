"""What the conformance suite needs beside the port: making topics, writing, stopping brokers.

One protocol; `kafka_lab` has the real cluster, `simulator_lab` the simulated one. Both have the brokers 1 to 5
on the racks a b c a b, and the cluster's default of min.insync.replicas is 2. Topic names are the lab's to
choose, since a real cluster is shared by all tests.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from replan.applying.api import probe
from replan.model.api import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    Accepted,
    BrokerId,
    Clock,
    ConfigOperation,
    ControlPlane,
    PartitionState,
    ProbedLogs,
    ReplicaLog,
    TopicPartition,
    Wanted,
    broker_change,
    replicas,
    topic_change,
)

RACKS = MappingProxyType({1: "a", 2: "b", 3: "c", 4: "a", 5: "b"})
NO_CONFIGS: Mapping[str, str] = MappingProxyType({})
PATIENCE_SECONDS = 40.0
POLL_SECONDS = 0.05
RECORD_BYTES = 100_000
"""Of one record that `write` writes."""
HELD_BYTES = 4_000_000
"""Enough for a copy to be held: a follower's first fetch passes any throttle (1 MiB, replica.fetch.max.bytes)."""


def minor(version: str) -> tuple[int, int]:
    """Kafka's version as far as behaviour differs: (4, 3) of `4.3.1`."""
    major, minor, *_ = map(int, version.split("."))
    return major, minor


class Lab(Protocol):
    """A cluster of five brokers, and a hand that can do to it what the port cannot."""

    @property
    def control_plane(self) -> ControlPlane:
        """The port under test."""
        ...

    @property
    def clock(self) -> Clock:
        """The time that the cluster runs by."""
        ...

    @property
    def version(self) -> tuple[int, int]:
        """Kafka's version, as far as it decides what is expected."""
        ...

    def create_topic(
        self, assignments: Sequence[Sequence[int]], configs: Mapping[str, str] = NO_CONFIGS
    ) -> str:
        """Create a topic with these lists and return its name, once all of it is in sync."""
        ...

    def write(self, topic: str, bytes_per_partition: int) -> None:
        """Write to each partition, and wait until all in-sync replicas have it."""
        ...

    def stop_broker(self, broker: int) -> None:
        """Stop a broker cleanly; the test sees for itself when it is fenced."""
        ...

    def start_broker(self, broker: int) -> None:
        """Start a stopped broker again."""
        ...


def until(lab: Lab, holds: Callable[[], bool], awaited: str) -> None:
    """Let the lab's time pass until the condition holds; TimeoutError names what was awaited."""
    deadline = lab.clock.now() + PATIENCE_SECONDS
    while not holds():
        if lab.clock.now() > deadline:
            raise TimeoutError(f"not within {PATIENCE_SECONDS:g} s: {awaited}")
        lab.clock.sleep(POLL_SECONDS)


def until_reads(lab: Lab, read: Callable[[], object], expected: object) -> None:
    """Wait until a reading gives what is expected; brokers show a change a moment after it was accepted."""
    deadline = lab.clock.now() + PATIENCE_SECONDS
    while (found := read()) != expected and lab.clock.now() < deadline:
        lab.clock.sleep(POLL_SECONDS)
    assert found == expected


def partition_of(lab: Lab, topic: str, partition: int = 0) -> PartitionState:
    """One partition that exists, as soon as the broker that is asked knows it."""
    name = TopicPartition(topic, partition)
    wanted = Wanted(partitions=[name])
    until(lab, lambda: name in lab.control_plane.look(wanted).partitions, f"{name} known")
    return lab.control_plane.look(wanted).partitions[name]


def until_fenced(lab: Lab, broker: int) -> None:
    """Wait until a broker that was stopped is fenced; before 4.1 one that holds nothing is not told at all."""

    def fenced() -> bool:
        told = lab.control_plane.look(Wanted()).brokers.get(BrokerId(broker))
        return told is None or told.fenced

    until(lab, fenced, f"{broker} to be fenced")


def until_listed(lab: Lab, topic: str, *wanted: int) -> None:
    """Wait until nothing runs on partition 0 and brokers show this list, all of it in sync."""
    name = TopicPartition(topic, 0)

    def arrived() -> bool:
        seen = partition_of(lab, topic)
        return (
            name not in lab.control_plane.look(Wanted()).running
            and seen.replicas == replicas(*wanted)
            and set(seen.isr) == set(wanted)
        )

    until(lab, arrived, f"{name} on {list(wanted)}")


def reassign(lab: Lab, topic: str, *wanted: int) -> None:
    """Ask for a list of partition 0, which must be accepted."""
    name = TopicPartition(topic, 0)
    answers = lab.control_plane.reassign(
        {name: replicas(*wanted)}, allow_replication_factor_change=True
    )
    assert answers == {name: Accepted()}


def hold_copies_to(lab: Lab, topic: str, source: int, destination: int) -> None:
    """Throttle so hard that no copy of partition 0 from the source ends while a test runs."""
    assert set(
        lab.control_plane.alter_configs(
            [
                broker_change(BrokerId(destination), FOLLOWER_RATE, ConfigOperation.SET, "1"),
                topic_change(topic, LEADER_REPLICAS, ConfigOperation.APPEND, f"0:{source}"),
                topic_change(topic, FOLLOWER_REPLICAS, ConfigOperation.APPEND, f"0:{destination}"),
            ]
        ).values()
    ) == {Accepted()}


def release_copies_to(lab: Lab, destination: int) -> None:
    """Take the throttle of `hold_copies_to` away."""
    change = broker_change(BrokerId(destination), FOLLOWER_RATE, ConfigOperation.DELETE)
    assert set(lab.control_plane.alter_configs([change]).values()) == {Accepted()}


def logs_of(lab: Lab, topic: str, *brokers: int) -> ProbedLogs:
    """What replicas of partition 0 say of their logs."""
    name = TopicPartition(topic, 0)
    return probe(lab.control_plane, {name: [BrokerId(b) for b in brokers]})[name]


def log(found: ProbedLogs, broker: int) -> ReplicaLog:
    """What one of them said, which must be an answer."""
    one = found[BrokerId(broker)]
    assert isinstance(one, ReplicaLog), one
    return one


def leader_is(lab: Lab, topic: str, broker: int | None) -> None:
    """Wait until it leads partition 0; None: nobody does."""
    until(lab, lambda: partition_of(lab, topic).leader == broker, f"{broker} to lead")


def in_sync(lab: Lab, topic: str, *brokers: int) -> None:
    """Wait until these are the ISR of partition 0."""

    def holds() -> bool:
        return set(partition_of(lab, topic).isr) == {BrokerId(b) for b in brokers}

    until(lab, holds, f"{brokers} in sync")


def answering(lab: Lab, topic: str, *brokers: int) -> None:
    """Wait until these say what their logs of partition 0 hold."""

    def holds() -> bool:
        partition_of(lab, topic)  # a look says where brokers listen
        return all(isinstance(one, ReplicaLog) for one in logs_of(lab, topic, *brokers).values())

    until(lab, holds, f"{brokers} to answer")


def stop(lab: Lab, *brokers: int) -> None:
    """Stop brokers one after another, each fenced before the next."""
    for broker in brokers:
        lab.stop_broker(broker)
        until_fenced(lab, broker)
