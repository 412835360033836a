"""A placement as it is elsewhere: of another file or folder, of a git revision, or of a git repository that is fetched.

Of a repository the newest commit of one branch or tag is fetched, alone. Passwords are git's own business (credential
helpers, keys); those in a URL appear in no text.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
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
from replan.placement_file.sources import (
    NO_FILE,
    Source,
    chosen_in,
    decoded_source,
    each_once,
    find_files,
)
from replan.placement_file.yaml_text import fastest_parser

FETCH_SECONDS = 120.0
NOT_THERE = "there is no such file at this revision, or a symbolic link leads nowhere in it"
_OBJECT = re.compile(r"(?P<kind>blob|tree) (?P<name>[0-9a-f]+)\n")
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
            done = _run_git(words, self.folder, environment, FETCH_SECONDS)
        except subprocess.TimeoutExpired as problem:
            raise ClusterUnreachable(
                f"{self.shown}: git {words[0]} took more than {FETCH_SECONDS:.0f} s"
            ) from problem
        if done.returncode:
            stderr = done.stderr.decode(errors="replace").strip()
            said = _SECRET.sub("", stderr) or f"exit code {done.returncode}"
            raise ClusterUnreachable(f"{self.shown} {self.ref}: git {words[0]}: {said}")
        return done.stdout.decode(errors="replace")


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
    at_revision = each_once(
        (file for path in files for file in _files_at(named, path)),
        lambda file: Path(os.path.normpath(Path.cwd() / file)),
    )
    return load_sources([_source_at(named, file) for file in at_revision], fastest_parser())


def _files_at(revision: str, path: Path) -> list[Path]:
    """A file, or the YAML files of a folder, at a revision: as they are found in the working tree."""
    kind, sha = _object_at(revision, path)
    if sha is None:
        raise BadPlacement(
            f"{revision}: there is no {path}; name the files of that revision with -f"
        )
    if kind != "tree":
        return [path]
    inside = _git("ls-tree", "--full-tree", "-z", "--name-only", sha) or b""
    names = (os.fsdecode(name) for name in inside.split(b"\0"))
    return [path / name for name in chosen_in(f"{revision}:{path}", names)]


def _source_at(revision: str, file: Path) -> Source:
    kind, sha = _object_at(revision, file)
    raw = _git("cat-file", "blob", sha) if sha is not None and kind == "blob" else None
    name = f"{revision}:{file}"
    if raw is None:
        raise BadPlacement(f"{name}: {NO_FILE if kind == 'tree' else NOT_THERE}")
    return decoded_source(name, raw)


def _object_at(revision: str, path: Path) -> tuple[str, str | None]:
    """The kind and the name of what lies there, past symbolic links that stay in the repository; none where nothing."""
    question = b"%s:%s\n" % (os.fsencode(revision), os.fsencode(_in_repository(path)))
    form = "--batch-check=%(objecttype) %(objectname)"
    answer = _git("cat-file", form, "--follow-symlinks", given=question) or b""
    parsed = _OBJECT.fullmatch(answer.decode(errors="replace"))
    return (parsed["kind"], parsed["name"]) if parsed else ("", None)


def _in_repository(path: Path) -> str:
    """A path as git takes it after a revision: from here, or from the top of the repository where it is absolute."""
    if path.is_absolute():
        top = os.fsdecode(_git("rev-parse", "--show-toplevel") or b"").rstrip("\n")
        for parent in (path, *path.parents) if top else ():
            if parent.exists() and parent.samefile(top):
                return "" if parent == path else str(path.relative_to(parent))
    return f"./{path}"


def _git(*words: str, given: bytes = b"") -> bytes | None:
    """What git prints here; None where it fails. Raises BadUsage where there is no git."""
    done = _run_git(words, given=given)
    return done.stdout if done.returncode == 0 else None


def _run_git(
    words: Sequence[str],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    limit_seconds: float | None = None,
    given: bytes = b"",
) -> "subprocess.CompletedProcess[bytes]":
    """Run git, here or in a folder. Raises BadUsage where there is none, and TimeoutExpired."""
    try:
        return subprocess.run(  # noqa: S603  # a revision is one argument and no option; URL and ref come after `--`
            ["git", *words],  # noqa: S607
            cwd=folder,
            env=environment,
            input=given,
            capture_output=True,
            timeout=limit_seconds,
            check=False,
        )
    except FileNotFoundError as problem:
        raise BadUsage(
            "this needs the command git, which is not on the PATH; install it"
        ) from problem
