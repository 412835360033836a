"""Cost: what it takes to put each drifted partition right; bytes, those between racks, time, money.

A new replica copies the whole partition from its leader; where it has none, from the first of its list, as in a plan.
Seconds are those at the declared rate of moves, of the slower of the two sides, with nothing else on it; without a rate
there are none. Money is for bytes between racks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from replan.fleet.lake.tables import COSTS
from replan.fleet.stages.classify import drift_rows
from replan.fleet.tasks.work import Work
from replan.model.declared.placement import MoveThrottle, Side
from replan.model.declared.policy import GB
from replan.model.names import BrokerId
from replan.planning.comparison.diff import MOVABLE
from replan.planning.plans.moves import source_of


def cost(work: Work) -> Mapping[str, pa.Table]:
    """A row of each partition that a move can put right."""
    movable_drift = [c for c in work.drift.drifted if c.kind in MOVABLE and c.declared]
    if not movable_drift:
        return {COSTS.name: COSTS.schema.empty_table()}
    movable = drift_rows(work, movable_drift).to_pylist()
    racks = {broker.id: broker.rack for broker in work.snapshot.brokers}
    rows = [_row(r, racks, work) for r in movable]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {COSTS.name: work.rows(COSTS, columns)}


def _row(
    drifted: Mapping[str, Any], racks: Mapping[BrokerId, str | None], work: Work
) -> dict[str, Any]:
    new = [b for b in drifted["declared"] if b not in drifted["observed"]]
    source, size = source_of(drifted["leader"], drifted["observed"]), drifted["bytes"] or 0
    crossing = size * sum(
        racks.get(b) is not None and racks.get(source) is not None and racks[b] != racks[source]
        for b in new
    )
    prices = work.prices
    price = None if prices is None else prices.cross_rack_per_gb
    return {
        "topic": drifted["topic"],
        "partition": drifted["partition"],
        "bytes": size * len(new),
        "cross_rack_bytes": crossing,
        "seconds": _seconds(source, new, size, work.placement.move_throttle),
        "amount": None if price is None else float(crossing * price / GB),
        "currency": None if prices is None or price is None else prices.currency,
    }


def _seconds(
    source: BrokerId, new: Sequence[BrokerId], size: int, throttle: MoveThrottle | None
) -> float | None:
    """How long the slowest side of the copies of one partition takes at its rate; None without any rate."""
    if throttle is None:
        return None
    sides = [(source, Side.LEADER, size * len(new)), *((b, Side.FOLLOWER, size) for b in new)]
    rates = [(copied, throttle.rate_of(broker, side)) for broker, side, copied in sides]
    return max((copied / rate for copied, rate in rates if rate is not None), default=None)
