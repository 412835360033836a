"""What groups have committed outlives everything that replan does with the topic that holds it.

A broker finds a group by hash % partitions, with the number that it reads when it starts: with another number of
partitions of `__consumer_offsets` most groups would have committed nothing, once all brokers were restarted.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.clients import admin, await_in_sync, create_topic, partition_metadata
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.site import steady_layout
from tests.kafka.test_main_job import Site

GROUPS = [f"group-{number}" for number in range(8)]
OFFSETS = "__consumer_offsets"


@pytest.fixture(params=["4.3.1", "3.9.2"])
def cluster(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Iterator[OneJvmCluster]:
    """Of its own: all its brokers are restarted."""
    with one_jvm_cluster(steady_layout(request.param), pytestconfig) as running:
        yield running


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_offsets_topic_gets_no_partitions_and_a_rolling_restart_loses_no_committed_offset(
    cluster: OneJvmCluster, tmp_path: Path
) -> None:
    create_topic(cluster.bootstrap, "orders", [[1, 2, 3]])
    wanted = {group: number + 1 for number, group in enumerate(GROUPS)}
    for group, offset in wanted.items():
        commit(cluster, group, offset)
    lists = listed(cluster)

    site = Site(cluster, tmp_path, "orders")
    (tmp_path / "placement.yaml").write_text(
        "version: 1\nassignments: {'__consumer_*': {partitionCount: 7}}\n"
    )
    for words in (["plan"], ["apply", "-f", "placement.yaml", "--auto-approve"]):
        refused = site.replan(*words, wanted=3)
        assert f"the number of partitions of {OFFSETS} must stay {len(lists)}" in refused
        assert "[count-is-fixed]" in refused
    assert listed(cluster) == lists

    for broker in cluster.ground.layout.racks:
        cluster.stop(broker)
        cluster.start(broker)
        await_in_sync(cluster.bootstrap, OFFSETS, len(lists), limit_seconds=60)
    assert {group: committed(cluster, group) for group in GROUPS} == wanted
    assert listed(cluster) == lists


def commit(cluster: OneJvmCluster, group: str, offset: int) -> None:
    consumer = member(cluster, group)
    try:
        consumer.commit(offsets=[TopicPartition("orders", 0, offset)], asynchronous=False)
    finally:
        consumer.close()


def committed(cluster: OneJvmCluster, group: str) -> int:
    """What a group has committed; -1001 if nothing."""
    consumer = member(cluster, group)
    try:
        (found,) = consumer.committed([TopicPartition("orders", 0)], timeout=60)
        return int(found.offset)
    finally:
        consumer.close()


def member(cluster: OneJvmCluster, group: str) -> Consumer:
    return Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group, "log_level": 0})


def listed(cluster: OneJvmCluster) -> dict[int, list[int]]:
    found = partition_metadata(admin(cluster.bootstrap), OFFSETS)
    return {number: list(found[number].replicas) for number in sorted(found)}
