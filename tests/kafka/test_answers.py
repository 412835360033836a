"""What rows of answers mean, of a page, of a permission, of a resource: on a cluster that exists on the wire only."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kafka.record import MemoryRecordsBuilder
from tests.commandline import replan
from tests.kafka.harness.fake_cluster import FakeCluster, Shape
from tests.kafka.harness.layout import free_ports

from replan.errors import ClusterRefused, UnsafePlan
from replan.kafka.api import (
    LISTS_PER_REQUEST,
    PAGE,
    Reads,
    SystemClock,
    client_properties,
    connect,
    open_cluster,
    pages,
)
from replan.model.api import (
    LEADER_RATE,
    LEADER_REPLICAS,
    Accepted,
    BrokerId,
    ConfigOperation,
    ConfigScope,
    OutcomeUnknown,
    Rejected,
    TopicPartition,
    TopicPermission,
    Wanted,
    broker_change,
    replicas,
    topic_change,
)
from replan.planning.api import cluster_checks
from replan.reporting.api import render_checkup

ONE, T0, T1 = BrokerId(1), TopicPartition("t00000", 0), TopicPartition("t00001", 0)


@contextmanager
def reading(cluster: FakeCluster) -> Iterator[Reads]:
    clock = SystemClock()
    wire = connect(client_properties(cluster.bootstrap, None), clock.interrupt, limit_seconds=10)
    try:
        yield Reads(wire, clock, patience_seconds=5)
    finally:
        wire.close()


def test_a_topic_that_this_user_may_not_describe_is_named_and_hides_no_other() -> None:
    """A broker lists those that may be described, without a word of the rest; what has logs is asked for by name."""
    with FakeCluster(Shape()) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        cluster.trouble.hidden.add("t00001")
        seen = connected.observe()
        look = connected.look(Wanted(partitions=[T0, T1], topics=["t00000", "t00001"]))
        cluster.trouble.hidden.clear()
        again = connected.look(Wanted(partitions=[T0, T1]))

    assert (seen.topics.column("name").to_pylist(), seen.hidden) == (["t00000"], ("t00001",))
    assert (list(look.partitions), look.unclear) == ([T0], frozenset())
    assert look.forbidden == {"t00001": TopicPermission.DESCRIBE}
    assert (sorted(again.partitions), again.forbidden) == ([T0, T1], {})


def test_a_topic_whose_logs_are_there_and_that_is_deleted_meanwhile_is_not_hidden() -> None:
    with FakeCluster(Shape()) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        cluster.trouble.topic_errors["t00001"] = 3

        assert connected.observe().hidden == ()


def test_settings_that_this_user_may_not_read_are_those_of_their_topic_alone() -> None:
    with FakeCluster(Shape()) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        cluster.trouble.unread.add("t00001")
        settings = connected.observe().all_settings()
        look = connected.look(Wanted(partitions=[T0, T1], topics=["t00000", "t00001"]))

    assert {name: of.is_unread for name, of in settings.items()} == {
        "t00000": False,
        "t00001": True,
    }
    assert sorted(look.partitions) == [T0, T1]
    assert (list(look.topics), look.forbidden) == (
        ["t00000"],
        {"t00001": TopicPermission.DESCRIBE_CONFIGS},
    )


def test_a_run_of_wanted_rows_that_is_one_longer_than_a_page_is_read_whole() -> None:
    """Brokers cut a page to max.request.partition.size.limit, whatever is asked for."""
    shape = Shape(partitions=20_000, per_topic=20_000)
    wanted = [TopicPartition("t00000", n) for n in range(PAGE + 1)]
    with FakeCluster(shape) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        connected.look(Wanted(partitions=[T0]))  # now it is known how many there are

        assert sorted(connected.look(Wanted(partitions=wanted)).partitions) == wanted


@pytest.mark.parametrize("largest", [1, 700])
def test_wanted_rows_are_read_whole_where_brokers_cut_pages_shorter(largest: int) -> None:
    """A row that is missing would be taken for a partition that was deleted."""
    shape = Shape(partitions=20_000, per_topic=20_000)
    wanted = [TopicPartition("t00000", n) for n in (*range(0, 1500, 100), 12_000)]
    with FakeCluster(shape) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        cluster.trouble.largest_page = largest
        connected.look(Wanted(partitions=[T0]))

        for _ in range(2):
            assert sorted(connected.look(Wanted(partitions=wanted)).partitions) == wanted


def test_where_replicas_lie_is_not_taken_from_an_answer_that_says_no() -> None:
    with FakeCluster(Shape()) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        cluster.trouble.log_dirs_code = 31

        with pytest.raises(ClusterRefused, match="DescribeLogDirs is not permitted"):
            connected.look(Wanted(places_of={ONE: [T0]}))


def test_the_pages_of_named_topics_go_on_within_the_topic_at_which_the_last_one_ended() -> None:
    with FakeCluster(Shape(partitions=100, per_topic=50)) as cluster, reading(cluster) as reads:
        found = [t for page in pages(reads, ["t00000", "t00001"], page=30) for t in page.topics]

    assert [(t.name, t.count) for t in found] == [
        ("t00000", 30),
        ("t00000", 20),
        ("t00001", 10),
        ("t00001", 30),
        ("t00001", 10),
    ]


def test_a_partition_has_the_size_of_its_largest_replica_whoever_answers_last() -> None:
    with FakeCluster(Shape(brokers=3, partitions=9)) as cluster:
        cluster.trouble.unequal_sizes = True
        with open_cluster(cluster.bootstrap, None) as connected:
            sizes = connected.observe().partitions.column("bytes").to_pylist()

    assert sizes == [1_000_002] * 9


def test_a_rate_that_a_broker_tells_as_a_default_is_none_that_is_set() -> None:
    """While a broker takes a rate away it may tell it so."""
    with FakeCluster(Shape()) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        cluster.trouble.default_rates = True

        assert connected.look(Wanted(rates_of=[ONE])).rates == {ONE: {}}
        assert connected.observe().broker_configs == {}


def test_what_the_answer_to_a_change_leaves_out_has_no_known_outcome() -> None:
    changes = [
        topic_change(topic, LEADER_REPLICAS, ConfigOperation.APPEND, "0:1")
        for topic in ("t00000", "t00001")
    ]
    rate = broker_change(ONE, LEADER_RATE, ConfigOperation.SET, "1000")
    with FakeCluster(Shape()) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        cluster.trouble.left_out |= {"t00001", "1"}
        answers = connected.alter_configs([*changes, rate])

    assert answers[ConfigScope.TOPIC, "t00000"] == Accepted()
    assert isinstance(answers[ConfigScope.TOPIC, "t00001"], OutcomeUnknown)
    assert isinstance(answers[ConfigScope.BROKER, "1"], OutcomeUnknown)


def test_lists_beyond_what_one_request_takes_are_all_answered() -> None:
    names = [TopicPartition("t00000", number) for number in range(LISTS_PER_REQUEST + 1)]
    with FakeCluster(Shape()) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        answers = connected.reassign(
            dict.fromkeys(names, (ONE,)), allow_replication_factor_change=True
        )

    assert answers == dict.fromkeys(names, Accepted())


def test_whether_a_change_would_be_taken_is_answered_without_it() -> None:
    """So an AlterConfigPolicy that rejects throttles shows in a review."""
    change = topic_change("t00000", LEADER_REPLICAS, ConfigOperation.APPEND, "0:1")
    rate = broker_change(ONE, LEADER_RATE, ConfigOperation.SET, "1000")
    with FakeCluster(Shape()) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        cluster.trouble.policy[LEADER_REPLICAS] = "no throttles here"
        answers = connected.would_alter([change, rate])
        seen = connected.look(Wanted(topics=["t00000"], rates_of=[ONE]))

    assert answers == {
        (ConfigScope.TOPIC, "t00000"): Rejected(44, "POLICY_VIOLATION", "no throttles here"),
        (ConfigScope.BROKER, "1"): Accepted(),
    }
    assert (seen.topics["t00000"].leader_throttled, seen.rates[ONE]) == (None, {})


def test_a_plan_whose_throttle_a_policy_forbids_says_so_in_the_review(tmp_path: Path) -> None:
    with FakeCluster(Shape(brokers=6, partitions=4)) as cluster:
        cluster.trouble.policy[LEADER_RATE] = "no throttles here"
        (tmp_path / "placement.yaml").write_text(
            "version: 1\nassignments: {t00000: {partitions: {0: [1, 2, 6]}}}\nthrottles: {moves: {rate: 1MB/s}}\n"
        )
        done = replan(
            *("plan", "-f", "placement.yaml", "--bootstrap-server", cluster.bootstrap),
            *("--journal", f"file:{tmp_path}/journal", "--annotations", "gitlab:found.json"),
            folder=tmp_path,
        )

    assert done.returncode == 3, done.stderr
    said = (
        "Kafka refuses the throttle of broker 1: POLICY_VIOLATION: no throttles here. No copy starts without it: a "
        "policy of this cluster forbids it (alter.config.policy.class.name): ask those who run it to allow throttles"
    )
    assert said in done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    refused = [f["description"] for f in found if f["check_name"] == "kafka-refuses"]
    assert any(text.startswith(said) for text in refused)


def test_a_broker_with_a_wrong_advertised_listener_is_named_with_the_address_that_refuses() -> None:
    """No ACL helps there."""
    (port,) = free_ports(1)
    with FakeCluster(Shape()) as cluster:
        cluster.trouble.advertised[2] = ("127.0.0.1", port)
        with open_cluster(cluster.bootstrap, None) as connected:
            seen = connected.observe()
            silent = connected.look(Wanted(rates_of=seen.silent)).silent
    said = render_checkup(list(cluster_checks(seen, silent)))

    assert seen.silent == (BrokerId(2),)
    assert f"broker 2 at 127.0.0.1:{port}: 111 ECONNREFUSED" in said
    assert "reaches what its advertised.listeners say" in said


@pytest.mark.parametrize("partitions", [50, 40, 3, 0])
def test_a_topic_that_is_made_again_between_two_of_its_pages_is_left_out(partitions: int) -> None:
    """Its rows are of two topics; a snapshot gives them one id."""
    with FakeCluster(Shape()) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        cluster.trouble.largest_page = 30
        cluster.trouble.made_again["t00000"] = partitions
        seen = connected.observe()

    assert seen.topics.column("name").to_pylist() == ["t00001"]
    assert seen.partitions.num_rows == 50


@pytest.mark.parametrize("magic", [0, 1])
def test_an_end_of_a_log_from_before_kafka_0_11_cannot_be_saved_and_nothing_is_elected(
    magic: int,
) -> None:
    with FakeCluster(Shape()) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        old = MemoryRecordsBuilder(magic=magic, compression_type=0, batch_size=1000)
        old.append(timestamp=1_700_000_000_000 if magic else None, key=None, value=b"a")
        old.close()
        cluster.topics.make("old").log.append(bytes(old.buffer()))

        with pytest.raises(UnsafePlan) as refused:
            list(connected.tails().read(BrokerId(2), TopicPartition("old", 0), 0, 1))

    assert str(refused.value) == (
        "nothing was elected: --save-tails cannot save what broker 2 has of old-0 from offset 0 on: "
        f"a batch of message format {magic}; only format 2 can be read\n"
        "  to elect without it, leave out --save-tails"
    )


@pytest.mark.parametrize(("code", "is_about_an_acl"), [(29, True), (39, False)])
def test_a_journal_topic_that_cannot_be_made_names_an_acl_where_that_is_what_lacks(
    code: int, is_about_an_acl: bool
) -> None:
    with FakeCluster(Shape()) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        cluster.topics.creatable = code != 29
        cluster.topics.unregistered.add(3)
        journal = connected.journal("notes")

        with pytest.raises(ClusterRefused, match=f"notes cannot be created: .* \\({code}\\)") as no:
            journal.create(journal.reader, replicas(1, 2, 3))

    assert ("this user needs the ACL Create on Topic notes; or" in str(no.value)) == is_about_an_acl
    assert "create it: one partition, cleanup.policy=compact" in str(no.value)
