"""Brokers lose disks: where replicas lie, what is lost with a directory, and how it comes back."""

import pytest
from msgspec.structs import replace
from tests.builders import snapshot, state
from tests.readings import sizes_of
from tests.unit.simulator.controllers import P0, Controller

from replan.model.api import Accepted, BrokerId, LogDir, TopicPartition, Wanted, replicas
from replan.simulator.api import (
    CordonDirs,
    Fault,
    KillBroker,
    LoseDirs,
    LoseDisk,
    RegisterBroker,
    ReplaceDisks,
    SendRequest,
    SimulatedControlPlane,
    Simulation,
    StartBroker,
    UnfenceBroker,
    VirtualClock,
    directory_of,
    from_snapshot,
)

MB = 1_000_000
P1, P2 = (TopicPartition("orders", n) for n in (1, 2))
ONE, TWO, THREE, FOUR = map(BrokerId, (1, 2, 3, 4))
LOST = LoseDisk(THREE, "b")


def cluster(*lists: list[int], size: int = 100 * MB, **logs: int) -> SimulatedControlPlane:
    """Five brokers with the directories `a` and `b`; replicas of broker 3 lie in `b`, `a`, `b` ... in turn."""
    dirs = tuple(
        LogDir(BrokerId(b), path, 1000 * MB, 900 * MB, logs=logs.get(path, usual))
        for b in range(1, 6)
        for path, usual in (("a", 2), ("b", 3))
    )
    partitions = [state(found, partition=n, size=size) for n, found in enumerate(lists)]
    found = snapshot(partitions, log_dirs=dirs)
    return SimulatedControlPlane(from_snapshot(found), VirtualClock())


def isr(plane: SimulatedControlPlane, name: TopicPartition) -> set[int]:
    return set(plane.look(Wanted(partitions=[name])).partitions[name].isr)


def place(simulation: Simulation, name: TopicPartition, broker: BrokerId) -> str | None:
    return directory_of(simulation.world, (name, broker))


def reassign(plane: SimulatedControlPlane, name: TopicPartition, *ids: int) -> None:
    answers = plane.reassign({name: replicas(*ids)}, allow_replication_factor_change=True)
    assert list(answers.values()) == [Accepted()]


def test_a_snapshot_deals_replicas_out_as_its_directories_count_them() -> None:
    now = cluster([3, 1], [3, 1], [3, 1], b=2, a=1).simulation
    lying = [place(now, name, THREE) for name in (P0, P1, P2)]
    assert sorted(p or "" for p in lying) == ["a", "b", "b"]
    for name, path in zip((P0, P1, P2), lying, strict=True):
        partition = now.cluster.partition(name)
        assert partition is not None
        assert partition.directory(THREE) == path


def test_in_sync_replicas_are_not_dealt_to_a_directory_that_is_lost() -> None:
    dirs = (LogDir(THREE, "a", logs=1), LogDir(THREE, "b", logs=0, error="KAFKA_STORAGE_ERROR"))
    found = snapshot([state([3, 1]), state([1, 3], [1], partition=1)])
    now = from_snapshot(replace(found, log_dirs=dirs))
    assert (place(now, P0, THREE), place(now, P1, THREE)) == ("a", "b")
    assert now.cluster.brokers[THREE].log_dirs == ("a",)


def test_only_what_lies_on_the_lost_disk_leaves_the_isr() -> None:
    plane = cluster([3, 1, 2], [3, 1, 2])
    before = plane.simulation
    plane.inject(LOST)
    for name in (P0, P1):
        lost = place(before, name, THREE) == "b"
        assert isr(plane, name) == ({1, 2} if lost else {1, 2, 3})
        assert plane.look(Wanted(partitions=[name])).partitions[name].leader == (1 if lost else 3)
    assert {isr(plane, name) == {1, 2} for name in (P0, P1)} == {True, False}


