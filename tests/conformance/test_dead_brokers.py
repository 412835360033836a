"""What becomes of brokers that die, and of disks that fail among several: the simulator as real brokers have it.

Three brokers with three log directories each. On real brokers each of 1 and 2 is a process of its own that is killed;
the sessions and replica.lag.time.max.ms are the same on both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import pytest
from tests.conformance.lab import (
    RECORD_BYTES,
    Lab,
    answering,
    in_sync,
    leader_is,
    log,
    logs_of,
    partition_of,
    reassign,
    until,
    until_fenced,
)
from tests.conformance.simulator_lab import SimulatorLab

from replan.model.api import (
    MIN_INSYNC_REPLICAS,
    Accepted,
    BrokerId,
    LogPlace,
    OutcomeUnknown,
    Rejected,
    TopicPartition,
    Wanted,
)

if TYPE_CHECKING:
    from tests.kafka.harness.cluster import Cluster

RACKS: Mapping[int, str] = {1: "a", 2: "b", 3: "c"}
DIRECTORIES = ("data-0", "data-1", "data-2")
ALONE = {MIN_INSYNC_REPLICAS: "1"}
VERSIONS = ("3.9.2", "4.3.1")
TWO, THREE = BrokerId(2), BrokerId(3)


class MortalLab(Lab, Protocol):
    """A lab whose brokers can die: 1 and 2 of its three."""

    session_seconds: float

    def write_to_leaders(self, topic: str, bytes_per_partition: int) -> None:
        """Write to each partition, and wait for no follower (acks=1)."""
        ...

    def kill_broker(self, broker: int) -> None:
        """Kill its process."""
        ...

    def die_while_starting(self, broker: int) -> None:
        """Start a broker, and kill its process when it has read its logs and does not serve yet."""
        ...

    def lose_disk(self, broker: int, number: int) -> str:
        """Let a log directory fail, and say which it was."""
        ...


Start = Callable[[float, float], MortalLab]


@pytest.fixture(
    params=[
        *(("simulator", version) for version in VERSIONS),
        *(
            pytest.param(("kafka", version), marks=[pytest.mark.kafka, pytest.mark.nightly])
            for version in VERSIONS
        ),
    ],
    ids="-".join,
)
def start(request: pytest.FixtureRequest) -> Iterator[Start]:
    """Starts a cluster with these seconds of sessions, and of replica.lag.time.max.ms."""
    kind, version = request.param
    if kind == "simulator":
        yield lambda session, lag: SimulatorLab(
            version,
            racks=RACKS,
            directories=DIRECTORIES,
            session_seconds=session,
            lag_seconds=lag,
        )
        return
    from tests.conformance.mortal_lab import MortalKafkaLab, layout_of

    started: Callable[..., Cluster] = request.getfixturevalue("kafka_cluster")
    labs: list[MortalKafkaLab] = []

    def of(session: float, lag: float) -> MortalLab:
        layout = layout_of(version, RACKS, len(DIRECTORIES), session, lag)
        labs.append(MortalKafkaLab(started(layout, in_one_jvm=(3, 101)), session))
        return labs[-1]

    yield of
    for lab in labs:
        lab.close()


@pytest.fixture
def lab(start: Start) -> MortalLab:
    """As Kafka is by default."""
    return start(9.0, 30.0)


def ends(lab: Lab, topic: str, *brokers: int) -> list[int]:
    """Where the logs of partition 0 end."""
    found = logs_of(lab, topic, *brokers)
    return [log(found, b).end for b in brokers]


def offline(lab: Lab, broker: int) -> list[str]:
    """The log directories of a broker that have failed."""
    dirs = lab.control_plane.log_dirs()
    return [d.path for d in dirs if d.broker == broker and d.error is not None]


def dirs_of(lab: Lab, broker: int) -> Sequence[str]:
    """The log directories of a broker."""
    return sorted(d.path for d in lab.control_plane.log_dirs() if d.broker == broker)


def test_a_dead_follower_keeps_what_it_had_when_it_died(lab: MortalLab) -> None:
    """It is in the ISR until its session ends, and gets nothing of what its leader takes meanwhile."""
    topic = lab.create_topic([[1, 2]], ALONE)
    lab.write(topic, 10 * RECORD_BYTES)
    lab.kill_broker(2)
    lab.write_to_leaders(topic, 10 * RECORD_BYTES)
    assert set(partition_of(lab, topic).isr) == {1, 2}, "written while nobody knew that it is dead"
    in_sync(lab, topic, 1)
    lab.kill_broker(1)
    leader_is(lab, topic, None)

    lab.start_broker(2)
    answering(lab, topic, 2)
    assert ends(lab, topic, 2) == [10]

    lab.start_broker(1)
    in_sync(lab, topic, 1, 2)
    until(lab, lambda: ends(lab, topic, 1, 2) == [20, 20], "both logs to be whole")


def test_a_dead_follower_fetches_what_was_written_since_it_died(lab: MortalLab) -> None:
    topic = lab.create_topic([[1, 2, 3]], ALONE)
    lab.kill_broker(2)
    lab.write_to_leaders(topic, 10 * RECORD_BYTES)
    in_sync(lab, topic, 1, 3)
    assert ends(lab, topic, 1, 3) == [10, 10]

    lab.start_broker(2)
    in_sync(lab, topic, 1, 2, 3)
    until(lab, lambda: ends(lab, topic, 2) == [10], "its log to be whole")


def test_a_follower_that_does_not_catch_up_leaves_the_isr_before_it_is_fenced(start: Start) -> None:
    """After replica.lag.time.max.ms (Partition.maybeShrinkIsr); one that lacks nothing stays."""
    lab = start(45.0, 3.0)
    written, quiet = (lab.create_topic([[1, 2]], ALONE) for _ in range(2))
    for topic in (written, quiet):  # a leader counts a follower that has never fetched as late
        lab.write(topic, RECORD_BYTES)
    lab.kill_broker(2)
    lab.write_to_leaders(written, 10 * RECORD_BYTES)

    in_sync(lab, written, 1)

    assert set(partition_of(lab, quiet).isr) == {1, 2}
    assert not lab.control_plane.look(Wanted(registered=[TWO])).brokers[TWO].fenced


def test_a_broker_that_stopped_cleanly_is_let_in_when_its_session_has_ended(lab: MortalLab) -> None:
    """From 4.0 on (ClusterControlManager.registerBroker, 101 until then); before, at once."""
    lab.create_topic([[1, 2, 3]])
    lab.stop_broker(2)
    until_fenced(lab, 2)
    stopped = lab.clock.now()
    lab.start_broker(2)
    until(lab, lambda: not fenced(lab, 2), "2 to serve")

    waited = lab.clock.now() - stopped > 0.8 * lab.session_seconds
    assert waited == (lab.version >= (4, 0))


def with_both_stopped(lab: MortalLab) -> str:
    """A topic on 1 and 2, both stopped cleanly: with eligible leader replicas either may lead as soon as it is back."""
    topic = lab.create_topic([[1, 2]], {MIN_INSYNC_REPLICAS: "2"})
    lab.write(topic, RECORD_BYTES)
    for broker in (2, 1):
        lab.stop_broker(broker)
        until_fenced(lab, broker)
    return topic


def has_elr(lab: Lab) -> bool:
    """Whether the cluster has eligible leader replicas, as those that are formatted since 4.1."""
    return lab.version >= (4, 1)


def until_it_serves(lab: Lab, broker: int) -> None:
    """Start a broker, and wait until it may lead."""
    lab.start_broker(broker)
    until(lab, lambda: not fenced(lab, broker), f"{broker} to serve")
    lab.clock.sleep(2)


def test_a_broker_that_stopped_cleanly_leads_when_it_is_back(lab: MortalLab) -> None:
    topic = with_both_stopped(lab)
    until_it_serves(lab, 2)
    assert partition_of(lab, topic).leader == (2 if has_elr(lab) else None)


def test_with_a_directory_offline_a_broker_has_not_stopped_cleanly(lab: MortalLab) -> None:
    """LogManager.readBrokerEpochFromCleanShutdownFiles reads nothing where a directory is not live."""
    name = TopicPartition(lab.create_topic([[1, 2]]), 0)
    until(lab, lambda: place(lab, name, TWO).path is not None, "its log to be there")
    number = next(n for n, p in enumerate(dirs_of(lab, 2)) if n and p != place(lab, name, TWO).path)
    lost = lab.lose_disk(2, number)
    until(lab, lambda: offline(lab, 2) == [lost], f"{lost} to be offline")
    topic = with_both_stopped(lab)
    until_it_serves(lab, 2)
    assert partition_of(lab, topic).leader is None


def test_a_broker_that_dies_while_it_starts_has_not_stopped_cleanly(start: Start) -> None:
    """LogManager.loadLogs takes the marks of the clean shutdown away, while the session holds the id."""
    lab = start(45.0, 30.0)
    topic = with_both_stopped(lab)
    lab.die_while_starting(2)
    until_it_serves(lab, 2)
    assert partition_of(lab, topic).leader is None


def fenced(lab: Lab, broker: int) -> bool:
    """Whether clients take a broker for fenced."""
    told = lab.control_plane.look(Wanted(registered=[BrokerId(broker)])).brokers[BrokerId(broker)]
    return told.fenced


def test_with_one_directory_offline_a_broker_moves_nothing_between_the_others(
    lab: MortalLab,
) -> None:
    """LogManager.getOrCreateLog makes a future log only where no directory is offline."""
    name = TopicPartition(lab.create_topic([[1, 2, 3]]), 0)
    plane = lab.control_plane
    until(lab, lambda: place(lab, name, TWO).path is not None, "its log to be there")
    lies = place(lab, name, TWO).path
    assert lies is not None
    number = next(n for n, path in enumerate(dirs_of(lab, 2)) if n and path != lies)
    lost = lab.lose_disk(2, number)
    (healthy,) = {*dirs_of(lab, 2)} - {lies, lost}
    until(lab, lambda: offline(lab, 2) == [lost], f"{lost} to be offline")

    def answer(path: str) -> int:
        found = plane.move_logs({(name, TWO): path})[name, TWO]
        assert isinstance(found, Accepted | Rejected)
        return found.code if isinstance(found, Rejected) else 0

    assert [answer(p) for p in (healthy, lost, lies, "/no/such")] == [56, 56, 0, 57]
    assert place(lab, name, TWO).path == lies


def place(lab: Lab, name: TopicPartition, broker: BrokerId) -> LogPlace:
    """Where a replica lies."""
    return lab.control_plane.look(Wanted(places_of={broker: [name]})).places[broker][name]


def test_where_to_make_a_replica_is_remembered_before_it_is_there(lab: MortalLab) -> None:
    """It is answered 9 all the same (ReplicaManager.alterReplicaLogDirs, LogManager.maybeUpdatePreferredLogDir)."""
    topics = [lab.create_topic([[1, 2]]) for _ in range(3)]
    target = dirs_of(lab, 3)[1]
    names = [TopicPartition(topic, 0) for topic in topics]
    answers = lab.control_plane.move_logs({(name, THREE): target for name in names})
    assert [a.code for a in answers.values() if isinstance(a, Rejected)] == [9, 9, 9]

    for topic in topics:
        reassign(lab, topic, 1, 2, 3)
        in_sync(lab, topic, 1, 2, 3)

    assert {place(lab, name, THREE).path for name in names} == {target}


def test_nobody_knows_what_becomes_of_a_move_that_a_dead_broker_is_asked_for(
    lab: MortalLab,
) -> None:
    name = TopicPartition(lab.create_topic([[1, 2, 3]]), 0)
    target = dirs_of(lab, 2)[1]
    lab.kill_broker(2)
    unknown = lab.control_plane.move_logs({(name, TWO): target})[name, TWO]
    assert isinstance(unknown, OutcomeUnknown)
    until_fenced(lab, 2)
    unknown = lab.control_plane.move_logs({(name, TWO): target})[name, TWO]
    assert isinstance(unknown, OutcomeUnknown)
