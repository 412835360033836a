"""`replan scenario run` as a person runs it: exit codes, the diff, rewriting, mistakes."""

from pathlib import Path

import pytest
from tests.commandline import replan

pytestmark = pytest.mark.command
BEGINNING = "cluster from cluster.json\nkill 3\n"
SOUND = BEGINNING + "tick 10s\n----\n9s    broker 3 is fenced\n9s    orders-0: in sync [1,2]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cluster.json").write_text(
        """{"formatVersion": 1, "kind": "replan.snapshot", "clusterId": "MkU3OEVBNTcwNTJENDM2Qg",
        "observedAt": "2026-11-21T03:00:00Z", "brokers": [{"id": 1}, {"id": 2}, {"id": 3}],
        "topics": [{"name": "orders", "minInsyncReplicas": 2, "partitions": [{"replicas": [1, 2, 3]}]}]}"""
    )
    (tmp_path / "sound.txt").write_text(SOUND)
    (tmp_path / "other.txt").write_text(SOUND.replace("[1,2]", "[1]"))
    (tmp_path / "wrong.txt").write_text(BEGINNING + "teleport 3\n")
    return tmp_path


def test_stories_that_are_as_written_are_counted(folder: Path) -> None:
    done = replan("scenario", "run", "sound.txt", "sound.txt", folder=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "2 of 2 passed\n")


def test_a_story_that_differs_is_shown_as_a_diff_and_written_on_demand(folder: Path) -> None:
    done = replan("scenario", "run", "sound.txt", "other.txt", folder=folder)
    assert (done.returncode, done.stderr) == (1, "1 of 2 passed\n")
    assert done.stdout.splitlines()[:3] == [
        "other.txt:3: output differs: `tick 10s`",
        "--- other.txt (as written)",
        "+++ other.txt (now)",
    ]
    assert "-9s    orders-0: in sync [1]" in done.stdout.splitlines()
    done = replan("scenario", "run", "--rewrite", "other.txt", folder=folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert (folder / "other.txt").read_text() == SOUND


def test_a_mistake_is_reported_with_its_line_and_the_other_stories_go_on(folder: Path) -> None:
    done = replan("scenario", "run", "wrong.txt", "nowhere.txt", "sound.txt", folder=folder)
    assert (done.returncode, done.stdout) == (1, "")
    first, second, third = done.stderr.splitlines()
    assert first.startswith(
        "replan: wrong.txt:3: unknown command `teleport`; known: abandon, apply, "
    )
    assert second == "replan: nowhere.txt: cannot read it: No such file or directory"
    assert third == "1 of 3 passed"
