"""The conflicts of a plan: which keys, at which lines, and which brokers leave no placement, for all rules at once."""

from typing import Any

from hypothesis import given
from msgspec.structs import replace
from tests.builders import FILE, brokers, drain, placement, snapshot, state
from tests.properties.test_all_keys import ENOUGH, World, worlds
from tests.readings import plan_text
from tests.unit.planning.test_room import with_disks

from replan.errors import ReplanError
from replan.model.api import (
    BrokerId,
    BrokerRange,
    BrokerSelector,
    PartitionState,
    Placement,
    Requirement,
    Snapshot,
    Spread,
    TopicPartition,
    TopicRule,
    Where,
)
from replan.planning.api import (
    EXPLAINED,
    OF_ROOM,
    Conflict,
    ConstraintKind,
    Lack,
    Proof,
    Shortage,
    dumps,
    explain_partition,
    loads,
    make_plan,
)
from replan.reporting.api import constraint_texts

KEYS = {"replicationFactor": 5, "spread": 6, "brokers": 7, "inRack": 8, "replicasPerRack": 10}


def ruled(pattern: str = "orders", among: tuple[int, int] | None = None, **parts: Any) -> TopicRule:
    """A rule at line 4, each key on a line of its own."""
    places = {key: Where(FILE, line, 5) for key, line in KEYS.items()}
    if among:
        first, last = map(BrokerId, among)
        parts["brokers"] = BrokerSelector(
            (BrokerRange(first, last, places["brokers"], single=False),)
        )
    return TopicRule(Where(FILE, 4, 3), pattern, places=places, **parts)


def by_rule(rule: TopicRule, *drained: int, **more: Any) -> Placement:
    return placement(rules={rule.pattern: rule}, replica_blacklist=drain(*drained), **more)


def conflicts(asked: Placement, seen: Snapshot) -> tuple[Conflict, ...]:
    plan = make_plan(asked, seen)
    assert loads(dumps(plan), "plan.json") == plan
    plan_text(plan)
    return plan.conflicts


def kinds(found: Conflict) -> list[tuple[ConstraintKind, str, tuple[int, ...]]]:
    return [(c.kind, c.where.removeprefix(f"{FILE}:"), c.brokers) for c in found.constraints]


def three(topic: str = "orders", count: int = 1) -> list[PartitionState]:
    return [state([1, 2, 3], topic=topic, partition=p) for p in range(count)]


def test_keys_that_conflict_are_named_with_their_lines_and_what_is_no_part_of_it_is_not() -> None:
    """Broker 3 is drained and 4 fenced, which changes nothing: four replicas fit on no three brokers."""
    asked = by_rule(ruled(among=(1, 3), replication_factor=4, spread=Spread.RACK), 3)
    [found] = conflicts(asked, snapshot(three(count=3), registered=brokers(fenced=[4])))
    assert kinds(found) == [
        (ConstraintKind.BROKERS, "7:5", (1, 2, 3)),
        (ConstraintKind.REPLICATION_FACTOR, "5:5", ()),
    ]
    assert (found.proof, found.count, found.topics) == (Proof.IMPOSSIBLE, 3, ("orders",))
    assert found.lacks == (Lack(Shortage.BROKERS, 4, 3),)


def test_partitions_on_other_brokers_that_are_down_have_one_conflict_with_each_line_once() -> None:
    seen = [state([1, 2, down], partition=at) for at, down in enumerate((3, 4, 5))]
    asked = by_rule(ruled(replication_factor=5, spread=Spread.NONE))
    [found] = conflicts(asked, snapshot(seen, registered=brokers(fenced=[3, 4, 5])))
    assert kinds(found) == [
        *((ConstraintKind.FENCED, "", (broker,)) for broker in (3, 4, 5)),
        (ConstraintKind.REPLICATION_FACTOR, "5:5", ()),
    ]
    assert found.count == len(seen)


