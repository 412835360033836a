"""Topics with more partitions declared than they have: what is created, what moves afterwards, what is refused."""

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
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
from tests.readings import after, arrives, find_drift, plan_text

from replan.errors import BadPlacement, Exit, UnsafePlan
from replan.model.api import (
    FIXED_COUNT,
    Balance,
    BalanceMeasure,
    BrokerId,
    LeaderRule,
    Limit,
    Measure,
    Placement,
    Snapshot,
    Spread,
    Tolerance,
    TopicPartition,
    Where,
    replicas,
)
from replan.planning.api import (
    ConstraintKind,
    DifferenceKind,
    Lack,
    LimitExceeded,
    Plan,
    RefusalRule,
    Shortage,
    compared,
    dumps,
    loads,
    make_plan,
    require_lawful,
)
from replan.snapshots.api import from_document, to_document

TWO = [state([1, 2, 3]), state([2, 3, 4], partition=1)]


def seen(registered: int = 6) -> Snapshot:
    return snapshot(TWO, registered=brokers(registered, "abc"))


def test_a_count_alone_adds_partitions_where_the_least_lies_and_moves_nothing() -> None:
    plan = arrives(placement(rules=ruled(partition_count=4)), seen())
    assert loads(dumps(plan), "plan.json") == plan

    [create] = plan.creates
    assert (create.topic, create.present, create.count) == ("orders", 2, 4)
    assert {len(listed) for listed in create.lists} == {3}
    assert {5, 6} <= set(create.lists[0])
    assert plan.moves == ()


def test_new_partitions_are_led_by_who_leads_least_of_their_topic() -> None:
    """A rule leaves the order free, and Kafka lets the first of each list lead."""
    rule = placement(rules=ruled(partition_count=7))
    before = snapshot(TWO[:1], registered=brokers(3, "abc"))
    plan = arrives(rule, before)
    assert Counter(listed[0] for listed in plan.creates[0].lists) == {1: 2, 2: 2, 3: 2}

    demoted = replace(rule, leader_blacklist=(listed_leader(3),))
    heads = Counter(listed[0] for listed in make_plan(demoted, before).creates[0].lists)
    assert heads == {1: 3, 2: 3}


@pytest.mark.parametrize("entry", ["orders", "*"])
def test_new_partitions_let_balanced_leaders_stay(entry: str) -> None:
    lists = [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 2, 3]]
    states = [state(listed, partition=n) for n, listed in enumerate(lists)]
    states += [state([1, 2, 3], topic="clicks"), state([2, 1, 3], topic="clicks", partition=1)]
    asked = placement(
        rules=ruled(partition_count=9),
        leader_rules={entry: LeaderRule(HERE, entry, balanced=True)},
    )
    plan = arrives(asked, snapshot(states, registered=brokers(3, "abc")))
    assert len(plan.creates[0].lists) == 5
    assert plan.moves == ()


def test_a_topic_that_shows_no_partitions_gets_none() -> None:
    document = to_document(seen())
    without = from_document({**document, "topics": [{"name": "orders"}]}, "cluster.json")
    plan = make_plan(placement(rules=ruled(partition_count=3)), without)
    assert [(str(r.partition), r.rule) for r in plan.refusals] == [
        ("orders-0", RefusalRule.NO_PARTITIONS)
    ]


def test_the_list_form_says_where_they_lie() -> None:
    declared = [[1, 2, 3], [2, 3, 4], [6, 5, 1], [5, 4, 3]]
    plan = arrives(placement({"orders": declared}), seen())

    assert plan.creates[0].lists == (replicas(6, 5, 1), replicas(5, 4, 3))
    assert plan.moves == ()


def test_count_factor_and_spread_make_one_plan() -> None:
    rule = ruled(partition_count=3, replication_factor=4, spread=Spread.NONE)
    plan = arrives(placement(rules=rule), seen())

    [create] = plan.creates
    assert len(create.lists[0]) == 3, "Kafka takes no other length than the topic has"
    assert {m.partition.partition: len(m.target) for m in plan.moves} == {0: 4, 1: 4, 2: 4}
    assert {m.partition: m.original for m in plan.moves}[create.first] == create.lists[0]


def test_lists_of_another_length_are_created_as_they_can_be_and_then_moved() -> None:
    longer = arrives(placement({"orders": [[1, 2, 3], [2, 3, 4], [6, 5, 1, 2]]}), seen())
    assert longer.creates[0].lists == (replicas(6, 5, 1),)
    assert [m.target for m in longer.moves] == [replicas(6, 5, 1, 2)]

    shorter = arrives(placement({"orders": [[1, 2, 3], [2, 3, 4], [6, 5]]}), seen())
    assert shorter.creates[0].lists == (replicas(6, 5, 1),)
    assert [m.target for m in shorter.moves] == [replicas(6, 5)]


