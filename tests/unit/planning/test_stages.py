"""A plan in stages: the most urgent first, within the limits, and by name what no stage can take."""

import pytest
from msgspec.structs import replace
from tests.builders import HERE, brokers, drain, placement, ruled, snapshot, state
from tests.unit.planning.test_room import disk

from replan.errors import BadUsage, Exit
from replan.model.api import (
    Apart,
    Broker,
    BrokerId,
    Limit,
    Limits,
    Measure,
    Placement,
    Snapshot,
)
from replan.planning.api import (
    LimitExceeded,
    Plan,
    RefusalRule,
    WarningKind,
    dumps,
    loads,
    make_plan,
)

MB = 10**6


def limits(**most: int) -> Limits:
    measures = {measure.value: measure for measure in Measure}
    return {measures[key]: Limit(measures[key], HERE, of) for key, of in most.items()}


def names(plan: Plan) -> list[str]:
    return [str(m.partition) for m in plan.moves]


def left(plan: Plan) -> list[tuple[object, object]]:
    found = (w.facts for w in plan.warnings if w.kind is WarningKind.MORE_STAGES)
    return [(facts["stages"], facts["count"]) for facts in found]


@pytest.fixture
def ten() -> tuple[Placement, Snapshot]:
    """Ten partitions of 10 MB each that go to broker 4."""
    seen = snapshot([state([1, 2, 3], partition=n, size=10 * MB) for n in range(10)])
    return placement({"orders": [[1, 2, 4]] * 10}, limits=limits(bytes=35 * MB)), seen


def test_a_stage_is_what_fits_and_says_what_is_left(ten: tuple[Placement, Snapshot]) -> None:
    plan = make_plan(*ten, within_limits=True)
    assert (names(plan), plan.refusals) == (["orders-0", "orders-1", "orders-2"], ())
    assert left(plan) == [(2, 7)]
    assert loads(dumps(plan), "plan.json") == plan


def test_a_plan_that_fits_is_the_whole_one(ten: tuple[Placement, Snapshot]) -> None:
    asked, seen = ten
    enough = replace(asked, limits=limits(bytes=100 * MB))
    assert make_plan(enough, seen, within_limits=True) == make_plan(enough, seen)


def test_the_placement_says_it_as_the_option_does(ten: tuple[Placement, Snapshot]) -> None:
    asked, seen = ten
    said = make_plan(replace(asked, in_stages=True), seen)
    assert said == make_plan(asked, seen, within_limits=True)
    assert left(make_plan(asked, seen, {Measure.BYTES: 50 * MB}, within_limits=True)) == [(1, 5)]


def test_a_refused_plan_names_the_option(ten: tuple[Placement, Snapshot]) -> None:
    with pytest.raises(LimitExceeded, match="--within-limits"):
        make_plan(*ten)


def test_without_limits_there_are_no_stages(ten: tuple[Placement, Snapshot]) -> None:
    asked, seen = ten
    with pytest.raises(BadUsage, match="sets no limits"):
        make_plan(replace(asked, limits={}), seen, within_limits=True)


def test_who_is_under_min_isr_goes_before_a_drain_and_that_before_a_list() -> None:
    seen = snapshot(
        [
            state([1, 2, 3]),
            state([5, 2, 3], partition=1),
            state([1, 2, 3], [1], partition=2),
            state([5, 3], topic="clicks"),
        ],
        registered=brokers(6, "abc"),
    )
    asked = placement(
        {"orders": [[1, 2, 4], [5, 2, 3], [1, 2, 6]]},
        replica_blacklist=drain(5),
        limits=limits(partitions=1),
    )
    assert names(make_plan(asked, seen, within_limits=True)) == ["orders-2"]
    two = make_plan(replace(asked, limits=limits(partitions=3)), seen, within_limits=True)
    assert set(names(two)) == {"orders-2", "clicks-0", "orders-1"}


def test_what_no_stage_can_take_is_refused_by_name_and_the_rest_goes_on() -> None:
    seen = snapshot([state([1, 2, 3], size=90 * MB), state([1, 2, 3], partition=1, size=MB)])
    asked = placement({"orders": [[1, 2, 4]] * 2}, limits=limits(bytesPerBroker=50 * MB))
    plan = make_plan(asked, seen, within_limits=True)
    assert names(plan) == ["orders-1"]
    [refusal] = plan.refusals
    assert (str(refusal.partition), refusal.rule) == ("orders-0", RefusalRule.BEYOND_LIMIT)
    assert refusal.facts == {
        "where": str(HERE),
        "measure": "bytesPerBroker",
        "found": 90 * MB,
        "most": 50 * MB,
    }
    assert "bytesPerBroker 90 MB, limit 50 MB (" in str(refusal)
    assert "--allow bytesPerBroker=90000000" in str(refusal)
    assert (plan.left_out, left(plan)) == (Exit.REFUSED, [])


