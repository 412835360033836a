"""Which entry counts on a cluster, and what `require` asks of the topics that are there."""

import pytest
from tests.builders import FILE, placement, snapshot, state

from replan.errors import BadPlacement
from replan.model.api import (
    Broker,
    BrokerId,
    LeaderRule,
    Mistake,
    Placement,
    Requirement,
    Snapshot,
    Spread,
    TopicRule,
    Where,
)
from replan.planning.api import Alignment, check_policy, make_plan

RACKS = tuple(Broker(BrokerId(i), rack) for i, rack in enumerate(["a", "a", "b", "b", None], 1))
SEEN = snapshot([state([1, 2, 3], topic=t) for t in ("orders", "orders-x-eu")], registered=RACKS)


def mistakes(asked: Placement, seen: Snapshot = SEEN) -> list[Mistake]:
    return list(check_policy(Alignment.of(asked, seen)))


def at(line: int) -> Where:
    return Where(FILE, line, 3)


def rule(
    pattern: str, line: int, factor: int | None = None, spread: Spread | None = None
) -> TopicRule:
    places = {"replicationFactor": at(line)}
    return TopicRule(at(line), pattern, None, factor, spread, places=places)


def rules(*entries: TopicRule) -> Placement:
    return placement(rules={entry.pattern: entry for entry in entries})


def test_a_topic_that_two_patterns_match_equally_well_is_an_error_with_both_places() -> None:
    asked = rules(rule("orders-*", 7, 3), rule("orders-*-eu", 8, 3))
    with pytest.raises(BadPlacement) as refused:
        make_plan(asked, SEEN)
    assert str(refused.value) == (
        f"{FILE}:8:3: assignments: topic orders-x-eu matches orders-*-eu as well as orders-* at {FILE}:7:3; "
        "name the topic, give one of the patterns a longer prefix, or let it except the topic"
    )


def test_an_explicit_list_or_a_leader_by_partition_settles_a_tie() -> None:
    leaders = {p: LeaderRule(at(9), p, balanced=True) for p in ("orders-*", "orders-*-eu")}
    tied = rules(rule("orders-*", 7, 3), rule("orders-*-eu", 8, 3))
    asked = placement(
        {"orders-x-eu": [[1, 2, 3]]},
        rules=tied.rules,
        leader_rules=leaders,
        leaders={"orders-x-eu-0": 2},
    )
    assert mistakes(asked) == []
    (tie,) = mistakes(placement(leader_rules=leaders))
    assert tie.text.startswith("preferredLeaders: topic orders-x-eu")


@pytest.mark.parametrize(
    ("brokers", "racks"), [([1, 2], 1), ([1, 3], 2), ([1, 2, 3, 4], 2), ([1, 3, 5], 3), ([5], 1)]
)
def test_an_explicit_list_lies_in_as_many_racks_as_required(brokers: list[int], racks: int) -> None:
    seen = snapshot([state([1, 2, 3])], registered=RACKS)

    def unmet(least: int) -> list[Mistake]:
        required = {"*": Requirement(at(3), racks=least)}
        return mistakes(placement({"orders": [brokers]}, requirements=required), seen)

    assert unmet(racks) == []
    (mistake,) = unmet(racks + 1)
    assert f"orders-0: {brokers} lie in {racks} of {racks + 1} racks" in mistake.text


def test_a_pattern_is_checked_against_the_requirement_of_each_of_its_topics() -> None:
    required = {
        "*": Requirement(at(3), replication_factor=2),
        "orders-x*": Requirement(at(4), replication_factor=3, racks=2),
    }
    asked = placement(rules={"orders*": rule("orders*", 7, 2)}, requirements=required)
    found = mistakes(asked)
    assert [mistake.text.partition(": ")[0] for mistake in found] == ["orders-x-eu", "orders-x-eu"]
    enough = {"orders*": rule("orders*", 7, 3, Spread.RACK)}
    assert mistakes(placement(rules=enough, requirements=required)) == []
