"""The adapter on real brokers, beyond the port: quiet, tidy, in pieces, and what only real brokers can show."""

import gc
import logging
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import confluent_kafka
import pytest
from msgspec.structs import replace
from tests.kafka.harness import clients
from tests.kafka.harness.layout import free_ports
from tests.kafka.harness.one_jvm import OneJvmCluster

from replan.errors import ClusterUnreachable
from replan.kafka.api import (
    ASKING,
    Interrupt,
    KafkaControlPlane,
    Reads,
    SystemClock,
    client_properties,
    connect,
    open_cluster,
    pages,
)
from replan.model.api import (
    Accepted,
    BrokerId,
    ConfigOperation,
    ConfigScope,
    LogEnd,
    TopicPartition,
    Wanted,
    broker_change,
    topic_change,
)


@pytest.fixture
def control_plane(one_jvm: OneJvmCluster) -> Iterator[KafkaControlPlane]:
    """A connection of the test's own."""
    with open_cluster(one_jvm.bootstrap, None) as connected:
        yield connected


def test_closing_leaves_neither_threads_nor_sockets(one_jvm: OneJvmCluster) -> None:
    before = set(threading.enumerate())
    connected = open_cluster(one_jvm.bootstrap, None)
    connected.observe()
    connected.alter_configs(
        [broker_change(BrokerId(1), "follower.replication.throttled.rate", ConfigOperation.DELETE)]
    )

    connected.close()
    connected.close()
    del connected
    gc.collect()  # an unclosed socket is a warning, and warnings are errors here

    assert set(threading.enumerate()) <= before


def test_a_failed_connection_leaves_no_thread_either() -> None:
    before = set(threading.enumerate())

    with pytest.raises(ClusterUnreachable):
        open_cluster(f"127.0.0.1:{free_ports(1)[0]}", None, timeout_seconds=0.2)
    gc.collect()

    assert set(threading.enumerate()) <= before


