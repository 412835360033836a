"""Back to what was there before, on real brokers: cancelled in the middle by another terminal, and rolled back later.

Cancelled, looks agree on a partition that rests for 15 s; so this waits.
"""

import json
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.clients import admin, create_topic, fill, partition_metadata, until
from tests.kafka.harness.layout import FIVE_BROKERS, Layout
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.harness.tools import run_tool_warm
from tests.kafka.test_main_job import SETTLE, Site, filled, load_on, placement
from tests.kafka.test_two_machines import copying

from replan.model.api import FOLLOWER_RATE

EXAMPLES = Path(__file__).parents[2] / "examples"
HELD_BYTES = 40_000_000
"""A fetch passes any throttle (1 MiB) as soon as the one before it has left the window, in some 11 s."""
Led = tuple[list[int], int]
Described = dict[int, Led]


@pytest.fixture
def site(without_journal: OneJvmCluster, tmp_path: Path) -> Site:
    return filled(without_journal, tmp_path)


def test_cancelled_in_the_middle_and_rolled_back_all_is_as_before(site: Site) -> None:
    before = site.described()
    (site.folder / "placement.yaml").write_text(placement(site.topic, rate="4MB/s"))
    with (
        load_on(site) as load,
        site.started("apply", "-f", "placement.yaml", "--auto-approve", *SETTLE) as applying,
    ):
        copying(site)
        assert "being cancelled, by" in site.replan("cancel", wanted=0)
        said = "".join(applying.communicate(timeout=150))
        account = load.close()
    assert applying.returncode == 4, said
    assert "is cancelled" in said
    assert account.errors == ()
    assert site.leftovers() == []
    site.replan("rollback", "-o", "rest.json", "--exit-zero", wanted=0)  # what was finished by then
    site.replan("apply", "rest.json", *SETTLE, wanted=0)
    assert site.described() == before
    assert site.leftovers() == []


def one_is_done(now: Described, copying: set[int]) -> bool:
    """One list is as declared, and another partition is being copied."""
    return now[1][0] == [3, 1] and 0 in copying


def one_is_confirmed(now: Described, copying: set[int]) -> bool:
    """One list is as declared; of another the new replicas are in sync, and none is dropped yet."""
    return now[1][0] == [3, 1] and len(now[0][0]) == 5 and 0 not in copying


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("phase", "rate", "settle"), [(one_is_done, "500kB/s", "6"), (one_is_confirmed, "1MB/s", "40")]
)
def test_cancelled_in_a_phase_what_was_not_finished_goes_back(
    site: Site, phase: Callable[[Described, set[int]], bool], rate: str, settle: str
) -> None:
    """The phases last for half a minute, since on a busy machine a command takes many seconds to begin."""
    before = site.described()
    (site.folder / "placement.yaml").write_text(placement(site.topic, rate=rate))
    apply = ("apply", "-f", "placement.yaml", "--auto-approve", "--settle", settle)
    with load_on(site) as load, site.started(*apply) as applying:
        until(lambda: phase(site.described(), behind(site)), phase.__name__, limit_seconds=240)
        assert "being cancelled, by" in site.replan("cancel", wanted=0)
        said = "".join(applying.communicate(timeout=240))
        account = load.close()
    assert applying.returncode == 4, said
    assert account.errors == ()
    assert site.leftovers() == []
    found, declared = site.described(), {1: ([3, 1], 3), 2: ([3, 1, 2, 5], 3)}
    assert found[0] == before[0]
    assert found[1] == declared[1]
    assert found[2] in [before[2], declared[2]]  # as far as it had come
    site.replan("rollback", "-o", "rest.json", wanted=2)
    site.replan("apply", "rest.json", *SETTLE, wanted=0)
    assert site.described() == before


def behind(site: Site) -> set[int]:
    """Partitions with a replica that is not in sync."""
    found = partition_metadata(admin(site.cluster.bootstrap), site.topic)
    return {number for number, each in found.items() if len(each.isrs) < len(each.replicas)}


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", sorted(p.parent.name for p in EXAMPLES.glob("*/cluster.json")))
def test_an_example_is_applied_and_rolled_back(
    layout: Layout, pytestconfig: pytest.Config, tmp_path: Path, name: str
) -> None:
    """Its cluster with a hundredth of the bytes, and throttles that somebody has set before."""
    snapshot = json.loads((EXAMPLES / name / "cluster.json").read_bytes())
    declared = (EXAMPLES / name / "placement.yaml").read_text()
    like = replace(
        layout,
        racks={each["id"]: each["rack"] for each in snapshot["brokers"]},
        broker_properties={"replica.lag.time.max.ms": "3000"},
        controller_properties={"auto.leader.rebalance.enable": "false"},
    )
    with one_jvm_cluster(like, pytestconfig) as cluster:
        site = Site(cluster, tmp_path, snapshot["topics"][0]["name"])
        (tmp_path / "placement.yaml").write_text(re.sub(r"(?m)^cluster:\n(  .*\n)+", "", declared))
        configure(site, "brokers", "1", "leader.replication.throttled.rate=77000000")
        for topic in snapshot["topics"]:
            made(site, cluster, topic)
        before, throttles = state(cluster, snapshot), site.leftovers()
        site.replan("apply", "-f", "placement.yaml", "--auto-approve", *SETTLE, wanted=0)
        after = state(cluster, snapshot)
        assert after != before
        assert site.leftovers() == throttles
        for broker in {b for topic in snapshot["topics"] for b in out_of_sync(topic)}:
            configure(site, "brokers", str(broker), f"{FOLLOWER_RATE}=1000000000")
        throttles = site.leftovers()
        named = "not led by the first" in site.replan("rollback", "-o", "back.json", wanted=2)
        site.replan("apply", "back.json", *SETTLE, wanted=0)
        found = state(cluster, snapshot)
        assert named == (found != before)
        assert found == {t: list(map(led_by_the_first, of, after[t])) for t, of in before.items()}
        assert site.leftovers() == throttles


