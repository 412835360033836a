"""A log directory that is full: what leaves it and where it goes, in the least bytes, and once."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import brokers, placement, snapshot, state
from tests.unit.reconciling.test_loop import (
    HOUR,
    MB,
    Heard,
    Reader,
    before_the_end,
    end_of,
    last_of,
    lists_of,
    reader,
    rounds_of,
)

from replan.model.api import BrokerId, DeviationKind, LogDir, TopicPartition, replicas
from replan.planning.api import (
    Alignment,
    FullLogDir,
    free_below,
    full_log_dirs,
    room_on,
    with_room_below,
)
from replan.reconciling.api import (
    DeclaredByList,
    FillsLogDirs,
    FitsNowhere,
    LoopState,
    NotAllowed,
    Refused,
    RoundResult,
    WhyNot,
)
from replan.rehearsal.api import LoopRun, Release, run_loop
from replan.simulator.api import Simulation, from_snapshot

SIZES = (300, 200, 100, 50)
"""MB of the partitions, which all lie on broker 1."""
TOTAL = 1_000
RULE = "assignments: {orders: {replicationFactor: 2}}"
LISTS = [[1, 2], [1, 3], [1, 2], [1, 3]]
BY_LIST = f"assignments: {{orders: {{partitions: {LISTS}}}}}"
POLICY = "reconcile: {putRight: {logDirFull: {above: 85%, for: 15m}}}"


@pytest.fixture(name="read")
def _read(tmp_path: Path) -> Reader:
    return reader(tmp_path)


def log_dir(
    broker: int, path: str, used: int, numbers: Sequence[int] = (), total: int = TOTAL
) -> LogDir:
    """MB used of a volume, and which partitions of `orders` lie there."""
    usable = (total - used) * MB
    lying = {"orders": tuple(numbers)} if numbers else {}
    return LogDir(BrokerId(broker), path, total * MB, usable, len(numbers), replicas=lying)


def filled(*dirs: LogDir, racks: str = "abcd") -> Simulation:
    """Four brokers; the directories of those that are not named are empty."""
    states = [state(of, partition=i, size=SIZES[i] * MB) for i, of in enumerate(LISTS)]
    named = {d.broker for d in dirs}
    others = [log_dir(b, "/d", 0) for b in (1, 2, 3, 4) if b not in named]
    seen = snapshot(states, registered=brokers(4, racks))
    return from_snapshot(replace(seen, log_dirs=(*dirs, *others)), "4.3")


def after(world: Simulation, read: Reader, *sections: str) -> LoopRun:
    return run_loop(world, [Release(0, read(*sections))], 3 * HOUR)


def where(month: LoopRun) -> Mapping[int, str]:
    placed = {**month.simulation.world.initial_dirs, **month.simulation.world.placed}
    return {n.partition: path for (n, broker), path in placed.items() if broker == 1}


def test_replicas_go_to_another_directory_of_the_broker_in_the_least_bytes(read: Reader) -> None:
    world = filled(log_dir(1, "/a", 900, (0, 1, 2, 3)), log_dir(1, "/b", 0))
    month = after(world, read, BY_LIST, POLICY)  # lists stay as they are, so they do not matter
    [done] = rounds_of(month)
    assert (done.result, done.kinds) == (RoundResult.DONE, (DeviationKind.LOG_DIR_FULL,))
    assert done.text == f"{done.moves} of {done.moves} replicas in their directories"
    [lasted] = [one for one in month.watched.all_lasted() if one.until is not None]
    assert (lasted.kind, lasted.by_round) == (DeviationKind.LOG_DIR_FULL, True)
    assert 900 <= done.began_at - month.watched.began <= 1_300
    assert where(month) == {0: "/a", 1: "/a", 2: "/a", 3: "/b"}
    assert lists_of(month) == [replicas(*of) for of in LISTS]
    last = last_of(month)
    assert last.deviations == ()


def test_without_another_directory_those_by_rule_go_to_a_broker_that_has_room(read: Reader) -> None:
    world = filled(log_dir(1, "/a", 960), log_dir(3, "/d", 840), log_dir(4, "/d", 100))
    month = after(world, read, RULE, POLICY)
    [done] = rounds_of(month)
    assert done.result is RoundResult.DONE
    assert done.bytes == 150 * MB  # 110 MB are too much: 100 and 50, not 200
    moved = [
        of for of, before in zip(lists_of(month), LISTS, strict=True) if set(of) != set(before)
    ]
    assert len(moved) == 2
    assert all(1 not in of for of in moved)
    assert 3 not in lists_of(month)[2]


@pytest.mark.parametrize(
    ("racks", "full"),
    [
        ("abbb", {1: FitsNowhere(50 * MB)}),
        ("abba", {1: Refused("no-room"), 4: FitsNowhere(50 * MB)}),
    ],
    ids=["alone in its rack", "beside one without room"],
)
def test_what_its_rule_would_ask_back_stays_where_it_is(
    read: Reader, racks: str, full: Mapping[int, WhyNot]
) -> None:
    """Who leaves broker 1 leaves its rack."""
    world = filled(*(log_dir(b, "/a", 900) for b in full), racks=racks)
    by_rack = "assignments: {orders: {replicationFactor: 2, spread: rack}}"
    month = after(world, read, by_rack, POLICY)
    assert rounds_of(month) == []
    last = last_of(month)
    assert {d.kind for d in last.deviations} == {DeviationKind.LOG_DIR_FULL}
    assert {d.subject.broker: d.why_not for d in last.deviations} == full


def test_what_gives_its_room_back_late_is_not_followed_by_more(read: Reader) -> None:
    """Whatever the policy says: files are deleted a minute after a replica has left."""
    at_once = POLICY.replace("15m", "0s")
    month = after(filled(log_dir(1, "/a", 900)), read, RULE, at_once)
    [done] = rounds_of(month)
    assert (done.result, done.moves) == (RoundResult.DONE, 1)


@pytest.mark.parametrize("allowed", [True, False])
def test_log_directories_are_balanced_where_policy_says_so_and_else_reported(
    read: Reader, allowed: bool
) -> None:
    world = filled(log_dir(1, "/a", 650, (0, 1, 2, 3)), log_dir(1, "/b", 0))
    policy = "reconcile: {putRight: {outOfBalance: 10m}}" if allowed else ""
    month = after(world, read, RULE, "balance: {logDirs: 10%}", policy)
    last = before_the_end(month)
    assert lists_of(month) == [replicas(*of) for of in LISTS]
    if allowed:
        [done] = rounds_of(month)
        assert (done.result, done.kinds) == (RoundResult.DONE, (DeviationKind.OUT_OF_BALANCE,))
        assert done.began_at - month.watched.began >= 600
        sizes = [sum(SIZES[i] for i, p in where(month).items() if p == of) for of in ("/a", "/b")]
        assert max(sizes) - min(sizes) <= sum(SIZES) // 10
        assert last.state is LoopState.AT_REST
    else:
        assert rounds_of(month) == []
        [one] = last.deviations
        assert (one.kind, one.why_not) == (DeviationKind.OUT_OF_BALANCE, NotAllowed())
        assert one.subject.detail == "1 replicas to other log directories"


def test_a_balance_brings_nothing_to_a_broker_whose_directory_is_full_or_would_be(
    read: Reader,
) -> None:
    """Else the one moves replicas there, and the other away, for ever."""
    world = filled(log_dir(4, "/d", 840))
    policy = "reconcile: {putRight: {outOfBalance: 0s, logDirFull: {above: 85%, for: 0s}}}"
    month = after(world, read, RULE, "balance: {replicas: 10%}", policy)
    assert rounds_of(month) == []
    last = before_the_end(month)
    assert [(d.kind, d.why_not) for d in last.deviations] == [
        (DeviationKind.OUT_OF_BALANCE, FillsLogDirs((4,)))
    ]
    assert "log directories of broker 4" in str(FillsLogDirs((4,)))
    roomy = after(filled(log_dir(4, "/d", 100)), read, RULE, "balance: {replicas: 10%}", policy)
    assert [done.kinds for done in rounds_of(roomy)] == [(DeviationKind.OUT_OF_BALANCE,)]


def test_declared_lists_are_only_reported(read: Reader) -> None:
    month = after(filled(log_dir(1, "/a", 900)), read, BY_LIST, POLICY)
    assert rounds_of(month) == []
    last = last_of(month)
    assert [(d.kind, d.why_not) for d in last.deviations] == [
        (DeviationKind.LOG_DIR_FULL, DeclaredByList())
    ]


def test_other_brokers_are_proposed_for_declared_lists(read: Reader) -> None:
    found, placement = Heard(), read(BY_LIST, POLICY)
    releases = [Release(hour * HOUR, placement) for hour in range(3)]
    run_loop(filled(log_dir(1, "/a", 900)), releases, 3 * HOUR, also=found)
    empty, proposal = found.proposals  # it is not full for long enough at first
    assert empty.lists == {}
    assert {topic: [*of] for topic, of in proposal.lists.items()} == {"orders": [3]}
    [wanted] = proposal.lists["orders"].values()
    assert len(wanted) == 2
    assert 3 in wanted
    assert 1 not in wanted


def test_where_nothing_has_room_nothing_is_done_and_it_says_so(read: Reader) -> None:
    world = filled(
        log_dir(1, "/a", 900, (0, 1, 2, 3)),
        log_dir(1, "/b", 840),
        *(log_dir(b, "/d", 845) for b in (2, 3, 4)),
    )
    month = after(world, read, RULE, POLICY)
    assert rounds_of(month) == []
    last = last_of(month)
    assert [(d.kind, d.why_not) for d in last.deviations] == [
        (DeviationKind.LOG_DIR_FULL, FitsNowhere(50 * MB))
    ]
    assert month.watched.states[LoopState.DIFFERS] > 2 * HOUR


def test_what_has_left_counts_before_its_files_are_deleted(read: Reader) -> None:
    """A directory that stays full for a minute, as its files are deleted late, is not emptied further."""
    world = filled(log_dir(1, "/a", 900, (0, 1, 2, 3)), log_dir(1, "/b", 0))
    speeds = replace(world.world.speeds, delete_seconds=600.0)
    month = after(replace(world, world=replace(world.world, speeds=speeds)), read, RULE, POLICY)
    [done] = rounds_of(month)
    assert done.moves == 1


DIRS = st.lists(st.integers(1, 40), max_size=7)


@given(DIRS, st.integers(0, 200), st.integers(0, 300), st.sampled_from([50, 85]))
def test_no_set_of_fewer_bytes_brings_it_below_the_share(
    sizes: list[int], others: int, room: int, above: int
) -> None:
    """One full directory and one other, of the broker; what else lies there cannot move."""
    used = min(others + sum(sizes), 1_000)
    dirs = (
        LogDir(
            BrokerId(1), "/a", 1_000, 1_000 - used, replicas={"orders": tuple(range(len(sizes)))}
        ),
        LogDir(BrokerId(1), "/b", 2_000, room),
    )
    states = [state([1], partition=i, size=s) for i, s in enumerate(sizes)]
    seen = snapshot(states or [state([2])], log_dirs=dirs)
    found = full_log_dirs(Alignment.of(placement(), seen), Fraction(above, 100))
    excess, free = used - 10 * above, min(room - 200, room - 2_000 + 20 * above)
    full = [f for f in found if f.path == "/a"]
    if excess <= 0:
        assert full == []
        return
    [one] = full
    moved = sum(m.bytes for m in one.moves)
    enough = [
        sum(some)
        for n in range(len(sizes) + 1)
        for some in combinations(sizes, n)
        if excess <= sum(some) <= free
    ]
    assert moved <= max(0, free)
    assert one.unrelieved == max(0, excess - moved)
    if enough and sum(sizes) <= free:
        assert moved == min(enough)
    assert len({m.partition for m in one.moves}) == len(one.moves)


def test_directories_of_one_volume_are_one(read: Reader) -> None:
    dirs = (log_dir(1, "/a", 895, (0, 1)), log_dir(1, "/b", 900, (2, 3)))  # said a moment later
    states = [state(of, partition=i, size=SIZES[i] * MB) for i, of in enumerate(LISTS)]
    seen = snapshot(states, registered=brokers(4, "abcd"), log_dirs=dirs)
    declared = read(RULE)
    [found] = full_log_dirs(Alignment.of(declared, seen), Fraction(85, 100))
    assert found == FullLogDir(BrokerId(1), "/a", TOTAL * MB, 900 * MB, unrelieved=50 * MB)
    roomy = replace(seen, log_dirs=(*dirs, log_dir(4, "/d", 0)))
    [found] = full_log_dirs(Alignment.of(declared, roomy), Fraction(85, 100))
    assert (found.leaving, found.unrelieved) == ((TopicPartition("orders", 3),), 0)


def test_disks_that_are_equally_full_are_two(read: Reader) -> None:
    """Each holds what it has in use; relief of a broker is not less for it, nor what the others take."""
    sizes = [440, 450, 440, 450]
    states = [state(of, partition=i, size=sizes[i] * MB) for i, of in enumerate(LISTS)]
    dirs = (log_dir(1, "/a", 890, (0, 1)), log_dir(1, "/b", 890, (2, 3)))
    other = (log_dir(4, "/c", 0), log_dir(4, "/d", 0))
    seen = snapshot(states, registered=brokers(4, "abcd"), log_dirs=(*dirs, *other))
    found = full_log_dirs(Alignment.of(read(RULE), seen), Fraction(85, 100))
    assert [(of.path, of.leaving, of.unrelieved) for of in found] == [
        ("/a", (TopicPartition("orders", 0),), 0),
        ("/b", (TopicPartition("orders", 2),), 0),
    ]
    volumes = with_room_below(seen, Fraction(85, 100), frozenset()).volumes
    below = [*volumes[BrokerId(1)], *volumes[BrokerId(4)]]
    assert [[d.path for d in of] for of in below] == [["/a"], ["/b"], ["/c"], ["/d"]]
    assert [of[0].room() for of in below] == [0, 0, 850 * MB, 850 * MB]


def test_a_volume_of_several_directories_has_its_room_in_each_since_kafka_chooses_one(
    read: Reader,
) -> None:
    """The directory with the fewest logs may be any of them, and the room is that of one volume."""
    states = [state(of, partition=i, size=SIZES[i] * MB) for i, of in enumerate(LISTS)]
    fewer = [log_dir(4, path, 300) for path in ("/d", "/e")]
    dirs = (log_dir(1, "/a", 900, (0, 1, 2, 3)), replace(fewer[0], logs=5), fewer[1])
    seen = snapshot(states, registered=brokers(4, "abcd"), log_dirs=dirs)
    [below] = with_room_below(seen, Fraction(85, 100), frozenset()).volumes[BrokerId(4)]
    assert [(d.path, d.room()) for d in below] == [("/d", 550 * MB), ("/e", 550 * MB)]
    world = from_snapshot(seen, "4.3")
    policy = "reconcile: {putRight: {logDirFull: {above: 85%, for: 0s}}}"
    month = run_loop(world, [Release(0, read(RULE, policy))], 30 * HOUR)
    [done] = rounds_of(month)
    assert done.kinds == (DeviationKind.LOG_DIR_FULL,)
    assert end_of(month) is LoopState.AT_REST


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.sampled_from([TOTAL, TOTAL + 1]), st.integers(0, TOTAL)),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([Fraction(1, 2), Fraction(85, 100), Fraction(1)]),
)
def test_volumes_are_the_same_with_the_room_below_a_share(
    of_broker: list[tuple[int, int, int]], share: Fraction
) -> None:
    dirs = tuple(
        LogDir(BrokerId(1), f"/{n}-{i}", total * MB, min(usable, total) * MB, 0)
        for n, (count, total, usable) in enumerate(of_broker)
        for i in range(count)
    )
    seen = snapshot([state((1,))], log_dirs=dirs)
    volumes = seen.volumes[BrokerId(1)]
    below = with_room_below(seen, share, frozenset()).volumes[BrokerId(1)]
    wanted = {tuple(sorted(d.path for d in v)): room_on(v, free=free_below(share)) for v in volumes}
    rooms = {tuple(sorted(d.path for d in v)): room_on(v) for v in below}
    assert rooms == wanted
    assert all(d.room() == v[0].room() for v in below for d in v)


@given(st.integers(0, TOTAL * MB // 10))
def test_empty_disks_stay_two_whatever_room_they_have_to_the_byte(used: int) -> None:
    share, size = Fraction(85, 100), TOTAL * MB
    dirs = tuple(LogDir(BrokerId(1), path, size, size - used, 0) for path in ("/a", "/b"))
    seen = snapshot([state((1,))], log_dirs=dirs)
    below = with_room_below(seen, share, frozenset()).volumes[BrokerId(1)]
    assert [[d.path for d in of] for of in below] == [["/a"], ["/b"]]
    assert [of[0].room() for of in below] == [dirs[0].room(1 - share)] * 2


def test_a_balance_of_log_dirs_fills_none_that_the_policy_empties(read: Reader) -> None:
    """Something else has 700 of 1,000 MB of the first volume: by its replicas it has too few, once one has left."""
    states = [state((1,), partition=i, size=100 * MB) for i in range(4)]
    seen = snapshot(states, registered=brokers(2, "ab"))
    dirs = (log_dir(1, "/a", 900, (0, 1)), log_dir(1, "/b", 200, (2, 3)), log_dir(2, "/d", 0))
    world = from_snapshot(replace(seen, log_dirs=dirs), "4.3")
    lists = "assignments: {orders: {partitions: [[1], [1], [1], [1]]}}"
    policy = "reconcile: {putRight: {outOfBalance: 0s, logDirFull: {above: 85%, for: 0s}}}"
    month = run_loop(world, [Release(0, read(lists, "balance: {logDirs: 10%}", policy))], 30 * HOUR)
    [done] = rounds_of(month)
    assert done.kinds == (DeviationKind.LOG_DIR_FULL,)
    assert sorted(where(month).values()) == ["/a", "/b", "/b", "/b"]
    assert end_of(month) is LoopState.AT_REST
