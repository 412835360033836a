"""From a placement file to an empty plan on real brokers: what the file says is planned, applied, and no drift then."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.commandline import checked
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.clients import await_brokers, create_topic, fill, until
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.site import described

from replan.kafka.api import open_cluster
from replan.model.api import FOLLOWER_RATE, BrokerId, ConfigOperation, broker_change

SETTLE = ("--settle", "2")
RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
TWO_EACH = [[1, 2], [2, 3], [3, 1], [4, 2], [1, 3], [2, 4]]
RULE = {"replicationFactor": 2, "spread": "rack"}


class Site:
    """A folder with a placement file, beside a cluster of six brokers on three racks with two disks each."""

    def __init__(self, cluster: OneJvmCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        create_topic(cluster.bootstrap, "orders", TWO_EACH, {"min.insync.replicas": "2"})
        fill(cluster.bootstrap, "orders", 3_000_000)

    def replan(self, *arguments: str, wanted: int) -> str:
        flags = ("--bootstrap-server", self.cluster.bootstrap)
        state = str(self.folder)
        done = checked(*arguments, *flags, folder=self.folder, wanted=wanted, XDG_STATE_HOME=state)
        return done.stdout + done.stderr

    def declare(self, **sections: Any) -> None:
        text = yaml.safe_dump({"version": 1, **sections})
        (self.folder / "placement.yaml").write_text(text)

    def arrives(self, **sections: Any) -> None:
        """Plan, apply, and find nothing more to do."""
        self.declare(**sections)
        self.replan("drift", wanted=2)
        (self.folder / "plan.json").unlink(missing_ok=True)
        self.replan("plan", "-o", "plan.json", wanted=2)
        self.replan("apply", "plan.json", *SETTLE, wanted=0)
        self.is_there()

    def is_there(self) -> None:
        self.replan("plan", wanted=0)
        self.replan("drift", wanted=0)

    def replicas(self, topic: str = "orders") -> dict[int, list[int]]:
        """As kafka-topics says them."""
        return {p: listed for p, (listed, _) in enumerate(described(self.cluster, topic))}


@pytest.fixture
def site(kafka_version: str, pytestconfig: pytest.Config, tmp_path: Path) -> Iterator[Site]:
    layout = Layout(version=kafka_version, racks=RACKS)
    with one_jvm_cluster(layout, pytestconfig) as cluster:
        yield Site(cluster, tmp_path)


@pytest.mark.nightly
def test_standing_throttles_a_log_directory_and_more_partitions(site: Site) -> None:
    site.arrives(assignments={"orders": {"partitionCount": 8}})
    assert len(site.replicas()) == 8

    standing = {"topics": {"orders": "all"}, "brokers": {5: {"follower": "30MB/s"}}}
    site.arrives(throttles={"standing": standing})
    with open_cluster(site.cluster.bootstrap, None) as plane:
        change = broker_change(BrokerId(5), FOLLOWER_RATE, ConfigOperation.SET, "1000000")
        plane.alter_configs([change])
    assert FOLLOWER_RATE in site.replan("drift", wanted=2)
    site.arrives(throttles={"standing": standing})

    path = str(site.cluster.ground.log_directories(1)[1])
    drained = [{"broker": 1, "path": path, "reason": "SMART errors"}]
    kept = {"standing": standing, "moves": {"rate": "50MB/s"}}
    site.arrives(blacklists={"logDirs": drained}, throttles=kept)
    assert not list(Path(path).glob("orders-*[0-9]"))


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_brokers_come_and_go(site: Site) -> None:
    balance = {"replicas": "5%"}
    site.arrives(assignments={"orders": RULE}, balance=balance)  # two brokers more
    counts = [b for listed in site.replicas().values() for b in listed]
    assert {5, 6} <= set(counts)

    three = {"orders": {"replicationFactor": 3, "spread": "rack"}}
    site.arrives(assignments=three, balance=balance)
    assert {len(listed) for listed in site.replicas().values()} == {3}

    gone = [{"broker": 6, "reason": "decommission"}]
    site.arrives(assignments=three, blacklists={"replicas": gone})
    assert all(6 not in listed for listed in site.replicas().values())
    assert all(6 not in listed for listed in site.replicas("__replan_journal").values())

    rack = [{"broker": broker, "reason": "rack c is rebuilt"} for broker in (3, 6)]
    site.arrives(assignments=three, blacklists={"replicas": rack})
    assert all(not {3, 6}.intersection(listed) for listed in site.replicas().values())

    for broker in RACKS:
        site.cluster.stop(broker)
        until(lambda: site.replan("plan", wanted=0) != "", "an empty plan", limit_seconds=60)
        site.cluster.start(broker)
        await_brokers(site.cluster.bootstrap, sorted(RACKS))


@pytest.fixture
def two_sites(kafka_version: str, pytestconfig: pytest.Config, tmp_path: Path) -> Iterator[Site]:
    layout = Layout(version=kafka_version, racks={1: "dc1", 2: "dc1", 3: "dc1", 4: "dc2", 5: "dc2"})
    with one_jvm_cluster(layout, pytestconfig) as cluster:
        yield Site(cluster, tmp_path)


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_two_sites_with_a_broker_more_one_less_and_in_stages(two_sites: Site) -> None:
    """Two replicas in dc1 and one in dc2, all the while; brokers 3 and 5 hold nothing of it at first."""
    site, racks = two_sites, {1: "dc1", 2: "dc1", 3: "dc1", 4: "dc2", 5: "dc2"}
    lists = [[1, 2, 4], [2, 1, 4], [4, 1, 2]] * 4
    create_topic(site.cluster.bootstrap, "payments", lists, {"min.insync.replicas": "2"})
    fill(site.cluster.bootstrap, "payments", 3_000_000)
    rule = {"payments": {"replicasPerRack": {"dc1": 2, "dc2": 1}}}
    balance = {"replicas": "10%"}

    def held() -> dict[int, int]:
        found = site.replicas("payments").values()
        for listed in found:
            assert sorted(racks[broker] for broker in listed) == ["dc1", "dc1", "dc2"]
        return {broker: sum(broker in listed for listed in found) for broker in racks}

    site.arrives(assignments=rule, balance=balance)
    assert_about(held(), {1: 8, 2: 8, 3: 8, 4: 6, 5: 6})

    drained = {"replicas": [{"broker": 2, "reason": "decommission"}]}
    site.arrives(assignments=rule, balance=balance, blacklists=drained)
    assert_about(held(), {1: 12, 2: 0, 3: 12, 4: 6, 5: 6})

    limits = {"partitions": 3, "stage": True}
    site.declare(assignments=rule, balance=balance, limits=limits)
    for stage, moved in enumerate(
        (3, 3, 1)
    ):  # broker 2 gets seven, the fewest within the tolerance
        site.replan("plan", "-o", f"{stage}.json", wanted=2)
        site.replan("apply", f"{stage}.json", *SETTLE, wanted=0)
        assert held()[2] == stage * 3 + moved
    assert_about(held(), {1: 8, 2: 8, 3: 8, 4: 6, 5: 6})
    site.is_there()


def assert_about(held: dict[int, int], shares: dict[int, int]) -> None:
    """Within 10 % of the shares, rounded outwards to whole replicas: one more or less here."""
    assert all(abs(held[broker] - share) <= 1 for broker, share in shares.items()), held
