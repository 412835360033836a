"""What tests ask again and again: of a cluster out of `look`, what differs, a plan as text, and where it ends."""

from collections.abc import Collection, Mapping

import pyarrow as pa
from msgspec.structs import replace
from tests.builders import snapshot, state

from replan.model.api import (
    BrokerId,
    ClusterReader,
    Configs,
    Placement,
    Rates,
    RememberedOrder,
    Snapshot,
    TopicPartition,
    Wanted,
    listed_by_broker,
)
from replan.planning.api import (
    Drift,
    Move,
    Plan,
    compare_lists,
    compared,
    drift_of,
    make_plan,
    partition_rows,
)
from replan.reporting.api import NOTHING_BESIDE, PlanContext, drawn, plan_lines


def find_drift(asked: Placement, seen: Snapshot, rates: Rates | None = None) -> Drift:
    """What differs."""
    return drift_of(compared(asked, seen, rates))


def arrives(asked: Placement, seen: Snapshot, rates: Rates | None = None) -> Plan:
    """The plan, which refuses nothing; where it ends nothing is left to plan, and nothing differs."""
    plan = make_plan(asked, seen, rates=rates)
    end = after(plan, seen)
    assert plan.refusals == ()
    assert make_plan(asked, end, rates=rates).empty
    assert find_drift(asked, end, rates).none
    return plan


def after(plan: Plan, seen: Snapshot) -> Snapshot:
    """The snapshot when all partitions are there, every move has ended and every replica is in sync.

    With the orders that it remembers.
    """
    moved = {m.partition: m for m in plan.moves}
    new = [
        state(listed, partition=name.partition, topic=name.topic)
        for create in plan.creates
        for name, listed in create.partitions.items()
    ]
    states = [
        replace(s, replicas=m.target, isr=m.target, leader=_leader(m))
        if (m := moved.get(s.partition))
        else s
        for s in (*seen.states(range(seen.partitions.num_rows)), *new)
    ]
    orders = {
        m.partition: RememberedOrder(m.original, m.topic_id)
        for m in plan.moves
        if m.partition in plan.remember
    }
    ended = snapshot(states, registered=seen.brokers, remembered={**seen.remembered, **orders})
    return replace(ended, topics=seen.topics)


def _leader(move: Move) -> BrokerId:
    stays = move.leader in move.target and not move.elect
    return move.leader if stays and move.leader is not None else move.target[0]


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