def test_who_makes_new_lists_longer_is_not_always_the_same_broker() -> None:
    """Fewer replicas are wanted than the lists have, and Kafka refuses fewer: those behind lie with who has least."""
    rule = ruled(partition_count=8, replication_factor=1)
    [create] = make_plan(placement(rules=rule), seen()).creates

    held = Counter(b for s in TWO for b in s.replicas)
    held.update(b for listed in create.lists for b in listed)
    assert {len(listed) for listed in create.lists} == {3}
    assert set(held.values()) <= {3, 4, 5}


def test_drains_and_the_leader_blacklist_hold_of_new_partitions_at_once() -> None:
    drained = placement(
        {"orders": [[1, 2, 3], [2, 3, 4], [5, 6, 1]]},
        replica_blacklist=drain(6),
    )
    assert 6 not in arrives(drained, seen()).creates[0].lists[0]

    shorter = placement(
        rules=ruled(partition_count=3, replication_factor=2),
        replica_blacklist=drain(1),
    )
    assert 1 not in arrives(shorter, seen()).creates[0].lists[0], "nor where Kafka wants one more"

    demoted = placement(
        {"orders": [[1, 2, 3], [2, 3, 4], [5, 6, 1]]},
        blacklist=[listed_leader(5)],
    )
    plan = arrives(demoted, seen())
    assert plan.creates[0].lists == (replicas(6, 1, 5),)
    assert plan.moves == ()


@pytest.mark.parametrize(
    "asked", [placement(rules=ruled(partition_count=1)), placement({"orders": [[1, 2, 3]]})]
)
def test_fewer_than_there_are_is_refused_and_nothing_else_is(asked: Placement) -> None:
    plan = make_plan(asked, seen())

    assert [(r.rule, r.partition.partition) for r in plan.refusals] == [
        (RefusalRule.FEWER_PARTITIONS, 1)
    ]
    assert not plan.creates
    assert not plan.moves


@pytest.mark.parametrize("topic", FIXED_COUNT)
@pytest.mark.parametrize("declared", ["by name", "by pattern", "as a list"])
def test_a_topic_whose_records_are_found_by_its_count_never_grows(
    topic: str, declared: str
) -> None:
    """A group's committed offsets would be looked for in another partition after the next restart of a broker."""
    seen = snapshot(
        [state([1, 2, 3], topic=topic), state([2, 3, 4], topic=topic, partition=1)],
        registered=brokers(6, "abc"),
    )
    name = "__*" if declared == "by pattern" else topic
    asked = (
        placement({topic: [[1, 2, 3], [2, 3, 4], [3, 4, 5]]})
        if declared == "as a list"
        else placement(rules=ruled(name, partition_count=3))
    )
    plan = make_plan(asked, seen)

    assert [(r.partition, r.rule) for r in plan.refusals] == [
        (TopicPartition(topic, 2), RefusalRule.COUNT_IS_FIXED)
    ]
    assert plan.left_out is Exit.REFUSED
    assert plan.creates == ()


def test_a_plan_file_in_which_such_a_topic_grows_is_refused() -> None:
    """However it came to that: written by hand, or by a release that knew nothing of it."""
    grown = make_plan(placement(rules=ruled(partition_count=3)), seen())
    create = structs.replace(grown.creates[0], topic="__consumer_offsets")
    with pytest.raises(UnsafePlan, match="must keep the number of its partitions"):
        require_lawful(replace(grown, creates=(create,)), "plan.json")


def test_what_has_more_partitions_than_declared_is_drained_all_the_same() -> None:
    asked = placement(rules=ruled(partition_count=1), replica_blacklist=drain(4))
    plan = make_plan(asked, seen())

    assert [r.rule for r in plan.refusals] == [RefusalRule.FEWER_PARTITIONS]
    assert [(m.partition.partition, m.leaving) for m in plan.moves] == [(1, (4,))]
    assert loads(dumps(plan), "plan.json") == plan


@pytest.mark.parametrize(("adding", "removing"), [([5], []), ([], [5])])
def test_a_topic_on_which_something_runs_waits_for_the_next_plan(
    adding: list[int], removing: list[int]
) -> None:
    running = state([2, 3, 4, 5], [2, 3, 4], partition=1, adding=adding, removing=removing)
    before = snapshot([TWO[0], running], registered=brokers(6, "abc"))
    plan = make_plan(placement(rules=ruled(partition_count=3)), before)

    [refusal] = plan.refusals
    assert refusal.rule is RefusalRule.TOPIC_RUNNING
    assert refusal.held
    assert refusal.facts["partitions"] == ("orders-1",)
    assert not plan.creates


