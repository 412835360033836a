"""Rules, drains, balance and leaders by rule, from the placement to the moves."""

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import (
    FILE,
    HERE,
    brokers,
    drain,
    listed_leader,
    placement,
    ruled,
    snapshot,
    state,
    within,
)
from tests.profiles import examples
from tests.readings import after, arrives, find_drift

from replan.errors import BadPlacement
from replan.model.api import (
    Acknowledgement,
    Balance,
    Broker,
    BrokerId,
    BrokerRange,
    BrokerSelector,
    LeaderRule,
    OwnApplication,
    Placement,
    RackBlacklist,
    Requirement,
    Snapshot,
    Spread,
    TopicPartition,
    TopicRule,
    Where,
)
from replan.planning.api import (
    Alignment,
    BalanceUnreachable,
    DifferenceKind,
    DriftRule,
    EntryState,
    MoveReason,
    Plan,
    ReasonKind,
    RefusalRule,
    WarningKind,
    blacklist_report,
    explain_partition,
    make_plan,
)
from replan.reporting.api import render_blacklist

pytestmark = pytest.mark.slow


def targets(asked: Placement, seen: Snapshot) -> dict[str, list[int]]:
    return {str(m.partition): list(m.target) for m in arrives(asked, seen).moves}


def selector(*ids: int, racks: tuple[str, ...] = ()) -> BrokerSelector:
    of = tuple(BrokerRange(BrokerId(b), BrokerId(b), HERE, single=True) for b in ids)
    return BrokerSelector(of, racks, dict.fromkeys(racks, HERE))


def listed_racks(*racks: str) -> tuple[RackBlacklist, ...]:
    return tuple(RackBlacklist(rack, HERE, reason="maintenance") for rack in racks)


def in_the_middle(plan: Plan, seen: Snapshot, *, running: bool) -> Snapshot:
    """The snapshot while every move that replaces a replica copies (`running`), or waits before it assigns."""
    moved = {m.partition: m for m in plan.moves if m.new and m.leaving}
    states = [
        replace(s, replicas=m.expanded, adding=m.new if running else ())
        if (m := moved.get(s.partition))
        else s
        for s in seen.states(range(seen.partitions.num_rows))
    ]
    there = snapshot(states, registered=seen.brokers, remembered=seen.remembered)
    return replace(there, topics=seen.topics)


def test_a_drain_reaches_explicit_ruled_unmanaged_and_internal_partitions() -> None:
    seen = snapshot(
        [
            state([1, 2, 3]),
            state([2, 3], topic="events"),
            state([3, 1], topic="__consumer_offsets"),
            state([4, 5, 3], topic="clicks"),
        ],
        registered=brokers(6, "abc"),
    )
    asked = placement(
        {"orders": [[1, 2, 3]]},
        rules=ruled("clicks", replication_factor=3, spread=Spread.RACK),
        replica_blacklist=drain(3),
    )
    assert targets(asked, seen) == {
        "orders-0": [1, 2, 6],
        "events-0": [2, 6],
        "__consumer_offsets-0": [6, 1],
        "clicks-0": [4, 5, 6],
    }


def test_a_balance_of_leaders_says_nothing_of_a_drained_list_that_no_rule_places() -> None:
    """Broker 3 is down and first of the list: whoever takes its place need not lead."""
    seen = snapshot(
        [state([3, 1], [1])], registered=brokers(5, "aaaaa", fenced=[3]), min_insync_replicas=1
    )
    asked = placement(
        replica_blacklist=drain(3), balance=Balance(HERE, within(leaders=Fraction(1, 10)))
    )
    assert targets(asked, seen) == {"orders-0": [2, 1]}


RACK_OF_4_UNKNOWN = [
    replace(b, rack=None) if b.id == 4 else b for b in brokers(6, "abc", fenced=[4])
]


def test_what_is_down_and_of_unknown_rack_keeps_the_order_of_its_lists() -> None:
    """Broker 4 may be in rack a, whose brokers lead nothing; list 1 knows all of its brokers."""
    states = [state([1, 4, 2], [1, 2]), state([1, 2, 3], partition=1)]
    seen = snapshot(states, registered=RACK_OF_4_UNKNOWN)
    asked = placement(leader_racks=listed_racks("a"))
    assert targets(asked, seen) == {"orders-1": [2, 3, 1]}


def test_nobody_says_that_a_broker_of_unknown_rack_is_listed() -> None:
    """Broker 4 is down, and may be in rack a; broker 1 is."""
    seen = snapshot([state([4, 1, 2], [1, 2])], registered=RACK_OF_4_UNKNOWN)
    asked = placement(leaders={"orders-0": 4}, leader_racks=listed_racks("a"))
    found = blacklist_report(asked, seen)
    assert {e.entry.broker: e.state for e in found.entries} == {
        1: EntryState.IN_FORCE,
        4: EntryState.RACK_UNKNOWN,
    }
    assert "4       orders stay: its broker is down" in render_blacklist(found)
    explained = explain_partition(asked, seen, TopicPartition("orders", 0))
    assert [entry.broker for entry in explained.leader_blacklist] == [1]
    kinds = {warning.kind for warning in make_plan(asked, seen).warnings}
    assert WarningKind.PREFERRED_BLACKLISTED not in kinds


