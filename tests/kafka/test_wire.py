"""What answers badly, late or not at all: sockets that are no broker, and a cluster that exists on the wire only."""

import random
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.commandline import replan
from tests.kafka.harness.clients import seconds
from tests.kafka.harness.fake_cluster import FakeCluster, Shape
from tests.kafka.harness.layout import free_ports

from replan.errors import ClusterRefused, ClusterUnreachable
from replan.kafka.api import (
    BOOTSTRAP_SECONDS,
    KafkaControlPlane,
    SystemClock,
    connecting_seconds,
    converse,
    first_reached,
    open_cluster,
)
from replan.model.api import (
    LEADER_RATE,
    Accepted,
    BrokerId,
    ConfigOperation,
    ConfigScope,
    OutcomeUnknown,
    TopicPartition,
    Wanted,
    broker_change,
    replicas,
)

SIX, T0 = BrokerId(6), TopicPartition("t00000", 0)
DESCRIBE_CONFIGS, DESCRIBE_LOG_DIRS, LIST_REASSIGNMENTS, ALTER_CONFIGS = 32, 35, 46, 44
CREATE_TOPICS, ALTER_REASSIGNMENTS = 19, 45


@contextmanager
def answering(content: bytes) -> Iterator[str]:
    """An address where somebody answers every connection with this, and no more."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        over, held = threading.Event(), list[socket.socket]()

        def serve() -> None:
            while not over.is_set():
                try:
                    taken = server.accept()[0]
                except TimeoutError:
                    continue
                held.append(taken)
                taken.sendall(content)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            over.set()
            thread.join()
            for taken in held:
                taken.close()


@contextmanager
def fake(
    shape: Shape, timeout_seconds: float = 60
) -> Iterator[tuple[FakeCluster, KafkaControlPlane]]:
    """A fake cluster, and a connection to it."""
    with (
        FakeCluster(shape) as cluster,
        open_cluster(cluster.bootstrap, None, timeout_seconds=timeout_seconds) as connected,
    ):
        yield cluster, connected


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an HTTP server answers there, no Kafka broker"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "an SSH server answers there, no Kafka broker"),
        (b"\x15\x03\x03\x00\x02\x02\x16", "it speaks TLS, and was asked without"),
        (b"\x7f\xff\xff\xff", "what answers there is no Kafka broker"),
        (b"", "no answer in time"),
    ],
)
def test_what_is_no_kafka_broker_is_named(content: bytes, named: str) -> None:
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()

    with answering(content) as address, pytest.raises(ClusterUnreachable) as raised:
        open_cluster(address, None, timeout_seconds=1)

    assert time.monotonic() - began < 3
    assert f"{address}: {named}" in str(raised.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@pytest.mark.parametrize(
    ("timeout", "spent", "left"),
    [(3, 0, 3), (3, 1, 2), (3, 2.5, 1), (3, 60, 1), (60, 0, BOOTSTRAP_SECONDS)],
)
def test_the_start_of_a_command_is_part_of_the_time_that_connecting_may_take(
    timeout: float, spent: float, left: float
) -> None:
    assert connecting_seconds(timeout, spent) == left


def test_a_command_says_that_nobody_answered_in_time(tmp_path: Path) -> None:
    with answering(b"") as address:
        done = replan("status", "--bootstrap-server", address, "--timeout", "1s", folder=tmp_path)

    assert done.returncode == 1
    assert f"{address}: no answer in time" in done.stderr


def test_when_nobody_answers_each_address_is_named_with_what_it_did() -> None:
    first, second = sorted(free_ports(2))

    with pytest.raises(ClusterUnreachable) as raised:
        open_cluster(f"127.0.0.1:{first},127.0.0.1:{second}", None, timeout_seconds=1)

    assert str(raised.value) == (
        "no broker answers; tried for 1 s:\n"
        f"  127.0.0.1:{first}: 111 ECONNREFUSED\n"
        f"  127.0.0.1:{second}: 111 ECONNREFUSED\n"
        "  check the addresses, that this machine may connect to them,"
        " and that security.protocol is the one of that listener"
    )


def test_a_name_that_does_not_resolve_is_reported_as_such() -> None:
    with pytest.raises(ClusterUnreachable, match=r"kafka\.invalid:9092: the name does not resolve"):
        open_cluster("kafka.invalid:9092", None, timeout_seconds=1)


def test_bad_addresses_beside_a_good_one_do_no_harm_and_cost_little() -> None:
    (dead,) = free_ports(1)
    with FakeCluster(Shape()) as cluster, answering(b"HTTP/1.1 400 Bad\r\n") as bad:
        cluster.trouble.frozen.add(1)
        ports = (dead, cluster.ports[1], cluster.ports[2])
        addresses = ",".join([bad, *(f"127.0.0.1:{port}" for port in ports)])

        def ask() -> None:
            with open_cluster(addresses, None) as connected:
                assert connected.cluster_id() == "fake-cluster"

        assert max(seconds(ask) for _ in range(4)) < 3


def test_several_threads_may_ask_at_once() -> None:
    wanted = Wanted(partitions=[T0], sizes_of={BrokerId(1): [T0]})
    with fake(Shape()) as (_, connected), ThreadPoolExecutor(8) as threads:
        looks = [threads.submit(connected.look, wanted) for _ in range(80)]

        assert all(T0 in look.result().partitions for look in looks)
        assert all(BrokerId(1) in look.result().sizes for look in looks)


def test_an_address_of_a_name_that_cannot_be_reached_hides_none_behind_it() -> None:
    with (
        socket.create_server(("127.0.0.1", 0), backlog=0) as full,
        socket.create_connection(full.getsockname()),
        socket.create_server(("127.0.0.1", 0)) as works,
    ):
        unknown_here = 999, socket.SOCK_STREAM, 0, "", ("broker", 9092)
        others = [
            (socket.AF_INET, socket.SOCK_STREAM, 0, "", one.getsockname()) for one in (full, works)
        ]
        until = time.monotonic() + 3

        (reached,) = converse(
            {1: first_reached([unknown_here, *others], until)}, until=until
        ).values()

        assert isinstance(reached, socket.socket)
        with reached:
            assert reached.getpeername() == works.getsockname()


@pytest.mark.parametrize(
    ("host", "why"), [("kafka.invalid", "the name does not resolve"), ("127.0.0.1", "111 ECONNREF")]
)
def test_a_broker_that_cannot_be_reached_where_it_says_is_named(host: str, why: str) -> None:
    (port,) = free_ports(1)
    with FakeCluster(Shape(brokers=1)) as cluster:
        cluster.trouble.advertised[1] = (host, port)
        began = time.monotonic()
        with pytest.raises(ClusterUnreachable) as raised:
            open_cluster(cluster.bootstrap, None)

    assert time.monotonic() - began < 15
    assert f"advertised.listeners: broker 1 at {host}:{port}: {why}" in str(raised.value)


def test_a_living_broker_is_found_behind_many_that_have_just_died() -> None:
    """They are not fenced yet, and nothing refuses: as many as there are, one that lives is tried in time."""
    with answering(b"") as dead, FakeCluster(Shape(brokers=12)) as cluster:
        host, _, port = dead.rpartition(":")
        for broker in range(1, 12):
            cluster.trouble.advertised[broker] = (host, int(port))
        for seed in range(3):  # whom it tries first
            random.seed(seed)
            with open_cluster(cluster.bootstrap, None) as connected:
                assert connected.cluster_id() == "fake-cluster"


def test_where_every_broker_refuses_at_once_nobody_waits() -> None:
    (port,) = free_ports(1)
    with FakeCluster(Shape(brokers=200)) as cluster:
        cluster.trouble.advertised |= dict.fromkeys(range(1, 201), ("127.0.0.1", port))
        began = time.monotonic()
        with pytest.raises(ClusterUnreachable, match="advertised"):
            open_cluster(cluster.bootstrap, None)

    assert time.monotonic() - began < 2


def test_a_broker_that_does_not_answer_costs_one_wait_and_is_named() -> None:
    wanted = Wanted(
        rates_of=[BrokerId(5), SIX], cordons_of=[SIX], sizes_of={SIX: [T0], BrokerId(1): [T0]}
    )
    with fake(Shape(brokers=6, partitions=6)) as (cluster, connected):
        cluster.trouble.silent |= {(6, DESCRIBE_CONFIGS), (6, DESCRIBE_LOG_DIRS)}

        assert seconds(lambda: connected.look(wanted)) < 5
        assert seconds(lambda: connected.look(wanted)) < 1
        seen = connected.look(wanted)

        assert (list(seen.rates), list(seen.sizes), list(seen.silent)) == ([5], [1], [6])
        assert "it is asked again in" in seen.silent[SIX]


def test_a_change_of_a_broker_that_does_not_answer_holds_up_nobody() -> None:
    changes = [
        broker_change(BrokerId(b), LEADER_RATE, ConfigOperation.SET, "1") for b in range(1, 7)
    ]
    with fake(Shape(brokers=6)) as (cluster, connected):
        cluster.trouble.silent |= {(b, ALTER_CONFIGS) for b in (4, 5, 6)}

        began = time.monotonic()
        first = connected.alter_configs(changes)
        took = time.monotonic() - began
        again = seconds(lambda: connected.alter_configs(changes))

    assert took < 5
    assert again < 1
    answers = [first[ConfigScope.BROKER, str(b)] for b in range(1, 7)]
    assert answers[:3] == [Accepted()] * 3
    assert all(isinstance(a, OutcomeUnknown) for a in answers[3:])


def test_a_write_whose_answer_is_lost_is_not_sent_again() -> None:
    """Records that are produced twice stand there twice."""
    change = broker_change(BrokerId(2), LEADER_RATE, ConfigOperation.SET, "1")
    with fake(Shape(brokers=3)) as (cluster, connected):
        cluster.trouble.hanging_up |= {(2, ALTER_CONFIGS)}

        (answer,) = connected.alter_configs([change]).values()

    assert isinstance(answer, OutcomeUnknown)
    assert cluster.counts.keys[ALTER_CONFIGS] == 1


def test_a_home_broker_that_answers_only_a_part_is_left_for_another() -> None:
    with fake(Shape(brokers=2), timeout_seconds=1) as (cluster, connected):
        cluster.trouble.silent.add((1, DESCRIBE_CONFIGS))
        with pytest.raises(ClusterUnreachable, match="DescribeConfigs of topics"):
            connected.look(Wanted(topics=["t00000"]))

        assert list(connected.look(Wanted(topics=["t00000"])).topics) == ["t00000"]


def test_a_frozen_home_broker_costs_one_short_wait_and_is_left() -> None:
    wanted = Wanted(partitions=[T0], rates_of=[BrokerId(1), BrokerId(2)])
    with fake(Shape(brokers=4)) as (cluster, connected):
        connected.look(wanted)
        cluster.trouble.frozen.add(1)

        assert seconds(lambda: connected.look(wanted)) < 8
        assert seconds(lambda: connected.look(wanted)) < 1
        seen = connected.look(wanted)

    assert list(seen.partitions) == [T0]
    assert (list(seen.rates), list(seen.silent)) == ([2], [1])


def test_a_change_is_never_given_to_a_frozen_home_broker() -> None:
    with fake(Shape(brokers=4)) as (cluster, connected):
        connected.look(Wanted())
        cluster.trouble.frozen.add(1)

        answers = connected.reassign({T0: replicas(3, 2, 1)}, allow_replication_factor_change=True)

        assert answers == {T0: Accepted()}


def test_a_guarded_list_waits_where_an_older_broker_has_become_home_meanwhile() -> None:
    """In the middle of an upgrade: it is not said of the whole cluster that it does not know the request."""
    with fake(Shape(brokers=2)) as (cluster, connected):
        cluster.trouble.older.add(2)
        assert connected.look(Wanted()).features.replication_factor_guard
        cluster.trouble.frozen.add(1)

        lists = {T0: replicas(2, 1)}
        (first,) = connected.reassign(lists, allow_replication_factor_change=False).values()

        assert isinstance(first, OutcomeUnknown)
        assert ALTER_REASSIGNMENTS not in cluster.counts.keys
        assert not connected.look(Wanted()).features.replication_factor_guard
        assert connected.reassign(lists, allow_replication_factor_change=False) == {T0: Accepted()}


def test_a_home_broker_that_waits_for_the_controller_is_kept() -> None:
    with fake(Shape(brokers=4), timeout_seconds=1) as (cluster, connected):
        connected.look(Wanted())
        cluster.trouble.frozen_controller = True
        with pytest.raises(
            ClusterUnreachable, match=r"ListPartitionReassignments.*waits for the active controller"
        ) as raised:
            connected.look(Wanted())
        assert raised.value.waits_for == "the active controller"
        cluster.counts.by_broker.clear()
        cluster.trouble.frozen_controller = False

        connected.look(Wanted())

    assert cluster.counts.by_broker.keys() == {1}


def test_another_home_broker_shows_nothing_older_than_the_one_before() -> None:
    with fake(Shape(brokers=3)) as (cluster, connected):
        cluster.trouble.metadata_offsets |= {1: 200, 2: 150, 3: 199}
        connected.look(Wanted(partitions=[T0]))
        cluster.counts.by_broker.clear()
        cluster.trouble.frozen.add(1)
        catching_up = threading.Timer(4, lambda: cluster.trouble.metadata_offsets.update({3: 200}))
        catching_up.start()

        seen = connected.look(Wanted(partitions=[T0]))

        catching_up.join()
        assert list(seen.partitions) == [T0]
        assert LIST_REASSIGNMENTS in cluster.counts.by_broker[3]
        assert LIST_REASSIGNMENTS not in cluster.counts.by_broker[2]


def test_a_broker_that_comes_back_is_asked_at_once() -> None:
    wanted = Wanted(rates_of=[BrokerId(2)])
    with fake(Shape(brokers=3), timeout_seconds=5) as (cluster, connected):
        cluster.trouble.frozen.add(2)
        assert list(connected.look(wanted).silent) == [2]
        cluster.trouble.fenced.add(2)
        connected.look(wanted)
        cluster.trouble.fenced.clear()
        cluster.trouble.frozen.clear()
        connected.look(wanted)

        assert list(connected.look(wanted).rates) == [2]


@pytest.mark.parametrize("code", [-1, 5, 6, 7, 8, 9, 13, 14, 15, 16, 41, 56, 72, 89, 100, 103])
def test_a_code_that_passes_in_an_answer_on_configurations_is_asked_again(code: int) -> None:
    with fake(Shape(brokers=3)) as (cluster, connected):
        cluster.trouble.config_errors |= {"t00001": [code], "2": [code]}

        seen = connected.look(Wanted(topics=["t00000", "t00001"], rates_of=[BrokerId(2)]))

        assert sorted(seen.topics) == ["t00000", "t00001"]
        assert list(connected.look(Wanted(rates_of=[BrokerId(2)])).rates) == [2]


def test_a_broker_whose_configuration_fails_for_now_is_named_and_ends_nothing() -> None:
    with fake(Shape(brokers=3)) as (cluster, connected):
        cluster.trouble.config_errors["2"] = [-1]

        seen = connected.look(Wanted(rates_of=[BrokerId(1), BrokerId(2)]))

    assert (list(seen.rates), list(seen.silent)) == ([1], [2])


def test_the_adapter_works_beside_the_whole_of_kafka_python() -> None:
    """Other code of the process may import what the adapter leaves out, before or after."""
    program = """
