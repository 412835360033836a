"""Cost: what it takes to put each drifted partition right; bytes, those between racks, time, money.

A new replica copies the whole partition from its leader; where it has none, from the first of its list, as in a plan.
Seconds are those at the declared rate of moves, of the slower of the two sides, with nothing else on it; without a rate
there are none. Money is for bytes between racks.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from replan.fleet.lake.tables import COSTS
from replan.fleet.stages.classify import drift_rows, drifted_of
from replan.fleet.tasks.work import Work
from replan.model.declared.placement import MoveThrottle, Side
from replan.model.declared.policy import GB
from replan.model.names import BrokerId
from replan.planning.comparison.diff import MOVABLE
from replan.planning.plans.moves import source_of


def cost(work: Work) -> Mapping[str, pa.Table]:
    """A row of each partition that a move can put right."""
    movable_drift = [c for c in drifted_of(work) if c.kind in MOVABLE and c.declared]
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
        "seconds": throttled_seconds([(source, new, size)], work.placement.move_throttle),
        "amount": None if price is None else float(crossing * price / GB),
        "currency": None if prices is None or price is None else prices.currency,
    }


def throttled_seconds(
    copies: Iterable[tuple[BrokerId, Sequence[BrokerId], int]], throttle: MoveThrottle | None
) -> float | None:
    """How long the busiest broker copies at the declared rates, with all else waiting for it; None without any.

    `copies`: from whom, to whom, and how many bytes to each.
    """
    load: Counter[tuple[BrokerId, Side]] = Counter()
    for source, new, size in copies:
        load[source, Side.LEADER] += size * len(new)
        load.update({(broker, Side.FOLLOWER): size for broker in new})
    if throttle is None:
        return None
    rates = {key: throttle.rate_of(*key) for key in load}
    return max((load[key] / rate for key, rate in rates.items() if rate is not None), default=None)