def test_a_rack_and_ids_that_leave_too_few_brokers_are_named_each_with_its_line() -> None:
    """Rack a has brokers 1, 4 and 7, and ids 1 to 6 are meant: three replicas need either key to go."""
    rule = ruled(among=(1, 6), in_rack="a", spread=Spread.IN_RACK, replication_factor=3)
    [found] = conflicts(by_rule(rule), snapshot(three(), registered=brokers(9, "abc")))
    assert kinds(found) == [
        (ConstraintKind.BROKERS, "7:5", (1, 2, 3, 4, 5, 6)),
        (ConstraintKind.IN_RACK, "8:5", (1, 4, 7)),
        (ConstraintKind.REPLICATION_FACTOR, "5:5", ()),
    ]
    assert constraint_texts(found)[:2] == [
        f"brokers: 1-6 ({FILE}:7:5)",
        f"inRack: a ({FILE}:8:5)",
    ]
    for kept in ({"brokers": None}, {"in_rack": None, "spread": None}, {"replication_factor": 2}):
        changed = by_rule(replace(rule, **kept))
        assert conflicts(changed, snapshot(three(), registered=brokers(9, "abc"))) == ()


def test_the_number_of_a_rack_that_it_cannot_hold_is_named_alone_or_with_what_is_in_the_way() -> (
    None
):
    """Racks a and b have three brokers each; of b one is fenced."""
    rule = ruled(replicas_per_rack={"a": 1, "b": 3}, replication_factor=4)
    seen = snapshot(three(), registered=brokers(6, "ab", fenced=[6]))
    [found] = conflicts(by_rule(rule), seen)
    assert kinds(found) == [
        (ConstraintKind.FENCED, "", (6,)),
        (ConstraintKind.REPLICAS_PER_RACK, "10:5", (2, 4, 6)),
    ]
    assert constraint_texts(found)[1] == f"replicasPerRack: b: 3 ({FILE}:10:5)"
    assert found.lacks == (Lack(Shortage.RACK_BROKERS, 3, 2, "b"),)
    fewer = replace(rule, replicas_per_rack={"a": 1, "b": 2}, replication_factor=3)
    assert conflicts(by_rule(fewer), seen) == ()
    assert conflicts(by_rule(rule), snapshot(three(), registered=brokers(6, "ab"))) == ()


def test_a_rack_that_lacks_brokers_is_named_with_what_takes_them_away() -> None:
    asked = by_rule(ruled(replication_factor=3, spread=Spread.RACK), 3)
    seen = snapshot([state([1, 2, 4])], registered=brokers(5, "abcca", fenced=[4]))
    elsewhere = snapshot([state([1, 2])], registered=brokers(5, "abcca", fenced=[4]))
    assert conflicts(asked, seen) == ()
    [found] = conflicts(asked, elsewhere)
    assert kinds(found) == [
        (ConstraintKind.FENCED, "", (4,)),
        (ConstraintKind.DRAINED, "9:3", (3,)),
        (ConstraintKind.SPREAD, "6:5", ()),
        (ConstraintKind.REPLICATION_FACTOR, "5:5", ()),
    ]
    assert found.lacks == (Lack(Shortage.RACK_BROKERS, 1, 0, "c"),)


def test_a_drain_that_leaves_no_substitute_conflicts_with_the_list_at_its_line() -> None:
    asked = placement({"orders": [[1, 2, 3]]}, replica_blacklist=drain(3))
    [found] = conflicts(asked, snapshot(three(), registered=brokers(3)))
    assert kinds(found) == [
        (ConstraintKind.DRAINED, "9:3", (3,)),
        (ConstraintKind.LIST, "3:5", (1, 2, 3)),
    ]


def test_topics_that_share_a_conflict_are_one() -> None:
    """Undeclared topics: their own lists conflict with the drain."""
    seen = snapshot([*three("a", 2), *three("b", 3)], registered=brokers(3))
    [found] = conflicts(placement(replica_blacklist=drain(3)), seen)
    assert (found.topics, found.count) == (("a", "b"), 5)
    assert kinds(found) == [(ConstraintKind.DRAINED, "9:3", (3,)), (ConstraintKind.LIST, "", ())]


def test_a_minimum_of_the_topic_conflicts_with_the_number_of_replicas() -> None:
    fewer = by_rule(ruled(replication_factor=1))
    [found] = conflicts(fewer, snapshot(three(), registered=brokers()))
    assert [k for k, *_ in kinds(found)] == [
        ConstraintKind.MIN_INSYNC_REPLICAS,
        ConstraintKind.REPLICATION_FACTOR,
    ]
    assert found.lacks == (Lack(Shortage.REPLICAS, 2, 1),)
    more = by_rule(ruled(replication_factor=3))
    [found] = conflicts(more, snapshot([state([1])], registered=brokers()))
    assert found.lacks == (Lack(Shortage.PRESENT_REPLICAS, 3, 1),)


