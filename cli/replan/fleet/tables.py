"""The declared schemas of every table in the pipeline, in Arrow's words, and the same in Spark's.

Stages meet in these tables and in nothing else. The first five go between stages, the last three are published.
"""

import pyarrow as pa

from replan.model.columns import BROKERS
from replan.planning.comparison.diff import DIFFERENCE_SCHEMA

SOURCES = pa.schema(
    [
        pa.field("role", pa.string(), nullable=False),  # snapshot, placement
        pa.field("name", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
    ]
)
HEADS = pa.schema(
    [
        *SOURCES,
        pa.field("cluster_id", pa.string()),
        pa.field("cluster_name", pa.string()),
        pa.field("observed_at", pa.string()),
        pa.field("message", pa.string()),  # why it cannot be read; then the three above are null
    ]
)
PAIRS = pa.schema(
    [
        pa.field("cluster_id", pa.string(), nullable=False),
        pa.field("cluster_name", pa.string(), nullable=False),
        pa.field("observed_at", pa.string(), nullable=False),
        pa.field("snapshot", pa.string(), nullable=False),
        pa.field("placement", pa.string(), nullable=False),
    ]
)
RESOLVED = pa.schema(
    [
        pa.field("cluster_id", pa.string(), nullable=False),
        pa.field("side", pa.string(), nullable=False),  # declared, observed, surplus, error
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("leader", pa.int32()),
        pa.field("replicas", BROKERS),
        pa.field("isr", BROKERS),
        pa.field("adding", BROKERS),
        pa.field("removing", BROKERS),
        pa.field("message", pa.string()),
    ]
)
DIFFERENCES = pa.schema([pa.field("cluster_id", pa.string(), nullable=False), *DIFFERENCE_SCHEMA])
DRIFT = pa.schema(
    [
        pa.field("cluster_id", pa.string(), nullable=False),
        pa.field("cluster_name", pa.string(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("declared", BROKERS, nullable=False),
        pa.field("observed", BROKERS, nullable=False),
        pa.field("leader", pa.int32(), nullable=False),  # -1: none
        pa.field("observed_at", pa.string(), nullable=False),
    ]
)
CLUSTERS = pa.schema(
    [
        pa.field("cluster_id", pa.string(), nullable=False),
        pa.field("cluster_name", pa.string(), nullable=False),
        pa.field("observed_at", pa.string(), nullable=False),
        pa.field("partitions", pa.int64(), nullable=False),
        pa.field("drifted", pa.int64(), nullable=False),
        pa.field("converging", pa.int64(), nullable=False),
        # converging: partitions whose running reassignment leads to the declared list
    ]
)
ERRORS = pa.schema(
    [
        pa.field("cluster", pa.string(), nullable=False),  # its name, or that of the file
        pa.field("file", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
    ]
)

_SPARK_TYPES = {
    pa.string(): "string",
    pa.int32(): "int",
    pa.int64(): "bigint",
    BROKERS: "array<int>",
}


def spark_schema(schema: pa.Schema) -> str:
    """A schema as Spark spells it."""
    return ", ".join(f"`{field.name}` {_SPARK_TYPES[field.type]}" for field in schema)
