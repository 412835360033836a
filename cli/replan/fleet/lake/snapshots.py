"""Snapshots in the lake: one commit writes all parts of one, so that none is ever seen in part.

`part` is `header` for what is said once, or the name of one of the tables of a snapshot's folder; the column of that
name has the row as one value. The document in `header` carries the version of the format, as a file's does.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from replan.documents.json_text import Node, parse_document
from replan.errors import BadFile
from replan.fleet.lake.delta import Hour, Lake, TableFile, in_runs, table_rows
from replan.fleet.lake.files import commit_files, put_hours, remove_hours, run_in
from replan.fleet.lake.tables import ERRORS, JUDGED, SNAPSHOTS, SUMS
from replan.model.columns import positions_in, topics_of, with_column
from replan.model.names import BrokerId
from replan.model.snapshot import Snapshot
from replan.planning.by_topic import ClusterTopics
from replan.snapshots.head import identity_of
from replan.snapshots.parquet_form import HEADER_KEYS, SCHEMAS, assembled, header_of, to_tables

HEADER_COLUMN = "header"
HEAD_COLUMNS = ("hour", "cluster_id", "observed_at")


class KeptSnapshot(Struct, frozen=True):
    """A snapshot of the lake, by its header."""

    at: Hour
    cluster_id: str
    observed_at: str
    partitions: int = 0
    """About how many there are."""

    def dated_after(self, now: datetime) -> str | None:
        """What is wrong with a snapshot that a wrong clock has dated, and the way out; None of any other."""
        wrong = dated_after(self.observed_at, now)
        return wrong and f"{wrong}; `replan fleet maintain --future` removes those of later hours"


AHEAD = timedelta(minutes=10)
"""So far a snapshot may be ahead of the clock of a run: clocks differ."""


def dated_after(observed_at: str, now: datetime) -> str | None:
    """What is wrong with a moment that is later than the clock of a run allows; None where it is not.

    By such a date nothing later would ever be the newest.
    """
    if datetime.fromisoformat(observed_at) <= now + AHEAD:
        return None
    return (
        f"this snapshot is dated {observed_at}, later than the clock of this run "
        f"({now.isoformat(timespec='seconds').replace('+00:00', 'Z')}), and is left out: one of the two clocks is wrong"
    )


def keep_snapshots(lake: Lake, snapshots: Iterable[tuple[str, Snapshot]]) -> list[Hour]:
    """Write snapshots under the names of their clusters, each in the place of one of the same hour; raises BadFile.

    One after the other, in one commit. Where one takes the place of another that is not the newest, what was judged of
    that hour, or failed, and the sums of the rates are removed before: by the log they would still be of as many
    snapshots, and what failed would not be tried again. The first comparison of a cluster stays: what is older is not
    judged, and by the log it is of another moment.
    """
    named = ((Hour.of(cluster, one.observed_at), one) for cluster, one in snapshots)
    with run_in(lake) as run:
        files = put_hours(
            lake, SNAPSHOTS, ((hour, rows_of_snapshot(one, hour)) for hour, one in named), run
        )
        there = lake.files(SNAPSHOTS)
        older = [h for h in files if any(f.end > h for f in there.get(h.cluster, ()))]
        judged = lake.files(JUDGED) if older else {}
        later = [h for h in older if h.cluster in judged and judged[h.cluster][0].begin < h]
        for table, hours in ((SUMS, older), (JUDGED, later), (ERRORS, older)):
            remove_hours(lake, table, hours, run)
        commit_files(lake, SNAPSHOTS, files, run)
    return list(files)


def rows_of_snapshot(snapshot: Snapshot, hour: Hour) -> pa.Table:
    """A snapshot as rows of the table, one part after the other."""
    tables = to_tables(snapshot)
    header = pa.table({HEADER_COLUMN: [json.dumps(header_of(snapshot, tables))]})
    parts = [
        {
            "part": pa.repeat(name, n),
            "row": np.arange(n, dtype=np.int32),
            name: _values(name, rows),
        }
        for name, rows in {HEADER_COLUMN: header, **tables}.items()
        if (n := rows.num_rows)
    ]
    whole = pa.concat_tables(map(pa.table, parts), promote_options="default")
    columns = dict(zip(whole.schema.names, whole.columns, strict=True))
    return table_rows(SNAPSHOTS, columns, hour, snapshot.cluster_id, snapshot.observed_at)


def _values(name: str, rows: pa.Table) -> pa.ChunkedArray:
    """The rows of a part, each as one value."""
    kind = SNAPSHOTS.schema.field(name).type
    return (
        rows[name] if name == HEADER_COLUMN else rows.cast(pa.schema(list(kind))).to_struct_array()
    )


def kept_in(lake: Lake, files: Iterable[TableFile]) -> list[KeptSnapshot]:
    """The snapshots of some files of the table, oldest first; raises BadFile.

    The table's log says it all where a file has one; others are opened.
    """
    snapshots: list[KeptSnapshot] = []
    for file in files:
        if file.only_moment is not None and file.headers == 1:
            heads = [(*file.only_moment, file.rows or 0)]
        else:
            rows = lake.read_file(SNAPSHOTS, file, (*HEAD_COLUMNS, "part", HEADER_COLUMN))
            rows = rows.filter(pc.equal(rows["part"], HEADER_COLUMN))
            heads = [
                (*map(row.get, HEAD_COLUMNS), _partitions(row[HEADER_COLUMN]))
                for row in rows.to_pylist()
            ]
        snapshots += (
            KeptSnapshot(Hour(file.cluster, file.day, head[0]), *head[1:]) for head in heads
        )
    return sorted(snapshots, key=lambda kept: kept.at)


def _partitions(header: str) -> int:
    """How many there are, 0 where the header is of another form: what is wrong with it says whoever reads it."""
    try:
        return int(json.loads(header)["rows"]["partitions"])
    except (ValueError, KeyError, TypeError):
        return 0


def read_kept(lake: Lake, hour: Hour, topics: pa.Array | None = None) -> Snapshot:
    """The snapshot of an hour, or what it says of these topics and of brokers; raises BadFile."""
    among = None if topics is None else ("partitions.topic", topics)
    parts = _parts(lake.rows(SNAPSHOTS, hour, COLUMNS, among))
    header = _header(lake, hour, parts)
    tables = {name: _part_of(parts, name) for name in SCHEMAS}
    if topics is not None:
        for name, key in (("topics", "name"), ("partitions", "topic")):
            tables[name] = tables[name].filter(pc.is_in(tables[name][key], value_set=topics))
        header = Node({**header.mapping(HEADER_KEYS), "rows": {}}, header.source)
    return assembled(header, tables, lambda name: f"{header.source}, part {name}")


class Sizes(Struct, frozen=True):
    """What an earlier snapshot says of how large partitions were."""

    at: Hour
    cluster_id: str
    observed_at: str
    silent: tuple[BrokerId, ...]
    topics: pa.Table
    """Name and id."""
    partitions: pa.Table
    """Topic, partition, bytes, replicas."""


def topics_at(lake: Lake, hour: Hour) -> ClusterTopics:
    """The topics in the snapshot of an hour; raises BadFile."""
    rows = lake.rows(SNAPSHOTS, hour, ("hour", "part", "row", "topics.name", "partitions.topic"))
    parts = _parts(rows)
    names = _whole(parts, "topics", rows)["name"].combine_chunks()
    topics, codes = topics_of(_whole(parts, "partitions", rows))
    return ClusterTopics(
        names, np.bincount(positions_in(topics, names)[codes], minlength=len(names))
    )


def sizes_between(
    lake: Lake, first: Hour, last: Hour, topics: pa.Array | None = None
) -> Iterator[Sizes]:
    """The sizes in the snapshots of a cluster from one hour to another, both included, oldest first; raises BadFile.

    `topics`: those of the partitions of some topics alone.
    """
    among = None if topics is None else ("partitions.topic", topics)
    for rows in lake.between(SNAPSHOTS, first, last, SIZES, among):
        hours = sorted(pc.unique(rows["hour"]).to_pylist())
        for hour in hours:
            at = Hour(first.cluster, rows["day"][0].as_py(), hour)
            whole = rows if len(hours) == 1 else rows.filter(pc.equal(rows["hour"], hour))
            parts = _parts(whole)
            header = _header(lake, at, parts)
            identity, silent = identity_of(header), header.get("silent")
            named, partitions = (_whole(parts, name, rows) for name in ("topics", "partitions"))
            if topics is not None:
                partitions = partitions.filter(pc.is_in(partitions["topic"], value_set=topics))
            quiet = () if silent is None else tuple(silent.broker_list())
            yield Sizes(at, identity.cluster_id, identity.observed_at, quiet, named, partitions)


SIZES = (
    *("day", "hour", "part", "row", HEADER_COLUMN, "topics.name", "topics.id"),
    *(f"partitions.{name}" for name in ("topic", "partition", "bytes", "replicas")),
)
COLUMNS = ("day", "hour", "part", "row", HEADER_COLUMN, *SCHEMAS)


def _header(lake: Lake, hour: Hour, parts: Mapping[str, pa.Table]) -> Node:
    place = f"{lake.place(SNAPSHOTS)}, {hour.cluster} {hour.day} {hour.hour:02}h"
    headers = parts[HEADER_COLUMN][HEADER_COLUMN].to_pylist() if HEADER_COLUMN in parts else []
    if len(headers) != 1:
        raise BadFile(f"{place}: there are {len(headers)} snapshots, where one is expected")
    return Node(parse_document(headers[0], place), place)


def _parts(rows: pa.Table) -> Mapping[str, pa.Table]:
    """The rows of a snapshot by their part, in the order that they had in it."""
    by_name: dict[str, list[pa.Table]] = {}
    for (name,), some in in_runs(rows, "part"):
        by_name.setdefault(name, []).append(some)
    return {name: _ordered(pa.concat_tables(some)) for name, some in by_name.items()}


def _ordered(rows: pa.Table) -> pa.Table:
    numbers = rows["row"].to_numpy()
    return rows if bool((numbers[1:] > numbers[:-1]).all()) else rows.sort_by("row")


def _whole(parts: Mapping[str, pa.Table], name: str, like: pa.Table) -> pa.Table:
    """A part of a snapshot as a table of its own."""
    return pa.Table.from_struct_array(parts.get(name, like.slice(0, 0))[name])


def _part_of(parts: Mapping[str, pa.Table], name: str) -> pa.Table:
    """One table of a snapshot; a column that it was written without is null, or has empty lists."""
    schema = SCHEMAS[name]
    if name not in parts:
        return schema.empty_table()
    rows = _whole(parts, name, parts[name])
    for field in schema:
        if pa.types.is_list(field.type) and rows.column(field.name).null_count == rows.num_rows:
            rows = with_column(rows, field.name, pa.array([[]] * rows.num_rows, field.type))
    return rows
