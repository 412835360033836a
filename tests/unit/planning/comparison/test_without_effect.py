"""What is declared and does nothing on a cluster is said with its place; nothing is without effect in silence."""

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import FILE, HERE, drain, placement, ruled, snapshot, state, within
from tests.readings import find_drift

from replan.model.api import (
    Acknowledgement,
    Apart,
    Balance,
    BrokerId,
    Intents,
    LeaderRule,
    Placement,
    Requirement,
    TopicRule,
    Where,
)
from replan.placement_file.api import load_placement
from replan.planning.api import WarningKind, make_plan

LATER = "2026-12-01T00:00:00Z"
SEEN = snapshot([state([1, 2])])
RULED = ruled(replication_factor=2)
WEIGHTS = {BrokerId(1): Fraction(2)}
CASES: list[tuple[WarningKind, Placement]] = [
    (WarningKind.MATCHES_NOTHING, placement(rules=ruled("zz*", replication_factor=2))),
    (
        WarningKind.MATCHES_NOTHING,
        placement(requirements={"zz": Requirement(HERE, replication_factor=2)}),
    ),
    (
        WarningKind.MATCHES_NOTHING,
        placement(leader_rules={"zz*": LeaderRule(HERE, "zz*", balanced=True)}),
    ),
    (
        WarningKind.MATCHES_NOTHING,
        placement(acknowledged=(Acknowledgement("orders", (7,), HERE, "later", LATER),)),
    ),
    (WarningKind.DRAIN_UNREGISTERED, placement(replica_blacklist=drain(99))),
    (WarningKind.MATCHES_NOTHING, placement(apart=(Apart(HERE, ("orders", "zz*")),))),
    (
        WarningKind.WEIGHTS_ALONE,
        placement(rules=RULED, balance=Balance(HERE, weights=WEIGHTS, places={"weights": HERE})),
    ),
    (WarningKind.BALANCES_NOTHING, placement(balance=Balance(HERE, within(replicas=Fraction(1))))),
]


@pytest.mark.parametrize(("kind", "asked"), CASES)
def test_what_does_nothing_is_said_by_plan_and_by_drift(
    kind: WarningKind, asked: Placement
) -> None:
    made = make_plan(asked, SEEN)
    assert [w.kind for w in made.warnings] == [kind]
    assert made.warnings[0].facts["where"] == str(HERE)
    drift = find_drift(asked, SEEN)
    assert drift.warnings == made.warnings
    assert drift.none


def test_topics_apart_that_share_brokers_and_that_nobody_places_are_named() -> None:
    seen = snapshot([state([1, 2]), state([2, 3], topic="clicks"), state([4], topic="events")])
    asked = placement(apart=(Apart(HERE, ("clicks", "events", "orders")),))
    [said] = find_drift(asked, seen).warnings
    assert said.kind is WarningKind.STAY_TOGETHER
    assert (said.facts["topics"], said.facts["brokers"]) == (("clicks", "orders"), (2,))
    assert find_drift(replace(asked, rules=RULED), seen).warnings == ()


def test_what_has_an_effect_is_not_named() -> None:
    asked = placement(
        rules=RULED,
        requirements={"*": Requirement(HERE, replication_factor=2)},
        acknowledged=(Acknowledgement("or*", None, HERE, "later", LATER),),
        balance=Balance(
            HERE, within(replicas=Fraction(2)), weights=WEIGHTS, places={"weights": HERE}
        ),
    )
    assert find_drift(asked, SEEN).warnings == ()


def test_of_many_entries_each_is_named_in_the_order_of_the_file() -> None:
    entries = {
        "zz*": TopicRule(Where(FILE, 10, 3), "zz*", replication_factor=2),
        "yy*": TopicRule(Where(FILE, 9, 3), "yy*", replication_factor=2),
    }
    asked = placement(
        rules=entries, requirements={"xx": Requirement(Where(FILE, 101, 3), replication_factor=2)}
    )
    expected = ["yy*", "zz*", "xx"]
    assert [w.facts["name"] for w in find_drift(asked, SEEN).warnings] == expected
    found = make_plan(asked, SEEN).warnings
    assert [w.facts["name"] for w in found if w.kind is WarningKind.MATCHES_NOTHING] == expected


def test_an_entry_for_a_topic_that_this_user_may_not_see_is_not_said_to_mean_nothing() -> None:
    named = placement(rules=ruled("pay*", replication_factor=2))
    assert find_drift(named, SEEN).warnings
    [warning] = find_drift(named, replace(SEEN, hidden=("payouts",))).warnings
    assert (warning.kind, warning.facts["topics"]) == (WarningKind.HIDDEN, ("payouts",))


SCHEMA = Path(__file__).parents[4] / "schema" / "placement.v1.json"
SECTIONS: Mapping[str, object] = {
    "assignments": {"replicationFactor": 2},
    "preferredLeaders": {"balanced": True},
    "throttles.standing.topics": "all",
    "recovery": {"strategy": "balanced"},
    "require": {"racks": 1},
}
"""An entry of each section whose entries are for topics."""


def sections_of(part: Mapping[str, Any], *path: str) -> Iterator[str]:
    for key, of in part.get("properties", {}).items():
        if of.get("propertyNames") == {"$ref": "#/$defs/topicOrPattern"}:
            yield ".".join((*path, key))
        yield from sections_of(of, *path, key)


def test_each_section_for_topics_has_an_entry_here() -> None:
    assert set(SECTIONS) == {*sections_of(json.loads(SCHEMA.read_text(encoding="utf-8")))}


@pytest.mark.parametrize("section", SECTIONS)
def test_what_ties_and_what_means_nothing_is_found_in_each_section(
    section: str, tmp_path: Path
) -> None:
    tying, idle = ("or*s", "or*"), "zz*"
    declared: object = dict.fromkeys((*tying, idle), SECTIONS[section])
    for key in reversed(section.split(".")):
        declared = {key: declared}
    assert isinstance(declared, dict)
    file = tmp_path / "placement.yaml"
    file.write_text(json.dumps({"version": 1, **declared}), encoding="utf-8")
    asked = load_placement([file])
    [tie] = Intents.of(asked, ["orders"]).ties
    assert (tie.section, set(tie.names)) == (section, set(tying))
    found = find_drift(asked, SEEN).warnings
    said = [w.facts["section"] for w in found if w.kind is WarningKind.MATCHES_NOTHING]
    assert said == [section]