def test_an_entry_whose_date_has_passed_is_named_by_plan_and_blacklist_show_as_by_drift() -> None:
    """Whatever the entry does: of a rack that is not known, that has ended, of a broker that is gone."""
    seen = snapshot([state([5, 4, 2], [5, 2])], registered=RACK_OF_4_UNKNOWN)
    past: Any = {"review_by": "2020-01-01", "until_caught_up": True}
    entries = [listed_leader(b, line=b, **past) for b in (2, 4, 9)]
    entries.append(listed_leader(5, line=5, review_by="2099-01-01"))
    by_rack = RackBlacklist("a", Where(FILE, 1, 1), review_by="2020-01-01")
    asked = placement(blacklist=entries, leader_racks=(by_rack,))
    reported = blacklist_report(asked, seen)
    due = [e for e in reported.entries if e.review_due]
    assert {(e.entry.broker, e.state) for e in due} == {
        (1, EntryState.IN_FORCE),
        (2, EntryState.ENDED),
        (4, EntryState.IN_FORCE),
        (4, EntryState.RACK_UNKNOWN),
        (9, EntryState.UNREGISTERED),
    }
    found = find_drift(asked, seen).differences
    assert sorted(
        (d.broker or 0, d.detail) for d in found if d.rule is DriftRule.DATE_PASSED
    ) == sorted((e.entry.broker, str(e.entry.where)) for e in due)
    text = render_blacklist(reported)
    assert text.count("; to be reviewed") == len(due)
    warned = [
        (w.kind, w.facts["where"]) for w in make_plan(asked, seen).warnings if "where" in w.facts
    ]
    for kind, stands in (
        (WarningKind.ENTRY_UNREGISTERED, EntryState.UNREGISTERED),
        (WarningKind.BLACKLIST_CAUGHT_UP, EntryState.ENDED),
    ):
        said = sorted(where for of, where in warned if of is kind)
        assert said == [str(e.entry.where) for e in reported.entries if e.state is stands]
    dated = sorted(where for of, where in warned if of is WarningKind.BLACKLIST_REVIEW_DUE)
    assert dated == sorted(str(e.entry.where) for e in due)


def test_a_drain_names_itself_as_the_reason() -> None:
    seen = snapshot([state([1, 2])], registered=brokers(3, "aab"))
    [move] = make_plan(placement(replica_blacklist=drain(2)), seen).moves
    assert move.reason == MoveReason(ReasonKind.DRAIN, broker=BrokerId(2), note="decommission")
    assert not move.elect


def test_who_cannot_be_replaced_is_refused_by_name_and_is_drift() -> None:
    seen = snapshot([state([1, 2])], registered=brokers(2, "ab"))
    asked = placement(replica_blacklist=drain(2))
    [refusal] = make_plan(asked, seen).refusals
    assert (str(refusal.partition), refusal.rule) == ("orders-0", RefusalRule.NO_SUBSTITUTE)
    assert refusal.facts == {"brokers": (2,)}
    assert [d.kind for d in find_drift(asked, seen).partitions] == [DifferenceKind.UNPLACEABLE]


def test_a_preferred_leader_that_is_no_replica_is_refused_and_is_drift() -> None:
    """Whoever took the replica away: the plan asks for another file, and nobody hears that all is well."""
    seen = snapshot([state([1, 2, 3])], registered=brokers(6, "abc"))
    for name, observed in (("orders-0", (1, 2, 3)), ("gone-0", ())):
        asked = placement(leaders={name: 5})
        with pytest.raises(BadPlacement):
            make_plan(asked, seen)
        [found] = find_drift(asked, seen).partitions
        assert (str(found.name), found.kind) == (name, DifferenceKind.PREFERRED_ABSENT)
        assert (found.declared, found.observed) == ((5,), observed)
    assert find_drift(placement(leaders={"orders-0": 5}, replica_blacklist=drain(5)), seen).none


def test_a_rolling_restart_under_rules_plans_nothing() -> None:
    lists = [[1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]]
    asked = placement(
        rules=ruled("*", replication_factor=3, spread=Spread.RACK),
        balance=Balance(HERE, within(replicas=Fraction(1, 2))),
        leader_rules={"orders": LeaderRule(HERE, "orders", balanced=True)},
    )
    for down in range(1, 7):
        states = [state(x, [b for b in x if b != down], partition=i) for i, x in enumerate(lists)]
        seen = snapshot(states, registered=brokers(6, "abc", fenced=[down]))
        assert make_plan(asked, seen).moves == ()
        assert make_plan(asked, seen).refusals == ()


def test_an_explicit_list_wins_over_a_rule_and_a_name_over_a_pattern() -> None:
    seen = snapshot(
        [state([1, 2]), state([1, 2], topic="clicks"), state([1, 2], topic="clicks-old")],
        registered=brokers(4, "abcd"),
        min_insync_replicas=1,
    )
    rules = {
        **ruled("*", brokers=selector(3, 4)),
        **ruled("clicks*", replication_factor=1),
        **ruled("clicks", replication_factor=2),
    }
    asked = placement({"orders": [[2, 1]]}, rules=rules)
    found = targets(asked, seen)
    assert found["orders-0"] == [2, 1]
    assert len(found["clicks-old-0"]) == 1
    assert "clicks-0" not in found


def test_what_a_pattern_excepts_falls_to_the_next_one_or_stays() -> None:
    seen = snapshot(
        [state([1, 2], topic=topic) for topic in ("clicks-a", "clicks-b", "orders", "other")],
        registered=brokers(4, "abab"),
        min_insync_replicas=1,
    )
    asked = placement(
        rules={
            **ruled("*", in_rack="a", spread=Spread.IN_RACK, excepted=("o*",)),
            **ruled("clicks-*", replication_factor=1, excepted=("clicks-a", "orders")),
            **ruled("orders*", replication_factor=1, excepted=("orders",)),
        },
        leader_rules={"*": LeaderRule(HERE, "*", racks=("b",), excepted=("clicks-*",))},
        requirements={
            "*": Requirement(HERE, replication_factor=2, excepted=("clicks-*", "orders*"))
        },
    )
    assert targets(asked, seen) == {
        "clicks-a-0": [1, 3],
        "clicks-b-0": [1],
        "orders-0": [2, 1],
        "other-0": [2, 1],
    }
    warnings = make_plan(asked, seen).warnings
    idle = [w.facts for w in warnings if w.kind is WarningKind.MATCHES_NOTHING]
    assert [(f["section"], f["name"]) for f in idle] == [
        ("assignments.except", "orders among clicks-*"),
        ("assignments", "orders*"),
    ]


