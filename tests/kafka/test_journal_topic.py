"""The journal in a compacted topic of real brokers: written, read, taken over, fenced."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic
from msgspec.structs import replace
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.clients import admin, delete_topics, partition_metadata, until
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.unit.applying.journal.records import APP, Hand, rate
from tests.unit.applying.journal.test_stores import StoreLaws

from replan.applying.api import (
    Command,
    Forget,
    PlanChunk,
    Record,
    Settings,
    SteeredJournal,
)
from replan.commands.api import JournalPlace, LiveTarget, journal_state, owned_journal
from replan.errors import BadFile, BadUsage, ClusterUnreachable, Held, WrongCluster
from replan.kafka.api import (
    KEY,
    LOCK_BEAT_SECONDS,
    LOCK_DEAD_SECONDS,
    TRANSACTIONAL_ID,
    JournalTopic,
    Lock,
    OwnedJournal,
    PlainProducer,
    encode_lock,
    open_cluster,
    release_lock,
    take_ownership,
)
from replan.model.api import JOURNAL_TOPIC

BIG = tuple(PlanChunk("a-1", number, '"é\n' * 75_000) for number in range(3))


class Machines:
    """Machines that use one journal topic, each with connections of its own."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.bootstrap, self.name = bootstrap, topic
        self.notes: list[str] = []
        self._open = ExitStack()

    def topic(self) -> JournalTopic:
        plane = self._open.enter_context(open_cluster(self.bootstrap, None, timeout_seconds=20))
        return plane.journal(self.name)

    def take(self, owner: str, clock: Hand, lock_timeout: float = 0) -> OwnedJournal:
        return take_ownership(
            self.topic(), owner, clock, lock_timeout=lock_timeout, note=self.notes.append
        )

    def close(self) -> None:
        self._open.close()


@pytest.fixture
def machines(one_jvm: OneJvmCluster, tmp_path: Path) -> Iterator[Machines]:
    """Of a journal topic of one's own; the lock, which belongs to the cluster, ends with the test."""
    found = Machines(one_jvm.bootstrap, f"__journal-{tmp_path.name[-40:]}")
    yield found
    found.close()
    delete_topics(one_jvm.bootstrap, found.name, JOURNAL_TOPIC)


def test_a_cluster_without_the_topic_stays_without_it(machines: Machines) -> None:
    assert not machines.topic().reader.refresh()
    assert machines.name not in admin(machines.bootstrap).list_topics(timeout=10).topics


def test_the_topic_is_made_as_safe_as_the_cluster_allows(machines: Machines) -> None:
    machines.take("ann", Hand()).close()
    client = admin(machines.bootstrap)
    made = client.list_topics(machines.name, timeout=10).topics[machines.name]
    assert [len(p.replicas) for p in made.partitions.values()] == [3]
    resource = ConfigResource(ConfigResource.Type.TOPIC, machines.name)
    settings = client.describe_configs([resource])[resource].result(10)
    assert settings["cleanup.policy"].value == "compact"
    assert settings["min.insync.replicas"].value == "2"
    assert settings["unclean.leader.election.enable"].value == "false"
    assert settings["message.timestamp.type"].value == "LogAppendTime"
    assert any(machines.name in note for note in machines.notes)


def test_another_machine_reads_what_was_written_with_a_plan_in_pieces(machines: Machines) -> None:
    with machines.take("ann", Hand()) as journal:
        journal.append([APP, *BIG, rate(1, "5")])
        journal.append([rate(1, "7"), rate(2, "9")])
        journal.append([Forget(rate(2, "9").key)])
        written = list(journal.read())
    with machines.take("bob", Hand()) as again:
        assert sorted(r.key for r in again.read()) == sorted(r.key for r in written)
        assert {r.key: r for r in again.read()} == {r.key: r for r in written}


def test_a_silent_owner_is_taken_over_and_can_write_no_more(machines: Machines) -> None:
    first = machines.take("ann", Hand())
    first.append([APP])
    clock = Hand()
    second = machines.take("bob", clock)
    assert clock.time >= LOCK_DEAD_SECONDS
    second.append([rate(1, "5")])
    with pytest.raises(Held, match="bob"):
        first.append([rate(1, "6")])
    with pytest.raises(Held):
        first.append([rate(1, "6")])
    first.close()
    second.close()
    with machines.take("cy", Hand()) as third:
        assert rate(1, "5") in third.read()
        assert rate(1, "6") not in third.read()


