"""Rates: the bytes and records per second that are written to each partition, from the sizes in successive snapshots.

What counts is an interval between two snapshots in which the partition grew, or stayed as it was. One in which it
shrank (retention, compaction, a truncated log) says nothing of what was written, and is left out; so is one in which
its topic was created again (another id), or in which a broker with a replica of it did not answer. The size is that of
the largest replica, so a new leader changes nothing. Retention that removes less than was written makes the rate too
low, and nobody can say by how much: where a partition shrank in any interval, `left_out` says so beside the rate, and a
plan takes it as not known. Records are counted in the same way, from where the leaders' logs ended (table `offsets`):
retention and compaction take none of these away.

A snapshot adds one interval to the sums of those before it, which the table `sums` keeps: so it costs the same however
many there are. They count as long as the log of the snapshots says that they are made of as many, from the first to
the last; else, as after a late one, all snapshots of the window are read again.
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from replan.fleet.lake.delta import Hour, Lake, moments_by_log
from replan.fleet.lake.snapshots import Sizes, sizes_between, topics_at
from replan.fleet.lake.tables import GROWTH, OFFSETS, RATES, SNAPSHOTS, SPAN, SUMS
from replan.fleet.tasks.work import Work
from replan.model.columns import positions_in, take, to_matrix, topics_of
from replan.model.snapshot import Snapshot
from replan.planning.comparison.alignment import PartitionIndex

WINDOW_DAYS = 1
"""Snapshots of this day and so many before it are looked at."""
NO_ENDS = OFFSETS.schema.empty_table()
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]


class LeftOut(StrEnum):
    """Why there is no rate, or none to judge a copy by."""

    NO_EARLIER = "no-earlier-snapshot"
    SHRANK = "shrank"


NO_GROWTH = np.array(
    (0.0, 0.0, 0, -1.0, False),
    [("grown", "f8"), ("seconds", "f8"), ("intervals", "i4"), ("peak", "f8"), ("shrank", "?")],
)
"""By how much a number has grown before the first interval; its fields are those of `GROWTH`."""


def _grown(growth: Numbers, before: Floats, after: Floats, passed: float) -> Numbers:
    """With one more interval, of so many seconds; a number that is nan is not known."""
    if passed <= 0:
        return growth
    more = after - before
    counts = more >= 0  # not so of nan
    after_growth = growth.copy()
    after_growth["grown"] += np.where(counts, more, 0.0)
    after_growth["seconds"] += np.where(counts, passed, 0.0)
    after_growth["intervals"] += counts
    after_growth["peak"] = np.where(
        counts, np.maximum(after_growth["peak"], more / passed), after_growth["peak"]
    )
    # The interval is left out, so the others may have lost bytes, too.
    after_growth["shrank"] |= more < 0
    return after_growth


class _Span(Struct, frozen=True):
    """The growth of all partitions since a snapshot; as `SPAN` in the lake."""

    since: str
    snapshots: int
    bytes: Numbers
    records: Numbers

    @classmethod
    def begun(cls, first: "Snapshot | Sizes") -> "_Span":
        """That has one snapshot."""
        none = np.full(first.partitions.num_rows, NO_GROWTH)
        return cls(first.observed_at, 1, none, none)


class _Sums(Struct, frozen=True):
    """What there is to know of a snapshot and those before it, by its partitions."""

    observed_at: str
    names: pa.Table
    """Topic and partition."""
    topic_ids: pa.Array
    bytes: Floats
    """nan: not known."""
    ends: Floats
    """Where the logs ended; likewise."""
    window: _Span
    """Since the first snapshot of the day before."""
    today: _Span

    def span(self, day: date) -> _Span:
        """What the window of a later snapshot begins with, of that day."""
        return self.window if day == self.day else self.today

    @property
    def day(self) -> date:
        """That of its snapshot."""
        return datetime.fromisoformat(self.observed_at).date()

    def and_then(self, later: "_Sums") -> "_Sums":
        """The sums with one more snapshot, `later`. What the one before it did not have has no interval."""
        rows = PartitionIndex.of(self.names).rows(later.names)
        ids = self.topic_ids.take(pa.array(rows, pa.int64(), mask=rows < 0))
        same = pc.equal(ids, later.topic_ids).fill_null(fill_value=False)
        rows = np.where(np.asarray(same), rows, -1)
        before, after = (datetime.fromisoformat(s.observed_at).timestamp() for s in (self, later))

        def grown(growth: Numbers, old: Floats, new: Floats) -> Numbers:
            kept = _picked(growth, rows, NO_GROWTH)
            return _grown(kept, _picked(old, rows, np.nan), new, after - before)

        def added(span: _Span) -> _Span:
            return replace(
                span,
                snapshots=span.snapshots + 1,
                bytes=grown(span.bytes, self.bytes, later.bytes),
                records=grown(span.records, self.ends, later.ends),
            )

        today = added(self.today) if self.day == later.day else later.today
        return replace(later, window=added(self.span(later.day)), today=today)


def rates(work: Work) -> Mapping[str, pa.Table]:
    """The rate of every partition of the cluster, or of a part of its topics, and the sums; raises BadFile."""
    hour, topics = work.task.hour, None
    newest: Snapshot | Sizes
    if not work.task.share:
        newest = work.snapshot
    else:
        there = topics_at(work.lake, hour)
        mine = there.numbers(work.task.shares) == work.task.share - 1
        topics = there.names.filter(pa.array(mine))
        (newest,) = sizes_between(work.lake, hour, hour, topics)
    back = min(timedelta(days=WINDOW_DAYS), hour.day - date.min)  # a clock may be as wrong as that
    first = Hour(hour.cluster, hour.day - back, 0)
    last = replace(hour, hour=hour.hour - 1)
    sums = _kept(work, first, last, topics)
    if sums is None:
        for sizes in sizes_between(work.lake, first, last, topics):
            if sizes.cluster_id == work.task.cluster_id:
                sums = _added(sums, sizes, _log_ends(work.lake, sizes.at, sizes.observed_at))
    sums = _added(sums, newest, _log_ends(work.lake, hour, newest.observed_at))
    rate_rows = work.rows(RATES, rate_columns(sums))
    return {RATES.name: rate_rows, SUMS.name: work.rows(SUMS, _columns(sums))}


def _log_ends(lake: Lake, hour: Hour, observed_at: str) -> pa.Table:
    """Where the logs ended at the moment of a snapshot: its hour may have those of one that it has replaced."""
    if hour.cluster not in lake.files(OFFSETS):
        return NO_ENDS
    rows = lake.rows(OFFSETS, hour, ["hour", "observed_at", "topic", "partition", "log_end"])
    return rows.filter(pc.equal(rows["observed_at"], observed_at))


def _added(before: _Sums | None, sizes: Snapshot | Sizes, log_ends: pa.Table) -> _Sums:
    """The sums with one more snapshot, and where its logs ended."""
    names = sizes.partitions.select(["topic", "partition"])
    size = sizes.partitions["bytes"].to_numpy().astype(np.float64)
    if sizes.silent:
        held = np.isin(to_matrix(sizes.partitions["replicas"]), sizes.silent).any(axis=1)
        size[held] = np.nan
    ends = _picked(log_ends["log_end"], PartitionIndex.of(log_ends).rows(names), np.nan)
    ids, today = _topic_ids(sizes), _Span.begun(sizes)
    now = _Sums(sizes.observed_at, names, ids, size, ends, today, today)
    return now if before is None else before.and_then(now)


def _topic_ids(sizes: Snapshot | Sizes) -> pa.Array:
    """The id of each partition's topic."""
    names, codes = topics_of(sizes.partitions)
    at = positions_in(names, sizes.topics["name"].combine_chunks())
    return take(sizes.topics["id"].combine_chunks(), at[codes])


