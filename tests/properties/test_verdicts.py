"""Every command says the same of one placement: what `plan`, `drift` in each of its forms, `explain` and a fleet find.

Placements are drawn with any of their keys, right and wrong, beside clusters that are whole or not: brokers are down,
partitions have no leader, an application is on its way. What one of them calls a mistake all do; what one of them
calls drift all do; and where nothing is drift, nothing is planned.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st
from tests.fleet.fleets import keep_snapshot
from tests.profiles import count
from tests.properties.test_all_keys import World, worlds
from tests.unit.reporting.rendered import drift_markdown

from replan.errors import BadPlacement, UnsafePlan
from replan.fleet.api import DRIFT_STAGES, Lake, Stage, Task, Work, rows_of_stages
from replan.model.api import MistakenPlacement, Placement, Snapshot
from replan.planning.api import (
    DifferenceKind,
    DriftClass,
    DriftReport,
    DriftRule,
    OtherKind,
    Plan,
    RefusalRule,
    WarningKind,
    drift_report,
    explain_partition,
    make_plan,
)
from replan.reporting.api import render_drift, render_drift_json, render_drift_prometheus

ENOUGH = settings(
    max_examples=count(fast=4, full=40, nightly=2_000),
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
MISTAKES: list[dict[str, Any]] = [
    {"assignments": {"ordres": {"replicationFactor": 1}}},
    {"assignments": {"ev*": {"replicationFactor": 1}, "ev?*": {"replicationFactor": 2}}},
    {"assignments": {"nowhere": {"partitions": {"0": [1, 2]}}}},
    {"assignments": {"events": {"replicationFactor": 1, "brokers": [99]}}},
    {"preferredLeaders": {"nowhere": {"balanced": True}}},
    {"recovery": {"nowhere": {"strategy": "balanced", "wait": "5m"}}},
]
NOT_PLANNED = {
    DifferenceKind.NO_LEADER,
    OtherKind.THROTTLE,
    OtherKind.LEADER_BLACKLIST,
    OtherKind.REPLICA_BLACKLIST,
    OtherKind.LOG_DIR_BLACKLIST,
}
"""What differs though no plan can put it right, or though there is nothing to put right in the cluster."""


@dataclass(frozen=True)
class Case:
    """A world in which things have gone wrong."""

    world: World
    mistaken: bool
    leaderless: frozenset[str]
    on_the_way: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    found = draw(worlds())
    mistake = draw(st.sampled_from([*[None] * 2 * len(MISTAKES), *MISTAKES]))
    file = dict(found.file)
    if mistake is not None:
        [(section, entries)] = mistake.items()
        file[section] = {**file.get(section, {}), **entries}
    cluster = json.loads(json.dumps(found.cluster))
    down = draw(st.sets(st.integers(1, len(cluster["brokers"])), max_size=3))
    for broker in cluster["brokers"]:
        if broker["id"] in down:
            broker["fenced"] = True
    leaderless = set()
    for topic in cluster["topics"]:
        for number, partition in enumerate(topic["partitions"]):
            live = [b for b in partition["replicas"] if b not in down]
            partition["isr"] = live or partition["replicas"][-1:]
            if not live:
                partition["leader"] = None
                leaderless.add(f"{topic['name']}-{number}")
    world = World(cluster, file)
    return Case(world, mistake is not None, frozenset(leaderless), draw(st.integers(0, 3)) == 0)


@given(cases())
@ENOUGH
def test_every_command_says_the_same_of_one_placement(case: Case) -> None:
    try:
        placement = case.world.placement()
    except BadPlacement:
        reject()
    world = interrupted(case.world, placement) if case.on_the_way else case.world
    seen = world.snapshot()
    report = drift_report(placement, seen)
    made = plan_or_none(placement, seen)
    note(render_drift(report))
    forms_agree(report)
    assert not case.mistaken or report.drift.mistakes
    lost = [d for d in report.drift.partitions if d.kind is DifferenceKind.NO_LEADER]
    assert {str(d.name) for d in lost} >= set(managed(case.world, case.leaderless))
    named = [w for w in report.drift.warnings if w.kind is WarningKind.LEADERLESS]
    assert len(lost) + sum(int(str(w.facts["count"])) for w in named) == len(case.leaderless)
    fleet_agrees(world, report)
    if isinstance(made, MistakenPlacement):
        assert made.mistakes == report.drift.mistakes
        return
    assert not report.drift.mistakes
    explanations_agree(placement, seen, report, made)
    if made is not None:
        plan_agrees(made, report)


def plan_or_none(placement: Placement, seen: Snapshot) -> Plan | MistakenPlacement | None:
    """The plan, or the mistakes; None where a limit or the balance refuses all of it."""
    try:
        return make_plan(placement, seen)
    except MistakenPlacement as found:
        return found
    except UnsafePlan as refused:
        if "bug in replan" in str(refused):
            raise
        return None


def managed(world: World, names: frozenset[str]) -> list[str]:
    """Those that an entry of `assignments` names whole."""
    entries = world.file["assignments"]
    ruled = {t for t, entry in entries.items() if "partitions" not in entry}
    topics = ruled | ({"metrics-a"} if "metrics-*" in ruled else set())
    return sorted(name for name in names if name.rpartition("-")[0] in topics)


def interrupted(world: World, placement: Placement) -> World:
    """The cluster in the middle of its plan's first copy, and where that goes, as a snapshot carries it."""
    made = plan_or_none(placement, world.snapshot())
    moves = made.moves if isinstance(made, Plan) else ()
    created = {c.topic for c in made.creates} if isinstance(made, Plan) else set()
    move = next((m for m in moves if m.new and m.partition.topic not in created), None)
    if move is None:
        reject()
    cluster = json.loads(json.dumps(world.cluster))
    topic = next(t for t in cluster["topics"] if t["name"] == move.partition.topic)
    partition = topic["partitions"][move.partition.partition]
    partition["replicas"] = [*move.original, *move.new]
    partition["isr"] = [b for b in partition["isr"] if b in move.original]
    where = {"topic": move.partition.topic, "partition": move.partition.partition}
    cluster["application"] = {
        "id": "plan-1",
        "owner": "ann@ops-1",
        "atWork": False,
        "targets": [{**where, "replicas": list(move.target)}],
    }
    return World(cluster, world.file)


