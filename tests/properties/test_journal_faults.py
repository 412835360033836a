"""The journal on a cluster that is against it: second journals, topics made again, set wrongly, or not replan's.

The cluster exists on the wire only, so that a whole history takes a second or two. What holds after every step of any
history: whoever took the journal last is the only one who writes; what it knows is in the topic; at most one
application is open on the cluster; and what is not replan's is never written.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from confluent_kafka import Producer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.commandline import checked
from tests.kafka.harness.fake_cluster import FakeCluster, Shape
from tests.profiles import count
from tests.unit.applying.journal.records import Hand, rate

from replan.applying.api import (
    Application,
    ApplicationStatus,
    Forget,
    Record,
    open_applications,
)
from replan.errors import BadFile, ClusterRefused, ClusterUnreachable, Held
from replan.kafka.api import (
    LOCK_DEAD_SECONDS,
    JournalTopic,
    OwnedJournal,
    open_cluster,
    take_ownership,
)
from replan.model.api import JOURNAL_TOPIC

pytestmark = pytest.mark.kafka  # it needs sockets, and no Kafka
OTHER, PAYMENTS, EXPIRING = "other_journal", "payments", "expiring"


def application(name: str) -> Application:
    return Application(name, ApplicationStatus.OPEN, "d" * 64, "m" * 64, "fake-cluster", "ann@ops")


class Site:
    """A cluster with what machines do to it."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster, self.notes = cluster, list[str]()
        self._open = ExitStack()

    def topic(self, name: str = JOURNAL_TOPIC) -> JournalTopic:
        plane = self._open.enter_context(
            open_cluster(self.cluster.bootstrap, None, timeout_seconds=5)
        )
        return plane.journal(name)

    def take(
        self, owner: str, name: str = JOURNAL_TOPIC, clock: Hand | None = None
    ) -> OwnedJournal:
        return take_ownership(
            self.topic(name), owner, clock or Hand(), lock_timeout=0, note=self.notes.append
        )

    def held(self, name: str = JOURNAL_TOPIC) -> Sequence[Record]:
        """What a machine finds in a topic that knows nothing yet."""
        reader = self.topic(name).reader
        return list(reader.records()) if reader.refresh() else []

    def written(self, name: str, *keys: bytes) -> None:
        """Another program writes to a topic."""
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap, "log_level": 0})
        for key in keys:
            producer.produce(name, b"{}", key, partition=0)
        assert producer.flush(20) == 0

    def ends(self, name: str) -> int:
        return self.cluster.topics.topics[name].end

    def close(self) -> None:
        self._open.close()


@pytest.fixture
def site() -> Iterator[Site]:
    with FakeCluster(Shape()) as cluster:
        found = Site(cluster)
        yield found
        found.close()


def by_key(records: Sequence[Record]) -> dict[str, Record]:
    return {record.key: record for record in records}


def test_a_journal_of_another_name_has_the_lock_of_the_cluster(site: Site) -> None:
    """Two that both work would take each other's throttles for what was there before."""
    own = Hand()
    first = site.take("ann", clock=own)
    first.append([rate(1, "5")])

    def at_work() -> None:
        own.time += 2
        first.append([])

    with pytest.raises(Held, match="ann"):
        site.take("bob", OTHER, Hand(meanwhile=at_work))
    first.append([rate(1, "6")])
    assert OTHER not in site.cluster.topics.topics
    first.close()
    with site.take("bob", OTHER) as second:
        second.append([rate(2, "5")])
        with pytest.raises(Held, match="bob"):
            first.append([rate(1, "7")])
    assert site.held(OTHER) == [rate(2, "5")]
    assert site.held() == [rate(1, "6")]


def test_a_lock_that_was_watched_says_since_when_its_process_has_requested_nothing(
    site: Site,
) -> None:
    """What the process before sent was sent right after a commit: the minute for which it is watched counts."""
    first = site.take("ann")
    first.append([rate(1, "5")])
    assert first.silent_since is None, "nobody was there before"
    clock = Hand(time=100.0)
    assert site.take("bob", clock=clock).silent_since == 100.0
    assert clock.time >= 160.0


