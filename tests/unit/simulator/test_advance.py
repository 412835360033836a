"""What happens with time: copies at their speeds, dying and returning brokers, timers, disks."""

import pytest
from msgspec.structs import replace
from tests.builders import brokers, snapshot, state
from tests.readings import sizes_of

from replan.model.api import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    UNCLEAN_ELECTION,
    Accepted,
    BrokerId,
    ConfigChange,
    ConfigOperation,
    Features,
    LogDir,
    PartitionState,
    Snapshot,
    TopicPartition,
    Wanted,
    broker_change,
    replicas,
    topic_change,
)
from replan.simulator.api import (
    AlterConfigs,
    At,
    DeleteTopic,
    DropFromIsr,
    KillBroker,
    Produce,
    SendRequest,
    SimulatedControlPlane,
    SlowBroker,
    Speeds,
    StartBroker,
    StopBroker,
    UnregisterBroker,
    VirtualClock,
    advance,
    directory_of,
    from_snapshot,
)

MB = 1_000_000
FILLED_BATCH = 900_160
"""Nine records of 100,000 bytes: what the harness fills partitions with, and one fetch of 1 MiB has one of."""
NAMES = [TopicPartition("orders", index) for index in range(10)]
P0 = NAMES[0]


class Cluster:
    """A simulated cluster in time; its network takes 100 MB/s, a copy starts after 0.2 s."""

    def __init__(
        self,
        found: Snapshot,
        *faults: At,
        batch_bytes: int = Speeds().batch_bytes,
        version: str = "4.3",
    ) -> None:
        self.clock = VirtualClock()
        if version == "3.9":
            found = replace(found, features=Features())
        start = from_snapshot(found, version)
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
        ({"retention.bytes": "0"}, 100),  # 0 keeps nothing more, -1 everything
        ({"retention.ms": "0"}, 100),
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


def leaves_the_isr(cluster: Cluster, broker: int, limit: float = 1_000) -> float | None:
    """The second in which it does; None where it stays for so long."""
    while cluster.clock.now() < limit:
        if broker not in cluster.seen().isr:
            return cluster.clock.now()
        cluster.clock.sleep(min(cluster.plane.next_moment(), limit) - cluster.clock.now())
    return None


@pytest.mark.parametrize(
    ("megabytes_per_second", "seconds"),
    [
        (1, 30 * 50 / 49),  # after 30 s without what was written 30 s ago
        (40, 30 * 50 / 10),
        (49.9, None),
        (50, None),
    ],
)
def test_a_follower_that_lacks_what_was_written_30_s_ago_leaves_the_isr(
    megabytes_per_second: float, seconds: float | None
) -> None:
    slow = SlowBroker(BrokerId(3), megabytes_per_second * MB)
    cluster = Cluster(orders(0), At(0, Produce(P0, 50 * MB)), At(0, slow))
    left = leaves_the_isr(cluster, 3)
    assert left == (None if seconds is None else pytest.approx(seconds, abs=0.1))
    assert cluster.seen().isr == ((1, 2, 3) if left is None else (1, 2))


def test_a_follower_that_catches_up_in_time_stays_in_the_isr() -> None:
    cluster = Cluster(
        orders(0),
        At(0, Produce(P0, 30 * MB)),
        At(0, SlowBroker(BrokerId(3), 1 * MB)),
        At(20, SlowBroker(BrokerId(3), None)),
    )
    cluster.at(20)
    assert cluster.plane.simulation.world.replica_bytes(P0, BrokerId(3)) == 20 * MB
    # Of the leader's 100 MB/s broker 2 takes 30: 580 MB come at 70, 40 more than are written.
    cluster.at(34.4)
    assert cluster.plane.simulation.world.behind == {(P0, 3): 0}
    assert leaves_the_isr(cluster, 3, limit=200) is None
    assert cluster.plane.simulation.world.behind == {}
    assert cluster.plane.simulation.world.lags == {}


