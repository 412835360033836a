"""An explanation names the entry that counts with its place, what is observed, what is planned, and what holds it."""

import json
from fractions import Fraction

import pytest
from msgspec.structs import replace
from tests.builders import FILE, brokers, listed_leader, placement, snapshot, state, within

from replan.commands.api import plan_about
from replan.errors import BadUsage
from replan.model.api import (
    Acknowledgement,
    Balance,
    BrokerId,
    BrokerRange,
    BrokerSelector,
    Limit,
    Measure,
    Placement,
    ReplicaBlacklist,
    Requirement,
    Snapshot,
    Spread,
    TopicPartition,
    TopicRule,
    Where,
    parse_topic_partition,
    replicas,
)
from replan.planning.api import (
    Conflict,
    DeclaredList,
    DifferenceKind,
    Explanation,
    Facts,
    OtherKind,
    Overruled,
    Plan,
    Proof,
    Refusal,
    RefusalRule,
    explain_partition,
    make_plan,
)
from replan.reporting.api import drawn, part_lines, render_explanation, render_explanation_json

SEEN = snapshot([state([1, 2, 3], partition=p) for p in range(3)], min_insync_replicas=2)


def at(line: int) -> Where:
    return Where(FILE, line, 5)


def explained(asked: Placement, name: str = "orders-1", seen: Snapshot = SEEN) -> Explanation:
    return explain_partition(asked, seen, parse_topic_partition(name))


def test_an_explicit_list_counts_with_its_place_and_its_move() -> None:
    found = explained(placement({"orders": [[1, 2, 3], [4, 2, 3]]}, leaders={"orders-1": 2}))
    assert found.declared == DeclaredList(replicas(4, 2, 3), at(4))
    assert found.preferred is not None
    assert (found.kinds, found.wanted) == ((DifferenceKind.REPLICAS,), (2, 4, 3))
    assert found.move is not None
    assert found.move.target == (2, 4, 3)
    assert (found.refusals, found.exceeded, found.acknowledged) == ((), (), None)


def test_a_partition_that_nothing_declares_stays() -> None:
    found = explained(placement({"orders": {0: [1, 2, 4]}}))
    assert (found.declared, found.kinds, found.move) == (None, (), None)
    assert found.observed is not None


def test_a_partition_that_nothing_can_place_has_no_list_that_is_wanted() -> None:
    found = explained(placement(rules={"*": TopicRule(at(9), "*", replication_factor=9)}))
    assert (found.kinds, found.wanted) == ((DifferenceKind.UNPLACEABLE,), None)
    assert [r.rule for r in found.refusals] == [RefusalRule.TOO_FEW_BROKERS]
    assert "is wanted" not in render_explanation(found)


def test_a_partition_that_is_to_be_created_is_explained_before_it_is_there() -> None:
    rule = TopicRule(at(9), "orders", partition_count=5, replication_factor=9)
    found = explained(placement(rules={"orders": rule}), "orders-4")
    assert (found.observed, found.declared) == (None, rule)
    assert [r.rule for r in found.refusals] == [RefusalRule.TOO_FEW_BROKERS]
    assert (len(found.conflicts), found.kinds) == (1, (OtherKind.PARTITIONS,))
    with pytest.raises(BadUsage, match="no list or partitionCount declares it"):
        explained(placement(rules={"orders": rule}), "orders-5")


def test_each_partition_beyond_the_declared_number_is_one_too_many() -> None:
    seen = snapshot([state([1, 2, 3], partition=p) for p in range(4)])
    asked = placement(rules={"orders": TopicRule(at(9), "orders", partition_count=2)})
    kinds = [explain_partition(asked, seen, TopicPartition("orders", p)).kinds for p in range(4)]
    assert kinds == [(), (), (OtherKind.PARTITIONS,), (OtherKind.PARTITIONS,)]


def test_a_pattern_that_excepts_the_topic_is_named_with_why_it_does_not_count() -> None:
    rule = TopicRule(at(9), "ord*", replication_factor=2, excepted=("orders",))
    found = explained(placement(rules={"ord*": rule}))
    assert (found.declared, found.overruled) == (None, (Overruled("ord*", at(9), excepts=True),))
    text = f"ord* at {at(9)} matches, too, and does not count: it excepts the topic"
    assert text in render_explanation(found)
    assert json.loads(render_explanation_json(found))["overruled"][0]["excepts"]


