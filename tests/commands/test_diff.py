"""`diff` between files and between git revisions."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.ci.forge import commit, repository

from replan.main import run

pytestmark = pytest.mark.slow

BEFORE = "version: 1\nassignments: {orders: {partitions: [[1, 2, 3]]}}\n"
AFTER = "# another layout\nassignments:\n  orders:\n    partitions: [[2, 1, 3]]\nversion: 1\n"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose last commit changed the order, and the file beyond it its replicas."""
    found = repository(tmp_path, {"placement.yaml": BEFORE})
    commit(found, {"placement.yaml": AFTER})
    (found / "placement.yaml").write_text(AFTER.replace("3]", "4]"))
    monkeypatch.chdir(found)
    return found


def said(capsys: pytest.CaptureFixture[str], *words: str, wanted: int) -> tuple[str, str]:
    assert run(["diff", *words]) == wanted
    return capsys.readouterr()


def test_two_revisions(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, _ = said(capsys, "HEAD~1", "HEAD", wanted=2)
    assert text.startswith("orders-0  [1,2,3] -> [2,1,3]  led by 2 instead of 1\n")
    assert said(capsys, "HEAD", "main", wanted=0)[0] == "Both mean the same.\n"


def test_a_revision_and_the_files_as_they_are(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, _ = said(capsys, "HEAD", "--format", "json", wanted=2)
    assert json.loads(text)["lists"][0]["after"] == [2, 1, 4]
    said(capsys, "HEAD", "--exit-zero", wanted=0)


def test_two_placements_that_share_no_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text(
        "version: 1\nassignments: {clicks: {replicationFactor: 3, spread: rack}}\n"
    )
    (tmp_path / "b.yaml").write_text(
        "version: 1\nrecovery: {'*': {strategy: balanced, wait: 5m}}\n"
    )
    text, _ = said(capsys, str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"), wanted=2)
    assert "assignments.clicks.spread: rack -> none" in text
    assert "recovery.*.strategy: none -> balanced" in text


@pytest.mark.parametrize(
    ("files", "named", "error"),
    [
        ({"empty/notes.txt": "no placement"}, ("empty",), "empty: this folder has no *.yaml"),
        (
            {"sub/deep/a.yaml": BEFORE, "sub/.b.yaml": AFTER},
            ("sub",),
            "sub: this folder has no *.yaml",
        ),
        ({"all/a.yaml": BEFORE}, ("all", "./all/a.yaml"), "all/a.yaml: given twice"),
        (
            {"all/a.yaml/b": BEFORE},
            ("all",),
            "all/a.yaml: this is a folder, where a file is expected",
        ),
        ({"wide/a.yaml": "\0version: 1"}, ("wide",), "wide/a.yaml:1:1: this is a binary file"),
    ],
    ids=["no YAML", "hidden or deeper", "twice", "a folder of that name", "no text"],
)
def test_what_is_no_placement_in_the_working_tree_is_none_at_a_revision(
    work: Path,
    files: dict[str, str],
    named: tuple[str, ...],
    error: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    commit(work, {})
    options = [word for name in named for word in ("-f", name)]
    (work / "other.yaml").write_text(BEFORE)
    at_revision = said(capsys, "HEAD", "other.yaml", *options, wanted=1)[1]
    assert run(["validate", *options]) == 1
    in_tree = capsys.readouterr()[1]
    assert error in in_tree
    assert error in at_revision


@pytest.mark.parametrize(
    ("file", "inside", "named"),
    [
        ("all/größe.yaml", ".", "all"),
        ("teams/all/a.yaml", "teams", "all"),
        ("teams/all/a.yaml", "teams/all", "."),
    ],
    ids=["a name that git quotes", "from above it", "from inside"],
)
def test_a_folder_is_read_at_a_revision(
    work: Path,
    file: str,
    inside: str,
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (work / file).parent.mkdir(parents=True)
    (work / file).write_text(BEFORE)
    (work / file).with_name("notes.txt").write_text("not a placement")
    commit(work, {})
    monkeypatch.chdir(work / inside)
    assert said(capsys, "HEAD", "-f", named, wanted=0)[0] == "Both mean the same.\n"


def test_an_absolute_path_is_read_at_a_revision_from_anywhere_in_the_repository(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "teams" / "all").mkdir(parents=True)
    (work / "teams" / "all" / "a.yaml").write_text(BEFORE)
    commit(work, {})
    (tmp_path / "linked").symlink_to(work)
    for folder in (work, work / "teams" / "all"):
        monkeypatch.chdir(folder)
        for top in (work, tmp_path / "linked"):
            for name in ("teams", "teams/all", "teams/all/a.yaml"):
                found = said(
                    capsys, "HEAD", "-f", str(top / name), wanted=1 if name == "teams" else 0
                )
                assert ("no *.yaml" in found[1]) if name == "teams" else found[0]
    for revisions in (["HEAD"], ["HEAD", "HEAD"]):
        twice = said(
            capsys, *revisions, "-f", "a.yaml", "-f", str(work / "teams/all/a.yaml"), wanted=1
        )
        assert "given twice (first as " in twice[1]
    (work / "teams" / "all" / "a.yaml").unlink()
    left = said(capsys, "HEAD", "HEAD", "-f", str(work / "teams/all/a.yaml"), wanted=0)
    assert left[0] == "Both mean the same.\n"
    said(capsys, "HEAD", "-f", str(tmp_path / "elsewhere.yaml"), wanted=1)


def test_symbolic_links_are_followed_at_a_revision(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("all", "shared"):
        (work / name).mkdir()
    (work / "shared" / "a.yaml").write_text(BEFORE)
    (work / "all" / "a.yaml").symlink_to(Path("..", "shared", "a.yaml"))
    (work / "link").symlink_to("all")
    commit(work, {})
    for name in ("all", "link", "all/a.yaml"):
        assert said(capsys, "HEAD", "-f", name, wanted=0)[0] == "Both mean the same.\n"
    (work / "all" / "a.yaml").unlink()
    (work / "all" / "a.yaml").symlink_to("gone.yaml")
    commit(work, {})
    assert "all/a.yaml: there is no such file" in said(capsys, "HEAD", "-f", "all", wanted=1)[1]


def test_two_files_outside_of_any_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.yaml").write_text(BEFORE)
    Path("new.yaml").write_text(AFTER)
    text, _ = said(capsys, "old.yaml", "new.yaml", "--format", "markdown", wanted=2)
    assert "| `orders-0` | `[1,2,3]` | `[2,1,3]` |" in text


def test_what_is_neither_a_file_nor_a_revision_is_an_error(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "neither a file or folder nor a git revision" in said(capsys, "typo", wanted=1)[1]
    subprocess.run(["git", "rm", "-q", "--cached", "placement.yaml"], check=True)
    commit(work, {"other.txt": ""})
    subprocess.run(["git", "rm", "-q", "-f", "placement.yaml"], check=False)
    assert (
        "name the files of that revision with -f"
        in said(capsys, "HEAD~2", "-f", "x.yaml", wanted=1)[1]
    )


def test_a_mistake_is_named_with_its_revision(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit(work, {"placement.yaml": "version: 1\nassignment: {}\n"})
    assert "HEAD:placement.yaml:2:1: " in said(capsys, "HEAD", "HEAD~1", wanted=1)[1]
