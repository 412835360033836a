"""The main job on real brokers, through the command line: plan, apply, drift, and what may go wrong in between.

What Kafka's own tools say afterwards decides. A producer with acks=all runs beside every move and must not
see an error. Settle time is 6 s here, as long as these brokers' session timeout.
"""

import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import checked, interrupted, started
from tests.kafka.harness.clients import (
    admin,
    create_topic,
    fill,
    partition_metadata,
    until,
)
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.load import ProducerLoad
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.harness.tools import run_tool_warm
from tests.kafka.site import described
from tests.kafka.test_adapter import await_cordon

from replan.kafka.api import open_cluster
from replan.model.api import Accepted, BrokerId, ConfigOperation, ConfigScope, broker_change

MEGABYTE = 1_000_000
LISTS = [[1, 2, 3], [3, 1, 2], [1, 3, 2]]
SETTLE = ("--settle", "6")


def placement(topic: str, *, rate: str = "20MB/s") -> str:
    return f"""\
version: 1
assignments:
  {topic}:
    partitions:
      0: [4, 2, 5]
      1: [3, 1]
      2: [1, 3, 2, 5]
preferredLeaders:
  {topic}: {{2: 3}}
throttles:
  moves: {{rate: {rate}}}
"""


class Site:
    """A folder with a placement file, beside a cluster that has one topic with some bytes."""

    def __init__(self, cluster: OneJvmCluster | Cluster, folder: Path, topic: str) -> None:
        self.cluster, self.folder, self.topic = cluster, folder, topic
        self.kafka = cluster.ground.kafka
        self._home: dict[str, Any] = {"folder": folder, "XDG_STATE_HOME": str(folder)}
        self.flags = ("--bootstrap-server", cluster.bootstrap)
        (folder / "placement.yaml").write_text(placement(topic))

    def replan(self, *arguments: str, wanted: int) -> str:
        done = checked(*arguments, *self.flags, wanted=wanted, **self._home)
        return done.stdout + done.stderr

    def started(self, *arguments: str) -> AbstractContextManager[subprocess.Popen[str]]:
        return started([*arguments, *self.flags], **self._home)

    def apply(self, wanted: int = 0) -> str:
        return self.replan("apply", "plan.json", *SETTLE, wanted=wanted)

    def described(self) -> dict[int, tuple[list[int], int]]:
        """Replicas and leader of each partition as kafka-topics says them."""
        return dict(enumerate(described(self.cluster, self.topic)))

    def running(self) -> list[str]:
        """Every running reassignment that Kafka's own tool still knows."""
        listed = run_tool_warm(self.kafka, "kafka-reassign-partitions", *self.flags, "--list")
        return [line for line in listed.splitlines() if line.startswith(self.topic)]

    def leftovers(self) -> list[str]:
        """Every throttle and running reassignment that Kafka's own tools still know."""
        lines = self.running()
        for kind in ("topics", "brokers"):
            text = run_tool_warm(
                self.kafka, "kafka-configs", *self.flags, "--describe", "--entity-type", kind
            )
            lines += [line for line in text.splitlines() if "throttled" in line]
        return lines

    def stands_as_declared(self) -> None:
        assert self.described() == {0: ([4, 2, 5], 4), 1: ([3, 1], 3), 2: ([3, 1, 2, 5], 3)}
        assert self.leftovers() == []
        self.replan("plan", wanted=0)
        self.replan("drift", wanted=0)

    def by_another_tool(self, partition: int, target: list[int]) -> None:
        wanted = {"topic": self.topic, "partition": partition, "replicas": target}
        (self.folder / "move.json").write_text(
            str({"version": 1, "partitions": [wanted]}).replace("'", '"')
        )
        run_tool_warm(
            self.kafka,
            "kafka-reassign-partitions",
            *self.flags,
            "--reassignment-json-file",
            str(self.folder / "move.json"),
            "--execute",
        )
        until(
            lambda: self.described()[partition][0] == target,
            f"{self.topic}-{partition} on {target}",
            limit_seconds=60,
        )


@pytest.fixture
def site(one_jvm: OneJvmCluster, tmp_path: Path) -> Site:
    return filled(one_jvm, tmp_path)


def filled(cluster: OneJvmCluster, folder: Path) -> Site:
    topic = f"orders-{folder.name[-30:].strip('_')}"
    create_topic(cluster.bootstrap, topic, LISTS)
    fill(cluster.bootstrap, topic, 30 * MEGABYTE)
    return Site(cluster, folder, topic)


