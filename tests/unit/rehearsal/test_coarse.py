"""The coarser model of large plans, beside full rehearsals of plans that have both."""

import random

import pytest
from tests.builders import brokers, placement, snapshot, state
from tests.unit.rehearsal.stages import MB, plan_of

from replan.model.api import BrokerId, MoveThrottle, Side, Snapshot, TopicPartition
from replan.planning.api import Plan, make_plan
from replan.rehearsal.api import Headroom, Options, coarse_rehearsal, rehearse_plan

pytestmark = pytest.mark.slow


def many(moves: int, on: int, size: int, rate: int | None) -> tuple[Plan, Snapshot]:
    """Moves of one replica each, between random brokers."""
    chance = random.Random(1)  # noqa: S311 - the same plan each time, nothing secret
    lists = [chance.sample(range(1, on + 1), 4) for _ in range(moves)]
    seen = snapshot(
        [state(of[:3], partition=p, size=size) for p, of in enumerate(lists)],
        registered=brokers(on),
    )
    throttle = None if rate is None else MoveThrottle(rate)
    targets = {"orders": [[*of[:2], of[3]] for of in lists]}
    return make_plan(placement(targets, throttle=throttle), seen), seen


@pytest.mark.parametrize(
    ("moves", "on", "size", "rate"),
    [
        (60, 6, 10_000, None),
        (80, 6, 100 * MB, None),
        (80, 6, 100 * MB, 20 * MB),
        (60, 20, MB, None),
    ],
)
def test_it_is_near_a_full_rehearsal(moves: int, on: int, size: int, rate: int | None) -> None:
    plan, seen = many(moves, on, size, rate)
    coarse, full = coarse_rehearsal(plan, seen, Options()), rehearse_plan(plan, seen, Options())
    assert coarse.seconds == pytest.approx(full.seconds, rel=0.2)
    assert coarse.headroom is not None
    assert full.smallest_headroom is not None
    assert coarse.headroom.replicas == full.smallest_headroom.replicas


def test_the_side_that_takes_longest_is_named() -> None:
    seen = snapshot(
        [state([1, 2, 3], partition=p, size=1_000 * MB) for p in range(2)], registered=brokers(5)
    )
    found = coarse_rehearsal(plan_of([1, 2, 4], [1, 2, 5], seen=seen), seen, Options()).bottleneck
    assert found is not None
    assert (found.broker, found.side, found.bytes) == (BrokerId(1), Side.LEADER, 2_000 * MB)
    assert found.bytes_per_second == 50 * MB


def test_what_producers_write_takes_its_part_of_the_rate_or_all_of_it() -> None:
    seen = snapshot([state([1, 2, 3], size=1_000 * MB)], registered=brokers(5))
    plan = plan_of([1, 2, 4], seen=seen)
    name = TopicPartition("orders", 0)
    found = coarse_rehearsal(plan, seen, Options(rates={name: 10 * MB})).bottleneck
    assert found is not None
    assert found.bytes_per_second == 50 * MB - 3 * 10 * MB
    assert coarse_rehearsal(plan, seen, Options(rates={name: 17 * MB})).seconds is None


def test_the_headroom_is_that_of_the_worst_moment() -> None:
    seen = snapshot([state([1, 2, 3], isr=[1, 2])], registered=brokers(5))
    coarse = coarse_rehearsal(plan_of([1, 2, 4], seen=seen), seen, Options())
    assert coarse.headroom == Headroom(0, TopicPartition("orders", 0), None, 2, 2, 0)


def test_a_plan_that_copies_nothing_takes_moments() -> None:
    seen = snapshot([state([1, 2, 3])], registered=brokers(5))
    found = coarse_rehearsal(plan_of([2, 1, 3], seen=seen), seen, Options())
    assert found.bottleneck is None
    assert found.seconds is not None
    assert found.seconds < 10