def test_a_process_that_writes_while_it_is_watched_is_silent_since_then(site: Site) -> None:
    first, clock = site.take("ann", clock=Hand()), Hand(time=100.0)

    def one_more() -> None:
        if clock.time == 130.0:
            first.append([rate(1, "5")])

    clock.meanwhile = one_more
    second = take_ownership(site.topic(), "bob", clock, lock_timeout=600, note=site.notes.append)
    assert second.silent_since == 130.0
    assert clock.time >= 190.0
    told = [n for n in site.notes if "it is taken over in" in n]
    assert told[0].endswith("for 15 s: it is taken over in 45 s")
    with pytest.raises(Held):
        first.append([rate(1, "6")])


def test_a_process_that_is_asked_to_stop_waits_for_no_lock(site: Site) -> None:
    """A loop that reconciles turns signals into a question; nothing is under way yet."""
    site.take("ann", clock=Hand())
    topic, clock = site.topic(), Hand()
    clock.meanwhile = topic.clock.interrupt
    with pytest.raises(Held, match=r"held by ann since .*; this process was asked to stop"):
        take_ownership(topic, "bob", clock, lock_timeout=600, note=site.notes.append)
    assert clock.time < LOCK_DEAD_SECONDS


def test_a_write_that_arrives_after_the_last_look_is_not_taken_for_silence(site: Site) -> None:
    first = site.take("ann", clock=Hand())

    def between_look_and_fence(text: str) -> None:
        if "taking over" in text:
            first.append([rate(1, "5")])

    second = take_ownership(
        site.topic(), "bob", Hand(), lock_timeout=0, note=between_look_and_fence
    )
    assert rate(1, "5") in second.read()
    assert second.silent_since is None


def test_status_is_not_settled_where_a_journal_of_another_name_has_an_open_application(
    site: Site, tmp_path: Path
) -> None:
    """0 says that no application is open on the cluster."""
    with site.take("ann", OTHER) as journal:
        journal.append([application("a-1")])

    status = checked(
        "status", "--bootstrap-server", site.cluster.bootstrap, folder=tmp_path, wanted=2
    )

    assert f"With --journal topic:{OTHER}, `replan resume` goes on with it" in status.stdout


@pytest.mark.parametrize("journal", [(), ("--journal", "file:absent")])
def test_drift_blames_nobody_while_an_application_is_open_in_a_journal_of_another_name(
    site: Site, tmp_path: Path, journal: tuple[str, ...]
) -> None:
    (tmp_path / "placement.yaml").write_text(
        "version: 1\nassignments: {t00000: {partitions: {0: [1, 3, 2]}}}\n"
    )
    asked = ("drift", "--format", "json", "--bootstrap-server", site.cluster.bootstrap, *journal)
    before = checked(*asked, folder=tmp_path, wanted=2)
    with site.take("ann", OTHER) as taken:
        taken.append([application("a-1")])
    drift = checked(*asked, folder=tmp_path, wanted=2)

    assert classes(before.stdout) == {"operator"}
    assert classes(drift.stdout) == {"unknown"}
    assert f"application a-1 of ann@ops is open in the journal topic {OTHER}" in drift.stderr


def classes(drift: str) -> set[str]:
    return {found["class"] for found in json.loads(drift)["differences"]}


def test_status_is_not_settled_while_the_journal_cannot_be_read(site: Site, tmp_path: Path) -> None:
    site.cluster.topics.make(JOURNAL_TOPIC).leaderless = True
    asked = ("status", "--topic", "t00000", "--bootstrap-server", site.cluster.bootstrap)

    status = checked(*asked, folder=tmp_path, wanted=2)

    assert (
        "The journal cannot be read: whether an application is open is not known." in status.stdout
    )


@pytest.mark.parametrize(("first", "second"), [(JOURNAL_TOPIC, OTHER), (OTHER, JOURNAL_TOPIC)])
def test_an_application_that_is_open_in_one_journal_forbids_one_in_another(
    site: Site, first: str, second: str
) -> None:
    """Also where the process that began it is gone, and its lock is free."""
    with site.take("ann", first) as journal:
        journal.append([application("a-1")])
    with pytest.raises(Held, match=f"a-1 .* is open in the journal topic {first}"):
        site.take("bob", second)
    killed = site.take("ann", first)  # it takes the lock up, and is killed before it writes
    del killed
    with pytest.raises(Held, match="a-1"):
        site.take("bob", second)
    with site.take("ann", first) as journal:
        journal.append([replace(application("a-1"), status=ApplicationStatus.CLOSED)])
    site.take("bob", second).close()