def test_a_taker_waits_for_a_lock_that_is_released_in_time(machines: Machines) -> None:
    own = Hand()
    first = machines.take("ann", own)
    calls = [0]

    def at_work() -> None:
        calls[0] += 1
        own.time += LOCK_BEAT_SECONDS
        if calls[0] < 4:
            first.append([])
        elif calls[0] == 4:
            first.close()

    with machines.take("bob", Hand(meanwhile=at_work), lock_timeout=1000) as second:
        assert list(second.read()) == []


def test_a_released_lock_is_free_at_once_and_its_owner_stops(machines: Machines) -> None:
    first = machines.take("ann", Hand())
    topic = machines.topic()
    topic.reader.refresh()
    lock = topic.reader.lock
    assert lock is not None
    for owner in ("ann", "bob"):
        with pytest.raises(BadUsage, match=lock.id):
            release_lock(topic, "another", "why", owner)
    release_lock(topic, lock.id, "the job was cancelled", "bob")
    with pytest.raises(Held, match="the job was cancelled"):
        first.append([APP])
    clock = Hand()
    machines.take("bob", clock).close()
    assert clock.time < LOCK_DEAD_SECONDS


def test_a_transaction_that_its_owner_never_ends_is_not_read(machines: Machines) -> None:
    with machines.take("ann", Hand()) as journal:
        journal.append([APP])
    hanging = Producer(
        {
            "bootstrap.servers": machines.bootstrap,
            "transactional.id": TRANSACTIONAL_ID,
            "log_level": 0,
        }
    )
    hanging.init_transactions(20)
    hanging.begin_transaction()
    hanging.produce(machines.name, b"{}", b"app/never-committed", partition=0)
    hanging.flush(20)
    with machines.take("bob", Hand()) as again:
        assert list(again.read()) == [APP]


def test_what_is_left_of_a_log_is_read_where_kafka_deleted_its_beginning(
    machines: Machines,
) -> None:
    """A fetch from before that is answered with 1 (OFFSET_OUT_OF_RANGE), and not with where the log begins."""
    client, name = admin(machines.bootstrap), "expired"
    wanted = NewTopic(name, 1, 3, config={"cleanup.policy": "compact,delete"})
    client.create_topics([wanted])[name].result(20)
    for broker in (1, 2, 3):  # in a batch each
        PlainProducer({"bootstrap.servers": machines.bootstrap}, name).send([rate(broker, "5")])
    first = TopicPartition(name, 0, 2)
    client.delete_records([first])[first].result(20)

    with open_cluster(machines.bootstrap, None) as connected:
        reader = connected.journal(name).reader
        assert reader.refresh()
        assert reader.records() == [rate(3, "5")]
    client.delete_topics([name])[name].result(20)


def test_a_deleted_topic_is_not_taken_for_an_empty_one(machines: Machines) -> None:
    topic = machines.topic()
    machines.take("ann", Hand()).close()
    topic.reader.refresh()
    client = admin(machines.bootstrap)
    client.delete_topics([machines.name])[machines.name].result(20)
    with pytest.raises(BadFile, match="deleted"):
        until(lambda: not topic.reader.refresh(), "an error", limit_seconds=20)


def test_a_file_is_no_way_around_an_application_that_is_open_on_the_cluster(
    one_jvm: OneJvmCluster, tmp_path: Path
) -> None:
    machines = Machines(one_jvm.bootstrap, JOURNAL_TOPIC)
    with machines.take("ann", Hand()) as journal:
        journal.append([APP])
    file = JournalPlace(path=tmp_path / "replan.journal")
    target = LiveTarget(one_jvm.bootstrap, journal=file, unlocked=True)
    with target.connect() as connection:
        cluster_id = connection.control_plane.cluster_id()
        with pytest.raises(Held, match="a-1"), owned_journal(target, connection, cluster_id):
            pass
        here = journal_state(LiveTarget(one_jvm.bootstrap), connection, cluster_id)
        assert here.ledger.application == APP
        with machines.take("ann", Hand()) as journal:
            journal.append([Forget(APP.key)])
        with owned_journal(target, connection, cluster_id) as journal:
            journal.append([rate(1, "5")])
    locked = LiveTarget(one_jvm.bootstrap, journal=file)
    with (
        locked.connect() as connection,
        pytest.raises(BadUsage, match="--unlocked"),
        owned_journal(locked, connection, cluster_id),
    ):
        pass
    machines.close()


