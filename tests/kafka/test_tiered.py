"""Recovery of a topic whose older segments are in remote storage (KIP-405), and deleted locally."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kafka import site
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.clients import until
from tests.kafka.harness.distribution import distribution, local_tiered_storage
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.one_jvm import OneJvmCluster

from replan.snapshots.api import read_index

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(300)]
TIERED = {
    "min.insync.replicas": "1",
    "remote.storage.enable": "true",
    "segment.bytes": "1048576",
    "local.retention.bytes": "1",
    "file.delete.delay.ms": "0",
}


@pytest.fixture
def cluster(
    kafka_version: str, tmp_path: Path, pytestconfig: pytest.Config
) -> Iterator[OneJvmCluster]:
    storage = {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
    }
    layout = Layout(
        version=kafka_version,
        racks={1: "a", 2: "b", 3: "c", 4: "a"},
        log_directories=1,
        broker_session_timeout_ms=2000,
        broker_properties={
            **storage,
            "remote.log.storage.manager.class.path": str(
                local_tiered_storage(distribution(kafka_version))
            ),
            "rsm.config.dir": str(tmp_path / "remote"),
            "rsm.config.delete.on.close": "false",
            "remote.log.metadata.manager.listener.name": "PLAINTEXT",
            "rlmm.config.remote.log.metadata.topic.replication.factor": "4",
            "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
            "rlmm.config.remote.log.metadata.topic.min.isr": "1",
            "remote.log.manager.task.interval.ms": "500",
            "log.retention.check.interval.ms": "500",
            "log.initial.task.delay.ms": "500",
        },
        controller_properties={
            **storage,
            "remote.log.metadata.manager.listener.name": "CONTROLLER",
            "auto.leader.rebalance.enable": "false",
        },
    )
    with one_jvm_cluster(layout, pytestconfig) as running:
        yield running


class Site(site.Site):
    """With records of a kilobyte, a thousand of which are a segment."""

    def kilobytes(self, begin: int, end: int) -> None:
        producer = Producer(
            {"bootstrap.servers": self.cluster.bootstrap, "enable.idempotence": True}
        )
        for number in range(begin, end):
            producer.produce(self.topic, f"{number}".ljust(1000).encode(), partition=0)
            if number % 50 == 49:
                assert producer.flush(60) == 0
        assert producer.flush(60) == 0

    def local_start(self, broker: int) -> int:
        """The first offset that a broker itself has."""
        [folder] = self.cluster.ground.log_directories(broker)
        return min(int(found.stem) for found in (folder / f"{self.topic}-0").glob("*.log"))

    def local_from(self, offset: int, *brokers: int) -> None:
        until(
            lambda: all(self.local_start(broker) > offset for broker in brokers),
            f"the logs of {brokers} deleted up to {offset}",
            limit_seconds=60,
        )

    def numbers(self) -> list[int]:
        """What is in the partition, from remote storage and from its leader."""
        return [int(value) for value in self.values(0)]


def test_the_best_log_of_a_tiered_topic_leads(cluster: OneJvmCluster, tmp_path: Path) -> None:
    """(epoch 0, 7,500), of which 1 alone had 3,500 and tiered most of these; (epoch 2, 4,500) is the better one.

    What only remote storage has of the tail is named and not saved; nothing is elected then. Afterwards readers get the
    better log, and none of the remote segments that it lacks.
    """
    site = Site(cluster, tmp_path, "tiered")
    site.create([1, 2, 3], **TIERED)
    site.kilobytes(0, 4000)
    site.local_from(2000, 1, 2, 3)
    site.stop(2, 3)
    site.kilobytes(4000, 7500)
    site.local_from(5500, 1)
    site.stop(1)
    site.leaderless()
    site.start(2, 3)
    agreed = ("--unclean", "--auto-approve")
    site.replan("elect", "unclean", "--topic", site.topic, "--give-up-on", "1", *agreed)
    site.in_sync(2, 3)
    site.kilobytes(50_000, 50_500)
    site.stop(2, 3)
    site.leaderless()
    site.start(1, 2)
    best = ("elect", "best-log", "--topic", site.topic, "--give-up-on", "3", *agreed)
    site.replan(*best, "--save-tails", "lost", wanted=3)
    assert site.leaders() == [-1]
    [tail] = read_index(tmp_path / "lost").tails
    assert (tail.broker, tail.begin, tail.end) == (1, site.local_start(1), 7500)
    assert tail.records == 7500 - tail.begin
    said = site.replan(*best)
    assert "stated at least 3,500, measured 3,500" in said
    assert site.leaders() == [2]
    site.start(3)
    site.in_sync(1, 2, 3)
    assert site.numbers() == [*range(4000), *range(50_000, 50_500)]
    site.replan("tails", "replay", "lost", "--auto-approve")
    assert site.numbers() == [*range(4000), *range(50_000, 50_500), *range(tail.begin, 7500)]
