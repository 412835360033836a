"""The tables of the lake: their columns, by what they are divided, and what a rerun replaces.

`schema/lake.v1.json` lists the same for readers of other tools; a test compares the two. Columns are only ever added,
and an added one may be null, so that an older table is read by a newer replan; anything else is a new VERSION.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import pyarrow as pa
from msgspec import Struct

from replan.model.columns import BROKER_LIST
from replan.snapshots.parquet_form import SCHEMAS

LAKE_VERSION = 1
"""Raised where an older replan would misread the tables."""
LakeRow = Mapping[str, Any]
"""A row by its columns."""
RowKey = tuple[Any, ...]


class LakeTable(Struct, frozen=True, dict=True):
    """One table."""

    name: str
    about: str
    columns: tuple[pa.Field, ...]
    keeps_days: bool = True
    """Divided by day, too: a rerun replaces the hour of a cluster; else all rows of a cluster."""

    @cached_property
    def schema(self) -> pa.Schema:
        """All columns: those by which rows are replaced first."""
        keys = KEYS if self.keeps_days else KEYS[:1]
        return pa.schema([*keys, *self.columns])

    @property
    def divided_by(self) -> list[str]:
        """The columns whose values are folders."""
        return ["cluster", "day"] if self.keeps_days else ["cluster"]


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


KEYS = (
    _required("cluster", pa.string()),  # its name in the fleet; its id where it has none
    _required("day", pa.date32()),  # of the snapshot, UTC
    _required("hour", pa.int32()),  # likewise, 0 to 23
)
OBSERVED = (_required("cluster_id", pa.string()), _required("observed_at", pa.string()))
"""Of which cluster and moment the snapshot is that a row comes from."""
_PARTITION = (_required("topic", pa.string()), _required("partition", pa.int32()))
_ITEM = (
    pa.field("topic", pa.string()),  # null: what drifted is a broker's or the cluster's
    pa.field("partition", pa.int32()),
    pa.field("broker", pa.int32()),
    _required("class", pa.string()),
    _required("kind", pa.string()),
)
_LISTS = (
    pa.field("declared", BROKER_LIST),
    pa.field("observed", BROKER_LIST),
    pa.field("leader", pa.int32()),
)


def _row_of(part: str) -> pa.StructType:
    """One row of a snapshot's table as one value; names are written out instead of coded."""
    plain = [
        field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
        for field in SCHEMAS[part]
    ]
    return pa.struct([field.with_nullable(True) for field in plain])


