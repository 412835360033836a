"""What single stages write of one cluster: numbers that a report shows, and a stage that cannot begin."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.builders import CLUSTER_ID, OBSERVED_AT, snapshot, state
from tests.commandline import environment
from tests.fleet.fleets import keep_snapshot

from replan.fleet.api import Lake, Rows, Stage, Task, Work, rows_of_stages
from replan.model.api import BrokerId, PartitionState, ReplicaLog, Snapshot

RATES = "throttles: {moves: {rate: 1KB/s}}\n"
PRICES = '{"currency": "EUR", "cross_rack_per_gb": "1000000000"}'


def found(home: Path, placement: str, states: Sequence[PartitionState], *stages: Stage) -> Rows:
    """The rows of a cluster of five brokers in the racks a, b, c, a, b."""
    return rows_of(home, placement, *stages, seen=snapshot(states))


def rows_of(home: Path, placement: str, *stages: Stage, seen: Snapshot) -> Rows:
    keep_snapshot(Lake(str(home / "lake")), seen, "eu")
    (home / "eu.yaml").write_text(f"version: 1\n{placement}", encoding="utf-8")
    placement, lake = str(home / "eu.yaml"), str(home / "lake")
    rows = rows_of_stages(
        Work(Task("eu", CLUSTER_ID, OBSERVED_AT, placement, lake, prices=PRICES)), stages
    )
    assert rows["errors"].to_pylist() == []
    return rows


def cost(home: Path, declared: str, seen: PartitionState) -> Mapping[str, Any]:
    placement = f"assignments: {{orders: {{partitions: [{declared}]}}}}\n{RATES}"
    (row,) = found(home, placement, [seen], Stage.COST)["costs"].to_pylist()
    return dict(row)


def test_a_leader_sends_one_copy_to_each_new_replica(tmp_path: Path) -> None:
    row = cost(tmp_path, "[1, 4, 5]", state([1, 2, 3], size=10))
    assert (row["bytes"], row["seconds"]) == (20, 0.02)


def test_copies_of_a_partition_without_a_leader_come_from_the_first_of_its_list(
    tmp_path: Path,
) -> None:
    """As a plan says it; broker 1 is in rack a, broker 5 in rack b."""
    row = cost(tmp_path, "[1, 2, 5]", state([1, 2, 3], [], size=10))
    assert (row["bytes"], row["cross_rack_bytes"]) == (10, 10)
    assert (row["amount"], row["currency"]) == (10.0, "EUR")
    assert row["seconds"] == 0.01


def test_what_is_on_its_way_has_not_drifted(tmp_path: Path) -> None:
    running = state([1, 2, 4, 3], [1, 2, 3], adding=[4], removing=[3])
    placement = "assignments: {orders: {partitions: [[1, 2, 4]]}}\n"
    rows = found(tmp_path, placement, [running], Stage.CLASSIFY)
    (judged,) = rows["judged"].to_pylist()
    assert (judged["drifted"], judged["converging"]) == (0, 1)
    assert rows["drift"].num_rows == 0


def test_of_several_acknowledgements_the_most_particular_one_says_until_when(
    tmp_path: Path,
) -> None:
    placement = (
        "assignments: {orders: {partitions: [[1, 2, 4], [1, 2, 4]]}}\n"
        "acknowledged:\n"
        "- {topic: 'o*', reason: r, expires: 2026-12-01}\n"
        "- {topic: orders, reason: r, expires: 2026-12-03}\n"
        "- {topic: orders, partitions: [1], reason: r, expires: 2026-12-02}\n"
    )
    states = [state([1, 2, 3], partition=n) for n in (0, 1)]
    rows = found(tmp_path, placement, states, Stage.CLASSIFY)["drift"].to_pylist()
    until = {r["partition"]: r["acknowledged_until"][:10] for r in rows}
    assert until == {0: "2026-12-03", 1: "2026-12-02"}


def test_a_plan_that_only_recovers_has_something_to_change(tmp_path: Path) -> None:
    dead = state([1, 2, 3], [], leader=None)
    logs = {BrokerId(b): ReplicaLog(9, 0, epochs={0: 9}) for b in (1, 2, 3)}
    seen = replace(snapshot([dead]), logs={dead.partition: logs})
    rows = rows_of(tmp_path, "recovery: {orders: {strategy: aggressive}}\n", Stage.PLAN, seen=seen)
    (row,) = rows["plans"].to_pylist()
    assert json.loads(row["document"])["recoveries"]
    assert row["changes"] == 1


WITHOUT = """
import sys
from replan.fleet.do_task import Stage, rows_of_stages
from replan.fleet.tasks.work import Task, Work
sys.modules["msgspec"] = None  # as where it is not installed
task = Task("eu", "id", "2026-11-21T03:00:00Z", "nowhere.yaml", "lake")
for row in rows_of_stages(Work(task), [Stage.PLAN])["errors"].to_pylist():
    print(row["stage"], row["message"])
"""


def test_a_package_that_an_executor_lacks_is_an_error_of_the_stage_that_needs_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        f"plan Python at {sys.executable} has no msgspec, which this stage needs; "
    )