def test_a_lost_disk_reports_its_error_and_nothing_of_its_logs() -> None:
    plane = cluster([3, 1, 2])
    plane.inject(LOST)
    found = {d.path: d for d in plane.observe().log_dirs if d.broker == THREE}
    assert found["b"] == LogDir(THREE, "b", error="KAFKA_STORAGE_ERROR")
    assert found["a"].error is None
    assert (P0, THREE) not in sizes_of(plane, [P0])
    assert (P0, ONE) in sizes_of(plane, [P0])


def test_a_copy_to_a_lost_disk_stops_and_the_other_ones_go_on() -> None:
    plane = cluster([1, 2], [1, 2], size=500 * MB, b=2)
    reassign(plane, P0, 1, 2, 3)
    reassign(plane, P1, 1, 2, 3)
    places = {name: place(plane.simulation, name, THREE) for name in (P0, P1)}
    assert set(places.values()) == {"a", "b"}
    plane.clock.sleep(1)
    plane.inject(LOST)
    plane.clock.sleep(60)
    assert {places[name]: 3 in isr(plane, name) for name in (P0, P1)} == {"a": True, "b": False}


def test_a_replica_dropped_from_a_lost_disk_comes_back_only_after_a_start() -> None:
    plane = cluster([1, 2, 3])
    plane.inject(LOST)
    reassign(plane, P0, 1, 2)
    reassign(plane, P0, 1, 2, 3)
    plane.clock.sleep(60)
    assert isr(plane, P0) == {1, 2}
    plane.inject(KillBroker(THREE))
    plane.inject(StartBroker(THREE))
    plane.clock.sleep(30)
    assert isr(plane, P0) == {1, 2, 3}
    assert place(plane.simulation, P0, THREE) == "a"


def test_a_replica_that_was_dropped_before_its_disk_failed_is_created_on_another() -> None:
    plane = cluster([1, 2, 3], size=10 * MB, b=4)
    assert place(plane.simulation, P0, THREE) == "b"
    reassign(plane, P0, 1, 2)
    plane.inject(LOST)
    reassign(plane, P0, 1, 2, 3)
    plane.clock.sleep(30)
    assert (place(plane.simulation, P0, THREE), isr(plane, P0)) == ("a", {1, 2, 3})


def test_without_another_disk_a_start_brings_nothing_back() -> None:
    plane = cluster([1, 2, 3])
    for fault in (LOST, KillBroker(THREE), StartBroker(THREE)):
        plane.inject(fault)
    plane.clock.sleep(60)
    assert isr(plane, P0) == {1, 2}
    assert not plane.look(Wanted()).brokers[THREE].fenced


def test_a_new_disk_comes_with_a_restart_and_empty() -> None:
    plane = cluster([1, 2, 3], size=500 * MB)
    plane.inject(LOST)
    plane.clock.sleep(5)
    plane.inject(ReplaceDisks(THREE))
    plane.clock.sleep(16)
    assert isr(plane, P0) == {1, 2}
    assert plane.simulation.world.lags[P0, THREE].remaining_bytes > 200 * MB
    plane.clock.sleep(10)
    assert isr(plane, P0) == {1, 2, 3}
    now = plane.simulation
    partition = now.cluster.partition(P0)
    assert partition is not None
    assert partition.directory(THREE) not in {None, "b"}
    assert partition.directory(THREE) in now.cluster.brokers[THREE].log_dirs
    assert all(d.error is None for d in plane.observe().log_dirs)


def test_what_was_to_be_deleted_on_a_failed_disk_gives_no_room_back_on_the_new_one() -> None:
    plane = cluster([1, 2, 3], [1, 2, 3], size=300 * MB, b=4)
    reassign(plane, P0, 1, 2)
    for fault in (LOST, ReplaceDisks(THREE)):
        plane.inject(fault)
    plane.clock.sleep(120)
    assert (place(plane.simulation, P1, THREE), isr(plane, P1)) == ("b", {1, 2, 3})
    (disk,) = (d for d in plane.observe().log_dirs if (d.broker, d.path) == (THREE, "b"))
    assert (disk.logs, disk.usable_bytes) == (1, 700 * MB)