def _picked(values: Any, rows: Numbers, nothing: Any) -> Any:
    """The values of some rows; `nothing` of row -1."""
    return np.append(np.asarray(values, dtype=np.asarray(nothing).dtype), nothing)[rows]


def _kept(work: Work, first: Hour, last: Hour, topics: pa.Array | None) -> _Sums | None:
    """The sums of all snapshots from one hour to another, if they are what the lake has kept."""
    lake, name = work.lake, first.cluster
    files = lake.files(SUMS).get(name, ())
    window = [file for file in lake.files(SNAPSHOTS).get(name, ()) if file.has(first, last)]
    if not files or not all(first <= file.begin and file.end <= last for file in window):
        return None
    among = None if topics is None else ("topic", topics)
    rows = pa.concat_tables(lake.read_file(SUMS, file, (), among) for file in files)
    if not rows.num_rows or rows["cluster_id"][0].as_py() != work.task.cluster_id:
        return None
    sums = _Sums(
        rows["observed_at"][0].as_py(),
        rows.select(["topic", "partition"]),
        rows["topic_id"].combine_chunks(),
        *(rows[column].to_numpy() for column in ("bytes", "log_end")),
        *(_span_of(rows[column]) for column in ("window", "today")),
    )
    span = sums.span(work.task.hour.day)
    made_of = (span.snapshots, span.since, sums.observed_at)
    return sums if made_of == moments_by_log((file, file.headers) for file in window) else None


