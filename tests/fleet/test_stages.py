"""What single stages write of one cluster: numbers that a report shows, and a stage that cannot begin."""

import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.builders import CLUSTER_ID, OBSERVED_AT, snapshot, state
from tests.commandline import python
from tests.fleet.fleets import keep_snapshot

from replan.fleet.api import Lake, Rows, Stage, Task, Work, not_done, rows_of_stages
from replan.model.api import BrokerId, ReplicaLog, Snapshot

RATES = "throttles: {moves: {rate: 1KB/s}}\n"
PRICES = '{"currency": "EUR", "cross_rack_per_gb": "1000000000"}'


def found(
    home: Path, placement: str, seen: Snapshot, *stages: Stage, prices: str | None = None
) -> Rows:
    """The rows of a cluster of five brokers in the racks a, b, c, a, b."""
    lake, file = Lake(str(home / "lake")), home / "eu.yaml"
    keep_snapshot(lake, seen, "eu")
    file.write_text(f"version: 1\n{placement}")
    task = Task("eu", CLUSTER_ID, OBSERVED_AT, str(file), lake.address, prices=prices)
    rows = rows_of_stages(Work(task), stages)
    assert rows["errors"].to_pylist() == []
    return rows


@pytest.mark.parametrize(
    ("declared", "isr", "prices", "expected"),
    [
        ("[1, 2, 4]", [1, 2, 3], None, (10, 0, 0.01, None, None)),
        ("[1, 2, 5]", [1, 2, 3], None, (10, 10, 0.01, None, None)),
        ("[1, 4, 5]", [1, 2, 3], None, (20, 10, 0.02, None, None)),
        ("[1, 2, 5]", [], PRICES, (10, 10, 0.01, 10.0, "EUR")),
    ],
    ids=["in a rack", "to another", "two from one leader", "without a leader, as in a plan"],
)
def test_the_cost_of_a_partition(
    tmp_path: Path,
    declared: str,
    isr: list[int],
    prices: str | None,
    expected: tuple[int, int, float, float | None, str | None],
) -> None:
    placement = f"assignments: {{orders: {{partitions: [{declared}]}}}}\n{RATES}"
    seen = snapshot([state([1, 2, 3], isr, size=10)])
    (row,) = found(tmp_path, placement, seen, Stage.COST, prices=prices)["costs"].to_pylist()
    columns = ("bytes", "cross_rack_bytes", "seconds", "amount", "currency")
    assert tuple(row[c] for c in columns) == expected


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
    rows = found(tmp_path, placement, snapshot(states), Stage.CLASSIFY)["drift"].to_pylist()
    until = {r["partition"]: r["acknowledged_until"][:10] for r in rows}
    assert until == {0: "2026-12-03", 1: "2026-12-02"}


def test_a_plan_that_only_recovers_has_something_to_change(tmp_path: Path) -> None:
    dead = state([1, 2, 3], [], leader=None)
    logs = {BrokerId(b): ReplicaLog(9, 0, epochs={0: 9}) for b in (1, 2, 3)}
    seen = replace(snapshot([dead]), logs={dead.partition: logs})
    rows = found(tmp_path, "recovery: {orders: {strategy: aggressive}}\n", seen, Stage.PLAN)
    (row,) = rows["plans"].to_pylist()
    assert json.loads(row["document"])["recoveries"]
    assert row["changes"] == 1


@pytest.mark.parametrize(
    ("placement", "text", "file", "message"),
    [
        ("eu.yaml", "eu.yaml:3:1: unknown key", "eu.yaml", "eu.yaml:3:1: unknown key"),
        (
            "eu.yaml",
            "/srv/eu.yaml: there is no such file",
            "eu.yaml",
            "eu.yaml: there is no such file",
        ),
        (
            "eu",
            "/srv/lake/queue: cannot read it",
            "/srv/lake",
            "/srv/lake/queue: cannot read it",
        ),
        ("eu", "lost twice", "eu", "lost twice"),
    ],
    ids=["the placement", "the placement, by its path", "the lake", "neither"],
)
def test_an_error_names_what_it_is_about_and_a_placement_as_the_fleet_file_does(
    placement: str, text: str, file: str, message: str
) -> None:
    at = f"/srv/{placement}"
    task = Task("eu", CLUSTER_ID, OBSERVED_AT, at, "/srv/lake", named=placement)
    (row,) = not_done(task, [Stage.DIFF], text).errors
    assert (row["file"], row["message"]) == (file, message)


WITHOUT = """
import sys
from replan.fleet.do_task import Stage, rows_of_stages
from replan.fleet.tasks.work import Task, Work
sys.modules["msgspec"] = None  # as where it is not installed
task = Task("eu", "id", "2026-11-21T03:00:00Z", "nowhere.yaml", "lake")
for row in rows_of_stages(Work(task), [Stage.PLAN])["errors"].to_pylist():
    print(row["stage"], row["message"])
"""


def test_a_package_that_an_executor_lacks_is_an_error_of_the_stage_that_needs_it(
    tmp_path: Path,
) -> None:
    done = python("-c", WITHOUT, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        f"plan Python at {sys.executable} has no msgspec, which this stage needs; "
    )
