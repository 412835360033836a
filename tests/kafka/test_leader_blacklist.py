"""The leader blacklist on real brokers whose controller rebalances leaders by itself, every second (KIP-491)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commandline import checked
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.clients import admin, create_topic, partition_metadata, until
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.site import described

from replan.model.api import JOURNAL_TOPIC

ORDERS = [[1, 2, 3], [2, 1, 3], [3, 2, 1]]
CLICKS = [[1, 3, 2], [3, 1, 2]]
INTERNAL = {JOURNAL_TOPIC: [[1, 2, 3]], "__transaction_state": [[1, 3, 2]]}


@pytest.fixture
def cluster(kafka_version: str, pytestconfig: pytest.Config) -> Iterator[OneJvmCluster]:
    layout = Layout(
        version=kafka_version,
        racks={1: "a", 2: "b", 3: "c"},
        broker_session_timeout_ms=2000,
        controller_properties={
            "auto.leader.rebalance.enable": "true",
            "leader.imbalance.check.interval.seconds": "1",
        },
        broker_properties={"transaction.state.log.num.partitions": "1"},
    )
    with one_jvm_cluster(layout, pytestconfig) as running:
        yield running


def restarted(cluster: OneJvmCluster, broker: int) -> None:
    """Restart a broker, and wait until it is in sync everywhere."""
    cluster.stop(broker)
    cluster.start(broker)
    client = admin(cluster.bootstrap)
    until(
        lambda: all(
            broker in p.isrs
            for topic in ("orders", "clicks", "control")
            for p in partition_metadata(client, topic).values()
            if broker in p.replicas
        ),
        f"{broker} in sync",
        limit_seconds=60,
    )


@pytest.mark.nightly
def test_a_listed_broker_never_leads_again_until_it_is_taken_off(
    cluster: OneJvmCluster, tmp_path: Path
) -> None:
    """`clicks` is declared nowhere; the leader of `control` shows that the controller has rebalanced since.

    What the journal lies in, and its transactions, are led by others as well while an application writes there.
    """
    flags = ("--bootstrap-server", cluster.bootstrap)

    def run(*arguments: str, wanted: int = 0) -> str:
        return checked(*arguments, folder=tmp_path, wanted=wanted).stdout

    def applied() -> None:
        run("apply", "-f", "placement.yaml", "--auto-approve", *flags)

    def rebalanced() -> None:
        restarted(cluster, 2)
        until(
            lambda: described(cluster, "control")[0][1] == 2,
            "2 leading again by itself",
            limit_seconds=60,
        )

    before = [ORDERS[1], *ORDERS[1:]]
    topics = {"orders": before, "clicks": CLICKS, "control": [[2, 3]], **INTERNAL}
    for topic, lists in topics.items():
        create_topic(cluster.bootstrap, topic, lists, {"cleanup.policy": "compact"})
    (tmp_path / "placement.yaml").write_text(
        f"version: 1\nassignments:\n  orders: {{partitions: {ORDERS}}}  # as it was\n"
    )
    applied()
    run("blacklist", "add", "1", "--reason", "flaps")
    run("plan", *flags, wanted=2)
    applied()
    for topic in ("orders", "clicks", *INTERNAL):
        assert all(listed[-1] == 1 and leader != 1 for listed, leader in described(cluster, topic))
    restarted(cluster, 1)
    rebalanced()
    for topic in ("orders", "clicks", *INTERNAL):
        assert 1 not in [leader for _, leader in described(cluster, topic)]
    run("drift", *flags)
    shown = run("blacklist", "show", *flags)
    assert "clicks-0  [1, 3, 2]" in shown

    create_topic(cluster.bootstrap, "new", [[1, 2]])
    assert "new-0" in run("drift", *flags, wanted=2)

    run("blacklist", "remove", "1")
    applied()
    run("plan", *flags)
    until(  # a broker whose session ends under load leads again by itself
        lambda: described(cluster, "orders") == [(listed, listed[0]) for listed in ORDERS],
        "the order and leaders from before",
        limit_seconds=60,
    )
    for topic, lists in {"clicks": CLICKS, **INTERNAL}.items():
        assert [listed for listed, _ in described(cluster, topic)] == lists
    until(
        lambda: [leader for _, leader in described(cluster, "clicks")] == [1, 3],
        "the old leaders",
        limit_seconds=60,
    )


@pytest.mark.nightly
def test_a_file_that_names_only_other_things_leaves_the_leader_blacklist_as_it_is(
    cluster: OneJvmCluster, tmp_path: Path
) -> None:
    """What else was reordered stays so, until a placement has an empty list."""
    flags = ("--bootstrap-server", cluster.bootstrap)
    topics = {"orders": [[3, 1, 2], [1, 3, 2], [2, 3, 1]], "my_topic": [[3, 1], [3, 2]]}
    for topic, lists in topics.items():
        create_topic(cluster.bootstrap, topic, lists)

    def applied(text: str) -> str:
        (tmp_path / "placement.yaml").write_text(f"version: 1\n{text}\n")
        planned = checked("plan", *flags, folder=tmp_path, wanted=2).stdout
        checked("apply", "-f", "placement.yaml", "--auto-approve", *flags, folder=tmp_path)
        return planned

    def lists_of(topic: str) -> list[list[int]]:
        return [listed for listed, _ in described(cluster, topic)]

    applied("blacklists: {leaders: [{broker: 3, topics: [orders, my_topic]}]}")
    assert lists_of("orders") == [[1, 2, 3], [1, 2, 3], [2, 1, 3]]
    assert lists_of("my_topic") == [[1, 3], [2, 3]]

    named = (
        "assignments: {orders: {partitions: {2: [1, 2, 3]}}, my_topic: {partitions: {0: [2, 1]}}}"
    )
    planned = applied(named)
    assert "it goes on for brokers [3] in 3 partitions (my_topic-1, orders-0, orders-1)" in planned
    assert lists_of("orders") == [[1, 2, 3], [1, 2, 3], [1, 2, 3]]
    assert lists_of("my_topic") == [[2, 1], [2, 3]]
    assert 3 not in [leader for topic in topics for _, leader in described(cluster, topic)]
    checked("plan", *flags, folder=tmp_path)

    planned = applied(f"{named}\nblacklists: {{leaders: []}}")
    assert "1 broker (3 in 3 partitions)" in planned
    assert lists_of("orders") == [[3, 1, 2], [1, 3, 2], [1, 2, 3]]
    assert lists_of("my_topic") == [[2, 1], [3, 2]]
    until(
        lambda: described(cluster, "my_topic")[1][1] == 3,
        "broker 3 leading again",
        limit_seconds=60,
    )
