"""Partitions without a leader on real brokers: what their logs hold, who leads again, what is lost; by commands.

Broker 4 stays up. Records are small, so that thousands of them differ between logs.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import checked
from tests.kafka import site
from tests.kafka.harness.clients import create_topic, delete_topics, until
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.harness.tools import run_tool_warm
from tests.unit.kafka.test_record_batches import CODECS, compacted, of_the_log

from replan.errors import ClusterUnreachable
from replan.kafka.api import batches, open_cluster
from replan.model.api import JOURNAL_TOPIC, Accepted, BrokerId, TopicPartition, Wanted
from replan.planning.api import Loss, Recovery, Tail, loads
from replan.snapshots.api import read_index, read_replays

pytestmark = pytest.mark.timeout(600)
LONG_SECONDS = 300.0


class Site(site.Site):
    """With commands that recover it."""

    def elect(self, *words: str) -> list[dict[str, Any]]:
        """Recover by a command, and what became of each partition."""
        flags = ("--topic", self.topic, "--unclean", "--auto-approve", "--format", "json")
        found: list[dict[str, Any]] = json.loads(self.replan("elect", *words, *flags))["partitions"]
        return found

    def kafka_transactions(self, *words: str) -> str:
        """What Kafka's own tool for transactions says."""
        flags = ("--bootstrap-server", self.cluster.bootstrap)
        return run_tool_warm(self.cluster.ground.kafka, "kafka-transactions", *flags, *words)

    def planned(self, *words: str) -> Recovery:
        """What a command would do."""
        self.replan("elect", *words, "--topic", self.topic, "-o", "plan.json", wanted=2)
        (found,) = loads((self.folder / "plan.json").read_text(), "plan.json").recoveries
        return found


@pytest.mark.parametrize(
    ("killed_at", "topic"),
    [("plan/", "best"), pytest.param("recovery/", "best-asked", marks=pytest.mark.nightly)],
)
def test_the_best_surviving_log_leads_and_its_loss_is_stated_and_measured(
    steady: OneJvmCluster, tmp_path: Path, killed_at: str, topic: str
) -> None:
    """3,000 records on the dead leader, 2,000 and 1,000 on the others; Kafka's own election takes the shortest.

    Killed and resumed. Killed after it has asked, it waits 85 s for requests that may still be on their way.
    """
    site = Site(steady, tmp_path, topic)
    site.create([1, 3, 2], **{"min.insync.replicas": "1"})
    site.write(1000)
    site.stop(3)
    site.write(1000)
    site.stop(2)
    site.write(1000)
    site.replan("snapshot", "--logs", "-o", "before.json")
    site.stop(1)
    site.leaderless()
    site.start(3, 2)
    try:
        said = site.replan("elect", "best-log", "--topic", site.topic, wanted=3)
        assert "[better-may-return]" in said
        assert site.planned("unclean", "--give-up-on", "1").chosen == 3
        planned = site.planned("best-log", "--give-up-on", "1", "--before", "before.json")
        assert planned.order == (2, 1, 3)
        assert planned.loss == Loss.of((Tail(BrokerId(1), 2000, 3000),), unknown=(BrokerId(1),))
        site.replan("apply", "plan.json", "--auto-approve", wanted=3)
        assert site.leaders() == [-1]
        wanted = ("elect", "best-log", "--topic", site.topic, "--give-up-on", "1")
        agreed = ("--before", "before.json", "--unclean", "--auto-approve", "--save-tails", "none")
        site.killed(*wanted, *agreed, at=killed_at)
        site.replan(*wanted, *agreed)
        assert site.leaders() == [2]
        (kept,) = json.loads(site.replan("journal", "show", "--format", "json"))["recoveries"]
        assert (kept["value"]["lost"], kept["value"]["measured"]) == (1000, 1000)
    finally:
        site.start(1)
    site.in_sync(1, 2, 3)


