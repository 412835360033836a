"""Killed before or after every effect, the next run goes on to the same end, and nothing of replan stays behind."""

import pytest
from tests.builders import move, state
from tests.unit.applying.lab import MB, Boundary, Killed, Lab, lab

from replan.errors import Exit
from replan.model.configs import (
    FOLLOWER_RATE,
    LEADER_REPLICAS,
    ConfigOperation,
    broker_change,
    topic_change,
)
from replan.model.declared.placement import MoveThrottle
from replan.model.names import BrokerId
from replan.reporting.application.outcome_text import outcome_text

pytestmark = pytest.mark.slow

MOVES = (
    move([1, 2, 3], [4, 2, 5], partition=0, size=20 * MB),
    move([2, 3, 1], [3, 2, 1], partition=1, size=20 * MB),
    move([3, 1, 2], [5, 1], partition=2, size=10 * MB),
)


def three_moves() -> Lab:
    """Three moves under a throttle, with entries, an order and a rate that another tool has set."""
    made = lab(
        [state(m.original, partition=m.partition.partition, size=m.bytes) for m in MOVES],
        MOVES,
        throttle=MoveThrottle(5 * MB),
    )
    made.plane.alter_configs(
        [
            topic_change("orders", LEADER_REPLICAS, ConfigOperation.SET, "7:8,0:1"),
            broker_change(BrokerId(5), FOLLOWER_RATE, ConfigOperation.SET, "9000000"),
            broker_change(BrokerId(4), FOLLOWER_RATE, ConfigOperation.SET, "1000000"),
        ]
    )
    return made


def crossings() -> int:
    """How many effects an undisturbed application has."""
    counting = Boundary()
    three_moves().apply(boundary=counting)
    return counting.crossings


def stands_at_the_target(made: Lab) -> bool:
    return all(
        (found := made.partition(m)).replicas == m.target and found.leader == m.target[0]
        for m in MOVES
    )


def test_an_undisturbed_application_arrives_and_leaves_no_trace() -> None:
    made = three_moves()
    before = made.configs()
    outcome = made.apply()
    assert (outcome.exit_code, outcome_text(outcome)) == (Exit.OK, "3 done")
    assert stands_at_the_target(made)
    assert made.configs() == before


EFFECTS = crossings()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("effect", range(1, EFFECTS + 1))
def test_killed_before_or_after_any_effect_the_next_run_arrives(effect: int, after: bool) -> None:
    made = three_moves()
    before = made.configs()
    boundary = Boundary(kill_after=effect) if after else Boundary(kill_before=effect)
    with pytest.raises(Killed):
        made.apply(boundary=boundary)
    outcome = made.apply()
    assert outcome.exit_code is Exit.OK
    assert stands_at_the_target(made)
    assert made.configs() == before


@pytest.mark.parametrize("first", range(1, EFFECTS + 1, 3))
def test_killed_twice_the_third_run_arrives(first: int) -> None:
    made = three_moves()
    before = made.configs()
    with pytest.raises(Killed):
        made.apply(boundary=Boundary(kill_after=first))
    second = Boundary(kill_before=3)
    try:
        made.apply(boundary=second)
    except Killed:
        made.apply()
    assert stands_at_the_target(made)
    assert made.configs() == before
