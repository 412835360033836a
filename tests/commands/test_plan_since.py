"""`plan --since`: which moves a change of the placement causes, and which were pending before it."""

import json
import shutil
from pathlib import Path

import pytest
from tests.ci.forge import commit, git, repository

from replan.main import run

pytestmark = pytest.mark.slow
DEMO = Path(__file__).parents[2] / "examples" / "demo"
PLACEMENT = (DEMO / "placement.yaml").read_text()
CHANGED = PLACEMENT.replace("1: [3, 1] ", "1: [3, 1, 5] ").replace("0: [4, 2, 5]", "0: [1, 2, 3]")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with another placement than its last commit has, and a cluster that neither describes."""
    found = repository(tmp_path, {"placement.yaml": PLACEMENT})
    shutil.copy(DEMO / "cluster.json", found)
    (found / "placement.yaml").write_text(CHANGED)
    monkeypatch.chdir(found)
    return found


def said(capsys: pytest.CaptureFixture[str], *words: str, wanted: int = 2) -> str:
    assert run(["plan", "--simulated", "cluster.json", *words]) == wanted
    return capsys.readouterr().out


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_moves_stand_by_who_causes_them(
    work: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "--since", "HEAD", "--format", form)
    assert (
        "Since HEAD: this change causes 2 moves (100 MB to copy); 2 moves (100 MB) pending before it.\n"
    ) in text
    caused, _, pending = text.partition("Pending before it (2)")
    _, _, caused = caused.partition("Caused by this change (2)")
    assert "[3,1,2] -> [3,1,5]" in caused
    assert "clicks" not in caused
    assert "[1,3,2] -> [3,1,5,2]" in pending


def test_what_the_change_takes_back_is_counted(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lists = "version: 1\nassignments: {orders: {partitions: {0: [4, 2, 5]}}}\n"
    (work / "less.yaml").write_text(lists)
    text = said(capsys, "-f", "less.yaml", "--since", "placement.yaml")
    assert "; no longer needed: 3 pending moves.\n" in text


def test_the_plan_is_the_same_with_it_and_without(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = said(capsys, "--format", "json")
    assert said(capsys, "--format", "json", "--since", "HEAD") == plain
    assert json.loads(plain)["kind"] == "replan.plan"


def test_a_placement_that_cannot_be_read_is_said_and_no_error(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git("rm", "--quiet", "--cached", "placement.yaml", folder=work)
    commit(work, {"README.md": "nothing here yet"})
    git("rm", "--quiet", "--cached", "placement.yaml", folder=work)
    git("commit", "--quiet", "-m", "none", folder=work)
    text = said(capsys, "--since", "HEAD")
    assert "What was pending at HEAD is not known: HEAD: there is no placement.yaml" in text
    assert "Caused by this change" not in text


def test_limits_of_the_placement_before_hide_nothing(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "before.yaml").write_text(f"{PLACEMENT}limits: {{partitions: 1}}\n")
    assert "this change causes 2 moves" in said(capsys, "--since", "before.yaml")


@pytest.mark.parametrize("options", [["--allow", "partitions=9"], ["--within-limits"]])
def test_options_of_limits_are_of_the_placement_after(
    work: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "before.yaml").write_text(PLACEMENT)
    (work / "placement.yaml").write_text(f"{CHANGED}limits: {{partitions: 4}}\n")
    assert "this change causes 2 moves" in said(capsys, "--since", "before.yaml", *options)


def test_a_placement_of_another_cluster_is_said_and_no_error(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "before.yaml").write_text(PLACEMENT.replace("MkU3", "AkU3"))
    text = said(capsys, "--since", "before.yaml")
    assert "What was pending at before.yaml is not known: the placement is for cluster AkU3" in text


def test_what_is_neither_a_file_nor_a_revision_is_refused(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "--simulated", "cluster.json", "--since", "nothing"]) == 1
    assert "nothing: neither a file or folder nor a git revision here" in capsys.readouterr().err