def test_a_move_waits_for_the_stage_that_makes_room_for_it() -> None:
    """orders-0 needs the room of orders-1, which is left for a later stage as long as one partition may change."""
    states = [state([1, 3], size=80), state([2, 3], partition=1, size=80)]
    seen = snapshot(
        states,
        registered=brokers(4, "abc"),
        min_insync_replicas=1,
        log_dirs=(disk(1, 0), disk(2, 10), disk(4, 100)),
    )
    asked = placement({"orders": [[2, 3], [4, 3]]}, limits=limits(partitions=1))
    assert names(make_plan(asked, seen, within_limits=True)) == ["orders-1"]
    both = replace(asked, limits=limits(partitions=2))
    assert names(make_plan(both, seen, within_limits=True)) == ["orders-1", "orders-0"]


def test_new_partitions_that_are_left_are_not_moved() -> None:
    seen = snapshot([state([1, 2]), state([1, 3], topic="clicks")], registered=brokers(5, "abcab"))
    rules = ruled("clicks", partition_count=4, replication_factor=3)
    asked = placement({"orders": [[1, 3]]}, rules=rules, limits=limits(partitions=2))
    plan = make_plan(asked, seen, within_limits=True)
    assert plan.creates == ()
    [refusal] = plan.refusals
    assert (refusal.rule, refusal.facts["found"]) == (RefusalRule.BEYOND_LIMIT, 3)
    assert {m.partition.partition for m in plan.moves} == {0}
    whole = make_plan(replace(asked, limits=limits(partitions=5)), seen, within_limits=True)
    assert [c.topic for c in whole.creates] == ["clicks"]
    assert left(whole) == []


def test_no_stage_takes_a_broker_above_what_its_topic_may_have_there() -> None:
    """The drain of broker 1 takes orders-0 to broker 2, which is full of the topic until orders-1 has left it."""
    lists = [[1, 5], [2, 3], [2, 3]]
    seen = snapshot(
        [state(found, partition=n) for n, found in enumerate(lists)],
        registered=[Broker(BrokerId(b), "a") for b in (1, 2, 3, 5)],
        min_insync_replicas=1,
    )
    asked = placement(
        rules=ruled(replication_factor=2, max_replicas_per_broker=2),
        replica_blacklist=drain(1),
        limits=limits(partitions=1),
    )
    whole = make_plan(replace(asked, limits={}), seen)
    assert {str(m.partition): m.new for m in whole.moves} == {"orders-0": (2,), "orders-1": (5,)}
    assert names(make_plan(asked, seen, within_limits=True)) == ["orders-1"]


@pytest.mark.parametrize(("target", "first"), [(3, "orders-0"), (1, "clicks-0")])
def test_a_stage_keeps_topics_apart_unless_they_wait_for_one_another(
    target: int, first: str
) -> None:
    seen = snapshot(
        [state([1], topic="clicks"), state([2])],
        registered=brokers(3, "abc"),
        min_insync_replicas=1,
    )
    asked = placement(
        {"clicks": [[2]], "orders": [[target]]},
        apart=(Apart(HERE, ("clicks", "orders")),),
        limits=limits(partitions=1),
    )
    assert names(make_plan(asked, seen, within_limits=True)) == [first]


def test_a_topic_that_is_to_be_apart_from_none_goes_where_others_are() -> None:
    seen = snapshot(
        [state([1], topic="clicks"), state([2]), *(state([3], topic=t) for t in ("stock", "x"))],
        registered=brokers(4, "abc"),
        min_insync_replicas=1,
    )
    asked = placement(
        {"clicks": [[1]], "orders": [[2]], "stock": [[1]], "x": [[4]]},
        apart=(Apart(HERE, ("clicks", "orders")),),
        limits=limits(partitions=1),
    )
    assert names(make_plan(asked, seen, within_limits=True)) == ["stock-0"]


def test_what_needs_no_creation_is_left_for_later_although_no_stage_creates() -> None:
    seen = snapshot([state([1, 2, 3], partition=n) for n in range(3)])
    asked = placement({"orders": [*[[1, 2, 4]] * 3, *[[1, 2, 3]] * 3]}, limits=limits(partitions=2))
    plan = make_plan(asked, seen, within_limits=True)
    assert (names(plan), plan.creates) == (["orders-0", "orders-1"], ())
    assert left(plan) == [(1, 1)]
