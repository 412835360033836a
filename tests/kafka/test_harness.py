"""The harness itself: clusters come up, break as told, and leave nothing behind."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.kafka.harness import clients
from tests.kafka.harness.cache import made_once
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.fetch import prepare
from tests.kafka.harness.jvm import NodeFailure
from tests.kafka.harness.layout import Layout, free_ports
from tests.kafka.harness.load import ProducerLoad
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.harness.tools import ToolFailure, run_tool, run_tool_warm

REPOSITORY = Path(__file__).parents[2]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_no_two_processes_are_given_the_same_port_and_none_twice() -> None:
    """A broker that is about to start, or is down, holds nothing at its port."""
    among = range(14000, 14040)
    ours = free_ports(15, among) + free_ports(15, among)
    asking = f"from tests.kafka.harness.layout import *; print(*free_ports(7, {among}))"
    told = subprocess.run(
        [sys.executable, "-c", asking],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    theirs = [int(port) for port in told.stdout.split()]
    assert len({*ours, *theirs}) == 37


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


def test_kafkas_own_tool_says_the_same_in_a_jvm_of_its_own_and_in_a_warm_one(
    one_jvm: OneJvmCluster,
) -> None:
    clients.create_topic(one_jvm.bootstrap, "described", [[2, 3, 1]])
    asked = ("--bootstrap-server", one_jvm.bootstrap, "--describe", "--topic", "described")

    said = run_tool(one_jvm.ground.kafka, "kafka-topics", *asked)

    assert "Topic: described" in said
    assert "Replicas: 2,3,1" in said
    for _ in range(2):
        assert run_tool_warm(one_jvm.ground.kafka, "kafka-topics", *asked) == said


@pytest.mark.parametrize("run", [run_tool, run_tool_warm])
def test_a_failing_tool_says_what_it_said(one_jvm: OneJvmCluster, run: Callable[..., str]) -> None:
    asked = ("--bootstrap-server", one_jvm.bootstrap, "--describe", "--topic", "absent")

    with pytest.raises(ToolFailure, match=r"exit 1\n(?s:.*)absent.* does not exist as expected"):
        run(one_jvm.ground.kafka, "kafka-topics", *asked)
    with pytest.raises(ToolFailure, match=r"exit 1\n(?s:.*)nonsense is not a recognized option"):
        run(one_jvm.ground.kafka, "kafka-topics", "--nonsense")


def test_filling_writes_the_bytes_asked_for_to_every_replica(one_jvm: OneJvmCluster) -> None:
    clients.create_topic(one_jvm.bootstrap, "filled", [[1, 2], [3, 4]])

    clients.fill(one_jvm.bootstrap, "filled", 2_000_000)

    for broker, partition in ((1, 0), (2, 0), (3, 1), (4, 1)):
        segments = [
            segment
            for directory in one_jvm.ground.log_directories(broker)
            for segment in (directory / f"filled-{partition}").glob("*.log")
        ]
        assert 2_000_000 <= sum(segment.stat().st_size for segment in segments) < 2_200_000


def test_load_on_a_healthy_cluster_is_acknowledged_record_by_record(
    one_jvm: OneJvmCluster,
) -> None:
    clients.create_topic(one_jvm.bootstrap, "loaded", [[1, 2, 3], [2, 3, 1]])

    began = time.monotonic()
    with ProducerLoad(one_jvm.bootstrap, "loaded", records_per_second=50) as load:
        clients.until(lambda: load.account().acknowledged > 50, "50 acks", limit_seconds=20)
        account = load.close()

    assert account.sent <= 50 * (time.monotonic() - began) + 1, "no faster than asked for"
    assert account.errors == ()
    assert account.unanswered == 0
    assert account.acknowledged == account.sent
    assert sum(offset + 1 for offset in account.last_offsets.values()) == account.sent


def test_load_accounts_for_every_error(one_jvm: OneJvmCluster) -> None:
    clients.create_topic(one_jvm.bootstrap, "refusing", [[1, 2]], {"max.message.bytes": "90"})

    with ProducerLoad(one_jvm.bootstrap, "refusing") as load:
        clients.until(lambda: bool(load.account().errors), "an error", limit_seconds=20)
        account = load.close()

    first = account.errors[0]
    assert (first.partition, first.code) == (0, "MSG_SIZE_TOO_LARGE")
    assert 0 < first.at_seconds < 20
    assert len(account.errors) == account.sent
    assert account.unanswered == 0


@pytest.mark.nightly
def test_brokers_are_killed_frozen_thawed_stopped_and_started(
    kafka_cluster: Callable[..., Cluster], layout: Layout
) -> None:
    cluster = kafka_cluster(replace(layout, broker_session_timeout_ms=2000), in_one_jvm=(2, 3, 101))
    clients.create_topic(cluster.bootstrap, "hurt", [[1, 2, 3, 4]])
    with ProducerLoad(cluster.bootstrap, "hurt", records_per_second=50) as load:
        cluster.kill(1)
        cluster.freeze(4)
        cluster.stop(5)
        clients.await_brokers(cluster.bootstrap, [2, 3])
        cluster.thaw(4)
        cluster.start(1, 5)
        clients.await_brokers(cluster.bootstrap, [1, 2, 3, 4, 5])
        clients.await_in_sync(cluster.bootstrap, "hurt", 1)
        account = load.close()

    assert account.errors == ()
    assert account.acknowledged == account.sent


@pytest.mark.nightly
def test_with_three_controllers_one_may_die(
    kafka_cluster: Callable[..., Cluster], layout: Layout
) -> None:
    cluster = kafka_cluster(
        replace(layout, racks={1: "a"}, controllers=3), in_one_jvm=(1, 101, 102)
    )

    cluster.kill(103)

    clients.create_topic(cluster.bootstrap, "decided", [[1]])
    assert len(cluster.pids) == 1


@pytest.mark.nightly  # by day Python itself is killed, which leaves more
def test_nothing_is_left_when_a_cluster_closes(
    kafka_cluster: Callable[..., Cluster], layout: Layout
) -> None:
    cluster = kafka_cluster(replace(layout, racks={1: "a"}))
    pids, home = cluster.pids, cluster.ground.home.path
    cluster.freeze(1)

    cluster.close()

    assert [pid for pid in pids if is_alive(pid)] == []
    assert not home.exists()


ABANDONED = """
import os, signal
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import Layout
cluster = Cluster(Layout(version={version!r}, racks={{1: "a"}}))
cluster.freeze(1)
print(cluster.ground.home.path, *cluster.pids, flush=True)
os.kill(os.getpid(), signal.{end})
"""


@pytest.mark.parametrize("end", ["SIGKILL", pytest.param("SIGTERM", marks=pytest.mark.nightly)])
def test_nothing_is_left_when_python_itself_is_killed(kafka_version: str, end: str) -> None:
    told = subprocess.run(
        [sys.executable, "-c", ABANDONED.format(version=kafka_version, end=end)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )

    home, *pids = told.stdout.split()
    assert len(pids) == 2, told.stderr
    clients.until(
        lambda: not Path(home).exists() and not any(is_alive(int(pid)) for pid in pids),
        f"{home} and {pids} gone",
        limit_seconds=20,
    )


def test_a_node_that_cannot_start_says_why(
    kafka_cluster: Callable[..., Cluster], layout: Layout
) -> None:
    broken = replace(layout, racks={1: "a"}, broker_properties={"num.io.threads": "none"})

    with pytest.raises(NodeFailure, match=r"failed 1 .*num\.io\.threads"):
        kafka_cluster(broken)