import warnings
warnings.simplefilter("ignore")
from tests.kafka.harness.fake_cluster import FakeCluster, Shape
from replan.kafka.control_plane import open_cluster
for ask in (lambda: None, lambda: __import__("kafka").KafkaConsumer, lambda: admin.DescribeQuorumRequest):
    ask()
    from kafka.protocol import admin
    with FakeCluster(Shape()) as cluster, open_cluster(cluster.bootstrap, None) as connected:
        print(len(connected.observe().brokers))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["3"] * 3


def test_an_interrupt_cuts_a_silent_reading_short() -> None:
    clock = SystemClock()
    with (
        FakeCluster(Shape(brokers=1)) as cluster,
        open_cluster(cluster.bootstrap, None, clock=clock) as connected,
    ):
        cluster.trouble.silent.add((1, LIST_REASSIGNMENTS))
        timer = threading.Timer(0.2, clock.interrupt)
        timer.start()
        began = time.monotonic()
        with pytest.raises(ClusterUnreachable):
            connected.look(Wanted())
        took = time.monotonic() - began
        timer.join()

        cluster.trouble.silent.clear()
        assert connected.look(Wanted()).brokers.keys() == {1}

    assert took < 4


@pytest.mark.parametrize("frozen", [False, True])
def test_a_broker_that_was_not_waited_for_is_asked_again_at_once(frozen: bool) -> None:
    """What is to be taken back before the process leaves is on such brokers, too."""
    clock, wanted = SystemClock(), Wanted(rates_of=[BrokerId(2)])
    with (
        FakeCluster(Shape(brokers=3)) as cluster,
        open_cluster(cluster.bootstrap, None, clock=clock) as connected,
    ):
        cluster.trouble.silent.add((2, DESCRIBE_CONFIGS))
        if frozen:
            cluster.trouble.frozen.add(2)
        timer = threading.Timer(0.2, clock.interrupt)
        timer.start()
        assert list(connected.look(wanted).silent) == [2]
        timer.join()
        cluster.trouble.silent.clear()
        cluster.trouble.frozen.clear()

        assert list(connected.look(wanted).rates) == [2]


