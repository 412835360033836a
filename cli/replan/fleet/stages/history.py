"""History: since when each thing drifts, how often it came back, since when it is gone.

Made of the whole table `drift` of a cluster, not of the last run alone: so a late snapshot falls into its place, and
one that came twice changes nothing. What drifts in two comparisons that follow each other drifts in one spell; a
comparison in between without it ends the spell. What the tables no longer have, because its days were removed, is
carried over from the history that there is.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replan.fleet.lake.delta import Lake, quoted
from replan.fleet.lake.tables import DRIFT, HISTORY, JUDGED

KEYS = ("topic", "partition", "broker", "kind")
_ITEM = ("topic", "partition", "broker", "class", "kind")


def history(lake: Lake, cluster: str) -> pa.Table:
    """The history of one cluster; raises BadFile. Its class is the newest that a thing had."""
    where = f"cluster = {quoted(cluster)}"
    judged = lake.read(JUDGED, where, ["day", "hour", "observed_at"])
    moments = sorted(judged.to_pylist(), key=lambda r: (r["day"], r["hour"]))
    drifted = lake.read(DRIFT, where, ["day", "hour", *_ITEM, "owner", "acknowledged_until"])
    return spells(cluster, moments, drifted, lake.read(HISTORY, where))


def spells(
    cluster: str, moments: list[dict[str, Any]], drifted: pa.Table, before: pa.Table
) -> pa.Table:
    """The history out of the comparisons in their order, the drift that each found, and an earlier history."""
    place = {(m["day"], m["hour"]): i for i, m in enumerate(moments)}
    at = np.array(
        [
            place.get(key, -1)
            for key in zip(drifted["day"].to_pylist(), drifted["hour"].to_pylist(), strict=True)
        ],
        dtype=np.int64,
    )
    drifted, at = drifted.filter(pa.array(at >= 0)), at[at >= 0]
    groups = _groups(drifted)
    order = np.lexsort((at, groups))
    groups, at = groups[order], at[order]
    first = np.flatnonzero(np.append(True, groups[1:] != groups[:-1])[: len(groups)])
    last = np.append(first[1:], len(groups)) - 1 if len(first) else first
    begins = np.append(True, (groups[1:] != groups[:-1]) | (at[1:] > at[:-1] + 1))[: len(groups)]
    counts = np.add.reduceat(begins, first) if len(first) else np.zeros(0, dtype=np.int64)
    seen = [m["observed_at"] for m in moments]
    newest = drifted.take(pa.array(order[last]))
    is_open = at[last] == len(moments) - 1
    carried = _earliest(before)
    rows = []
    for row, start, end, count, running in zip(
        newest.to_pylist(), at[first], at[last], counts, is_open, strict=True
    ):
        known = carried.get(tuple(row[k] for k in KEYS))
        # A spell that runs since the oldest comparison that is left may be older than that.
        older = known is not None and start == 0 and known["first_seen"] < seen[0]
        rows.append(
            {
                "cluster": cluster,
                **{k: row[k] for k in _ITEM},
                "first_seen": known["first_seen"] if known and older else seen[start],
                "last_seen": seen[end],
                "spells": max(int(count), known["spells"] if known and older else 0),
                "open": bool(running),
                "resolved_at": None if running else seen[end + 1],
                "acknowledged_until": row["acknowledged_until"],
                "owner": row["owner"],
            }
        )
    rows.sort(key=lambda r: [(r[k] is None, r[k]) for k in (*_ITEM, "first_seen")])
    return pa.Table.from_pylist(rows, schema=HISTORY.schema)


def _groups(drifted: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A number for each row, the same for rows of the same thing."""
    parts = [pc.fill_null(drifted.column(k).cast(pa.string()), "\x00") for k in KEYS]
    keys = pc.binary_join_element_wise(*parts, "\x01").combine_chunks()
    encoded = keys.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        return np.zeros(0, dtype=np.int64)
    return np.asarray(encoded.indices, dtype=np.int64)


def _earliest(before: pa.Table) -> Mapping[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[k] for k in KEYS): row for row in before.to_pylist()}