def test_a_slow_leader_loses_the_followers_for_which_too_much_is_written() -> None:
    """Its 30 MB/s are shared: the quiet partition has what it needs, the other one does not."""
    cluster = Cluster(
        orders(0, 0),
        At(0, Produce(P0, 50 * MB)),
        At(0, Produce(NAMES[1], 2 * MB)),
        At(0, SlowBroker(BrokerId(1), 30 * MB)),
    )
    cluster.clock.sleep(120)
    assert (cluster.seen(0).isr, cluster.seen(1).isr) == ((1,), (1, 2, 3))


def test_a_follower_that_is_behind_holds_the_committed_log_back() -> None:
    cluster = Cluster(
        orders(0), At(0, Produce(P0, 50 * MB)), At(0, SlowBroker(BrokerId(3), 10 * MB))
    )
    cluster.at(20)
    now = cluster.plane.simulation.world
    assert now.sizes[P0] == pytest.approx(1000 * MB)
    assert now.committed_bytes(P0, cluster.seen().isr) == pytest.approx(200 * MB)
    cluster.at(100)
    assert cluster.seen().isr == (1, 2)
    now = cluster.plane.simulation.world
    assert now.committed_bytes(P0, cluster.seen().isr) == now.sizes[P0]


def reordered(count: int, version: str) -> Cluster:
    """As many partitions, none of them led by its preferred replica."""
    found = snapshot([state([1, 2, 3], leader=2, partition=i, size=0) for i in range(count)])
    return Cluster(found, version=version)


def led_by_preferred(cluster: Cluster) -> int:
    return sum(p.led_by_preferred for _, p in cluster.plane.simulation.cluster.partitions())


@pytest.mark.parametrize("version", ["3.9", "4.3"])
def test_what_one_run_of_the_rebalance_leaves_the_next_does_10_ms_later(version: str) -> None:
    cluster = reordered(2_500, version=version)
    found = []
    for seconds in (299.99, 300.005, 300.015, 300.025):
        cluster.clock.sleep(seconds - cluster.clock.now())
        found.append(led_by_preferred(cluster))
    assert found == [0, 1_000, 2_000, 2_500]


def test_unclean_elections_too_go_on_10_ms_later_where_one_run_is_full() -> None:
    """They have no leader when the topic allows it, which itself elects nobody."""
    partitions = [state([1, 2], [1], partition=i, size=MB) for i in range(1_500)]
    allowed = topic_change("orders", UNCLEAN_ELECTION, ConfigOperation.SET, "true")
    cluster = Cluster(
        snapshot(partitions, registered=brokers(3)),
        At(0, KillBroker(BrokerId(1))),
        At(20, SendRequest(AlterConfigs((allowed,)))),
        version="3.9",
    )

    def led() -> int:
        return sum(p.leader == 2 for _, p in cluster.plane.simulation.cluster.partitions())

    cluster.at(299.9)
    assert led() == 0
    cluster.at(300.005)
    assert led() == 1_000
    cluster.at(300.015)
    assert led() == 1_500


def test_each_of_the_two_timers_goes_by_its_own_interval_and_one_in_vain_is_no_event() -> None:
    start = from_snapshot(snapshot([state([1, 2], partition=0)], unclean=["orders"]))
    speeds = replace(start.world.speeds, unclean_seconds=100.0)
    start = replace(start, world=replace(start.world, speeds=speeds, next_unclean=100.0))
    seen = list[float]()
    found = advance(start, 650, meter=lambda _now, _speeds, until: seen.append(until))
    assert seen == [100, 300, 650]
    assert (found.world.next_unclean, found.world.next_rebalance) == (700, 900)


def test_after_an_unclean_election_the_next_one_comes_by_the_same_interval() -> None:
    leaderless = state([1, 2], [1], leader=None)
    without = brokers(2, fenced=[1])
    start = from_snapshot(snapshot([leaderless], registered=without, unclean=["orders"]))
    speeds = replace(start.world.speeds, unclean_seconds=100.0)
    start = replace(start, world=replace(start.world, speeds=speeds, next_unclean=100.0))
    found = advance(start, 150)
    assert [p.leader for _, p in found.cluster.partitions()] == [2]
    assert found.world.next_unclean == 200


