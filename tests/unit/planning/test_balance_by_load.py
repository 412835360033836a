"""Balances of leaders, and by what producers write, from the placement to the moves; the second plan is empty."""

from collections import Counter
from fractions import Fraction

import pytest
from msgspec.structs import replace
from tests.builders import HERE, brokers, listed_leader, placement, ruled, snapshot, state, within
from tests.readings import after, arrives, find_drift

from replan.errors import UnsafePlan, WrongCluster
from replan.model.api import (
    Balance,
    BalanceMeasure,
    BrokerId,
    Placement,
    PreferredLeader,
    Rates,
    Snapshot,
    Spread,
    Tolerance,
    TopicPartition,
)
from replan.planning.api import Plan, ReasonKind, WarningKind, explain_partition, make_plan
from replan.snapshots.api import rates_with_digest

RULED = ruled("*", spread=Spread.NONE)
TEN = Fraction(1, 10)


def balanced(*tolerances: Tolerance, required: bool = False) -> Placement:
    return placement(rules=RULED, balance=Balance(HERE, tolerances, required=required))


def topic(name: str, *lists: list[int], size: int = 0) -> Snapshot:
    return snapshot(
        [state(found, partition=i, topic=name, size=size) for i, found in enumerate(lists)],
        registered=brokers(3, "a"),
    )


def rates(*written: int, name: str = "orders") -> Rates:
    return rates_with_digest(
        Rates({TopicPartition(name, i): rate for i, rate in enumerate(written)})
    )


def ends(asked: Placement, seen: Snapshot, known: Rates | None = None) -> tuple[Plan, Snapshot]:
    """The plan, and the cluster after it, for which there is no further one, nor drift."""
    made = arrives(asked, seen, known)
    return made, after(made, seen)


def leaders(seen: Snapshot) -> Counter[int]:
    return Counter(s.replicas[0] for s in seen.states(range(seen.partitions.num_rows)))


def test_leaders_are_balanced_by_elections_that_copy_nothing() -> None:
    seen = topic("orders", *[[1, 2, 3]] * 9)
    asked = balanced(*within(leaders=Fraction(0)))
    made, ended = ends(asked, seen)
    assert leaders(ended) == {1: 3, 2: 3, 3: 3}
    assert len(made.moves) == 6
    assert all(m.elect and not m.new and not m.leaving for m in made.moves)
    assert {m.reason.kind for m in made.moves} == {ReasonKind.BALANCE}
    assert explain_partition(asked, seen, made.moves[0].partition).move == made.moves[0]


def test_leaders_by_what_producers_write_part_the_load() -> None:
    written = (90, 10, 10, 10, 60, 60)
    by_rates = Tolerance(BalanceMeasure.LEADERS_BY_BYTES_IN, TEN)
    _, ended = ends(balanced(by_rates), topic("orders", *[[1, 2, 3]] * 6), rates(*written))
    led: Counter[int] = Counter()
    for found, rate in zip(ended.states(range(6)), written, strict=True):
        led[found.replicas[0]] += rate
    assert sorted(led.values()) == [70, 80, 90] or max(led.values()) <= 90


def test_what_is_written_to_brokers_is_balanced_by_copies() -> None:
    written = (100, 100, 100, 1, 1, 1)
    seen = topic("orders", *[[1, 2]] * 3, *[[2, 3]] * 3, size=5)
    _, ended = ends(balanced(*within(bytesIn=TEN)), seen, rates(*written))
    load: Counter[int] = Counter()
    for found, rate in zip(ended.states(range(6)), written, strict=True):
        load.update(dict.fromkeys(found.replicas, rate))
    assert load[1] == pytest.approx(202, rel=0.1)
    assert load[3] == pytest.approx(202, rel=0.1)


def test_what_followers_fetch_is_balanced_by_elections() -> None:
    seen = topic("orders", *[[1, 2, 3]] * 3)
    made, ended = ends(balanced(*within(bytesOut=TEN)), seen, rates(50, 50, 50))
    assert leaders(ended) == {1: 1, 2: 1, 3: 1}
    assert all(not m.new for m in made.moves)


def test_without_rates_it_says_which_command_brings_them() -> None:
    asked, seen = balanced(*within(bytesIn=TEN, replicas=TEN)), topic("orders", [1, 2, 3])
    [warning] = make_plan(asked, seen).warnings
    assert warning.kind is WarningKind.NEEDS_RATES
    assert "not balanced by bytesIn" in str(warning)
    assert "--measure 60s --save-rates rates.json" in str(warning)
    assert find_drift(asked, seen).warnings == (warning,)
    with pytest.raises(
        UnsafePlan, match="nobody has said what producers write, by which bytesIn goes"
    ):
        make_plan(balanced(*within(bytesIn=TEN), required=True), seen)


def test_partitions_without_a_rate_are_named_and_count_as_written_by_nobody() -> None:
    seen = topic("orders", [1, 2], [2, 3], [3, 1])
    asked = balanced(*within(bytesIn=Fraction(4)))
    [warning] = make_plan(asked, seen, rates=rates(5, 5)).warnings
    assert (warning.kind, warning.facts["partitions"]) == (
        WarningKind.RATES_UNKNOWN,
        ("orders-2",),
    )


def test_rates_of_another_cluster_are_refused_by_all_who_take_them() -> None:
    asked, seen = balanced(*within(bytesIn=TEN)), topic("orders", [1, 2, 3])
    other = replace(rates(5), cluster_id="another")
    with pytest.raises(WrongCluster, match="the rates are of cluster another"):
        find_drift(asked, seen, other)
    with pytest.raises(WrongCluster):
        explain_partition(asked, seen, TopicPartition("orders", 0), other)


def test_declared_orders_stay_and_listed_brokers_get_no_leadership() -> None:
    seen = topic("orders", *[[1, 2, 3]] * 6)
    asked = replace(
        balanced(*within(leaders=TEN)),
        preferred_leaders={TopicPartition("orders", 0): PreferredLeader(BrokerId(1), HERE)},
        leader_blacklist=(listed_leader(3),),
    )
    made, ended = ends(asked, seen)
    [first] = ended.states([0])
    assert first.replicas[0] == 1
    assert leaders(ended)[3] == 0
    assert leaders(ended)[2] in {2, 3}
    assert all(not m.new for m in made.moves)


def test_a_rolling_restart_changes_no_order() -> None:
    seen = topic("orders", [1, 2, 3], [2, 3, 1], [3, 1, 2])
    down = replace(seen, brokers=tuple(replace(b, fenced=b.id == 2) for b in seen.brokers))
    assert make_plan(balanced(*within(leaders=Fraction(0))), down).moves == ()
