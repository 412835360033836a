"""Files of rows that whoever found them has put into the store of a table, and the commit that gives them their place.

Nobody reads a file before its commit, which names all files of a run, and takes away those whose hours they replace.
The names begin with that of the run: what a killed one has left is known by it, and removed by the next.
"""

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from random import uniform
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import replace

from replan.documents.files import work_folder
from replan.errors import BadFile
from replan.fleet.lake.delta import (
    Hour,
    Lake,
    TableFile,
    explained,
    hours_condition,
    in_runs,
    loose,
)
from replan.fleet.lake.store import file_system, in_store
from replan.fleet.lake.tables import KEYS, OBSERVED, SNAPSHOTS, TABLES, LakeTable

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
COMMIT_PAUSE_SECONDS = 0.1
"""So long it waits at most, each time longer, drawn, so that several do not meet again."""


class RowFile(Struct, frozen=True):
    """A file with what was found for one table and hour."""

    table: str
    path: str
    """Below the folder of the table."""
    rows: int
    bytes: int
    stats: str
    """JSON: what the log of the table says of its rows."""
    replaces: Sequence[str] = ()
    """The files whose rows it has, where it is several that were merged."""


Only = tuple[str, Sequence[str]]
"""A column, and values of it."""
FEW_FILES = 4
"""More small files of a cluster and day are merged by the next commit of its table, and all of an earlier day."""
SMALL_BYTES = 2**20
READ_FOR_ONE = 2
"""For each hour that a commit writes so many files are read at most to merge them: no run pays for all clusters."""


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
    with work_folder(home, RUN, lambda old: sweep_run(lake, old.name)) as folder:
        try:
            yield folder.name
        except BaseException:
            sweep_run(lake, folder.name)
            raise


def sees_run(lake: Lake, run: str) -> bool:
    """Whether this process sees the lake of a run that is going on."""
    return in_store(lake.address) or Path(lake.address, run).is_dir()


def put_rows(lake: Lake, table: LakeTable, rows: pa.Table, hour: Hour, run: str) -> RowFile:
    """Write the rows of an hour as a file of a table that there is; raises BadFile."""
    values = _values(table, hour.cluster, hour.day)
    folders = (f"{key}={UNSAFE.sub('_', value)}" for key, value in values.items())
    return _put(lake, table, rows, "/".join(folders), run)


def _put(lake: Lake, table: LakeTable, rows: pa.Table, folder: str, run: str) -> RowFile:
    if rows.schema != table.schema:
        rows = rows.select(table.schema.names).cast(table.schema)
    kept = loose(rows).drop_columns(table.divided_by)
    stats = _stats(table, kept)
    path = f"{folder}/{run.lstrip('.')}-{token_hex(8)}.parquet"
    place = lake.place(table)
    with explained(place):
        if not in_store(place):
            Path(place, folder).mkdir(parents=True, exist_ok=True)
        with file_system(place).open_output_stream(path) as target:
            compression = "zstd" if kept.num_rows > FEW_ROWS else "none"
            options = {"compression": compression, "row_group_size": ROWS_TOGETHER}
            pq.write_table(kept, target, write_statistics=False, **options)
            return RowFile(table.name, path, kept.num_rows, target.tell(), stats)


def _stats(table: LakeTable, rows: pa.Table) -> str:
    """What the log says of a file of these rows, so that it need not be opened for that."""
    stats: dict[str, Any] = {"numRecords": rows.num_rows, "nullCount": {}}
    named = ("hour", *(field.name for field in OBSERVED))
    bounds = [name for name in named if name in table.schema.names]
    for name in bounds if table.keeps_days else ():
        values = [value for value in pc.unique(rows[name]).to_pylist() if value is not None]
        stats.setdefault("minValues", {})[name] = min(values, default=None)
        stats.setdefault("maxValues", {})[name] = max(values, default=None)
        stats["nullCount"][name] = rows[name].null_count
    if "header" in table.schema.names:  # one in each snapshot
        stats["nullCount"]["header"] = rows["header"].null_count
    return json.dumps(stats)


def put_aside(lake: Lake, rows: pa.Table, run: str) -> str:
    """Write what a task leaves for others of its run: a file beside the snapshots that no commit names."""
    path, place = f"{run.lstrip('.')}-{token_hex(8)}.part", lake.place(SNAPSHOTS)
    with explained(place), file_system(place).open_output_stream(path) as target:
        pq.write_table(rows, target, compression="zstd", write_statistics=False)
    return path


def read_aside(lake: Lake, path: str) -> pa.Table:
    """What is in such a file; raises BadFile."""
    place = lake.place(SNAPSHOTS)
    with explained(place), file_system(place).open_input_file(path) as source:
        return pq.ParquetFile(source).read(use_threads=False)


