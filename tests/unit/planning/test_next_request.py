"""What is asked next, case by case; the comments name the state as docs/life-of-a-move.md does."""

import pytest
from tests.builders import TOPIC_ID, lists, move, state, titled

from replan.model.api import PartitionState, TopicId
from replan.planning.api import (
    Done,
    Move,
    NextStep,
    OffPath,
    Request,
    RequestKind,
    Stale,
    Wait,
    next_request,
)

MOVE = move([1, 2, 3], [4, 2, 5])
GROW = move([1, 2], [1, 2, 3])
GROW_IN_FRONT = move([1, 2], [3, 1, 2])
SHRINK = move([1, 2, 3], [2, 1])
REORDER = move([1, 2, 3], [2, 1, 3])
LEAD = move([1, 2, 3], [1, 2, 3])
SET_ONLY = move([1, 2], [2, 1], elect=False)
CORDONED = move([1, 2, 3], [2, 3, 4], unnameable=[1])
UNREGISTERED = move([1, 2, 9], [1, 4], unnameable=[9])


def expand(*listed: int) -> Request:
    return Request(RequestKind.EXPAND, lists(*listed))


def assign(*listed: int) -> Request:
    return Request(RequestKind.ASSIGN, lists(*listed))


def elect(first: int) -> Request:
    return Request(RequestKind.ELECT, lists(first))


def waits(*missing: int) -> Wait:
    return Wait(frozenset(lists(*missing)))


SETTLING = Wait(frozenset(), settling=True)
LEADERLESS = Wait(frozenset(), leaderless=True)
EXPANDED = [1, 2, 3, 4, 5]

UNSETTLED: list[tuple[str, Move, PartitionState, NextStep | None]] = [
    ("original", MOVE, state([1, 2, 3]), expand(1, 2, 3, 4, 5)),
    ("original, a kept one is dead", MOVE, state([1, 2, 3], [1, 3]), expand(1, 2, 3, 4, 5)),
    ("copying", MOVE, state(EXPANDED, [1, 2, 3, 4], adding=[4, 5]), waits(5)),
    ("copied, a kept one is dead", MOVE, state(EXPANDED, [1, 3, 4, 5], adding=[4, 5]), waits(2)),
    ("4.3+: closed with a kept one dead", MOVE, state(EXPANDED, [1, 3, 4, 5]), waits(2)),
    ("copied", MOVE, state(EXPANDED), SETTLING),
    ("copied, a leaving one is dead", MOVE, state(EXPANDED, [2, 3, 4, 5], adding=[4, 5]), SETTLING),
    ("dropping", MOVE, state([4, 2, 5, 1, 3], [1, 2, 3, 4], removing=[1, 3]), waits(5)),
    ("done", MOVE, state([4, 2, 5]), Done()),
    ("assigned, led by another", MOVE, state([4, 2, 5], leader=2), elect(4)),
    ("assigned, the first is out", MOVE, state([4, 2, 5], [2, 5]), waits(4)),
    ("original, but something is adding", MOVE, state([1, 2, 3, 6], adding=[6]), None),
    ("another order than the original", MOVE, state([2, 1, 3]), None),
    ("a list nobody asked for", MOVE, state([7, 8, 9]), None),
    ("expanded by one too many", MOVE, state([*EXPANDED, 6]), None),
    ("a kept one was taken away", MOVE, state([1, 3, 4, 5]), None),
    ("a foreign copy over our expand", MOVE, state([*EXPANDED, 6], adding=[6]), None),
    ("a foreign removal over our expand", MOVE, state([1, 4, 5, 2, 3], removing=[2, 3]), None),
    ("removing a kept one", MOVE, state([4, 2, 5, 6], removing=[6]), None),
    ("increase", GROW, state([1, 2]), expand(1, 2, 3)),
    ("increase: copying", GROW, state([1, 2, 3], [1, 2], adding=[3]), waits(3)),
    (
        "≤ 4.2: open for ever, a kept one is dead",
        GROW,
        state([1, 2, 3], [1, 3], adding=[3]),
        Done(),
    ),
    ("increase in front", GROW_IN_FRONT, state([1, 2]), expand(1, 2, 3)),
    (
        "increase in front: copied, a kept one is dead",
        GROW_IN_FRONT,
        state([1, 2, 3], [1, 3]),
        assign(3, 1, 2),
    ),
    ("increase in front: copying", GROW_IN_FRONT, state([1, 2, 3], [1, 2]), waits(3)),
    ("decrease: not settled", SHRINK, state([1, 2, 3]), SETTLING),
    ("decrease: a kept one is out", SHRINK, state([1, 2, 3], [1, 3]), waits(2)),
    (
        "decrease: assigned, a kept one fell out",
        SHRINK,
        state([2, 1, 3], [1], removing=[3]),
        waits(2),
    ),
    ("reorder", REORDER, state([1, 2, 3], [1, 2]), assign(2, 1, 3)),
    ("reorder: the first is out", REORDER, state([1, 2, 3], [1, 3]), waits(2)),
    ("reorder: a reassignment runs", REORDER, state([1, 2, 3, 4], [1, 2, 3], adding=[4]), None),
    ("lead", LEAD, state([1, 2, 3], leader=2), elect(1)),
    ("lead: done", LEAD, state([1, 2, 3]), Done()),
    ("only the set matters", SET_ONLY, state([2, 1], leader=1), Done()),
    ("cordoned", CORDONED, state([1, 2, 3]), expand(2, 3, 4)),
    ("cordoned, a kept one is out", CORDONED, state([1, 2, 3], [1, 3]), waits(2)),
    (
        "cordoned: copying",
        CORDONED,
        state([2, 3, 4, 1], [1, 2, 3], adding=[4], removing=[1]),
        waits(4),
    ),
    ("unregistered", UNREGISTERED, state([1, 2, 9], [1]), expand(1, 2, 4)),
    (
        "unregistered: copied, a leaving one is dead",
        UNREGISTERED,
        state([1, 2, 4, 9], [1, 4], adding=[4], removing=[9]),
        SETTLING,
    ),
    ("no leader", MOVE, state([1, 2, 3], [2], leader=None), LEADERLESS),
    ("no leader, expanded", MOVE, state(EXPANDED, [4], leader=None), waits(2, 5)),
    ("no leader of what stands", LEAD, state([1, 2, 3], [1], leader=None), LEADERLESS),
]