def test_a_rack_without_brokers_is_refused_with_its_measure() -> None:
    seen = snapshot([state([1, 2])], registered=brokers(3, "aab", fenced=[3]))
    asked = placement(rules=ruled(replication_factor=2, spread=Spread.RACK))
    [refusal] = make_plan(asked, seen).refusals
    assert refusal.rule is RefusalRule.RACK_LACKS_BROKERS
    assert refusal.facts == {"rule": f"{HERE}: orders", "rack": "b", "needed": 1, "available": 0}


def two_of_one() -> Snapshot:
    """Both partitions are on broker 1, and what a rule places there can lie nowhere else."""
    return snapshot(
        [state([1], size=9), state([1], partition=1, size=1), state([3], topic="clicks")],
        registered=brokers(3, "abc"),
        min_insync_replicas=1,
    )


def test_a_balance_that_cannot_be_reached_is_said_and_everything_else_is_planned() -> None:
    """The drain of broker 3 has nothing to do with the bytes of one partition that are most of all."""
    asked = placement(
        rules=ruled(replication_factor=1, brokers=selector(1, 2)),
        balance=Balance(HERE, within(bytes=Fraction(1, 10))),
        replica_blacklist=drain(3),
    )
    plan = make_plan(asked, two_of_one())
    assert {str(m.partition): m.reason.kind for m in plan.moves} == {
        "orders-1": ReasonKind.BALANCE,
        "clicks-0": ReasonKind.DRAIN,
    }
    [warning] = [w for w in plan.warnings if w.kind is WarningKind.BALANCE]
    assert warning.facts == {
        "where": str(HERE),
        "measure": "bytes",
        "asked": "10%",
        "reached": "60.1%",
        "brokers": (1, 2),
        "proved": "no",
        "rules": (f"`orders` ({HERE})",),
        "closed": ("3 is drained",),
        "held": (),
    }


@given(
    st.lists(
        st.lists(st.integers(1, 5), min_size=2, max_size=2, unique=True), min_size=2, max_size=12
    ),
    st.sets(st.integers(0, 11)),
    st.sets(st.integers(0, 11), max_size=3),
    st.sampled_from([None, Spread.RACK]),
)
def test_a_balance_does_without_partitions_that_stay(
    lists: list[list[int]], known: set[int], stuck: set[int], spread: Spread | None
) -> None:
    """Plan and drift agree; what is acknowledged stays, what cannot move is replaced by another, and once is enough."""
    seen = snapshot(
        [
            state(x, x[:1] if n in stuck else x, partition=n, size=n + 1)
            for n, x in enumerate(lists)
        ],
        registered=brokers(5, "ababa"),
        min_insync_replicas=1,
        unclean=["orders"],
    )
    asked = placement(
        rules=ruled(replication_factor=2, spread=spread),
        balance=Balance(HERE, within(replicas=Fraction(1, 10))),
        acknowledged=[Acknowledgement("orders", tuple(sorted(known)), HERE, "known", "2027-01-01")],
    )
    plan, drift = make_plan(asked, seen), find_drift(asked, seen)
    moved = {m.partition.partition for m in plan.moves}
    assert moved.isdisjoint(known)
    assert {d.name for d in drift.partitions} == {
        *(m.partition for m in plan.moves),
        *(r.partition for r in plan.refusals),
    }
    by_rule = {m.partition for m in plan.moves if m.reason.kind is ReasonKind.RULE}
    (rule,), racks = asked.rules.values(), {b.id: b.rack for b in seen.brokers}
    for m in plan.moves:
        if m.partition in by_rule:
            assert m.reason.key == rule.key_not_kept(m.original, racks) is not None
        assert rule.key_not_kept(m.target, racks) is None
    assert {r.partition.partition for r in plan.refusals} <= stuck
    assert all(len({b % 2 for b in lists[r.partition.partition]}) == 1 for r in plan.refusals)
    missed = [w.facts for w in plan.warnings if w.kind is WarningKind.BALANCE]
    of_drift = [w.facts for w in drift.warnings if w.kind is WarningKind.BALANCE]
    assert missed == [*of_drift, *(reason.facts for reason in drift.unbalanced)]
    assert by_rule or plan.refusals or drift.none is (not moved)
    again = make_plan(asked, after(plan, seen))
    assert again.moves == ()


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        ({"replication_factor": 2}, "replicationFactor"),
        ({"replication_factor": 3, "replicas_per_rack": {"a": 2, "b": 1}}, "replicasPerRack"),
        ({"replication_factor": 4, "replicas_per_rack": {"a": 2, "b": 2}}, "replicasPerRack"),
        ({"in_rack": "a", "spread": Spread.IN_RACK}, "inRack"),
        ({"spread": Spread.IN_RACK}, "spread"),
        ({"spread": Spread.RACK}, "spread"),
        ({"brokers": BrokerSelector(racks=("b", "c"))}, "brokers"),
        ({"max_replicas_per_broker": 1}, None),
    ],
)
def test_a_reason_by_rule_names_the_key_that_the_list_does_not_keep(
    parts: dict[str, Any], key: str | None
) -> None:
    (rule,) = ruled(**parts).values()
    racks: dict[BrokerId, str | None] = {
        BrokerId(b): rack for b, rack in enumerate("abbcccaa", start=1)
    }
    assert rule.key_not_kept((BrokerId(1), BrokerId(2), BrokerId(3)), racks) == key
    assert str(MoveReason(ReasonKind.RULE, rule="orders", key=key)) == (
        f"rule orders: {key}" if key else "rule orders"
    )