def files_to_merge(
    lake: Lake, table: LakeTable, hours: Iterable[Hour]
) -> Mapping[Hour, list[TableFile]]:
    """Small files that a commit of these hours should merge, by an hour of their cluster; raises BadFile.

    Those of the day, where they are many, or of the day before it. Where there are too many for one commit the
    clusters with the most of them come first.
    """
    listed = lake.files(table) if table.keeps_days else {}
    mine = {hour.cluster: hour for hour in sorted(hours, reverse=True)}
    groups = [(hour, _small(listed.get(name, ()), hour)) for name, hour in mine.items()]
    by_hour: dict[Hour, list[TableFile]] = {}
    left = READ_FOR_ONE * len(mine)
    for hour, files in sorted(groups, key=lambda group: -len(group[1])):
        if files and (not by_hour or len(files) <= left):
            by_hour[hour] = files
            left -= len(files)
    return by_hour


def _small(files: Sequence[TableFile], first: Hour) -> list[TableFile]:
    """The small files of a cluster that are to be merged, of all hours before this one."""
    days: dict[date, list[TableFile]] = {}
    for file in files:
        if file.size < SMALL_BYTES and file.end < first:
            days.setdefault(file.day, []).append(file)
    past = [day for day in days if day < first.day]
    before, today = days.get(max(past, default=date.min), []), days.get(first.day, [])
    if len(before) > 1:
        return before
    return today if len(today) > FEW_FILES else []


def merged_file(
    lake: Lake, table: LakeTable, files: Sequence[TableFile], run: str
) -> Sequence[RowFile]:
    """Files of one cluster and day as one that nobody has committed yet; none where one of them cannot be read."""
    try:
        rows = pa.concat_tables(lake.read_file(table, file) for file in files)
    except BadFile:  # whoever asks for its rows says so
        return ()
    one = _put(lake, table, rows, files[0].path.rpartition("/")[0], run)
    return [replace(one, replaces=[file.path for file in files])]


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
        files = put_hours(lake, table, _by_hour(table, rows), run)
        commit_files(lake, table, {hour: files.get(hour, ()) for hour in named}, run, only)


def put_hours(
    lake: Lake, table: LakeTable, rows_by_hour: Iterable[tuple[Hour, pa.Table]], run: str
) -> Mapping[Hour, Sequence[RowFile]]:
    """Write the rows of hours, one after the other, and merge what small files there are; raises BadFile."""
    lake.begun(table)
    files = {hour: [put_rows(lake, table, rows, hour, run)] for hour, rows in rows_by_hour}
    for hour, small in files_to_merge(lake, table, files).items():
        files[hour] += merged_file(lake, table, small, run)
    return files


def always(cluster: str) -> Hour:
    """What names the rows of a cluster in a table that does not divide by day."""
    return Hour(cluster, date.min, 0)


def _by_hour(table: LakeTable, rows: pa.Table) -> Iterator[tuple[Hour, pa.Table]]:
    """Rows by their hour, or by their cluster where the table has no days."""
    keys = [field.name for field in KEYS] if table.keeps_days else ["cluster"]
    for at, some in in_runs(rows.sort_by([(key, "ascending") for key in keys]), *keys):
        yield Hour(*at) if table.keeps_days else always(*at), some


def rows_of_hours(
    lake: Lake, table: LakeTable, hours: Iterable[Hour], columns: Sequence[str] = ()
) -> Mapping[Hour, pa.Table]:
    """What a table with days has of these hours, those of which it has anything, read together; raises BadFile."""
    keys = (key.name for key in KEYS)
    rows = lake.read(table, hours_condition(table, hours), [*keys, *columns] if columns else ())
    return dict(_by_hour(table, rows))


