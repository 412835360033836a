"""One lake: its Delta tables are replaced in part, read by SQL, and looked after.

Every change of a table is one commit of its log: what is read is a whole state of the table, whoever writes meanwhile.
What replaces rows names them by cluster, day and hour, so doing it again changes nothing. Two writers of one table are
serialised by the log where the store has an atomic "put if absent"; docs/fleet.md says where it has not.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from replan.errors import BadFile, BadUsage, ReplanError
from replan.fleet.lake.tables import JUDGED, SNAPSHOTS, TABLES, VERSION, LakeTable

if TYPE_CHECKING:
    from deltalake import DeltaTable, QueryBuilder

COMPRESSION: Literal["ZSTD"] = "ZSTD"
CAUSE = re.compile(r"\x1b\[[0-9;]*m|↳|^Kernel error -> ")
UNREADABLE = re.compile(r"[\[\]\\]|%[0-9A-Fa-f]{2}")
"""What the library takes for something else in a local path."""
DOCS = '`replan docs fleet`, "Where"'
RETAINED_HOURS = 7 * 24
"""How long files that a commit removed are kept for readers that have begun (Delta's own default)."""


@dataclass(frozen=True, slots=True, order=True)
class Hour:
    """The hour of a cluster: what one run writes, and another run of the same hour replaces."""

    cluster: str
    day: date
    hour: int

    @classmethod
    def of(cls, cluster: str, observed_at: str) -> "Hour":
        """The hour in which a snapshot was taken."""
        moment = datetime.fromisoformat(observed_at)
        return cls(cluster, moment.date(), moment.hour)


@dataclass(frozen=True, slots=True)
class Maintained:
    """What maintenance did to one table."""

    table: str
    rows_removed: int
    files_merged: int
    files_removed: int


@dataclass(frozen=True, slots=True)
class Lake:
    """The tables below one address: a local path, or `s3a://`, `abfss://`, `gs://`, `hdfs://`.

    Credentials of an object store come from its own environment variables and are never written anywhere. A table is
    opened once by each thread; after that only the commits are read that came since.
    """

    address: str
    _opened: "dict[tuple[int, str], DeltaTable]" = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        if find_spec("deltalake") is None:
            raise ReplanError(
                "a lake needs deltalake, which is not installed: pip install 'replan[fleet]'"
            )
        store, found, rest = self.address.partition("://")
        if not found and (wrong := UNREADABLE.search(self.place(SNAPSHOTS))):
            raise BadUsage(
                f"{self.address}: tables of Delta cannot be in a folder with {wrong[0]} in its path; choose another"
            )
        if found and ":" in rest.partition("/")[0].rpartition("@")[0]:
            raise BadUsage(
                f"{store}://…: credentials of a lake come from the environment variables of the store, "
                f"not from its address, which is written down; {DOCS}"
            )
        # Its library would write warnings of each try to stderr; read when it is imported.
        os.environ.setdefault("RUST_LOG", "off")

    def place(self, table: LakeTable) -> str:
        """The address of a table."""
        if "://" in self.address:
            return f"{self.address.rstrip('/')}/{table.name}"
        return str(Path(self.address).absolute() / table.name)

    def replace(
        self, table: LakeTable, rows: pa.Table, hours: Iterable[Hour], only: str = "true"
    ) -> None:
        """Put rows in the place of all that the table has of these hours; raises BadFile.

        A table that does not divide by day has all rows of these clusters replaced. `only`: a condition of SQL that
        holds for the rows, and for those that they replace.
        """
        hours = sorted(set(hours))
        if not hours:
            return
        from deltalake import WriterProperties, write_deltalake

        with explained(self.place(table)):
            write_deltalake(
                self.begun(table),
                loose(rows.select(table.schema.names).cast(table.schema)),
                mode="overwrite",
                schema_mode="merge",
                predicate=f"({places(table, hours)}) AND {only}",
                writer_properties=WriterProperties(compression=COMPRESSION),
            )

    def read(self, table: LakeTable, where: str = "true", columns: Sequence[str] = ()) -> pa.Table:
        """The rows that a condition of SQL holds for; none where there is no table yet. Raises BadFile.

        Columns that the table was written without are null.
        """
        names = list(columns) or table.schema.names
        schema = pa.schema([table.schema.field(name) for name in names])
        with explained(self.place(table)):
            known = self.opened(table)
            if known is None:
                return schema.empty_table()
            from deltalake import QueryBuilder

            there = {field.name for field in known.schema().fields}
            asked = ", ".join(f'"{name}"' for name in names if name in there) or "1"
            query = f'SELECT {asked} FROM "{table.name}" WHERE {where}'  # noqa: S608 - quoted
            found = _queried(QueryBuilder().register(table.name, known), query)
        columns_there = [
            found.column(f.name).cast(f.type) if f.name in there else pa.nulls(len(found), f.type)
            for f in schema
        ]
        return loose(pa.table(columns_there, schema=schema))

    def require(self) -> None:
        """Raise BadUsage where there is no lake: what only reads one does not begin another."""
        if all(self.opened(table) is None for table in TABLES.values()):
            raise BadUsage(
                f"{self.address}: there is no table of replan's here; check `lake:`, "
                "or begin it with `replan fleet collect` or `replan snapshot --lake`"
            )

    def maintain(
        self, keep_days: int, today: date, *, future: bool = False
    ) -> Iterator[Maintained]:
        """Remove rows older than so many days, merge small files, remove files that no state needs; by table.

        `future`: also the rows of days after tomorrow, which wrong clocks have made.
        `judged` comes first: a history that is made meanwhile, or after a crash, leaves out drift of an hour that is
        not there, while an hour without its drift would end all spells.
        """
        gone = f"day < '{today - timedelta(days=keep_days)}'"
        if future:
            gone += f" OR day > '{today + timedelta(days=1)}'"
        for table in sorted(TABLES.values(), key=lambda table: table is not JUDGED):
            with explained(self.place(table)):
                known = self.opened(table)
                if known is None:
                    continue
                removed = 0
                if table.keeps_days:
                    removed = known.delete(gone)["num_deleted_rows"]
                merged = known.optimize.compact()["numFilesRemoved"]
                known.create_checkpoint()
                known.cleanup_metadata()
                deleted = known.vacuum(retention_hours=RETAINED_HOURS, dry_run=False, full=True)
            yield Maintained(table.name, removed, merged, len(deleted))

    def opened(self, table: LakeTable) -> "DeltaTable | None":
        """A table as it is now, None where there is none; raises BadFile where it is of a newer version."""
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        opened = self._opened.get((get_ident(), table.name))
        if opened is not None:
            opened.update_incremental()
            return opened
        try:
            known = DeltaTable(self.place(table))
        except TableNotFoundError:
            return None
        version = (known.metadata().description or "").rpartition("version ")[2]
        if version.isdecimal() and int(version) > VERSION:
            raise BadFile(
                f"{self.place(table)}: this table is of version {version}, newer than this program reads "
                f"({VERSION}); use a newer replan"
            )
        self._opened[get_ident(), table.name] = known
        return known

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
                description=f"{table.about} version {VERSION}",
                # Tried again, it would commit its metadata over those of another process, whose writers then fail.
                commit_properties=CommitProperties(max_commit_retries=0),
            )
        except CommitFailedError:
            known = self.opened(table)
            if known is None:
                raise
            return known


