"""`replan reconcile` on a simulated cluster: rounds of a scheduled job, out of files and out of git."""

import subprocess
from pathlib import Path

import pytest
from tests.builders import brokers, snapshot, state
from tests.commandline import replan

from replan.snapshots.files import write_snapshot

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


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return replan(*words, folder=Path())


ONCE = ("reconcile", "--simulated", "c.json", "--once")


def test_a_merged_change_is_put_right_and_then_nothing_differs() -> None:
    assert run(*ONCE).returncode == 0
    Path("placement.yaml").write_text(placement(CHANGED), encoding="utf-8")
    done = run(*ONCE)
    assert done.returncode == 0
    assert "round 1 done" in done.stderr
    assert run("drift", "--simulated", "c.json").returncode == 0


def test_a_dry_run_does_nothing_and_writes_nothing() -> None:
    assert run(*ONCE).returncode == 0
    before = sorted(p.name for p in Path().iterdir()), Path("c.json").read_bytes()
    Path("placement.yaml").write_text(placement(CHANGED), encoding="utf-8")
    assert run(*ONCE, "--dry-run").returncode == 2
    assert (sorted(p.name for p in Path().iterdir()), Path("c.json").read_bytes()) == before


def test_without_a_policy_it_only_reports() -> None:
    Path("placement.yaml").write_text(placement(LISTS, ""), encoding="utf-8")
    assert run(*ONCE).returncode == 0
    Path("placement.yaml").write_text(placement(CHANGED, ""), encoding="utf-8")
    assert run(*ONCE).returncode == 2


def test_a_broken_placement_is_an_error_of_one_round_with_its_place() -> None:
    Path("placement.yaml").write_text("version: 1\nassignments: 7\n", encoding="utf-8")
    done = run(*ONCE)
    assert done.returncode == 1
    assert "placement.yaml:2:14: assignments" in done.stderr


def test_it_reads_the_newest_commit_of_a_branch(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / "payments").mkdir(parents=True)

    def git(*words: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
        done = subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True)
        return done.stdout

    def commit(lists: str) -> None:
        (repository / "payments" / "placement.yaml").write_text(placement(lists), encoding="utf-8")
        git("add", "-A")
        git("commit", "-qm", "placement")

    git("init", "-q", "-b", "main")
    commit(LISTS)
    out_of_git = (*ONCE, "--git", repository.as_uri(), "--path", "payments")
    assert run(*out_of_git).returncode == 0
    commit(CHANGED)
    done = run(*out_of_git)
    assert done.returncode == 0
    assert "round 1 done" in done.stderr


def test_a_repository_that_is_not_there_is_said_without_its_password() -> None:
    done = run(*ONCE, "--git", "https://alice:secret@127.0.0.1:1/x.git")
    assert done.returncode == 1
    assert "127.0.0.1:1/x.git main: git fetch" in done.stderr
    assert "secret" not in done.stderr
