"""A plan beyond a limit is refused whole, with what it measures, the limit, and the largest contributions."""

import pytest
from tests.builders import HERE, move, placement, snapshot, state

from replan.errors import BadUsage, Exit
from replan.model.api import Limit, Limits, Measure
from replan.planning.api import (
    Exceeded,
    LimitExceeded,
    Move,
    Plan,
    Used,
    check_limits,
    dumps,
    estimate,
    loads,
    make_plan,
    raised,
)

MOVES = [
    move([1, 2, 3], [4, 5, 3], size=100, leader=1),
    move([1, 2, 3], [1, 2, 4], partition=1, size=70, leader=1),
    move([1, 2], [2, 1], topic="clicks", size=9, leader=1),
    move([1, 2, 3], [1, 2], topic="clicks", partition=1, leader=1),
]


def limits(measure: Measure, most: int) -> Limits:
    return {measure: Limit(measure, HERE, most)}


def exceeded(measure: Measure, most: int, moves: list[Move] | None = None) -> Exceeded:
    with pytest.raises(LimitExceeded) as refused:
        check_limits(MOVES if moves is None else moves, limits(measure, most))
    assert refused.value.exit_code is Exit.REFUSED
    (found,) = refused.value.exceeded
    return found


@pytest.mark.parametrize(
    ("measure", "found", "largest"),
    [
        (Measure.PARTITIONS, 4, (("clicks", 2), ("orders", 2))),
        (Measure.BYTES, 270, (("orders-0", 200), ("orders-1", 70))),
        (Measure.BYTES_PER_BROKER, 170, (("broker 4", 170), ("broker 5", 100))),
        # a reorder counts without an election, too: the controller follows the head of the list
        (Measure.LEADERS, 2, (("clicks", 1), ("orders", 1))),
        (Measure.REPLICATION_FACTOR_DECREASES, 1, (("clicks-1", 1),)),
        (Measure.TOPICS, 2, (("clicks", 1), ("orders", 1))),
    ],
)
def test_each_measure_names_what_it_found_and_the_largest(
    measure: Measure, found: int, largest: tuple[tuple[str, int], ...]
) -> None:
    check_limits(MOVES, limits(measure, found))
    refused = exceeded(measure, 0)
    assert (refused.amount, refused.largest) == (found, largest)
    assert exceeded(measure, found - 1).amount == found


def test_a_leader_that_leaves_counts_although_no_election_is_asked_for() -> None:
    leaves = move([1, 2, 3], [1, 2, 4], leader=3, elect=False)
    assert exceeded(Measure.LEADERS, 0, [leaves]).amount == 1


def test_a_list_that_puts_first_who_leads_already_changes_no_leader_for_limit_and_summary() -> None:
    reorder = move([1, 2, 3], [2, 1, 3], leader=2)
    check_limits([reorder], limits(Measure.LEADERS, 0))
    assert estimate(Plan("c", "d", {}, (reorder,), None)).leaders == 0
    by_itself = move([1, 2, 3], [2, 1, 3], leader=1, elect=False)
    assert exceeded(Measure.LEADERS, 0, [by_itself]).amount == 1
    assert estimate(Plan("c", "d", {}, (by_itself,), None)).leaders == 1


def test_only_the_brokers_beyond_their_limit_are_named() -> None:
    assert exceeded(Measure.BYTES_PER_BROKER, 100).largest == (("broker 4", 170),)


def test_a_change_fits_beside_what_was_taken_before_it() -> None:
    used = Used(Limit(Measure.BYTES_PER_BROKER, HERE, 100))
    half = move([1, 2, 3], [1, 2, 4], size=60)
    assert used.fits(half)
    used.take(half)
    assert not used.fits(move([1, 2, 3], [1, 2, 4], partition=1, size=60))
    assert used.fits(move([1, 2, 3], [1, 2, 5], partition=2, size=60))


def test_a_limit_can_be_raised_and_never_lowered_or_made_up() -> None:
    known = limits(Measure.BYTES, 100)
    check_limits(MOVES, raised(known, {Measure.BYTES: 270}))
    with pytest.raises(BadUsage, match="only raises"):
        raised(known, {Measure.BYTES: 99})
    with pytest.raises(BadUsage, match="no such limit"):
        raised(known, {Measure.TOPICS: 9})


def test_what_was_allowed_is_in_the_plan_and_in_its_digest() -> None:
    seen = snapshot([state([1, 2, 3], size=100)])
    asked = placement({"orders": [[1, 2, 4]]}, limits=limits(Measure.BYTES, 50))
    with pytest.raises(LimitExceeded):
        make_plan(asked, seen)
    made = make_plan(asked, seen, {Measure.BYTES: 100})
    assert made.allowed == {Measure.BYTES: 100}
    assert loads(dumps(made), "plan.json") == made
    assert dumps(made) != dumps(make_plan(asked, seen, {Measure.BYTES: 101}))


def test_bytes_are_said_as_sizes_unless_these_read_alike() -> None:
    assert Measure.BYTES.amounts(10**9, 5 * 10**8) == ["1 GB", "500 MB"]
    assert Measure.BYTES_PER_BROKER.amounts(10**9 + 1, 10**9) == ["1,000,000,001", "1,000,000,000"]
    assert Measure.PARTITIONS.amounts(1200, 3) == ["1,200", "3"]


def test_every_limit_that_is_exceeded_is_named_at_once() -> None:
    both = {**limits(Measure.TOPICS, 1), **limits(Measure.BYTES, 1)}
    with pytest.raises(LimitExceeded) as refused:
        check_limits(MOVES, both)
    assert [e.limit.measure for e in refused.value.exceeded] == [Measure.BYTES, Measure.TOPICS]
    assert "placement.yaml:9:3: bytes 270 B, limit 1 B; largest: orders-0 (200 B)" in str(
        refused.value
    )
    assert "--allow bytes=270 --allow topics=2" in str(refused.value)