@titled("of seen expected", UNSETTLED)
def test_before_the_target_has_settled(
    of: Move, seen: PartitionState, expected: NextStep | None
) -> None:
    found = OffPath(seen) if expected is None else expected
    assert next_request(of, seen, settled=False) == found


SETTLED: list[tuple[str, Move, PartitionState, NextStep]] = [
    ("copied", MOVE, state(EXPANDED), assign(4, 2, 5)),
    ("still open (≤ 4.2)", MOVE, state(EXPANDED, [2, 3, 4, 5], adding=[4, 5]), assign(4, 2, 5)),
    ("decrease", SHRINK, state([1, 2, 3]), assign(2, 1)),
    ("cordoned: dropped by Kafka itself", CORDONED, state([2, 3, 4]), Done()),
    (
        "a dead leaving one holds the unregistered one (≤ 4.2)",
        UNREGISTERED,
        state([1, 2, 4, 9], [1, 4], adding=[4], removing=[9]),
        assign(1, 4),
    ),
    ("a dead leaving one (4.3+)", UNREGISTERED, state([1, 2, 4], [1, 4]), assign(1, 4)),
    ("no leader", SHRINK, state([1, 2, 3], [1, 2], leader=None), LEADERLESS),
    ("one of the target just fell out", MOVE, state(EXPANDED, [1, 2, 3, 4]), waits(5)),
]


@titled("of seen expected", SETTLED)
def test_once_the_target_has_settled(of: Move, seen: PartitionState, expected: NextStep) -> None:
    assert next_request(of, seen, settled=True) == expected


@pytest.mark.parametrize("found", [None, TopicId("another-topic-of-names")])
def test_a_topic_that_is_gone_or_recreated_is_stale(found: TopicId | None) -> None:
    seen = None if found is None else state([1, 2, 3], topic_id=found)
    assert next_request(MOVE, seen, settled=True) == Stale(TOPIC_ID, found)
