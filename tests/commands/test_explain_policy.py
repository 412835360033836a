"""`replan explain` of what policy does: with what a loop has kept, and without."""

import json
import re
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


def policy_lines(folder: Path, partition: str) -> list[str]:
    told = checked("explain", partition, *EMBEDDED, folder=folder, wanted=2)
    lines = told.stdout.splitlines()
    begins = [at for at, line in enumerate(lines) if line.startswith("  by policy")]
    return [line.removeprefix("  by policy").strip() for at in begins for line in [lines[at]]]


def test_what_is_not_due_says_since_when_and_when(folder: Path) -> None:
    checked("reconcile", "--once", *EMBEDDED, folder=folder)
    changed(folder, "{putRight: {placementChanged: 6h}}")
    checked("reconcile", "--once", *EMBEDDED, folder=folder, wanted=2)
    [line] = policy_lines(folder, "clicks-0")
    assert re.fullmatch(
        r"the placement was changed \(reconcile\.putRight\.placementChanged\), since 2026-11-21 03:00:\d\d UTC: "
        r"is put right once it has lasted for 6 h, at 2026-11-21 09:00:\d\d UTC",
        line,
    )
    found = json.loads(
        replan("explain", "clicks-0", *EMBEDDED, "--format", "json", folder=folder).stdout
    )
    [one] = found["byPolicy"]
    assert (one["kind"], one["afterSeconds"]) == ("placementChanged", 21_600)
    assert one["dueAt"] == one["actsAt"] == one["since"] + 21_600
    assert one["whyNot"] == {"is": "too-early"}


def test_what_is_due_says_that_the_loop_is_paused(folder: Path) -> None:
    checked("reconcile", "--once", *EMBEDDED, folder=folder)
    checked("pause", *EMBEDDED, folder=folder)
    changed(folder, "{putRight: {placementChanged: 0s}}")
    for _ in "before a round obeys", "after it":
        [line] = policy_lines(folder, "clicks-0")
        assert "is put right at once, once the loop begins anything again: " in line
        assert " paused it, " in line
        checked("reconcile", "--once", *EMBEDDED, folder=folder, wanted=3)
    shown = replan("explain", "clicks-0", *EMBEDDED, "--format", "json", folder=folder).stdout
    [one] = json.loads(shown)["byPolicy"]
    assert (one["actsAt"], one["whyNot"]) == (None, {"is": "loop-holds"})


def test_a_window_is_named_where_it_opens_later(folder: Path) -> None:
    checked("reconcile", "--once", *EMBEDDED, folder=folder)
    window = "windows: [{days: mon-fri, from: '22:00', to: '05:00'}]"
    changed(folder, f"{{putRight: {{placementChanged: 3h}}, {window}}}")
    checked("reconcile", "--once", *EMBEDDED, folder=folder, wanted=2)
    [line] = policy_lines(folder, "clicks-1")
    assert line.endswith("; the next window opens at 2026-11-23 22:00:00 UTC")


def test_what_policy_never_does_says_so(folder: Path) -> None:
    checked("reconcile", "--once", *EMBEDDED, folder=folder)
    changed(folder, "{putRight: {brokerDown: 1h}}")
    [line] = policy_lines(folder, "clicks-0")
    assert line == (
        "the placement was changed (reconcile.putRight.placementChanged), not seen by a loop yet: "
        "policy never puts it right"
    )


def test_before_any_loop_nobody_knows_who_changed_it(folder: Path) -> None:
    changed(folder, "{putRight: {placementChanged: 0s}}")
    for cluster in (EMBEDDED, ("--snapshot", "cluster.json")):
        told = checked("explain", "clicks-0", *cluster, folder=folder, wanted=2)
        assert (
            "the cluster was changed (reconcile.putRight.changedElsewhere), not seen by a loop yet: "
            "no round was completed yet, so nobody knows who changed it"
        ) in told.stdout


def test_a_placement_without_policy_says_nothing_of_it(folder: Path) -> None:
    changed(folder, "{}")
    told = checked("explain", "clicks-0", *EMBEDDED, folder=folder, wanted=2)
    assert "by policy" not in told.stdout
