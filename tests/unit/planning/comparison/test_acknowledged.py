"""Known drift is neither reported nor planned, until it expires, is drained, or falls under its min ISR."""

import pytest
from tests.builders import FILE, drain, placement, snapshot, state
from tests.readings import find_drift

from replan.model.api import (
    Acknowledgement,
    MistakenPlacement,
    TopicPartition,
    Where,
)
from replan.planning.api import WarningKind, acknowledgements_of, make_plan

PLACE = Where(FILE, 40, 5)
SEEN = snapshot([state([1, 2, 3], partition=p) for p in range(3)], min_insync_replicas=2)
LISTS = {"orders": [[1, 2, 4], [1, 2, 4], [1, 2, 4]]}


def entry(topic: str, *partitions: int, expires: str = "2026-12-01") -> Acknowledgement:
    return Acknowledgement(topic, partitions or None, PLACE, "waiting for a disk", expires)


def known(topic: str, *partitions: int, expires: str = "2026-12-01") -> tuple[Acknowledgement, ...]:
    return (entry(topic, *partitions, expires=expires),)


@pytest.mark.parametrize(
    ("of", "left"),
    [
        (known("orders", 1), [0, 2]),
        (known("orders"), []),
        (known("ord*", 0, 1), [2]),
        (known("orders-*"), [0, 1, 2]),
        (known("clicks*"), [0, 1, 2]),
    ],
    ids=["a partition", "a topic", "of a pattern", "a pattern of other topics", "another pattern"],
)
def test_what_is_acknowledged_is_not_planned_and_not_reported(
    of: tuple[Acknowledgement, ...], left: list[int]
) -> None:
    asked = placement(LISTS, acknowledged=of)
    names = [TopicPartition("orders", p) for p in left]
    assert sorted(m.partition for m in make_plan(asked, SEEN).moves) == names
    drift = find_drift(asked, SEEN)
    assert [d.name for d in drift.partitions] == names
    assert len(drift.acknowledged) == 3 - len(left)
    assert drift.none is (not left)


def test_it_is_listed_with_its_reason_and_its_end() -> None:
    (warning,) = make_plan(placement(LISTS, acknowledged=known("orders", 1)), SEEN).warnings
    assert warning.kind is WarningKind.ACKNOWLEDGED
    assert warning.facts == {
        "where": str(PLACE),
        "reason": "waiting for a disk",
        "expires": "2026-12-01",
        "partitions": ("orders-1",),
        "count": 1,
    }


@pytest.mark.parametrize("expires", ["2026-11-01", SEEN.observed_at], ids=["long ago", "just now"])
def test_an_expired_entry_covers_nothing_and_is_named(expires: str) -> None:
    made = make_plan(placement(LISTS, acknowledged=known("*", expires=expires)), SEEN)
    assert len(made.moves) == 3
    assert [w.kind for w in made.warnings] == [WarningKind.ACKNOWLEDGEMENT_EXPIRED]


def test_a_partition_under_its_min_isr_is_repaired_all_the_same() -> None:
    states = [state([1, 2, 3], [1], partition=0), state([1, 2, 3], partition=1)]
    asked = placement({"orders": LISTS["orders"][:2]}, acknowledged=known("*"))
    moves = make_plan(asked, snapshot(states, min_insync_replicas=2)).moves
    assert [m.partition.partition for m in moves] == [0]


def test_a_drained_broker_overrides_it() -> None:
    asked = placement(LISTS, acknowledged=known("*"), replica_blacklist=drain(3))
    assert find_drift(asked, SEEN).acknowledged == ()


def test_the_most_particular_entry_counts() -> None:
    orders, first, many = entry("orders"), entry("orders", 0), entry("ord*")
    asked = placement(LISTS, acknowledged=(many, orders, first))
    names = [TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("ord", 0)]
    counts = acknowledgements_of(names, asked, SEEN)
    found = {str(name): one for name, one in zip(names, counts, strict=True)}
    assert found == {"orders-0": first, "orders-1": orders, "ord-0": many}


def test_an_entry_for_some_partitions_leaves_the_others_to_an_entry_for_more() -> None:
    asked = placement(LISTS, acknowledged=(entry("*"), entry("orders", 0)))
    assert make_plan(asked, SEEN).moves == ()


def test_two_patterns_that_match_equally_well_are_an_error_with_both_places() -> None:
    asked = placement(LISTS, acknowledged=(entry("ord*"), entry("ord?rs")))
    with pytest.raises(MistakenPlacement, match=r"topic orders matches ord\?rs as well as ord\*"):
        make_plan(asked, SEEN)
