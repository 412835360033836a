"""A snapshot as a folder of Parquet tables and a header: the form for a million partitions, and for Spark.

    header.json          what is said once: format, cluster, time, features, and the rows of each table
    brokers.parquet      registered brokers, with those of their configs that matter
    topics.parquet       `Snapshot.topics` as it is
    partitions.parquet   `Snapshot.partitions` as it is, sorted by (topic, partition)
    log_dirs.parquet     log directories of live brokers
    remembered.parquet   orders that the leader blacklist changed

Belongs here: writing and reading the folder, and what must hold for its tables to be a snapshot.
Does not belong here: the tables' columns (`parquet_tables`), which form a path has (`files`),
how a folder appears at once (`documents.atomic`).
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from replan.documents.atomic import publish_folder
from replan.documents.files import cannot, read_text
from replan.documents.json_text import parse_document, render_document
from replan.documents.nodes import Node
from replan.errors import BadFile
from replan.model.configs import can_hold
from replan.model.snapshot import PARTITIONS_SCHEMA, Snapshot, topic_codes
from replan.snapshots.json_form import (
    FORMAT_VERSION,
    KIND,
    Identity,
    check_head,
    identity_of,
    read_features,
    write_features,
)
from replan.snapshots.parquet_tables import (
    SCHEMAS,
    check_ranges,
    read_brokers,
    read_log_dirs,
    read_remembered,
    to_tables,
)

HEADER = "header.json"
HEADER_KEYS = (
    "formatVersion",
    "kind",
    "clusterId",
    "observedAt",
    "features",
    "silent",
    "rows",
)
_ROWS_PER_GROUP = 256_000
_DAMAGE = (pa.ArrowException, ValueError, TypeError, KeyError, OverflowError)
"""What pyarrow raises over flipped bytes; a column's name that is not UTF-8, for one, is a UnicodeDecodeError."""


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
        header: dict[str, object] = {
            "formatVersion": FORMAT_VERSION,
            "kind": KIND,
            "clusterId": snapshot.cluster_id,
            "observedAt": snapshot.observed_at,
            "features": write_features(snapshot.features),
            "silent": list(snapshot.silent),
            "rows": {name: table.num_rows for name, table in tables.items()},
        }
        (folder / HEADER).write_text(render_document(header), encoding="utf-8")

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
    identity = identity_of(header)
    header.mapping(HEADER_KEYS)
    rows = {name: node.int64() for name, node in header.members("rows")}
    tables = {name: _read_table(path, name, rows.get(name)) for name in SCHEMAS}
    topics = tables["topics"].combine_chunks()
    partitions = _coded_by(topics, tables["partitions"], path)
    _check_order(topics, partitions, path)
    brokers, configs = read_brokers(tables["brokers"])
    for broker, found in configs.items():
        for key, config in found.items():
            if not can_hold(key, config.value):
                raise BadFile(
                    f"{path / 'brokers.parquet'}: broker {broker}: {key} is a whole number of bytes per second, "
                    f"found {config.value!r}"
                )
    return Snapshot(
        cluster_id=identity.cluster_id,
        observed_at=identity.observed_at,
        features=read_features(header),
        brokers=brokers,
        topics=topics,
        partitions=partitions,
        log_dirs=read_log_dirs(tables["log_dirs"]),
        broker_configs=configs,
        silent=header.child("silent").broker_list(),
        remembered=read_remembered(tables["remembered"]),
    )


def _header(path: Path) -> Node:
    file = path / HEADER
    if not file.exists():
        raise BadFile(f"{path}: this folder is no snapshot: it has no {HEADER}")
    return Node(parse_document(read_text(file), str(file)), str(file))


def _read_table(path: Path, name: str, rows: int | None) -> pa.Table:
    """One table in its declared schema; a file that is cut, foreign or of another write is refused."""
    file = path / f"{name}.parquet"
    schema = SCHEMAS[name]
    try:
        # Not read_table: it would take a folder named NAME=VALUE above as a partition column.
        with pq.ParquetFile(file, read_dictionary=["topic"] if name == "partitions" else None) as f:
            table = f.read()
    except FileNotFoundError as problem:
        raise BadFile(f"{file}: this table of the snapshot is missing") from problem
    except OSError as problem:
        raise _unreadable(file, problem) from problem
    except _DAMAGE as problem:
        raise BadFile(f"{file}: this is no whole Parquet file: {_first_line(problem)}") from problem
    if rows is not None and table.num_rows != rows:
        raise BadFile(f"{file}: has {table.num_rows} rows where {HEADER} says {rows}")
    missing = [column for column in schema.names if column not in table.column_names]
    if missing:
        raise BadFile(f"{file}: has no column {', '.join(missing)}")
    try:
        table = _without_nulls_in_lists(table.select(schema.names).cast(schema))
        table.validate(full=True)
        check_ranges(table)
    except _DAMAGE as problem:
        raise BadFile(
            f"{file}: its columns are not those of a snapshot: {_first_line(problem)}"
        ) from problem
    return table


def _without_nulls_in_lists(table: pa.Table) -> pa.Table:
    """The table; raises ValueError where a list holds a null, which casting does not see."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_list(column.type) and pc.list_flatten(column).null_count:
            raise ValueError(f"a list in {name} holds a null")
    return table


def _unreadable(file: Path, problem: OSError) -> BadFile:
    """Arrow reports damage as OSError without an errno, the operating system's refusals with one."""
    if problem.errno is None:
        return BadFile(f"{file}: this is no whole Parquet file: {_first_line(problem)}")
    return cannot("read", file, problem)


def _first_line(problem: Exception) -> str:
    return str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__


def _coded_by(topics: pa.Table, partitions: pa.Table, path: Path) -> pa.Table:
    """The partitions with `topics.name` as the dictionary of their topic; Parquet keeps its own per row group."""
    names = topics.column("name").combine_chunks()
    column = partitions.column("topic").unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # no rows
        column = pa.array([], PARTITIONS_SCHEMA.field("topic").type)
    codes = pc.index_in(column.dictionary, names).take(column.indices)
    if codes.null_count:
        raise BadFile(
            f"{path / 'partitions.parquet'}: names topics that topics.parquet does not have"
        )
    topic = pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), names)
    arrays = [topic, *(partitions.column(n).combine_chunks() for n in PARTITIONS_SCHEMA.names[1:])]
    return pa.Table.from_arrays(arrays, schema=PARTITIONS_SCHEMA)


def _check_order(topics: pa.Table, partitions: pa.Table, path: Path) -> None:
    names = topics.column("name").to_pylist()
    if any(left >= right for left, right in pairwise(names)):
        raise BadFile(f"{path / 'topics.parquet'}: not sorted by name, or a name occurs twice")
    keys = (topic_codes(partitions).astype(np.int64) << 32) + partitions.column(
        "partition"
    ).to_numpy()
    if (np.diff(keys) <= 0).any():
        raise BadFile(
            f"{path / 'partitions.parquet'}: not sorted by topic and partition, or one occurs twice"
        )