def test_after_a_long_time_without_a_change_leaders_are_rebalanced_by_the_clock() -> None:
    cluster = Cluster(orders(100), version="4.3")
    cluster.clock.sleep(1_000_010)
    assert cluster.seen().leader == 1
    cluster.reassign(2, 1, 3)
    cluster.clock.sleep(189)
    assert cluster.seen().leader == 1
    cluster.clock.sleep(2)
    assert cluster.seen().leader == 2


def test_up_to_3_9_the_rebalance_waits_from_when_there_is_something_to_do() -> None:
    """4.0 and later go by the clock."""

    def rebalanced(version: str) -> float:
        cluster = Cluster(orders(100), version=version)
        cluster.clock.sleep(100)
        cluster.reassign(2, 1, 3)
        while cluster.seen().leader != 2:
            cluster.clock.sleep(1)
        return cluster.clock.now()

    assert rebalanced("3.9") == pytest.approx(400, abs=1)
    assert rebalanced("4.0") == pytest.approx(300, abs=1)


def test_a_start_that_comes_while_a_broker_still_stops_follows_its_end() -> None:
    """`stop 1 for 1s`: it hands over its leaderships first, and would never be back."""
    faults = At(5, StopBroker(BrokerId(1))), At(6, StartBroker(BrokerId(1)))
    cluster = Cluster(orders(100), *faults)
    cluster.at(8)
    assert not cluster.plane.simulation.world.serves(BrokerId(1))
    assert set(cluster.at(30).isr) == {1, 2, 3}


def test_a_follower_that_fell_behind_joins_again_when_it_has_caught_up() -> None:
    cluster = Cluster(orders(100), At(5, DropFromIsr(P0, BrokerId(3), 50 * MB)))
    assert cluster.at(5.1).isr == (1, 2)
    assert cluster.at(5.6).isr == (1, 2)
    assert cluster.at(5.8).isr == (1, 2, 3)


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


def test_no_more_room_comes_back_than_a_volume_has() -> None:
    """Something else on it was deleted while the replica was there."""
    dirs = LogDir(BrokerId(3), "a", 1000 * MB, 950 * MB, logs=1)
    cluster = Cluster(snapshot([state([1, 2, 3], partition=0, size=100 * MB)], log_dirs=(dirs,)))
    cluster.reassign(1, 2)
    cluster.clock.sleep(70)
    (found,) = cluster.plane.observe().log_dirs
    assert (found.usable_bytes, found.logs) == (1000 * MB, 0)


def test_a_copy_that_fills_a_disk_takes_its_directory_offline() -> None:
    """A broker with another one goes on; what lay there is out of sync, and the copy stands still."""
    dirs = [
        LogDir(BrokerId(b), path, 1000 * MB, usable, logs=logs)
        for b in (4, 5)
        for path, usable, logs in (("a", 900 * MB, 5), ("b", 50 * MB, 1))
    ]
    found = snapshot(
        [state([1, 2, 3], partition=0, size=500 * MB), state([1, 4], partition=1, size=1 * MB)]
    )
    cluster = Cluster(replace(found, log_dirs=tuple(dirs)))
    lay = directory_of(cluster.plane.simulation.world, (NAMES[1], BrokerId(4)))
    cluster.reassign(1, 2, 3, 4)
    cluster.at(0.6)
    assert cluster.plane.simulation.world.lost_dirs == frozenset()
    cluster.at(0.8)  # 50 MB at 100 MB/s, from 0.2 s on
    assert cluster.plane.simulation.world.lost_dirs == {(4, "b")}
    assert 4 not in cluster.at(1_000).isr
    assert (4 in cluster.seen(1).isr) == (lay == "a")
    assert {b.id for b in cluster.plane.look(Wanted()).brokers.values() if b.fenced} == set()


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


def test_a_deleted_topic_leaves_nothing_behind() -> None:
    cluster = Cluster(orders(100), At(1, SendRequest(DeleteTopic("orders"))))
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
        At(11, SendRequest(UnregisterBroker(gone))),
    )
    assert cluster.at(30).isr == (1, 2)
    assert gone not in cluster.plane.look(Wanted()).brokers
    assert cluster.plane.simulation.world.starting == {}
