"""`apply` through the command line, on the embedded cluster: approval, resuming, what it prints and leaves."""

import json
import re
from pathlib import Path

import pytest
from tests.commandline import PROGRAM, checked, in_shell, replan

pytestmark = pytest.mark.command
SIMULATED = ("--simulated", "cluster.json")


def saved(folder: Path) -> None:
    checked("plan", *SIMULATED, "-o", "plan.json", folder=folder, wanted=2)


def test_without_a_terminal_nobody_approves_placement_files_and_nothing_is_changed(
    folder: Path,
) -> None:
    before = (folder / "cluster.json").read_bytes()
    done = checked("apply", "-f", "placement.yaml", *SIMULATED, folder=folder, wanted=1)
    assert "Plan: 4 moves" in done.stdout
    assert done.stderr == (
        "replan: stdin is not a terminal, so nobody can approve this; pass --auto-approve, or save the plan "
        "(-o plan.json of `replan plan` and `replan elect`), review it, and apply it: replan apply plan.json\n"
    )
    assert (folder / "cluster.json").read_bytes() == before
    assert not (folder / "cluster.json.journal").exists()


def test_where_stdin_is_closed_nobody_approves(folder: Path) -> None:
    command = (*PROGRAM, "apply", "-f", "placement.yaml", *SIMULATED)
    done = in_shell('exec "$@" <&-', *command, folder=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("replan: stdin is not a terminal")


def test_a_saved_plan_is_performed_without_a_question_and_nothing_is_left_to_do(
    folder: Path,
) -> None:
    saved(folder)
    checked("apply", "plan.json", *SIMULATED, folder=folder)
    checked("plan", *SIMULATED, folder=folder)
    checked("drift", *SIMULATED, folder=folder)
    checked("status", *SIMULATED, folder=folder)
    assert "throttled" not in (folder / "cluster.json").read_text()
    checked("apply", "plan.json", *SIMULATED, folder=folder)
    (folder / "cluster.json.journal").unlink()
    unknown = checked("apply", "plan.json", *SIMULATED, folder=folder)
    assert unknown.stdout.startswith("4 moves in 0.0 s; `replan journal show` has application ")


def test_a_fault_of_the_embedded_cluster_is_reported_with_what_waits_for_it(
    folder: Path,
) -> None:
    saved(folder)
    fault = ("--fault", "kill 4 at 3s for 60s")
    done = checked("apply", "plan.json", *SIMULATED, *fault, folder=folder)
    assert re.match(r"4 moves in 1 min \d+ s; 300 MB copied; throttles restored; ", done.stdout)
    told = done.stderr.splitlines()
    assert "3.0 s: fault: kill 4 at 3s for 60s" in told
    assert "1 min 3 s: over: kill 4 at 3s for 60s" in told
    assert any("stalled: broker 4 is fenced" in line for line in told)
    assert ": 4 of 4 steps done; 300 MB of 300 MB; restoring 2 throttle settings" in told[-1]
    checked("drift", *SIMULATED, folder=folder)


@pytest.mark.parametrize(
    ("cluster", "fault", "message"),
    [
        (
            ("--bootstrap-server", "nowhere.invalid:1"),
            "kill 4 at 3s",
            "--fault is for the embedded cluster only; it goes with --simulated FILE",
        ),
        (SIMULATED, "kill 4", '--fault "kill 4": it does not say when; write e.g. "kill 4 at 10m"'),
    ],
)
def test_a_fault_that_is_impossible_stops_before_anything_is_done(
    folder: Path, cluster: tuple[str, ...], fault: str, message: str
) -> None:
    saved(folder)
    before = (folder / "cluster.json").read_bytes()
    arguments = ("apply", "plan.json", *cluster, "--fault", fault)
    done = replan(*arguments, folder=folder)
    assert (done.returncode, done.stderr) == (1, f"replan: {message}\n")
    assert (folder / "cluster.json").read_bytes() == before


REFUSED = "version: 1\nassignments: {orders: {partitions: {0: [4, 2, 5], 1: [3]}}}\n"


def test_a_refused_partition_is_left_out_and_plan_rehearsal_and_apply_end_with_the_same_code(
    folder: Path,
) -> None:
    (folder / "placement.yaml").write_text(REFUSED)
    planned = checked("plan", *SIMULATED, "-o", "plan.json", folder=folder, wanted=3)
    assert "target-below-min-isr" in planned.stdout
    assert "saved; apply it with" in planned.stderr
    rehearsed = replan("rehearse", "plan.json", *SIMULATED, "--format", "json", folder=folder)
    found = json.loads(rehearsed.stdout)
    assert (rehearsed.returncode, found["exitCode"], found["completes"]) == (3, 3, True)
    assert [r["rule"] for r in found["refusals"]] == ["target-below-min-isr"]
    for _ in range(2):
        done = checked("apply", "plan.json", *SIMULATED, folder=folder, wanted=3)
        assert "refused: orders-1: " in done.stdout
        assert "1 partition refused" in done.stdout
    described = json.loads((folder / "cluster.json").read_text())
    orders = next(t for t in described["topics"] if t["name"] == "orders")
    assert [p["replicas"] for p in orders["partitions"][:2]] == [[4, 2, 5], [3, 1, 2]]
    assert "throttled" not in (folder / "cluster.json").read_text()


def test_with_all_or_nothing_a_refused_partition_refuses_the_plan(folder: Path) -> None:
    (folder / "placement.yaml").write_text(REFUSED)
    checked("plan", *SIMULATED, "-o", "plan.json", folder=folder, wanted=3)
    before = (folder / "cluster.json").read_bytes()
    done = checked("apply", "plan.json", "--all-or-nothing", *SIMULATED, folder=folder, wanted=3)
    assert "1 partition refused; nothing applied:" in done.stderr
    assert (folder / "cluster.json").read_bytes() == before


def test_two_plans_are_compared_by_setting_and_by_partition(folder: Path) -> None:
    saved(folder)
    text = (folder / "placement.yaml").read_text()
    (folder / "placement.yaml").write_text(
        text.replace("50MB/s", "40MB/s").replace("1: [3, 1] ", "1: [3, 1, 4] ")
    )
    checked("plan", *SIMULATED, "-o", "new.json", folder=folder, wanted=2)
    difference = ("show", "new.json", "--against", "plan.json")
    shown = checked(*difference, folder=folder)
    placement, rest = shown.stdout.split("\n", 1)
    assert placement.startswith("placement: ")
    assert rest == (
        "throttle.rate: 50 MB/s -> 40 MB/s\norders-1: [3,1,2] -> [3,1] => [3,1,2] -> [3,1,4]\n"
    )
    same = replan("show", "new.json", "--against", "new.json", folder=folder)
    assert same.stdout == "The two plans are the same.\n"
    found = json.loads(replan(*difference, "--format", "json", folder=folder).stdout)
    assert found["settings"][1] == {"key": "throttle.rate", "before": "50 MB/s", "after": "40 MB/s"}
    assert [move["partition"] for move in found["moves"]] == [1]
    table = replan(*difference, "--format", "markdown", folder=folder).stdout
    assert "| `throttle.rate` | `50 MB/s` | `40 MB/s` |" in table


def test_resume_goes_on_with_what_was_begun_and_says_when_nothing_was(folder: Path) -> None:
    nothing = checked("resume", *SIMULATED, folder=folder, wanted=1)
    assert nothing.stderr == (
        "replan: nothing to resume: the journal file:cluster.json.journal knows of no open application\n"
    )


def reviewed(folder: Path) -> str:
    """The digest that a comment on a pull request shows."""
    found: str = json.loads((folder / "plan.json").read_text())["digest"]
    shown = replan("show", "plan.json", "--format", "markdown", folder=folder)
    assert found in shown.stdout
    return found


def test_the_plan_that_was_reviewed_is_applied_on_the_placement_that_it_was_made_from(
    folder: Path,
) -> None:
    saved(folder)
    placement = folder / "placement.yaml"
    placement.write_text(f"# a comment changes nothing\n{placement.read_text()}")
    review = ("--digest", reviewed(folder).upper(), "--placement", "placement.yaml")
    checked("apply", "plan.json", *review, *SIMULATED, folder=folder)
    checked("apply", "plan.json", *review, *SIMULATED, folder=folder)


@pytest.mark.parametrize("changed", ["digest", "placement", "plan"])
def test_another_plan_or_another_placement_is_refused_and_nothing_is_changed(
    folder: Path, changed: str
) -> None:
    saved(folder)
    digest, placement = reviewed(folder), folder / "placement.yaml"
    if changed == "digest":
        digest = digest[::-1]
    else:
        placement.write_text(placement.read_text().replace("[3, 1]", "[1, 3]"))
    if changed == "plan":
        checked("plan", *SIMULATED, "-o", "plan.json", folder=folder, wanted=2)
    before = (folder / "cluster.json").read_bytes()
    review = ("--digest", digest, "--placement", "placement.yaml")
    done = checked("apply", "plan.json", *review, *SIMULATED, folder=folder, wanted=3)
    expected = "made from another placement" if changed == "placement" else "not the plan that was"
    assert expected in done.stderr
    assert (folder / "cluster.json").read_bytes() == before


@pytest.mark.parametrize(
    "options",
    [
        ("-f", "placement.yaml", "--digest", "0" * 64),
        ("-f", "placement.yaml", "--placement", "placement.yaml"),
        ("plan.json", "--digest", "2cb3adda10efc2f7"),
    ],
)
def test_a_check_that_could_mean_anything_else_is_wrong_usage(
    folder: Path, options: tuple[str, ...]
) -> None:
    saved(folder)
    done = checked("apply", *options, *SIMULATED, folder=folder, wanted=1)
    assert "--digest" in done.stderr


def test_it_writes_metrics_and_a_report_for_ci(folder: Path) -> None:
    saved(folder)
    files = ("--metrics-file", "replan.prom", "--junit", "junit.xml")
    checked("apply", "plan.json", *SIMULATED, *files, folder=folder)
    assert 'ending="complete"} 0\n' in (folder / "replan.prom").read_text()
    assert 'failures="0"' in (folder / "junit.xml").read_text()


def test_the_outcome_is_printed_where_neither_metrics_nor_the_report_can_be_written(
    folder: Path,
) -> None:
    saved(folder)
    files = ("--metrics-file", "none/replan.prom", "--junit", "none/junit.xml")
    done = checked("apply", "plan.json", *SIMULATED, *files, folder=folder)
    assert "4 moves in " in done.stdout
    assert "note: no metrics: none/replan.prom: cannot write: " in done.stderr
    assert "note: no report for CI: none/junit.xml: cannot write: " in done.stderr


def test_where_nothing_but_the_rate_of_moves_has_changed_it_goes_on_at_that_rate(
    folder: Path,
) -> None:
    stopped = ("--fault", "kill 4 at 3s for 100s", "--give-up-after", "20s")
    checked(
        "apply",
        "-f",
        "placement.yaml",
        "--auto-approve",
        *SIMULATED,
        *stopped,
        folder=folder,
        wanted=4,
    )
    declared = (folder / "placement.yaml").read_text()
    changed = re.sub(r"(rate: )\d+MB/s", r"\g<1>77MB/s", declared, count=1)
    assert changed != declared
    (folder / "placement.yaml").write_text(changed)
    other = changed.replace("version: 1", "version: 1\nlimits: {partitions: 500}")
    (folder / "other.yaml").write_text(other)
    checked("apply", "-f", "other.yaml", "--auto-approve", *SIMULATED, folder=folder, wanted=4)
    patience = ("--give-up-after", "5s")
    replan("apply", "-f", "placement.yaml", "--auto-approve", *SIMULATED, *patience, folder=folder)
    shown = json.loads(
        replan("journal", "show", "--format", "json", *SIMULATED, folder=folder).stdout
    )
    assert [a["rate"] for a in shown["applications"]] == ["77000000"]
