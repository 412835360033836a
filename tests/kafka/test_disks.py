"""What real brokers do when they lose a disk: the facts that the simulator's disks rest on (KIP-858)."""

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace
from tests.kafka.harness import clients
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import Layout
from tests.readings import sizes_of

from replan.kafka.api import KafkaControlPlane, open_cluster
from replan.model.api import Accepted, BrokerId, TopicPartition, Wanted, replicas

PATIENCE_SECONDS = 30
THREE = BrokerId(3)
SECOND = 1
"""The directory that does not hold the metadata log."""


@pytest.fixture
def cluster(kafka_cluster: Callable[..., Cluster], layout: Layout) -> Cluster:
    """Three brokers with two directories each, which look at them twice a second."""
    running = kafka_cluster(
        replace(
            layout,
            racks={1: "a", 2: "b", 3: "c"},
            broker_properties={"replica.high.watermark.checkpoint.interval.ms": "500"},
        ),
        in_one_jvm=(1, 2, 101),
    )
    clients.create_topic(running.bootstrap, "orders", [[3, 1, 2]] * 4)
    clients.create_topic(running.bootstrap, "clicks", [[1, 2]])
    return running


@pytest.fixture
def plane(cluster: Cluster) -> Iterator[KafkaControlPlane]:
    with open_cluster(cluster.bootstrap, None) as connected:
        yield connected


def lying_in(cluster: Cluster, number: int) -> set[TopicPartition]:
    """The partitions of `orders` with a log in a directory of broker 3."""
    found = cluster.ground.log_directories(3)[number].glob("orders-*")
    return {TopicPartition("orders", int(path.name.removeprefix("orders-"))) for path in found}


def in_sync(plane: KafkaControlPlane, name: TopicPartition) -> set[int]:
    """Its ISR; nothing while the metadata of the broker is behind the controller."""
    found = plane.look(Wanted(partitions=[name])).partitions.get(name)
    return set() if found is None else set(found.isr)


def await_isr(plane: KafkaControlPlane, name: TopicPartition, isr: set[int]) -> None:
    clients.until(
        lambda: in_sync(plane, name) == isr, f"{name} in sync {isr}", limit_seconds=PATIENCE_SECONDS
    )


def reassign(plane: KafkaControlPlane, name: TopicPartition, *ids: int) -> None:
    answers = plane.reassign({name: replicas(*ids)}, allow_replication_factor_change=True)
    assert answers == {name: Accepted()}


@pytest.mark.nightly  # what is read of it is held in tests/unit/kafka/test_messages.py
def test_a_broker_loses_a_disk_goes_on_and_gets_another_one(
    cluster: Cluster, plane: KafkaControlPlane
) -> None:
    # Brokers make logs a moment after the topic.
    clients.until(
        lambda: (len(lying_in(cluster, 0)), len(lying_in(cluster, SECOND))) == (2, 2),
        "two logs in each directory of 3",
        limit_seconds=PATIENCE_SECONDS,
    )
    kept, lost = lying_in(cluster, 0), lying_in(cluster, SECOND)
    gone, dropped = sorted(lost)
    for name in kept | lost:
        await_isr(plane, name, {1, 2, 3})

    cluster.lose_disk(3, SECOND)
    for name in lost:
        await_isr(plane, name, {1, 2})
        assert plane.look(Wanted(partitions=[name])).partitions[name].leader == 1
    for name in kept:
        assert in_sync(plane, name) == {1, 2, 3}
        assert plane.look(Wanted(partitions=[name])).partitions[name].leader == THREE
    told = [d for d in plane.observe().log_dirs if d.broker == THREE]
    assert [d.error for d in told] == [None, "KAFKA_STORAGE_ERROR"]
    assert (told[SECOND].total_bytes, told[SECOND].usable_bytes, told[SECOND].logs) == (
        None,
        None,
        0,
    )
    assert (gone, THREE) not in sizes_of(plane, [gone])
    assert plane.observe().offline == dict.fromkeys(lost, (THREE,))

    reassign(plane, TopicPartition("clicks", 0), 1, 2, 3)  # a new replica goes to the other disk
    await_isr(plane, TopicPartition("clicks", 0), {1, 2, 3})
    reassign(plane, dropped, 1, 2)
    reassign(plane, dropped, 1, 2, 3)
    with pytest.raises(TimeoutError):  # what was lost and dropped is not created again
        clients.until(lambda: 3 in in_sync(plane, dropped), "it comes", limit_seconds=8)

    cluster.stop(3)
    cluster.start(3)  # before the broker has started again
    await_isr(plane, dropped, {1, 2, 3})
    assert in_sync(plane, gone) == {1, 2}

    cluster.stop(3)
    cluster.replace_disk(3, SECOND)
    cluster.start(3)
    await_isr(plane, gone, {1, 2, 3})
    assert lying_in(cluster, SECOND) == {gone}


@pytest.mark.nightly
def test_a_broker_dies_with_the_disk_of_its_metadata_log(
    cluster: Cluster, plane: KafkaControlPlane
) -> None:
    cluster.lose_disk(3, 0)
    clients.until(
        lambda: not cluster.runs(3), "the end of broker 3", limit_seconds=PATIENCE_SECONDS
    )
    assert "Shutdown broker because the metadata log dir" in cluster.log_tails()
    for number in range(4):
        await_isr(plane, TopicPartition("orders", number), {1, 2})
