"""A loop on real brokers while they die, a rack dies, people pause it, a window ends, leaders move, and a disk is full.

Six brokers in three racks; those of rack c are processes of their own, which can be killed. Thresholds are seconds.
"""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import checked, started
from tests.kafka import test_main_job as main_job
from tests.kafka.harness.clients import (
    admin,
    await_brokers,
    create_topic,
    delete_topics,
    fill,
    partition_metadata,
    until,
)
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.tools import run_tool_warm

from replan.model.api import JOURNAL_TOPIC

MEGABYTE = 1_000_000
RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
LISTS = [[1, 2, 3], [2, 6, 4], [6, 4, 5]]


def layout(version: str) -> Layout:
    """Short sessions; the files of a replica that has left go at once."""
    return Layout(
        version=version,
        racks=RACKS,
        broker_session_timeout_ms=3000,
        broker_properties={
            "log.segment.delete.delay.ms": "500",
            "log.initial.task.delay.ms": "500",
        },
        controller_properties={"auto.leader.rebalance.enable": "false"},
    )


@pytest.fixture(scope="module")
def cluster(shared_kafka_cluster: Callable[..., Cluster], kafka_version: str) -> Cluster:
    return shared_kafka_cluster(layout(kafka_version), in_one_jvm=(1, 2, 4, 5, 101))


class Loop:
    """A loop at work on a topic of its own, and what it has said."""

    def __init__(self, cluster: Cluster, folder: Path, topic: str, name: str = "loop") -> None:
        self.cluster, self.folder, self.topic = cluster, folder, topic
        self.flags = ("--bootstrap-server", cluster.bootstrap)
        self._log, self._read = folder / f"{name}.log", 0

    def declare(self, policy: str, lists: object = None, rate: str = "50MB/s") -> None:
        """By rule, three replicas in three racks; or these lists."""
        rule = (
            "{replicationFactor: 3, spread: rack}" if lists is None else f"{{partitions: {lists}}}"
        )
        (self.folder / "placement.yaml").write_text(
            f"version: 1\nassignments: {{{self.topic}: {rule}}}\n"
            f"throttles: {{moves: {{rate: {rate}}}}}\nreconcile: {policy}\n"
        )

    @contextmanager
    def begun(self, *more: str) -> Iterator[subprocess.Popen[str]]:
        """While it runs; its end is the caller's."""
        words = ("reconcile", "--every", "1s", "--settle", "4", "--log-format", "json")
        self._read = 0
        with (
            self._log.open("w") as log,
            started([*words, *more, *self.flags], folder=self.folder, log=log.fileno()) as process,
        ):
            yield process

    @contextmanager
    def running(self, *more: str) -> Iterator[subprocess.Popen[str]]:
        """While it runs; a signal ends it."""
        with self.begun(*more) as process:
            yield process
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 130
        assert "Traceback" not in self._log.read_text()

    def events(self) -> list[Mapping[str, Any]]:
        """All that it has said."""
        lines = self._log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def says(self, event: str, limit_seconds: float = 60, **fields: object) -> Mapping[str, Any]:
        """The next event that has these fields."""
        found: list[Mapping[str, Any]] = []

        def said() -> bool:
            for number, one in list(enumerate(self.events()))[self._read :]:
                if one["event"] == event and fields.items() <= one.items():
                    self._read = number + 1
                    found.append(one)
                    return True
            return False

        try:
            until(said, f"{event} {fields}", limit_seconds=limit_seconds)
        except TimeoutError as problem:
            raise AssertionError(f"{problem}\n{self._log.read_text()}") from problem
        return found[0]

    def rounds(self) -> list[Mapping[str, Any]]:
        """The rounds that it has done."""
        return [one["round"] for one in self.events() if one["event"] == "round"]

    def lists(self) -> list[list[int]]:
        return [list(p.replicas) for _, p in sorted(self._partitions())]

    def leaders(self) -> list[int]:
        return [p.leader for _, p in sorted(self._partitions())]

    def _partitions(self) -> Any:
        return partition_metadata(admin(self.cluster.bootstrap), self.topic).items()

    def person(self, *words: str) -> None:
        checked(*words, *self.flags, folder=self.folder)


@pytest.fixture
def loop(cluster: Cluster, tmp_path: Path) -> Iterator[Loop]:
    """On a topic of its own; every broker runs again afterwards, and the journal is another test's no more."""
    topic = f"orders-{tmp_path.name[-30:].strip('_')}"
    create_topic(cluster.bootstrap, topic, LISTS)
    yield Loop(cluster, tmp_path, topic)
    back(cluster)
    delete_topics(cluster.bootstrap, topic, JOURNAL_TOPIC)