@pytest.mark.parametrize("code", [-1, 17, 5])
def test_a_topic_that_cannot_be_described_fails_the_reading(code: int) -> None:
    with fake(Shape(), timeout_seconds=1) as (cluster, connected):
        cluster.trouble.topic_errors["t00001"] = code

        with pytest.raises((ClusterUnreachable, ClusterRefused), match="t00001"):
            connected.observe()
        with pytest.raises((ClusterUnreachable, ClusterRefused), match="t00001"):
            connected.look(Wanted(partitions=[TopicPartition("t00001", 0)]))


def test_only_the_wanted_rows_of_a_large_topic_are_read() -> None:
    shape = Shape(brokers=3, partitions=20_000, per_topic=20_000)
    names = [TopicPartition("t00000", n) for n in (3, 4, 9_000, 19_999)]
    with fake(shape) as (cluster, connected):
        first = connected.look(Wanted(partitions=names)).partitions
        cluster.counts.sent = 0
        second = connected.look(Wanted(partitions=names)).partitions

        assert sorted(second) == names
        assert {n: s.replicas for n, s in first.items()} == {
            n: s.replicas for n, s in second.items()
        }
        assert cluster.counts.sent < 5_000


def test_before_4_1_a_broker_that_was_there_is_fenced_and_not_gone() -> None:
    with fake(Shape(brokers=4, partitions=4, version=(3, 9))) as (cluster, connected):
        before = connected.look(Wanted()).brokers
        cluster.trouble.fenced.add(4)
        seen = connected.look(Wanted()).brokers

        assert not before[BrokerId(4)].fenced
        assert seen[BrokerId(4)].fenced
        assert seen[BrokerId(4)].rack == before[BrokerId(4)].rack


