"""What a change of placement files means, without a cluster."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.goldens import check_cases

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


SETTINGS: dict[str, tuple[str, str]] = {
    "key by key, as the file spells it": (
        (
            "blacklists: {replicas: [{broker: 9, reason: old}], leaders: [{broker: 7}]}\n"
            "throttles: {moves: {rate: 50MB/s, brokers: {3: {leader: 20MB/s, follower: unlimited}}}}\n"
            "limits: {bytes: 2TB}\n"
            "assignments: {'metrics-*': {replicationFactor: 2}}\n"
        ),
        (
            "limits: {bytes: 3TB}\n"
            "blacklists: {replicas: [{broker: 8}, {broker: 9, reason: new}], leaders: []}\n"
            "throttles: {moves: {rate: 60MB/s, brokers: {3: {leader: 30MB/s, follower: unlimited}}}}\n"
            "assignments: {'metrics-*': {replicationFactor: 3, spread: rack}}\n"
        ),
    ),
    "nothing that nobody wrote": (
        "assignments: {orders: {partitions: {0: [1, 2]}}}\nthrottles: {moves: {rate: 5MB/s}}\n",
        (
            "assignments: {'*': {replicationFactor: 3, spread: rack}}\n"
            "balance: {replicas: 5%, weights: {3: 1.5}}\n"
            "throttles: {moves: {rate: 5MB/s, keep: true}}\n"
        ),
    ),
    "where replicas may lie: no key that follows from another, and brokers are ids and ranges": (
        (
            "assignments:\n"
            "  clicks: {replicasPerRack: {a: 2, b: 1}, maxReplicasPerBroker: 3}\n"
            "  orders: {inRack: a}\n"
            "  pay-*: {spread: rack, brokers: [1, '4-9'], except: [pay-x]}\n"
        ),
        (
            "assignments:\n"
            "  clicks: {replicasPerRack: {a: 1, b: 2}, maxReplicasPerBroker: 4}\n"
            "  orders: {spread: rack}\n"
            "  pay-*: {spread: rack, brokers: {racks: [b, a], ids: [1, '4-8']}}\n"
            "balance: {maxReplicasPerBroker: 4000}\n"
        ),
    ),
    "groups that are apart": (
        "apart: [[orders, 'pay-*'], [clicks, orders]]\n",
        "apart: [[orders, clicks]]\n",
    ),
    "groups that are apart in another order": (
        "apart: [[orders, 'pay-*'], [clicks, orders]]\n",
        "apart: [[orders, clicks], ['pay-*', orders]]\n",
    ),
    "an order of preference": (
        "lastLeaders: [3, {rack: dr}]\npreferredLeaders: {orders: {racks: [a, b]}}\n",
        "lastLeaders: [{rack: dr}, 3]\npreferredLeaders: {orders: {racks: [b, a]}}\n",
    ),
    **{
        f"rates that are not the same: {before}; {after}": (
            f"throttles: {{moves: {{{before}}}}}\n",
            f"throttles: {{moves: {{{after}}}}}\n",
        )
        for before, after in (
            ("rate: 50MB/s", "rate: 50000001B/s"),
            ("rate: 50MB/s", "rate: unlimited"),
            ("rate: 50MB/s", "rate: 50MB/s, brokers: {3: unlimited}"),
            ("rate: 50MB/s, brokers: {3: 20MB/s}", "rate: 50MB/s, brokers: {3: 10MiB/s}"),
        )
    },
}


def test_settings_are_compared_key_by_key_in_the_words_of_the_file() -> None:
    """In `goldens/placement-difference.txt`."""
    told: list[tuple[str, str]] = []
    for title, (before, after) in SETTINGS.items():
        found = compare_placements(placed(before), placed(after))
        told.append((title, render_placement_difference(found)))
    check_cases(Path(__file__).parent / "goldens" / "placement-difference.txt", told)


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