def forms_agree(report: DriftReport) -> None:
    """Text, Markdown, JSON and Prometheus count the same."""
    differ = [c for c in report.drift.differences if c.drift_class is not DriftClass.IN_FLIGHT]
    text, document = render_drift(report), json.loads(render_drift_json(report))
    assert report.drift.none is (not differ)
    assert ("No drift" in text) is report.drift.none
    assert document["drift"] is not report.drift.none
    listed = Counter(c["class"] for c in document["differences"])
    samples = dict(
        re.findall(
            r'^replan_drift\{.*class="([a-z-]+)"\} (\d+)$',
            render_drift_prometheus(report, lambda _: 0.0),
            re.MULTILINE,
        )
    )
    assert {name: int(number) for name, number in samples.items() if int(number)} == listed
    if differ:
        number = f"Drift: {len(differ):,} difference"
        assert number in text
        assert number in drift_markdown(report)
    for path in (c.detail for c in differ if c.kind in {OtherKind.LOG_DIR, OtherKind.PLACEMENT}):
        assert path in text


def fleet_agrees(world: World, report: DriftReport) -> None:
    """A fleet writes the same differences as rows."""
    with TemporaryDirectory() as folder:
        placement, lake = Path(folder, "placement.yaml"), Lake(str(Path(folder, "lake")))
        placement.write_text(json.dumps(world.file), encoding="utf-8")
        keep_snapshot(lake, world.snapshot(), "c")
        seen = world.cluster
        task = Task("c", seen["clusterId"], seen["observedAt"], str(placement), lake.address)
        found = rows_of_stages(Work(task), [*DRIFT_STAGES, Stage.PLAN])
    rows = [r for r in found["drift"].to_pylist() if r["class"] != "acknowledged"]
    differ = [c for c in report.drift.differences if c.drift_class is not DriftClass.IN_FLIGHT]
    assert Counter((r["topic"], r["partition"], r["kind"], r["rule"]) for r in rows) == Counter(
        (c.topic, c.partition, c.kind.value, c.rule.value) for c in differ
    )
    errors = {r["stage"] for r in found["errors"].to_pylist()}
    assert not errors & {s.value for s in DRIFT_STAGES}
    assert (Stage.PLAN.value in errors) >= bool(report.drift.mistakes)


def explanations_agree(
    placement: Placement,
    seen: Snapshot,
    report: DriftReport,
    made: Plan | None,
) -> None:
    """`explain` of a partition shows what the others say of it."""
    differ = [c for c in report.drift.differences if c.drift_class is not DriftClass.IN_FLIGHT]
    names = [state.partition for state in seen.states(range(seen.partitions.num_rows))][:4]
    for name in {*names, *seen.own_targets}:
        found = explain_partition(placement, seen, name)
        kinds = [c.kind for c in differ if (c.topic, c.partition) == name]
        assert list(found.kinds) == kinds
        if made is not None:
            assert [found.move] == [m for m in made.moves if m.partition == name] or not found.move
            assert found.refusals == tuple(r for r in made.refusals if r.partition == name)


def plan_agrees(made: Plan, report: DriftReport) -> None:
    """What is planned or refused is drift, and what is drift is planned, refused, or cannot be planned."""
    missed, reported = (
        [w.facts for w in of if w.kind is WarningKind.BALANCE]
        for of in (made.warnings, report.drift.warnings)
    )
    assert missed == [*(reason.facts for reason in report.drift.unbalanced), *reported]
    drifted = {d.name for d in report.drift.partitions}
    without = {r.partition for r in made.refusals if r.rule is RefusalRule.NO_LEADER}
    assert without <= {
        d.name for d in report.drift.partitions if d.kind is DifferenceKind.NO_LEADER
    }
    on_the_way = set(report.drift.converging)
    grown = {c.topic: c.present for c in made.creates}
    for move in made.moves:
        name = move.partition
        assert name in drifted or name.partition >= grown.get(name.topic, name.partition + 1)
    assert {c.topic for c in made.creates} <= {
        c.topic for c in report.drift.differences if c.rule is DriftRule.TOO_FEW_PARTITIONS
    }
    lying = {
        (c.topic, c.partition, c.broker)
        for c in report.drift.differences
        if c.rule is DriftRule.LOG_DIR_DRAINED
    }
    assert {(*m.partition, m.broker) for m in made.log_moves} <= lying
    if made.changes:
        assert not report.drift.none or on_the_way
    if report.drift.none:
        assert made.empty or on_the_way, made
    if made.empty:
        rest = [c for c in report.drift.differences if c.drift_class is not DriftClass.IN_FLIGHT]
        left = [c for c in rest if c.kind not in NOT_PLANNED]
        assert not left
