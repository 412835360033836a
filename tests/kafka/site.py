"""A topic of one's own on brokers that come and go: what producers, consumers, Kafka's tools and commands do to it."""

import re
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from tests.commandline import checked, started
from tests.kafka.harness.clients import (
    admin,
    create_topic,
    live_brokers,
    partition_metadata,
    until,
)
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.harness.tools import run_tool_warm

JOURNAL = ("--journal", "file:journal", "--unlocked")


def steady_layout(version: str) -> Layout:
    """Four brokers with short sessions, whose controller moves no leader by itself and has a policy (NoThrottles)."""
    return Layout(
        version=version,
        racks={1: "a", 2: "b", 3: "c", 4: "a"},
        broker_session_timeout_ms=2000,
        broker_properties={  # transactions go on while one broker is left
            "transaction.state.log.replication.factor": "4",
            "transaction.state.log.min.isr": "1",
        },
        controller_properties={
            "auto.leader.rebalance.enable": "false",
            "alter.config.policy.class.name": "NoThrottles",
        },
    )


def described(cluster: OneJvmCluster | Cluster, topic: str) -> list[tuple[list[int], int]]:
    """List and leader of each partition, as kafka-topics says them."""
    flags = ("--bootstrap-server", cluster.bootstrap, "--describe", "--topic", topic)
    text = run_tool_warm(cluster.ground.kafka, "kafka-topics", *flags)
    found = re.findall(r"Leader: (\d+)\tReplicas: ([\d,]+)", text)
    return [([int(b) for b in listed.split(",")], int(leader)) for leader, listed in found]


class Site:
    """A topic of one's own, and commands against the cluster that holds it."""

    def __init__(self, cluster: OneJvmCluster | Cluster, folder: Path, topic: str) -> None:
        self.cluster, self.folder, self.topic = cluster, folder, topic

    def create(self, *lists: list[int], **configs: str) -> None:
        create_topic(self.cluster.bootstrap, self.topic, lists, configs)

    def write(self, records: int, *partitions: int, batch: int = 0) -> None:
        """So many records to each partition (the first, if none is named), acknowledged by all that are in sync.

        `batch`: wait for the answer after so many, so that they lie in batches of so many.
        """
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
                if batch and number % batch == batch - 1:
                    producer.flush(60)
        assert producer.flush(240) == 0
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

    def ends(self) -> list[int]:
        """Up to where each partition can be read."""
        consumer = Consumer({"bootstrap.servers": self.cluster.bootstrap, "group.id": "nobody"})
        try:
            return [
                consumer.get_watermark_offsets(TopicPartition(self.topic, number), timeout=30)[1]
                for number, _ in enumerate(self.leaders())
            ]
        finally:
            consumer.close()

    def leaderless(self) -> None:
        until(lambda: set(self.leaders()) == {-1}, "no leader", limit_seconds=60)

    def in_sync(self, *brokers: int) -> None:
        client = admin(self.cluster.bootstrap)

        def holds() -> bool:
            found = partition_metadata(client, self.topic).values()
            return bool(found) and all(sorted(p.isrs) == sorted(brokers) for p in found)

        until(holds, f"{brokers} in sync", limit_seconds=60)

    def transaction(self, name: str, records: int, *partitions: int) -> Producer:
        """A transaction with so many records in each partition, all in the log; it is still open."""
        producer = Producer(
            {
                "bootstrap.servers": self.cluster.bootstrap,
                "transactional.id": f"{self.topic}-{name}",
                "transaction.timeout.ms": 10_000,
                "log_level": 0,
            }
        )
        producer.init_transactions(60)
        producer.begin_transaction()
        for partition in partitions:
            for number in range(records):
                producer.produce(self.topic, f"{name} {number}".encode(), partition=partition)
        assert producer.flush(60) == 0
        return producer

    def values(self, begin: int, partition: int = 0, *, committed: bool = False) -> list[str]:
        """The values of the records of a partition from an offset on; all, or those that count as committed."""
        found = self.messages(begin, partition, committed=committed)
        return [(message.value() or b"").decode() for message in found]

    def messages(self, begin: int, partition: int = 0, *, committed: bool = False) -> list[Message]:
        """These records."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.cluster.bootstrap,
                "group.id": "nobody",
                "enable.partition.eof": True,
                "isolation.level": "read_committed" if committed else "read_uncommitted",
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(self.topic, partition, begin)])
        found: list[Message] = []
        try:
            while (message := consumer.poll(30)) is not None and message.error() is None:
                found.append(message)
        finally:
            consumer.close()
        return found

    def killed(self, *words: str, at: str) -> None:
        """Begin a command, and kill it when its journal has a record whose key begins so."""
        self._killed([*words, *JOURNAL], self.folder / "journal", f'"key":"{at}')

    def killed_replay(self, folder: str, *words: str, lines: int) -> None:
        """Begin to replay a folder, and kill it when it has noted so many lines; or it ends before."""
        noted = self.folder / folder / "replayed.txt"
        before = len(noted.read_text().splitlines()) if noted.exists() else 0
        replay = ["tails", "replay", folder, "--auto-approve", *words]
        self._killed(replay, noted, "\n", times=before + lines)

    def _killed(self, words: list[str], file: Path, text: str, times: int = 1) -> None:
        flags = ["--bootstrap-server", self.cluster.bootstrap]
        with started([*words, *flags], folder=self.folder) as process:
            try:
                until(
                    lambda: (
                        process.poll() is not None
                        or (file.exists() and file.read_text().count(text) >= times)
                    ),
                    f"{text!r} in {file.name}",
                    limit_seconds=60,
                )
            except TimeoutError as error:
                process.kill()
                raise AssertionError(f"{words}: {process.communicate()}") from error

    def replan(self, *words: str, wanted: int = 0, cluster: bool = True) -> str:
        flags = ["--bootstrap-server", self.cluster.bootstrap] if cluster else []
        if words[0] == "journal":
            flags += JOURNAL[:2]
        elif words[0] not in {"snapshot", "tails"}:
            flags += JOURNAL
        return checked(*words, *flags, folder=self.folder, wanted=wanted).stdout