def back(cluster: Cluster) -> None:
    """Start what is down."""
    live = admin(cluster.bootstrap).list_topics(timeout=10).brokers
    for broker in {3, 6} - set(live):
        cluster.start(broker)
    await_brokers(cluster.bootstrap, tuple(RACKS))


@pytest.mark.nightly
def test_a_broker_that_is_killed_for_shorter_and_for_longer_than_its_threshold(loop: Loop) -> None:
    fill(loop.cluster.bootstrap, loop.topic, 5 * MEGABYTE)
    loop.declare("{putRight: {brokerDown: 15s}}")
    with loop.running():
        loop.says("state", state="at-rest")
        loop.cluster.kill(6)
        loop.says("state", state="waiting")
        loop.cluster.start(6)
        loop.says("state", state="at-rest")
        assert loop.lists() == LISTS
        assert loop.rounds() == []
        loop.cluster.kill(6)
        killed = datetime.now(UTC)
        done = loop.says("round", limit_seconds=90)["round"]
        assert (done["kinds"], done["result"]) == (["brokerDown"], "done")
        assert done["beganAt"] - killed.timestamp() >= 15
        assert [3 in of and 6 not in of for of in loop.lists()] == [True] * 3
        replaced = loop.lists()
        loop.cluster.start(6)
        loop.says("state", state="at-rest")
        assert loop.lists() == replaced


@pytest.mark.nightly
def test_what_one_loop_was_killed_in_the_middle_of_the_other_one_ends(loop: Loop) -> None:
    """Within a minute, and with the throttles restored; by day it is killed at rest: test_reconcile.py."""
    fill(loop.cluster.bootstrap, loop.topic, 20 * MEGABYTE)
    policy, after = "{putRight: {placementChanged: 0s}}", [[4, 2, 3], *LISTS[1:]]
    loop.declare(policy, LISTS, "2MB/s")
    other = Loop(loop.cluster, loop.folder, loop.topic, "other")
    with loop.begun() as first:
        loop.says("state", state="at-rest")
        with other.running():
            other.says("state", state="waiting-for-lease")
            loop.declare(policy, after, "2MB/s")
            until(lambda: len(loop.lists()[0]) > 3, "a copy that runs", limit_seconds=90)
            first.kill()
            until(lambda: loop.lists() == after, "the end of the round", limit_seconds=240)
            other.says("state", state="at-rest", limit_seconds=120)
    assert main_job.Site(loop.cluster, loop.folder, loop.topic).leftovers() == []


@pytest.mark.nightly
def test_a_leader_that_moved_is_elected_again(loop: Loop) -> None:
    loop.declare("{putRight: {leadershipMoved: 1s}}", LISTS)
    with loop.running():
        loop.says("state", state="at-rest")
        loop.cluster.kill(6)
        until(lambda: loop.leaders() == [1, 2, 4], "another leader", limit_seconds=30)
        loop.cluster.start(6)
        until(lambda: loop.leaders() == [1, 2, 6], "the leader that moved", limit_seconds=60)
        assert loop.says("round")["round"]["kinds"] == ["leadershipMoved"]
        assert loop.lists() == LISTS


@pytest.mark.nightly
def test_a_rack_that_is_down_holds(loop: Loop) -> None:
    loop.declare("{putRight: {brokerDown: 5s}}")
    with loop.running():
        loop.says("state", state="at-rest")
        loop.cluster.kill(3, 6)
        held = loop.says("state", state="holding")
        assert {r["is"] for r in held["reasons"]} <= {"brokers-down", "racks-down"}
        until(
            lambda: held["at"] + 12 < datetime.now(UTC).timestamp(),
            "twice its time",
            limit_seconds=20,
        )
        assert loop.rounds() == []
    back(
        loop.cluster
    )  # one after the other: a loop would see the rack back, and one broker down for long enough
    with loop.running():
        loop.says("state", state="at-rest")
        assert loop.rounds() == []
        assert loop.lists() == LISTS


@pytest.mark.nightly
def test_what_a_person_pauses_waits_for_that_person(loop: Loop) -> None:
    loop.declare("{putRight: {placementChanged: 0s, changedElsewhere: never}}", LISTS)
    after = [[4, 2, 3], *LISTS[1:]]
    with loop.running():
        loop.says("state", state="at-rest")
        loop.person("pause")
        loop.says("state", state="paused")
        loop.declare("{putRight: {placementChanged: 0s, changedElsewhere: never}}", after)
        loop.says("differs")
        assert loop.lists() == LISTS
        loop.person("resume")
        assert loop.says("round")["round"]["result"] == "done"
        assert loop.lists() == after


