"""Topics that are declared apart share no broker, or the partitions that cannot be placed so are refused by name."""

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import FILE, brokers, drain, placement, ruled, snapshot, state
from tests.profiles import examples
from tests.readings import after, arrives

from replan.model.api import Apart, Placement, Snapshot, Spread, Where
from replan.planning.api import Alignment, ConstraintKind, make_plan
from replan.reporting.api import constraint_texts

pytestmark = pytest.mark.slow

THERE = Where(FILE, 20, 9)


def apart(*topics: str) -> tuple[Apart, ...]:
    return (Apart(THERE, topics),)


def shared(seen: Snapshot, groups: tuple[Apart, ...]) -> set[str]:
    """Partitions that lie on a broker with a topic that theirs is declared apart from."""
    found: set[str] = set()
    states = list(seen.states(range(seen.partitions.num_rows)))
    for group in groups:
        sides = group.sides(sorted({s.partition.topic for s in states}))
        there: dict[int, set[int]] = defaultdict(set)
        for one in states:
            for broker in one.replicas if one.partition.topic in sides else ():
                there[broker].add(sides[one.partition.topic])
        for one in states:
            if one.partition.topic in sides and any(len(there[b]) > 1 for b in one.replicas):
                found.add(str(one.partition))
    return found


@pytest.mark.parametrize("groups", [("orders", "payments-*"), ("payments-*", "orders")])
def test_the_one_with_fewer_bytes_gives_way_and_then_all_is_as_declared(
    groups: tuple[str, str],
) -> None:
    seen = snapshot(
        [
            state([1, 2], size=900),
            state([2, 3], size=100, topic="payments-a"),
            state([1, 3], size=100, topic="payments-b"),
        ],
        registered=brokers(4, "a"),
    )
    asked = placement(rules=ruled("*", replication_factor=2), apart=apart(*groups))
    plan = arrives(asked, seen)
    assert {str(m.partition): m.target for m in plan.moves} == {
        "payments-a-0": (4, 3),
        "payments-b-0": (4, 3),
    }
    assert shared(after(plan, seen), asked.apart) == set()


def test_a_rule_gives_way_to_a_list_and_a_drain_finds_no_substitute_among_the_others() -> None:
    seen = snapshot(
        [state([1, 2], size=9), state([2, 3], size=999, topic="clicks")],
        registered=brokers(4, "a"),
    )
    asked = placement(
        {"orders": [[1, 2]]},
        rules=ruled("clicks", replication_factor=2),
        apart=apart("clicks", "orders"),
    )
    assert [m.target for m in make_plan(asked, seen).moves] == [(4, 3)]
    [refusal] = make_plan(replace(asked, replica_blacklist=drain(1)), seen).refusals
    assert str(refusal.partition) == "orders-0"


def test_a_conflict_names_the_group_with_the_brokers_of_the_others() -> None:
    seen = snapshot(
        [state([1, 2, 3], size=9), state([1, 2, 3], size=5, topic="clicks")],
        registered=brokers(5, "a"),
    )
    asked = placement(rules=ruled("*", replication_factor=3), apart=apart("clicks", "orders"))
    plan = make_plan(asked, seen)
    [found] = plan.conflicts
    assert [c.kind for c in found.constraints] == [
        ConstraintKind.APART,
        ConstraintKind.REPLICATION_FACTOR,
    ]
    assert constraint_texts(found)[0] == (
        f"apart: [clicks, orders], and brokers 1-3 are left to the other topics of it ({FILE}:20:9)"
    )


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Placement, list[Any], Any]:
    count = draw(st.integers(3, 8))
    ids = st.integers(1, count)
    lists = st.lists(ids, unique=True, min_size=1, max_size=3)
    topics = draw(st.lists(st.sampled_from(["a", "b1", "b2", "c"]), min_size=1, max_size=6))
    states = [
        state(draw(lists), topic=topic, partition=topics[:i].count(topic), size=draw(ids))
        for i, topic in enumerate(topics)
    ]
    groups = [("a", "b*"), ("a", "c"), ("a", "b1", "c"), ("b1", "b2")]
    some = st.lists(st.sampled_from(groups), unique=True, min_size=1, max_size=2)
    rule = {
        "replication_factor": draw(st.integers(1, 3)),
        "spread": draw(st.sampled_from([*Spread, None])),
        "max_replicas_per_broker": draw(st.none() | st.integers(1, 3)),
    }
    asked = placement(
        rules=ruled(draw(st.sampled_from(["*", "b*"])), **rule),
        apart=tuple(Apart(THERE, group) for group in draw(some)),
        replica_blacklist=drain(*draw(st.lists(ids, unique=True, max_size=1))),
    )
    return asked, states, brokers(count, "abc", fenced=draw(st.lists(ids, max_size=1)))


@given(worlds())
@examples(fast=15, full=150, nightly=3_000)
def test_what_rules_place_is_apart_or_refused_and_the_next_plan_is_empty(world: Any) -> None:
    asked, states, registered = world
    seen = snapshot(states, registered=registered, min_insync_replicas=1)
    plan = make_plan(asked, seen)
    end = after(plan, seen)
    if not plan.refusals and "*" in asked.rules:
        assert shared(end, asked.apart) == set()
    ruled_topics, refused = (
        Alignment.of(asked, end).intents.rules,
        {r.partition for r in plan.refusals},
    )
    for move in plan.moves:
        for group in asked.apart:
            sides = group.sides(["a", "b1", "b2", "c"])
            met = [
                one.partition
                for one in end.states(range(end.partitions.num_rows))
                if not set(move.new).isdisjoint(one.replicas)
                and {one.partition.topic, move.partition.topic} <= sides.keys()
                and sides[one.partition.topic] != sides[move.partition.topic]
            ]
            assert [m for m in met if m.topic in ruled_topics and m not in refused] == []
    for _ in range(3 if plan.refusals else 0):  # what was refused may have become possible
        end = after(make_plan(asked, end), end)
    assert make_plan(asked, end).moves == ()


def test_where_every_broker_is_drained_each_partition_is_refused() -> None:
    seen = snapshot(
        [state([1, 2], size=1), state([2, 1], size=1, topic="payments-a")],
        registered=brokers(2, "a"),
    )
    rules = ruled("*", spread=Spread.IN_RACK)
    asked = placement(
        rules=rules, replica_blacklist=drain(1, 2), apart=apart("orders", "payments-*")
    )
    plan = make_plan(asked, seen)
    assert plan.moves == ()
    assert {str(r.partition) for r in plan.refusals} == {"orders-0", "payments-a-0"}