def test_who_is_to_lead_a_partition_that_has_to_wait_is_no_mistake() -> None:
    running = [TWO[0], state([2, 3, 4, 5], [2, 3, 4], partition=1, adding=[5])]
    before = snapshot(running, registered=brokers(6, "abc"))
    asked = placement(rules=ruled(partition_count=3), leaders={"orders-2": 1})
    assert [r.rule for r in make_plan(asked, before).refusals] == [RefusalRule.TOPIC_RUNNING]


@pytest.mark.parametrize(
    "wrong",
    [
        {"weights": {9: 2}},
        {"leaders": {"clicks-0": 3}},
        {"leaders": {"orders-3": 1}},
        {"lists": {"clicks": [[9, 1]]}},
    ],
)
def test_a_placement_with_a_mistake_neither_adds_partitions_nor_balances(
    wrong: dict[str, Any],
) -> None:
    """Either may take minutes, and the mistake is known before."""
    clicks = [state([1, 2], topic="clicks", partition=p) for p in range(8)]
    before = snapshot([*TWO, *clicks], registered=brokers(6, "abc"))
    weights = {BrokerId(b): Fraction(w) for b, w in wrong.get("weights", {}).items()}
    balance = Balance(
        HERE, within(replicas=Fraction(1, 20)), weights=weights, places={"weights": HERE}
    )
    rules = ruled(partition_count=3, spread=Spread.RACK)
    if "clicks-0" not in wrong.get("leaders", {}) and "lists" not in wrong:
        rules |= ruled("clicks", spread=Spread.RACK)
    asked = placement(
        wrong.get("lists"), rules=rules, balance=balance, leaders=wrong.get("leaders", {})
    )
    found = compared(asked, before)
    assert len(found.mistakes) == 1
    assert found.growth.creates == ()
    assert not found.wanted.chosen.for_balance.any()
    with pytest.raises(BadPlacement):
        make_plan(asked, before)


def test_partitions_of_different_length_are_made_equal_first() -> None:
    uneven = snapshot([TWO[0], state([2, 3], partition=1)], registered=brokers(6, "abc"))
    asked = placement(rules=ruled(partition_count=3, replication_factor=3))
    plan = make_plan(asked, uneven)

    assert [r.rule for r in plan.refusals] == [RefusalRule.FACTORS_DIFFER]
    assert [m.partition.partition for m in plan.moves] == [1]
    assert make_plan(asked, after(plan, uneven)).creates


def test_a_rule_that_no_broker_keeps_refuses_the_growth() -> None:
    rule = ruled(partition_count=3, replication_factor=7)
    plan = make_plan(placement(rules=rule), seen())

    assert (TopicPartition("orders", 2), RefusalRule.TOO_FEW_BROKERS) in [
        (r.partition, r.rule) for r in plan.refusals
    ]
    assert not plan.creates


def test_nothing_is_created_on_a_drained_broker_whose_place_nobody_can_take() -> None:
    before = snapshot([state([1])], registered=brokers(1, "a"))
    asked = placement({"orders": [[1], [1]]}, replica_blacklist=drain(1))
    plan = make_plan(asked, before)

    assert plan.creates == ()
    assert sorted((r.partition.partition, r.rule) for r in plan.refusals) == [
        (0, RefusalRule.NO_SUBSTITUTE),
        (1, RefusalRule.NO_SUBSTITUTE),
    ]
    assert [(d.partition, d.kind) for d in find_drift(asked, before).partitions] == [
        (0, DifferenceKind.UNPLACEABLE),
        (1, DifferenceKind.MISSING),
    ]


def test_a_new_partition_on_an_unknown_broker_is_a_mistake_with_its_place() -> None:
    with pytest.raises(BadPlacement, match="broker 9 is not registered"):
        make_plan(placement({"orders": [[1, 2, 3], [2, 3, 4], [9, 2, 1]]}), seen())


def test_limits_count_new_partitions_and_their_topic() -> None:
    limit = Limit(Measure.PARTITIONS, HERE, 3)
    asked = placement(rules=ruled(partition_count=6), limits={Measure.PARTITIONS: limit})
    with pytest.raises(LimitExceeded) as raised:
        make_plan(asked, seen())
    assert [(e.amount, e.largest) for e in raised.value.exceeded] == [(4, (("orders", 4),))]
    assert make_plan(asked, seen(), {Measure.PARTITIONS: 4}).creates


