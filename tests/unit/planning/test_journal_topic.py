"""Where the topic of the journal is made: as the placement would have it, so that nothing is to be changed about it."""

import json
from pathlib import Path

import pytest
from tests.builders import brokers, snapshot, state
from tests.readings import find_drift

from replan.model.api import JOURNAL_TOPIC, Placement, Snapshot, TopicId, TopicPartition, replicas
from replan.placement_file.api import load_placement
from replan.planning.api import (
    dumps,
    loads,
    make_plan,
    plan_with_journal,
    require_lawful,
    snapshot_with_journal,
)

MOVE = "assignments: {orders: {partitions: {0: [4, 5, 6]}}"
OWN = ', "__replan_journal": {partitions: {0: [6, 2, 4]}}'
RULE = ', "__replan_journal": {replicationFactor: 2, spread: rack}'
PLACEMENTS = {
    "nothing of it": f"{MOVE}}}",
    "a drained broker": f"{MOVE}}}\nblacklists: {{replicas: [{{broker: 1, reason: gone}}]}}",
    "two drained brokers": (
        f"{MOVE}}}\nblacklists: {{replicas: [{{broker: 1, reason: a}}, {{broker: 2, reason: b}}]}}"
    ),
    "a broker that shall not lead": (
        f"{MOVE}}}\nblacklists: {{leaders: [{{broker: 1, reason: slow}}]}}"
    ),
    "a list of its own": f"{MOVE}{OWN}}}",
    "a rule": f"{MOVE}{RULE}}}",
}


def seen() -> Snapshot:
    zoo = state([2, 3, 1], topic="zoo", topic_id=TopicId("em9vLXpvby16b28tem9vLQ"))
    return snapshot([state([1, 2, 3]), zoo], registered=brokers(6, "abc"))


def declared(folder: Path, text: str) -> Placement:
    file = folder / "placement.yaml"
    file.write_text(f"version: 1\n{text}\n")
    return load_placement([file])


@pytest.mark.parametrize("text", PLACEMENTS.values(), ids=PLACEMENTS)
@pytest.mark.parametrize("only", [(), ("orders",)])
def test_once_it_is_made_the_placement_has_nothing_to_change_about_it(
    tmp_path: Path, text: str, only: tuple[str, ...]
) -> None:
    """Else `plan` is not empty after the first `apply`, and `drift` ends with 2."""
    placement = declared(tmp_path, text)
    plan = plan_with_journal(placement, seen(), only=only)
    assert all(m.partition.topic != JOURNAL_TOPIC for m in plan.moves)
    assert len(plan.moves) >= 1
    made = snapshot_with_journal(seen(), plan.journal_replicas)
    later = make_plan(placement, made, only=[JOURNAL_TOPIC])
    assert later.empty
    drifted = {d.topic for d in find_drift(placement, made).partitions}
    assert JOURNAL_TOPIC not in drifted


def test_a_list_of_its_own_is_where_it_is_made(tmp_path: Path) -> None:
    plan = plan_with_journal(declared(tmp_path, PLACEMENTS["a list of its own"]), seen())
    assert plan.journal_replicas == replicas(6, 2, 4)


def test_by_default_its_replicas_are_on_live_brokers_of_different_racks(tmp_path: Path) -> None:
    plan = plan_with_journal(declared(tmp_path, PLACEMENTS["nothing of it"]), seen())
    assert plan.journal_replicas == replicas(1, 2, 3)


def test_it_is_in_the_plan_file_and_nothing_is_said_where_nothing_changes(tmp_path: Path) -> None:
    placement = declared(tmp_path, PLACEMENTS["a drained broker"])
    plan = plan_with_journal(placement, seen())
    again = require_lawful(loads(dumps(plan), "plan.json"), "plan.json")
    assert again.journal_replicas == plan.journal_replicas
    assert json.loads(dumps(plan))["warnings"][-1]["kind"] == "journal-made"
    stands = declared(tmp_path, "assignments: {orders: {partitions: {0: [1, 2, 3]}}}")
    assert plan_with_journal(stands, seen()) == make_plan(stands, seen())
    there = snapshot_with_journal(seen(), replicas(4, 5, 6))
    assert there.partition(TopicPartition("zoo", 0)) == seen().partition(TopicPartition("zoo", 0))
    assert plan_with_journal(placement, there).journal_replicas == ()


@pytest.mark.parametrize("stage", ["", ", stage: true"])
def test_a_limit_does_not_count_what_is_yet_to_be_made(tmp_path: Path, stage: str) -> None:
    text = f"{PLACEMENTS['a drained broker']}\nlimits: {{partitions: 2{stage}}}"
    plan = plan_with_journal(declared(tmp_path, text), seen())
    assert [m.topic for m in plan.moves] == ["orders", "zoo"]
    assert (plan.refusals, 1 in plan.journal_replicas) == ((), False)
