"""A snapshot as a folder of Parquet tables and a header: the form for a million partitions, and for Spark.

    header.json          what is said once: format, cluster, time, features, and the rows of each table
    brokers.parquet      registered brokers, with those of their configs that matter
    topics.parquet       `Snapshot.topics` as it is
    partitions.parquet   `Snapshot.partitions` as it is, sorted by (topic, partition)
    log_dirs.parquet     log directories of live brokers
    remembered.parquet   orders that the leader blacklist changed

Belongs here: writing and reading the folder. Does not belong here: the tables' columns (`parquet_tables`), what must
hold for them to be a snapshot (`assembled`), which form a path has (`files`), how a folder appears at once
(`documents.atomic`).
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from replan.documents.atomic import publish_folder
from replan.documents.files import cannot, read_text
from replan.documents.json_text import parse_document, render_document
from replan.documents.nodes import Node
from replan.errors import BadFile
from replan.model.snapshot import Snapshot
from replan.snapshots.assembled import DAMAGE, assembled, header_of
from replan.snapshots.head import Identity, check_head, identity_of
from replan.snapshots.parquet_tables import SCHEMAS, to_tables
from replan.wording import first_line

HEADER = "header.json"
_ROWS_PER_GROUP = 256_000


def write_folder(snapshot: Snapshot, path: Path) -> None:
    """Write the snapshot as a folder, in place of a snapshot that is there; raises BadFile."""
    tables = to_tables(snapshot)

    def fill(folder: Path) -> None:
        for name, table in tables.items():
            pq.write_table(
                table,
                folder / f"{name}.parquet",
                compression="zstd",
                row_group_size=_ROWS_PER_GROUP,
            )
        (folder / HEADER).write_text(render_document(header_of(snapshot, tables)), encoding="utf-8")

    publish_folder(path, fill, is_snapshot_folder)


def is_snapshot_folder(path: Path) -> bool:
    """Whether a folder holds a snapshot's header; its tables may still be broken."""
    try:
        check_head(_header(path))
    except BadFile:
        return False
    return True


def read_header(path: Path) -> Identity:
    """Read of which cluster and moment a snapshot is, without its tables; raises BadFile."""
    return identity_of(_header(path))


def read_folder(path: Path) -> Snapshot:
    """Read a snapshot out of its folder; raises BadFile."""
    header = _header(path)
    return assembled(
        header,
        {name: _read_table(path, name) for name in SCHEMAS},
        lambda name: str(path / f"{name}.parquet"),
    )


def _header(path: Path) -> Node:
    file = path / HEADER
    if not file.exists():
        raise BadFile(f"{path}: this folder is no snapshot: it has no {HEADER}")
    return Node(parse_document(read_text(file), str(file)), str(file))


def _read_table(path: Path, name: str) -> pa.Table:
    """One table as it is written; a file that is cut is refused."""
    file = path / f"{name}.parquet"
    try:
        # Not read_table: it would take a folder named NAME=VALUE above as a partition column.
        with pq.ParquetFile(file, read_dictionary=["topic"] if name == "partitions" else None) as f:
            return f.read()
    except FileNotFoundError as problem:
        raise BadFile(f"{file}: this table of the snapshot is missing") from problem
    except OSError as problem:
        raise _unreadable(file, problem) from problem
    except DAMAGE as problem:
        raise BadFile(f"{file}: this is no whole Parquet file: {first_line(problem)}") from problem


def _unreadable(file: Path, problem: OSError) -> BadFile:
    """Arrow reports damage as OSError without an errno, the operating system's refusals with one."""
    if problem.errno is None:
        return BadFile(f"{file}: this is no whole Parquet file: {first_line(problem)}")
    return cannot("read", file, problem)
