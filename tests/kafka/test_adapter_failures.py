"""The adapter while processes die, freeze and come back: what it survives, what it says, how long it takes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace
from tests.kafka.harness import clients
from tests.kafka.harness.clients import seconds
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import Layout
from tests.readings import rates_of

from replan.errors import ClusterUnreachable
from replan.kafka.api import (
    DESCRIBE_QUORUM,
    Interrupt,
    KafkaControlPlane,
    Question,
    client_properties,
    connect,
    open_cluster,
    request_class,
)
from replan.model.api import (
    Accepted,
    Answer,
    ElectionType,
    Look,
    OutcomeUnknown,
    Replicas,
    TopicPartition,
    Wanted,
    replicas,
)

BROKERS = {1: "a", 2: "b", 3: "c"}
NAME = TopicPartition("orders", 0)
# By day all of it happens on a fake cluster: test_wire.py.
pytestmark = pytest.mark.nightly
Start = Callable[..., Cluster]


@pytest.fixture(scope="module")
def cluster(shared_kafka_cluster: Start, layout: Layout) -> Cluster:
    """Three brokers and three controllers, a JVM each; every test puts back what it breaks."""
    running = shared_kafka_cluster(
        replace(layout, racks=BROKERS, controllers=3, broker_session_timeout_ms=6000)
    )
    clients.create_topic(running.bootstrap, NAME.topic, [[1, 2, 3]])
    return running


@pytest.fixture
def control_plane(cluster: Cluster) -> Iterator[KafkaControlPlane]:
    """A connection with the patience of the product."""
    with open_cluster(cluster.bootstrap, None) as connected:
        yield connected


def active_controller(cluster: Cluster) -> int:
    """The controller that leads the quorum."""
    quorum = request_class("DescribeQuorum")
    topic = quorum.TopicData
    request = quorum(
        topics=[
            topic(
                topic_name="__cluster_metadata", partitions=[topic.PartitionData(partition_index=0)]
            )
        ]
    )
    properties = client_properties(cluster.bootstrap, None)
    wire = connect(properties, Interrupt(), limit_seconds=10)
    try:
        told = wire.ask(Question(DESCRIBE_QUORUM, request), limit_seconds=10)
        return int(told.topics[0].partitions[0].leader_id)
    finally:
        wire.close()


def reorder(control_plane: KafkaControlPlane, *wanted: int) -> Answer:
    """The answer to another order of the same brokers."""
    asked: dict[TopicPartition, Replicas | None] = {NAME: replicas(*wanted)}
    return control_plane.reassign(asked, allow_replication_factor_change=False)[NAME]


@contextmanager
def without(cluster: Cluster, *nodes: int, frozen: bool = False) -> Iterator[None]:
    """While they are dead, or frozen."""
    (cluster.freeze if frozen else cluster.kill)(*nodes)
    try:
        yield
    finally:
        (cluster.thaw if frozen else cluster.start)(*nodes)
        clients.await_brokers(cluster.bootstrap, tuple(BROKERS), limit_seconds=60)
        clients.await_in_sync(cluster.bootstrap, NAME.topic, 1, limit_seconds=60)


def test_a_frozen_broker_among_the_addresses_is_passed_over(cluster: Cluster) -> None:
    with without(cluster, 1, frozen=True):

        def ask() -> None:
            with open_cluster(cluster.bootstrap, None) as connected:
                assert connected.look(Wanted(partitions=[NAME])).partitions

        assert max(seconds(ask) for _ in range(3)) < 15


def test_a_broker_that_has_just_died_is_named_as_silent_and_holds_nobody_up(
    cluster: Cluster, control_plane: KafkaControlPlane
) -> None:
    control_plane.observe()
    with without(cluster, 3):
        began = time.monotonic()
        snapshot = control_plane.observe()
        took = time.monotonic() - began

        assert took < 6
        assert snapshot.silent == (3,)
        assert {d.broker for d in snapshot.log_dirs} == {1, 2}
        assert [b.id for b in snapshot.brokers] == [1, 2, 3]
        assert list(rates_of(control_plane, 1, 2, 3)) == [1, 2]


def test_reading_goes_on_when_the_broker_that_answers_dies(
    cluster: Cluster, control_plane: KafkaControlPlane
) -> None:
    for broker in BROKERS:
        with without(cluster, broker):
            assert seconds(lambda: control_plane.look(Wanted(partitions=[NAME])).partitions) < 10
            assert NAME in control_plane.look(Wanted(partitions=[NAME])).partitions


def test_a_killed_controller_is_survived(
    cluster: Cluster, control_plane: KafkaControlPlane
) -> None:
    controller = active_controller(cluster)
    with without(cluster, controller):
        answers: list[Answer] = []
        began = time.monotonic()
        while Accepted() not in answers and time.monotonic() - began < 45:
            answers.append(reorder(control_plane, 1, 2, 3))
            assert control_plane.look(Wanted()).running == {}

        assert answers[-1] == Accepted()
        assert all(isinstance(a, Accepted | OutcomeUnknown) for a in answers)


def looked(control_plane: KafkaControlPlane) -> Look | None:
    """One look, which is tried for as long as one request may take; the applier looks again."""
    try:
        return control_plane.look(Wanted())
    except ClusterUnreachable:
        return None


def test_a_frozen_controller_makes_writes_unknown_and_readings_wait(
    cluster: Cluster, control_plane: KafkaControlPlane
) -> None:
    """Brokers talk to the frozen controller for 30 s (controller.socket.timeout.ms) before they look for another."""
    controller = active_controller(cluster)
    with without(cluster, controller, frozen=True):
        began = time.monotonic()
        answer = reorder(control_plane, 1, 2, 3)
        assert isinstance(answer, OutcomeUnknown | Accepted)
        assert time.monotonic() - began < 25

        while looked(control_plane) is None:
            assert time.monotonic() - began < 60
        assert reorder(control_plane, 1, 2, 3) == Accepted()


def test_a_cluster_that_is_down_is_unreachable_after_the_patience_and_found_again(
    cluster: Cluster,
) -> None:
    with open_cluster(cluster.bootstrap, None, timeout_seconds=2) as connected:
        connected.observe()
        with without(cluster, *BROKERS):
            began = time.monotonic()
            with pytest.raises(ClusterUnreachable) as raised:
                connected.look(Wanted(partitions=[NAME]))
            waited = time.monotonic() - began
            unknown = reorder(connected, 1, 2, 3)
            elected = connected.elect([NAME], ElectionType.PREFERRED)[NAME]

        assert waited < 8
        assert str(raised.value).startswith("the cluster did not answer ListPartitionReassignments")
        assert isinstance(unknown, OutcomeUnknown)
        assert isinstance(elected, OutcomeUnknown)
        assert NAME in connected.look(Wanted(partitions=[NAME])).partitions