def cordoned(plane: SimulatedControlPlane) -> list[bool]:
    """Of the broker, and of its directories, as clients see it."""
    seen = plane.observe()
    broker = next(b for b in seen.brokers if b.id == THREE)
    return [broker.cordoned, *(d.cordoned for d in seen.log_dirs if d.broker == THREE)]


def test_a_cordoned_broker_stays_so_with_a_new_disk_and_one_with_a_new_disk_can_be_cordoned() -> (
    None
):
    plane = cluster([1, 2, 3])
    cordons = [CordonDirs(THREE), CordonDirs(THREE, frozenset()), CordonDirs(THREE)]
    plane.inject(SendRequest(cordons[0]))
    plane.inject(LOST)
    plane.inject(ReplaceDisks(THREE))
    plane.clock.sleep(30)
    assert cordoned(plane) == [True, True, True]
    plane.inject(SendRequest(cordons[1]))
    assert cordoned(plane) == [False, False, False]
    plane.inject(SendRequest(cordons[2]))
    assert cordoned(plane) == [True, True, True]


@pytest.mark.parametrize(("lies", "left"), [("a", {1, 2, 3}), ("b", {1, 2})])
def test_a_copy_between_directories_ends_with_the_disk_of_either(lies: str, left: set[int]) -> None:
    plane = cluster([1, 2, 3], **{lies: 4})
    assert place(plane.simulation, P0, THREE) == lies
    plane.move_logs({(P0, THREE): "ab".replace(lies, "")})
    plane.clock.sleep(0.1)
    plane.inject(LOST)
    plane.clock.sleep(60)
    assert plane.simulation.world.futures == {}
    assert (place(plane.simulation, P0, THREE), isr(plane, P0)) == (lies, left)


@pytest.mark.parametrize("lost", [[LoseDisk(THREE, "a")], [LOST, LoseDisk(THREE)]])
def test_a_broker_dies_with_its_first_or_its_last_disk_and_does_not_start_without(
    lost: list[Fault],
) -> None:
    plane = cluster([1, 2, 3])
    for fault in lost:
        plane.inject(fault)
    plane.clock.sleep(10)
    assert plane.look(Wanted()).brokers[THREE].fenced
    plane.inject(StartBroker(THREE))
    plane.clock.sleep(30)
    assert plane.look(Wanted()).brokers[THREE].fenced
    plane.inject(ReplaceDisks(THREE))
    plane.clock.sleep(30)
    assert isr(plane, P0) == {1, 2, 3}


def test_a_disk_that_is_lost_already_or_unknown_is_lost_to_nobody() -> None:
    plane = cluster([1, 2, 3])
    plane.inject(LOST)
    before = plane.simulation
    for fault in (LOST, LoseDisk(THREE, "c"), ReplaceDisks(ONE)):
        plane.inject(fault)
    assert plane.simulation == before


def test_a_broker_of_which_no_disk_is_known_has_one() -> None:
    plane = SimulatedControlPlane(from_snapshot(snapshot([state([1, 2, 3])])), VirtualClock())
    plane.inject(LoseDisk(THREE))
    plane.clock.sleep(10)
    assert isr(plane, P0) == {1, 2}
    plane.inject(ReplaceDisks(THREE))
    plane.clock.sleep(10)
    assert isr(plane, P0) == {1, 2, 3}


def jbod() -> Controller:
    """Broker 6 has two disks."""
    controller = Controller([1, 2, 6])
    controller.fence(6)
    controller.ask(RegisterBroker(BrokerId(6), log_dirs=("a", "b")))
    controller.ask(UnfenceBroker(BrokerId(6)))
    return controller


def test_a_heartbeat_that_calls_the_same_directory_offline_again_changes_nothing() -> None:
    asked = jbod()
    asked.ask(LoseDirs(BrokerId(6), frozenset({"a"})))
    before = asked.state
    assert asked.ask(LoseDirs(BrokerId(6), frozenset({"a"}))).events == ()
    assert asked.state is before
