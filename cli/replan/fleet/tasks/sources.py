"""Which files and folders of a fleet are snapshots and placements; none of them is opened.

A snapshot is a folder with a header, or a `.json` file. Other folders are searched, so that a lake may hold
`CLUSTER/TIME/`. A placement is a YAML file or a folder, one for each cluster. Hidden names are left out:
those are files that are being written.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from replan.documents.files import cannot
from replan.errors import BadFile
from replan.snapshots.parquet_form import HEADER

YAML = (".yaml", ".yml")
DEEPEST = 3
"""How many folders lie at most between a snapshot and the searched folder's child: no link leads for ever."""


class Role(StrEnum):
    """What a source says of its cluster."""

    SNAPSHOT = "snapshot"
    PLACEMENT = "placement"


@dataclass(frozen=True, slots=True)
class Source:
    """A snapshot or a placement, by its path."""

    role: Role
    name: str
    """What the first file or folder below the searched one is called, without its suffix."""
    path: Path


def find_snapshots(folder: Path) -> list[Source]:
    """All snapshots below a folder, sorted by path; raises BadFile if there is no such folder."""
    return [
        Source(Role.SNAPSHOT, _name(child), path)
        for child in _children(folder)
        for path in _snapshots_in(child)
    ]


def find_placements(folder: Path) -> list[Source]:
    """All placements in a folder, sorted by path; raises BadFile if there is no such folder."""
    return [
        Source(Role.PLACEMENT, _name(child), child)
        for child in _children(folder)
        if child.is_dir() or child.suffix in YAML
    ]


def _snapshots_in(path: Path, depth: int = 0) -> Iterator[Path]:
    if path.is_file():
        if path.suffix == ".json":
            yield path
        return
    try:
        children = _children(path)
    except BadFile:
        yield path  # reading it will say the same, beside the other snapshots
        return
    # Tables without a header are a snapshot too, a broken one.
    if any(child.name == HEADER or child.suffix == ".parquet" for child in children):
        yield path
    elif depth < DEEPEST:
        for child in children:
            yield from _snapshots_in(child, depth + 1)


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(child for child in folder.iterdir() if not child.name.startswith("."))
    except OSError as problem:
        raise cannot("read", folder, problem) from problem


def _name(path: Path) -> str:
    """The name without `.json`, `.yaml` or `.yml`; a folder's name may hold dots."""
    return path.stem if path.suffix in (".json", *YAML) else path.name
