"""Of which cluster and moment each source of a folder is, or why it cannot be read.

Belongs here: reading of one source as little as says that. Does not belong here: which snapshot belongs to which
placement (`pairs`).
"""

import re
from pathlib import Path

from replan.errors import BadPlacement, ReplanError
from replan.fleet.tasks.pairs import Head
from replan.fleet.tasks.sources import Role, Source
from replan.model.declared.placement import Placement
from replan.placement_file.load import load_placement, load_sources
from replan.placement_file.yaml_text.events import fastest_parser
from replan.placement_file.yaml_text.sources import Source as PlacementSource
from replan.placement_file.yaml_text.sources import find_files, read_source
from replan.snapshots.files import read_identity

CLUSTER_BLOCK = re.compile(r"^cluster[ \t]*:.*\n?(?:(?:[ \t#].*)?\n)*(?:[ \t].*)?", re.MULTILINE)
"""The key at the start of a line, and all that is indented below it."""


def head_of(source: Source) -> Head:
    """The head of a source; whatever goes wrong with it is its message."""
    reader = {Role.SNAPSHOT: _snapshot_head, Role.PLACEMENT: _placement_head}[source.role]
    path = str(source.path.absolute())
    try:
        return reader(source, path)
    except ReplanError as problem:
        return Head(source.role, source.name, path, message=str(problem))
    except Exception as problem:  # noqa: BLE001 - a mistake of this program is one row, too
        message = f"unexpected {type(problem).__name__}: {problem}; please report it"
        return Head(source.role, source.name, path, message=message)


def _snapshot_head(source: Source, path: str) -> Head:
    identity = read_identity(Path(path))
    return Head(
        source.role,
        source.name,
        path,
        cluster_id=identity.cluster_id,
        observed_at=identity.observed_at,
    )


def _placement_head(source: Source, path: str) -> Head:
    placement = _cluster_alone(Path(path)) or load_placement([Path(path)])
    return Head(
        source.role,
        source.name,
        path,
        cluster_id=placement.cluster_id,
        cluster_name=placement.cluster_name,
    )


def _cluster_alone(path: Path) -> Placement | None:
    """The placement's `cluster` block and nothing else of it, which takes no time however large it is.

    None where the block is not found in the usual way or is wrong; then the whole is to be read. What is
    taken for the block by mistake is noticed later: the whole placement names another cluster then.
    """
    sources = [read_source(file) for file in find_files([path])]
    found = [match[0] for source in sources for match in CLUSTER_BLOCK.finditer(source.text)]
    if len(found) != 1:
        return None
    try:
        return load_sources(
            [PlacementSource(str(path), f"version: 1\n{found[0]}")], fastest_parser()
        )
    except BadPlacement:
        return None
