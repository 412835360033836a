"""A snapshot as a folder of Parquet tables and a header: the form for a million partitions, and for Spark.

    header.json          what is said once: format, cluster, time, features, and the rows of each table
    brokers.parquet      registered brokers, with those of their configs that matter
    topics.parquet       `Snapshot.topics` as it is
    partitions.parquet   `Snapshot.partitions` as it is, sorted by (topic, partition)
    log_dirs.parquet     log directories of live brokers
    remembered.parquet   orders that the leader blacklist changed

The schemas of topics and partitions are those of the model. A lake keeps the same tables: what must hold for them to be
a snapshot does not ask where they were kept (`assembled`). Not here: which form a path has (`files`).
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from replan.documents.files import cannot, publish_folder, read_text
from replan.documents.json_text import INT32_MAX, INT64_MAX, Node, parse_document, render_document
from replan.errors import BadFile
from replan.model.broker import Broker, LogDir
from replan.model.columns import BROKER_LIST
from replan.model.configs import Configs, ConfigSource, ConfigValue, can_hold
from replan.model.names import BrokerId, TopicId, TopicPartition, replicas
from replan.model.snapshot import (
    PARTITIONS_SCHEMA,
    TOPICS_SCHEMA,
    RememberedOrder,
    Snapshot,
    topic_codes,
)
from replan.snapshots.head import Identity, Tables, check_head, head_of, identity_of, snapshot_of
from replan.wording import first_line

_CONFIG = pa.struct(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("value", pa.string(), nullable=False),
        pa.field("source", pa.int8(), nullable=False),
    ]
)
_LYING = pa.struct(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partitions", pa.list_(pa.int32()), nullable=False),
    ]
)
BROKERS_SCHEMA = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("rack", pa.string()),
        pa.field("fenced", pa.bool_(), nullable=False),
        pa.field("cordoned", pa.bool_(), nullable=False),
        pa.field("configs", pa.list_(_CONFIG), nullable=False),
    ]
)
LOG_DIRS_SCHEMA = pa.schema(
    [
        pa.field("broker", pa.int32(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("total_bytes", pa.int64()),
        pa.field("usable_bytes", pa.int64()),
        pa.field("logs", pa.int32(), nullable=False),
        pa.field("cordoned", pa.bool_(), nullable=False),
        pa.field("error", pa.string()),
        pa.field("replicas", pa.list_(_LYING)),
    ]
)
REMEMBERED_SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("topic_id", pa.string(), nullable=False),
        pa.field("order", BROKER_LIST, nullable=False),
        pa.field("left", BROKER_LIST),
        pa.field("recovered", pa.bool_(), nullable=False),
    ]
)
SCHEMAS: Mapping[str, pa.Schema] = {
    "brokers": BROKERS_SCHEMA,
    "topics": TOPICS_SCHEMA,
    "partitions": PARTITIONS_SCHEMA,
    "log_dirs": LOG_DIRS_SCHEMA,
    "remembered": REMEMBERED_SCHEMA,
}


_RANGES: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("id", "broker", "partition", "leader_epoch", "logs", "bytes"), (0, INT64_MAX)),
    **dict.fromkeys(("total_bytes", "usable_bytes"), (0, INT64_MAX)),
    **dict.fromkeys(
        ("replicas", "isr", "adding", "removing", "elr", "order", "left"), (0, INT32_MAX)
    ),
    "last_known_elr": (0, INT32_MAX),
    "leader": (-1, INT32_MAX),
    "min_insync_replicas": (1, INT32_MAX),
    **dict.fromkeys(
        ("min_insync_source", "configs"), (int(min(ConfigSource)), int(max(ConfigSource)))
    ),
}
"""What numbers are possible, by the name of their column; those of a list are its members, of configs their sources."""


def check_ranges(table: pa.Table) -> None:
    """Raise ValueError where a number is none that a snapshot can have."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        numbers = pc.list_flatten(column) if pa.types.is_list(column.type) else column
        if name == "configs":
            numbers = pc.struct_field(numbers, "source")
        if not pa.types.is_integer(numbers.type):
            continue
        least, most = _RANGES[name]
        ends = pc.min_max(numbers)
        low, high = ends["min"].as_py(), ends["max"].as_py()
        if low is not None and not least <= low <= high <= most:
            raise ValueError(
                f"{name} goes from {low} to {high}, where {least} to {most} is possible"
            )


