"""The reading methods: what is reported, what is left out, and that they agree with each other."""

import re

import pytest
from tests.conformance.lab import (
    HELD_BYTES,
    RACKS,
    Lab,
    hold_copies_to,
    partition_of,
    reassign,
    until,
    until_reads,
)
from tests.readings import rates_of, sizes_of

from replan.model.api import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    PARTITIONS_SCHEMA,
    TOPICS_SCHEMA,
    UNCLEAN_ELECTION,
    Broker,
    BrokerId,
    ConfigOperation,
    ConfigSource,
    Features,
    LogDir,
    TopicPartition,
    TopicSettings,
    Wanted,
    replicas,
    topic_change,
    topic_codes,
)

ALL_BROKERS = {BrokerId(number): Broker(BrokerId(number), rack) for number, rack in RACKS.items()}


def default_source(lab: Lab) -> ConfigSource:
    """Where min.insync.replicas comes from when no topic says it: with ELR a cluster-wide default (KIP-966)."""
    return ConfigSource.CLUSTER_DEFAULT if lab.version >= (4, 1) else ConfigSource.BROKER_FILE


def test_all_brokers_are_listed_with_their_racks(lab: Lab) -> None:
    assert dict(lab.control_plane.look(Wanted()).brokers) == ALL_BROKERS
    assert lab.control_plane.observe().brokers == tuple(ALL_BROKERS.values())


def test_features_are_those_of_the_version(lab: Lab) -> None:
    modern = lab.version >= (4, 1)
    assert lab.control_plane.features() == Features(modern, modern)
    assert lab.control_plane.observe().features == Features(modern, modern)


def test_a_snapshot_keeps_the_invariants_of_the_model(lab: Lab) -> None:
    lab.create_topic([[1, 2, 3], [2, 3, 1]])
    lab.create_topic([[3, 2, 1]])

    snapshot = lab.control_plane.observe()

    assert snapshot.topics.schema == TOPICS_SCHEMA
    assert snapshot.partitions.schema == PARTITIONS_SCHEMA
    names = snapshot.topics.column("name").to_pylist()
    assert names == sorted(set(names))
    assert snapshot.partitions.column("topic").combine_chunks().dictionary.to_pylist() == names
    numbers = snapshot.partitions.column("partition").to_pylist()
    rows = list(zip(topic_codes(snapshot.partitions).tolist(), numbers, strict=True))
    assert rows == sorted(set(rows))


def test_a_snapshot_says_when_it_was_taken_and_of_which_cluster(lab: Lab) -> None:
    snapshot = lab.control_plane.observe()

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", snapshot.observed_at)
    assert len(snapshot.cluster_id) == 22
    assert snapshot.silent == ()


def test_a_partition_reads_the_same_in_a_snapshot_and_alone(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3], [3, 1, 2]])

    seen = partition_of(lab, topic, 1)

    assert lab.control_plane.observe().partition(TopicPartition(topic, 1)) == seen
    assert (seen.replicas, seen.leader) == (replicas(3, 1, 2), 3)
    assert set(seen.isr) == {1, 2, 3}
    assert (seen.adding, seen.removing, seen.elr, seen.last_known_elr) == ((), (), (), ())
    assert len(seen.topic_id) == 22


def test_a_running_reassignment_reads_the_same_everywhere(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    lab.write(topic, HELD_BYTES)
    hold_copies_to(lab, topic, source=1, destination=4)
    reassign(lab, topic, 1, 2, 4)
    name = TopicPartition(topic, 0)

    running = lab.control_plane.look(Wanted()).running[name]
    seen = partition_of(lab, topic)
    observed = lab.control_plane.observe().partition(name)

    assert running.replicas == replicas(1, 2, 4, 3)
    assert (running.adding, running.removing) == (replicas(4), replicas(3))
    assert seen.running == running
    assert observed is not None
    assert observed.running == running


def test_sizes_are_reported_for_each_replica_and_the_largest_in_the_snapshot(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3], [2, 3, 4]])
    lab.write(topic, 300_000)
    name = TopicPartition(topic, 1)

    sizes = sizes_of(lab.control_plane, [name, TopicPartition("nowhere", 0)])

    assert sorted(sizes) == [(name, 2), (name, 3), (name, 4)]
    assert min(sizes.values()) >= 300_000
    observed = lab.control_plane.observe().partition(name)
    assert observed is not None
    assert observed.bytes == max(sizes.values())


