"""One lake: its Delta tables are replaced in part, read by SQL, and looked after.

Every change of a table is one commit of its log: what is read is a whole state of the table, whoever writes meanwhile.
What replaces rows names them by cluster, day and hour, so doing it again changes nothing. Two writers of one table are
serialised by the log where the store has an atomic "put if absent"; docs/fleet.md says where it has not.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from replan.errors import BadFile, BadUsage
from replan.fleet.lake.store import (
    STORE_DOCS,
    causes,
    file_system,
    in_store,
    prepare,
    require,
    set_store_variables,
    store_variables,
    way_out,
)
from replan.fleet.lake.tables import (
    JUDGED,
    KEYS,
    LAKE_VERSION,
    OBSERVED,
    SNAPSHOTS,
    TABLES,
    LakeTable,
)

if TYPE_CHECKING:
    from deltalake import DeltaTable

UNREADABLE = re.compile(r"[\[\]\\]|%[0-9A-Fa-f]{2}")
"""What the library takes for something else in a local path."""
RETAINED_HOURS = 7 * 24
"""How long files that a commit removed are kept for readers that have begun (Delta's own default)."""


LISTED_COLUMNS = (
    *("path", "partition.cluster", "partition.day", "size_bytes"),
    *("min.hour", "max.hour", "num_records", "null_count.header"),
    *("min.observed_at", "max.observed_at", "min.cluster_id", "max.cluster_id"),
)
"""What is taken from the log of a table, as its library names it."""
DAMAGED = 'if it is damaged, see `replan docs fleet`, "A damaged file"'
Among = tuple[str, pa.Array]
"""A column, or a field as `column.field`, and values of it."""


class Hour(Struct, frozen=True, order=True):
    """The hour of a cluster: what one run writes, and another run of the same hour replaces."""

    cluster: str
    day: date
    hour: int

    @classmethod
    def of(cls, cluster: str, observed_at: str) -> "Hour":
        """The hour in which a snapshot was taken."""
        return cls.at(datetime.fromisoformat(observed_at), cluster)

    @classmethod
    def at(cls, moment: datetime, cluster: str = "") -> "Hour":
        """The hour of a moment (UTC): of a run, without a cluster."""
        return cls(cluster, moment.date(), moment.hour)


class TableFile(Struct, frozen=True):
    """A file of a table, by the table's log."""

    path: str
    cluster: str
    day: date
    """The first of all where the table has no days."""
    size: int = 0
    first: int | None = None
    """The hours of its rows; None: the log does not say."""
    last: int | None = None
    rows: int | None = None
    moments: tuple[str | None, ...] = (None, None)
    """When its rows were observed, the first and the last."""
    ids: tuple[str | None, ...] = (None, None)
    """Of which cluster ids they are, the least and the greatest."""
    headers: int | None = None
    """How many snapshots it has."""

    @property
    def only_moment(self) -> tuple[int, str, str] | None:
        """The hour, cluster id and moment of all its rows, where the log says that they are the same."""
        bounds = (self.first, self.last), self.ids, self.moments
        if any(first is None or first != last for first, last in bounds):
            return None
        return self.first or 0, str(self.ids[0]), str(self.moments[0])

    @property
    def begin(self) -> Hour:
        """The hour before which it has no rows."""
        return Hour(self.cluster, self.day, 0 if self.first is None else self.first)

    @property
    def end(self) -> Hour:
        """The hour after which it has no rows."""
        return Hour(self.cluster, self.day, 23 if self.last is None else self.last)

    def may_have(self, cluster_id: str) -> bool:
        """Whether it may have rows of a cluster id."""
        least, greatest = self.ids
        return least is None or greatest is None or least <= cluster_id <= greatest

    def has(self, first: Hour, last: Hour) -> bool:
        """Whether it may have rows from one hour to another, both included."""
        return self.begin <= last and self.end >= first


def disjoint_groups(files: Iterable[TableFile]) -> list[list[TableFile]]:
    """The files of a cluster, oldest first, in groups of which none shares an hour with another."""
    groups: list[list[TableFile]] = []
    for file in files:
        if groups and file.begin <= max(one.end for one in groups[-1]):
            groups[-1].append(file)
        else:
            groups.append([file])
    return groups


def moments_by_log(counts: Iterable[tuple[TableFile, int | None]]) -> tuple[int, str, str] | None:
    """Of how many moments files have rows, by these counts, the first and the last; None where no log says so."""
    counted = list(counts)
    if not counted or any(count is None or None in file.moments for file, count in counted):
        return None
    first, last = zip(*(file.moments for file, _ in counted), strict=True)
    return sum(count or 0 for _, count in counted), min(map(str, first)), max(map(str, last))


class Maintained(Struct, frozen=True):
    """What maintenance did to one table."""

    table: str
    rows_removed: int
    files_merged: int
    files_removed: int


class Lake(Struct, frozen=True, eq=False, dict=True):
    """The tables below one address: a local path, or `s3a://`, `abfss://`, `gs://`, `hdfs://`.

    Credentials of an object store come from its own environment variables and are never written anywhere. A table is
    opened once by each thread; after that only the commits are read that came since. `still`: not even these, so that
    all tasks of a run read the same state.
    """

    address: str
    still: bool = False

    def __post_init__(self) -> None:
        require("a lake", "deltalake")
        store, scheme_mark, rest = self.address.partition("://")
        if not scheme_mark and (wrong := UNREADABLE.search(self.place(SNAPSHOTS))):
            raise BadUsage(
                f"{self.address}: tables of Delta cannot be in a folder with {wrong[0]} in its path; choose another"
            )
        if scheme_mark and ":" in rest.partition("/")[0].rpartition("@")[0]:
            raise BadUsage(
                f"{store}://…: credentials of a lake come from the environment variables of the store, "
                f"not from its address, which is written down; {STORE_DOCS}"
            )
        # Its library would write warnings of each try to stderr; read when it is imported.
        os.environ.setdefault("RUST_LOG", "off")
        if scheme_mark:
            prepare()

    def __reduce__(self) -> "tuple[Callable[..., Lake], tuple[str, dict[str, str]]]":
        """A lake that is sent to an executor takes with it how its store is reached; nothing of that is shown."""
        return lake_there, (
            self.address,
            store_variables(os.environ) if in_store(self.address) else {},
        )

    @cached_property
    def _opened(self) -> "dict[tuple[int, str], DeltaTable]":
        """The tables that are open, by thread and name."""
        return {}

    @cached_property
    def _listed(self) -> dict[str, tuple[int, Mapping[str, Sequence[TableFile]]]]:
        """The version of each table that was listed, and its files."""
        return {}

    def place(self, table: LakeTable) -> str:
        """The address of a table."""
        if in_store(self.address) or self.address.startswith("/"):
            return f"{self.address.rstrip('/')}/{table.name}"
        return str(Path(self.address).absolute() / table.name)

    def read(self, table: LakeTable, where: str = "true", columns: Sequence[str] = ()) -> pa.Table:
        """The rows that a condition of SQL holds for; none where there is no table yet. Raises BadFile.

        Columns that the table was written without are null.
        """
        kinds = _kinds(table, columns)
        with explained(self.place(table)):
            opened = self.opened(table)
            if opened is None:
                return pa.schema(kinds.items()).empty_table()
            from deltalake import QueryBuilder

            there = {field.name for field in opened.schema().fields}
            columns_text = ", ".join(f'"{name}"' for name in kinds if name in there) or "1"
            query = f'SELECT {columns_text} FROM "{table.name}" WHERE {where}'  # noqa: S608 - its own
            try:
                rows = QueryBuilder().register(table.name, opened).execute(query).read_all()
            except Exception as problem:  # what its engine raises has no class of its own
                raise OSError(f"{problem}; {DAMAGED}") from problem
            return _completed(pa.table(rows), kinds, {})

    def files(self, table: LakeTable) -> Mapping[str, Sequence[TableFile]]:
        """The files of a table by cluster, oldest first; raises BadFile."""
        if self.still and table.name in self._listed:
            return self._listed[table.name][1]
        with explained(self.place(table)):
            opened = self.opened(table)
            if opened is None:
                return {}
            version, by_cluster = self._listed.get(table.name, (None, {}))
            if version != opened.version():
                by_cluster = _by_cluster(pa.table(opened.get_add_actions(flatten=True)), table)
                self._listed[table.name] = opened.version(), by_cluster
        return by_cluster

    def between(
        self,
        table: LakeTable,
        first: Hour,
        last: Hour,
        columns: Sequence[str] = (),
        among: "Among | None" = None,
    ) -> Iterator[pa.Table]:
        """The rows of a cluster from one hour to another, both included, oldest first; raises BadFile.

        Files that share hours are read together.
        """
        files = [f for f in self.files(table).get(first.cluster, ()) if f.has(first, last)]
        for some in disjoint_groups(files):
            yield pa.concat_tables(
                self._within(self.read_file(table, file, columns, among), file, first, last)
                for file in some
            )

    def _within(self, rows: pa.Table, file: TableFile, first: Hour, last: Hour) -> pa.Table:
        """The rows of a file that are of these hours."""
        if first <= file.begin and file.end <= last:
            return rows
        keep = [h for h in range(24) if first <= Hour(first.cluster, file.day, h) <= last]
        return rows.filter(pc.is_in(rows["hour"], pa.array(keep, pa.int32())))

    def rows(
        self, table: LakeTable, hour: Hour, columns: Sequence[str], among: "Among | None" = None
    ) -> pa.Table:
        """The same of one hour as one table."""
        tables = [*self.between(table, hour, hour, columns, among)]
        return pa.concat_tables(tables or [pa.schema(_kinds(table, columns).items()).empty_table()])

    def read_file(
        self,
        table: LakeTable,
        file: TableFile,
        columns: Sequence[str] = (),
        among: "Among | None" = None,
        share: tuple[int, int] = (0, 1),
    ) -> pa.Table:
        """The rows of a file, with columns that it was written without as null; raises BadFile.

        Of a column that is a row of its own, `column.field` asks for a field alone. `among`: groups of rows that have
        none of these values, and only others, may be left out. `share`: which of how many parts of the file.
        """
        kinds = _kinds(table, columns)
        same = {"cluster": file.cluster, "day": file.day}
        place = self.place(table)
        with explained(f"{place}/{file.path}"):
            with file_system(place).open_input_file(file.path) as source:
                read = pq.ParquetFile(source)
                there = set(read.schema_arrow.names)
                wanted = [name for name in columns or kinds if name.partition(".")[0] in there]
                groups = [*(_groups(read, among) if among else range(read.num_row_groups))]
                start, end = (len(groups) * n // share[1] for n in (share[0], share[0] + 1))
                rows = read.read_row_groups(groups[start:end], wanted, use_threads=False)
            return _completed(rows, kinds, same)

    def require(self) -> None:
        """Raise BadUsage where there is no lake: what only reads one does not begin another; BadFile as `files`."""
        for table in TABLES.values():
            with explained(self.place(table)):
                if self.opened(table) is not None:
                    return
        raise BadUsage(
            f"{self.address}: there is no table of replan's here; check `lake:`, "
            "or begin it with `replan fleet collect` or `replan snapshot --lake`"
        )

    def maintain(
        self, keep_days: int, today: date, after: datetime | None = None
    ) -> Iterator[Maintained]:
        """Remove rows older than so many days, merge small files, remove files that no state needs; by table.

        `after`: also the rows of hours after that of this moment, which wrong clocks have made.
        `judged` comes first: a history that is made meanwhile, or after a crash, leaves out drift of an hour that is
        not there, while an hour without its drift would end all spells.
        """
        kept = timedelta(days=min(keep_days, (today - date.min).days))
        gone = f"day < '{today - kept}'"
        if after is not None:
            last = Hour.at(after)
            gone += f" OR day > '{last.day}' OR (day = '{last.day}' AND hour > {last.hour})"
        for table in sorted(TABLES.values(), key=lambda table: table is not JUDGED):
            with explained(self.place(table)):
                opened = self.opened(table)
                if opened is None:
                    continue
                removed = 0
                if table.keeps_days:
                    removed = opened.delete(gone)["num_deleted_rows"]
                merged = opened.optimize.compact()["numFilesRemoved"]
                opened.create_checkpoint()
                opened.cleanup_metadata()
                deleted = opened.vacuum(retention_hours=RETAINED_HOURS, dry_run=False, full=True)
            yield Maintained(table.name, removed, merged, len(deleted))

    def opened(self, table: LakeTable) -> "DeltaTable | None":
        """A table as it is now, None where there is none; raises BadFile where it is of a newer version."""
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        before = self._opened.get((get_ident(), table.name))
        if before is not None:
            if not self.still:
                before.update_incremental()
            return before
        try:
            opened = DeltaTable(self.place(table))
        except TableNotFoundError:
            return None
        version = (opened.metadata().description or "").rpartition("version ")[2]
        if version.isdecimal() and int(version) > LAKE_VERSION:
            raise BadFile(
                f"{self.place(table)}: this table is of version {version}, newer than this program reads "
                f"({LAKE_VERSION}); use a newer replan"
            )
        self._opened[get_ident(), table.name] = opened
        return opened

    def begun(self, table: LakeTable) -> "DeltaTable":
        """A table, made where it is not there; raises BadFile."""
        with explained(self.place(table)):
            return self.opened(table) or self._created(table)

    def _created(self, table: LakeTable) -> "DeltaTable":
        from deltalake import CommitProperties, DeltaTable
        from deltalake.exceptions import CommitFailedError

        try:
            return DeltaTable.create(
                self.place(table),
                loose(table.schema.empty_table()).schema,
                mode="ignore",
                partition_by=table.divided_by,
                name=f"replan.{table.name}",
                description=f"{table.about} version {LAKE_VERSION}",
                # Tried again, it would commit its metadata over those of another process, whose writers then fail.
                commit_properties=CommitProperties(max_commit_retries=0),
            )
        except CommitFailedError:
            opened = self.opened(table)
            if opened is None:
                raise
            return opened


@lru_cache(maxsize=1)
def lake_at(address: str) -> Lake:
    """The lake from which all tasks of a run read: its tables are opened once in each process."""
    return Lake(address, still=True)


@lru_cache(maxsize=1)
def begin_run(run: str) -> None:  # noqa: ARG001 - a run that has begun here is not begun again
    """Let tasks of another run see what was written since."""
    lake_at.cache_clear()


def lake_there(address: str, variables: Mapping[str, str]) -> Lake:
    """The same in an executor, which gets the settings of the store that it has not."""
    set_store_variables(variables)
    return Lake(address)


def _by_cluster(actions: pa.Table, table: LakeTable) -> Mapping[str, Sequence[TableFile]]:
    there = {
        name: actions[name].to_pylist() for name in LISTED_COLUMNS if name in actions.schema.names
    }
    columns = [there.get(name, [None] * len(actions)) for name in LISTED_COLUMNS]
    by_cluster: dict[str, list[TableFile]] = {}
    for path, cluster, day, size, first, last, rows, empty, *bounds in zip(*columns, strict=True):
        headers = None if rows is None or empty is None else rows - empty
        at, moments, ids = day if table.keeps_days else date.min, bounds[:2], bounds[2:]
        one = (path, cluster, at, size, first, last, rows, (*moments,), (*ids,), headers)
        by_cluster.setdefault(cluster, []).append(TableFile(*one))
    for files in by_cluster.values():
        files.sort(key=lambda file: (file.day, file.first or 0, file.path))
    return by_cluster


def _groups(read: pq.ParquetFile, among: Among) -> Iterator[int]:
    """The groups of rows that have one of the values, or a row that has none at all."""
    column, _, field = among[0].partition(".")
    for number in range(read.num_row_groups):
        rows = read.read_row_group(number, [among[0]], use_threads=False)[column]
        there = pc.struct_field(rows, field) if field else rows
        if there.null_count or pc.any(pc.is_in(there, value_set=among[1])).as_py():
            yield number


def _kinds(table: LakeTable, columns: Sequence[str]) -> Mapping[str, pa.DataType]:
    """The columns with their types, all if none is asked for; some with the fields alone that are asked for."""
    fields: dict[str, list[str]] = {}
    for name in columns or table.schema.names:
        column, _, field = name.partition(".")
        fields.setdefault(column, []).extend([field] if field else [])
    kinds = {name: table.schema.field(name).type for name in fields}
    return {
        name: pa.struct([kinds[name].field(field) for field in some]) if some else kinds[name]
        for name, some in fields.items()
    }


def _completed(
    rows: pa.Table, kinds: Mapping[str, pa.DataType], same: Mapping[str, Any]
) -> pa.Table:
    """The rows with these columns; one that they were written without is null, or what is the `same` in all rows."""

    def values(name: str, kind: pa.DataType) -> pa.ChunkedArray | pa.Array:
        if name not in there:
            return pa.repeat(pa.scalar(same.get(name), kind), rows.num_rows)
        return rows[name] if rows[name].type == kind else rows[name].cast(kind)

    there = set(rows.schema.names)
    return pa.table([values(*of) for of in kinds.items()], names=list(kinds))


def in_runs(rows: pa.Table, *keys: str) -> Iterator[tuple[tuple[Any, ...], pa.Table]]:
    """Rows that follow each other with the same values in these columns, and the values."""
    if rows.num_rows:
        runs = (pc.run_end_encode(rows[key].combine_chunks()).run_ends for key in keys)
        ends = sorted({end for one in runs for end in one.to_pylist()})
        for start, end in pairwise([0, *ends]):
            yield tuple(rows[key][start].as_py() for key in keys), rows.slice(start, end - start)


def loose(rows: pa.Table) -> pa.Table:
    """The rows with columns that may all be null: to Delta a required column can never be added."""
    return pa.table(rows.columns, schema=_loose(rows.schema))


@lru_cache(maxsize=64)
def _loose(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_nullable(True) for field in schema])


def is_among(column: str, values: Iterable[str]) -> str:
    """The condition that a column has one of these values."""
    listed = ", ".join(map(quoted, values))
    return f"{column} IN ({listed})" if listed else "false"


def quoted(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def table_rows(
    table: LakeTable, columns: Mapping[str, Any], hour: Hour, *observed_at: str
) -> pa.Table:
    """Rows of a table: these columns, lists or arrays, and what all have alike. `observed_at`: cluster id and moment.

    What else may be null is null.
    """
    alike = [hour.cluster, hour.day, hour.hour, *observed_at]
    same = dict(zip((field.name for field in (*KEYS, *OBSERVED)), alike, strict=True))
    count = len(next(iter(columns.values())))

    def values(field: pa.Field) -> pa.Array | pa.ChunkedArray:
        column = columns.get(field.name)
        if column is None:
            value = same.get(field.name) if field.nullable else same[field.name]
            return pa.repeat(pa.scalar(value, field.type), count)
        return column.cast(field.type) if hasattr(column, "cast") else pa.array(column, field.type)

    return pa.table([values(field) for field in table.schema], schema=table.schema)


def hours_condition(table: LakeTable, hours: Iterable[Hour]) -> str:
    """The condition that holds for what the table has of these hours, or of their clusters where it has no days."""
    if not table.keeps_days:
        return is_among("cluster", dict.fromkeys(hour.cluster for hour in hours))
    moments: dict[tuple[date, int], list[str]] = {}
    for hour in hours:
        moments.setdefault((hour.day, hour.hour), []).append(hour.cluster)
    return (
        " OR ".join(
            f"(day = '{day}' AND hour = {hour} AND {is_among('cluster', names)})"
            for (day, hour), names in moments.items()
        )
        or "false"
    )


@contextmanager
def explained(place: str) -> Iterator[None]:
    """What the library raises as an error of the table, with its causes."""
    from deltalake.exceptions import CommitFailedError, DeltaError

    try:
        yield
    except CommitFailedError as problem:
        raise BadFile(
            f"{place}: another process changed the same rows meanwhile; run it again ({causes(str(problem))})"
        ) from problem
    except (DeltaError, OSError, pa.ArrowException) as problem:
        raise BadFile(f"{place}: {causes(str(problem))}{way_out(place)}") from problem
