"""Rates: the bytes and records per second that are written to each partition, from the sizes in successive snapshots.

What counts is an interval between two snapshots in which the partition grew, or stayed as it was. One in which it
shrank (retention, compaction, a truncated log) says nothing of what was written, and is left out; so is one in which
its topic was created again (another id), or in which a broker with a replica of it did not answer. The size is that of
the largest replica, so a new leader changes nothing. Retention that removes less than was written makes the rate too
low, and nobody can say by how much: where a partition shrank in any interval, `left_out` says so beside the rate, and a
plan takes it as not known. Records are counted in the same way, from where the leaders' logs ended (table `offsets`):
retention and compaction take none of these away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from replan.fleet.lake.delta import Hour, Lake
from replan.fleet.lake.snapshots import Sizes, sizes_between, topics_at
from replan.fleet.lake.tables import OFFSETS, RATES
from replan.fleet.tasks.work import Work
from replan.model.columns import to_matrix
from replan.model.snapshot import Snapshot, topic_codes
from replan.planning.comparison.alignment import PartitionIndex

WINDOW_DAYS = 1
"""Snapshots of this day and so many before it are looked at."""
NO_ENDS = OFFSETS.schema.empty_table()
Floats = npt.NDArray[np.float64]


class LeftOut(StrEnum):
    """Why there is no rate, or none to judge a copy by."""

    NO_EARLIER = "no-earlier-snapshot"
    SHRANK = "shrank"


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The bytes of the newest snapshot's partitions, as an earlier one had them; nan: not known."""

    seconds: float
    """Since the epoch."""
    bytes: Floats
    ends: Floats
    """Where the logs ended."""


@dataclass(frozen=True, slots=True)
class _Growth:
    """What a number of each partition has grown by, from moment to moment."""

    per_second: Floats
    peak: Floats
    seconds: Floats
    intervals: npt.NDArray[np.int32]
    shrank: npt.NDArray[np.bool_]
    """In some interval, which is left out: so the others may have lost bytes, too."""

    @property
    def unknown(self) -> npt.NDArray[np.bool_]:
        """Where there was no interval."""
        return np.asarray(self.intervals == 0)


def rates(work: Work) -> Mapping[str, pa.Table]:
    """The rate of every partition of the cluster, or of a part of its topics; raises BadFile."""
    hour, topics = work.task.hour, None
    newest: Snapshot | Sizes
    if work.task.part is None:
        newest = work.snapshot
    else:
        topics = _part_of(topics_at(work.lake, hour), work.task.part)
        (newest,) = sizes_between(work.lake, hour, hour, topics)
    index = PartitionIndex.of(newest.partitions)
    sizes = [_sizes(newest, newest, index, _log_ends(work.lake, hour))]
    first = Hour(hour.cluster, hour.day - timedelta(days=WINDOW_DAYS), 0)
    for seen in sizes_between(work.lake, first, replace(hour, hour=hour.hour - 1), topics):
        if seen.cluster_id == work.task.cluster_id:
            sizes.insert(0, _sizes(seen, newest, index, _log_ends(work.lake, seen.at)))
    columns = measured(sizes, newest)
    return {RATES.name: work.rows(RATES, columns, newest.partitions.num_rows)}


def _part_of(names: pa.Array, part: str) -> pa.Array:
    """Those of part `number/count`."""
    number, count = map(int, part.split("/"))
    begin, end = (len(names) * n // count for n in (number - 1, number))
    return names.slice(begin, end - begin)


def _log_ends(lake: Lake, hour: Hour) -> pa.Table:
    if hour.cluster not in lake.files(OFFSETS):
        return NO_ENDS
    return lake.rows(OFFSETS, hour, hour, ["hour", "topic", "partition", "log_end"])


def _sizes(
    seen: Snapshot | Sizes, newest: Snapshot | Sizes, index: PartitionIndex, log_ends: pa.Table
) -> _Sizes:
    table = seen.partitions
    known = table.column("bytes").to_numpy().astype(np.float64)
    if seen.silent:
        held = np.isin(to_matrix(table.column("replicas")), seen.silent).any(axis=1)
        known[held] = np.nan
    ends = _aligned(log_ends.column("log_end"), log_ends, index)
    if seen is not newest:
        known = _aligned(known, table, index)
        other = ~_same_topic(seen.topics, newest)
        known[other] = ends[other] = np.nan
    return _Sizes(datetime.fromisoformat(seen.observed_at).timestamp(), known, ends)


def _aligned(values: Any, names: pa.Table, index: PartitionIndex) -> Floats:
    """Values of rows with topic and partition, for each partition of the newest snapshot; nan where there is none."""
    found: Floats = np.full(len(index.keys), np.nan)
    if names.num_rows:
        rows = index.rows(names)
        found[rows[rows >= 0]] = np.asarray(values, dtype=np.float64)[rows >= 0]
    return found


def _same_topic(before: pa.Table, newest: Snapshot | Sizes) -> npt.NDArray[np.bool_]:
    """Whether each partition's topic had the same id."""
    names = newest.topics["name"]
    at = pc.index_in(names, value_set=before["name"])
    ids = before["id"].combine_chunks().take(at.combine_chunks())
    same = pc.equal(ids, newest.topics["id"].combine_chunks()).fill_null(fill_value=False)
    if isinstance(newest, Snapshot):
        codes = topic_codes(newest.partitions)
    else:
        codes = np.asarray(pc.index_in(newest.partitions["topic"], value_set=names))
    found: npt.NDArray[np.bool_] = np.asarray(same)[codes]
    return found


def measured(sizes: Sequence[_Sizes], newest: Snapshot | Sizes) -> Mapping[str, Any]:
    """The columns of RATES, from the sizes of the same partitions at successive moments, oldest first."""
    moments = [one.seconds for one in sizes]
    written = _growth(moments, [one.bytes for one in sizes])
    records = _growth(moments, [one.ends for one in sizes])
    why = np.where(written.shrank, LeftOut.SHRANK.value, LeftOut.NO_EARLIER.value).astype(object)
    partitions = newest.partitions
    return {
        "topic": partitions.column("topic"),
        "partition": partitions.column("partition"),
        "bytes_per_second": pa.array(written.per_second, mask=written.unknown),
        "peak_bytes_per_second": pa.array(written.peak, mask=written.unknown),
        "seconds": written.seconds,
        "intervals": written.intervals,
        "left_out": pa.array(why, pa.string(), mask=~(written.unknown | written.shrank)),
        "records_per_second": pa.array(records.per_second, mask=records.unknown),
    }


def _growth(moments: Sequence[float], values: Sequence[Floats]) -> _Growth:
    count = len(values[0])
    grown, seconds, intervals = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int32)
    peak, shrank = np.full(count, -1.0), np.zeros(count, dtype=bool)
    for (start, before), (end, after) in pairwise(zip(moments, values, strict=True)):
        passed = end - start
        if passed <= 0:
            continue
        more = after - before
        counts = more >= 0  # not so of nan
        shrank |= more < 0
        grown[counts] += more[counts]
        seconds[counts] += passed
        intervals[counts] += 1
        peak[counts] = np.maximum(peak[counts], more[counts] / passed)
    per_second = np.divide(grown, seconds, out=np.zeros(count), where=intervals > 0)
    return _Growth(per_second, peak, seconds, intervals, shrank)
