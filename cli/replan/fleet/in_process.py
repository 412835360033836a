"""The pipeline in this process, one cluster after another: for fleets that are small, and without Java or the extra.

The same functions as inside Spark (`heads`, `resolve`, `planning.comparison.diff`), so both engines mean the same; a
test holds them to it. Memory is that of the largest cluster.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.compute as pc

from replan.fleet.heads import read_heads
from replan.fleet.pairs import FleetError, Head, Pair, pair_up
from replan.fleet.resolve import resolve_pairs
from replan.fleet.result import FleetDrift, in_order
from replan.fleet.sources import Source
from replan.fleet.tables import CLUSTERS, DRIFT, ERRORS, HEADS, PAIRS, RESOLVED, SOURCES
from replan.planning.comparison.diff import DifferenceKind, differing


@dataclass(frozen=True, slots=True)
class _Compared:
    """One cluster: its row of CLUSTERS, and its rows of DRIFT."""

    cluster: pa.Table
    drift: pa.Table


def compare_in_process(sources: Iterable[Source]) -> FleetDrift:
    """Compare each cluster's newest snapshot with its placement."""
    named = pa.Table.from_pylist([s.row() for s in sources], schema=SOURCES)
    heads = pa.Table.from_batches(read_heads(named.to_batches()), HEADS)
    pairing = pair_up(Head(**row) for row in heads.to_pylist())
    found = [_compare(pair) for pair in pairing.pairs]
    compared = [one for one in found if isinstance(one, _Compared)]
    errors = [*pairing.errors, *(one for one in found if isinstance(one, FleetError))]
    return in_order(
        pa.concat_tables([DRIFT.empty_table(), *(one.drift for one in compared)]),
        pa.concat_tables([CLUSTERS.empty_table(), *(one.cluster for one in compared)]),
        pa.Table.from_pylist([asdict(error) for error in errors], schema=ERRORS),
        pairing.undeclared,
        pairing.older,
    )


def _compare(pair: Pair) -> _Compared | FleetError:
    batch = pa.RecordBatch.from_pylist([asdict(pair)], schema=PAIRS)
    rows = pa.Table.from_batches(resolve_pairs([batch]), RESOLVED)
    if (unread := _side(rows, "error")).num_rows:
        message = unread.column("message")[0].as_py()
        return FleetError(pair.cluster_name, pair.snapshot, message)
    declared, surplus = _side(rows, "declared"), _side(rows, "surplus")
    found = differing(declared, _side(rows, "observed"))
    on_the_way = pc.equal(found.column("kind"), DifferenceKind.RUNNING.value)
    drifted = found.filter(pc.invert(on_the_way))
    cluster = {
        **_named(pair),
        "partitions": declared.num_rows,
        "drifted": drifted.num_rows + surplus.num_rows,
        "converging": found.num_rows - drifted.num_rows,
    }
    return _Compared(
        pa.Table.from_pylist([cluster], schema=CLUSTERS),
        pa.concat_tables([_drift(pair, drifted), _drift(pair, _beyond_the_count(surplus))]),
    )


def _side(rows: pa.Table, side: str) -> pa.Table:
    return rows.filter(pc.equal(rows.column("side"), side))


def _named(pair: Pair) -> dict[str, object]:
    return {name: getattr(pair, name) for name in ("cluster_id", "cluster_name", "observed_at")}


def _beyond_the_count(surplus: pa.Table) -> pa.Table:
    nothing = pa.array([[]] * surplus.num_rows, DRIFT.field("declared").type)
    return (
        surplus.select(["topic", "partition", "leader"])
        .append_column("kind", pa.repeat(pa.scalar("partitions"), surplus.num_rows))
        .append_column("declared", nothing)
        .append_column("observed", surplus.column("replicas"))
    )


def _drift(pair: Pair, found: pa.Table) -> pa.Table:
    for name, value in _named(pair).items():
        found = found.append_column(name, pa.repeat(pa.scalar(value), found.num_rows))
    return found.select(DRIFT.names).cast(DRIFT)
