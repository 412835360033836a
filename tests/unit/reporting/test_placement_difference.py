"""What a change of placement files means, without a cluster."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.model.api import Placement
from replan.placement_file.api import Source, fastest_parser, load_sources
from replan.reporting.api import (
    ListChange,
    compare_placements,
    meaning,
    render_placement_difference,
    render_placement_difference_json,
    render_placement_difference_markdown,
)


def placed(text: str) -> Placement:
    return load_sources([Source("placement.yaml", f"version: 1\n{text}")], fastest_parser())


def lists(rows: list[list[int]]) -> Placement:
    return placed(f"assignments: {{orders: {{partitions: {rows}}}}}\n")


@pytest.mark.parametrize(
    ("before", "after", "change", "words"),
    [
        ([1, 2, 3], [1, 2, 4], ListChange.REPLICAS, "copied to 4, dropped from 3"),
        ([1, 2, 3], [1, 2], ListChange.REPLICAS, "dropped from 3, 1 copy less"),
        ([1, 2], [1, 2, 4, 5], ListChange.REPLICAS, "copied to 4, 5, 2 copies more"),
        ([1, 2, 3], [2, 1, 3], ListChange.ORDER, "led by 2 instead of 1"),
        ([1, 2, 3], [1, 3, 2], ListChange.ORDER, "order only"),
    ],
)
def test_a_list_is_compared_as_a_list(
    before: list[int], after: list[int], change: ListChange, words: str
) -> None:
    found = compare_placements(lists([before]), lists([after]))
    (changed,) = found.lists
    assert (changed.change, meaning(changed)) == (change, words)
    assert found.settings == {}


def test_a_partition_that_is_declared_or_no_longer_declared_is_named() -> None:
    found = compare_placements(lists([[1, 2]]), lists([[1, 2], [2, 1]]))
    assert [(str(c.partition), c.change) for c in found.lists] == [
        ("orders-1", ListChange.DECLARED)
    ]
    back = compare_placements(lists([[1, 2], [2, 1]]), lists([[1, 2]]))
    assert [c.change for c in back.lists] == [ListChange.NOT_DECLARED]


def test_everything_else_is_compared_key_by_key_as_the_file_spells_it() -> None:
    before = placed(
        "blacklists: {replicas: [{broker: 9, reason: old}], leaders: [{broker: 7}]}\n"
        "throttles: {moves: {rate: 50MB/s, brokers: {3: {leader: 20MB/s, follower: unlimited}}}}\n"
        "limits: {bytes: 2TB}\n"
        "assignments: {'metrics-*': {replicationFactor: 2}}\n"
    )
    after = placed(
        "limits: {bytes: 3TB}\n"
        "blacklists: {replicas: [{broker: 8}, {broker: 9, reason: new}], leaders: []}\n"
        "throttles: {moves: {rate: 60MB/s, brokers: {3: {leader: 30MB/s, follower: unlimited}}}}\n"
        "assignments: {'metrics-*': {replicationFactor: 3, spread: rack}}\n"
    )
    found = compare_placements(before, after)
    assert found.lists == ()
    assert {
        "blacklists.replicas.9.reason": ("old", "new"),
        "blacklists.replicas.8.broker": (None, "8"),
        "blacklists.leaders.7.broker": ("7", None),
        "throttles.moves.rate": ("50 MB/s", "60 MB/s"),
        "throttles.moves.brokers.3.leader": ("20 MB/s", "30 MB/s"),
        "limits.bytes": ("2 TB", "3 TB"),
        "assignments.metrics-*.replicationFactor": ("2", "3"),
        "assignments.metrics-*.spread": (None, "rack"),
    }.items() <= found.settings.items()


@pytest.mark.parametrize(
    ("before", "after", "key", "said"),
    [
        ("rate: 50MB/s", "rate: 50000001B/s", "rate", ("50 MB/s", "50000001 B/s")),
        ("rate: 50MB/s", "rate: unlimited", "rate", ("50 MB/s", "unlimited")),
        (
            "rate: 50MB/s",
            "rate: 50MB/s, brokers: {3: unlimited}",
            "brokers.3",
            (None, "unlimited"),
        ),
        (
            "rate: 50MB/s, brokers: {3: 20MB/s}",
            "rate: 50MB/s, brokers: {3: 10MiB/s}",
            "brokers.3",
            ("20 MB/s", "10485760 B/s"),
        ),
    ],
)
def test_no_other_rate_passes_for_the_same(
    before: str, after: str, key: str, said: tuple[str | None, str]
) -> None:
    both = (placed(f"throttles: {{moves: {{{of}}}}}\n") for of in (before, after))
    assert compare_placements(*both).settings == {f"throttles.moves.{key}": said}


def test_it_is_said_in_the_words_of_the_file_and_nothing_that_nobody_wrote() -> None:
    before = placed(
        "assignments: {orders: {partitions: {0: [1, 2]}}}\nthrottles: {moves: {rate: 5MB/s}}\n"
    )
    after = placed(
        "assignments: {'*': {replicationFactor: 3, spread: rack}}\n"
        "balance: {replicas: 5%, weights: {3: 1.5}}\n"
        "throttles: {moves: {rate: 5MB/s, keep: true}}\n"
    )
    assert compare_placements(before, after).settings == {
        "assignments.*.replicationFactor": (None, "3"),
        "assignments.*.spread": (None, "rack"),
        "balance.replicas": (None, "5%"),
        "balance.weights.3": (None, "1.5"),
        "throttles.moves.keep": (None, "true"),
    }


def test_where_replicas_may_lie_is_said_as_it_is_written() -> None:
    """What follows from a key is no key of its own, and brokers are ids and ranges."""
    before = placed(
        "assignments:\n"
        "  clicks: {replicasPerRack: {a: 2, b: 1}, maxReplicasPerBroker: 3}\n"
        "  orders: {inRack: a}\n"
        "  pay-*: {spread: rack, brokers: [1, '4-9'], except: [pay-x]}\n"
    )
    after = placed(
        "assignments:\n"
        "  clicks: {replicasPerRack: {a: 1, b: 2}, maxReplicasPerBroker: 4}\n"
        "  orders: {spread: rack}\n"
        "  pay-*: {spread: rack, brokers: {racks: [b, a], ids: [1, '4-8']}}\n"
        "balance: {maxReplicasPerBroker: 4000}\n"
    )
    assert compare_placements(before, after).settings == {
        "assignments.clicks.maxReplicasPerBroker": ("3", "4"),
        "assignments.clicks.replicasPerRack.a": ("2", "1"),
        "assignments.clicks.replicasPerRack.b": ("1", "2"),
        "assignments.orders.inRack": ("a", None),
        "assignments.orders.spread": (None, "rack"),
        "assignments.pay-*.brokers": ("1, 4-9", None),
        "assignments.pay-*.brokers.ids": (None, "1, 4-8"),
        "assignments.pay-*.brokers.racks": (None, "a, b"),
        "assignments.pay-*.except": ("pay-x", None),
        "balance.maxReplicasPerBroker": (None, "4000"),
    }


def test_each_group_that_is_apart_is_named_and_their_order_is_nothing() -> None:
    one = placed("apart: [[orders, 'pay-*'], [clicks, orders]]\n")
    same = placed("apart: [[orders, clicks], ['pay-*', orders]]\n")
    assert compare_placements(one, same).none
    fewer = placed("apart: [[orders, clicks]]\n")
    assert compare_placements(one, fewer).settings == {
        "apart": ("clicks, orders; orders, pay-*", "clicks, orders")
    }


def test_an_order_of_preference_is_an_order() -> None:
    one = placed("lastLeaders: [3, {rack: dr}]\npreferredLeaders: {orders: {racks: [a, b]}}\n")
    other = placed("lastLeaders: [{rack: dr}, 3]\npreferredLeaders: {orders: {racks: [b, a]}}\n")
    assert compare_placements(one, other).settings == {
        "lastLeaders": ("3, {rack: dr}", "{rack: dr}, 3"),
        "preferredLeaders.orders.racks": ("a, b", "b, a"),
    }


ROWS = st.lists(st.permutations([1, 2, 3, 4]).map(lambda p: p[:3]), min_size=1, max_size=4)


@given(ROWS, ROWS)
def test_nothing_differs_exactly_where_both_mean_the_same(
    one: list[list[int]], other: list[list[int]]
) -> None:
    before, after = lists(one), lists(other)
    assert compare_placements(before, before).none
    assert compare_placements(before, after).none == (before.digest == after.digest)
    there, back = compare_placements(before, after).lists, compare_placements(after, before).lists
    assert [(c.before, c.after) for c in there] == [(c.after, c.before) for c in back]


def test_the_forms_say_the_same() -> None:
    found = compare_placements(
        lists([[1, 2, 3]]),
        placed("assignments: {orders: {partitions: [[2, 1, 3]]}}\nlimits: {topics: 3}\n"),
    )
    assert render_placement_difference(found) == (
        "orders-0  [1,2,3] -> [2,1,3]  led by 2 instead of 1\n"
        "limits.topics: none -> 3\n"
        "Changed: 1 list in another order, 1 setting.\n"
    )
    assert "| `orders-0` | `[1,2,3]` | `[2,1,3]` |" in render_placement_difference_markdown(found)
    document = json.loads(render_placement_difference_json(found))
    assert document["lists"][0]["change"] == "order"
    same = compare_placements(lists([[1]]), lists([[1]]))
    assert render_placement_difference(same) == "Both mean the same.\n"
