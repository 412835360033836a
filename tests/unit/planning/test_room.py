"""Room on disks: no copy ever exceeds it, what can be made to fit is planned, and a knot is named."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import brokers, move, placement, snapshot, state

from replan.model.api import (
    HEADROOM,
    BrokerId,
    LogDir,
    PartitionState,
    Snapshot,
    TopicPartition,
    volumes,
)
from replan.planning.api import (
    Disks,
    Move,
    NoRoomFor,
    RefusalRule,
    dumps,
    in_room_order,
    loads,
    make_plan,
)

TOTAL = 1000
KEPT = int(TOTAL * HEADROOM)
B = [BrokerId(n) for n in range(5)]


def disk(broker: int, takes: int | None, path: str = "/d", logs: int = 1) -> LogDir:
    usable = None if takes is None else takes + KEPT
    return LogDir(BrokerId(broker), path, TOTAL, usable, logs)


def with_disks(states: list[PartitionState], *takes: int | None, racks: str = "a") -> Snapshot:
    """Brokers 1.. whose disks can take so many bytes, beside the tenth that stays free."""
    dirs = tuple(disk(broker, room) for broker, room in enumerate(takes, 1))
    found = snapshot(states, registered=brokers(len(takes), racks), min_insync_replicas=1)
    return replace(found, log_dirs=dirs)


def goes(partition: int, source: int, target: int, size: int) -> Move:
    return move([source], [target], partition=partition, size=size, min_insync_replicas=1)


def room_order(moves: Sequence[Move], dirs: Sequence[LogDir]) -> tuple[list[Move], list[NoRoomFor]]:
    return in_room_order(moves, volumes(dirs))


def numbers(moves: list[Move]) -> list[int]:
    return [m.partition.partition for m in moves]


def test_room_is_made_before_it_is_used() -> None:
    chain = [goes(0, 1, 2, 80), goes(1, 2, 3, 80), goes(2, 3, 4, 80)]
    dirs = [disk(1, 0), disk(2, 10), disk(3, 0), disk(4, 100)]
    ordered, stuck = room_order(chain, dirs)
    assert (numbers(ordered), stuck) == ([2, 1, 0], [])


def test_with_room_enough_the_order_stays() -> None:
    moves = [goes(n, 1, 2, 10) for n in range(5)]
    assert room_order(moves, [disk(2, 50)]) == (moves, [])
    assert room_order(moves, [disk(2, None)]) == (moves, [])
    assert room_order(moves, []) == (moves, [])


def test_what_fits_once_smaller_replicas_lie_in_the_directory_before_it_comes_behind_them() -> None:
    """Kafka makes a replica in the directory with the fewest logs: the full one, until it has as many as the other."""
    dirs = [disk(2, 20, "/full", logs=1), disk(2, 500, "/wide", logs=2)]
    moves = [goes(0, 1, 2, 80), goes(1, 3, 2, 5), goes(2, 3, 2, 5)]
    ordered, stuck = room_order(moves, dirs)
    assert (numbers(ordered), stuck) == ([1, 2, 0], [])


def test_the_order_decides_what_comes_to_lie_in_which_directory() -> None:
    """Kafka takes them in turn: the small ones have to come when it is the turn of /b, which holds no large one."""
    dirs = [disk(2, 100, "/a", logs=1), disk(2, 20, "/b", logs=1)]
    moves = [goes(n, 1, 2, size) for n, size in enumerate((10, 10, 45, 45))]
    ordered, stuck = room_order(moves, dirs)
    assert (numbers(ordered), stuck) == ([0, 2, 1, 3], [])


def test_too_little_room_is_no_knot() -> None:
    ordered, (stuck,) = room_order([goes(0, 1, 2, 80), goes(1, 3, 2, 30)], [disk(2, 50)])
    assert numbers(ordered) == [1]
    assert (stuck.broker, stuck.usable, stuck.aside) == (2, 20, None)


def test_directories_that_say_the_same_share_their_room() -> None:
    moves = [goes(0, 1, 2, 80), goes(1, 3, 2, 80)]
    shared = [disk(2, 100, "/a"), disk(2, 100, "/b")]
    ordered, (stuck,) = room_order(moves, shared)
    assert (numbers(ordered), stuck.usable) == ([0], 20)
    both, _ = room_order(moves, [disk(2, 100, "/a"), disk(2, 120, "/b")])
    assert numbers(both) == [0, 1]


def test_a_cycle_without_room_names_the_partition_to_move_aside() -> None:
    cycle = [goes(0, 1, 2, 80), goes(1, 2, 1, 70)]
    ordered, stuck = room_order(cycle, [disk(1, 10), disk(2, 10)])
    assert ordered == []
    assert [(s.move.partition.partition, s.aside) for s in stuck] == [
        (0, TopicPartition("orders", 1)),
        (1, TopicPartition("orders", 0)),
    ]
    asked = placement({"orders": [[2, 3], [1, 3]]})
    states = [state([1, 3], size=80), state([2, 3], partition=1, size=70)]
    seen = snapshot(states, registered=brokers(4, "abc"), log_dirs=(disk(1, 10), disk(2, 10)))
    plan = make_plan(asked, seen)
    assert plan.moves == ()
    assert {r.rule for r in plan.refusals} == {RefusalRule.NO_ROOM_BEFORE}
    assert loads(dumps(plan), "plan.json") == plan


def test_of_those_that_would_make_room_the_smallest_is_named_to_move_aside() -> None:
    knot = [goes(0, 1, 2, 80), goes(1, 2, 1, 90), goes(2, 2, 1, 75), goes(3, 2, 1, 60)]
    _, stuck = room_order(knot, [disk(1, 10), disk(2, 10)])
    assert stuck[0].aside == TopicPartition("orders", 2)


@pytest.mark.parametrize("other", [{"error": "offline"}, {"cordoned": True}])
def test_what_takes_no_new_replica_is_not_where_the_next_one_is_made(other: dict[str, Any]) -> None:
    dirs = [replace(disk(2, 0, "/other", logs=0), **other), disk(2, 100, "/d", logs=5)]
    moves = [goes(0, 1, 2, 50)]
    assert room_order(moves, dirs) == (moves, [])


def test_a_cycle_opens_where_one_replica_fits_beside_the_other() -> None:
    cycle = [goes(0, 1, 2, 80), goes(1, 2, 1, 70)]
    ordered, stuck = room_order(cycle, [disk(1, 70), disk(2, 10)])
    assert (numbers(ordered), stuck) == ([1, 0], [])


def test_a_replica_must_fit_into_the_directory_with_the_fewest_logs() -> None:
    dirs = [disk(2, 500, "/a", logs=3), disk(2, 10, "/b", logs=1)]
    ordered, (stuck,) = room_order([goes(0, 1, 2, 80)], dirs)
    assert (ordered, stuck.path) == ([], "/b")


@st.composite
def any_moves(draw: st.DrawFn) -> list[Move]:
    found = []
    for number in range(draw(st.integers(1, 8))):
        source, target = draw(st.permutations([1, 2, 3, 4]))[:2]
        found.append(goes(number, source, target, draw(st.integers(0, 120))))
    return found


@given(moves=any_moves(), takes=st.lists(st.integers(-20, 150), min_size=4, max_size=4))
def test_no_disk_is_ever_exceeded_and_nothing_is_left_that_would_fit(
    moves: list[Move], takes: list[int]
) -> None:
    dirs = [disk(broker, room) for broker, room in enumerate(takes, 1)]
    ordered, stuck = room_order(moves, dirs)
    assert sorted(numbers([*ordered, *(s.move for s in stuck)])) == list(range(len(moves)))
    left = dict(enumerate(takes, 1))
    for done in ordered:
        (target,), (source,) = done.new, done.leaving
        assert not done.bytes or left[target] >= done.bytes  # the old copy is still there
        left[target] -= done.bytes
        left[source] += done.bytes
    disks = Disks.of(volumes(dirs))
    for done in ordered:
        disks.done(done)
    for waiting in stuck:
        assert disks.lacking(waiting.move) is not None
        assert left[waiting.broker] < waiting.move.bytes
        if waiting.aside is not None:
            aside = next(s.move for s in stuck if s.move.partition == waiting.aside)
            assert left[waiting.broker] + aside.bytes >= waiting.move.bytes
