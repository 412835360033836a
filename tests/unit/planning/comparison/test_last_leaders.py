"""`lastLeaders`: the order of every list, and who leads."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import FILE, brokers, listed_leader, placement, ruled, snapshot, state
from tests.readings import arrives, find_drift

from replan.model.api import BrokerId, LastLeaders, Placement, Snapshot, Where
from replan.planning.api import ReasonKind, WarningKind, make_plan

THERE = Where(FILE, 4, 14)


def last(*entries: int | str) -> LastLeaders:
    of = tuple(BrokerId(e) if isinstance(e, int) else e for e in entries)
    return LastLeaders(THERE, of, dict.fromkeys(of, THERE))


def ordered(asked: Placement, seen: Snapshot) -> dict[str, tuple[int, ...]]:
    return {str(m.partition): m.target for m in make_plan(asked, seen).moves}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ((3,), (1, 2, 4, 3)),
        ((3, 1), (2, 4, 3, 1)),
        (("a",), (3, 2, 1, 4)),
        (("a", 3), (2, 1, 4, 3)),
        ((4, "a"), (3, 2, 4, 1)),
        ((1, 2, 3, 4), (1, 2, 3, 4)),
        ((9,), (3, 1, 2, 4)),
        (("z",), (3, 1, 2, 4)),
    ],
)
def test_the_entries_stand_last_in_their_order(entries: Any, expected: Any) -> None:
    """Brokers 1 and 4 are in rack a."""
    seen = snapshot([state([3, 1, 2, 4])], registered=brokers(4, "abc"))
    asked = placement(last_leaders=last(*entries))
    found = ordered(asked, seen).get("orders-0", (3, 1, 2, 4))
    assert found == expected
    plan = arrives(asked, seen)
    assert all(m.reason.kind is ReasonKind.LAST_LEADER for m in plan.moves)
    assert plan.remember == frozenset()


def test_lists_rules_and_preferred_leaders_give_way_and_a_blacklisted_one_stands_behind() -> None:
    seen = snapshot(
        [state([1, 2, 3]), state([1, 2, 3], topic="clicks")], registered=brokers(4, "a")
    )
    asked = placement(
        {"orders": [[1, 2, 3]]},
        rules=ruled("clicks", replication_factor=3),
        leaders={"clicks-0": 1},
        last_leaders=last(1),
    )
    assert ordered(asked, seen) == {"orders-0": (2, 3, 1), "clicks-0": (2, 3, 1)}
    kinds = {w.kind for w in make_plan(asked, seen).warnings}
    assert WarningKind.PREFERRED_LAST in kinds
    with_blacklist = replace(asked, leader_blacklist=(listed_leader(2),))
    assert ordered(with_blacklist, seen) == {"orders-0": (3, 1, 2), "clicks-0": (3, 1, 2)}


def test_one_that_leads_gives_way_where_another_is_in_sync() -> None:
    asked = placement(last_leaders=last(3))
    led = snapshot([state([1, 2, 3], leader=3)], registered=brokers(3, "a"))
    [move] = make_plan(asked, led).moves
    assert (move.target, move.elect) == ((1, 2, 3), True)
    behind = snapshot([state([1, 2, 3], isr=[2, 3], leader=3)], registered=brokers(3, "a"))
    [move] = make_plan(asked, behind).moves
    assert (move.target[0], move.leader) == (2, 3)
    alone = snapshot([state([1, 2, 3], isr=[3], leader=3)], registered=brokers(3, "a"))
    assert not [m for m in make_plan(asked, alone).moves if m.elect]


def test_a_leader_that_nobody_declares_is_left_where_no_last_one_leads() -> None:
    seen = snapshot([state([1, 2, 3], leader=2)], registered=brokers(3, "a"))
    assert find_drift(placement(last_leaders=last(3)), seen).none
