"""Preferred elections on real brokers, through the command line; Kafka's own tools say afterwards who leads.

The controller does not rebalance leaders by itself here. Broker 1 restarts, and broker 3 is down: what broker 1 led by
preference can be elected, what broker 3 led cannot, the rest needs nothing.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import checked, replan
from tests.kafka.harness.clients import admin, create_topic, partition_metadata, until
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.harness.tools import run_tool_warm
from tests.kafka.site import Site, described


def leaders(cluster: OneJvmCluster, topic: str) -> list[int]:
    """Who leads each partition, as kafka-topics says it."""
    return [leader for _, leader in described(cluster, topic)]


@pytest.mark.nightly
def test_mixed_results_are_all_named(steady: OneJvmCluster, tmp_path: Path) -> None:
    """Of so many partitions; by day tests/conformance/test_recovering.py has three."""
    topic, site = "orders", Site(steady, tmp_path, "orders")
    heads = [[1, 2, 3], [2, 3, 1], [3, 2, 1]]
    lists = [heads[0 if number % 6 < 4 else number % 6 - 3] for number in range(2_000)]
    create_topic(steady.bootstrap, topic, lists, limit_seconds=300)
    first = Counter(listed[0] for listed in lists)
    steady.stop(1)
    steady.start(1)
    site.in_sync(1, 2, 3)
    steady.stop(3)
    flags = ("--bootstrap-server", steady.bootstrap)
    try:
        assert 1 not in leaders(steady, topic)
        done = replan(
            "elect", "preferred", "--topic", topic, "--format", "json", *flags, folder=tmp_path
        )
    finally:
        steady.start(3)
    assert done.returncode == 3, done.stderr
    found = json.loads(done.stdout)
    assert found["counts"] == {
        **dict.fromkeys(found["counts"], 0),
        "elected": first[1],
        "not-needed": first[2],
        "failed": first[3],
    }
    failed = [p for p in found["partitions"] if p["result"] == "failed"]
    assert {p["rule"] for p in failed} == {"preferred-unavailable"}
    now = leaders(steady, topic)
    elected = [p["partition"] for p in found["partitions"] if p["result"] == "elected"]
    assert {now[number] for number in elected} == {1}

    site.in_sync(1, 2, 3)
    run_tool_warm(
        steady.ground.kafka,
        "kafka-leader-election",
        *flags,
        "--election-type",
        "preferred",
        "--topic",
        topic,
        "--partition",
        str(lists.index(heads[2])),
    )
    again = replan(
        "elect", "--election-type", "preferred", "--topic", topic, *flags, folder=tmp_path
    )
    assert again.returncode == 0, again.stderr
    assert leaders(steady, topic) == [listed[0] for listed in lists]


def test_the_broker_that_is_awaited_leads_when_it_returns(
    steady: OneJvmCluster, tmp_path: Path, kafka_version: str
) -> None:
    """Broker 3 leaves while min ISR still holds, then 2, then 1: those two are eligible, and 3 is not.

    Without eligible leader replicas it is the last of the ISR alone.
    """
    back = [1] if kafka_version.startswith("3.") else [1, 2]
    why = "in-sync" if back == [1] else "eligible"
    topic, flags = "awaited", ("--bootstrap-server", steady.bootstrap, "--timeout", "10s")
    (tmp_path / "placement.yaml").write_text(
        "version: 1\nassignments: {awaited: {partitions: [[1, 2, 3]]}}\n"
    )
    create_topic(steady.bootstrap, topic, [[1, 2, 3]], {"min.insync.replicas": "2"})

    def explained() -> dict[str, Any]:
        done = replan("explain", f"{topic}-0", "--format", "json", *flags, folder=tmp_path)
        assert done.returncode == 2, "without a leader it differs: " + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    client = admin(steady.bootstrap)
    for broker, left in ((3, [1, 2]), (2, [1]), (1, [1] if back == [1] else [])):
        steady.stop(broker)
        until(
            lambda left=left: sorted(partition_metadata(client, topic)[0].isrs) == left,  # type: ignore[misc]
            f"{topic} in sync on {left}",
            limit_seconds=60,
        )
    until(lambda: partition_metadata(client, topic)[0].leader == -1, "no leader", limit_seconds=60)
    found = explained()
    assert found["awaited"] == {"why": why, "brokers": back}
    if why == "eligible":
        assert (found["observed"]["elr"], found["observed"]["lastKnownElr"]) == ([1, 2], [1])
    planned = checked("plan", "--exit-zero", "--format", "json", *flags, folder=tmp_path).stdout
    warnings = (w["facts"] for w in json.loads(planned)["warnings"] if w["kind"] == "awaited")
    (facts,) = (f for f in warnings if f"{topic}-0" in f["partitions"])
    assert (facts["why"], facts["brokers"]) == (why, back)
    said = replan("status", "--topic", topic, "--format", "json", *flags, folder=tmp_path).stdout
    [row] = json.loads(said)["unhealthy"]
    assert (row["state"], row["electable"]) == ("offline", len(back))

    first = max(back)
    for broker in (3, 2, 1):
        steady.start(broker)
        if broker == first:
            until(
                lambda: partition_metadata(client, topic)[0].leader == first,
                f"{first} leading",
                limit_seconds=60,
            )
        elif broker > first:
            assert explained()["observed"]["leader"] is None
    Site(steady, tmp_path, topic).in_sync(1, 2, 3)
