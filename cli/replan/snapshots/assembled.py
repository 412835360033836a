"""A snapshot out of its tables, wherever they were kept: what must hold for them to be one.

The header says once what is not a row: format, cluster, time, features, and how many rows each table has.
Does not belong here: the tables' columns (`parquet_tables`), and files.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replan.documents.nodes import Node
from replan.errors import BadFile
from replan.model.configs import can_hold
from replan.model.snapshot import PARTITIONS_SCHEMA, Snapshot, topic_codes
from replan.snapshots.head import Tables, check_head, head_of, snapshot_of
from replan.snapshots.parquet_tables import (
    SCHEMAS,
    check_ranges,
    read_brokers,
    read_log_dirs,
    read_remembered,
)
from replan.wording import first_line

HEADER_KEYS = (
    "formatVersion",
    "kind",
    "clusterId",
    "observedAt",
    "features",
    "silent",
    "hidden",
    "offline",
    "logs",
    "application",
    "rows",
)
DAMAGE = (pa.ArrowException, ValueError, TypeError, KeyError, OverflowError)
"""What pyarrow raises over flipped bytes; a column's name that is not UTF-8, for one, is a UnicodeDecodeError."""
Place = Callable[[str], str]
"""Where a table is kept, by its name, as messages say it."""


def header_of(snapshot: Snapshot, tables: Mapping[str, pa.Table]) -> dict[str, object]:
    """What is said once."""
    return {
        **head_of(snapshot),
        "rows": {name: table.num_rows for name, table in tables.items()},
    }


def assembled(header: Node, tables: Mapping[str, pa.Table], place: Place) -> Snapshot:
    """Put a snapshot together; raises BadFile where the header or a table is not one of a snapshot."""
    check_head(header)
    header.mapping(HEADER_KEYS)
    rows = {name: node.int64() for name, node in header.members("rows")}
    checked = {
        name: _checked(name, table, rows.get(name), header, place) for name, table in tables.items()
    }
    topics = checked["topics"].combine_chunks()
    partitions = _coded_by(topics, checked["partitions"], place)
    _check_order(topics, partitions, place)
    brokers, configs = read_brokers(checked["brokers"])
    for broker, found in configs.items():
        for key, config in found.items():
            if not can_hold(key, config.value):
                raise BadFile(
                    f"{place('brokers')}: broker {broker}: {key} is a whole number of bytes per second, "
                    f"found {config.value!r}"
                )
    return snapshot_of(
        header,
        Tables(
            brokers=brokers,
            topics=topics,
            partitions=partitions,
            log_dirs=read_log_dirs(checked["log_dirs"]),
            configs=configs,
            remembered=read_remembered(checked["remembered"]),
        ),
    )


def _checked(name: str, table: pa.Table, rows: int | None, header: Node, place: Place) -> pa.Table:
    """One table in its declared schema; one of another write is refused."""
    schema = SCHEMAS[name]
    if rows is not None and table.num_rows != rows:
        said_by = header.source.rpartition("/")[2]
        raise BadFile(f"{place(name)}: has {table.num_rows} rows where {said_by} says {rows}")
    missing = [column for column in schema.names if column not in table.column_names]
    if missing:
        raise BadFile(f"{place(name)}: has no column {', '.join(missing)}")
    if not table.num_rows:
        return schema.empty_table()
    try:
        table = _without_nulls_in_lists(table.select(schema.names).cast(schema))
        table.validate(full=True)
        check_ranges(table)
    except DAMAGE as problem:
        raise BadFile(
            f"{place(name)}: its columns are not those of a snapshot: {first_line(problem)}"
        ) from problem
    return table


def _without_nulls_in_lists(table: pa.Table) -> pa.Table:
    """The table; raises ValueError where a list holds a null, which casting does not see."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_list(column.type) and pc.list_flatten(column).null_count:
            raise ValueError(f"a list in {name} holds a null")
    return table


def _coded_by(topics: pa.Table, partitions: pa.Table, place: Place) -> pa.Table:
    """The partitions with `topics.name` as the dictionary of their topic; Parquet keeps its own per row group."""
    names = topics.column("name").combine_chunks()
    column = partitions.column("topic").unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # no rows
        column = pa.array([], PARTITIONS_SCHEMA.field("topic").type)
    codes = pc.index_in(column.dictionary, names).take(column.indices)
    if codes.null_count:
        raise BadFile(
            f"{place('partitions')}: names topics that {_file(place('topics'))} does not have"
        )
    topic = pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), names)
    arrays = [topic, *(partitions.column(n).combine_chunks() for n in PARTITIONS_SCHEMA.names[1:])]
    return pa.Table.from_arrays(arrays, schema=PARTITIONS_SCHEMA)


def _file(place: str) -> str:
    return place.rpartition("/")[2]


def _check_order(topics: pa.Table, partitions: pa.Table, place: Place) -> None:
    names = topics.column("name").to_pylist()
    if any(left >= right for left, right in pairwise(names)):
        raise BadFile(f"{place('topics')}: not sorted by name, or a name occurs twice")
    owners = dict[str, str]()
    for topic_id, name in zip(topics.column("id").to_pylist(), names, strict=True):
        other = owners.setdefault(topic_id, name)
        if other != name:
            raise BadFile(
                f"{place('topics')}: topics {other} and {name} have the same id, {topic_id}"
            )
    keys = (topic_codes(partitions).astype(np.int64) << 32) + partitions.column(
        "partition"
    ).to_numpy()
    if (np.diff(keys) <= 0).any():
        raise BadFile(
            f"{place('partitions')}: not sorted by topic and partition, or one occurs twice"
        )