def commit_files(
    lake: Lake,
    table: LakeTable,
    files: Mapping[Hour, Sequence[RowFile]],
    run: str,
    only: Only | None = None,
) -> None:
    """Put files in the place of all that the table has of these hours, in one commit; raises BadFile.

    A table that does not divide by day has all rows of these clusters replaced. `only`: a column of one with days and
    values of it, of the rows that are replaced. A merged file takes the place of those whose rows it has, as long as
    they are there.
    """
    from deltalake import CommitProperties, Schema
    from deltalake.exceptions import CommitFailedError

    if not files:
        return
    wanted = Schema.from_arrow(loose(table.schema.empty_table()).schema)
    new = [(hour, file) for hour, some in files.items() for file in some]
    added = [_added(table, hour.cluster, hour.day, f) for hour, f in new if not f.replaces]
    with explained(lake.place(table)):
        for left in reversed(range(COMMIT_TRIES)):
            opened = lake.begun(table)
            there = {field.name for field in opened.schema().fields}
            if more := [field for field in wanted.fields if field.name not in there]:
                opened.alter.add_columns(more)
            listed = lake.files(table)
            paths = {file.path for _, file in new}
            if any(file.path in paths for files in listed.values() for file in files):
                return  # an earlier try was committed although the store has not said so
            actions = [*added, *_replaced(lake, table, listed, files.keys(), run, only)]
            actions += _merges(lake, table, listed, new, {action.path for action in actions})
            if not actions:
                return
            try:
                opened.create_write_transaction(
                    actions,
                    "append",
                    opened.schema(),
                    table.divided_by,
                    # Tried again by the library, it would not take away what another process has just put there.
                    commit_properties=CommitProperties(max_commit_retries=0),
                )
                return
            except CommitFailedError:
                if not left:
                    raise
                time.sleep(uniform(0, COMMIT_PAUSE_SECONDS * (COMMIT_TRIES - left) / 4))  # noqa: S311


def remove_hours(lake: Lake, table: LakeTable, hours: Sequence[Hour], run: str) -> None:
    """Remove all that a table has of these hours, or of their clusters where it has no days; raises BadFile."""
    there = lake.files(table) if hours else {}
    commit_files(lake, table, {hour: () for hour in hours if hour.cluster in there}, run)


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
            has = range(file.begin.hour, file.end.hour + 1) if table.keeps_days else gone
            if file.day != day or gone.isdisjoint(has):
                continue
            if only is not None or not gone.issuperset(has):
                rows = lake.read_file(table, file)
                match = pc.is_in(rows["hour"], value_set=pa.array(gone, pa.int32()))
                if only is not None:
                    match = pc.and_(match, pc.is_in(rows[only[0]], value_set=pa.array(only[1])))
                kept = rows.filter(pc.invert(match))
                if kept.num_rows == rows.num_rows:
                    continue
                if kept.num_rows:
                    written = _put(lake, table, kept, file.path.rpartition("/")[0], run)
                    yield _added(table, cluster, day, written)
            yield _removed(table, file)


def _merges(
    lake: Lake,
    table: LakeTable,
    listed: Mapping[str, Sequence[TableFile]],
    new: Iterable[tuple[Hour, RowFile]],
    taken: set[str],
) -> "Iterator[AddAction | RemoveAction]":
    """Puts merged files in the place of small ones; none where another commit has taken some of these away."""
    for hour, file in new:
        if not file.replaces:
            continue
        there = {one.path: one for one in listed.get(hour.cluster, ())}
        if taken.isdisjoint(file.replaces) and there.keys() >= {*file.replaces}:
            gone = [there[path] for path in file.replaces]
            yield _added(table, hour.cluster, gone[0].day, file)
            yield from (_removed(table, one, changes=False) for one in gone)
            taken.update(file.replaces)
        else:
            remove_files(lake, table, [file.path])


def _removed(table: LakeTable, file: TableFile, *, changes: bool = True) -> "RemoveAction":
    from deltalake.transaction import RemoveAction

    values: dict[str, str | None] = {**_values(table, file.cluster, file.day)}
    return RemoveAction(file.path, changes, int(time.time() * 1000), file.size, values)


def _added(table: LakeTable, cluster: str, day: date, file: RowFile) -> "AddAction":
    from deltalake.transaction import AddAction

    return AddAction(
        path=file.path,
        size=file.bytes,
        partition_values=_values(table, cluster, day),
        modification_time=int(time.time() * 1000),
        data_change=not file.replaces,
        stats=file.stats,
    )


def _values(table: LakeTable, cluster: str, day: date) -> dict[str, str]:
    values = {"cluster": cluster, "day": str(day)}
    return {key: values[key] for key in table.divided_by}


def remove_files(lake: Lake, table: LakeTable, paths: Iterable[str]) -> None:
    """Remove files that the table does not have."""
    for path in paths:
        with suppress(OSError):  # at another try it is gone already
            file_system(lake.place(table)).delete_file(path)


def sweep_run(lake: Lake, run: str, tables: Iterable[LakeTable] = tuple(TABLES.values())) -> None:
    """Remove the files of a run that no table has, where the lake is a folder."""
    if in_store(lake.address):
        return
    for table in tables:
        place = Path(lake.place(table))
        files = list(place.rglob(f"{run.lstrip('.')}-*"))
        listed = lake.files(table) if files else {}
        there = {file.path for some in listed.values() for file in some}
        for file in files:
            if str(file.relative_to(place)) not in there:
                file.unlink(missing_ok=True)