def test_log_directories_tell_their_room_and_their_logs(lab: Lab) -> None:
    before = lab.control_plane.observe().log_dirs
    lab.create_topic([[1, 2], [1, 3], [1, 4]])

    assert [(d.broker, d.path) for d in before] == sorted((d.broker, d.path) for d in before)
    assert {d.broker for d in before} == set(RACKS)
    assert not any(d.cordoned or d.error for d in before)
    assert all(d.total_bytes and d.usable_bytes for d in before)

    def logs(directories: tuple[LogDir, ...]) -> int:
        return sum(d.logs for d in directories if d.broker == 1)

    # Real brokers make logs a moment after the topic, those of earlier tests as well.
    until(
        lab,
        lambda: logs(lab.control_plane.observe().log_dirs) >= logs(before) + 3,
        "three more logs on 1",
    )


def test_what_does_not_exist_is_left_out(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    known, unknown = TopicPartition(topic, 0), TopicPartition(topic, 7)

    assert list(
        lab.control_plane.look(
            Wanted(partitions=[unknown, known, TopicPartition("nowhere", 0)])
        ).partitions
    ) == [known]
    assert list(lab.control_plane.look(Wanted(topics=[topic, "nowhere"])).topics) == [topic]
    assert list(rates_of(lab.control_plane, 1, 9)) == [1]


def test_nothing_asked_is_nothing_told(lab: Lab) -> None:
    lab.create_topic([[1, 2, 3]])

    found = lab.control_plane.look(Wanted())

    assert (found.partitions, found.topics, found.rates, found.sizes) == ({}, {}, {}, {})
    assert lab.control_plane.reassign({}, allow_replication_factor_change=True) == {}
    assert lab.control_plane.alter_configs([]) == {}


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        pytest.param(
            {MIN_INSYNC_REPLICAS: "3"},
            TopicSettings(min_insync_replicas=3, min_insync_source=ConfigSource.TOPIC),
            id="its own minimum",
        ),
        pytest.param(
            {MIN_INSYNC_REPLICAS: "1", UNCLEAN_ELECTION: "true"},
            TopicSettings(1, ConfigSource.TOPIC, unclean_election=True),
            id="unclean elections",
        ),
        pytest.param(
            {MIN_INSYNC_REPLICAS: "1", LEADER_REPLICAS: "0:1,0:2", FOLLOWER_REPLICAS: "*"},
            TopicSettings(
                1, ConfigSource.TOPIC, leader_throttled="0:1,0:2", follower_throttled="*"
            ),
            id="throttled lists",
        ),
    ],
)
def test_settings_of_a_topic_carry_their_source(
    lab: Lab, configs: dict[str, str], expected: TopicSettings
) -> None:
    topic = lab.create_topic([[1, 2, 3]], configs)

    assert lab.control_plane.look(Wanted(topics=[topic])).topics == {topic: expected}
    assert lab.control_plane.observe().settings(topic) == expected


def test_the_minimum_of_the_cluster_is_reported_as_such(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    expected = TopicSettings(min_insync_replicas=2, min_insync_source=default_source(lab))

    assert lab.control_plane.look(Wanted(topics=[topic])).topics == {topic: expected}
    assert lab.control_plane.observe().settings(topic) == expected


def test_an_empty_override_is_not_the_same_as_none(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    change = topic_change(topic, LEADER_REPLICAS, ConfigOperation.SUBTRACT, "0:1")
    lab.control_plane.alter_configs([change])

    def overrides() -> tuple[str | None, str | None]:
        settings = lab.control_plane.look(Wanted(topics=[topic])).topics[topic]
        return settings.leader_throttled, settings.follower_throttled

    until_reads(lab, overrides, ("", None))
