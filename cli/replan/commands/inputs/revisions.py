"""A placement as it is elsewhere: of another file or folder, of a git revision, or of a git repository that is fetched.

Of a repository the newest commit of one branch or tag is fetched, alone. Passwords are git's own business (credential
helpers, keys); those in a URL appear in no text.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from replan.documents.files import cannot
from replan.errors import BadPlacement, BadUsage, ClusterUnreachable
from replan.model.declared.placement import Placement
from replan.placement_file.load import load_placement, load_sources
from replan.placement_file.read import texts_of
from replan.placement_file.sources import SUFFIXES, Source, find_files
from replan.placement_file.yaml_text import fastest_parser

FETCH_SECONDS = 120.0
_OF_ANOTHER = frozenset(
    f"GIT_{name}"
    for name in (
        *("DIR", "COMMON_DIR", "WORK_TREE", "INDEX_FILE", "SHALLOW_FILE", "NAMESPACE", "PREFIX"),
        *("OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES"),
    )
)
"""By which a hook of git, or a shell in one, names its own repository: this one is another."""
_SECRET = re.compile(r"(?<=://)[^/@]*@")


class Checkout(Struct, frozen=True):
    """A working copy of one ref."""

    url: str
    ref: str
    folder: Path

    @property
    def shown(self) -> str:
        """The URL without user and password."""
        return _SECRET.sub("", self.url)

    def update(self) -> str:
        """Fetch the newest commit and check it out; its hash in full. Raises ClusterUnreachable, and BadFile.

        A branch that was rewritten is followed like any other. What a git has left that was killed, or what somebody
        has cleaned away who takes it for old, is made again: by the next update, where this one fails for it.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as problem:
            raise cannot("make", self.folder, problem) from problem
        self._git("init", "--quiet")
        try:
            self._git("fetch", "--quiet", "--depth", "1", "--", self.url, self.ref)
            self._git("checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")
            self._git("clean", "-ffdxq")
            return self._git("rev-parse", "HEAD").strip()
        except ClusterUnreachable:
            shutil.rmtree(self.folder / ".git", ignore_errors=True)
            raise

    def placement(self, path: str) -> Placement:
        """That of a file or folder of it, whose places are named as they are in the repository. Raises BadPlacement.

        Also where what would be read lies outside: no commit tells of it.
        """
        place, top = self.folder / path, self.folder.resolve()
        if not place.exists():
            raise BadPlacement(f"{self.shown} {self.ref}: there is no {path}; check --path")
        for file in find_files([place]):
            if not file.resolve().is_relative_to(top):
                raise BadPlacement(
                    f"{self.shown} {self.ref}: {path} leads out of the repository, to {file.resolve()}; "
                    "name a file or folder in it, without links to elsewhere"
                )
        texts = texts_of([place])
        named = [replace(text, name=os.path.relpath(text.name, self.folder)) for text in texts]
        return load_sources(named, fastest_parser())

    def _git(self, *words: str) -> str:
        kept = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER}
        environment = {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
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
    """An empty working copy in a folder of its own, until the block ends. Raises BadUsage."""
    if url.startswith("-") or ref.startswith("-"):
        raise BadUsage("--git and --ref name a repository and a branch; neither begins with a dash")
    with TemporaryDirectory(prefix="replan-git-") as folder:
        yield Checkout(url, ref, Path(folder))


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