def to_tables(snapshot: Snapshot) -> dict[str, pa.Table]:
    """The snapshot's tables by their names."""
    return {
        "brokers": _brokers_table(snapshot),
        "topics": snapshot.topics,
        "partitions": snapshot.partitions,
        "log_dirs": _log_dirs_table(snapshot),
        "remembered": _remembered_table(snapshot),
    }


def _brokers_table(snapshot: Snapshot) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "id": broker.id,
                "rack": broker.rack,
                "fenced": broker.fenced,
                "cordoned": broker.cordoned,
                "configs": [
                    {"key": key, "value": config.value, "source": int(config.source)}
                    for key, config in sorted(snapshot.broker_configs.get(broker.id, {}).items())
                ],
            }
            for broker in snapshot.brokers
        ],
        schema=BROKERS_SCHEMA,
    )


def brokers_of_table(table: pa.Table) -> tuple[tuple[Broker, ...], dict[BrokerId, Configs]]:
    """The brokers, and the configs of those that have any."""
    rows: list[dict[str, Any]] = table.to_pylist()
    brokers = tuple(
        Broker(BrokerId(row["id"]), row["rack"], row["fenced"], row["cordoned"]) for row in rows
    )
    configs: dict[BrokerId, Configs] = {
        BrokerId(row["id"]): {
            c["key"]: ConfigValue(c["value"], ConfigSource(c["source"])) for c in row["configs"]
        }
        for row in rows
        if row["configs"]
    }
    return brokers, configs


def _log_dirs_table(snapshot: Snapshot) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                **{name: getattr(log_dir, name) for name in LOG_DIRS_SCHEMA.names},
                "replicas": [
                    {"topic": topic, "partitions": list(of)}
                    for topic, of in sorted(log_dir.replicas.items())
                ]
                or None,
            }
            for log_dir in snapshot.log_dirs
        ],
        schema=LOG_DIRS_SCHEMA,
    )


def read_log_dirs(table: pa.Table) -> tuple[LogDir, ...]:
    """The log directories."""
    return tuple(
        LogDir(
            **{
                **row,
                "replicas": {
                    of_topic["topic"]: tuple(of_topic["partitions"])
                    for of_topic in row["replicas"] or ()
                },
            }
        )
        for row in table.to_pylist()
    )


def _remembered_table(snapshot: Snapshot) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "topic": name.topic,
                "partition": name.partition,
                "topic_id": remembered.topic_id,
                "order": list(remembered.order),
                "left": list(remembered.left) or None,
                "recovered": remembered.recovered,
            }
            for name, remembered in sorted(snapshot.remembered.items())
        ],
        schema=REMEMBERED_SCHEMA,
    )


def read_remembered(table: pa.Table) -> dict[TopicPartition, RememberedOrder]:
    """The orders that partitions had before the leader blacklist."""
    return {
        TopicPartition(row["topic"], row["partition"]): RememberedOrder(
            replicas(*row["order"]),
            TopicId(row["topic_id"]),
            replicas(*(row["left"] or ())),
            row["recovered"],
        )
        for row in table.to_pylist()
    }


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
    brokers, configs = brokers_of_table(checked["brokers"])
    for broker, of_broker in configs.items():
        for key, config in of_broker.items():
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


HEADER_FILE = "header.json"
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
        (folder / HEADER_FILE).write_text(
            render_document(header_of(snapshot, tables)), encoding="utf-8"
        )

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
    file = path / HEADER_FILE
    if not file.exists():
        raise BadFile(f"{path}: this folder is no snapshot: it has no {HEADER_FILE}")
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
    except KeyError as problem:  # of read_dictionary
        raise BadFile(f"{file}: has no column topic") from problem
    except DAMAGE as problem:
        raise BadFile(f"{file}: this is no whole Parquet file: {first_line(problem)}") from problem


def _unreadable(file: Path, problem: OSError) -> BadFile:
    """Arrow reports damage as OSError without an errno, the operating system's refusals with one."""
    if problem.errno is None:
        return BadFile(f"{file}: this is no whole Parquet file: {first_line(problem)}")
    return cannot("read", file, problem)