def test_an_application_in_a_topic_that_is_gone_is_no_obstacle(site: Site) -> None:
    with site.take("ann", OTHER) as journal:
        journal.append([application("a-1")])
    site.cluster.topics.delete(OTHER)
    site.take("bob").close()


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("name", [JOURNAL_TOPIC, OTHER])
def test_a_topic_that_is_deleted_while_it_is_in_use_is_written_again(
    site: Site, name: str, again: bool
) -> None:
    """Prior values, plan, application and remembered orders would else be gone with it."""
    journal = site.take("ann", name)
    journal.append([application("a-1"), rate(1, "5"), rate(2, "5")])
    site.cluster.topics.delete(name)
    if again:
        site.cluster.topics.make(name)
    journal.append([rate(1, "6"), Forget(rate(2, "5").key)])
    assert by_key(site.held(name)) == by_key([application("a-1"), rate(1, "6")])
    assert any("deleted while it was in use" in note for note in site.notes)


@pytest.mark.parametrize(("code", "failure"), [(29, ClusterRefused), (5, ClusterUnreachable)])
def test_a_topic_that_a_broker_says_nothing_of_is_not_taken_for_deleted(
    site: Site, code: int, failure: type[Exception]
) -> None:
    journal = site.take("ann")
    journal.append([application("a-1")])
    site.cluster.trouble.topic_errors[JOURNAL_TOPIC] = code
    with pytest.raises(failure):
        journal.append([rate(1, "5")])
    site.cluster.trouble.topic_errors.clear()
    journal.append([rate(2, "5")])
    assert by_key(site.held()) == by_key([application("a-1"), rate(2, "5")])
    assert not any("deleted" in note for note in site.notes)


def test_it_is_noticed_by_one_that_has_nothing_to_write(site: Site) -> None:
    journal = site.take("ann")
    journal.append([application("a-1"), rate(1, "5")])
    site.cluster.topics.make(JOURNAL_TOPIC)
    journal.arrived()
    journal.append([])
    assert by_key(site.held()) == by_key([application("a-1"), rate(1, "5")])


def test_one_that_is_made_again_and_would_lose_it_is_written_and_ends_the_process(
    site: Site,
) -> None:
    journal = site.take("ann")
    journal.append([application("a-1"), rate(1, "5")])
    site.cluster.topics.make(JOURNAL_TOPIC, policy="delete")
    with pytest.raises(ClusterRefused, match=r"cleanup\.policy is delete"):
        journal.append([rate(1, "6")])
    journal.close()
    assert by_key(site.held()) == by_key([application("a-1"), rate(1, "6")])
    with pytest.raises(BadFile, match=r"cleanup.policy is delete.*cleanup.policy=compact"):
        site.take("ann")


@pytest.mark.parametrize(
    ("partitions", "policy", "keys", "why"),
    [
        (3, "compact", [], "3 partitions"),
        (1, "delete", [], r"cleanup.policy is delete"),
        (1, "compact,delete", [], "cleanup.policy is compact,delete"),
        (1, "compact", [b"order-1"], "offset 0"),
    ],
)
def test_a_topic_of_another_program_is_never_written(
    site: Site, partitions: int, policy: str, keys: list[bytes], why: str
) -> None:
    site.cluster.topics.make(PAYMENTS, partitions=partitions, policy=policy)
    site.written(PAYMENTS, *keys)
    with pytest.raises(BadFile, match=why):
        site.take("ann", PAYMENTS)
    assert site.ends(PAYMENTS) == len(keys)
    assert JOURNAL_TOPIC not in site.cluster.topics.topics