def test_a_part_of_a_plan_creates_only_for_its_topics() -> None:
    before = snapshot([*TWO, state([1, 2], topic="clicks")], registered=brokers(6, "abc"))
    asked = placement(rules=ruled("*", partition_count=3))
    assert [c.topic for c in make_plan(asked, before).creates] == ["clicks", "orders"]
    assert [c.topic for c in make_plan(asked, before, only=["cl*"]).creates] == ["clicks"]


@given(data=st.data())
def test_whatever_is_declared_one_plan_arrives(data: st.DataObject) -> None:
    factor = data.draw(st.integers(1, 4), label="factor")
    present = data.draw(st.integers(1, 4), label="present")
    ids = st.permutations(range(1, 7))
    before = snapshot(
        [state(data.draw(ids)[:factor], partition=p) for p in range(present)],
        registered=brokers(6, "abc"),
        min_insync_replicas=1,
    )
    rule = ruled(
        partition_count=present + data.draw(st.integers(1, 4), label="more"),
        replication_factor=data.draw(st.sampled_from([None, 1, 2, 3, 4]), label="new factor"),
        spread=data.draw(st.sampled_from([None, Spread.RACK, Spread.NONE]), label="spread"),
    )
    drained = data.draw(st.booleans(), label="drained")
    asked = placement(rules=rule, replica_blacklist=drain(1) if drained else ())
    plan = arrives(asked, before)

    assert {len(listed) for listed in plan.creates[0].lists} == {factor}
    if not drained:
        new = set(plan.creates[0].partitions)
        longer = (rule["orders"].replication_factor or factor) != factor
        assert longer or not new & {m.partition for m in plan.moves}


def test_a_balance_is_kept_with_the_new_partitions_in_it() -> None:
    asked = placement(
        rules=ruled(partition_count=12, replication_factor=3),
        balance=Balance(HERE, within(replicas=Fraction(1, 2))),
    )
    arrives(asked, seen())


def test_brokers_that_hold_all_they_may_get_no_new_partitions_and_both_places_are_named() -> None:
    """Four replicas a broker: 24 on six, of which nine are there; eight partitions have 24 replicas, nine have 27."""
    at, count = Where(FILE, 20, 5), Where(FILE, 10, 5)
    most = Tolerance(BalanceMeasure.MAX_REPLICAS, Fraction(4))
    balance = Balance(at, (most,), places={most.measure.value: at})
    few = seen()

    def planned(number: int, bound: Balance | None = balance) -> Plan:
        rules = ruled(partition_count=number, places={"partitionCount": count})
        return make_plan(placement(rules=rules, balance=bound), few)

    assert planned(8).refusals == ()
    made = planned(9)
    assert (made.creates, [r.rule for r in made.refusals]) == ((), [RefusalRule.BROKERS_FULL])
    assert loads(dumps(made), "plan.json") == made
    [found] = made.conflicts
    assert [(c.where, c.number) for c in found.constraints] == [(str(at), 4), (str(count), 9)]
    assert found.lacks == (Lack(Shortage.BROKER_REPLICAS, 5, 4),)
    assert f"{at}), and with the new partitions of its topic ({count}: orders)" in plan_text(made)
    assert planned(9, None).refusals == ()


def test_what_closes_brokers_is_named_beside_what_the_others_may_hold() -> None:
    """With the drained one of six there would be room for six times four; without it, and a fenced one, for less."""
    at = Where(FILE, 20, 5)
    most = Tolerance(BalanceMeasure.MAX_REPLICAS, Fraction(4))
    few = seen()
    few = replace(few, brokers=tuple(replace(b, fenced=b.id == 5) for b in few.brokers))
    asked = placement(
        rules=ruled(partition_count=8),
        balance=Balance(at, (most,), places={most.measure.value: at}),
        replica_blacklist=drain(6),
    )
    made = make_plan(asked, few)
    [found] = made.conflicts
    assert "broker 5 is fenced" in plan_text(made)
    assert [(c.kind, c.brokers) for c in found.constraints][:2] == [
        (ConstraintKind.FENCED, (5,)),
        (ConstraintKind.DRAINED, (6,)),
    ]


def test_leaders_are_balanced_beside_a_topic_that_has_no_partitions() -> None:
    """A topic whose partitions are being deleted is listed without any."""
    document: Any = to_document(seen())
    document["topics"].append({"name": "orders-gone", "minInsyncReplicas": 1, "partitions": []})
    asked = placement(
        rules=ruled(partition_count=3),
        leader_rules={"orders*": LeaderRule(HERE, "orders*", balanced=True)},
    )
    assert len(make_plan(asked, from_document(document, "cluster.json")).creates) == 1
