"""The second stage inside Spark: a placement and its snapshot become rows, overlays laid.

What a partition should look like is decided here by the very function that `replan drift` uses
(`planning.comparison.overlays`), one cluster a call; comparing is left to the next stage. Rows of large clusters are
dealt into buckets by topic, so that no group is larger than memory.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from replan.fleet.heads import or_message
from replan.fleet.tables import RESOLVED
from replan.manifest.load import load_placement
from replan.model.placement import Placement
from replan.model.snapshot import Snapshot
from replan.planning.comparison import overlays
from replan.planning.comparison.alignment import Alignment
from replan.planning.comparison.cluster_check import check_cluster
from replan.planning.drift import partition_counts
from replan.snapshots.files import read_snapshot

ROWS_PER_BUCKET = 250_000
ROWS_PER_BATCH = 100_000


def resolve_pairs(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of each pair, as Spark's mapInArrow wants it."""
    for batch in batches:
        for pair in batch.to_pylist():
            cluster = pair["cluster_id"]
            found = or_message(partial(_read, pair["placement"], pair["snapshot"]))
            rows = _error(cluster, found) if isinstance(found, str) else found
            yield from rows.to_batches(ROWS_PER_BATCH)


def _read(placement: str, snapshot: str) -> pa.Table:
    return resolve(
        load_placement([Path(placement)]), read_snapshot(Path(snapshot)), ROWS_PER_BUCKET
    )


def resolve(placement: Placement, snapshot: Snapshot, rows_per_bucket: int) -> pa.Table:
    """Declared, observed and surplus partitions of one cluster, in the columns of RESOLVED."""
    check_cluster(placement, snapshot)
    wanted = overlays.wanted(Alignment.of(placement, snapshot)).table
    observed = _of_topics(snapshot.partitions, wanted)
    buckets = 1 + max(wanted.num_rows, observed.num_rows) // rows_per_bucket
    sides = {
        "declared": wanted,
        "observed": observed,
        "surplus": _surplus(placement, snapshot),
    }
    return pa.concat_tables(
        _side(side, rows, snapshot.cluster_id, buckets) for side, rows in sides.items()
    )


def _of_topics(partitions: pa.Table, wanted: pa.Table) -> pa.Table:
    """The observed partitions of topics that anything is wanted of."""
    topics = pc.unique(wanted.column("topic"))
    return partitions.filter(
        pc.is_in(partitions.column("topic").cast(pa.string()), value_set=topics)
    )


def _surplus(placement: Placement, snapshot: Snapshot) -> pa.Table:
    """The observed partitions beyond the count that a list form declares."""
    rows = [
        row
        for found in partition_counts(placement, snapshot)
        for row in list(snapshot.topic_rows(found.topic))[found.declared :]
    ]
    return snapshot.partitions.take(pa.array(rows, pa.int64()))


def _side(side: str, rows: pa.Table, cluster: str, buckets: int) -> pa.Table:
    count = rows.num_rows
    fixed = {
        "cluster_id": pa.repeat(pa.scalar(cluster), count),
        "side": pa.repeat(pa.scalar(side), count),
        "bucket": pa.array(_buckets(rows, buckets)),
        "topic": rows.column("topic").cast(pa.string()),
    }
    columns = [
        fixed[field.name]
        if field.name in fixed
        else rows.column(field.name)
        if field.name in rows.column_names
        else pa.nulls(count, field.type)
        for field in RESOLVED
    ]
    return pa.table(columns, schema=RESOLVED)


def _buckets(rows: pa.Table, buckets: int) -> npt.NDArray[np.int32]:
    """The bucket of each row, by its topic: the same on both sides, on every machine."""
    encoded = rows.column("topic").cast(pa.string()).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):  # no rows
        return np.zeros(0, dtype=np.int32)
    of_topic = [crc32(name.encode()) % buckets for name in encoded.dictionary.to_pylist()]
    found: npt.NDArray[np.int32] = np.array(of_topic, dtype=np.int32)[np.asarray(encoded.indices)]
    return found


def _error(cluster: str, message: str) -> pa.Table:
    row = {"cluster_id": cluster, "side": "error", "bucket": 0, "message": message}
    return pa.Table.from_pylist([row], schema=RESOLVED)
