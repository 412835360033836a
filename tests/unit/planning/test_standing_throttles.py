"""`throttles.standing` against what is set: what differs, what is nobody's, and what moves have set for a while."""

import pytest
from msgspec.structs import replace
from tests.builders import HERE, brokers, placement, snapshot, state, with_throttled
from tests.readings import find_drift

from replan.applying.api import SavedRate, SavedReplicaList, as_planned_from, fold
from replan.errors import BadPlacement
from replan.model.api import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    BrokerId,
    Configs,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    Limit,
    Measure,
    Placement,
    Snapshot,
    StandingRate,
    StandingThrottles,
    ThrottledReplicas,
)
from replan.planning.api import LimitExceeded, WarningKind, dumps, loads, make_plan

ALL = ThrottledReplicas(HERE, frozenset("*"), frozenset("*"))
STATES = [state([1, 2, 3]), state([1, 2, 3], topic="__state"), state([2, 3, 1], topic="clicks")]


def own(**rates: int) -> Configs:
    keys = {"leader": LEADER_RATE, "follower": FOLLOWER_RATE}
    return {keys[s]: ConfigValue(str(rate), ConfigSource.BROKER) for s, rate in rates.items()}


def declared(
    topics: dict[str, ThrottledReplicas] | None = None,
    rates: dict[int, StandingRate] | None = None,
) -> Placement:
    by_broker = {BrokerId(b): rate for b, rate in (rates or {}).items()}
    return replace(placement({}), standing=StandingThrottles(topics or {}, by_broker))


def seen(**rates: Configs) -> Snapshot:
    found = snapshot(STATES, registered=brokers(4, "abc"))
    configs = {BrokerId(int(name[1:])): of for name, of in rates.items()}
    return replace(found, broker_configs=configs)


def changes(asked: Placement, at: Snapshot) -> dict[tuple[str, str], tuple[str | None, str | None]]:
    plan = make_plan(asked, at)
    assert loads(dumps(plan), "plan.json") == plan
    assert find_drift(asked, at).standing == plan.standing
    return {(s.setting.name, s.setting.key): (s.before, s.after) for s in plan.standing}


def test_a_pattern_reaches_topics_and_no_internal_ones() -> None:
    assert changes(declared({"*": ALL}), seen()) == {
        (topic, key): (None, "*")
        for topic in ("orders", "clicks")
        for key in (LEADER_REPLICAS, FOLLOWER_REPLICAS)
    }


def test_an_entry_counts_whole_and_what_none_names_is_left_alone() -> None:
    rates = {1: StandingRate(HERE, leader=5000), 2: StandingRate(HERE)}
    at = seen(b1=own(leader=5000, follower=7000), b2=own(leader=8000), b3=own(leader=9000))
    assert changes(declared(rates=rates), at) == {
        ("1", FOLLOWER_RATE): ("7000", None),
        ("2", LEADER_RATE): ("8000", None),
    }


def test_the_order_of_a_list_means_nothing() -> None:
    asked = declared({"orders": ThrottledReplicas(HERE, frozenset({"0:1", "0:2"}))})
    assert changes(asked, with_throttled(seen(), orders="0:2,0:1")) == {}
    assert changes(asked, with_throttled(seen(), orders="0:2")) == {
        ("orders", LEADER_REPLICAS): ("0:2", "0:1,0:2")
    }


def test_two_rates_that_three_digits_do_not_tell_apart_are_said_whole() -> None:
    asked = declared(rates={1: StandingRate(HERE, leader=10_500_000)})
    [found] = find_drift(asked, seen(b1=own(leader=10_485_760))).standing
    assert str(found) == "10485760 B/s -> 10.5 MB/s"
    [found] = find_drift(asked, seen(b1=own(leader=10_000_000))).standing
    assert str(found) == "10 MB/s -> 10.5 MB/s"


