"""Which snapshots have come into the lake, by the log of their table.

Each commit is a version, and says which files it adds, so which clusters and days it touched.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from replan.fleet.lake.delta import Lake, explained
from replan.fleet.lake.store import file_system
from replan.fleet.lake.tables import SNAPSHOTS

TOUCHED = pa.schema([("cluster", pa.string()), ("day", pa.string())])
Touched = Sequence[tuple[str, str]]
"""Clusters and days."""


def newest_version(lake: Lake) -> int:
    """The newest version of the table of snapshots, -1 where there is none yet; raises BadFile."""
    with explained(lake.place(SNAPSHOTS)):
        table = lake.opened(SNAPSHOTS)
        return -1 if table is None else table.version()


def touched_between(lake: Lake, after: int, until: int) -> Touched:
    """The clusters and days of the files that came after one version until another, as far as the log still says.

    Where it does not, as maintenance removes old commits, from the beginning, and where the table was made again and
    has fewer versions: all that it has now.
    """
    try:
        said = None if after < 0 or until < after else {*_said(lake, range(after + 1, until + 1))}
    except OSError:
        said = None
    if said is not None:
        return sorted(said)
    files = lake.files(SNAPSHOTS)
    return sorted({(name, str(file.day)) for name, some in files.items() for file in some})


def _said(lake: Lake, versions: Iterable[int]) -> Iterator[tuple[str, str]]:
    """What commits say; raises OSError where one is not there."""
    log = file_system(lake.place(SNAPSHOTS))
    for version in versions:
        with log.open_input_stream(f"_delta_log/{version:020}.json") as source:
            actions = map(json.loads, source.read().decode().splitlines())
        for added in (action["add"] for action in actions if "add" in action):
            if added["dataChange"]:  # else rows that were there are merged
                values = added["partitionValues"]
                yield values["cluster"], values["day"]