def test_the_brokers_that_a_rule_may_use_are_named_as_they_are_written() -> None:
    ids = (BrokerRange(BrokerId(1), BrokerId(6), at(9), single=False),)
    for parts, told in (
        ({"brokers": BrokerSelector(ids)}, "on brokers 1-6, by"),
        ({"brokers": BrokerSelector(racks=("a", "b"))}, "in racks a, b, by"),
        ({"brokers": BrokerSelector(ids, ("a",))}, "on brokers 1-6 of rack a, by"),
        ({"replicas_per_rack": {"a": 1, "b": 1}}, "2 replicas, 1 in rack a, 1 in rack b, by"),
        ({"in_rack": "a", "spread": Spread.IN_RACK}, "2 replicas, all in rack a, by"),
    ):
        rule = TopicRule(at(9), "*", replication_factor=2, **parts)
        assert told in render_explanation(explained(placement(rules={"*": rule})))


def test_other_patterns_that_match_are_named_as_overruled() -> None:
    broad = TopicRule(at(9), "ord*", replication_factor=3)
    found = explained(placement({"orders": [[1, 2, 3]] * 2}, rules={"ord*": broad}))
    assert found.overruled == (Overruled("ord*", at(9)),)


def test_a_drain_that_is_done_still_says_why_the_declared_list_is_not_there() -> None:
    drain = (ReplicaBlacklist(BrokerId(4), at(20), reason="decommission"),)
    found = explained(placement({"orders": [[1, 2, 3], [1, 2, 4]]}, replica_blacklist=drain))
    assert (found.kinds, found.drained) == ((), drain)


def test_what_holds_it_is_named() -> None:
    lists = {"orders": [[1, 2, 3], [4, 2, 3]]}
    known = (Acknowledgement("orders", (1,), at(30), "waiting for a disk", "2026-12-01"),)
    held = explained(placement(lists, acknowledged=known))
    assert (held.covered, held.kinds, held.move) == (True, (), None)
    limit = Limit(Measure.PARTITIONS, at(31), 0)
    limited = explained(placement(lists, limits={Measure.PARTITIONS: limit}))
    assert [e.limit for e in limited.exceeded] == [limit]
    assert limited.move is not None
    lost = snapshot([state([1, 2, 3]), state([1, 2, 3], [1], leader=None, partition=1)])
    assert [r.rule for r in explained(placement(lists), seen=lost).refusals] == [
        RefusalRule.NO_LEADER
    ]


def test_a_partition_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(BadUsage, match="clicks-0"):
        explained(placement(), "clicks-0")


def test_the_text_shows_all_of_it_in_columns() -> None:
    asked = placement(
        {"orders": [[1, 2, 3], [4, 2, 3]]},
        leaders={"orders-1": 2},
        blacklist=[listed_leader(3, reason="disk at 92 %")],
        requirements={"*": Requirement(at(40), 3, 1)},
        rules={"ord*": TopicRule(at(9), "ord*", replication_factor=3)},
    )
    assert render_explanation(explained(asked)) == (
        "orders-1\n"
        f"  declared  [4,2,3], listed at {FILE}:4:5\n"
        f"            ord* at {FILE}:9:5 matches, too, and does not count: it is less exact\n"
        f"  required  at least 3 replicas and 1 rack, at {FILE}:40:5\n"
        f"  leader    broker 2 is preferred, at {FILE}:101:5\n"
        f"            broker 3 shall not lead, at {FILE}:201:7: disk at 92 %\n"
        "  observed  [1,2,3], in sync [1,2,3], leader 1, min.insync.replicas 2\n"
        "  differs   other replicas: [2,4,3] is wanted\n"
        "  planned   [1,2,3] -> [2,4,3]\n"
        "              expand  [1,2,3,4]  copy to 4 (empty)\n"
        "              assign  [2,4,3]    after 2, 4, 3 stay in sync for 15 s; removes 1; leader 1 -> 2\n"
    )


def test_a_balance_that_is_required_and_out_of_reach_holds_a_partition_and_explains_it() -> None:
    sizes = [state([1], size=1), state([2], partition=1, size=10**9)]
    asked = placement(
        rules={"orders": TopicRule(at(9), "orders", replication_factor=1)},
        balance=Balance(at(12), within(bytes=Fraction(1, 10)), required=True),
    )
    found = explained(asked, "orders-0", snapshot(sizes, registered=brokers(2)))
    assert "held by   the whole plan is refused: balance: " in render_explanation(found)
    document = json.loads(render_explanation_json(found))
    assert [u["measure"] for u in document["unbalanced"]] == ["bytes"]
    free = replace(asked, balance=Balance(at(12), within(bytes=Fraction(1, 10))))
    assert explained(free, "orders-0", snapshot(sizes, registered=brokers(2))).unbalanced == ()


