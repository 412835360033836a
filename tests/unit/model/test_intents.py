"""Which entry counts for a topic: the winner of each section, ties of all of them, and that nobody else decides it."""

import ast
from pathlib import Path

from tests.builders import FILE, placement

import replan
from replan.model.api import (
    Acknowledgement,
    Intents,
    LeaderRule,
    RecoveryRule,
    RecoveryStrategy,
    Requirement,
    StandingThrottles,
    ThrottledReplicas,
    TopicRule,
    Where,
    by_particularity,
    most_specific_patterns,
    ties,
    winners,
)

TOPICS = ("orders", "orders-eu", "pay", "pay-eu-1")
DECIDE = {of.__name__ for of in (by_particularity, most_specific_patterns, ties, winners)}
HOMES = {
    "fleet/fleet_file.py": "owners are the fleet file's",
    "model/declared/intents.py": "the home",
    "model/declared/rules.py": "the sides of `apart`, which do not win over one another",
    "placement_file/read.py": "entries against one another, without a cluster",
    "planning/comparison/acknowledged.py": "of several that count, the one in force for a partition",
}


def at(line: int) -> Where:
    return Where(FILE, line, 3)


def test_of_each_section_the_entry_that_counts_is_found_by_topic() -> None:
    count_alone, by_rule = TopicRule(at(1), "orders", 3), TopicRule(at(2), "o*", None, 2)
    leaders = LeaderRule(at(3), "o*", balanced=True)
    strict, lax = Requirement(at(4), 3), Requirement(at(5), 1)
    throttled = ThrottledReplicas(at(6), frozenset({"*"}))
    recovery = RecoveryRule(at(7), RecoveryStrategy.BALANCED, excepted=("pay-*",))
    asked = placement(
        {"pay": [[1, 2]]},
        leaders={"orders-0": 1},
        rules={"orders": count_alone, "o*": by_rule},
        leader_rules={"o*": leaders},
        requirements={"pay": strict, "*": lax},
        standing=StandingThrottles({"pay*": throttled}),
        recovery={"*": recovery},
    )
    found = Intents.of(asked, TOPICS)
    listed = asked.topics["pay"]
    assert found.entries == {"orders": count_alone, "orders-eu": by_rule, "pay": listed}
    assert found.rules == {"orders-eu": by_rule}, (
        "where replicas lie, a partition count does not say"
    )
    assert found.leaders == {"orders-eu": leaders}, "a leader by id wins for its topic"
    assert found.required == {**dict.fromkeys(TOPICS, lax), "pay": strict}
    assert found.standing == {"pay": throttled, "pay-eu-1": throttled}
    assert set(found.recovery) == {"orders", "orders-eu", "pay"}
    assert list(found.partition_counts()) == [("orders", "orders", 3), ("pay", "pay", 1)]
    assert found.ties == ()
    assert Intents.of(placement(), TOPICS) == Intents()


def test_where_two_count_alike_none_does_and_both_are_named() -> None:
    alike = ("pay*1", "pay-*")
    known = [Acknowledgement(p, None, at(i), "r", "2027") for i, p in enumerate(("pay?*", "pay*"))]
    asked = placement(
        rules={p: TopicRule(at(i), p, None, 2) for i, p in enumerate(("pay?*", "pay*"), 5)},
        recovery={p: RecoveryRule(at(7), RecoveryStrategy.NONE) for p in alike},
        acknowledged=tuple(known),
    )
    found = Intents.of(asked, TOPICS)
    assert (found.entries, found.rules) == ({}, {}) or set(found.entries) == {"pay"}
    tied = [(t.section, t.topic, tuple(t.names)) for t in found.ties]
    assert ("assignments", "pay-eu-1", ("pay*", "pay?*")) in tied
    assert ("acknowledged", "pay-eu-1", ("pay*", "pay?*")) in tied
    [places] = [t.places for t in found.ties if (t.section, t.topic) == ("assignments", "pay-eu-1")]
    assert list(places) == [at(6), at(5)]
    assert found.recovery["pay-eu-1"] == asked.recovery["pay-*"], "the longer prefix"


def test_nobody_else_decides_which_entry_counts() -> None:
    package = Path(replan.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module == "replan.model.declared.topic_patterns"
        and DECIDE & {alias.name for alias in node.names}
    }
    assert found == set(HOMES)