def test_a_balance_that_is_missed_names_what_is_acknowledged_and_what_cannot_move() -> None:
    """Of four partitions on one broker two are to move: one is acknowledged, two have only one replica in sync."""
    states = [state([1, 2], [1] if n > 1 else [1, 2], partition=n) for n in range(4)]
    seen = snapshot(
        states, registered=brokers(4, "aaaa"), min_insync_replicas=1, unclean=["orders"]
    )
    asked = placement(
        rules=ruled(replication_factor=2),
        balance=Balance(HERE, within(replicas=Fraction(0))),
        acknowledged=[Acknowledgement("orders", (0,), HERE, "known", "2027-01-01")],
    )
    plan, drift = make_plan(asked, seen), find_drift(asked, seen)
    assert [m.partition.partition for m in plan.moves] == [1]
    assert plan.refusals == ()
    [warning] = [w for w in plan.warnings if w.kind is WarningKind.BALANCE]
    assert warning.facts["held"] == (
        f"1 partition acknowledged by `orders [0]` ({HERE})",
        "2 partitions refused (unclean-guard)",
    )
    assert [reason.facts for reason in drift.unbalanced] == [warning.facts]
    ended = after(plan, seen)
    assert make_plan(asked, ended).empty
    drift = find_drift(asked, ended)
    assert drift.none
    assert [w.kind for w in drift.warnings] == [WarningKind.BALANCE]


@pytest.mark.parametrize(
    "within_bounds",
    [
        {"replicas": Fraction(0)},
        {"bytes": Fraction(0)},
        {"maxReplicasPerBroker": Fraction(2)},
    ],
)
def test_a_balance_does_without_a_partition_that_is_to_move_for_its_rule_and_cannot(
    within_bounds: dict[str, Fraction],
) -> None:
    """A partition has no leader, so that nothing of it comes to rack a."""
    lost = state([4], [], leader=None, partition=4, size=9)
    seen = snapshot(
        [*(state([3], partition=n, size=9) for n in range(4)), lost],
        registered=[
            *(Broker(BrokerId(b), "a") for b in (1, 3)),
            Broker(BrokerId(4), "b", fenced=True),
        ],
        min_insync_replicas=1,
    )
    asked = placement(
        rules=ruled(replication_factor=1, spread=Spread.IN_RACK, in_rack="a"),
        balance=Balance(HERE, within(**within_bounds), required=True),
    )
    plan = make_plan(asked, seen)
    assert [list(m.target) for m in plan.moves] == [[1], [1]]
    assert [r.rule for r in plan.refusals] == [RefusalRule.NO_LEADER]


def test_partitions_that_crowd_a_broker_and_cannot_move_are_refused_whatever_the_balance() -> None:
    """Their topic is below its min ISR, so that none of it moves; two of three would have to."""
    seen = snapshot([state([1], partition=n) for n in range(3)], registered=brokers(4, "abcd"))
    asked = placement(
        rules=ruled(replication_factor=1, max_replicas_per_broker=1),
        balance=Balance(HERE, within(replicas=Fraction(1, 2))),
    )
    plan = make_plan(asked, seen)
    refused = [(str(r.partition), r.rule) for r in plan.refusals]
    assert refused == [(f"orders-{n}", RefusalRule.SAFE_START) for n in (1, 2)]
    drift = find_drift(asked, seen).partitions
    assert {str(d.name): d.kind for d in drift} == dict.fromkeys(
        ("orders-1", "orders-2"), DifferenceKind.UNPLACEABLE
    )


def test_a_way_that_takes_something_back_uses_no_partition_twice() -> None:
    """The cheapest way of one replica from broker 3 to 5 takes one of metrics-b twice, and metrics-a-1 back."""
    lists = {
        "clicks": [[1], [1, 2]],
        "events": [[2]],
        "metrics-a": [[5, 2], [3], [5, 1]],
        "metrics-b": [[1, 2, 3]],
        "orders": [[1, 2, 3], [5, 3, 2]],
        "others": [[3], [4], [5], [1], [2], [3], [4], [5], [1]],
    }
    sizes = {("metrics-a", 0): 1_000_000, ("metrics-a", 1): 1_000_000}
    seen = snapshot(
        [
            state(list_, topic=name, partition=n, size=sizes.get((name, n), 0))
            for name, of in lists.items()
            for n, list_ in enumerate(of)
        ],
        registered=[Broker(BrokerId(b), rack) for b, rack in enumerate("bcabc", start=1)],
        min_insync_replicas=1,
    )
    asked = placement(
        rules={
            **ruled("metrics-*", brokers=selector(1, 2, 3, 4, 5)),
            **ruled("clicks", max_replicas_per_broker=1, **per_rack(a=1, b=1)),
        },
        balance=Balance(HERE, within(maxReplicasPerBroker=Fraction(5))),
    )
    after = {str(m.partition): list(m.target) for m in make_plan(asked, seen).moves}
    held = Counter(
        b for s in seen.states(range(18)) for b in after.get(str(s.partition), s.replicas)
    )
    assert max(held.values()) == 6  # of 28 on five brokers


def test_a_balance_that_is_required_and_cannot_be_reached_refuses_the_plan() -> None:
    asked = placement(
        rules=ruled(replication_factor=1),
        balance=Balance(HERE, within(bytes=Fraction(1, 10)), required=True),
    )
    with pytest.raises(BalanceUnreachable, match=r"`bytes: 140\.1%`") as caught:
        make_plan(asked, two_of_one())
    [reason] = caught.value.reasons
    assert find_drift(asked, two_of_one()).unbalanced == (reason,)


@pytest.mark.parametrize("fenced", [[], [1], [2], [3]])
def test_no_rolling_restart_is_out_of_balance(fenced: list[int]) -> None:
    seen = snapshot(
        [state([n % 3 + 1], partition=n) for n in range(9)],
        registered=brokers(3, "abc", fenced=fenced),
        min_insync_replicas=1,
    )
    asked = placement(
        rules=ruled(replication_factor=1),
        balance=Balance(HERE, within(replicas=Fraction(0)), required=True),
    )
    plan = make_plan(asked, seen)
    assert plan.moves == ()
    assert WarningKind.BALANCE not in {w.kind for w in plan.warnings}
    assert find_drift(asked, seen).none


