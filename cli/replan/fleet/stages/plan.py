"""Plan: the plan of each cluster, to the byte the one that `replan plan --snapshot` saves."""

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256

import pyarrow as pa

from replan.fleet.lake.tables import PLANS
from replan.fleet.tasks.work import Work
from replan.model.declared.placement import MoveThrottle, Side
from replan.model.names import BrokerId
from replan.planning.making.planner import plan_of
from replan.planning.plans import plan_file
from replan.planning.plans.plan import Plan


def plan(work: Work) -> Mapping[str, pa.Table]:
    """One row: the plan, and what it comes to. Raises UnsafePlan where a limit refuses it."""
    made = plan_of(work.comparison)
    document = plan_file.dumps(made)
    columns = {
        "digest": [sha256(document.encode()).hexdigest()],
        "changes": [made.steps],
        "refusals": [len(made.refusals)],
        "bytes": [sum(move.copies_bytes for move in made.moves)],
        "seconds": [throttled_seconds(made, work.placement.move_throttle)],
        "document": [document],
    }
    return {PLANS.name: work.rows(PLANS, columns, 1)}


def throttled_seconds(made: Plan, throttle: MoveThrottle | None) -> float | None:
    """How long the busiest broker copies at the declared rates, with all else waiting for it; None without any."""
    load: Counter[tuple[BrokerId, Side]] = Counter()
    for move in made.moves:
        for broker in move.new:
            load[broker, Side.FOLLOWER] += move.bytes
            load[move.source, Side.LEADER] += move.bytes
    if throttle is None:
        return None
    rates = {key: throttle.rate_of(*key) for key in load}
    return max((load[key] / rate for key, rate in rates.items() if rate is not None), default=None)
