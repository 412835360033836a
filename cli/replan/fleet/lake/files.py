"""Files of rows that whoever found them has put into the store of a table, and the commit that gives them their place.

Nobody reads a file before its commit, which names all files of a run, and takes away those whose hours they replace.
The names begin with that of the run: what a killed one has left is known by it, and removed by the next.
"""

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from random import uniform
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from replan.documents.work_folder import work_folder
from replan.fleet.lake.delta import Hour, Lake, TableFile, explained, loose
from replan.fleet.lake.store import file_system, in_store
from replan.fleet.lake.tables import KEYS, TABLES, LakeTable

if TYPE_CHECKING:
    from deltalake.transaction import AddAction, RemoveAction

RUN = ".replan-fleet-"
"""How the folder begins that a run has in a lake as long as it runs."""
UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
"""What is written otherwise in the log of a table than in its store; the log has the values beside the paths."""
FEW_ROWS = 100
"""A file of no more is mostly what it says of its columns, and takes twice as long to write compressed."""
ROWS_TOGETHER = 100_000
"""Who reads some topics of a file leaves out the groups of rows that have none of them."""
COMMIT_TRIES = 30
"""So often a commit is tried where another process was faster; it replaces what that has committed."""
COMMIT_SECONDS = 0.1
"""So long it waits at most, each time longer, drawn, so that several do not meet again."""


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file with what was found for one table and hour."""

    table: str
    path: str
    """Below the folder of the table."""
    rows: int
    bytes: int


SEEN = ("cluster_id", "observed_at")
"""What the log of a table says of a file, too, so that it need not be opened for that."""
Only = tuple[str, Sequence[str]]
"""A column, and values of it."""


@contextmanager
def run_in(lake: Lake) -> Iterator[str]:
    """The name of a new run. What killed runs left is removed first, and where it fails what it has left itself.

    In an object store nobody can tell whether a run was killed: there `fleet maintain` removes that.
    """
    if in_store(lake.address):
        yield token_hex(8)
        return
    home = Path(lake.address)
    home.mkdir(parents=True, exist_ok=True)
    with work_folder(home, RUN, lambda left: sweep(lake, left.name)) as folder:
        try:
            yield folder.name
        except BaseException:
            sweep(lake, folder.name)
            raise


def is_seen(lake: Lake, run: str) -> bool:
    """Whether this process sees the lake of a run that is going on."""
    return in_store(lake.address) or Path(lake.address, run).is_dir()


def put_rows(lake: Lake, table: LakeTable, rows: pa.Table, hour: Hour, run: str) -> RowFile:
    """Write the rows of an hour as a file of a table that there is; raises BadFile."""
    folders = (f"{key}={UNSAFE.sub('_', value)}" for key, value in _values(table, hour).items())
    return _put(lake, table, rows, "/".join(folders), run)


def _put(lake: Lake, table: LakeTable, rows: pa.Table, folder: str, run: str) -> RowFile:
    kept = loose(rows.select(table.schema.names).cast(table.schema)).drop_columns(table.divided_by)
    path = f"{folder}/{run.lstrip('.')}-{token_hex(8)}.parquet"
    place = lake.place(table)
    with explained(place):
        if not in_store(place):
            Path(place, folder).mkdir(parents=True, exist_ok=True)
        with file_system(place).open_output_stream(path) as target:
            compression = "zstd" if kept.num_rows > FEW_ROWS else "none"
            options = {"compression": compression, "row_group_size": ROWS_TOGETHER}
            pq.write_table(kept, target, write_statistics=False, **options)
            return RowFile(table.name, path, kept.num_rows, target.tell())


def replace_rows(
    lake: Lake, table: LakeTable, rows: pa.Table, hours: Iterable[Hour], only: Only | None = None
) -> None:
    """Put rows in the place of all that the table has of these hours, or `only` of those of a kind; raises BadFile.

    A table that does not divide by day has all rows of these clusters replaced.
    """
    named = sorted({hour if table.keeps_days else always(hour.cluster) for hour in hours})
    if not named:
        return
    with run_in(lake) as run:
        lake.begun(table)
        mine = dict(_by_hour(table, rows))
        files = {
            hour: [put_rows(lake, table, mine[hour], hour, run)] if hour in mine else []
            for hour in named
        }
        seen = {
            hour: {name: found[name][0].as_py() for name in SEEN}
            for hour, found in mine.items()
            if set(SEEN) <= set(found.schema.names)
        }
        commit_files(lake, table, files, run, seen, only)


def always(cluster: str) -> Hour:
    """What names the rows of a cluster in a table that does not divide by day."""
    return Hour(cluster, date.min, 0)


def _by_hour(table: LakeTable, rows: pa.Table) -> Iterator[tuple[Hour, pa.Table]]:
    """Rows by their hour, or by their cluster where the table has no days."""
    keys = [field.name for field in KEYS] if table.keeps_days else ["cluster"]
    ordered = rows.sort_by([(key, "ascending") for key in keys]) if rows.num_rows else rows
    names = list(zip(*(ordered[key].to_pylist() for key in keys), strict=True))
    starts = [n for n, name in enumerate(names) if n == 0 or name != names[n - 1]]
    for start, end in pairwise([*starts, len(names)]):
        at = Hour(*names[start]) if table.keeps_days else always(names[start][0])
        yield at, ordered.slice(start, end - start)


def commit_files(
    lake: Lake,
    table: LakeTable,
    files: Mapping[Hour, Sequence[RowFile]],
    run: str,
    seen: Mapping[Hour, Mapping[str, str]] | None = None,
    only: Only | None = None,
) -> None:
    """Put files in the place of all that the table has of these hours, in one commit; raises BadFile.

    A table that does not divide by day has all rows of these clusters replaced. `only`: a column and its values, of the
    rows that are replaced. `seen`: of which cluster id and moment each file is.
    """
    from deltalake import CommitProperties, Schema
    from deltalake.exceptions import CommitFailedError

    if not files:
        return
    wanted = Schema.from_arrow(loose(table.schema.empty_table()).schema)
    new = [(hour, file) for hour, some in files.items() for file in some]
    added = [_added(table, hour, file, (seen or {}).get(hour, {})) for hour, file in new]
    with explained(lake.place(table)):
        for left in reversed(range(COMMIT_TRIES)):
            known = lake.begun(table)
            there = {field.name for field in known.schema().fields}
            if more := [field for field in wanted.fields if field.name not in there]:
                known.alter.add_columns(more)
            listed = lake.files(table)
            paths = {file.path for _, file in new}
            if any(file.path in paths for files in listed.values() for file in files):
                return  # an earlier try was committed although the store has not said so
            actions = [*added, *_replaced(lake, table, listed, files.keys(), run, only)]
            if not actions:
                return
            try:
                known.create_write_transaction(
                    actions,
                    "append",
                    known.schema(),
                    table.divided_by,
                    # Tried again by the library, it would not take away what another process has just put there.
                    commit_properties=CommitProperties(max_commit_retries=0),
                )
                return
            except CommitFailedError:
                if not left:
                    raise
                time.sleep(uniform(0, COMMIT_SECONDS * (COMMIT_TRIES - left) / 4))  # noqa: S311


def _replaced(
    lake: Lake,
    table: LakeTable,
    listed: Mapping[str, Sequence[TableFile]],
    hours: Iterable[Hour],
    run: str,
    only: Only | None,
) -> "Iterator[AddAction | RemoveAction]":
    """What takes away the rows of hours: their files are removed; what these have beside is written again."""
    places: dict[tuple[str, date], set[int]] = {}
    for hour in hours:
        day = hour.day if table.keeps_days else date.min
        places.setdefault((hour.cluster, day), set()).add(hour.hour)
    for (cluster, day), gone in places.items():
        for file in listed.get(cluster, ()):
            if file.day != day:
                continue
            if table.keeps_days and file.first is not None and file.last is not None:
                has = set(range(file.first, file.last + 1))
                if has.isdisjoint(gone):
                    continue
                whole = has <= gone
            else:
                whole = not table.keeps_days
            if not whole or only is not None:
                rows = lake.read_file(table, file)
                kept = rows.filter(pc.invert(_matches(rows, table, gone, only)))
                if kept.num_rows == rows.num_rows:
                    continue
                yield from _again(lake, table, kept, file, run)
            yield _removed(table, file)


def _matches(rows: pa.Table, table: LakeTable, gone: Iterable[int], only: Only | None) -> pa.Array:
    found = pa.repeat(pa.scalar(value=True), rows.num_rows)
    if table.keeps_days:
        found = pc.is_in(rows["hour"], value_set=pa.array(gone, pa.int32()))
    if only is not None:
        found = pc.and_(found, pc.is_in(rows[only[0]], value_set=pa.array(only[1])))
    return found


def _again(
    lake: Lake, table: LakeTable, rows: pa.Table, file: TableFile, run: str
) -> "Iterator[AddAction]":
    """Rows that stay, as a file of their own."""
    if rows.num_rows:
        written = _put(lake, table, rows, file.path.rpartition("/")[0], run)
        yield _merged(table, written, rows, file)


def _merged(table: LakeTable, written: RowFile, rows: pa.Table, like: TableFile) -> "AddAction":
    """A file of rows of several hours of the cluster and day of another."""
    stats: dict[str, Any] = {"numRecords": rows.num_rows, "nullCount": {}}
    bounds = [name for name in ("hour", *SEEN) if name in table.schema.names]
    for name in bounds if table.keeps_days else ():
        found = pc.min_max(rows[name]).as_py()
        stats.setdefault("minValues", {})[name] = found["min"]
        stats.setdefault("maxValues", {})[name] = found["max"]
        stats["nullCount"][name] = 0
    if "header" in table.schema.names:
        stats["nullCount"]["header"] = rows["header"].null_count
    return _action(table, Hour(like.cluster, like.day, 0), written, stats)


def _removed(table: LakeTable, file: TableFile) -> "RemoveAction":
    from deltalake.transaction import RemoveAction

    values: dict[str, str | None] = {"cluster": file.cluster}
    if table.keeps_days:
        values["day"] = str(file.day)
    return RemoveAction(file.path, True, _now(), file.size, values)


def _added(table: LakeTable, hour: Hour, file: RowFile, seen: Mapping[str, str]) -> "AddAction":
    stats: dict[str, Any] = {"numRecords": file.rows}
    if table.keeps_days:
        known = {"hour": hour.hour, **seen}
        stats |= {"minValues": known, "maxValues": known, "nullCount": dict.fromkeys(known, 0)}
        if "header" in table.schema.names:  # one snapshot in each
            stats["nullCount"]["header"] = file.rows - 1
    return _action(table, hour, file, stats)


def _action(table: LakeTable, hour: Hour, file: RowFile, stats: Mapping[str, Any]) -> "AddAction":
    from deltalake.transaction import AddAction

    return AddAction(
        path=file.path,
        size=file.bytes,
        partition_values=_values(table, hour),
        modification_time=_now(),
        data_change=True,
        stats=json.dumps(stats),
    )


def _values(table: LakeTable, hour: Hour) -> dict[str, str]:
    return {key: str(getattr(hour, key)) for key in table.divided_by}


def _now() -> int:
    return int(time.time() * 1000)


def sweep(lake: Lake, run: str, tables: Iterable[LakeTable] = tuple(TABLES.values())) -> None:
    """Remove the files of a run that no table has, where the lake is a folder."""
    if in_store(lake.address):
        return
    for table in tables:
        place = Path(lake.place(table))
        files = list(place.rglob(f"{run.lstrip('.')}-*"))
        known = lake.opened(table) if files else None
        there = (
            set() if known is None else set(pa.table(known.get_add_actions())["path"].to_pylist())
        )
        for file in files:
            if str(file.relative_to(place)) not in there:
                file.unlink(missing_ok=True)
