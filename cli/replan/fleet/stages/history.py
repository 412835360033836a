"""History: since when each thing drifts, how often it came back, since when it is gone.

Made of the whole table `drift` of a cluster, not of the last run alone: so a late snapshot falls into its place, and
one that came twice changes nothing. What drifts in two comparisons that follow each other drifts in one spell; a
comparison in between without it ends the spell. What the tables no longer have, because its days were removed, is
carried over from the history that there is: the beginning of what still drifts, and the whole row of what had gone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replan.fleet.lake.delta import Lake, in_runs, is_among
from replan.fleet.lake.files import RowFile, always, put_rows
from replan.fleet.lake.rates_and_spells import lately
from replan.fleet.lake.tables import APPLICATIONS, DRIFT, HISTORY, JUDGED, LakeTable
from replan.model.columns import with_column
from replan.planning.findings.spells import flaps

ITEM_KEYS = ("topic", "partition", "broker", "kind")
_HOUR = len("2026-11-21T03")
_ITEM = ("topic", "partition", "broker", "class", "kind")
READ_AT_ONCE = 500
"""So many clusters are read together: a table costs as much to read for one as for some hundred small ones."""
READ: Mapping[LakeTable, Sequence[str]] = {
    JUDGED: ("cluster", "day", "hour", "observed_at", "cluster_id"),
    HISTORY: HISTORY.schema.names,
    DRIFT: ("cluster", "cluster_id", "day", "hour", *_ITEM, "owner", "acknowledged_until"),
    APPLICATIONS: APPLICATIONS.schema.names,
}
"""What a history is made of."""


class HistoryRows(NamedTuple):
    """The rows of one cluster, or of some of its topics, in the tables of `READ`."""

    judged: pa.Table
    before: pa.Table
    """The history that there is."""
    drifted: pa.Table
    applications: pa.Table


def kept_history_of(lake: Lake, clusters: Sequence[str]) -> Iterator[tuple[str, HistoryRows]]:
    """What there is of each cluster; raises BadFile."""
    for start in range(0, len(clusters), READ_AT_ONCE):
        some = clusters[start : start + READ_AT_ONCE]
        where = is_among("cluster", some)
        tables_of: dict[str, list[pa.Table]] = {name: [] for name in some}
        for table, columns in READ.items():
            rows = lake.read(table, where, columns).sort_by("cluster")
            mine = {name: of for (name,), of in in_runs(rows, "cluster")}
            for name in some:
                tables_of[name].append(mine.get(name, rows[:0]))
        yield from ((name, HistoryRows(*tables)) for name, tables in tables_of.items())


def put_history(
    cluster: str, kept: HistoryRows, lake: Lake, run: str, *, part: bool = False
) -> tuple[bool, RowFile | None]:
    """Whether the history has changed, and its rows as a file that nobody has committed yet; raises BadFile.

    There is a file where it has changed, and of a `part` of a cluster, another of which may have changed.
    """
    if not kept.before.num_rows and not kept.drifted.num_rows:
        return False, None
    rows = history_of(cluster, kept)
    before, after = (sorted(map(str, table.to_pylist())) for table in (kept.before, rows))
    written = rows.num_rows and (part or before != after)
    return before != after, put_rows(lake, HISTORY, rows, always(cluster), run) if written else None


def history_of(cluster: str, kept: HistoryRows) -> pa.Table:
    """The history of a cluster. The class of a thing is the newest that it had.

    A cluster that was created again under the same name has a history of its own, which takes the place of the other's.
    """
    judged, before, drifted, applications = kept
    moments = sorted(judged.to_pylist(), key=lambda r: (r["day"], r["hour"]))
    if moments:
        newest = moments[-1]["cluster_id"]
        moments = [moment for moment in moments if moment["cluster_id"] == newest]
        drifted, applications = (
            rows.filter(pc.equal(rows["cluster_id"], newest)) for rows in (drifted, applications)
        )
        before = before.filter(pc.equal(before["cluster_id"], newest))
    return resolved(spells(cluster, moments, drifted, before), applications, before)


def spells(
    cluster: str, moments: list[dict[str, Any]], drifted: pa.Table, before: pa.Table
) -> pa.Table:
    """The history out of the comparisons in their order, the drift that each found, and an earlier history."""
    place = {(m["day"], m["hour"]): i for i, m in enumerate(moments)}
    hours = zip(drifted["day"].to_pylist(), drifted["hour"].to_pylist(), strict=True)
    at = np.array([place.get(hour, -1) for hour in hours], dtype=np.int64)
    drifted, at = drifted.filter(pa.array(at >= 0)), at[at >= 0]
    groups = _groups(drifted)
    order = np.lexsort((at, groups))
    groups, at = groups[order], at[order]
    first = np.diff(groups, prepend=-1) != 0
    bounds = [*np.flatnonzero(first).tolist(), len(groups)]
    begins = first | (np.diff(at, prepend=0) > 1)
    newest = drifted.take(pa.array(order[np.array(bounds[1:], dtype=np.int64) - 1]))
    at_hours = [m["observed_at"] for m in moments]
    carried = {_key(row): row for row in before.to_pylist()}
    rows = []
    for row, start, end in zip(newest.to_pylist(), bounds, bounds[1:], strict=False):
        began = at[start:end][begins[start:end]].tolist()
        rows.append(
            {
                "cluster": cluster,
                "cluster_id": moments[0]["cluster_id"],
                **{k: row[k] for k in (*_ITEM, "acknowledged_until", "owner")},
                **_spell(began, int(at[end - 1]), at_hours, carried.get(_key(row))),
            }
        )
    keys = {_key(row) for row in rows}
    gone = (row for key, row in carried.items() if _is_older(row, at_hours) and key not in keys)
    rows += [_gone(row, at_hours) for row in gone]
    rows.sort(key=lambda r: [(r[k] is None, r[k]) for k in (*_ITEM, "first_seen")])
    return pa.Table.from_pylist(rows, schema=HISTORY.schema)


def _spell(
    began: Sequence[int], last: int, hours: Sequence[str], before: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    """What is said of one thing: the comparisons in which a spell of it began, and the last that found it.

    A thing that was there before the oldest comparison that is left keeps what is known of that time.
    """
    is_open = last == len(hours) - 1
    spell = {
        "first_seen": hours[began[0]],
        "since": hours[began[-1]],
        "last_seen": hours[last],
        "spells": len(began),
        "open": is_open,
        "resolved_at": None if is_open else hours[last + 1],
    }
    if before is None or not _is_older(before, hours):
        return {**spell, **_lately((hours[n] for n in began), hours[-1])}
    # By the hour: its snapshot may have been replaced since.
    later = sum(n > 0 and hours[n][:_HOUR] > before["last_seen"][:_HOUR] for n in began)
    spells = max(len(began), before["spells"] + later)
    spell |= {"first_seen": before["first_seen"], "spells": spells}
    if began == [0]:  # it may be older than the oldest comparison
        spell["since"] = before["since"]
    earlier = [moment for moment in before["began"] if moment[:_HOUR] < hours[0][:_HOUR]]
    return {**spell, **_lately([*earlier, *(hours[n] for n in began if n > 0)], hours[-1])}


def _lately(began: Iterable[str], newest: str) -> Mapping[str, Any]:
    """How often it began of late, at the newest comparison."""
    moments = lately(began, newest)
    return {"began": moments, "flapping": flaps(moments)}


def _is_older(before: Mapping[str, Any], hours: Sequence[str]) -> bool:
    """Whether it was there in an hour before the oldest comparison that is left, if one is left."""
    return not hours or bool(before["first_seen"][:_HOUR] < hours[0][:_HOUR])


def _gone(before: dict[str, Any], hours: Sequence[str]) -> dict[str, Any]:
    """The row of a thing that no comparison that is left has found: it was gone at the oldest of them at the latest."""
    if not hours:
        return before
    return {
        **before,
        "last_seen": min(before["last_seen"], hours[0]),
        "open": False,
        "resolved_at": min(before["resolved_at"] or hours[0], hours[0]),
        **_lately(before["began"], hours[-1]),
    }


def resolved(ended: pa.Table, applications: pa.Table, before: pa.Table) -> pa.Table:
    """The history with the application that moved each thing that is gone.

    It is the last that brought the partition to its place, of those that were open at some time between the last
    comparison that found the difference and the first that did not. What was known before stays, since the rows of
    old applications are removed.
    """
    moved: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in sorted(applications.to_pylist(), key=lambda r: r["ended_at"]):
        moved.setdefault((row["topic"], row["partition"]), []).append(row)
    by_before = {(*_key(row), row["resolved_at"]): row["resolved_by"] for row in before.to_pylist()}
    by = []
    for row in ended.select([*ITEM_KEYS, "last_seen", "resolved_at"]).to_pylist():
        fits = [
            one["application"]
            for one in moved.get((row["topic"], row["partition"]), ())
            if row["resolved_at"] is not None
            and one["ended_at"] > row["last_seen"]
            and one["opened_at"] <= row["resolved_at"]
        ]
        by.append(fits[-1] if fits else by_before.get((*_key(row), row["resolved_at"])))
    return with_column(ended, "resolved_by", pa.array(by, pa.string()))


def _groups(drifted: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A number for each row, the same for rows of the same thing."""
    parts = [pc.fill_null(drifted.column(k).cast(pa.string()), "\x00") for k in ITEM_KEYS]
    keys = pc.binary_join_element_wise(*parts, "\x01").combine_chunks()
    encoded = keys.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        return np.zeros(0, dtype=np.int64)
    return np.asarray(encoded.indices, dtype=np.int64)


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[k] for k in ITEM_KEYS)