class TestTopicStore(StoreLaws):
    """What every store promises; a sign of life comes from each journal that is open while another one waits."""

    @pytest.fixture(autouse=True)
    def _topic(self, machines: Machines) -> None:
        self.machines = machines
        self.live: list[OwnedJournal] = []

    @contextmanager
    def open(self, cluster_id: str = "cluster") -> Iterator[OwnedJournal]:
        assert cluster_id == "cluster"
        clock = Hand(meanwhile=self.signs_of_life)
        with self.machines.take("ann", clock) as journal:
            self.live.append(journal)
            try:
                yield journal
            finally:
                self.live.remove(journal)

    def signs_of_life(self) -> None:
        for journal in self.live:
            journal.append([rate(9, "1")])
            journal.append([Forget(rate(9, "1").key)])

    def peek(self, cluster_id: str = "cluster") -> Sequence[Record]:
        """Commits are readable some milliseconds after they have succeeded, when their markers are written."""
        assert cluster_id == "cluster"
        reader = self.machines.topic().reader

        def current() -> bool:
            reader.refresh()
            return all(answered(reader.records()) == answered(j.read()) for j in self.live)

        until(current, "all that was committed", limit_seconds=10)
        return reader.records()

    def send(self, command: Command) -> None:
        self.machines.topic().send(command)

    def arrived(self, journal: SteeredJournal) -> Sequence[Command]:
        """An answer of this process is read back some milliseconds after its commit."""
        self.peek()
        return journal.arrived()

    def test_it_belongs_to_one_cluster(self) -> None:
        """As if a mirror had copied it: its lock names another cluster."""
        with self.open() as journal:
            journal.append([APP])
        writer = self.machines.topic().writer()
        writer.begin(20)
        writer.commit(
            [(self.machines.name, KEY, encode_lock(Lock.new("ann", "another cluster")))], 20
        )
        with pytest.raises(WrongCluster, match="another cluster"):
            until(lambda: not self.peek(), "an error", limit_seconds=10)
        with pytest.raises(WrongCluster), self.open():
            pass


def answered(records: Sequence[Record]) -> list[Record]:
    """All but the commands that wait: others write those."""
    return [r for r in records if not isinstance(r, Command) or r.obeyed_by]


@pytest.mark.nightly
def test_an_append_waits_for_no_frozen_leader(
    kafka_cluster: Callable[..., Cluster], layout: Layout
) -> None:
    """Its connections stay open: a producer waits for its answers, by default for a minute."""
    cluster = kafka_cluster(replace(layout, racks={1: "a", 2: "b", 3: "c"}))
    machines = Machines(cluster.bootstrap, "__journal-frozen")
    with machines.take("ann", Hand()) as journal:
        leader = partition_metadata(admin(cluster.bootstrap), machines.name)[0].leader
        cluster.freeze(leader)

        def appended() -> bool:
            try:
                journal.append([APP])
            except ClusterUnreachable:
                return False
            return True

        until(appended, "an append", limit_seconds=Settings().journal_patience_seconds)
        cluster.thaw(leader)
    machines.close()


@pytest.fixture
def own_cluster(layout: Layout, pytestconfig: pytest.Config) -> Iterator[OneJvmCluster]:
    """Three brokers, of which one can be stopped."""
    small = replace(layout, racks={1: "a", 2: "b"})
    with one_jvm_cluster(small, pytestconfig) as cluster:
        yield cluster


def test_under_min_isr_nothing_is_written_and_a_failed_append_is_undone(
    own_cluster: OneJvmCluster,
) -> None:
    machines = Machines(own_cluster.bootstrap, "__replan_journal")
    client = admin(own_cluster.bootstrap)
    journal = machines.take("ann", Hand())
    journal.append([APP, rate(1, "5")])
    minimum = ConfigEntry("min.insync.replicas", "2", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(
        ConfigResource.Type.TOPIC, machines.name, incremental_configs=[minimum]
    )
    client.incremental_alter_configs([resource])[resource].result(20)
    own_cluster.stop(2)
    with pytest.raises(ClusterUnreachable):
        journal.append([rate(1, "6"), rate(2, "6")])
    own_cluster.start(2)
    until_written(journal)
    assert {rate(1, "5"), rate(3, "7")} <= set(journal.read())
    journal.close()
    with machines.take("bob", Hand()) as again:
        assert {r.key: r for r in again.read()} == {r.key: r for r in journal.read()}
    machines.close()


def until_written(journal: OwnedJournal) -> None:
    """The loop of an applier, which tries again with every tick."""
    for _ in range(20):
        try:
            journal.append([rate(3, "7")])
        except ClusterUnreachable:
            continue
        return
    pytest.fail("the journal stays unwritable")
