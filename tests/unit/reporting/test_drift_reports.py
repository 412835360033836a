"""Drift as text, markdown and json."""

import json

import pytest
from tests.builders import placement, snapshot, state
from tests.unit.reporting.golden import check

from replan.model.names import BrokerId, TopicPartition, replicas
from replan.planning.comparison.diff import DifferenceKind
from replan.planning.drift import Drift, Drifted, find_drift
from replan.reporting.drift_text import render_drift, render_drift_json, render_drift_markdown


def found() -> Drift:
    """Each class of drift."""
    states = [
        state([1, 2, 3]),
        state([2, 1, 3], partition=1),
        state([1, 2, 3], leader=3, partition=2),
        state([1, 2, 3], partition=10),
        state([1, 2, 4, 3], [1, 2, 3], adding=[4], removing=[3], partition=11),
        state([1], [1], leader=None, partition=12),
        state([1, 2], topic="clicks"),
        state([1, 2], topic="clicks", partition=1),
    ]
    asked = placement(
        {
            "orders": {
                0: [1, 2, 3],
                1: [1, 2, 3],
                2: [1, 2, 3],
                10: [1, 2],
                11: [1, 2, 4],
                12: [1],
                13: [1, 2, 3],
            },
            "clicks": [[1, 2]],
            "gone": {0: [5]},
        }
    )
    return find_drift(asked, snapshot(states))


def large(count: int) -> Drift:
    drifted = (
        Drifted(
            TopicPartition("orders", p),
            DifferenceKind.ORDER,
            replicas(1, 2),
            replicas(2, 1),
            BrokerId(2),
        )
        for p in range(count)
    )
    return Drift("c", "2026-11-21T03:00:00Z", tuple(drifted), (), ())


def test_each_class_of_drift() -> None:
    check("drift.txt", render_drift(found()))
    check("drift.md", render_drift_markdown(found()))
    check("drift.json", render_drift_json(found()))


def test_no_drift() -> None:
    none = find_drift(placement({"orders": [[1, 2]]}), snapshot([state([1, 2])]))
    assert none.none
    assert render_drift(none) == "No drift, as of 2026-11-21T03:00:00Z.\n"
    assert (
        render_drift_markdown(none) == "## replan drift\n\nNo drift, as of 2026-11-21T03:00:00Z.\n"
    )


def test_what_is_on_its_way_is_no_drift_and_is_counted() -> None:
    converging = find_drift(
        placement({"orders": [[1, 4]]}),
        snapshot([state([1, 4, 2], [1, 2], adding=[4], removing=[2])]),
    )
    assert converging.none
    assert render_drift(converging).startswith(
        "1 partition on the way to the declared list.\nNo drift"
    )


def test_more_than_five_hundred_of_a_class_are_counted_and_all_are_listed_when_asked() -> None:
    lines = render_drift(large(502)).splitlines()
    assert sum(line.startswith("  orders-") for line in lines) == 500
    assert "  and 2 more; --all lists them" in lines
    complete = render_drift(large(502), everything=True).splitlines()
    assert sum(line.startswith("  orders-") for line in complete) == 502


@pytest.mark.parametrize("count", [1, 10_000])
def test_markdown_fits_a_comment(count: int) -> None:
    assert len(render_drift_markdown(large(count))) < 65_536


def test_json_has_every_partition() -> None:
    assert len(json.loads(render_drift_json(large(10_000)))["partitions"]) == 10_000
