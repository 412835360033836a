"""The harness itself: clusters come up, break as told, and leave nothing behind."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kafka.harness import clients
from tests.kafka.harness.cache import made_once
from tests.kafka.harness.fetch import prepare
from tests.kafka.harness.layout import FIVE_BROKERS
from tests.kafka.harness.one_jvm import OneJvmCluster

REPOSITORY = Path(__file__).parents[2]


def produce_one(bootstrap: str, topic: str) -> int:
    """The offset at which all in-sync replicas acknowledged one record."""
    offsets: list[int] = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0})
    producer.produce(topic, b"one", on_delivery=lambda _error, told: offsets.append(told.offset()))
    assert producer.flush(20) == 0
    return offsets[0]


def test_a_product_is_made_once_and_seen_whole(tmp_path: Path) -> None:
    made: list[Path] = []

    def make(draft: Path) -> None:
        made.append(draft)
        draft.write_text("half")
        assert not (tmp_path / "product").exists()
        draft.write_text("whole")

    with ThreadPoolExecutor(4) as callers:
        found = list(callers.map(lambda _: made_once(tmp_path / "product", make), range(4)))

    assert [path.read_text() for path in found] == ["whole"] * 4
    assert len(made) == 1


def test_a_product_that_could_not_be_made_leaves_nothing_and_is_tried_again(
    tmp_path: Path,
) -> None:
    def fail(draft: Path) -> None:
        draft.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        made_once(tmp_path / "product", fail)

    assert [path.name for path in tmp_path.iterdir()] == [".product.lock"]
    made_once(tmp_path / "product", Path.touch)
    assert (tmp_path / "product").exists()


def test_what_is_prepared_needs_neither_maven_nor_compiler_again(
    kafka_version: str, tmp_path: Path
) -> None:
    prepare(kafka_version)
    (tmp_path / "java").symlink_to(str(shutil.which("java")))

    again = subprocess.run(
        [sys.executable, "-m", "tests.kafka.harness.fetch", kafka_version],
        env={"PATH": str(tmp_path), "HOME": str(Path.home()), "PYTHONPATH": str(REPOSITORY)}
        | {name: os.environ[name] for name in ("REPLAN_CACHE",) if name in os.environ},
        capture_output=True,
        text=True,
        check=False,
    )

    assert again.stderr == ""
    assert again.stdout.startswith(f"Kafka {kafka_version} is ready")


def test_without_maven_an_unknown_version_is_refused_in_words(tmp_path: Path) -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "tests.kafka.harness.fetch", "0.0.7"],
        env=os.environ
        | {"REPLAN_CACHE": str(tmp_path), "PYTHONPATH": str(REPOSITORY), "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert refused.returncode == 1
    assert refused.stderr == (
        "Kafka 0.0.7: mvn is not installed. Kafka 0.0.7 could not be fetched;"
        " is there a network, or a mirror in ~/.m2?\n"
    )


def test_five_brokers_of_one_jvm_stand_on_three_racks(one_jvm: OneJvmCluster) -> None:
    client = clients.admin(one_jvm.bootstrap)

    found = client.describe_cluster().result(10)

    assert {node.id: node.rack for node in found.nodes} == dict(FIVE_BROKERS)


def test_a_topic_keeps_the_assignment_it_was_given_and_acknowledges(
    one_jvm: OneJvmCluster,
) -> None:
    clients.create_topic(one_jvm.bootstrap, "given", [[3, 1, 2], [4, 2, 5]])

    found = clients.partition_metadata(clients.admin(one_jvm.bootstrap), "given")

    assert {number: each.replicas for number, each in found.items()} == {
        0: [3, 1, 2],
        1: [4, 2, 5],
    }
    assert produce_one(one_jvm.bootstrap, "given") == 0


def test_a_broker_of_one_jvm_stops_cleanly_and_comes_back(one_jvm: OneJvmCluster) -> None:
    clients.create_topic(one_jvm.bootstrap, "stops", [[5, 4, 3]])

    one_jvm.stop(5)
    clients.await_brokers(one_jvm.bootstrap, [1, 2, 3, 4])
    produce_one(one_jvm.bootstrap, "stops")
    one_jvm.start(5)

    clients.await_in_sync(one_jvm.bootstrap, "stops", 1)


def test_brokers_have_two_log_directories(one_jvm: OneJvmCluster) -> None:
    assert [path.is_dir() for path in one_jvm.log_directories(1)] == [True, True]
