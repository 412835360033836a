"""What happens with time: copies at their speeds, dying and returning brokers, timers, disks."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.builders import brokers, snapshot, state
from tests.readings import sizes_of

from replan.model.broker import LogDir
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ConfigChange,
    ConfigOperation,
    broker_change,
    topic_change,
)
from replan.model.control_plane import Accepted, Wanted
from replan.model.names import BrokerId, TopicPartition, replicas
from replan.model.partition import PartitionState
from replan.model.snapshot import Snapshot
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.faults import (
    Ask,
    At,
    DropFromIsr,
    Fault,
    KillBroker,
    Produce,
    StartBroker,
    StopBroker,
)
from replan.simulator.cluster.physical_state import Speeds
from replan.simulator.control_plane import SimulatedControlPlane
from replan.simulator.controller.commands import DeleteTopic, UnregisterBroker
from replan.simulator.persistence.from_snapshot import from_snapshot

MB = 1_000_000
FILLED_BATCH = 900_160
"""Nine records of 100,000 bytes: what the harness fills partitions with, and one fetch of 1 MiB has one of."""
NAMES = [TopicPartition("orders", index) for index in range(10)]
P0 = NAMES[0]


class Cluster:
    """A simulated cluster in time; its network takes 100 MB/s, a copy starts after 0.2 s."""

    def __init__(
        self, found: Snapshot, *faults: At, batch_bytes: int = Speeds().batch_bytes
    ) -> None:
        self.clock = VirtualClock()
        start = from_snapshot(found)
        speeds = replace(start.world.speeds, batch_bytes=batch_bytes)
        start = replace(start, world=replace(start.world, speeds=speeds))
        self.plane = SimulatedControlPlane(start, self.clock, schedule=faults)

    def seen(self, index: int = 0) -> PartitionState:
        return self.plane.look(Wanted(partitions=[NAMES[index]])).partitions[NAMES[index]]

    def at(self, seconds: float) -> PartitionState:
        self.clock.sleep(seconds - self.clock.now())
        return self.seen()

    def reassign(self, *ids: int, index: int = 0) -> None:
        answers = self.plane.reassign(
            {NAMES[index]: replicas(*ids)}, allow_replication_factor_change=True
        )
        assert list(answers.values()) == [Accepted()]

    def configure(self, *changes: ConfigChange) -> None:
        assert set(self.plane.alter_configs(changes).values()) == {Accepted()}

    def until_idle(self) -> float:
        """The second in which nothing runs any more."""
        limit = self.clock.now() + 10_000
        while self.plane.look(Wanted()).running:
            self.clock.sleep(0.05)
            assert self.clock.now() < limit
        return self.clock.now()


def orders(*sizes: int, **changes: tuple[int, ...]) -> Snapshot:
    """Partitions of orders on 1, 2, 3 with these sizes in MB."""
    return snapshot(
        [state([1, 2, 3], partition=i, size=size * MB) for i, size in enumerate(sizes)],
        registered=brokers(6, fenced=changes.get("fenced", ())),
    )


def set_rate(key: str, broker: int, rate: int) -> ConfigChange:
    return broker_change(BrokerId(broker), key, ConfigOperation.SET, str(rate))


def throttle(key: str, entries: str) -> ConfigChange:
    return topic_change("orders", key, ConfigOperation.SET, entries)


LEADER_LIST, FOLLOWER_LIST = throttle(LEADER_REPLICAS, "0:1"), throttle(FOLLOWER_REPLICAS, "0:4")


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ([], 1.2),
        ([set_rate(LEADER_RATE, 1, 10 * MB)], 1.2),
        ([LEADER_LIST], 1.2),
        ([LEADER_LIST, set_rate(LEADER_RATE, 1, 10 * MB)], 4.7),  # half a window, 55 MB, ahead
        ([LEADER_LIST, set_rate(FOLLOWER_RATE, 4, 10 * MB)], 1.2),
        ([FOLLOWER_LIST, set_rate(FOLLOWER_RATE, 4, 20 * MB)], 5.45),
        ([throttle(FOLLOWER_REPLICAS, "*"), set_rate(FOLLOWER_RATE, 4, 20 * MB)], 5.45),
        (
            [
                throttle(FOLLOWER_REPLICAS, "*"),
                set_rate(FOLLOWER_RATE, 4, 20 * MB),
                set_rate(LEADER_RATE, 1, 5 * MB),
            ],
            5.45,
        ),
    ],
)
def test_a_copy_runs_at_the_slowest_of_network_and_throttles(
    changes: list[ConfigChange], seconds: float
) -> None:
    cluster = Cluster(orders(100))
    if changes:
        cluster.configure(*changes)
    cluster.reassign(1, 2, 3, 4)
    assert cluster.until_idle() == pytest.approx(seconds, abs=0.11)
    assert cluster.seen().isr == (1, 2, 3, 4)


def test_copies_share_what_they_have_in_common_and_take_what_is_left() -> None:
    cluster = Cluster(orders(100, 100, 100))
    cluster.configure(throttle(FOLLOWER_REPLICAS, "0:4"), set_rate(FOLLOWER_RATE, 4, 10 * MB))
    for index, target in enumerate((4, 5, 6)):
        cluster.reassign(1, 2, 3, target, index=index)
    cluster.clock.sleep(1.2)
    found = sizes_of(cluster.plane, NAMES[:3])
    got = [found[NAMES[i], BrokerId(b)] / MB for i, b in enumerate((4, 5, 6))]
    assert got == pytest.approx([10, 45, 45], abs=0.5)


def test_a_leaders_rate_of_nothing_holds_a_copy_for_ever_and_lifting_it_lets_it_go() -> None:
    cluster = Cluster(orders(100))
    cluster.configure(LEADER_LIST, set_rate(LEADER_RATE, 1, 0))
    cluster.reassign(1, 2, 3, 4)
    assert cluster.at(1_000_000).adding == (4,)
    cluster.configure(broker_change(BrokerId(1), LEADER_RATE, ConfigOperation.DELETE))
    assert cluster.until_idle() == pytest.approx(1_000_001, abs=0.1)


@pytest.mark.parametrize("rate", [0, 1])
def test_a_followers_rate_of_nothing_lets_one_fetch_through_each_time_the_window_is_empty(
    rate: int,
) -> None:
    cluster = Cluster(orders(3), batch_bytes=FILLED_BATCH)
    cluster.configure(FOLLOWER_LIST, set_rate(FOLLOWER_RATE, 4, rate))
    cluster.reassign(1, 2, 3, 4)
    # Kafka 4.3.1 took 33.2 s: fetches of 900,160 bytes at 0, 11, 22 and 33 s.
    assert cluster.until_idle() == pytest.approx(33.2, rel=0.2)


@pytest.mark.parametrize(
    ("megabytes", "measured"),
    [(2, 2.8), (5, 6.1), (9, 10.1), (12, 14.9), (20, 24.3), (30, 35.7)],
)
def test_a_throttled_copy_takes_as_long_as_on_real_brokers(megabytes: int, measured: float) -> None:
    """One quiet partition at 1 MB/s, both sides, Kafka 4.3.1: a sixth of each fetch is cut off batches."""
    cluster = Cluster(orders(megabytes), batch_bytes=FILLED_BATCH)
    cluster.configure(
        LEADER_LIST, FOLLOWER_LIST, set_rate(LEADER_RATE, 1, MB), set_rate(FOLLOWER_RATE, 4, MB)
    )
    cluster.reassign(1, 2, 3, 4)
    assert cluster.until_idle() == pytest.approx(measured, rel=0.12)


def test_a_copy_never_ends_below_the_rate_of_producing() -> None:
    cluster = Cluster(orders(100), At(0, Produce(P0, 11 * MB)))
    cluster.configure(FOLLOWER_LIST, set_rate(FOLLOWER_RATE, 4, 10 * MB))
    cluster.reassign(1, 2, 3, 4)
    assert cluster.at(3_000).adding == (4,)
    assert sizes_of(cluster.plane, [P0])[P0, BrokerId(1)] == pytest.approx(33_100 * MB)
    cluster.configure(set_rate(FOLLOWER_RATE, 4, 1_000 * MB))
    assert cluster.until_idle() < 4_000


def test_bytes_of_listed_replicas_in_sync_count_against_the_rate() -> None:
    cluster = Cluster(orders(400), At(0, Produce(P0, 5 * MB)))
    cluster.configure(LEADER_LIST, set_rate(LEADER_RATE, 1, 30 * MB))
    cluster.reassign(1, 2, 3, 4)
    # Two followers in sync take 10 of the 30 MB/s, and of the network's 100. Half a window of the rest goes ahead.
    ahead = 5.5 * 20 / (90 - 20)
    later = (400 + 5 * 0.2 - (90 - 5) * ahead) / (20 - 5)
    assert cluster.until_idle() == pytest.approx(0.2 + ahead + later, abs=0.2)


def test_a_leader_sends_ahead_of_its_rate_again_only_after_a_window_without_throttled_bytes() -> (
    None
):
    cluster = Cluster(orders(55, 55, 55))
    cluster.configure(throttle(LEADER_REPLICAS, "*"), set_rate(LEADER_RATE, 1, 10 * MB))

    def took(index: int) -> float:
        began = cluster.clock.now()
        cluster.reassign(1, 2, 3, 4, index=index)
        return cluster.until_idle() - began

    assert took(0) == pytest.approx(0.2 + 0.55, abs=0.11)
    assert took(1) == pytest.approx(0.2 + 5.5, abs=0.6)
    cluster.clock.sleep(11)
    assert took(2) == pytest.approx(0.2 + 0.55, abs=0.11)


def test_producing_takes_its_part_of_the_network() -> None:
    cluster = Cluster(orders(100, 0), At(0, Produce(NAMES[1], 30 * MB)))
    cluster.reassign(1, 2, 3, 4)
    # Broker 1 sends what is written to partition 1 to two followers; of its 100 MB/s 40 are left.
    assert cluster.until_idle() == pytest.approx(0.2 + 2.5, abs=0.11)


@pytest.mark.parametrize(
    ("configs", "megabytes"),
    [
        ({"retention.ms": "604800000"}, 200),
        ({"retention.bytes": "150000000"}, 150),
        ({"retention.ms": "12000"}, 120),
        ({"retention.ms": "12000", "cleanup.policy": "compact"}, 200),
        ({"retention.ms": "-1", "retention.bytes": "50000000"}, 100),
        ({"remote.storage.enable": "true", "local.retention.bytes": "150000000"}, 150),
        ({"remote.storage.enable": "true", "local.retention.ms": "12000"}, 120),
        ({"remote.storage.enable": "true", "retention.bytes": "150000000"}, 150),
        ({"local.retention.bytes": "150000000"}, 200),
    ],
)
def test_a_log_grows_until_retention_deletes_what_is_written(
    configs: dict[str, str], megabytes: int
) -> None:
    cluster = Cluster(orders(100), At(0, Produce(P0, 10 * MB)))
    cluster.configure(
        *(topic_change("orders", k, ConfigOperation.SET, v) for k, v in configs.items())
    )
    cluster.clock.sleep(10)
    found = sizes_of(cluster.plane, [P0])
    assert found[P0, BrokerId(1)] == pytest.approx(megabytes * MB)


def test_what_retention_deletes_need_not_be_fetched_any_more() -> None:
    cluster = Cluster(orders(100), At(0, Produce(P0, 10 * MB)))
    cluster.configure(topic_change("orders", "retention.bytes", ConfigOperation.SET, "100000000"))
    cluster.configure(FOLLOWER_LIST, set_rate(FOLLOWER_RATE, 4, 1 * MB))
    cluster.reassign(1, 2, 3, 4)
    cluster.clock.sleep(1_000)
    found = sizes_of(cluster.plane, [P0])
    assert found[P0, BrokerId(4)] == 0, "deleted at the leader faster than it is fetched"
    cluster.configure(set_rate(FOLLOWER_RATE, 4, 1_000 * MB))
    assert cluster.until_idle() == pytest.approx(1_000 + 100 / (100 - 2 * 10 - 10), abs=0.1)


def test_a_killed_broker_is_fenced_when_its_session_ends_and_returns_when_it_starts() -> None:
    cluster = Cluster(orders(100), At(5, KillBroker(BrokerId(1))), At(20, StartBroker(BrokerId(1))))
    assert (cluster.at(13.9).leader, cluster.seen().isr) == (1, (1, 2, 3))
    assert (cluster.at(14.1).leader, cluster.seen().isr) == (2, (2, 3))
    assert cluster.plane.look(Wanted()).brokers[BrokerId(1)].fenced
    assert cluster.at(22.9).isr == (2, 3)
    assert cluster.at(23.3).isr == (2, 3, 1)
    assert not cluster.plane.look(Wanted()).brokers[BrokerId(1)].fenced
    assert (cluster.at(299).leader, cluster.at(301).leader) == (2, 1)


def test_a_broker_that_starts_too_soon_waits_for_its_old_session_to_end() -> None:
    cluster = Cluster(orders(100), At(0, KillBroker(BrokerId(2))), At(1, StartBroker(BrokerId(2))))
    assert cluster.at(8.9).isr == (1, 2, 3)
    assert cluster.at(9.1).isr == (1, 3)
    assert cluster.at(12.3).isr == (1, 3, 2)


def test_what_was_written_meanwhile_has_to_be_fetched_on_return() -> None:
    cluster = Cluster(
        orders(100),
        At(0, Produce(P0, 10 * MB)),
        At(0, KillBroker(BrokerId(2))),
        At(100, Produce(P0, 0)),
        At(100, StartBroker(BrokerId(2))),
    )
    found = cluster.at(103.5)
    assert found.isr == (1, 3)
    # In sync until fenced at 9 s, by then nobody knew that it lacked anything: 91 s of 10 MB are missing.
    assert cluster.at(113).isr == (1, 3, 2)


def test_a_stopped_broker_hands_its_leaderships_over_at_once() -> None:
    cluster = Cluster(orders(100), At(5, StopBroker(BrokerId(1))))
    assert (cluster.at(5.1).leader, cluster.seen().isr) == (2, (2, 3))
    assert not cluster.plane.look(Wanted()).brokers[BrokerId(1)].fenced
    cluster.clock.sleep(2)
    assert cluster.plane.look(Wanted()).brokers[BrokerId(1)].fenced


def test_a_clean_stop_keeps_a_broker_electable_and_a_kill_does_not() -> None:
    everybody = [BrokerId(b) for b in (3, 2, 1)]
    ends: list[tuple[Callable[[BrokerId], Fault], int | None]] = [
        (StopBroker, 2),
        (KillBroker, None),
    ]
    for end, leader in ends:
        faults = [At(20 * i, end(b)) for i, b in enumerate(everybody)]
        cluster = Cluster(orders(100), *faults, At(100, StartBroker(BrokerId(2))))
        assert cluster.at(99).leader is None
        assert cluster.at(110).leader == leader


def test_a_follower_that_fell_behind_joins_again_when_it_has_caught_up() -> None:
    cluster = Cluster(orders(100), At(5, DropFromIsr(P0, BrokerId(3), 50 * MB)))
    assert cluster.at(5.1).isr == (1, 2)
    assert cluster.at(5.6).isr == (1, 2)
    assert cluster.at(5.8).isr == (1, 2, 3)


def test_a_reordered_list_moves_the_leader_with_the_next_rebalance() -> None:
    cluster = Cluster(orders(100))
    cluster.reassign(2, 1, 3)
    assert (cluster.at(299).leader, cluster.at(301).leader) == (1, 2)


def test_an_unclean_leader_makes_its_shorter_log_the_log() -> None:
    found = snapshot([state([1, 2], partition=0, size=100 * MB)], unclean=["orders"])
    cluster = Cluster(
        found, At(1, DropFromIsr(P0, BrokerId(2), 60 * MB)), At(1.1, KillBroker(BrokerId(1)))
    )
    assert cluster.at(11).leader == 2
    assert sizes_of(cluster.plane, [P0]) == {(P0, BrokerId(2)): 40 * MB}


def test_a_dropped_replica_gives_its_room_back_a_minute_later() -> None:
    dirs = [LogDir(BrokerId(b), p, 1000 * MB, 500 * MB, logs=1) for b in (3, 4) for p in ("a", "b")]
    found = snapshot([state([1, 2, 3], partition=0, size=100 * MB)])
    cluster = Cluster(replace(found, log_dirs=tuple(dirs)))
    cluster.reassign(1, 2, 4)

    def rooms() -> list[tuple[int, str, int, int]]:
        return [
            (d.broker, d.path, (d.usable_bytes or 0) // MB, d.logs)
            for d in cluster.plane.observe().log_dirs
        ]

    cluster.clock.sleep(5)
    assert rooms() == [(3, "a", 500, 0), (3, "b", 500, 1), (4, "a", 400, 2), (4, "b", 500, 1)]
    cluster.clock.sleep(60)
    assert rooms()[0] == (3, "a", 600, 0)


def test_time_does_not_run_backwards() -> None:
    clock = VirtualClock(5)
    with pytest.raises(ValueError, match="time does not run backwards: -1 s"):
        clock.sleep(-1)
    clock.jump_to(3)
    assert clock.now() == 5
    clock.jump_to(7)
    assert clock.now() == 7


def test_what_happens_does_not_depend_on_how_often_one_looks() -> None:
    def story() -> Cluster:
        cluster = Cluster(
            orders(100, 70, 30),
            At(0.5, KillBroker(BrokerId(2))),
            At(11, StartBroker(BrokerId(2))),
            At(1, Produce(NAMES[1], 1 * MB)),
        )
        cluster.configure(throttle(FOLLOWER_REPLICAS, "*"), set_rate(FOLLOWER_RATE, 4, 10 * MB))
        for index in range(3):
            cluster.reassign(1, 3, 4, index=index)
        return cluster

    often, seldom = story(), story()
    for _ in range(500):
        often.clock.sleep(0.0625)
        often.plane.look(Wanted())
    seldom.clock.sleep(500 * 0.0625)
    assert often.plane.simulation.cluster == seldom.plane.simulation.cluster


def test_a_clock_with_a_pace_really_sleeps() -> None:
    clock = VirtualClock(pace=1000)
    began = time.monotonic()
    clock.sleep(50)
    assert time.monotonic() - began >= 0.05
    assert clock.now() == 50


def test_a_deleted_topic_leaves_nothing_behind() -> None:
    cluster = Cluster(orders(100), At(1, Ask(DeleteTopic("orders"))))
    cluster.reassign(1, 2, 3, 4)
    cluster.clock.sleep(100)
    world = cluster.plane.simulation.world
    assert (world.lags, world.sizes, cluster.plane.look(Wanted()).running) == ({}, {}, {})


def test_what_cannot_happen_does_not() -> None:
    cluster = Cluster(
        orders(100),
        At(1, DropFromIsr(P0, BrokerId(1), 5)),
        At(1, DropFromIsr(P0, BrokerId(6), 5)),
        At(1, DropFromIsr(TopicPartition("clicks", 0), BrokerId(6), 5)),
        At(1, StartBroker(BrokerId(1))),
        At(1, StopBroker(BrokerId(9))),
    )
    before = cluster.plane.simulation.cluster
    cluster.clock.sleep(5)
    assert cluster.plane.simulation.cluster is before


def test_a_copy_whose_leader_dies_waits_and_goes_on() -> None:
    cluster = Cluster(
        snapshot([state([1], partition=0, size=1000 * MB)]),
        At(2.2, KillBroker(BrokerId(1))),
        At(20, StartBroker(BrokerId(1))),
    )
    cluster.reassign(1, 4)
    assert cluster.at(15).leader is None
    missing = cluster.plane.simulation.world.lags[P0, BrokerId(4)].remaining_bytes
    assert missing == pytest.approx(800 * MB)
    assert cluster.until_idle() == pytest.approx(31.2, abs=0.5)


def test_an_unregistered_broker_does_not_come_back() -> None:
    gone = BrokerId(3)
    cluster = Cluster(
        orders(100),
        At(0, KillBroker(gone)),
        At(10, StartBroker(gone)),
        At(11, Ask(UnregisterBroker(gone))),
    )
    assert cluster.at(30).isr == (1, 2)
    assert gone not in cluster.plane.look(Wanted()).brokers
    assert cluster.plane.simulation.world.starting == {}