def test_leaders_by_racks_and_balanced() -> None:
    lists = [[1, 2, 3], [1, 3, 2], [1, 2, 3]]
    seen = snapshot(
        [state(x, partition=i) for i, x in enumerate(lists)], registered=brokers(3, "abc")
    )
    by_rack = {"ord*": LeaderRule(HERE, "ord*", racks=("c", "b"))}
    assert targets(placement(leader_rules=by_rack), seen) == {
        "orders-0": [3, 2, 1],
        "orders-1": [3, 2, 1],
        "orders-2": [3, 2, 1],
    }
    balanced = placement(leader_rules={"orders": LeaderRule(HERE, "orders", balanced=True)})
    found = targets(balanced, seen)
    assert len(found) == 2
    assert {x[0] for x in found.values()} == {2, 3}
    found = targets(replace(balanced, leader_blacklist=(listed_leader(3),)), seen)
    assert all(x[-1] == 3 for x in found.values())


def test_a_broker_that_no_rule_can_mean_is_a_mistake() -> None:
    seen = snapshot([state([1, 2])], registered=brokers(3))
    for first, last in ((9, 9), (7, 9)):
        found = BrokerRange(BrokerId(first), BrokerId(last), HERE, single=first == last)
        with pytest.raises(BadPlacement, match="not registered"):
            make_plan(placement(rules=ruled(brokers=BrokerSelector((found,)))), seen)
    with pytest.raises(BadPlacement, match="does not exist"):
        make_plan(placement(rules=ruled("absent", replication_factor=1)), seen)


def test_a_rack_that_no_broker_is_in_is_a_mistake_and_so_are_ids_outside_the_rack() -> None:
    seen = snapshot([state([1, 2])], registered=brokers(3, "abb"))
    for parts, told in (
        ({"in_rack": "z"}, "no broker of the cluster is in rack z; racks: a, b"),
        ({"brokers": selector(racks=("a", "z"))}, "no broker of the cluster is in rack z"),
        (
            {"brokers": selector(2, 3, racks=("a",))},
            "no registered broker of these ids is in rack a",
        ),
        (
            {"brokers": selector(1), "in_rack": "b"},
            "no registered broker of these ids is in rack b",
        ),
    ):
        with pytest.raises(BadPlacement, match=told):
            make_plan(placement(rules=ruled(**parts)), seen)


def test_a_rule_keeps_to_the_brokers_that_are_in_its_racks_and_have_its_ids() -> None:
    seen = snapshot([state([1, 2, 3])], registered=brokers(9, "abc"))
    for parts, wanted in (
        ({"in_rack": "b", "spread": Spread.IN_RACK}, [2, 5, 8]),
        ({"brokers": selector(racks=("b",))}, [2, 5, 8]),
        ({"brokers": selector(1, 3, 4, 5, 6, 7, racks=("a", "b"))}, [1, 4, 7, 5]),
        ({"brokers": selector(*range(4, 10)), "in_rack": "b", "spread": Spread.IN_RACK}, [5, 8]),
    ):
        factor = min(len(wanted), 3)
        asked = placement(rules=ruled(replication_factor=factor, **parts))
        [move] = arrives(asked, seen).moves
        assert set(move.target) <= set(wanted)


def test_a_rack_on_a_blacklist_stands_for_its_brokers() -> None:
    """Those of rack a lead nothing, and rack b is emptied; what one entry says already is not said twice."""
    seen = snapshot([state([1, 2, 3]), state([4, 3, 6], partition=1)], registered=brokers(9, "abc"))
    asked = placement(blacklist=[listed_leader(3)], replica_blacklist=drain(5))
    by_rack = replace(asked, leader_racks=listed_racks("a", "z"), replica_racks=listed_racks("b"))
    by_id = placement(
        blacklist=[listed_leader(b) for b in (3, 1, 4, 7)], replica_blacklist=drain(2, 5, 8)
    )
    plan = arrives(by_rack, seen)
    assert targets(by_id, seen) == {str(m.partition): list(m.target) for m in plan.moves}
    assert {m.reason.kind for m in plan.moves} == {ReasonKind.DRAIN, ReasonKind.LEADER_BLACKLIST}
    unknown = [w.facts for w in plan.warnings if w.kind is WarningKind.UNKNOWN_RACK]
    assert unknown == [{"where": str(HERE), "rack": "z"}]
    turned = replace(by_rack, leader_racks=listed_racks("z", "a"))
    assert make_plan(turned, seen).moves == plan.moves


def per_rack(**wanted: int) -> dict[str, Any]:
    return {"replicas_per_rack": wanted, "replication_factor": sum(wanted.values())}


IN_RACK_B: dict[str, Any] = {"spread": Spread.IN_RACK, "in_rack": "b"}


PER_RACK = [per_rack(a=2, b=1), per_rack(c=1), per_rack(a=1, b=1, c=1)]


def selectors(count: int) -> st.SearchStrategy[BrokerSelector | None]:
    """Brokers by id, by rack and by both, of so many in racks a, b and c."""
    ids = st.lists(st.integers(1, count), unique=True, max_size=3)
    racks = st.lists(st.sampled_from("abc"), unique=True, max_size=2)
    return st.none() | st.builds(lambda i, r: selector(*i, racks=tuple(sorted(r))), ids, racks)


LEADERS = tuple(
    {pattern: LeaderRule(HERE, pattern, **by)}
    for pattern in ("*", "b")
    for by in ({"balanced": True}, {"racks": ("b",)}, {"racks": ("c",), "excepted": ("a*",)})
    if pattern == "*" or "excepted" not in by
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Placement, list[Any], Any]:
    """Partitions of ruled, explicit and other topics, some brokers drained, some fenced."""
    count = draw(st.integers(3, 7))
    ids = st.integers(1, count)
    some = st.lists(st.lists(ids, unique=True, min_size=1, max_size=3), min_size=1, max_size=4)
    states = [
        state(x, topic=topic, partition=i, size=draw(st.integers(0, 9)))
        for topic in ("a", "b", "orders")
        for i, x in enumerate(draw(some))
    ]
    gone = draw(st.lists(ids, unique=True, max_size=2))
    lies = draw(st.sampled_from([*({"spread": spread} for spread in Spread), IN_RACK_B, *PER_RACK]))
    rule: dict[str, Any] = {"brokers": draw(selectors(count)), **lies}
    pattern, excepted = draw(st.sampled_from([("a", ()), ("*", ()), ("*", ("[b-c]",))]))
    asked = placement(
        {"orders": {0: draw(st.lists(ids, unique=True, min_size=1, max_size=3))}},
        rules=ruled(
            pattern,
            excepted=excepted,
            max_replicas_per_broker=draw(st.none() | st.integers(1, 3)),
            **{"replication_factor": draw(st.integers(1, 3)), **rule},
        ),
        replica_blacklist=drain(*gone),
        below_min_isr=["orders"],
        leader_rules=draw(st.sampled_from([{}, *LEADERS])),
        leaders=draw(st.sampled_from([{}, {"a-0": states[0].replicas[-1]}])),
        blacklist=[listed_leader(b) for b in draw(st.lists(ids, unique=True, max_size=2))],
    )
    racks = st.lists(st.sampled_from("abz"), unique=True, max_size=1)
    asked = replace(asked, leader_racks=listed_racks(*draw(racks)))
    if draw(st.integers(0, 3)) == 0:
        asked = replace(asked, replica_racks=listed_racks(*draw(racks)))
    fenced = draw(st.lists(ids, unique=True, max_size=1))
    return asked, states, brokers(count, "abc", fenced=fenced)


