"""Who is admitted first."""

import random

from msgspec.structs import replace
from tests.builders import move, state

from replan.model.names import BrokerId
from replan.model.partition import PartitionState
from replan.planning.making.admission_order import Urgency, admission_order, urgency
from replan.planning.plans.moves import Move

Judged = tuple[Move, PartitionState]


def copy(
    partition: int, *, leader: int = 1, size: int = 100, in_sync: int = 3, topic: str = "t"
) -> Judged:
    listed = [1, 2, 3]
    of = move(listed, [1, 2, 4], partition=partition, topic=topic, size=size, leader=leader)
    return of, state(listed, listed[:in_sync], partition=partition, topic=topic)


def instant(partition: int) -> Judged:
    return move([1, 2], [2, 1], partition=partition, topic="t", leader=1), state(
        [1, 2], partition=partition
    )


def order(*judged: Judged) -> list[int]:
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


def test_copies_are_spread_over_the_brokers_that_send_them() -> None:
    judged = [copy(p, leader=1) for p in range(4)] + [copy(p, leader=2) for p in (4, 5)]
    assert order(*judged) == [0, 4, 1, 5, 2, 3]


def test_a_broker_that_has_sent_much_waits_for_the_others() -> None:
    big = copy(0, leader=1, size=1000)
    judged = [big, copy(1, leader=1), *(copy(p, leader=2, size=300) for p in (2, 3, 4, 5, 6))]
    assert order(*judged) == [0, 2, 3, 4, 5, 1, 6]


def test_without_a_leader_the_first_of_the_list_is_taken_for_the_source() -> None:
    of, seen = copy(0)
    nobody = move([2, 1], [2, 3], partition=1, topic="t", size=100)
    assert nobody.leader is None
    assert order(copy(2, leader=1), (of, seen), (nobody, seen)) == [0, 1, 2]


def test_the_order_does_not_depend_on_the_order_of_the_input() -> None:
    judged = [copy(p, leader=1 + p % 3, size=p % 4, in_sync=1 + p % 3) for p in range(40)]
    expected = admission_order(judged)
    for seed in range(5):
        shuffled = judged.copy()
        random.Random(seed).shuffle(shuffled)  # noqa: S311 (no secret)
        assert admission_order(shuffled) == expected
    assert BrokerId(1) in {m.leader for m in expected}
