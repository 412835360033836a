"""Whether copies end at their throttle, by produce rates: what is refused, and with which rate they would end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import CLUSTER_ID, move, placement, snapshot, state

from replan.errors import Exit, WrongCluster
from replan.model.api import (
    BrokerId,
    MoveThrottle,
    Rates,
    Side,
    SideRates,
    TopicPartition,
)
from replan.planning.api import (
    SLOTS,
    JudgedBy,
    Move,
    NeverConverges,
    TooSlow,
    check_convergence,
    dumps,
    loads,
    make_plan,
)

B1, B4 = BrokerId(1), BrokerId(4)


def orders(number: int) -> TopicPartition:
    return TopicPartition("orders", number)


def written(*rates: int) -> Rates:
    return Rates({orders(n): rate for n, rate in enumerate(rates)}, None, "d")


def copies(number: int) -> list[Move]:
    """From broker 1, which leads, to broker 4: with three followers each while they run."""
    return [move([1, 2, 3], [1, 2, 4], partition=n, leader=1) for n in range(number)]


def refused(moves: list[Move], throttle: MoveThrottle, rates: Rates) -> tuple[TooSlow, ...]:
    with pytest.raises(NeverConverges) as error:
        check_convergence(moves, throttle, rates, CLUSTER_ID)
    assert error.value.exit_code is Exit.REFUSED
    assert "--only" in str(error.value)  # no plan is written, so nothing about applying one helps
    return error.value.too_slow


def test_a_leader_must_send_to_every_follower_what_producers_write() -> None:
    (slow,) = refused(copies(1), MoveThrottle(30_000), written(10_000))
    assert slow == TooSlow(B1, Side.LEADER, 30_000, 30_000, (orders(0),))
    assert slow.smallest == 31_000
    check_convergence(copies(1), MoveThrottle(slow.smallest), written(10_000), CLUSTER_ID)


def test_both_sides_of_every_broker_are_named_at_once() -> None:
    throttle = MoveThrottle(None, {B1: 2_000, B4: SideRates(None, 9_000)})
    found = refused(copies(1), throttle, written(10_000))
    assert [(s.broker, s.side, s.needed) for s in found] == [
        (B1, Side.LEADER, 30_000),
        (B4, Side.FOLLOWER, 10_000),
    ]


def test_as_many_copies_count_as_a_broker_has_slots() -> None:
    throttle = MoveThrottle(None, {B4: SideRates(None, 10_000 * SLOTS)})
    rates = written(*[10_000] * (SLOTS + 1))
    (slow,) = refused(copies(SLOTS + 1), throttle, rates)
    assert (slow.needed, len(slow.partitions)) == (10_000 * SLOTS, SLOTS)
    check_convergence(copies(SLOTS - 1), throttle, rates, CLUSTER_ID)


def test_a_reorder_copies_nothing_and_no_throttle_holds_nothing_back() -> None:
    reorder = [move([1, 2, 3], [2, 1, 3], leader=1)]
    check_convergence(reorder, MoveThrottle(1_000), written(10**9), CLUSTER_ID)
    check_convergence(copies(1), None, written(10**9), CLUSTER_ID)


def test_copies_without_a_rate_are_counted() -> None:
    found = check_convergence(copies(3), MoveThrottle(100_000), written(1), CLUSTER_ID)
    assert found == JudgedBy("d", 2)


def test_rates_of_another_cluster_are_refused() -> None:
    with pytest.raises(WrongCluster):
        check_convergence(copies(1), None, Rates({}, "another"), CLUSTER_ID)


def test_a_plan_keeps_by_which_rates_it_was_judged() -> None:
    asked = placement({"orders": [[1, 2, 4]]}, throttle=MoveThrottle(100_000))
    seen = snapshot([state([1, 2, 3])])
    assert make_plan(asked, seen).convergence is None
    plan = make_plan(asked, seen, rates=written(10))
    assert plan.convergence == JudgedBy("d", 0)
    assert loads(dumps(plan), "plan.json") == plan


@given(
    rates=st.lists(st.integers(0, 10**6), min_size=1, max_size=8),
    throttle=st.integers(1_000, 10**7),
)
def test_the_smallest_rate_is_enough_and_less_is_not(rates: list[int], throttle: int) -> None:
    moves, found = copies(len(rates)), written(*rates)
    try:
        check_convergence(moves, MoveThrottle(throttle), found, CLUSTER_ID)
    except NeverConverges as error:
        smallest = max(slow.smallest for slow in error.too_slow)
        check_convergence(moves, MoveThrottle(smallest), found, CLUSTER_ID)
        with pytest.raises(NeverConverges):
            check_convergence(moves, MoveThrottle(max(1, smallest - 1_000)), found, CLUSTER_ID)
    else:
        sent, fetched = sorted(rates)[-SLOTS:], sum(sorted(rates)[-SLOTS:])
        assert not any(rates) or throttle > max(3 * sum(sent), fetched)