@pytest.mark.nightly
def test_a_journal_that_is_deleted_under_a_loop_is_named_once_and_made_again(loop: Loop) -> None:
    loop.declare("{putRight: {placementChanged: 0s}}", LISTS)
    after = [[4, 2, 3], *LISTS[1:]]
    with loop.running():
        loop.says("state", state="at-rest")
        delete_topics(loop.cluster.bootstrap, JOURNAL_TOPIC)
        [reason] = loop.says("state", state="unreachable")["reasons"]
        assert f"the journal topic {JOURNAL_TOPIC} was deleted" in reason["text"]
        loop.says("state", state="at-rest")
        loop.declare("{putRight: {placementChanged: 0s}}", after)
        assert loop.says("round")["round"]["result"] == "done"
        assert loop.lists() == after
    loop.person("status")


@pytest.mark.nightly
def test_what_needs_a_broker_that_is_down_waits_for_it_and_nothing_else_does(loop: Loop) -> None:
    policy = "{putRight: {placementChanged: 0s}}"
    loop.declare(policy, LISTS)
    with loop.running():
        loop.says("state", state="at-rest")
        loop.cluster.kill(6)
        loop.says("state", state="differs")
        after = [[1, 2, 6], [2, 3, 4], LISTS[2]]
        loop.declare(policy, after)
        done = loop.says("round")["round"]
        assert (done["moves"], done["result"]) == (1, "done")
        assert loop.lists() == [LISTS[0], *after[1:]]
        loop.says("state", state="differs")
        assert len(loop.rounds()) == 1
        loop.cluster.start(6)
        assert loop.says("round", limit_seconds=120)["round"]["result"] == "done"
        assert loop.lists() == after


@pytest.mark.nightly
def test_a_window_that_ends_in_the_middle_ends_what_runs_and_begins_nothing(loop: Loop) -> None:
    """Windows end with a minute; a copy of 60 MB at 1 MB/s runs for one, and two of them go to one broker."""
    fill(loop.cluster.bootstrap, loop.topic, 60 * MEGABYTE)
    always = "{putRight: {placementChanged: 0s}}"
    loop.declare(always, LISTS, "1MB/s")
    after = [[1, 2, 5], [2, 5, 4], [6, 4, 5]]
    with loop.running("--slots", "1"):
        loop.says("state", state="at-rest")
        until(lambda: 15 <= datetime.now(UTC).second <= 35, "enough of a minute", limit_seconds=60)
        ends = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        window = f'{{from: "{ends - timedelta(minutes=3):%H:%M}", to: "{ends:%H:%M}", zone: UTC}}'
        loop.declare(f"{{putRight: {{placementChanged: 0s}}, windows: [{window}]}}", after, "1MB/s")
        loop.says("state", state="acting")
        done = loop.says("round", limit_seconds=240)["round"]
        assert done["result"] == "cancelled"
        assert done["endedAt"] >= ends.timestamp()
        loop.says("state", state="outside-window")
        moved = [of == wanted for of, wanted in zip(loop.lists()[:2], after[:2], strict=True)]
        assert sorted(moved) == [False, True]  # what ran has ended, and what had not begun is left


@contextmanager
def small_disk(cluster: Cluster, broker: int, megabytes: int) -> Iterator[Path]:
    """Put the second log directory of a broker, which is empty, on a small file system of its own."""
    place = cluster.ground.log_directories(broker)[1]
    cluster.stop(broker)
    kept = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(place)],
        capture_output=True,
        check=False,
    )
    try:
        if mounted.returncode:
            pytest.skip(f"nothing may be mounted here: {mounted.stderr.decode()}")
        (place / "meta.properties").write_bytes(kept["meta.properties"])
        cluster.start(broker)
        try:
            yield place
        finally:
            cluster.stop(broker)
    finally:
        if not mounted.returncode:
            subprocess.run(["umount", "--lazy", str(place)], check=True)
        cluster.start(broker)