def test_the_clients_say_nothing_themselves(
    one_jvm: OneJvmCluster, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    bootstrap = f"127.0.0.1:{free_ports(1)[0]},{one_jvm.bootstrap}"
    for _ in range(3):
        with open_cluster(bootstrap, None) as connected:
            connected.alter_configs([topic_change("nowhere", "x", ConfigOperation.SET, "1")])

    assert capfd.readouterr() == ("", "")
    assert caplog.messages == []
    assert logging.getLogger().level == logging.WARNING


def test_the_moment_of_a_snapshot_is_reported_in_utc(one_jvm: OneJvmCluster) -> None:
    east = datetime(2026, 11, 21, 5, 0, 0, 999, timezone(timedelta(hours=2)))

    with open_cluster(one_jvm.bootstrap, None, wall_clock=lambda: east) as connected:
        assert connected.observe().observed_at == "2026-11-21T03:00:00Z"


@pytest.mark.parametrize("page", [1, 3])
def test_pages_come_together_wherever_they_are_cut(one_jvm: OneJvmCluster, page: int) -> None:
    counts = {f"page-{letter}-{page}": count for letter, count in (("a", 2), ("b", 5), ("c", 1))}
    for topic, count in counts.items():
        clients.create_topic(one_jvm.bootstrap, topic, [[1]] * count)
    names = [TopicPartition(topic, number) for topic in counts for number in range(counts[topic])]
    asked = [*counts, f"page-aa-{page}-that-is-nowhere"]
    clock = SystemClock()
    wire = connect(client_properties(one_jvm.bootstrap, None), clock.interrupt, limit_seconds=10)
    reads = Reads(wire, clock, patience_seconds=10)

    def told(topics: list[str] | None) -> list[TopicPartition]:
        return [
            TopicPartition(topic.name, number)
            for told in pages(reads, topics, page=page)
            for topic in told.topics
            for number in told.numbers("p")[topic.first : topic.first + topic.count].tolist()
        ]

    try:
        # A broker knows a topic a moment after another one has said so.
        clients.until(lambda: told(asked) == names, f"exactly {names}", limit_seconds=20)
        everything = told(None)
    finally:
        wire.close()

    assert everything == sorted(set(everything))
    assert set(everything) >= set(names)


def test_many_topics_are_described_in_pieces(
    one_jvm: OneJvmCluster, control_plane: KafkaControlPlane
) -> None:
    clients.create_topic(one_jvm.bootstrap, "one-of-many", [[1]])
    asked = ["one-of-many", *(f"nowhere-{number}" for number in range(2500))]

    def described() -> bool:
        return list(control_plane.look(Wanted(topics=asked)).topics) == ["one-of-many"]

    clients.until(described, "every broker to know the topic", limit_seconds=30)


def test_a_cordoned_broker_is_reported_so(
    one_jvm: OneJvmCluster, kafka_version: str, control_plane: KafkaControlPlane
) -> None:
    if kafka_version < "4.3":
        pytest.skip("directories can be cordoned from 4.3 on (KIP-1066)")
    set_cordon = broker_change(BrokerId(5), "cordoned.log.dirs", ConfigOperation.SET, "*")
    lift = broker_change(BrokerId(5), "cordoned.log.dirs", ConfigOperation.DELETE)
    key = (ConfigScope.BROKER, "5")
    assert control_plane.alter_configs([set_cordon]) == {key: Accepted()}
    try:
        await_cordon(control_plane, frozenset({BrokerId(5)}))

        snapshot = control_plane.observe()

        assert [b.id for b in snapshot.brokers if b.cordoned] == [5]
        assert {d.broker for d in snapshot.log_dirs if d.cordoned} == {5}
    finally:
        assert control_plane.alter_configs([lift]) == {key: Accepted()}
        await_cordon(control_plane, frozenset())


def cordoned(control_plane: KafkaControlPlane) -> frozenset[BrokerId]:
    found = control_plane.look(Wanted(cordons_of=[BrokerId(b) for b in range(1, 6)])).brokers
    return frozenset(b.id for b in found.values() if b.cordoned)


def await_cordon(control_plane: KafkaControlPlane, wanted: frozenset[BrokerId]) -> None:
    clients.until(
        lambda: cordoned(control_plane) == wanted,
        f"exactly {sorted(wanted)} to be cordoned",
        limit_seconds=20,
    )


def test_a_broker_says_how_far_it_has_read_what_the_controllers_wrote(
    one_jvm: OneJvmCluster,
) -> None:
    """By that offset another broker is known to be as far; each change of the cluster moves it on."""
    wire = connect(client_properties(one_jvm.bootstrap, None), Interrupt(), limit_seconds=10)
    try:
        before = wire.ask(ASKING, limit_seconds=10)
        clients.create_topic(one_jvm.bootstrap, "offsets-move-on", [[1, 2, 3]])
        clients.until(
            lambda: wire.ask(ASKING, limit_seconds=10).metadata_offset > before.metadata_offset,
            "a later offset",
            limit_seconds=30,
        )
    finally:
        wire.close()

    assert before.metadata_offset > 0


def test_where_a_log_begins_is_where_records_were_deleted(
    one_jvm: OneJvmCluster, control_plane: KafkaControlPlane
) -> None:
    name = TopicPartition("deleted-below", 0)
    clients.create_topic(one_jvm.bootstrap, name.topic, [[2, 1]])
    clients.fill(one_jvm.bootstrap, name.topic, 10 * clients.RECORD_BYTES)
    wanted = {BrokerId(2): [name]}
    (whole,) = control_plane.log_ends(wanted)[BrokerId(2)].values()
    admin = clients.admin(one_jvm.bootstrap)
    below = confluent_kafka.TopicPartition(name.topic, 0, 7)
    admin.delete_records([below])[below].result(30)
    (rest,) = control_plane.log_ends(wanted)[BrokerId(2)].values()

    assert isinstance(whole, LogEnd)
    assert (whole.start, whole.end) == (0, 10)
    assert rest == replace(whole, start=7)
