"""A placement out of git: what people do to a branch, and what a git leaves that was killed."""

import subprocess
from pathlib import Path

from replan.commands.inputs.revisions import checkout


def repository(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    for text in ("one", "two"):
        (folder / "placement.yaml").write_text(text, encoding="utf-8")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", text)


def git(folder: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def test_a_branch_that_is_rewritten_is_followed(tmp_path: Path) -> None:
    repository(tmp_path)
    with checkout(tmp_path.as_uri(), "main") as working:
        first = working.update()
        git(tmp_path, "reset", "-q", "--hard", "HEAD~1")
        (tmp_path / "placement.yaml").write_text("three", encoding="utf-8")
        git(tmp_path, "commit", "-q", "--amend", "-am", "three")
        assert working.update() != first
        assert (working.folder / "placement.yaml").read_text(encoding="utf-8") == "three"


def test_locks_of_a_git_that_was_killed_are_in_nobodys_way(tmp_path: Path) -> None:
    repository(tmp_path)
    with checkout(tmp_path.as_uri(), "main") as working:
        first = working.update()
        for lock in ("shallow.lock", "index.lock", "HEAD.lock"):
            (working.folder / ".git" / lock).touch()
        assert working.update() == first