SNAPSHOTS = LakeTable(
    "snapshots",
    "Clusters as they were observed. `part` says of what a row is, and which of the columns after it has a value.",
    (
        *OBSERVED,
        _required("part", pa.string()),
        _required("row", pa.int32()),  # which row of its part
        pa.field("header", pa.string()),
        *(pa.field(part, _row_of(part)) for part in SCHEMAS),
    ),
)
DECLARED = LakeTable(
    "declared",
    "The list that each partition should have, blacklists and preferred leaders laid on, as of the newest comparison.",
    (*OBSERVED, _required("digest", pa.string()), *_PARTITION, _required("replicas", BROKER_LIST)),
    keeps_days=False,
)
RATES = LakeTable(
    "rates",
    "Bytes per second that were written to each partition, from successive snapshots.",
    (
        *OBSERVED,
        *_PARTITION,
        pa.field("bytes_per_second", pa.float64()),  # null: not known, `left_out` says why
        pa.field("peak_bytes_per_second", pa.float64()),
        _required("seconds", pa.float64()),  # how much time the rate is from
        _required("intervals", pa.int32()),
        pa.field("left_out", pa.string()),  # `shrank` beside a rate: it may be too low
        pa.field("records_per_second", pa.float64()),  # null: log ends are not known
    ),
)
GROWTH = pa.struct(
    [
        *(("grown", pa.float64()), ("seconds", pa.float64()), ("intervals", pa.int32())),
        *(("peak", pa.float64()), ("shrank", pa.bool_())),
    ]
)
"""By how much a number has grown in how much time, the fastest interval, and whether it shrank in another."""
SPAN = pa.struct(
    [("since", pa.string()), ("snapshots", pa.int32()), ("bytes", GROWTH), ("records", GROWTH)]
)
"""The growth since a snapshot, and of how many snapshots that is."""
SUMS = LakeTable(
    "sums",
    "What rates are made of, as of the newest: the growth of each partition, and how large it is.",
    (
        *OBSERVED,
        *_PARTITION,
        pa.field("topic_id", pa.string()),
        pa.field("bytes", pa.float64()),  # null: not known
        pa.field("log_end", pa.float64()),
        _required("window", SPAN),  # since the first snapshot of the day before
        _required("today", SPAN),  # since the first of this day
    ),
    keeps_days=False,
)
DIFFERENCES = LakeTable(
    "differences",
    "Partitions that are not as declared, by kind, whoever made it so.",
    (
        *OBSERVED,
        *_PARTITION,
        _required("kind", pa.string()),
        *_LISTS,
    ),
)
DRIFT = LakeTable(
    "drift",
    "What is not where it is declared, by class.",
    (
        *OBSERVED,
        *_ITEM,
        *_LISTS,
        pa.field("bytes", pa.int64()),
        pa.field("rule", pa.string()),
        pa.field("detail", pa.string()),
        pa.field("owner", pa.string()),
        pa.field("acknowledged_until", pa.string()),  # then its class is `acknowledged`
    ),
)
JUDGED = LakeTable(
    "judged",
    "Each cluster and hour that was compared with its placement.",
    (
        *OBSERVED,
        _required("digest", pa.string()),
        _required("partitions", pa.int64()),
        _required("drifted", pa.int64()),
        _required("converging", pa.int64()),
        _required("acknowledged", pa.int64()),
        pa.field("inputs", pa.string()),  # sha256 of what it was judged by; null: an error
        pa.field("stages", pa.string()),  # that were asked for; a rerun of them finds the same
    ),
)
COSTS = LakeTable(
    "costs",
    "What it takes to put each drifted partition right.",
    (
        *OBSERVED,
        *_PARTITION,
        _required("bytes", pa.int64()),
        _required("cross_rack_bytes", pa.int64()),
        pa.field("seconds", pa.float64()),  # at the declared throttle; null: unlimited
        pa.field("amount", pa.float64()),  # null: no price is declared
        pa.field("currency", pa.string()),
    ),
)
PLANS = LakeTable(
    "plans",
    "The plan of each cluster, with its document as `replan plan` writes it.",
    (
        *OBSERVED,
        _required("digest", pa.string()),  # sha256 of the document
        _required("changes", pa.int64()),
        _required("refusals", pa.int64()),
        _required("bytes", pa.int64()),
        pa.field("seconds", pa.float64()),  # at the declared throttle; null: unlimited
        _required("document", pa.string()),
    ),
)
HISTORY = LakeTable(
    "history",
    "Since when each thing drifts, how often it came back, and since when it is gone.",
    (
        *_ITEM,
        _required("first_seen", pa.string()),
        _required("last_seen", pa.string()),
        _required("spells", pa.int32()),  # how often it began
        _required("open", pa.bool_()),
        pa.field("resolved_at", pa.string()),
        pa.field("resolved_by", pa.string()),  # null: by no application that is known
        pa.field("acknowledged_until", pa.string()),
        pa.field("owner", pa.string()),
        _required("since", pa.string()),  # when the newest spell began
        _required("flapping", pa.bool_()),  # began three times or more in the last week
        _required("cluster_id", pa.string()),
        _required("began", pa.list_(pa.string())),  # the beginnings of the last week
    ),
    keeps_days=False,
)
OFFSETS = LakeTable(
    "offsets",
    "Where the log of each partition ended when its cluster was observed.",
    (*OBSERVED, *_PARTITION, _required("log_end", pa.int64())),
)
APPLICATIONS = LakeTable(
    "applications",
    "Which partitions replan's applications have moved, by the journals of the clusters; its hour is that of the end.",
    (
        _required("cluster_id", pa.string()),
        _required("application", pa.string()),
        _required("owner", pa.string()),
        _required("plan_digest", pa.string()),
        _required("opened_at", pa.string()),
        _required("ended_at", pa.string()),
        *_PARTITION,
    ),
)
ERRORS = LakeTable(
    "errors",
    "What could not be done, by cluster and stage.",
    (
        _required("stage", pa.string()),
        _required("file", pa.string()),
        _required("message", pa.string()),
    ),
)
TABLES: Mapping[str, LakeTable] = {
    table.name: table
    for table in (
        *(SNAPSHOTS, OFFSETS, APPLICATIONS, DECLARED, RATES, SUMS),
        *(DIFFERENCES, DRIFT, JUDGED, COSTS, PLANS, HISTORY, ERRORS),
    )
}


def key_of(row: LakeRow) -> RowKey:
    """What names one thing in the tables of drift and of history."""
    return tuple(row[k] for k in ("cluster", "topic", "partition", "broker", "kind"))
