"""A placement as it was: of another file or folder, or of a git revision."""

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from replan.errors import BadPlacement, BadUsage
from replan.model.declared.placement import Placement
from replan.placement_file.load import load_placement, load_sources
from replan.placement_file.yaml_text.events import fastest_parser
from replan.placement_file.yaml_text.sources import SUFFIXES, Source


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