def test_before_4_1_a_broker_that_the_caller_knows_is_fenced_and_not_gone() -> None:
    with FakeCluster(Shape(brokers=4, partitions=1, version=(3, 9))) as cluster:
        cluster.trouble.fenced.add(4)
        with open_cluster(cluster.bootstrap, None) as connected:
            assert connected.look(Wanted()).brokers.keys() == {1, 2, 3}

            known = connected.look(Wanted(registered=[BrokerId(1), BrokerId(4)])).brokers

    assert [b for b, broker in known.items() if broker.fenced] == [4]


def test_before_4_1_the_controller_says_who_is_not_registered_any_more() -> None:
    with fake(Shape(brokers=4, partitions=4, version=(3, 9))) as (cluster, connected):
        cluster.trouble.fenced.update({3, 4})
        cluster.topics.unregistered.add(4)
        wanted = Wanted(partitions=[T0], registered=[BrokerId(4)])

        assert list(connected.look(wanted).brokers) == [1, 2, 3]
        assert [b.id for b in connected.observe().brokers] == [1, 2, 3]
        assert not cluster.topics.topics


def test_before_4_1_nobody_is_gone_where_the_controller_refuses_the_live_broker_beside_it() -> None:
    with fake(Shape(brokers=4, partitions=4, version=(3, 9))) as (cluster, connected):
        cluster.trouble.fenced.update({3, 4})
        cluster.topics.unregistered.update({1, 4})

        assert list(connected.look(Wanted(registered=[BrokerId(4)])).brokers) == [1, 2, 4]


