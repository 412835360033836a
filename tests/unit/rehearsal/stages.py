"""A small cluster, a plan for it, and its rehearsal."""

from collections.abc import Sequence

from tests.builders import brokers, placement, snapshot, state

from replan.faults.api import FaultSpec, read_fault
from replan.model.api import BrokerId, MoveThrottle, Snapshot
from replan.planning.api import Plan, make_plan
from replan.rehearsal.api import (
    BrokerLoad,
    Options,
    Rehearsal,
    cluster_of,
    fault_context,
    rehearse_plan,
)

MB = 1_000_000
SEEN = snapshot(
    [state([1, 2, 3], size=1_000 * MB), state([2, 3, 1], partition=1, size=100 * MB)],
    registered=brokers(5),
)


def plan_of(*targets: Sequence[int], seen: Snapshot = SEEN, rate: int | None = 50 * MB) -> Plan:
    """The plan that gives orders-0, orders-1 … these lists."""
    throttle = None if rate is None else MoveThrottle(rate)
    return make_plan(placement({"orders": dict(enumerate(targets))}, throttle=throttle), seen)


def faults_of(*texts: str, seen: Snapshot = SEEN) -> tuple[FaultSpec, ...]:
    """Faults in words."""
    around = fault_context(cluster_of(seen))
    return tuple(read_fault(text, around) for text in texts)


def rehearsed(plan: Plan, *faults: str, seen: Snapshot = SEEN, **options: float) -> Rehearsal:
    """The rehearsal of a plan under these faults."""
    return rehearse_plan(
        plan,
        seen,
        Options(faults=faults_of(*faults, seen=seen), **options),  # type: ignore[arg-type]  # numbers only
    )


def load_of(found: Rehearsal, broker: int) -> BrokerLoad:
    """One broker's share."""
    return next(b for b in found.brokers if b.broker == BrokerId(broker))