def asked_lists(asked: Placement) -> set[TopicPartition]:
    """Those whose lists are declared."""
    rows = asked.explicit.to_pylist()
    return {TopicPartition(row["topic"], row["partition"]) for row in rows}


def test_two_sites_hold_two_and_one_and_a_balance_keeps_it() -> None:
    lists = [[1, 2, 4], [2, 1, 3], [1, 3, 5], [4, 6, 1]]
    seen = snapshot(
        [state(x, partition=n) for n, x in enumerate(lists)], registered=brokers(6, "ab")
    )
    asked = placement(
        rules=ruled(**per_rack(a=2, b=1)),
        balance=Balance(HERE, within(replicas=Fraction(0))),
    )
    for found in after(arrives(asked, seen), seen).states(range(len(lists))):
        assert Counter("ba"[b % 2] for b in found.replicas) == {"a": 2, "b": 1}


def test_a_rack_that_cannot_hold_its_number_is_refused_by_name() -> None:
    seen = snapshot([state([1, 3, 2])], registered=brokers(4, "ab"))
    [refusal] = make_plan(placement(rules=ruled(**per_rack(a=1, b=3))), seen).refusals
    assert (refusal.facts["rack"], refusal.facts["needed"], refusal.facts["available"]) == (
        "b",
        3,
        2,
    )
    with pytest.raises(BadPlacement, match="no broker of the cluster is in rack z"):
        make_plan(placement(rules=ruled(**per_rack(a=1, z=1))), seen)


def made_of(asked: Placement, seen: Snapshot) -> Plan:
    """The plan; a leader that its rule takes out of the list is a mistake, and no case."""
    try:
        return make_plan(asked, seen)
    except BadPlacement:
        reject()


@examples(fast=12, full=120, nightly=3_000)
@given(worlds(), st.randoms(use_true_random=False))
def test_a_plan_arrives_whatever_the_order_of_its_input(world: Any, chance: Any) -> None:
    """When all moves have ended another plan has none, and no drained broker is left but where that is refused."""
    asked, states, registered = world
    seen = snapshot(states, registered=registered, min_insync_replicas=1)
    plan = made_of(asked, seen)
    shuffled = list(states)
    chance.shuffle(shuffled)
    mixed = list(registered)
    chance.shuffle(mixed)
    assert make_plan(asked, snapshot(shuffled, registered=mixed, min_insync_replicas=1)) == plan
    end = after(plan, seen)
    rack_of = {b.id: b.rack for b in registered}
    for name, rule in Alignment.of(asked, end).intents.rules.items():
        for row in end.topic_rows(name) if rule.replicas_per_rack else ():
            [found] = end.states([row])
            kept = Counter(rack_of[b] for b in found.replicas) == rule.replicas_per_rack
            refused = found.partition in {r.partition for r in plan.refusals}
            assert kept or refused or found.partition in asked_lists(asked)
    again = make_plan(asked, end)
    assert again.moves == ()
    assert {r.partition for r in again.refusals} <= {r.partition for r in plan.refusals}
    drifted = {d.name for d in find_drift(asked, end).partitions}
    assert drifted == {r.partition for r in again.refusals}


@examples(fast=12, full=120, nightly=3_000)
@given(worlds(), st.booleans())
def test_what_an_open_application_moves_is_on_its_way_however_it_was_declared(
    world: Any, running: bool
) -> None:
    """Neither a difference while it is at work, nor refused for another reason, nor planned to go elsewhere."""
    asked, states, registered = world
    seen = snapshot(states, registered=registered, min_insync_replicas=1)
    plan = made_of(asked, seen)
    copied = {m.partition for m in plan.moves if m.new and m.leaving}
    heading = {m.partition: m.target for m in plan.moves}
    own = OwnApplication("plan-1", "ann@ops-1", at_work=True, targets=heading)
    middle = replace(in_the_middle(plan, seen, running=running), application=own)
    found = find_drift(asked, middle)
    assert copied.isdisjoint(d.partition for d in found.partitions)
    assert copied <= set(found.converging)
    again = make_plan(asked, middle)
    held = {r.partition for r in again.refusals if r.rule is RefusalRule.OWN_RUNNING}
    goes_on = {m.partition: m.target for m in again.moves if m.partition in copied}
    assert (held if running else set(goes_on)) >= copied
    assert all(heading[name] == target for name, target in goes_on.items())
    assert copied.isdisjoint(r.partition for r in again.refusals if not r.held)


def test_a_leader_that_is_drained_is_warned_of_before_and_after() -> None:
    seen = snapshot([state([1, 2])], registered=brokers(3, "aab"))
    asked = placement(leaders={"orders-0": 1}, replica_blacklist=drain(1))
    plan = make_plan(asked, seen)
    again = make_plan(asked, after(plan, seen))
    assert (len(plan.moves), again.moves) == (1, ())
    assert {w.kind for made in (plan, again) for w in made.warnings} == {
        WarningKind.PREFERRED_DRAINED
    }