@contextmanager
def full_directory(loop: Loop) -> Iterator[tuple[str, Path]]:
    """A topic of three partitions that fill a small second log directory of broker 6, and that directory."""
    cluster, topic = loop.cluster, f"{loop.topic}-full"
    disk = shutil.disk_usage(cluster.ground.home.path)
    if (disk.total - disk.free) / disk.total > 0.78:
        pytest.skip("the disk of this machine is too full to take anything from another one")
    with small_disk(cluster, 6, 128) as small:
        create_topic(cluster.bootstrap, topic, [[6, 1, 2]] * 3)
        place = {"topic": topic, "replicas": [6, 1, 2], "log_dirs": [str(small), "any", "any"]}
        there = loop.folder / "there.json"
        partitions = [{**place, "partition": number} for number in range(3)]
        there.write_text(json.dumps({"version": 1, "partitions": partitions}))
        words = ("--reassignment-json-file", str(there), "--execute")
        run_tool_warm(cluster.ground.kafka, "kafka-reassign-partitions", *loop.flags, *words)
        until(
            lambda: len(lying(small, topic)) == 3, "three logs on the small disk", limit_seconds=60
        )
        fill(cluster.bootstrap, topic, 38 * MEGABYTE)
        yield topic, small
        delete_topics(cluster.bootstrap, topic)


def lying(directory: Path, topic: str) -> list[str]:
    """The logs of a topic in a directory that are not being deleted."""
    return [path.name for path in directory.glob(f"{topic}-*") if "." not in path.name]


MOUNTS = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="a file system is mounted"
)


@MOUNTS
@pytest.mark.nightly
def test_a_full_log_directory_gives_the_least_that_does_to_the_other_one(loop: Loop) -> None:
    with full_directory(loop) as (topic, small):
        loop.declare("{putRight: {logDirFull: {above: 80%, for: 3s}}}")
        with loop.running():
            done = loop.says("round", limit_seconds=90)["round"]
            assert (done["kinds"], done["result"]) == (["logDirFull"], "done")
            assert done["moves"] == 1
            loop.says("state", state="at-rest")
            assert len(loop.rounds()) == 1
        assert len(lying(small, topic)) == 2


@MOUNTS
@pytest.mark.nightly
def test_where_no_other_directory_may_take_it_a_broker_of_the_same_rack_does(loop: Loop) -> None:
    with full_directory(loop) as (topic, small):
        other = loop.cluster.ground.log_directories(6)[0]
        (loop.folder / "placement.yaml").write_text(
            f"version: 1\nassignments: {{{topic}: {{replicationFactor: 3, spread: rack}}}}\n"
            f'blacklists: {{logDirs: [{{broker: 6, path: "{other}"}}]}}\n'
            "reconcile: {putRight: {logDirFull: {above: 80%, for: 3s}}}\n"
        )
        with loop.running():
            done = loop.says("round", limit_seconds=90)["round"]
            assert (done["kinds"], done["result"]) == (["logDirFull"], "done")
            assert done["moves"] == 1
            loop.says("state", state="differs")  # what else lies where nothing is to lie
            assert len(loop.rounds()) == 1
        found = partition_metadata(admin(loop.cluster.bootstrap), topic).values()
        assert sorted(sorted({*p.replicas} - {1, 2}) for p in found) == [[3], [6], [6]]
        assert len(lying(small, topic)) == 2


@pytest.mark.nightly
def test_the_main_path_on_the_oldest_version(
    kafka_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    """A merged change, a broker that dies for longer than its threshold, a leader that moved: on 3.9.2."""
    cluster = kafka_cluster(layout("3.9.2"), in_one_jvm=(1, 2, 3, 4, 5, 101))
    create_topic(cluster.bootstrap, "orders", LISTS)
    loop = Loop(cluster, tmp_path, "orders")
    loop.declare(
        "{putRight: {brokerDown: 8s, placementChanged: 0s, leadershipMoved: 1s}}", rate="20MB/s"
    )
    with loop.running():
        loop.says("state", state="at-rest")
        cluster.kill(6)
        done = loop.says("round", limit_seconds=90)["round"]
        assert (done["kinds"], done["result"]) == (["brokerDown"], "done")
        assert all(6 not in of for of in loop.lists())
        loop.says("state", state="at-rest")
        lists = loop.lists()
        wanted = [[*lists[0][1:], lists[0][0]], *lists[1:]]
        loop.declare(
            "{putRight: {brokerDown: 8s, placementChanged: 0s, leadershipMoved: 1s}}", wanted
        )
        loop.says("round")
        until(lambda: loop.lists() == wanted, "the merged change", limit_seconds=60)
        until(lambda: loop.leaders()[0] == wanted[0][0], "its first leads", limit_seconds=60)