def test_a_default_of_the_cluster_is_no_value_of_a_broker() -> None:
    default = {LEADER_RATE: ConfigValue("5000", ConfigSource.CLUSTER_DEFAULT)}
    asked = declared(rates={1: StandingRate(HERE, leader=5000)})
    assert changes(asked, seen(b1=default)) == {("1", LEADER_RATE): (None, "5000")}


def test_a_fenced_or_unknown_broker_is_named_and_not_judged() -> None:
    rates = {b: StandingRate(HERE, leader=5000) for b in (4, 9)}
    at = seen()
    fenced = replace(at, brokers=tuple(replace(b, fenced=b.id == 4) for b in at.brokers))
    plan = make_plan(declared(rates=rates), fenced)
    assert plan.empty
    found = [w for w in plan.warnings if w.kind is WarningKind.STANDING_UNREAD]
    assert [w.facts["broker"] for w in found] == [4, 9]


def test_what_moves_have_set_for_a_while_is_no_drift() -> None:
    lists = {"orders": ThrottledReplicas(HERE, frozenset({"0:1"}))}
    asked = declared(lists, {1: StandingRate(HERE, leader=5000)})
    ledger = fold(
        [
            SavedRate(BrokerId(1), LEADER_RATE, "5000", ("1000",)),
            SavedReplicaList("orders", LEADER_REPLICAS, True, ("0:2",)),
        ]
    )
    at = with_throttled(seen(b1=own(leader=1000)), orders="0:1,0:2")
    assert find_drift(asked, as_planned_from(at, ledger)).none
    assert not find_drift(asked, at).none


def test_two_patterns_of_equal_length_are_an_error() -> None:
    with pytest.raises(BadPlacement, match=r"throttles\.standing\.topics"):
        make_plan(declared({"o*": ALL, "o?ders": ALL}), seen())


def test_their_topics_count_for_the_limit_of_topics() -> None:
    limits = {Measure.TOPICS: Limit(Measure.TOPICS, HERE, 1)}
    with pytest.raises(LimitExceeded):
        make_plan(replace(declared({"*": ALL}), limits=limits), seen())


def test_a_part_of_a_plan_has_the_settings_of_its_topics() -> None:
    asked = declared({"*": ALL}, {1: StandingRate(HERE, leader=5000)})
    plan = make_plan(asked, seen(), only=["orders"])
    assert {(s.setting.scope, s.setting.name) for s in plan.standing} == {
        (ConfigScope.TOPIC, "orders")
    }


@pytest.mark.parametrize(
    ("topics", "lists", "idle"),
    [
        ({}, {}, ["leader of 1", "follower of 1"]),
        ({"orders": ThrottledReplicas(HERE, frozenset({"0:1"}))}, {}, ["follower of 1"]),
        ({"orders": ThrottledReplicas(HERE, frozenset({"*"}), frozenset({"*"}))}, {}, []),
        (
            {"nowhere*": ThrottledReplicas(HERE, frozenset({"*"}))},
            {},
            ["leader of 1", "follower of 1"],
        ),
        ({}, {"orders": "0:1"}, ["follower of 1"]),
        ({"orders": ThrottledReplicas(HERE)}, {"orders": "*"}, ["leader of 1", "follower of 1"]),
        ({}, {"orders": "none, 0:, :x"}, ["leader of 1", "follower of 1"]),
    ],
    ids=[
        "no list",
        "one side",
        "all replicas",
        "a pattern of no topic",
        "a list that nobody declares",
        "a list that is to be emptied",
        "a list that names no replica",
    ],
)
def test_a_rate_that_slows_nothing_down_is_named_with_its_place(
    topics: dict[str, ThrottledReplicas], lists: dict[str, str], idle: list[str]
) -> None:
    asked = declared(topics, {1: StandingRate(HERE, 1_000_000, 1_000_000)})
    kind = WarningKind.STANDING_WITHOUT_REPLICAS
    found = [
        w for w in make_plan(asked, with_throttled(seen(), **lists)).warnings if w.kind is kind
    ]
    assert [f"{w.facts['side']} of {w.facts['broker']}" for w in found] == idle
    assert {w.facts["where"] for w in found} <= {str(HERE)}