def test_a_leader_that_its_rule_takes_out_of_the_list_is_a_mistake_before_anything_moves() -> None:
    seen = snapshot([state([1, 2])], registered=brokers(3))
    asked = placement(leaders={"orders-0": 1}, rules=ruled(brokers=selector(2, 3)))
    with pytest.raises(
        BadPlacement, match=r"broker 1 is no replica of orders-0, whose list is \[3, 2\]"
    ):
        make_plan(asked, seen)


def test_two_substitutes_lie_in_the_same_order_whichever_was_there_before() -> None:
    seen = snapshot([state([2, 3])], registered=brokers(4, "baaa"))
    asked = placement({"orders": {0: [1, 2]}}, replica_blacklist=drain(1, 2))
    assert targets(asked, seen) == {"orders-0": [4, 3]}


def test_what_cannot_be_placed_is_not_refused_by_a_plan_of_something_else() -> None:
    seen = snapshot([state([1, 2]), state([1, 2], topic="free")], registered=brokers(2))
    asked = placement({"free": [[2, 1]]}, rules=ruled(replication_factor=3))
    assert [r.partition.topic for r in make_plan(asked, seen).refusals] == ["orders"]
    part = make_plan(asked, seen, only=["free"])
    assert (len(part.moves), part.refusals) == (1, ())


def test_what_cannot_be_placed_can_be_acknowledged_but_for_a_drain() -> None:
    seen = snapshot([state([1, 2])], registered=brokers(2, "ab"))
    known = Acknowledgement("orders*", None, HERE, "broker 3 comes", "2027-01-01T00:00:00Z")
    asked = placement(rules=ruled(replication_factor=3), acknowledged=(known,))
    assert make_plan(asked, seen).refusals == ()
    drift = find_drift(asked, seen)
    assert (drift.none, [str(name) for name in drift.acknowledged]) == (True, ["orders-0"])
    assert make_plan(replace(asked, replica_blacklist=drain(2)), seen).refusals


def two_rackfuls(*fenced: int) -> tuple[Placement, Snapshot]:
    """Brokers 1 and 4 are all of rack a; both are to be drained, and three racks are required."""
    seen = snapshot(
        [
            state([1, 2, 3], [b for b in (1, 2, 3) if b not in fenced], topic=topic)
            for topic in ("orders", "ruled", "undeclared")
        ],
        registered=brokers(6, "abc", fenced=fenced),
    )
    asked = placement(
        {"orders": [[1, 2, 3]]},
        rules=ruled("ruled", replication_factor=3, spread=Spread.RACK),
        requirements={"*": Requirement(HERE, racks=3)},
        replica_blacklist=drain(1, 4),
    )
    return asked, seen


def test_a_drain_that_takes_a_required_rack_from_live_replicas_is_refused_and_is_drift() -> None:
    asked, seen = two_rackfuls()
    plan = make_plan(asked, seen)
    assert [(str(r.partition), r.rule) for r in plan.refusals] == [
        ("orders-0", RefusalRule.RACKS_LOST),
        ("ruled-0", RefusalRule.RACKS_LOST),
        ("undeclared-0", RefusalRule.RACKS_LOST),
    ]
    assert plan.moves == ()
    assert len(find_drift(asked, seen).partitions) == 3
    one = make_plan(replace(asked, replica_blacklist=drain(1)), seen)
    assert (len(one.moves), one.refusals) == (3, ())
    assert WarningKind.FEWER_RACKS not in {w.kind for w in one.warnings}


def test_where_a_required_rack_is_dead_a_drain_fills_up_elsewhere_with_a_warning() -> None:
    asked, seen = two_rackfuls(1, 4)
    plan = make_plan(asked, seen)
    [warning] = [w for w in plan.warnings if w.kind is WarningKind.FEWER_RACKS]
    assert (len(plan.moves), plan.refusals) == (3, ())
    assert warning.facts["partitions"] == ("orders-0", "ruled-0", "undeclared-0")


def test_fewer_racks_that_cannot_be_avoided_are_said() -> None:
    """Fewer replicas keep both racks where they can; a rule that names brokers of one rack leaves no way."""
    seen = snapshot([state([1, 3, 2, 4])], registered=brokers(7, "abaabaa"), min_insync_replicas=1)
    kept = make_plan(placement(rules=ruled(replication_factor=2)), seen)
    assert [m.target for m in kept.moves] == [(1, 2)]
    assert kept.warnings == ()
    in_one_rack = ruled(replication_factor=2, brokers=selector(3, 4))
    lost = make_plan(placement(rules=in_one_rack), seen)
    [warning] = [w for w in lost.warnings if w.kind is WarningKind.RACKS_LEFT]
    assert warning.facts == {"racks": "1 instead of 2", "partitions": ("orders-0",), "count": 1}
    drained = make_plan(placement(replica_blacklist=drain(2, 5)), seen)
    assert WarningKind.RACKS_LEFT in {w.kind for w in drained.warnings}


@pytest.mark.parametrize(
    ("held", "factor", "target"),
    [([2, 1], 1, [1]), ([1, 2], 1, [1]), ([2, 1, 3], 2, [1, 3]), ([1, 3, 2], 2, [1, 3])],
)
@pytest.mark.parametrize("spread", [Spread.NONE, Spread.RACK])
def test_of_too_many_replicas_that_of_a_cordoned_broker_goes(
    held: list[int], factor: int, target: list[int], spread: Spread
) -> None:
    """Kafka takes no list that names it, though it leads; nothing is copied."""
    cordoned = tuple(replace(b, cordoned=b.id == 2) for b in brokers(4, "aaaa"))
    seen = snapshot([state(held)], registered=cordoned, min_insync_replicas=1)
    asked = placement(rules=ruled(replication_factor=factor, spread=spread))
    assert targets(asked, seen) == {"orders-0": target}


