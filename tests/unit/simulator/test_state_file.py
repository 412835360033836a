"""A simulated cluster in a file: kept whole, locked against processes, open to people."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import snapshot, state
from tests.golden.language import perform as tell
from tests.golden.simulator_driver import SimulatorDriver
from tests.golden.traces import STEPS, Words, traces
from tests.goldens import check_cases
from tests.readings import sizes_of

from replan.errors import BadFile, Held
from replan.model.api import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    Accepted,
    BrokerId,
    ConfigOperation,
    LogDir,
    ReplicaName,
    Replicas,
    TopicPartition,
    Wanted,
    broker_change,
    replicas,
    topic_change,
)
from replan.simulator.api import (
    At,
    ClusterState,
    FenceBroker,
    KillBroker,
    LoseDisk,
    Partition,
    Produce,
    SendRequest,
    SimulatedControlPlane,
    Simulation,
    SlowBroker,
    StartBroker,
    StopBroker,
    VirtualClock,
    World,
    directory_of,
    from_snapshot,
    open_simulated,
    restore,
    simulation_part,
    snapshot_to_save,
)
from replan.snapshots.api import to_document, write_snapshot

pytestmark = pytest.mark.slow

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
Document = dict[str, Any]
Open = Callable[[], SimulatedControlPlane]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = snapshot([state([1, 2, 3], size=100_000_000), state([2, 3, 1], partition=1)])
    write_snapshot(found, tmp_path / "cluster.json")
    return tmp_path / "cluster.json"


@pytest.fixture
def opened(file: Path) -> Iterator[Open]:
    """Opens the file as another process would; what is still open in the end is closed."""
    with ExitStack() as ending:
        yield lambda: ending.enter_context(closing(open_simulated(file)))


def edit(file: Path, change: Callable[[Document], object]) -> None:
    """What a person does with an editor."""
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))


def reassign(plane: SimulatedControlPlane, *ids: int) -> None:
    answers = plane.reassign({P0: replicas(*ids)}, allow_replication_factor_change=True)
    assert answers == {P0: Accepted()}


def listed(plane: SimulatedControlPlane) -> Replicas:
    return plane.look(Wanted(partitions=[P0])).partitions[P0].replicas


def test_every_change_is_in_the_file_at_once(file: Path, opened: Open) -> None:
    plane = opened()
    reassign(plane, 3, 2, 1)
    assert listed(opened()) == (3, 2, 1)
    assert [p.name for p in sorted(file.parent.iterdir())] == [
        ".cluster.json.lock",
        "cluster.json",
    ]


def test_looking_changes_no_file_and_takes_no_lock(file: Path, opened: Open) -> None:
    before = file.read_bytes()
    plane = opened()
    plane.clock.sleep(1000)
    plane.observe()
    plane.close()
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == ["cluster.json"]


def test_the_next_process_goes_on_where_the_last_one_ended(file: Path, opened: Open) -> None:
    first = opened()
    first.alter_configs(
        [
            topic_change("orders", FOLLOWER_REPLICAS, ConfigOperation.APPEND, "0:4"),
            broker_change(BrokerId(4), FOLLOWER_RATE, ConfigOperation.SET, "10000000"),
        ]
    )
    reassign(first, 1, 2, 3, 4)
    first.clock.sleep(5)
    first.close()
    second = opened()
    assert second.clock.now() == 5
    assert sizes_of(second, [P0])[P0, BrokerId(4)] == 45_913_043
    assert second.observe().observed_at == "2026-11-21T03:00:05Z"
    second.clock.sleep(5.8)
    assert second.look(Wanted(partitions=[P0])).partitions[P0].isr == (1, 2, 3, 4)


def test_a_killed_process_loses_only_virtual_time_since_the_last_change(
    file: Path, opened: Open
) -> None:
    killed = opened()
    reassign(killed, 1, 2, 3, 4)
    killed.clock.sleep(100)
    assert not killed.look(Wanted()).running
    after = open_simulated(Path(copy(file, file.with_name("left.json"))))
    assert after.clock.now() == 0
    assert list(after.look(Wanted()).running) == [P0]


def test_a_second_process_may_look_but_not_change(file: Path, opened: Open) -> None:
    first, second = opened(), opened()
    reassign(first, 3, 2, 1)
    with pytest.raises(Held) as failure:
        reassign(second, 2, 1, 3)
    assert str(failure.value) == (
        f"{file}: another process is changing this simulated cluster; "
        "wait until it has ended, or use another file"
    )
    first.close()
    reassign(second, 2, 1, 3)
    assert listed(opened()) == (2, 1, 3)


def test_a_change_builds_upon_what_others_changed_since_the_file_was_read(
    file: Path, opened: Open
) -> None:
    early = opened()
    late = opened()
    late.clock.sleep(50)
    reassign(late, 1, 2, 3, 4)
    late.close()
    early.elect([P0], 0)  # type: ignore[arg-type]  # any request
    assert early.clock.now() == 50
    assert listed(early) == (1, 2, 3, 4)


def test_a_person_may_edit_the_file_between_two_commands(file: Path, opened: Open) -> None:
    plane = opened()
    reassign(plane, 1, 2, 3, 4)
    plane.clock.sleep(10)
    plane.close()
    edit(file, lambda d: d["topics"][0]["partitions"][0].update(replicas=[5, 2, 1]))
    plane = opened()
    seen = plane.look(Wanted(partitions=[P0])).partitions[P0]
    assert (seen.replicas, seen.isr, seen.leader) == ((5, 2, 1), (5, 2, 1), 5)


def test_an_edit_while_a_process_works_counts_as_another_tools_change(
    file: Path, opened: Open
) -> None:
    plane = opened()
    reassign(plane, 3, 2, 1)
    edit(file, lambda d: d["topics"][0]["partitions"][1].update(replicas=[1, 3]))
    reassign(plane, 2, 1, 3)
    assert plane.look(Wanted(partitions=[P1])).partitions[P1].replicas == (1, 3)
    edit(file, lambda d: d["topics"][0]["partitions"][1].update(replicas=[4, 5]))
    plane.close()
    again = opened()
    assert again.look(Wanted(partitions=[P1])).partitions[P1].replicas == (4, 5)


def test_an_edit_while_a_process_works_takes_no_fault_away(file: Path, opened: Open) -> None:
    plane = opened()
    plane.schedule((At(5, StartBroker(BrokerId(3))),))
    for fault in (KillBroker(BrokerId(3)), SlowBroker(BrokerId(2), 1_000)):
        plane.inject(fault)
    reassign(plane, 3, 2, 1)
    edit(file, lambda d: d["topics"][0]["partitions"][1].update(replicas=[1, 3]))
    reassign(plane, 2, 1, 3)
    assert plane.look(Wanted(partitions=[P1])).partitions[P1].replicas == (1, 3)
    assert plane.simulation.world.slow == {2: 1_000}
    plane.clock.sleep(20)
    assert plane.simulation.world.serves(BrokerId(3))


def test_a_broker_marked_as_fenced_by_hand_is_fenced_properly(file: Path, opened: Open) -> None:
    edit(file, lambda d: d["brokers"][0].update(fenced=True))
    plane = opened()
    seen = plane.look(Wanted(partitions=[P0])).partitions[P0]
    assert (seen.isr, seen.leader, seen.leader_epoch) == ((2, 3), 2, 1)
    plane.inject(StartBroker(BrokerId(1)))
    plane.clock.sleep(4)
    assert plane.look(Wanted(partitions=[P0])).partitions[P0].isr == (2, 3, 1)


def test_the_file_may_say_which_kafka_it_is_and_how_fast(file: Path, opened: Open) -> None:
    part = {
        "kafkaVersion": "4.4",
        "speeds": {"networkBytesPerSecond": 1e6, "rebalanceSeconds": None},
    }
    edit(file, lambda d: d.update(simulation=part))
    plane = opened()
    assert plane.simulation.cluster.version == "4.4"
    reassign(plane, 2, 1, 3, 4)
    plane.clock.sleep(99)
    assert list(plane.look(Wanted()).running) == [P0]
    plane.clock.sleep(9_901)
    assert not plane.look(Wanted()).running
    assert plane.look(Wanted(partitions=[P0])).partitions[P0].leader == 1


WRONG: dict[str, Callable[[Document], object]] = {
    "a leader that is not in sync": lambda d: d["topics"][0]["partitions"][0].update(
        isr=[2, 3], leader=1
    ),
    "an adding broker that is no replica": lambda d: d["topics"][0]["partitions"][0].update(
        adding=[4]
    ),
    "a replica in the ISR and the ELR": lambda d: d["topics"][0]["partitions"][0].update(
        isr=[1, 2], elr=[2]
    ),
    "a gap between partitions": lambda d: d["topics"][0]["partitions"][1].update(partition=7),
    "a topic without partitions": lambda d: d["topics"][0].update(partitions=[]),
    "a version that is not simulated": lambda d: d.update(simulation={"kafkaVersion": "2.8"}),
    "a version without the features": lambda d: d.update(simulation={"kafkaVersion": "3.9"}),
    "a simulation that is no object": lambda d: d.update(simulation=[]),
    "an unknown key": lambda d: d.update(simulation={"xyz": 1}),
    "seconds that are no number": lambda d: d.update(simulation={"seconds": "soon"}),
    "seconds below 0": lambda d: d.update(simulation={"seconds": -1}),
    "a speed that is null": lambda d: d.update(simulation={"speeds": {"sessionSeconds": None}}),
    "an unknown scope": lambda d: d.update(simulation={"configs": [{"scope": "cluster"}]}),
    "two values of one default": lambda d: d["topics"].extend(
        {
            "name": name,
            "minInsyncReplicas": count,
            "minInsyncSource": "clusterDefault",
            "partitions": [{"replicas": [1]}],
        }
        for name, count in (("x", 1), ("y", 2))
    ),
    "a time beyond the years": lambda d: d.update(observedAt="9999-12-31T23:59:59Z"),
    "seconds beyond the years": lambda d: d.update(simulation={"seconds": 9e18}),
    "batches of no bytes": lambda d: d.update(simulation={"speeds": {"batchBytes": 0}}),
}


def test_a_file_that_describes_no_cluster_is_refused_with_the_place(file: Path) -> None:
    """In `goldens/wrong-files.txt`."""
    right, told = file.read_text(), list[tuple[str, str]]()
    for title, change in WRONG.items():
        file.write_text(right)
        edit(file, change)
        with pytest.raises(BadFile) as failure:
            open_simulated(file)
        told.append((title, str(failure.value).removeprefix(f"{file}: ")))
    check_cases(Path(__file__).parent / "goldens" / "wrong-files.txt", told)


def test_a_log_of_the_largest_size_stays_as_large(file: Path) -> None:
    edit(file, lambda d: d["topics"][0]["partitions"][0].update(bytes=2**58))
    with closing(open_simulated(file)) as plane:
        assert plane.observe().partitions.column("bytes").to_pylist()[0] == 2**58


def kept(simulation: Simulation) -> Simulation:
    """A simulation after a stay in a file."""
    snapshot_part = to_document(snapshot_to_save(simulation, simulation.world.now))
    document = json.loads(json.dumps({**snapshot_part, "simulation": simulation_part(simulation)}))
    return restore(document, "kept.json")


def test_a_stay_in_the_file_changes_nothing() -> None:
    dirs = tuple(LogDir(BrokerId(b), p, 10**9, 10**8) for b in range(1, 6) for p in "ab")
    found = snapshot([state([1, 2, 3], size=10**8), state([2, 3, 1], partition=1, size=10**7)])
    plane = SimulatedControlPlane(from_snapshot(replace(found, log_dirs=dirs)), VirtualClock())
    throttled = [
        topic_change("orders", LEADER_REPLICAS, ConfigOperation.SET, "0:1,0:3"),
        *(
            broker_change(BrokerId(b), LEADER_RATE, ConfigOperation.SET, "1000000")
            for b in (1, 2, 3)
        ),
    ]
    assert set(plane.alter_configs(throttled).values()) == {Accepted()}
    reassign(plane, 4, 2, 5)
    plane.clock.sleep(1.0)
    assert plane.simulation.world.bursts
    for fault in (
        KillBroker(BrokerId(1)),
        StopBroker(BrokerId(2)),
        Produce(P0, 1000),
        Produce(P1, 1000),
    ):
        plane.inject(fault)
    later = {(P1, BrokerId(5)): "b"}
    assert [a for a in plane.move_logs(later).values() if isinstance(a, Accepted)] == []
    assert plane.simulation.world.preferred == later
    plane.clock.sleep(1.0)
    assert plane.simulation.world.behind.keys() == {(P1, 1)}
    for _ in range(6):
        plane.clock.sleep(4.0)
        now = plane.simulation
        assert kept(now).cluster == now.cluster
        differing = {
            name
            for name, value in _fields(now.world).items()
            if getattr(kept(now).world, name) != value
        }
        # A snapshot has whole bytes, and nobody needs to know any more where dropped replicas lay.
        assert differing <= {"sizes", "initial_dirs"}
        assert directories(kept(now)) == directories(now)
        plane.inject(StartBroker(BrokerId(1)))


def test_a_broker_that_is_fenced_while_its_process_runs_still_runs_when_read_back() -> None:
    plane = SimulatedControlPlane(from_snapshot(snapshot([state([1, 2, 3])])), VirtualClock())
    plane.inject(SendRequest(FenceBroker(BrokerId(3))))
    plane.inject(KillBroker(BrokerId(2)))
    plane.clock.sleep(20)
    assert kept(plane.simulation).world.down == plane.simulation.world.down == {2: 0.0}


def test_a_broker_that_has_just_died_of_its_disk_is_in_sync_until_its_session_ends() -> None:
    dirs = tuple(LogDir(BrokerId(b), p, 10**9, 10**8) for b in range(1, 6) for p in "ab")
    found = snapshot([state([1, 2, 3])], log_dirs=dirs)
    plane = SimulatedControlPlane(from_snapshot(found), VirtualClock())
    plane.inject(LoseDisk(BrokerId(3), "a"))
    plane.clock.sleep(3)
    assert set(kept(plane.simulation).cluster.topics["orders"].partitions[0].isr) == {1, 2, 3}
    plane.clock.sleep(10)
    assert set(kept(plane.simulation).cluster.topics["orders"].partitions[0].isr) == {1, 2}


def directories(simulation: Simulation) -> dict[ReplicaName, str | None]:
    """Where each replica lies."""
    return {
        (name, broker): directory_of(simulation.world, (name, broker))
        for name, partition in simulation.cluster.partitions()
        for broker in partition.replicas
    }


def lists(cluster: ClusterState) -> Iterator[tuple[TopicPartition, Partition]]:
    """The partitions, but for their directories: what is read back takes all of them to be reported."""
    for name, partition in cluster.partitions():
        yield name, replace(partition, directories=())


@given(trace=traces(STEPS, shortest=1, longest=15), version=st.sampled_from(["3.9", "4.3", "4.4"]))
def test_any_state_of_a_controller_survives_a_file(trace: list[Words], version: str) -> None:
    driver = SimulatorDriver(version, elr=version != "3.9")
    for tokens in trace:
        if tokens[0] == "unregister" or (tokens[0] == "reassign" and len(tokens) > 2):
            continue  # a stale mix is no state that a snapshot can be read as
        if tokens[0] != "isr" or driver.observe(0).leader is not None:
            tell(tokens, driver)
    world = World(
        sizes={name: 0.0 for name, _ in driver.state.partitions()},
        log_dirs=tuple(
            LogDir(broker, path)
            for broker, known in sorted(driver.state.brokers.items())
            for path in known.log_dirs
        ),
    )
    before = Simulation(driver.state, world)
    after = kept(before)
    assert dict(lists(after.cluster)) == dict(lists(before.cluster))
    assert after.cluster.brokers == before.cluster.brokers
    assert after.cluster.next_broker_epoch == before.cluster.next_broker_epoch


def _fields(world: World) -> dict[str, Any]:
    return {name: getattr(world, name) for name in world.__struct_fields__}
