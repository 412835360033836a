"""The requests that a move will take, and what a plan costs."""

from collections.abc import Sequence

import pytest
from tests.builders import move, titled

from replan.model.api import BrokerId, MoveThrottle, SideRates
from replan.planning.api import Estimate, Move, Plan, estimate, planned_requests


def plan(*moves: Move, throttle: MoveThrottle | None = None) -> Plan:
    return Plan("c", "d", {}, moves, throttle)


def shown(of: Move) -> list[str]:
    return [f"{r.kind} {','.join(map(str, r.replicas))}" for r in planned_requests(of)]


CASES: list[tuple[str, Sequence[int], Sequence[int], int | None, list[str]]] = [
    ("replace all", [1, 2, 3], [4, 5, 6], 1, ["expand 1,2,3,4,5,6", "assign 4,5,6"]),
    ("replace the leader", [1, 2, 3], [4, 2, 3], 1, ["expand 1,2,3,4", "assign 4,2,3"]),
    ("replace a follower", [1, 2, 3], [1, 2, 4], 1, ["expand 1,2,3,4", "assign 1,2,4"]),
    (
        "the leader stays, but not first",
        [1, 2, 3],
        [4, 1, 2],
        1,
        ["expand 1,2,3,4", "assign 4,1,2", "elect 4"],
    ),
    ("increase", [1, 2], [1, 2, 3], 1, ["expand 1,2,3"]),
    ("increase, led by another", [1, 2], [1, 2, 3], 2, ["expand 1,2,3", "elect 1"]),
    ("increase in front", [1, 2], [3, 1, 2], 1, ["expand 1,2,3", "assign 3,1,2", "elect 3"]),
    ("decrease", [1, 2, 3], [1, 2], 1, ["assign 1,2"]),
    ("decrease by the leader", [1, 2, 3], [2, 3], 1, ["assign 2,3"]),
    ("reorder", [1, 2, 3], [2, 1, 3], 1, ["assign 2,1,3", "elect 2"]),
    ("reorder, led by the new first", [1, 2, 3], [2, 1, 3], 2, ["assign 2,1,3"]),
    ("lead", [1, 2, 3], [1, 2, 3], 3, ["elect 1"]),
    ("no leader", [1, 2, 3], [2, 1, 3], None, ["assign 2,1,3"]),
]


@titled("original target leader expected", CASES)
def test_a_request_that_changes_nothing_is_not_planned(
    original: Sequence[int], target: Sequence[int], leader: int | None, expected: list[str]
) -> None:
    assert shown(move(original, target, leader=leader)) == expected


def test_expand_leaves_out_who_cannot_be_named_and_needs_no_assign_if_that_is_the_target() -> None:
    assert shown(move([1, 2, 9], [1, 2, 3], unnameable=[9], leader=1)) == ["expand 1,2,3"]


ESTIMATES: list[tuple[str, Plan, Estimate]] = [
    ("nothing", plan(), Estimate(0, None, None, 0)),
    (
        "one source, two receivers: the source is busiest",
        plan(move([1, 2], [3, 4], size=1000, leader=1), throttle=MoveThrottle(100)),
        Estimate(2000, 20.0, BrokerId(1), 1),
    ),
    (
        "a slow receiver",
        plan(
            move([1, 2], [1, 3], size=1000, leader=1),
            throttle=MoveThrottle(100, {BrokerId(3): SideRates(leader=None, follower=10)}),
        ),
        Estimate(1000, 100.0, BrokerId(3), 0),
    ),
    ("no throttle", plan(move([1], [1, 2], size=7, leader=1)), Estimate(7, None, None, 0)),
    (
        "unlimited",
        plan(move([1], [1, 2], size=7, leader=1), throttle=MoveThrottle(None)),
        Estimate(7, None, None, 0),
    ),
    (
        "leaders alone",
        plan(move([1, 2], [2, 1], leader=1), move([1, 2], [2, 1], leader=2, partition=1)),
        Estimate(0, None, None, 1),
    ),
]


@titled("made expected", ESTIMATES)
def test_the_estimate_is_that_of_the_busiest_broker_and_side(
    made: Plan, expected: Estimate
) -> None:
    assert estimate(made) == expected


@pytest.mark.parametrize(
    ("original", "target", "message"),
    [
        ([], [1], "orders-0: empty original"),
        ([1], [], "orders-0: empty target"),
        ([1, 1], [1], r"orders-0: duplicate replica in original \[1, 1\]"),
        ([1], [2, 3, 2], r"orders-0: duplicate replica in target \[2, 3, 2\]"),
    ],
)
def test_a_move_that_means_nothing_cannot_be_made(
    original: list[int], target: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        move(original, target)
