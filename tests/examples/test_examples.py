"""Every folder of examples/ runs through the real command line and prints the plan that it shows."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commandline import checked
from tests.goldens import check

pytestmark = pytest.mark.command
EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(p.parent.name for p in EXAMPLES.glob("*/cluster.json"))


@pytest.mark.parametrize("name", FOLDERS)
def test_an_example_prints_the_plan_that_it_shows(name: str) -> None:
    done = checked("plan", "--snapshot", "cluster.json", folder=EXAMPLES / name, wanted=2)
    assert re.fullmatch(r"planned from a snapshot of 2026-11-21T03:00:00Z, .+ old\n", done.stderr)
    check(EXAMPLES / name / "plan.txt", done.stdout)


def test_the_examples_cover_what_the_readme_names() -> None:
    assert {"move", "leader", "blacklist", "throttle"} <= set(FOLDERS)


def test_the_demo_shows_a_broker_that_dies_and_a_move_that_ends() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    commands = [line.removeprefix("$ ").split()[:2] for line in lines if line.startswith("$ ")]
    assert commands == [
        ["cat", "placement.yaml"],
        ["replan", "plan"],
        ["replan", "apply"],
        ["replan", "drift"],
    ]
    fault = lines.index("3.0 s: fault: kill 4 at 3s for 60s")
    over = lines.index("1 min 3 s: over: kill 4 at 3s for 60s")
    assert any("orders-0" in line and "broker 4 is fenced" in line for line in lines[fault:over])
    assert any(line.startswith("4 moves in 1 min") for line in lines[over:])
    assert any(line.startswith("No drift") for line in lines[over:])
    assert [line for line in lines if line.startswith("(exit")] == [
        "(exit 2)",
        "(exit 0)",
        "(exit 0)",
    ]


def test_the_fleet_of_the_demo_shows_every_class_of_drift(tmp_path: Path) -> None:
    """Two moments: who drifted at both is known to since the first; the numbers are those of the report."""
    demo = [sys.executable, str(EXAMPLES / "demo_fleet.py"), str(tmp_path)]
    run = subprocess.run(demo, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))
    assert {row["class"] for row in found["drift"]} == {
        *("operator", "failure", "other-tool"),
        *("partition-count", "stale-throttle", "review-due"),
    }
    assert [(c["name"], [e["stage"] for e in c["errors"]]) for c in found["clusters"][:3]] == [
        ("us-07", ["diff"]),
        ("us-19", ["collect"]),
        ("ap-05", []),
    ]
    judged = [c["judged"] for c in found["clusters"] if c["judged"] is not None]
    assert sum(c["drifted"] for c in judged) == len(found["drift"])
    assert sum(c["acknowledged"] for c in judged) == 1
    assert sum(c["converging"] for c in judged) == 3
    assert [point["clusters"] for point in found["trend"]] == [18, 18]
    earlier, later = sorted({row["since"] for row in found["drift"]})
    assert later == judged[-1]["observed_at"]
    assert [(r["cluster"], r["item"], r["since"], r["resolved_at"]) for r in found["resolved"]] == [
        ("ap-14", "billing-0", earlier, later),
        ("ap-14", "billing-1", earlier, later),
    ]
    # `replan apply` between the two moments did it.
    assert {r["resolved_by"] for r in found["resolved"]} != {None}
    (waiting,) = found["acknowledged"]
    assert (waiting["cluster"], waiting["item"], waiting["since"]) == ("ap-08", "billing-0", later)