def test_before_4_1_the_controller_is_asked_once_for_each_broker_that_becomes_missing() -> None:
    with fake(Shape(brokers=4, partitions=4, version=(3, 9))) as (cluster, connected):
        wanted = Wanted(registered=[BrokerId(3), BrokerId(4)])
        cluster.topics.unregistered.update({3, 4})
        asked = []
        for fenced in ({4}, {4}, {3, 4}, {3, 4}, {4}, {3, 4}):
            cluster.trouble.fenced.clear()
            cluster.trouble.fenced.update(fenced)
            assert connected.look(wanted).brokers.keys() == {1, 2, 3, 4} - fenced
            asked.append(cluster.counts.keys.get(CREATE_TOPICS, 0))

    assert asked == [1, 1, 2, 2, 2, 3]


def test_before_4_1_a_user_that_may_not_create_topics_is_not_asked_twice() -> None:
    with fake(Shape(brokers=4, partitions=4, version=(3, 9))) as (cluster, connected):
        cluster.trouble.fenced.add(4)
        cluster.topics.unregistered.add(4)
        cluster.topics.creatable = False
        wanted = Wanted(registered=[BrokerId(4)])
        looks = [connected.look(wanted) for _ in range(2)]

        assert [look.brokers[BrokerId(4)].fenced for look in looks] == [True, True]
        assert cluster.counts.keys[CREATE_TOPICS] == 1


def test_a_thousand_brokers_are_observed_with_five_hundred_files() -> None:
    serve = [sys.executable, "-m", "tests.kafka.harness.fake_cluster", "--brokers=1000"]
    observe = (
        "import sys; from replan.kafka.control_plane import open_cluster;"
        "seen = open_cluster(sys.argv[1], None).observe(); print(len(seen.brokers), seen.silent)"
    )
    with subprocess.Popen(
        serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as served:
        assert served.stdin is not None
        assert served.stdout is not None
        address = served.stdout.readline().strip()
        told = subprocess.run(
            ["bash", "-c", 'ulimit -n 512; exec "$@"', "-", sys.executable, "-c", observe, address],
            capture_output=True,
            text=True,
            check=True,
        )
        served.stdin.close()

    assert told.stdout == "1000 ()\n"