def _span_of(rows: pa.ChunkedArray) -> _Span:
    since, snapshots = (pc.struct_field(rows, name)[0].as_py() for name in ("since", "snapshots"))
    growths = [np.empty(len(rows), NO_GROWTH.dtype) for _ in range(2)]
    for growth, numbers in zip(growths, ("bytes", "records"), strict=True):
        for name in growth.dtype.names or ():
            growth[name] = pc.struct_field(rows, [numbers, name]).to_numpy()
    return _Span(since, snapshots, *growths)


def _columns(sums: _Sums) -> Mapping[str, Any]:
    """The columns of SUMS."""
    return {
        **{name: sums.names[name] for name in ("topic", "partition")},
        "topic_id": sums.topic_ids,
        "bytes": pa.array(sums.bytes, from_pandas=True),
        "log_end": pa.array(sums.ends, from_pandas=True),
        "window": _column_of(sums.window),
        "today": _column_of(sums.today),
    }


def _column_of(span: _Span) -> pa.Array:
    """A span as a column, what is the same in all rows being repeated."""
    same = [pa.scalar(span.since), pa.scalar(span.snapshots, pa.int32())]
    growths = [
        pa.StructArray.from_arrays([pa.array(of[field.name]) for field in GROWTH], fields=[*GROWTH])
        for of in (span.bytes, span.records)
    ]
    parts = [*(pa.repeat(value, len(span.bytes)) for value in same), *growths]
    return pa.StructArray.from_arrays(parts, fields=[*SPAN])


def rate_columns(sums: _Sums) -> Mapping[str, Any]:
    """The columns of RATES."""
    written, shrank = sums.window.bytes, sums.window.bytes["shrank"]
    unknown = written["intervals"] == 0
    why = np.where(shrank, LeftOut.SHRANK.value, LeftOut.NO_EARLIER.value).astype(object)
    return {
        **{name: sums.names[name] for name in ("topic", "partition")},
        "bytes_per_second": _per_second(written),
        "peak_bytes_per_second": pa.array(written["peak"], mask=unknown),
        "seconds": written["seconds"],
        "intervals": written["intervals"],
        "left_out": pa.array(why, pa.string(), mask=~(unknown | shrank)),
        "records_per_second": _per_second(sums.window.records),
    }


def _per_second(growth: Numbers) -> pa.Array:
    """On average; null where there was no interval."""
    counted, none = growth["intervals"] > 0, np.zeros(len(growth))
    return pa.array(
        np.divide(growth["grown"], growth["seconds"], out=none, where=counted), mask=~counted
    )
