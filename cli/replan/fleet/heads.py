"""The first stage inside Spark: of which cluster each source is, or why it cannot be read.

Belongs here: reading one source, and turning whatever goes wrong with it into a row.
Does not belong here: which snapshot belongs to which placement (`pairs`).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from replan.errors import BadManifest, ReplanError
from replan.fleet.sources import Role
from replan.fleet.tables import HEADS
from replan.manifest.load import load_placement, load_sources
from replan.manifest.yaml_text.events import fastest_parser
from replan.manifest.yaml_text.sources import Source as ManifestSource
from replan.manifest.yaml_text.sources import find_files, read_source
from replan.model.placement import Placement
from replan.snapshots.files import read_identity

T = TypeVar("T")

CLUSTER_BLOCK = re.compile(r"^cluster[ \t]*:.*\n?(?:(?:[ \t#].*)?\n)*(?:[ \t].*)?", re.MULTILINE)
"""The key at the start of a line, and all that is indented below it."""


def read_heads(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The head of each source, as Spark's mapInArrow wants it."""
    for batch in batches:
        rows = [_head(row) for row in batch.to_pylist()]
        yield pa.RecordBatch.from_pylist(rows, schema=HEADS)


def _head(source: dict[str, str]) -> dict[str, str | None]:
    unread = {"cluster_id": None, "cluster_name": None, "observed_at": None, "message": None}
    reader = {Role.SNAPSHOT: _snapshot_head, Role.PLACEMENT: _placement_head}[Role(source["role"])]
    found = or_message(lambda: reader(Path(source["path"])))
    return {**source, **unread, **({"message": found} if isinstance(found, str) else found)}


def _snapshot_head(path: Path) -> dict[str, str | None]:
    identity = read_identity(path)
    return {"cluster_id": identity.cluster_id, "observed_at": identity.observed_at}


def _placement_head(path: Path) -> dict[str, str | None]:
    placement = _cluster_alone(path) or load_placement([path])
    return {"cluster_id": placement.cluster_id, "cluster_name": placement.cluster_name}


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
            [ManifestSource(str(path), f"version: 1\n{found[0]}")], fastest_parser()
        )
    except BadManifest:
        return None


def or_message(read: Callable[[], T]) -> T | str:
    """What `read` gives, or why it cannot: one cluster's trouble never ends the run for the others."""
    try:
        return read()
    except ReplanError as problem:
        return str(problem)
    except Exception as problem:  # noqa: BLE001 - a mistake of this program is one row, too
        return f"unexpected {type(problem).__name__}: {problem}; please report it"
