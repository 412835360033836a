"""The tables of a snapshot's Parquet folder: their schemas, and the small ones from objects and back.

Belongs here: what a column is called and means. Does not belong here: files; they are in `parquet_form`.
The schemas of topics and partitions are those of the model.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from replan.documents.nodes import INT32_MAX, INT64_MAX
from replan.model.broker import Broker, LogDir
from replan.model.columns import BROKERS
from replan.model.configs import Configs, ConfigSource, ConfigValue
from replan.model.names import BrokerId, TopicId, TopicPartition, replicas
from replan.model.snapshot import PARTITIONS_SCHEMA, TOPICS_SCHEMA, RememberedOrder, Snapshot

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
        pa.field("order", BROKERS, nullable=False),
        pa.field("left", BROKERS),
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
        found = pc.min_max(numbers)
        low, high = found["min"].as_py(), found["max"].as_py()
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


def read_brokers(table: pa.Table) -> tuple[tuple[Broker, ...], dict[BrokerId, Configs]]:
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
                **{name: getattr(found, name) for name in LOG_DIRS_SCHEMA.names},
                "replicas": [
                    {"topic": topic, "partitions": list(of)}
                    for topic, of in sorted(found.replicas.items())
                ]
                or None,
            }
            for found in snapshot.log_dirs
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
                    found["topic"]: tuple(found["partitions"]) for found in row["replicas"] or ()
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