@pytest.mark.nightly
def test_a_later_epoch_counts_more_than_length(steady: OneJvmCluster, tmp_path: Path) -> None:
    """(epoch 0, 3,000) and (epoch 2, 1,500): the second has what was acknowledged last; they part at 1,000.

    The other's tail is saved, and produced again by replays that are killed and go on.
    """
    site = Site(steady, tmp_path, "epochs")
    site.create([1, 2, 3], **{"min.insync.replicas": "1"})
    site.write(1000)
    site.stop(2, 3)
    site.write(2000, batch=200)
    site.stop(1)
    site.leaderless()
    site.start(2, 3)
    (row,) = site.elect("unclean", "--give-up-on", "1")
    assert row["leader"] == 2
    site.in_sync(2, 3)
    site.write(500)
    site.stop(2, 3)
    site.leaderless()
    site.start(1, 2)
    try:
        planned = site.planned("best-log", "--give-up-on", "3")
        ends = {c.broker: c.known_log.rank for c in planned.candidates if c.known_log is not None}
        assert ends == {1: (0, 3000), 2: (2, 1500)}
        assert planned.chosen == 2
        assert planned.loss.tails == (Tail(BrokerId(1), 1000, 3000),)
        (row,) = site.elect("best-log", "--give-up-on", "3", "--save-tails", "lost")
        assert (row["leader"], row["statedLoss"], row["measuredLoss"]) == (2, 2000, 2000)
    finally:
        site.start(3)
    site.in_sync(1, 2, 3)
    assert "2,000" in site.replan("tails", "show", "lost", cluster=False)
    tail = [str(number) for number in range(2000)]
    for words, times in ([], 1), (["--again", "--broker", "1"], 2):
        site.killed_replay("lost", *words, lines=5)
        more = going_on(site, words, 2000 * (times - 1))
        site.replan("tails", "replay", "lost", "--auto-approve", *more)
        assert site.values(1500) == tail * times
    site.replan("tails", "replay", "lost", "--auto-approve")
    assert site.values(1500) == tail * 2


def going_on(site: Site, words: list[str], before: int) -> list[str]:
    """How a replay that was killed is run again: as before, and with what a look at the log says of its last batch.

    `before`: how many records of the tail had been produced when it began.
    """
    [tail] = read_index(site.folder / "lost").tails
    known = read_replays(site.folder / "lost").of(tail)
    if known.unknown_to is None:
        return words if known.to < tail.end else []
    arrived = len(site.values(1500)) - before > known.to - tail.begin
    return [*words, "--unknown", "skip" if arrived else "send"]


@pytest.mark.nightly  # by day test_elections.py has who is awaited, and that it leads
def test_an_eligible_replica_that_returns_leads_without_an_unclean_election(
    steady: OneJvmCluster, tmp_path: Path, kafka_version: str
) -> None:
    """Although an unclean one is planned: while it waits, and is killed and resumed, Kafka elects who came back."""
    back = 1 if kafka_version.startswith("3.") else 2  # 3.9 knows none but the last of the ISR
    (tmp_path / "placement.yaml").write_text(
        "version: 1\nassignments: {}\nrecovery: {eligible: {strategy: aggressive, wait: 10m}}\n"
    )
    site = Site(steady, tmp_path, "eligible")
    site.create([1, 2, 3], **{"min.insync.replicas": "2"})
    site.write(100)
    site.stop(3, 2, 1)
    site.leaderless()
    site.start(3)
    said = site.replan("elect", "best-log", "--topic", site.topic, wanted=3)
    assert "[better-may-return]" in said
    apply = ("apply", "-f", "placement.yaml", "--unclean", "--auto-approve")
    site.killed(*apply, at="plan/")
    for broker in range(2, back - 1, -1):
        site.start(broker)
    until(lambda: site.leaders() == [back], f"{back} to lead", limit_seconds=30)
    site.replan(*apply, wanted=3)
    said = site.replan("elect", "best-log", "--topic", site.topic)
    assert "no election is needed" in said
    assert len(site.values(0)) == 100
    if back == 2:
        site.start(1)
    site.in_sync(1, 2, 3)


@pytest.mark.nightly
def test_transactions_across_an_unclean_election(steady: OneJvmCluster, tmp_path: Path) -> None:
    """One was committed after the chosen replica had left: its marker is lost, and it hangs until a person ends it.

    Another one is in a tail that is dropped: replayed, its records count as committed, aborted or not.
    """
    site = Site(steady, tmp_path, "transactions")
    site.create([1, 2, 3], [1, 2, 3], **{"min.insync.replicas": "1"})
    site.write(100, 0, 1)
    site.stop(3)
    site.transaction("aborted", 30, 0, 1).abort_transaction(60)
    until(lambda: site.ends() == [131, 131], "its markers written", limit_seconds=30)
    hanging = site.transaction("hanging", 50, 0, 1)
    site.stop(2)
    hanging.commit_transaction(60)
    site.stop(1)
    site.leaderless()
    site.start(3, 2)
    agreed = ("--give-up-on", "1", "--unclean", "--auto-approve")
    try:
        site.replan("elect", "best-log", "--partition", "transactions-0", *agreed)
        named = ("--partition", "transactions-1", "--leader", "3", "--save-tails", "lost")
        site.replan("elect", "designated", *named, *agreed)
        assert site.leaders() == [2, 3]
    finally:
        site.start(1)
    site.in_sync(1, 2, 3)
    assert len(site.values(0)) == 180
    assert len(site.values(0, committed=True)) == 100
    site.kafka_transactions(
        "abort", "--topic", site.topic, "--partition", "0", "--start-offset", "131"
    )
    assert len(site.values(0, committed=True)) == 100
    site.write(1)
    assert len(site.values(0, committed=True)) == 101
    assert len(site.values(0, 1)) == 100
    for _ in range(2):
        site.replan("tails", "replay", "lost", "--auto-approve")
        assert len(site.values(0, 1, committed=True)) == 180