def test_a_rule_that_contradicts_the_cluster_is_one_mistake_and_no_difference_of_its_partitions() -> (
    None
):
    """What cannot be placed by another rule is said beside it."""
    other = TopicRule(Where(FILE, 12, 3), "clicks", replication_factor=9)
    seen = snapshot([state([1, 2]), state([2, 1], partition=1), state([1, 2], topic="clicks")])
    for parts in (
        {"replicas_per_rack": {"zz": 1}, "replication_factor": 1},
        {"in_rack": "zz"},
        {"brokers": BrokerSelector(racks=("zz",), places={"zz": Where(FILE, 10, 5)})},
        {"brokers": selector(9)},
    ):
        drift = find_drift(placement(rules={**ruled(**parts), "clicks": other}), seen)
        found = [(d.kind, d.topic) for d in drift.differences]
        assert found == [("unplaceable", "clicks"), ("placement", None)]


def test_an_order_by_racks_is_declared_by_its_entry() -> None:
    asked = placement(leader_rules={"ord*": LeaderRule(HERE, "ord*", racks=("a", "c"))})
    seen = snapshot([state([1, 2, 3])], registered=brokers(3, "abc"))
    [move] = make_plan(asked, seen).moves
    assert (move.target, move.reason) == ((1, 3, 2), MoveReason(ReasonKind.ORDER, rule="ord*"))


@pytest.mark.parametrize(("entry", "listed", "count"), [("orders", [], 9), ("ord*", [1], 6)])
def test_balanced_leaders_that_another_broker_gets_more_than_one_of(
    entry: str, listed: list[int], count: int
) -> None:
    """A broker on the leader blacklist has no share."""
    states = [state([1, 2, 3], partition=n) for n in range(count)]
    asked = placement(
        leader_rules={entry: LeaderRule(HERE, entry, balanced=True)},
        blacklist=[listed_leader(b) for b in listed],
    )
    plan = arrives(asked, snapshot(states, registered=brokers(3, "abc")))
    assert Counter(m.target[0] for m in plan.moves) == {2: 3, 3: 3}


def test_the_minimum_that_holds_is_that_of_the_list_that_a_refused_partition_keeps() -> None:
    seen = snapshot([state([1, 2, 3])], registered=brokers(3, "abc"), min_insync_replicas=5)
    plan = make_plan(placement(rules=ruled(replication_factor=1)), seen)
    assert [r.rule for r in plan.refusals] == [RefusalRule.TARGET_BELOW_MIN_ISR]
    [warning] = [w for w in plan.warnings if w.kind is WarningKind.MIN_ISR_ABOVE_REPLICAS]
    assert (warning.facts["minInsyncReplicas"], warning.facts["replicas"]) == (5, 3)


def test_with_fewer_replicas_the_preferred_leader_stays() -> None:
    seen = snapshot([state([1, 2, 3])], registered=brokers(3, "abc"), min_insync_replicas=1)
    asked = placement(rules=ruled(replication_factor=2), leaders={"orders-0": 3})
    assert targets(asked, seen) == {"orders-0": [3, 1]}


def test_more_replicas_than_any_cluster_has_brokers_are_refused() -> None:
    seen = snapshot([state([1, 2])], registered=brokers(3, "abc"))
    [refusal] = make_plan(placement(rules=ruled(replication_factor=2**31 - 1)), seen).refusals
    assert refusal.rule is RefusalRule.TOO_FEW_BROKERS


def told_before_4_1(seen: Snapshot, down: int) -> Snapshot:
    """The snapshot while a broker is down: Kafka before 4.1 does not list it, so nobody knows its rack."""
    states = [
        replace(s, isr=left, leader=s.leader if s.leader in left else left[0])
        for s in seen.states(range(seen.partitions.num_rows))
        for left in [tuple(b for b in s.isr if b != down)]
    ]
    registered = [replace(b, fenced=True, rack=None) if b.id == down else b for b in seen.brokers]
    return snapshot(states, registered=registered)


@given(
    st.integers(1, 2),
    st.sampled_from([Spread.RACK, Spread.IN_RACK, Spread.NONE]),
    st.integers(2, 3),
    st.booleans(),
    st.booleans(),
    st.data(),
)
@examples(fast=5, full=90, nightly=2_000)
def test_a_rolling_restart_changes_no_verdict_where_kafka_tells_no_rack_of_what_is_down(
    each: int,
    spread: Spread,
    factor: int,
    balanced: bool,
    preferred: bool,
    data: st.DataObject,
) -> None:
    each = max(each, factor) if spread is Spread.IN_RACK else each
    cluster = [Broker(BrokerId(n), "abc"[n % 3]) for n in range(1, 3 * each + 1)]
    lists = data.draw(
        st.lists(
            st.lists(
                st.sampled_from([b.id for b in cluster]),
                min_size=factor,
                max_size=factor,
                unique=True,
            ),
            min_size=1,
            max_size=5,
        )
    )
    seen = snapshot(
        [state(listed, partition=n) for n, listed in enumerate(lists)], registered=cluster
    )
    leaders = {"orders": LeaderRule(HERE, "orders", racks=("b", "a"))} if preferred else {}
    named: dict[str, Any] = (
        {"in_rack": "b"} if spread is Spread.IN_RACK and data.draw(st.booleans()) else {}
    )
    within_racks: dict[str, Any] = {"brokers": selector(racks=("a", "b"))} if each >= factor else {}
    asked = placement(
        rules=ruled(
            spread=spread,
            replication_factor=factor,
            **data.draw(st.sampled_from([{}, named, within_racks, {**named, **within_racks}])),
        ),
        leader_rules=leaders,
        balance=Balance(HERE, within(replicas=Fraction(1))) if balanced else None,
        leader_racks=listed_racks(*data.draw(st.sampled_from([(), ("a",), ("b", "c")]))),
    )
    try:
        settled = after(make_plan(asked, seen), seen)
    except BalanceUnreachable:
        reject()
    if not make_plan(asked, settled).empty:
        reject()
    for broker in cluster:
        restarting = told_before_4_1(settled, broker.id)
        assert make_plan(asked, restarting).empty
        assert find_drift(asked, restarting).none
