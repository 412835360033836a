"""What tests ask again and again: of a cluster out of `look`, what differs, and a plan as text."""

from collections.abc import Collection, Mapping

import pyarrow as pa

from replan.model.api import (
    BrokerId,
    ClusterReader,
    Configs,
    Placement,
    Rates,
    Snapshot,
    TopicPartition,
    Wanted,
    listed_by_broker,
)
from replan.planning.api import Drift, Plan, compare_lists, compared, drift_of, partition_rows
from replan.reporting.api import NOTHING_BESIDE, PlanContext, drawn, plan_lines


def find_drift(placement: Placement, snapshot: Snapshot, rates: Rates | None = None) -> Drift:
    """What differs."""
    return drift_of(compared(placement, snapshot, rates))


def rates_of(cluster: ClusterReader, *brokers: int) -> Mapping[BrokerId, Configs]:
    """The throttle rates of the brokers that answer."""
    return cluster.look(Wanted(rates_of=[BrokerId(b) for b in brokers])).rates


def sizes_of(
    cluster: ClusterReader, names: Collection[TopicPartition]
) -> dict[tuple[TopicPartition, BrokerId], int]:
    """The sizes of all replicas of these partitions, on the brokers that answer."""
    states = cluster.look(Wanted(partitions=names)).partitions
    asked = listed_by_broker({name: state.replicas for name, state in states.items()})
    found = cluster.look(Wanted(sizes_of=asked)).sizes
    return {(name, broker): size for broker, of in found.items() for name, size in of.items()}


def plan_text(
    plan: Plan,
    context: PlanContext = NOTHING_BESIDE,
    *,
    everything: bool = False,
    steps: bool = False,
) -> str:
    """The whole plan, as a pipe gets it."""
    return drawn(plan_lines(plan, context, everything=everything, steps=steps))


def differing(wanted: pa.Table, observed: pa.Table) -> pa.Table:
    """Partitions that differ from what is declared, in the columns of DIFFERENCE_SCHEMA."""
    return compare_lists(wanted, observed, partition_rows(wanted, observed)).table
