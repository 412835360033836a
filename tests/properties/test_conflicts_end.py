"""What a plan says of drawn files that cannot be kept: it holds once a line is changed as it says.

A conflict ends, and a balance is kept within the tolerance that its warning names.
"""

import copy
from collections.abc import Mapping

from hypothesis import given, note
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.profiles import examples
from tests.properties.any_placements import Case, cases
from tests.properties.drawn_placements import drawn, planned
from tests.properties.test_all_keys import World

from replan.model.api import MistakenPlacement, Placement, Snapshot, TopicRule
from replan.placement_file.api import parse_percentage
from replan.planning.api import (
    Conflict,
    Constraint,
    ConstraintKind,
    Facts,
    Plan,
    Proof,
    WarningKind,
    make_plan,
)

Changed = list[tuple[Placement, Snapshot]]
GONE: Mapping[ConstraintKind, Mapping[str, object]] = {
    ConstraintKind.BROKERS: {"brokers": None},
    ConstraintKind.IN_RACK: {"in_rack": None, "spread": None},
    ConstraintKind.SPREAD: {"spread": None},
    ConstraintKind.PARTITION_COUNT: {"partition_count": None},
    ConstraintKind.MAX_REPLICAS_PER_BROKER: {"max_replicas_per_broker": None},
}
"""What a rule is without a key."""


def without(asked: Placement, seen: Snapshot, conflict: Conflict, one: Constraint) -> Changed:
    """The ways to change what a line says; none where no file says it."""
    some = [c for c in conflict.constraints if c.kind is one.kind][: max(one.together, 1)]
    if one.together == 0:
        some = [one]
    brokers = {b for c in some for b in c.brokers}
    match one.kind:
        case ConstraintKind.DRAINED:
            places = {c.where for c in some}
            kept = [e for e in asked.replica_blacklist if str(e.where) not in places]
            racks = [e for e in asked.replica_racks if str(e.where) not in places]
            return [
                (replace(asked, replica_blacklist=tuple(kept), replica_racks=tuple(racks)), seen)
            ]
        case ConstraintKind.FENCED:
            back = [replace(b, fenced=b.fenced and b.id not in brokers) for b in seen.brokers]
            return [(asked, replace(seen, brokers=tuple(back)))]
        case ConstraintKind.APART | ConstraintKind.REQUIRED_RACKS:
            left: dict[str, object] = {"requirements": {}}
            if one.kind is ConstraintKind.APART:
                left = {"apart": tuple(g for g in asked.apart if str(g.where) != one.where)}
            return [(replace(asked, **left), seen)]
        case ConstraintKind.MAX_REPLICAS_PER_BROKER if _of_balance(asked, one):
            return [(replace(asked, balance=None), seen)]
        case ConstraintKind.REPLICATION_FACTOR | ConstraintKind.REPLICAS_PER_RACK if one.where:
            return [
                (changed(asked, one, {**other, **factor}), seen)
                for factor in ({"replication_factor": n} for n in range(1, 7))
                for other in (
                    [{}] if one.kind is ConstraintKind.REPLICATION_FACTOR else per_rack(asked, one)
                )
            ]
        case kind:
            return [(changed(asked, one, GONE[kind]), seen)] if kind in GONE else []


def _of_balance(asked: Placement, one: Constraint) -> bool:
    balance = asked.balance
    return balance is not None and one.where in map(str, balance.places.values())


def per_rack(asked: Placement, one: Constraint) -> list[dict[str, object]]:
    """Other numbers of the rack that a line names."""
    rule = next(r for r in asked.rules.values() if str(r.place("replicasPerRack")) == one.where)
    others = {rack: n for rack, n in rule.replicas_per_rack.items() if rack != one.text}
    numbers = [{**others, one.text: n} for n in range(1, 7)] + ([others] if others else [])
    return [{"replicas_per_rack": found} for found in numbers]


def changed(asked: Placement, one: Constraint, parts: Mapping[str, object]) -> Placement:
    """The rule that a line belongs to, with other parts."""

    def of(rule: TopicRule) -> TopicRule:
        if one.where not in {*map(str, rule.places.values()), str(rule.where)}:
            return rule
        new = replace(rule, **parts)
        per = "replicas_per_rack" in parts
        return replace(new, replication_factor=sum(new.replicas_per_rack.values())) if per else new

    return replace(asked, rules={name: of(rule) for name, rule in asked.rules.items()})


def likeness(found: Conflict) -> object:
    """What makes it the same conflict, whatever its numbers are."""
    return found.topics, {(c.kind, c.where, c.text) for c in found.constraints}


@given(drawn())
@examples(fast=2, full=25, nightly=1_500)
def test_changing_a_line_as_it_says_ends_the_conflict(world: World) -> None:
    ends(*planned(world))


def ends(asked: Placement, seen: Snapshot, made: Plan) -> None:
    """Each line of each conflict that is proved; each is named once."""
    for found in made.conflicts:
        assert len(set(found.constraints)) == len(found.constraints)
        if found.proof is not Proof.IMPOSSIBLE:
            continue
        for one in found.constraints:
            ways = without(asked, seen, found, one)
            left = [list(map(likeness, proved(*way))) for way in ways]
            note(f"{found} / {one}")
            assert not left or any(likeness(found) not in of for of in left)


def proved(asked: Placement, seen: Snapshot) -> list[Conflict]:
    """Conflicts that are left; none where it shows now that who shall lead is no replica of what had no list before."""
    try:
        made = make_plan(asked, seen)
    except MistakenPlacement as other:
        if all("is no replica of" in mistake.text for mistake in other.mistakes):
            return []
        raise
    return [c for c in made.conflicts if c.proof is Proof.IMPOSSIBLE]


@given(
    cases(),
    st.sampled_from(["replicas", "bytes", "leaders", "bytesIn", "bytesOut", "logDirs"]),
    st.sampled_from(["0.001%", "2%", "10%"]),
)
@examples(fast=5, full=50, nightly=4_000)
def test_a_balance_is_kept_within_the_tolerance_that_its_warning_says(
    case: Case, measure: str, asked: str
) -> None:
    """Where a search found it, which proves nothing, it is at least one that can be written."""
    far = far_from(case.world, measure, asked)
    if far is not None:
        note(str(far))
        named, is_proved = str(far["reached"]), far["proved"] == "yes"
        assert parse_percentage(named) > 0
        assert not is_proved or far_from(case.world, measure, named) is None


def far_from(world: World, measure: str, tolerance: str) -> Facts | None:
    """What is said of a balance by one measure where it comes no nearer than this."""
    file = copy.deepcopy(world.file) | {"balance": {measure: tolerance}}
    file.pop("limits", None)
    _, _, made = planned(World(world.cluster, file))
    return next((w.facts for w in made.warnings if w.kind is WarningKind.BALANCE), None)
