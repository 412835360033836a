"""Partitions without a leader on real brokers: what their logs hold, who leads again, what is lost; by commands.

Broker 4 stays up. Records are small, so that thousands of them differ between logs.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.commandline import replan
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.clients import (
    admin,
    create_topic,
    live_brokers,
    partition_metadata,
    until,
)
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.one_jvm import OneJvmCluster

from replan.planning.plan_file import loads
from replan.planning.recovery.recovery import Recovery

pytestmark = pytest.mark.timeout(600)
LONG_SECONDS = 300.0


@pytest.fixture(scope="module")
def cluster(kafka_version: str, pytestconfig: pytest.Config) -> Iterator[OneJvmCluster]:
    layout = Layout(
        version=kafka_version,
        racks={1: "a", 2: "b", 3: "c", 4: "a"},
        broker_session_timeout_ms=2000,
        controller_properties={"auto.leader.rebalance.enable": "false"},
    )
    with one_jvm_cluster(layout, pytestconfig) as running:
        yield running


class Site:
    """A topic of one's own, and commands against the cluster that holds it."""

    def __init__(self, cluster: OneJvmCluster, folder: Path, topic: str) -> None:
        self.cluster, self.folder, self.topic = cluster, folder, topic

    def create(self, *lists: list[int], **configs: str) -> None:
        create_topic(self.cluster.bootstrap, self.topic, lists, configs)

    def write(self, records: int, *partitions: int) -> None:
        """So many records to each partition (the first, if none is named), acknowledged by all that are in sync."""
        producer = Producer(
            {"bootstrap.servers": self.cluster.bootstrap, "acks": "all", "log_level": 0}
        )
        failed: list[Any] = []
        for partition in partitions or (0,):
            for number in range(records):
                producer.produce(
                    self.topic,
                    f"{number}".encode(),
                    partition=partition,
                    on_delivery=lambda error, _: failed.append(error) if error else None,
                )
                producer.poll(0)
        assert producer.flush(60) == 0
        assert not failed

    def stop(self, *brokers: int) -> None:
        """Stop brokers one after another, each fenced before the next."""
        client = admin(self.cluster.bootstrap)
        for broker in brokers:
            self.cluster.stop(broker)
            until(
                lambda gone=broker: gone not in live_brokers(client),  # type: ignore[misc]
                f"{broker} fenced",
                limit_seconds=30,
            )

    def start(self, *brokers: int) -> None:
        for broker in brokers:
            self.cluster.start(broker)

    def leaders(self) -> list[int]:
        """Who leads each partition; -1 where nobody does."""
        found = partition_metadata(admin(self.cluster.bootstrap), self.topic)
        return [found[number].leader for number in sorted(found)]

    def leaderless(self) -> None:
        until(lambda: set(self.leaders()) == {-1}, "no leader", limit_seconds=60)

    def in_sync(self, *brokers: int) -> None:
        client = admin(self.cluster.bootstrap)

        def holds() -> bool:
            found = partition_metadata(client, self.topic).values()
            return bool(found) and all(sorted(p.isrs) == sorted(brokers) for p in found)

        until(holds, f"{brokers} in sync", limit_seconds=60)

    def values(self, begin: int) -> list[str]:
        """The values of the records of the first partition from an offset on."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.cluster.bootstrap,
                "group.id": "nobody",
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(self.topic, 0, begin)])
        found: list[str] = []
        try:
            while (message := consumer.poll(30)) is not None and message.error() is None:
                found.append((message.value() or b"").decode())
        finally:
            consumer.close()
        return found

    def replan(self, *words: str, wanted: int = 0, cluster: bool = True) -> str:
        flags = ["--bootstrap-server", self.cluster.bootstrap] if cluster else []
        if words[0] not in {"snapshot", "tails"}:
            flags += ["--journal", "file:journal", "--unlocked"]
        done = replan(*words, *flags, folder=self.folder)
        (self.folder / "said.txt").write_text(done.stderr)
        assert done.returncode == wanted, done.stdout + done.stderr
        return done.stdout

    def elect(self, *words: str) -> list[dict[str, Any]]:
        """Recover by a command, and what became of each partition."""
        flags = ("--topic", self.topic, "--unclean", "--auto-approve", "--format", "json")
        found: list[dict[str, Any]] = json.loads(self.replan("elect", *words, *flags))["recoveries"]
        return found

    def planned(self, *words: str) -> Recovery:
        """What a command would do."""
        self.replan("elect", *words, "--topic", self.topic, "-o", "plan.json", wanted=2)
        (found,) = loads((self.folder / "plan.json").read_text(), "plan.json").recoveries
        return found


def test_the_best_surviving_log_leads_and_its_loss_is_stated_and_measured(
    cluster: OneJvmCluster, tmp_path: Path
) -> None:
    """3,000 records on the dead leader, 2,000 and 1,000 on the others; Kafka's own election takes the shortest."""
    site = Site(cluster, tmp_path, "best")
    site.create([1, 3, 2], **{"min.insync.replicas": "1"})
    site.write(1000)
    site.stop(3)
    site.write(1000)
    site.stop(2)
    site.write(1000)
    site.replan("snapshot", "--logs", "-o", "before.json")
    site.stop(1)
    site.leaderless()
    site.start(3, 2)
    try:
        said = site.replan("elect", "best-log", "--topic", site.topic, wanted=3)
        assert "[better-may-return]" in said
        assert site.planned("unclean", "--give-up-on", "1").chosen == 3
        planned = site.planned("best-log", "--give-up-on", "1", "--before", "before.json")
        assert planned.order == (2, 1, 3)
        loss = planned.loss
        assert (loss.records, loss.than, loss.offset, loss.unknown) == (1000, 1, 2000, (1,))
        site.replan("apply", "plan.json", "--auto-approve", wanted=3)
        assert site.leaders() == [-1]
        (row,) = site.elect("best-log", "--give-up-on", "1", "--before", "before.json")
        assert (row["leader"], row["statedLoss"], row["measuredLoss"]) == (2, 1000, 1000)
        assert site.leaders() == [2]
    finally:
        site.start(1)
    site.in_sync(1, 2, 3)