def led_by_the_first(before: Led, after: Led) -> Led:
    """Where the first of the list leads since the application, it leads on: Kafka elects no other."""
    (replicas, leader), (_, later) = before, after
    return replicas, replicas[0] if later == replicas[0] else leader


def made(site: Site, cluster: OneJvmCluster, topic: dict[str, Any]) -> None:
    """A topic of a snapshot: its lists, leaders, and who is out of sync, held by a throttle."""
    name, wanted = topic["name"], topic["partitions"]
    bootstrap = cluster.bootstrap
    lists = [each["replicas"] for each in wanted]
    led = [
        sorted(replicas, key=lambda broker: broker != each.get("leader", replicas[0]))
        for each, replicas in zip(wanted, lists, strict=True)
    ]
    minimum = {"min.insync.replicas": str(topic["minInsyncReplicas"])}
    create_topic(
        bootstrap, name, [longer(replicas, max(map(len, led))) for replicas in led], minimum
    )
    out = out_of_sync(topic)
    for broker in out:
        entries = ",".join(f"{p}:{broker}" for p, each in enumerate(wanted) if "isr" in each)
        configure(site, "brokers", str(broker), f"{FOLLOWER_RATE}=1")
        configure(site, "topics", name, f"follower.replication.throttled.replicas=[{entries}]")
        cluster.stop(broker)  # a follower in sync is never throttled
    if not name.startswith("__"):  # Kafka takes nothing for them from a client
        fill(bootstrap, name, max(each["bytes"] for each in wanted) // 100 + HELD_BYTES * bool(out))
    for broker in out:
        cluster.start(broker)
    if [longer(replicas, max(map(len, lists))) for replicas in led] != lists:
        file = site.folder / "order.json"
        rows = [{"topic": name, "partition": p, "replicas": r} for p, r in enumerate(lists)]
        file.write_text(json.dumps({"version": 1, "partitions": rows}))
        flags = ("--reassignment-json-file", str(file), "--execute")
        run_tool_warm(site.kafka, "kafka-reassign-partitions", *site.flags, *flags)
    until(
        lambda: all(
            (found.replicas, set(found.isrs), found.leader)
            == (
                each["replicas"],
                set(each.get("isr", each["replicas"])),
                each.get("leader", each["replicas"][0]),
            )
            for found, each in zip(partition_list(bootstrap, name), wanted, strict=True)
        ),
        f"{name} as in the example",
        limit_seconds=60,
    )


def out_of_sync(topic: dict[str, Any]) -> set[int]:
    """Brokers that a topic of a snapshot lists out of sync."""
    of = topic["partitions"]
    return {b for each in of for b in {*each["replicas"]} - {*each.get("isr", each["replicas"])}}


def longer(replicas: list[int], count: int) -> list[int]:
    """Kafka creates all partitions of a topic with as many replicas."""
    others = (broker for broker in FIVE_BROKERS if broker not in replicas)
    return [*replicas, *islice(others, count - len(replicas))]


def configure(site: Site, kind: str, name: str, setting: str) -> None:
    flags = ("--entity-type", kind, "--entity-name", name, "--alter", "--add-config", setting)
    run_tool_warm(site.kafka, "kafka-configs", *site.flags, *flags)


def partition_list(bootstrap: str, topic: str) -> list[Any]:
    found = partition_metadata(admin(bootstrap), topic)
    return [found[number] for number in sorted(found)]


def state(cluster: OneJvmCluster, snapshot: dict[str, Any]) -> dict[str, list[Led]]:
    """Lists and leaders of the topics of a snapshot."""
    return {
        topic["name"]: [
            (each.replicas, each.leader)
            for each in partition_list(cluster.bootstrap, topic["name"])
        ]
        for topic in snapshot["topics"]
    }