def load_on(site: Site) -> ProducerLoad:
    """Few records a second: some of these tests take minutes."""
    return ProducerLoad(site.cluster.bootstrap, site.topic, records_per_second=20)


def test_the_main_job(site: Site) -> None:
    for name in ("quiet.json", "again.json"):
        site.replan("plan", "-o", name, wanted=2)
    first = (site.folder / "quiet.json").read_bytes()
    assert b"observed" not in first
    assert (site.folder / "again.json").read_bytes() == first
    with load_on(site) as load:
        site.replan("plan", "-o", "plan.json", wanted=2)
        shown = site.replan("apply", "plan.json", *SETTLE, wanted=0)
        account = load.close()
    assert account.errors == ()
    assert account.acknowledged > 100
    assert f"{site.topic}-0" in shown
    site.stands_as_declared()

    site.by_another_tool(1, [1, 2])
    assert f"{site.topic}-1" in site.replan("drift", wanted=2)
    refused = site.apply(wanted=3)
    assert f"{site.topic}-1" in refused
    assert "planned from [3, 1, 2], found [1, 2]" in refused


@pytest.mark.nightly
def test_an_interrupted_apply_goes_on_where_it_was(site: Site) -> None:
    """For 85 s a request of the process before may still arrive; so long a resumed one keeps watch."""
    (site.folder / "placement.yaml").write_text(placement(site.topic, rate="4MB/s"))
    site.replan("plan", "-o", "plan.json", wanted=2)
    with site.started("apply", "plan.json", *SETTLE) as process:
        until(lambda: bool(site.running()), "a running copy", limit_seconds=60)
        code, out, _ = interrupted(process)
    assert code == 130
    assert "Rerun to resume." in out
    assert "These copies continue, throttled: " in out
    assert any("throttled" in line for line in site.leftovers()), (
        "running copies keep their throttle"
    )
    site.apply()
    site.stands_as_declared()


@pytest.mark.nightly
def test_a_move_waits_while_its_new_broker_is_cordoned(site: Site, kafka_version: str) -> None:
    if kafka_version < "4.3":
        pytest.skip("directories can be cordoned from 4.3 on (KIP-1066)")
    site.replan("plan", "-o", "plan.json", wanted=2)
    key = (ConfigScope.BROKER, "5")
    with open_cluster(site.cluster.bootstrap, None) as plane:
        cordon = broker_change(BrokerId(5), "cordoned.log.dirs", ConfigOperation.SET, "*")
        lift = broker_change(BrokerId(5), "cordoned.log.dirs", ConfigOperation.DELETE)
        assert plane.alter_configs([cordon]) == {key: Accepted()}
        await_cordon(plane, frozenset({BrokerId(5)}))
        with site.started("apply", "plan.json", *SETTLE) as process:
            try:
                until(
                    lambda: site.described()[1][0] == [3, 1], "what needs not 5", limit_seconds=60
                )
                assert "log directories are cordoned" in site.replan("status", wanted=2)
                assert [site.described()[p][0] for p in (0, 2)] == [LISTS[0], LISTS[2]]
            finally:
                assert plane.alter_configs([lift]) == {key: Accepted()}
            _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    site.stands_as_declared()


@pytest.mark.parametrize("version", [pytest.param("4.3.1", marks=pytest.mark.nightly), "3.9.2"])
def test_a_broker_that_stays_dead_is_replaced(
    kafka_cluster: Callable[..., Cluster], tmp_path: Path, version: str
) -> None:
    """On 3.9.2 the reassignment stays listed as running, because a leaving replica is dead (KAFKA-19975)."""
    cluster = kafka_cluster(Layout(version=version), in_one_jvm=(1, 2, 4, 5, 101))
    create_topic(cluster.bootstrap, "orders", [[1, 2, 3]])
    fill(cluster.bootstrap, "orders", 20 * MEGABYTE)
    site = Site(cluster, tmp_path, "orders")
    (tmp_path / "placement.yaml").write_text(
        "version: 1\nassignments: {orders: {partitions: {0: [4, 2, 5]}}}\n"
        "throttles: {moves: {rate: 20MB/s}}\n"
    )
    with load_on(site) as load:
        cluster.kill(3)
        until(
            lambda: (
                [
                    sorted(p.isrs)
                    for p in partition_metadata(admin(cluster.bootstrap), "orders").values()
                ]
                == [[1, 2]]
            ),
            "3 out of the ISR",
            limit_seconds=60,
        )
        site.replan("plan", "-o", "plan.json", wanted=2)
        site.apply()
        account = load.close()
    assert account.errors == ()
    assert site.described() == {0: ([4, 2, 5], 4)}
    assert site.leftovers() == []