def test_a_later_epoch_counts_more_than_length(cluster: OneJvmCluster, tmp_path: Path) -> None:
    """(epoch 0, 3,000) and (epoch 2, 1,500): the second has what was acknowledged last; they part at 1,000."""
    site = Site(cluster, tmp_path, "epochs")
    site.create([1, 2, 3], **{"min.insync.replicas": "1"})
    site.write(1000)
    site.stop(2, 3)
    site.write(2000)
    site.stop(1)
    site.leaderless()
    site.start(2, 3)
    (row,) = site.elect("unclean", "--give-up-on", "1")
    assert row["leader"] == 2
    site.in_sync(2, 3)
    site.write(500)
    site.stop(2, 3)
    site.leaderless()
    site.start(1, 2)
    try:
        planned = site.planned("best-log", "--give-up-on", "3")
        ends = {c.broker: c.known.rank for c in planned.candidates if c.known is not None}
        assert ends == {1: (0, 3000), 2: (2, 1500)}
        assert planned.chosen == 2
        assert (planned.loss.records, planned.loss.than, planned.loss.offset) == (2000, 1, 1000)
        (row,) = site.elect("best-log", "--give-up-on", "3", "--save-tails", "lost")
        assert (row["leader"], row["statedLoss"], row["measuredLoss"]) == (2, 2000, 2000)
    finally:
        site.start(3)
    site.in_sync(1, 2, 3)
    assert "2,000" in site.replan("tails", "show", "lost", cluster=False)
    site.replan("tails", "replay", "lost", "--auto-approve")
    assert site.values(1500) == [str(number) for number in range(2000)]


def test_an_eligible_replica_that_returns_leads_without_an_unclean_election(
    cluster: OneJvmCluster, tmp_path: Path, kafka_version: str
) -> None:
    if kafka_version.startswith("3."):
        pytest.skip("3.9 has no eligible leader replicas")
    site = Site(cluster, tmp_path, "eligible")
    site.create([1, 2, 3], **{"min.insync.replicas": "2"})
    site.write(100)
    site.stop(3, 2, 1)
    site.leaderless()
    site.start(3)
    said = site.replan("elect", "best-log", "--topic", site.topic, wanted=3)
    assert "[better-may-return]" in said
    site.start(2)
    until(lambda: site.leaders() == [2], "2 to lead", limit_seconds=30)
    said = site.replan("elect", "best-log", "--topic", site.topic)
    assert "no election is needed" in said
    site.start(1)
    site.in_sync(1, 2, 3)


@pytest.mark.nightly
def test_five_hundred_partitions_are_led_again_by_one_command(
    cluster: OneJvmCluster, tmp_path: Path
) -> None:
    site = Site(cluster, tmp_path, "many")
    lists = [[1, 2, 3] if number % 2 else [1, 3, 2] for number in range(500)]
    create_topic(
        cluster.bootstrap,
        site.topic,
        lists,
        {"min.insync.replicas": "1"},
        limit_seconds=LONG_SECONDS,
    )
    site.write(2, *range(500))
    site.stop(3)
    site.write(1, *range(500))
    site.stop(2, 1)
    site.leaderless()
    site.start(3, 2)
    try:
        rows = site.elect("best-log", "--give-up-on", "1")
        assert {(r["leader"], r["result"]) for r in rows} == {(2, "done")}
        until(lambda: set(site.leaders()) == {2}, "2 to lead all", limit_seconds=60)
    finally:
        site.start(1)