def test_racks_that_require_wants_conflict_with_the_drain_of_the_last_one() -> None:
    required = {"orders": Requirement(Where(FILE, 20, 3), racks=3)}
    asked = placement(replica_blacklist=drain(3), requirements=required)
    [found] = conflicts(asked, snapshot(three(), registered=brokers(4, "abca")))
    assert kinds(found) == [
        (ConstraintKind.REQUIRED_RACKS, "20:3", ()),
        (ConstraintKind.DRAINED, "9:3", (3,)),
    ]


def test_conflicts_that_share_nothing_are_all_named_at_once() -> None:
    """A broker without a rack, and a minimum: each has to be resolved by itself."""
    registered = (*brokers(3), replace(brokers(4)[3], rack=None))
    asked = by_rule(ruled(replication_factor=1, spread=Spread.RACK))
    found = conflicts(asked, snapshot(three(), registered=registered))
    assert [[k for k, *_ in kinds(c)] for c in found] == [
        [ConstraintKind.WITHOUT_RACK, ConstraintKind.SPREAD],
        [ConstraintKind.MIN_INSYNC_REPLICAS, ConstraintKind.REPLICATION_FACTOR],
    ]


def test_a_replica_that_fits_on_no_broker_is_impossible() -> None:
    [found] = conflicts(
        by_rule(ruled(replication_factor=1), 1), with_disks([state([1], size=50)], 0, 40, 30)
    )
    assert found.proof is Proof.IMPOSSIBLE
    assert kinds(found) == [
        (ConstraintKind.NO_ROOM, "", (2,)),
        (ConstraintKind.NO_ROOM, "", (3,)),
        (ConstraintKind.DRAINED, "9:3", (1,)),
    ]
    assert found.lacks == (Lack(Shortage.ROOM, 50, 40),)


def test_lists_that_are_together_larger_than_a_broker_are_impossible_as_few_as_it_takes() -> None:
    states = [state([1], partition=p, size=size) for p, size in enumerate((10, 60, 50))]
    [found] = conflicts(placement({"orders": [[2], [2], [2]]}), with_disks(states, 0, 100))
    assert found.proof is Proof.IMPOSSIBLE
    assert kinds(found) == [
        (ConstraintKind.NO_ROOM, "", (2,)),
        (ConstraintKind.LIST, "4:5", (2,)),
        (ConstraintKind.LIST, "5:5", (2,)),
    ]
    assert found.lacks == (Lack(Shortage.ROOM, 110, 100),)


def test_what_the_search_did_not_find_is_not_called_impossible() -> None:
    """Each of the two waits for the room that the other one leaves."""
    states = [state([2], partition=0, size=50), state([3], partition=1, size=50)]
    asked = placement({"orders": [[3], [2]]})
    found = conflicts(asked, with_disks(states, 0, 10, 10))
    assert {c.proof for c in found} == {Proof.NOT_FOUND}
    assert sum(c.count for c in found) == 2


def test_room_that_all_disks_lack_together_is_impossible() -> None:
    states = [state([1], partition=p, size=30) for p in range(4)]
    found = conflicts(by_rule(ruled(replication_factor=1), 1), with_disks(states, 0, 50, 50))
    assert {c.proof for c in found} == {Proof.IMPOSSIBLE}
    assert {c.lacks for c in found} == {(Lack(Shortage.ROOM, 120, 100),)}


def test_a_partition_is_explained_by_its_own_conflicts() -> None:
    asked = placement({"orders": [[1, 2, 3]]}, replica_blacklist=drain(3))
    seen = snapshot([*three(), state([1, 2], topic="other")], registered=brokers(3))
    found = explain_partition(asked, seen, TopicPartition("orders", 0))
    assert found.conflicts == make_plan(asked, seen).conflicts
    assert explain_partition(asked, seen, TopicPartition("other", 0)).conflicts == ()


@ENOUGH
@given(worlds())
def test_every_refusal_that_constraints_explain_has_its_conflict(world: World) -> None:
    try:
        plan = make_plan(world.placement(), world.snapshot())
    except ReplanError:
        return
    explained = {r.partition for r in plan.refusals if r.rule in EXPLAINED}
    assert sum(c.count for c in plan.conflicts) >= len(explained)
    named = {topic for c in plan.conflicts for topic in c.topics}
    assert named == {partition.topic for partition in explained}
    for found in plan.conflicts:
        assert found.proof is Proof.IMPOSSIBLE or found.count <= sum(
            r.rule in OF_ROOM for r in plan.refusals
        )
