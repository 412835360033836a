"""`replan rehearse --reconcile` through the command line: what it reads, what it writes, how it exits."""

import json
import shutil
from pathlib import Path

import pytest
from tests.commandline import checked, replan

pytestmark = pytest.mark.command
EXAMPLES = Path(__file__).parents[2] / "examples"
WEEKS = ("rehearse", "--reconcile", "-f", "placement.yaml", "--snapshot", "cluster.json")


@pytest.fixture
def folder(folder: Path) -> Path:
    shutil.copy(EXAMPLES / "reconcile" / "placement.yaml", folder)
    return folder


def test_a_released_placement_and_a_pause_are_faults_like_any(folder: Path) -> None:
    text = (folder / "placement.yaml").read_text(encoding="utf-8")
    drains = "blacklists: {replicas: [{broker: 5, reason: away}]}\n"
    (folder / "next.yaml").write_text(text + drains, encoding="utf-8")
    faults = ("--fault", "release next.yaml at 3h", "--fault", "pause at 2h for 3h")
    done = checked(*WEEKS, "--for", "8h", *faults, "--format", "json", folder=folder)
    found = json.loads(done.stdout)
    [made] = found["acting"]["rounds"]
    assert made["kinds"] == ["placementChanged"]
    assert 5 * 3_600 <= made["beganAt"] <= 5.2 * 3_600
    [paused] = found["acting"]["held"]
    assert (paused["why"], paused["times"]) == ("paused-by", 1)
    assert [(f["atSeconds"], f["what"]) for f in found["faults"]] == [
        (7_200, "replan pause"),
        (10_800, "release next.yaml"),
        (18_000, "replan resume"),
    ]
    assert found["doingNothing"]["kinds"][0]["left"] == 2


def test_what_kafka_refuses_of_a_fault_and_what_comes_too_late_is_said(folder: Path) -> None:
    faults = ("--fault", "foreign reassign orders-0 [1,2,9] at 1h", "--fault", "kill 4 at 3h")
    done = checked(*WEEKS, "--for", "2h", *faults, folder=folder)
    assert "  0 d 03:00  kill 4 (after the end)\n" in done.stdout
    assert (
        "foreign reassign orders-0 [1,2,9] (Kafka refuses it: 39 INVALID_REPLICA_ASSIGNMENT"
        in done.stdout
    )


def test_a_loop_that_holds_at_the_end_exits_3(folder: Path) -> None:
    fault = ("--fault", "kill rack a at 1h")
    done = checked(*WEEKS, "--for", "3h", *fault, folder=folder, wanted=3)
    assert "1 rack without a live broker (a)" in done.stdout
    assert "; holds at the end." in done.stdout.splitlines()[0]


def test_the_same_seed_gives_the_same_weeks(folder: Path) -> None:
    drawn = ("--for", "2d", "--seed", "4")
    once, again = (replan(*WEEKS, *drawn, folder=folder).stdout for _ in range(2))
    assert once == again
    assert "faults of seed 4." in once


def test_a_page_is_written_and_the_cluster_file_stays_as_it_is(folder: Path) -> None:
    before = (folder / "cluster.json").read_bytes()
    where = ("rehearse", "--reconcile", "--simulated", "cluster.json", "--for", "1h")
    done = replan(*where, "--format", "html", "-o", "weeks.html", folder=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "wrote weeks.html\n")
    assert (folder / "weeks.html").read_text().startswith("<!doctype html>")
    assert (folder / "cluster.json").read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == [
        "cluster.json",
        "placement.yaml",
        "weeks.html",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rehearse",), "rehearse either PLAN or, with --reconcile, weeks of the loop"),
        (
            ("rehearse", "plan.json", "--reconcile"),
            "rehearse either PLAN or, with --reconcile, weeks of the loop",
        ),
        (
            ("rehearse", "plan.json", "-f", "placement.yaml"),
            "-f, --for and --every go with --reconcile; leave them out",
        ),
        (
            ("rehearse", "plan.json", "--for", "3d"),
            "-f, --for and --every go with --reconcile; leave them out",
        ),
        (
            ("rehearse", "plan.json", "--every", "5m"),
            "-f, --for and --every go with --reconcile; leave them out",
        ),
        (
            ("rehearse", "--reconcile"),
            "--reconcile is rehearsed on a whole cluster; name one, e.g. --snapshot FILE",
        ),
        (
            (*WEEKS, "--runs", "3"),
            "--runs goes with PLAN; of --reconcile, name one seed after the other",
        ),
        (
            (*WEEKS, "--fault", "release missing.yaml at 3h"),
            "missing.yaml: there is no such file or folder; check the path",
        ),
        (
            (*WEEKS, "--fault", "kill rack x at 3h"),
            (
                '--fault "kill rack x at 3h", character 11: there is no rack x; known: a, b, c; the form is: '
                "kill rack RACK [for TIME]"
            ),
        ),
    ],
)
def test_what_means_nothing_exits_1(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = replan(*arguments, folder=folder)
    assert (done.returncode, done.stderr) == (1, f"replan: {message}\n")


def test_a_placement_of_another_cluster_is_said_at_once(folder: Path) -> None:
    text = (folder / "placement.yaml").read_text(encoding="utf-8")
    other = text.replace("MkU3OEVBNTcwNTJENDM2Qg", "MkU3OEVBNTcwNTJENDM2Qw")
    (folder / "placement.yaml").write_text(other, encoding="utf-8")
    done = checked(*WEEKS, folder=folder, wanted=1)
    assert "is for cluster MkU3OEVBNTcwNTJENDM2Qw" in done.stderr
