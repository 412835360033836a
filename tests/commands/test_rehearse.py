"""`replan rehearse` through the command line: what it reads, what it writes, how it exits."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from tests.commandline import checked, environment, replan

pytestmark = pytest.mark.command


@pytest.fixture
def folder(folder: Path) -> Path:
    checked("plan", "--snapshot", "cluster.json", "-o", "plan.json", folder=folder, wanted=2)
    return folder


def test_without_a_cluster_the_plan_alone_is_rehearsed(folder: Path) -> None:
    done = checked("rehearse", "plan.json", folder=folder)
    assert done.stderr == (
        "no cluster is named: rehearsed on the partitions of the plan alone, as it knows them; "
        "--snapshot FILE makes it more exact\n"
    )


def test_a_simulated_cluster_stays_as_it_is(folder: Path) -> None:
    before = (folder / "cluster.json").read_bytes()
    checked("rehearse", "plan.json", "--simulated", "cluster.json", folder=folder)
    assert (folder / "cluster.json").read_bytes() == before


def test_a_simulated_cluster_is_as_fast_as_its_file_says(folder: Path) -> None:
    document = json.loads((folder / "cluster.json").read_text(encoding="utf-8"))
    document["simulation"] = {"speeds": {"networkBytesPerSecond": 1e6, "diskBytesPerSecond": 5e6}}
    (folder / "slow.json").write_text(json.dumps(document), encoding="utf-8")
    arguments = ("rehearse", "plan.json", "--simulated", "slow.json")
    done = replan(*arguments, folder=folder)
    assert "network 1 MB/s per broker and direction; disks 5 MB/s per broker" in done.stdout
    named = replan(*arguments, "--network", "2MB/s", folder=folder)
    assert "network 2 MB/s per broker and direction; disks 5 MB/s per broker" in named.stdout


def test_random_runs_come_with_their_spread(folder: Path) -> None:
    arguments = ("rehearse", "plan.json", "--runs", "3", "--seed", "5", "--format", "json")
    done = replan(*arguments, "--snapshot", "cluster.json", folder=folder)
    found = json.loads(done.stdout)
    assert [run["seed"] for run in found["runs"]] == [5, 6, 7]
    assert found["spread"]["seconds"]["least"] <= found["spread"]["seconds"]["p90"]
    worst = found["spread"]["worstSeed"]
    alone = replan(
        *("rehearse", "plan.json", "--seed", str(worst), "--format", "json"),
        *("--snapshot", "cluster.json"),
        folder=folder,
    )
    told = next(run for run in found["runs"] if run["seed"] == worst)
    again = json.loads(alone.stdout)["rehearsal"]
    assert (again["seconds"], again["faults"]) == (told["seconds"], told["faults"])
    assert done.returncode == (0 if found["completes"] else 3)


def test_a_page_is_written_to_a_file(folder: Path) -> None:
    arguments = ("rehearse", "plan.json", "--format", "html", "-o", "page.html")
    done = replan(*arguments, "--snapshot", "cluster.json", folder=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "wrote page.html\n")
    assert (folder / "page.html").read_text().startswith("<!doctype html>")


def test_a_person_at_a_terminal_sees_how_far_it_is_until_it_ends(folder: Path) -> None:
    terminal, errors = pty.openpty()
    fcntl.ioctl(errors, termios.TIOCSWINSZ, struct.pack("4H", 24, 20, 0, 0))
    slowly = ("--network", "200KB/s", "--fault", "metadata 1s behind at 0s")
    done = subprocess.run(
        [sys.executable, "-m", "replan", "rehearse", "plan.json", *slowly],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=errors,
        check=False,
    )
    os.close(errors)
    shown = os.read(terminal, 100_000).decode()
    os.close(terminal)
    assert done.returncode == 0
    assert re.search(r"\r\x1b\[K.*: \d of", shown)
    assert shown.endswith("\r\x1b[K")
    passing = shown[shown.index("\r\x1b[K") :].split("\r\x1b[K")
    assert max(map(len, passing)) < 20, "the next one overwrites one row alone"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--network", "5"), '--network: "5" is not a rate; it needs a unit, e.g. 5MB/s'),
        (
            ("--network", "0"),
            "--network: 0B/s is below 1KB/s, at which nothing would move; write 1KB/s or more, or unlimited",
        ),
        (("--produce", "unlimited"), "--produce: write a rate, e.g. 100MB/s"),
        (
            ("--fault", "kill 3"),
            '--fault "kill 3": it does not say when; write e.g. "kill 3 at 10m"',
        ),
        (
            ("--fault", "kill 9 at 5s"),
            (
                '--fault "kill 9 at 5s", character 6: there is no broker 9; registered: 1, 2, 3, 4, 5; '
                "the form is: kill BROKER [for TIME]"
            ),
        ),
    ],
)
def test_what_means_nothing_exits_1(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = replan("rehearse", "plan.json", *arguments, folder=folder)
    assert (done.returncode, done.stderr) == (1, f"replan: {message}\n")


def test_with_a_kept_replica_on_a_dead_broker_a_rehearsal_ends_as_apply_does(folder: Path) -> None:
    dead = ("plan.json", "--simulated", "cluster.json", "--fault", "kill 3 at 1s")
    rehearsed = replan("rehearse", *dead, "--format", "json", folder=folder)
    found = json.loads(rehearsed.stdout)
    applied = replan("apply", *dead, folder=folder)
    assert (rehearsed.returncode, found["exitCode"], applied.returncode) == (4, 4, 4)
    stopped = {s["partition"]: s["hold"]["kind"] for s in found["rehearsal"]["stopped"]}
    assert set(stopped.values()) == {"awaiting-sync"}
    assert all(name in applied.stdout for name in stopped)
    assert found["rehearsal"]["seconds"] < 1_000
    again = replan("rehearse", *dead[:3], "--format", "json", folder=folder)
    resumed = json.loads(again.stdout)["rehearsal"]
    assert again.returncode == 4
    assert {s["partition"] for s in resumed["stopped"]} == set(stopped)


def test_another_plan_than_the_open_one_is_held_by_a_rehearsal_as_by_apply(folder: Path) -> None:
    dead = ("--simulated", "cluster.json", "--fault", "kill 3 at 1s")
    checked("apply", "plan.json", *dead, folder=folder, wanted=4)
    text = (folder / "placement.yaml").read_text()
    (folder / "placement.yaml").write_text(text.replace("50MB/s", "40MB/s"))
    replan("plan", *dead[:2], "-o", "other.json", folder=folder)
    for command in ("rehearse", "apply"):
        done = checked(command, "other.json", *dead[:2], folder=folder, wanted=4)
        assert "is open on this cluster, with another plan" in done.stderr
