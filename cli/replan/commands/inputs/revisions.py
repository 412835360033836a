"""A placement as it was: of another file or folder, or of a git revision.

A placement out of a git repository, by the command git: one branch or tag, its newest commit alone.

Passwords are git's own business (credential helpers, keys); those in a URL appear in no text.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from replan.errors import BadPlacement, BadUsage, ClusterUnreachable
from replan.model.declared.placement import Placement
from replan.placement_file.load import load_placement, load_sources
from replan.placement_file.sources import SUFFIXES, Source
from replan.placement_file.yaml_text import fastest_parser

FETCH_SECONDS = 120.0
_SECRET = re.compile(r"(?<=://)[^/@]*@")


@dataclass(frozen=True, slots=True)
class Checkout:
    """A working copy of one ref."""

    url: str
    ref: str
    folder: Path

    @property
    def shown(self) -> str:
        """The URL without user and password."""
        return _SECRET.sub("", self.url)

    def update(self) -> str:
        """Fetch the newest commit and check it out; its hash in full. Raises ClusterUnreachable.

        A branch that was rewritten is followed like any other.
        """
        for left in (self.folder / ".git").rglob(
            "*.lock"
        ):  # of a git that was killed as it took too long
            left.unlink(missing_ok=True)
        self._git("fetch", "--quiet", "--depth", "1", "--", self.url, self.ref)
        self._git("checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")
        self._git("clean", "-ffdxq")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *words: str) -> str:
        environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        try:
            done = subprocess.run(  # noqa: S603  # the words are ours; URL and ref come after `--`
                ["git", *words],  # noqa: S607
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=FETCH_SECONDS,
                check=False,
            )
        except FileNotFoundError as problem:
            raise BadUsage("--git needs the command git, which is not on the PATH") from problem
        except subprocess.TimeoutExpired as problem:
            raise ClusterUnreachable(
                f"{self.shown}: git {words[0]} took more than {FETCH_SECONDS:.0f} s"
            ) from problem
        if done.returncode:
            said = _SECRET.sub("", done.stderr.strip()) or f"exit code {done.returncode}"
            raise ClusterUnreachable(f"{self.shown} {self.ref}: git {words[0]}: {said}")
        return done.stdout


@contextmanager
def checkout(url: str, ref: str) -> Iterator[Checkout]:
    """An empty working copy in a folder of its own, until the block ends. Raises BadUsage, ClusterUnreachable."""
    if url.startswith("-") or ref.startswith("-"):
        raise BadUsage("--git and --ref name a repository and a branch; neither begins with a dash")
    with TemporaryDirectory(prefix="replan-git-") as folder:
        found = Checkout(url, ref, Path(folder))
        found._git("init", "--quiet")
        yield found


def placement_at(named: str, files: Sequence[Path]) -> Placement:
    """A file or folder of this name, else the files at this revision; the files as they are where nothing is named.

    Raises BadUsage where there is neither, and BadPlacement.
    """
    if not named or Path(named).exists():
        return load_placement([Path(named)] if named else files)
    if _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}") is None:
        raise BadUsage(f"{named}: neither a file or folder nor a git revision here; check the name")
    sources = [source for file in files for source in _at(named, file)]
    return load_sources(sources, fastest_parser())


def _at(revision: str, path: Path) -> Iterator[Source]:
    """The text of a file, or of the YAML files of a folder, at a revision."""
    kind = _git("cat-file", "-t", f"{revision}:./{path}")
    if kind is None:
        raise BadPlacement(
            f"{revision}: there is no {path}; name the files of that revision with -f"
        )
    paths = [path]
    if kind.strip() == "tree":
        inside = (_git("ls-tree", "--name-only", f"{revision}:./{path}") or "").splitlines()
        paths = [path / name for name in inside if Path(name).suffix in SUFFIXES and name[0] != "."]
    for file in paths:
        yield Source(f"{revision}:{file}", _git("show", f"{revision}:./{file}") or "")


def _git(*arguments: str) -> str | None:
    """What git prints; None where it fails. Raises BadUsage where there is no git."""
    try:
        done = subprocess.run(  # noqa: S603 - a revision is one argument, and no option
            ["git", *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as problem:
        raise BadUsage("git is not installed; name two files instead") from problem
    return done.stdout if done.returncode == 0 else None