def test_what_weakens_a_journal_is_said_and_what_replan_makes_has_no_flaw(site: Site) -> None:
    site.take("ann").close()
    assert not any("warning" in note for note in site.notes)
    own = site.cluster.topics.topics[JOURNAL_TOPIC]
    own.settings |= {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    own.replicas, own.partitions = [1], 2
    site.take("ann").close()
    said = "\n".join(site.notes)
    assert "2 partitions" in said
    assert "1 replica" in said
    assert "unclean.leader.election.enable is on" in said
    own.replicas = [1, 2, 3]
    site.take("ann").close()
    assert "min.insync.replicas is 1" in site.notes[-2] + site.notes[-3]


JOURNALS = st.sampled_from([JOURNAL_TOPIC, OTHER])
PROCESSES = st.integers(0, 1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), PROCESSES, JOURNALS),
        st.tuples(st.just("take"), PROCESSES, st.sampled_from([PAYMENTS, EXPIRING])),
        st.tuples(st.just("knock"), PROCESSES, JOURNALS),
        st.tuples(st.sampled_from(["open", "write"]), PROCESSES, st.sampled_from("12")),
        st.tuples(st.sampled_from(["end", "leave", "kill"]), PROCESSES, st.just("")),
        st.tuples(st.sampled_from(["make again", "delete"]), st.just(0), JOURNALS),
    ),
    max_size=12,
)


class History:
    """Two processes, of which each may have a journal, and what must hold of them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.journals: dict[int, tuple[str, OwnedJournal, Hand]] = {}
        self.last: int | None = None
        self.count = 0

    def step(self, verb: str, who: int, what: str) -> None:
        match verb:
            case "take":
                self.take(who, what)
            case "knock":
                self.knock(what)
            case "make again" | "delete":
                self.site.cluster.topics.delete(what)
                if verb == "make again":
                    self.site.cluster.topics.make(what)
                if self.last in self.journals:
                    self.write(self.last, "write", "9")
            case "kill":
                self.journals.pop(who, None)
            case "leave":
                if who in self.journals:
                    self.journals.pop(who)[1].close()
            case _:
                if who in self.journals:
                    self.write(who, verb, what)

    def take(self, who: int, name: str) -> None:
        """Whoever has the lock shows no sign of life."""
        if name in {PAYMENTS, EXPIRING}:
            with pytest.raises((BadFile, Held)):
                self.site.take(str(who), name)
            return
        with suppress(Held):
            clock = Hand()
            self.journals[who] = name, self.site.take(str(who), name, clock), clock
            self.last = who

    def knock(self, name: str) -> None:
        """Whoever has the lock is at work: it keeps it, whatever journal another process names."""
        if self.last not in self.journals:
            return
        _, journal, clock = self.journals[self.last]

        def at_work() -> None:
            clock.time += 2
            journal.append([])

        with pytest.raises(Held):
            self.site.take("another", name, Hand(meanwhile=at_work))
        self.write(self.last, "write", "8")

    def write(self, who: int, verb: str, what: str) -> None:
        name, journal, _ = self.journals[who]
        opened = open_applications(journal.read())
        self.count += 1
        match verb:
            case "open":
                records: list[Record] = [] if opened else [application(f"a-{self.count}")]
            case "end":
                records = [replace(a, status=ApplicationStatus.CLOSED) for a in opened]
            case _:
                records = [rate(int(what), f"{self.count}")]
        if not records:
            return
        if who != self.last:
            with pytest.raises(Held):
                journal.append(records)
            return
        journal.append(records)
        assert by_key(self.site.held(name)) == by_key(journal.read())


@settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=count(fast=3, full=30, nightly=300),
)
@given(STEPS)
def test_one_writes_all_of_it_is_kept_one_application_is_open_and_nothing_else_is_touched(
    steps: Sequence[tuple[str, int, str]],
) -> None:
    with FakeCluster(Shape()) as cluster:
        site = Site(cluster)
        cluster.topics.make(PAYMENTS, partitions=3, policy="delete")
        cluster.topics.make(EXPIRING, policy="delete")
        site.written(PAYMENTS, b"order-1")
        history = History(site)
        for verb, who, what in steps:
            history.step(verb, who, what)
            found = [
                a for name in (JOURNAL_TOPIC, OTHER) for a in open_applications(site.held(name))
            ]
            assert len(found) <= 1, found
            assert (site.ends(PAYMENTS), site.ends(EXPIRING)) == (1, 0)
        site.close()
