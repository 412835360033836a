"""Files of rows that whoever found them has put into the store of a table, and the commit that gives them their place.

Nobody reads a file before its commit, which names all files of a run, and takes away those whose hours they replace.
The names begin with that of the run: what a killed one has left is known by it, and removed by the next.
"""

import json
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq

from replan.documents.work_folder import work_folder
from replan.fleet.lake.delta import Hour, Lake, explained, loose
from replan.fleet.lake.tables import TABLES, LakeTable

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction, RemoveAction

RUN = ".replan-fleet-"
"""How the folder begins that a run has in a lake as long as it runs."""
UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
"""What is written otherwise in the log of a table than in its store; the log has the values beside the paths."""
COMMIT_TRIES = 5
"""So often a commit is tried where another process was faster; it replaces what that has committed."""


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file with what was found for one table and hour."""

    table: str
    path: str
    """Below the folder of the table."""
    rows: int
    bytes: int


@contextmanager
def run_in(lake: Lake) -> Iterator[str]:
    """The name of a new run. What killed runs left is removed first, and where it fails what it has left itself.

    In an object store nobody can tell whether a run was killed: there `fleet maintain` removes that.
    """
    if "://" in lake.address:
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
    return "://" in lake.address or Path(lake.address, run).is_dir()


def put_rows(lake: Lake, table: LakeTable, rows: pa.Table, hour: Hour, run: str) -> RowFile:
    """Write the rows of an hour as a file of a table that there is; raises BadFile."""
    kept = loose(rows.select(table.schema.names).cast(table.schema)).drop_columns(table.divided_by)
    folders = (f"{key}={UNSAFE.sub('_', value)}" for key, value in _values(table, hour).items())
    path = f"{'/'.join(folders)}/{run.lstrip('.')}-{token_hex(8)}.parquet"
    with explained(lake.place(table)), _store(lake, table).open_output_stream(path) as target:
        pq.write_table(kept, target, compression="zstd")
        return RowFile(table.name, path, kept.num_rows, target.tell())


def commit_files(
    lake: Lake, table: LakeTable, files: Mapping[Hour, RowFile | None], run: str
) -> None:
    """Put files in the place of all that the table has of these hours, in one commit; raises BadFile.

    Like `Lake.replace`: a table that does not divide by day has all rows of these clusters replaced.
    """
    from deltalake import CommitProperties, Schema
    from deltalake.exceptions import CommitFailedError

    if not files:
        return
    wanted = Schema.from_arrow(loose(table.schema.empty_table()).schema)
    with explained(lake.place(table)):
        for left in reversed(range(COMMIT_TRIES)):
            known = lake.begun(table)
            there = {field.name for field in known.schema().fields}
            if more := [field for field in wanted.fields if field.name not in there]:
                known.alter.add_columns(more)
            added = [_added(table, hour, file) for hour, file in files.items() if file is not None]
            actions = [*added, *_replaced(lake, table, known, files.keys(), run)]
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


def _replaced(
    lake: Lake, table: LakeTable, known: "DeltaTable", hours: Collection[Hour], run: str
) -> "Iterator[AddAction | RemoveAction]":
    """What takes away the rows of hours: their files are removed; what these have of other hours is written again."""
    from deltalake.transaction import RemoveAction

    places: dict[tuple[str | None, ...], set[int]] = {}
    for hour in hours:
        places.setdefault(tuple(_values(table, hour).values()), set()).add(hour.hour)
    names = pa.array(sorted({hour.cluster for hour in hours}), pa.string())
    files = pa.table(known.get_add_actions(flatten=True))
    mine = files.filter(pc.is_in(files.column("partition.cluster"), value_set=names))
    if table.keeps_days:
        days = pa.array(sorted({hour.day for hour in hours}), pa.date32())
        mine = mine.filter(pc.is_in(mine.column("partition.day"), value_set=days))
    for file in mine.to_pylist():
        values: dict[str, str | None] = {
            key: str(file[f"partition.{key}"]) for key in table.divided_by
        }
        gone = places.get(tuple(values.values()))
        if gone is None:
            continue
        if table.keeps_days:
            first, last = file.get("min.hour"), file.get("max.hour")
            has = None if first is None or last is None else set(range(first, last + 1))
            if has is not None and has.isdisjoint(gone):
                continue
            if has is None or not has <= gone:
                yield from _without(lake, table, file, gone, run)
        yield RemoveAction(file["path"], True, _now(), file["size_bytes"], values)


def _without(
    lake: Lake, table: LakeTable, file: Mapping[str, Any], gone: Iterable[int], run: str
) -> "Iterator[AddAction]":
    """What a file has of other hours, as a file of its own."""
    with _store(lake, table).open_input_file(file["path"]) as source:
        rows = pq.read_table(source)
    rows = rows.filter(pc.invert(pc.is_in(rows["hour"], value_set=pa.array(gone, pa.int32()))))
    if rows.num_rows:
        path = f"{file['path'].rpartition('/')[0]}/{run.lstrip('.')}-{token_hex(8)}.parquet"
        with _store(lake, table).open_output_stream(path) as target:
            pq.write_table(rows, target, compression="zstd")
            size = target.tell()
        hours = sorted(rows["hour"].unique().to_pylist())
        hour = Hour(file["partition.cluster"], file["partition.day"], hours[0])
        yield _added(table, hour, RowFile(table.name, path, rows.num_rows, size), hours[-1])


def _added(table: LakeTable, hour: Hour, file: RowFile, last: int | None = None) -> "AddAction":
    from deltalake.transaction import AddAction

    stats: dict[str, Any] = {"numRecords": file.rows}
    if table.keeps_days:
        bounds = {"minValues": hour.hour, "maxValues": hour.hour if last is None else last}
        stats |= {name: {"hour": value} for name, value in {**bounds, "nullCount": 0}.items()}
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


def _store(lake: Lake, table: LakeTable) -> pyarrow.fs.FileSystem:
    from deltalake.fs import DeltaStorageHandler

    return pyarrow.fs.PyFileSystem(DeltaStorageHandler(lake.place(table)))


def sweep(lake: Lake, run: str) -> None:
    """Remove the files of a run that no table has, where the lake is a folder."""
    if "://" in lake.address:
        return
    for table in TABLES.values():
        place = Path(lake.place(table))
        files = list(place.rglob(f"{run.lstrip('.')}-*"))
        known = lake.opened(table) if files else None
        there = (
            set() if known is None else set(pa.table(known.get_add_actions())["path"].to_pylist())
        )
        for file in files:
            if str(file.relative_to(place)) not in there:
                file.unlink(missing_ok=True)
