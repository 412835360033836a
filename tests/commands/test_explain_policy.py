"""`replan explain` of what policy does: with what a loop has kept, and without."""

import json
import shutil
from pathlib import Path

import pytest
from tests.commandline import checked, replan

pytestmark = pytest.mark.command
EXAMPLES = Path(__file__).parents[2] / "examples"
EMBEDDED = ("--simulated", "cluster.json")


@pytest.fixture
def folder(folder: Path) -> Path:
    shutil.copy(EXAMPLES / "reconcile" / "placement.yaml", folder)
    return folder


def changed(folder: Path, policy: str) -> None:
    """Broker 5 is drained, and the policy is another one."""
    text = (folder / "placement.yaml").read_text(encoding="utf-8")
    head = text.partition("reconcile:")[0]
    drains = "blacklists: {replicas: [{broker: 5, reason: away}]}\n"
    (folder / "placement.yaml").write_text(f"{head}{drains}reconcile: {policy}\n", encoding="utf-8")


def test_what_is_due_says_that_the_loop_is_paused(folder: Path) -> None:
    checked("reconcile", "--once", *EMBEDDED, folder=folder)
    checked("pause", *EMBEDDED, folder=folder)
    changed(folder, "{putRight: {placementChanged: 0s}}")
    for _ in "before a round obeys", "after it":
        told = checked("explain", "clicks-0", *EMBEDDED, folder=folder, wanted=2)
        [line] = [line for line in told.stdout.splitlines() if line.startswith("  by policy")]
        assert "is put right at once, once the loop begins anything again: " in line
        assert " paused it, " in line
        checked("reconcile", "--once", *EMBEDDED, folder=folder, wanted=3)
    shown = replan("explain", "clicks-0", *EMBEDDED, "--format", "json", folder=folder).stdout
    [one] = json.loads(shown)["byPolicy"]
    assert (one["actsAt"], one["whyNot"]) == (None, {"is": "loop-holds"})
    assert (one["kind"], one["afterSeconds"]) == ("placementChanged", 0)
    assert one["since"] == one["dueAt"] > 0


def test_a_placement_without_policy_says_nothing_of_it(folder: Path) -> None:
    changed(folder, "{}")
    told = checked("explain", "clicks-0", *EMBEDDED, folder=folder, wanted=2)
    assert "by policy" not in told.stdout


def test_a_snapshot_knows_no_loop(folder: Path) -> None:
    changed(folder, "{putRight: {placementChanged: 0s}}")
    told = checked("explain", "clicks-0", "--snapshot", "cluster.json", folder=folder, wanted=2)
    assert "not seen by a loop yet: no round was completed yet, so nobody knows" in told.stdout