@pytest.mark.nightly
@pytest.mark.parametrize("partitions", [500, 2_000])
def test_many_partitions_are_led_again_by_one_command(
    steady: OneJvmCluster, tmp_path: Path, partitions: int
) -> None:
    """Two hundred and fifty of them have records, which 3 lacks; the others are empty, since writing takes longest."""
    site = Site(steady, tmp_path, f"many-{partitions}")
    written = range(0, partitions, partitions // 250)
    lists = [[1, 3, 2] if number in written else [1, 2, 3] for number in range(partitions)]
    create_topic(
        steady.bootstrap,
        site.topic,
        lists,
        {"min.insync.replicas": "1"},
        limit_seconds=LONG_SECONDS,
    )
    site.stop(3)
    site.write(1, *written)
    site.stop(2, 1)
    site.leaderless()
    site.start(3, 2)
    try:
        rows = site.elect("best-log", "--give-up-on", "1")
        assert {(r["leader"], r["result"]) for r in rows} == {(2, "elected")}
        until(lambda: set(site.leaders()) == {2}, "2 to lead all", limit_seconds=60)
    finally:
        site.start(1)


@pytest.mark.nightly
def test_the_journals_own_topic_without_a_leader_is_led_again(
    steady: OneJvmCluster, tmp_path: Path
) -> None:
    """The journal lies in a file meanwhile; afterwards the topic is the journal again, with what it held."""
    delete_topics(steady.bootstrap, JOURNAL_TOPIC)  # of the elections of other tests
    site = Site(steady, tmp_path, JOURNAL_TOPIC)
    to_topic = ("--bootstrap-server", steady.bootstrap)
    create_topic(steady.bootstrap, "journalled", [[1, 2]])
    site.create([1, 2], **{"min.insync.replicas": "1", "cleanup.policy": "compact"})
    named = ("elect", "designated", "--partition", "journalled-0", "--leader", "2")
    checked(*named, *to_topic, folder=tmp_path)
    try:
        site.stop(2, 1)
        site.leaderless()
        site.start(2)
        wanted = ("elect", "best-log", "--topic", site.topic)
        assert "[better-may-return]" in site.replan(*wanted, wanted=3)
        (row,) = site.elect("best-log", "--give-up-on", "1")
        assert (row["leader"], row["result"]) == (2, "elected")
        assert site.leaders() == [2]
        site.start(1)
        site.in_sync(1, 2)
        shown = checked("journal", "show", "--format", "json", *to_topic, folder=tmp_path).stdout
        assert len(json.loads(shown)["applications"]) == 1
        checked("elect", "preferred", "--all", *to_topic, folder=tmp_path)
    finally:
        delete_topics(steady.bootstrap, site.topic, "journalled")


def test_who_can_go_on_without_a_journal_topic_waits_little_for_its_leader(
    steady: OneJvmCluster, tmp_path: Path
) -> None:
    """Less than the patience, which is longer than a test may take."""
    site = Site(steady, tmp_path, "left-alone")
    site.create([1])
    site.stop(1)
    site.leaderless()
    with open_cluster(steady.bootstrap, None, timeout_seconds=3600) as plane:
        reader = plane.journal(site.topic).reader
        with pytest.raises(ClusterUnreachable, match="no leader"):
            reader.refresh(leaderless_seconds=1)
    site.start(1)


def test_batches_that_only_a_log_holds_are_taken_by_brokers_again(
    steady: OneJvmCluster, tmp_path: Path
) -> None:
    """With gaps, as compaction leaves them, compressed or not, and with the log's own time; null keys, headers."""
    site = Site(steady, tmp_path, "replayed")
    site.create([4])
    plane = open_cluster(steady.bootstrap, None)
    try:
        plane.look(Wanted())  # says where brokers listen
        for content in (*map(compacted, CODECS), of_the_log()):
            [found] = batches(content)
            answer = plane.tails().produce(BrokerId(4), TopicPartition(site.topic, 0), found)
            assert answer == Accepted()
    finally:
        plane.close()
    two = [(b"k", [("h", b"1")], 0), (None, None, 199)]
    rows = [(m.key(), m.headers(), m.timestamp()[1]) for m in site.messages(0)]
    assert rows[: 2 * len(CODECS)] == two * len(CODECS)
    assert [m.offset() for m in site.messages(0)] == list(range(2 * len(CODECS) + 1))