def test_the_json_has_classes_and_fields() -> None:
    document = json.loads(
        render_explanation_json(explained(placement({"orders": [[1, 2, 3], [4, 2, 3]]})))
    )
    assert document["kinds"] == ["replicas"]
    assert document["declared"] == {"replicas": [4, 2, 3], "where": f"{FILE}:4:5"}
    assert document["move"] == {"original": [1, 2, 3], "target": [4, 2, 3]}
    assert document["refusals"] == []


def test_a_plan_of_a_part_has_only_that_part() -> None:
    asked = placement({"orders": [[4, 2, 3]] * 3, "clicks": [[2, 1]]})
    states = [state([1, 2, 3], partition=p) for p in range(3)]
    seen = snapshot([*states, state([1, 2], topic="clicks")])

    def planned(*only: str) -> list[str]:
        return sorted(str(m.partition) for m in make_plan(asked, seen, only=only).moves)

    assert planned("orders-1") == ["orders-1"]
    assert planned("cl*", "orders-2") == ["clicks-0", "orders-2"]
    assert planned("*") == planned() == ["clicks-0", "orders-0", "orders-1", "orders-2"]
    for unknown in ("pay*", "orders-9", "_"):
        with pytest.raises(BadUsage, match="no such topic or partition"):
            planned(unknown)


def test_a_part_of_a_plan_says_how_much_of_it_it_is() -> None:
    plan = make_plan(placement({"orders": [[4, 2, 3], [1, 5, 3]]}), SEEN)
    part = plan_about(plan, ["ord*"], [5])
    grouped = drawn(part_lines(plan, part))
    assert "orders  +5 -2  [1,2,3] -> [1,5,3]" in grouped
    assert grouped.count("partition 1\n") == 1
    assert "Shown: 1 of 2 moves; 0 B of 0 B to copy. Plan digest " in grouped
    assert "orders-1  [1,2,3] -> [1,5,3]" in drawn(part_lines(plan, part, steps=True))
    nothing = plan_about(plan, ["clicks"], [])
    assert "Shown: 0 of 2 moves" in drawn(part_lines(plan, nothing))


def test_a_part_of_a_plan_has_what_is_refused_about_its_broker() -> None:
    facts: Facts = {"broker": 4, "path": "/a", "bytes": 5, "usable": 3}
    refusal = Refusal("orders", 0, RefusalRule.NO_ROOM, facts)
    plan = Plan("c", "d", {}, (), refusals=(refusal,))
    assert plan_about(plan, [], [4]).refusals == (refusal,)
    assert plan_about(plan, [], [5]).refusals == ()  # 5 bytes are no broker


def test_a_part_of_a_plan_has_the_conflicts_that_may_be_of_its_refusals_alone() -> None:
    names = [("clicks", 0), ("orders", 0), ("orders", 30), ("pay", 0)]
    few = Conflict(
        proof=Proof.IMPOSSIBLE, count=1, partitions=("clicks-0",), constraints=(), lacks=()
    )
    many = Conflict(proof=Proof.IMPOSSIBLE, count=31, topics=("orders",), constraints=(), lacks=())
    facts: Facts = {"rule": "f:1:1: *", "needed": 5, "available": 4}
    refusals = tuple(Refusal(*name, RefusalRule.TOO_FEW_BROKERS, facts) for name in names)
    plan = Plan("c", "d", {}, (), refusals=refusals, conflicts=(few, many))
    assert plan_about(plan, ["clicks"], []).conflicts == (few,)
    assert plan_about(plan, ["orders"], []).conflicts == (many,)
    assert plan_about(plan, ["pay"], []).conflicts == ()


def test_a_conflict_is_shown_with_a_partition_that_is_refused_and_with_no_other_one_of_its_topic() -> (
    None
):
    """More than a conflict names; each broker holds two of the topic, so that some are placed."""
    crowd = snapshot([state([1], partition=p) for p in range(30)], registered=brokers(3, "abc"))
    rule = TopicRule(at(4), "orders", replication_factor=1, max_replicas_per_broker=2)
    asked = placement(rules={"orders": rule})
    plan = make_plan(asked, crowd)
    refused = {str(r.partition) for r in plan.refusals}
    placed = [f"orders-{p}" for p in range(30) if f"orders-{p}" not in refused]
    assert refused
    assert placed
    assert explained(asked, min(refused), crowd).conflicts == plan.conflicts
    assert explained(asked, placed[0], crowd).conflicts == ()