def loose(rows: pa.Table) -> pa.Table:
    """The rows with columns that may all be null: to Delta a required column can never be added."""
    loose = pa.schema([field.with_nullable(True) for field in rows.schema])
    return pa.table(rows.columns, schema=loose)


def _queried(builder: "QueryBuilder", query: str) -> pa.Table:
    try:
        return pa.table(builder.execute(query).read_all())
    except Exception as problem:  # what its engine raises has no class of its own
        raise OSError(str(problem)) from problem


def quoted(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def at(hour: Hour) -> str:
    """The condition that holds for the rows of one hour of one cluster."""
    return f"cluster = {quoted(hour.cluster)} AND day = '{hour.day}' AND hour = {hour.hour}"


def places(table: LakeTable, hours: Iterable[Hour]) -> str:
    """The condition that holds for what the table has of these hours, or of their clusters where it has no days."""
    if not table.keeps_days:
        names = dict.fromkeys(quoted(hour.cluster) for hour in hours)
        return f"cluster IN ({', '.join(names)})"
    moments: dict[tuple[date, int], list[str]] = {}
    for hour in hours:
        moments.setdefault((hour.day, hour.hour), []).append(quoted(hour.cluster))
    return " OR ".join(
        f"(day = '{day}' AND hour = {hour} AND cluster IN ({', '.join(names)}))"
        for (day, hour), names in moments.items()
    )


@contextmanager
def explained(place: str) -> Iterator[None]:
    """What the library raises as an error of the table, with its causes."""
    from deltalake.exceptions import CommitFailedError, DeltaError

    elsewhere = "://" in place
    way_out = f"; are its address and the credentials in the environment right? {DOCS}"

    try:
        yield
    except CommitFailedError as problem:
        raise BadFile(
            f"{place}: another process changed the same rows meanwhile; run it again ({causes(str(problem))})"
        ) from problem
    except (DeltaError, OSError, pa.ArrowException) as problem:
        raise BadFile(f"{place}: {causes(str(problem))}{way_out if elsewhere else ''}") from problem


def causes(text: str) -> str:
    """What the library says as one line: what failed, and below it why, each behind an arrow, in colours."""
    parts = (CAUSE.sub("", line).strip() for line in text.splitlines())
    return ": ".join(part for part in parts if part)
