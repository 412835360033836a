"""`replan reconcile` on a simulated cluster: rounds of a scheduled job, out of files and out of git."""

import json
import os
import re
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.builders import brokers, snapshot, state
from tests.ci.forge import commit, git
from tests.commandline import checked, interrupted, start

from replan.snapshots.api import write_snapshot

LISTS = "[[1, 2, 3], [2, 3, 4], [3, 4, 5]]"
CHANGED = LISTS.replace("[1, 2, 3]", "[4, 2, 3]")
POLICY = "reconcile: {putRight: {placementChanged: 0s}}\n"


def placement(lists: str, policy: str = POLICY) -> str:
    return f"version: 1\nassignments: {{orders: {{partitions: {lists}}}}}\n{policy}"


@pytest.fixture(autouse=True)
def _cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    states = [state(of, partition=i) for i, of in enumerate([(1, 2, 3), (2, 3, 4), (3, 4, 5)])]
    write_snapshot(snapshot(states, registered=brokers(6, "abc")), Path("c.json"))
    Path("placement.yaml").write_text(placement(LISTS), encoding="utf-8")


def run(*words: str, wanted: int = 0) -> subprocess.CompletedProcess[str]:
    return checked(*words, folder=Path(), wanted=wanted)


ONCE = ("reconcile", "--simulated", "c.json", "--once")


def test_a_dry_run_does_nothing_and_writes_nothing() -> None:
    run(*ONCE)
    before = sorted(p.name for p in Path().iterdir()), Path("c.json").read_bytes()
    Path("placement.yaml").write_text(placement(CHANGED), encoding="utf-8")
    run(*ONCE, "--dry-run", wanted=2)
    assert (sorted(p.name for p in Path().iterdir()), Path("c.json").read_bytes()) == before


def test_one_round_leaves_the_lease_to_a_loop_that_lives() -> None:
    with start(
        ["reconcile", "--simulated", "c.json", "--log-format", "json"], folder=Path()
    ) as loop:
        try:
            assert loop.stderr is not None
            states = (json.loads(line).get("state") for line in loop.stderr)
            assert "at-rest" in states
            done = run(*ONCE, wanted=4)
            assert "another loop" in done.stderr
        finally:
            loop.kill()


def test_what_was_not_compared_is_not_said_to_differ_in_nothing() -> None:
    other = placement(CHANGED) + "cluster: {id: AAAAAAAAAAAAAAAAAAAAAA}\n"
    Path("placement.yaml").write_text(other, encoding="utf-8")
    done = run(*ONCE, wanted=1)
    assert "the placement is for cluster AAAAAAAAAAAAAAAAAAAAAA" in done.stderr
    assert "nothing differs" not in done.stderr


def test_a_pipe_for_a_placement_is_named_and_not_waited_for() -> None:
    os.mkfifo("pipe")
    done = run(*ONCE, "-f", "pipe", wanted=1)
    assert "-f pipe: a loop reads it again each round" in done.stderr


def test_it_reads_the_newest_commit_of_a_branch(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / "payments").mkdir(parents=True)
    git("init", "--quiet", folder=repository)
    commit(repository, {"payments/placement.yaml": placement(LISTS)})
    out_of_git = (*ONCE, "--git", repository.as_uri(), "--path", "payments")
    run(*out_of_git)
    commit(repository, {"payments/placement.yaml": placement(CHANGED)})
    done = run(*out_of_git)
    assert "round 1 done" in done.stderr
    newest = git("rev-parse", "HEAD", folder=repository).strip()
    shown = run("journal", "show", "--simulated", "c.json").stdout
    assert f" of {newest[:12]}" in shown
    document = run("journal", "show", "--simulated", "c.json", "--format", "json").stdout
    assert f'"placementCommit": "{newest}"' in document


def test_a_repository_that_is_not_there_is_said_without_its_password() -> None:
    done = run(*ONCE, "--git", "https://alice:secret@127.0.0.1:1/x.git", wanted=1)
    assert "127.0.0.1:1/x.git main: git fetch" in done.stderr
    assert "secret" not in done.stderr


SIMULATED = ("--simulated", "c.json")


def test_a_scheduled_round_obeys_what_was_asked_before_it() -> None:
    none = run("pause", *SIMULATED, wanted=4)
    assert "no application is open" in none.stderr
    assert "nothing to resume" in run("resume", *SIMULATED, wanted=1).stderr
    run(*ONCE)
    asked = run("pause", *SIMULATED)
    assert "paused, by the next round of the loop" in asked.stdout
    assert "Loop: paused" in run("status", *SIMULATED).stdout
    Path("placement.yaml").write_text(placement(CHANGED), encoding="utf-8")
    run(*ONCE, wanted=3)
    paused = json.loads(run("status", *SIMULATED, "--format", "json").stdout)["loop"]
    assert paused["state"] == "paused"
    assert [r["is"] for r in paused["reasons"]] == ["paused-by"]
    run("resume", *SIMULATED)
    done = run(*ONCE)
    assert "round 1 done" in done.stderr


def test_status_says_how_long_ago_a_loop_acted_on_the_clock_of_its_cluster() -> None:
    run(*ONCE)
    Path("placement.yaml").write_text(placement(CHANGED, "reconcile: {}\n"), encoding="utf-8")
    run(*ONCE, wanted=2)
    run("pause", *SIMULATED)
    said = run("status", *SIMULATED).stdout
    taken = datetime.fromisoformat(json.loads(Path("c.json").read_text())["observedAt"])
    assert taken < datetime.now(UTC) - timedelta(hours=1)
    (at,) = re.findall(r"Loop: paused, since (\S+ \S+) UTC", said)
    assert abs((datetime.fromisoformat(f"{at}+00:00") - taken).total_seconds()) < 3600, said
    loop = json.loads(run("status", *SIMULATED, "--format", "json").stdout)["loop"]
    assert abs(loop["at"] - taken.timestamp()) < 3600


def test_a_loop_at_rest_answers_who_pauses_and_resumes_it() -> None:
    process = start(["reconcile", *SIMULATED], folder=Path())
    try:
        until = time.monotonic() + 60
        while "Loop: at rest" not in run("status", *SIMULATED).stdout:
            assert process.poll() is None
            assert time.monotonic() < until
        for verb, said in (("pause", "paused"), ("resume", "resumed")):
            done = run(verb, *SIMULATED)
            assert done.stdout.startswith(f"{said}, by the loop of ")
            assert f"(pid {process.pid})" in done.stdout
            loop = json.loads(run("status", *SIMULATED, "--format", "json").stdout)["loop"]
            assert loop["state"] == ("paused" if verb == "pause" else "at-rest")
    finally:
        code, _, err = interrupted(process)
    assert code == 130
    assert "paused" in err
