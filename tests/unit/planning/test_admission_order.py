"""Who is admitted first."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import move, state

from replan.model.api import BrokerId
from replan.planning.api import ObservedMove, Urgency, admission_order, urgency


def copy(
    partition: int, *, leader: int = 1, size: int = 100, in_sync: int = 3, topic: str = "t"
) -> ObservedMove:
    listed = [1, 2, 3]
    of = move(listed, [1, 2, 4], partition=partition, topic=topic, size=size, leader=leader)
    return of, state(listed, listed[:in_sync], partition=partition, topic=topic)


def to(partition: int, new: int, *, leader: int, size: int = 100) -> ObservedMove:
    """From a broker that leads alone to another one."""
    of = move([leader], [new], partition=partition, topic="t", size=size, leader=leader)
    return of, state([leader], topic="t", partition=partition)


def instant(partition: int) -> ObservedMove:
    return move([1, 2], [2, 1], partition=partition, topic="t", leader=1), state(
        [1, 2], partition=partition
    )


def order(*judged: ObservedMove) -> list[int]:
    return [m.partition.partition for m in admission_order(judged)]


def test_each_move_has_the_urgency_of_its_partition() -> None:
    assert urgency(*copy(0, in_sync=1)) is Urgency.HEAL
    assert urgency(*copy(0, in_sync=2)) is Urgency.ENDANGERED
    assert urgency(*copy(0, in_sync=3)) is Urgency.DATA
    assert urgency(*instant(0)) is Urgency.INSTANT
    assert urgency(*copy(0, in_sync=1, topic="__x")) is Urgency.HEAL
    assert urgency(*copy(0, in_sync=2, topic="__x")) is Urgency.INTERNAL
    election, seen = copy(0, in_sync=2, topic="__x")
    assert urgency(replace(election, target=election.original), seen) is Urgency.INSTANT


def test_the_minimum_is_never_more_than_the_replicas_that_are_assigned() -> None:
    only = move([1], [1, 2], min_insync_replicas=3)
    assert urgency(only, state([1])) is Urgency.ENDANGERED


def test_heal_first_then_what_is_free_then_the_endangered_then_data_internal_topics_last() -> None:
    judged = (
        copy(0, topic="__x", in_sync=2),
        copy(1),
        copy(2, in_sync=2),
        instant(3),
        copy(4, in_sync=1),
    )
    assert order(*judged) == [4, 3, 2, 1, 0]


def test_instant_moves_go_by_name() -> None:
    assert order(instant(10), instant(9), instant(2)) == [2, 9, 10]


def test_who_has_most_left_to_send_is_next() -> None:
    one = [to(p, 4 + p, leader=1) for p in range(4)]
    assert order(*one, to(4, 8, leader=2), to(5, 9, leader=2)) == [0, 1, 2, 4, 3, 5]


def test_who_has_most_left_to_receive_is_next() -> None:
    others = [to(p, 20 + p, leader=10 + p) for p in (1, 2, 3)]
    assert order(*others, to(4, 5, leader=4), to(5, 5, leader=6)) == [4, 5, 1, 2, 3]


def test_what_one_broker_sends_and_another_receives_is_counted_for_both() -> None:
    shared = to(2, 7, leader=1, size=300)
    assert order(to(0, 5, leader=1), to(1, 6, leader=2, size=350), shared) == [0, 1, 2]


def test_empty_partitions_are_spread_too() -> None:
    judged = [to(p, 10 + p, leader=1 + p // 3, size=0) for p in range(6)]
    assert order(*judged) == [0, 3, 1, 4, 2, 5]


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(5, 8), st.integers(0, 9)), min_size=1))
def test_each_move_is_one_of_the_broker_that_has_most_left(
    asked: list[tuple[int, int, int]],
) -> None:
    judged = [to(p, new, leader=old, size=n) for p, (old, new, n) in enumerate(asked)]
    left: Counter[BrokerId] = Counter()
    for of, _ in judged:
        left.update(dict.fromkeys((of.source, *of.new), max(of.bytes, 1)))
    found = admission_order(judged)
    assert sorted(m.partition for m in found) == [m.partition for m, _ in judged]
    for of in found:
        assert max(left[of.source], left[of.new[0]]) == max(left.values())
        left.subtract(dict.fromkeys((of.source, *of.new), max(of.bytes, 1)))


def test_without_a_leader_the_first_of_the_list_is_taken_for_the_source() -> None:
    first, third = to(0, 5, leader=1), to(2, 6, leader=1)
    nobody = move([2, 1], [2, 3], partition=1, topic="t", size=150)
    assert nobody.leader is None
    assert order(third, first, (nobody, state([2, 1]))) == [0, 1, 2]


def test_the_order_does_not_depend_on_the_order_of_the_input() -> None:
    judged = [copy(p, leader=1 + p % 3, size=p % 4, in_sync=1 + p % 3) for p in range(40)]
    expected = admission_order(judged)
    for seed in range(5):
        shuffled = judged.copy()
        random.Random(seed).shuffle(shuffled)  # noqa: S311 (no secret)
        assert admission_order(shuffled) == expected
    assert BrokerId(1) in {m.leader for m in expected}
