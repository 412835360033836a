"""A placement out of git: what people do to a branch, and what a git leaves that was killed."""

import shutil
from pathlib import Path

import pytest
from tests.ci.forge import commit, git

from replan.commands.api import checkout
from replan.errors import BadPlacement, ClusterUnreachable


def repository(folder: Path) -> None:
    git("init", "--quiet", folder=folder)
    for text in ("one", "two"):
        commit(folder, {"placement.yaml": text})


def test_a_branch_that_is_rewritten_is_followed(tmp_path: Path) -> None:
    repository(tmp_path)
    with checkout(tmp_path.as_uri(), "main") as working:
        first = working.update()
        git("reset", "-q", "--hard", "HEAD~1", folder=tmp_path)
        (tmp_path / "placement.yaml").write_text("three", encoding="utf-8")
        git("commit", "-q", "--amend", "-am", "three", folder=tmp_path)
        assert working.update() != first
        assert (working.folder / "placement.yaml").read_text(encoding="utf-8") == "three"


def test_what_was_killed_or_cleaned_away_is_made_again(tmp_path: Path) -> None:
    repository(tmp_path)
    with checkout(tmp_path.as_uri(), "main") as working:
        first = working.update()
        for lock in ("shallow.lock", "index.lock", "HEAD.lock"):
            (working.folder / ".git" / lock).touch()
        with pytest.raises(ClusterUnreachable, match=r"git fetch: .*shallow\.lock"):
            working.update()
        assert working.update() == first
        shutil.rmtree(working.folder / ".git")
        assert working.update() == first
        shutil.rmtree(working.folder)
        assert working.update() == first
        assert (working.folder / "placement.yaml").read_text(encoding="utf-8") == "two"


def test_a_hook_of_another_repository_does_not_lend_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git tells its hooks which repository they run for: nothing is to be checked out, or cleaned away, there."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for folder in (theirs, ours):
        folder.mkdir()
        repository(folder)
    (theirs / "untracked").touch()
    before = (theirs / ".git" / "HEAD").read_text(encoding="utf-8")
    monkeypatch.setenv("GIT_DIR", str(theirs / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(theirs))
    with checkout(ours.as_uri(), "main") as working:
        working.update()
        assert (working.folder / "placement.yaml").read_text(encoding="utf-8") == "two"
    assert (theirs / "untracked").exists()
    assert (theirs / ".git" / "HEAD").read_text(encoding="utf-8") == before


def test_what_leads_out_of_the_repository_is_refused(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "secret.yaml").symlink_to("/etc/hostname")
    commit(tmp_path, {})
    with checkout(tmp_path.as_uri(), "main") as working:
        working.update()
        for path in ("linked", "/etc/hostname", "../../etc/hostname"):
            with pytest.raises(BadPlacement, match=f"main: {path} leads out of the repository"):
                working.placement(path)


def test_places_are_named_as_they_are_in_the_repository(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "payments").mkdir()
    commit(tmp_path, {"payments/topics.yaml": "version: 1\nassignmens: {}\n"})
    with checkout(tmp_path.as_uri(), "main") as working:
        working.update()
        with pytest.raises(BadPlacement, match=r"^payments/topics\.yaml:2:1: "):
            working.placement("payments")
        with pytest.raises(BadPlacement, match=r"main: there is no payment; check --path$"):
            working.placement("payment")
