"""The laws that every plan keeps, written once: what must hold of (placement, snapshot, plan) whatever made it.

Here belong the laws that can be judged without letting time pass, as pure functions that return what they find broken.
`planner` asks about every plan that it makes: a broken one is a bug of replan itself, and nothing is planned. Tests ask
the same functions of plans that no planner made. Laws over a run are in `run_invariants`. Not here: rules that a
placement or a cluster can break (`refusals`), and how a plan comes about.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from replan.errors import UnsafePlan
from replan.model.columns import from_lists, take, with_column
from replan.model.declared.intents import Intents
from replan.model.declared.placement import Placement, PreferredLeader
from replan.model.names import TopicPartition
from replan.model.partition import PartitionState
from replan.model.snapshot import RememberedOrder, Snapshot
from replan.planning.comparison.alignment import Alignment, named_partitions, partition_rows
from replan.planning.comparison.diff import DifferenceKind, compare_lists
from replan.planning.comparison.overlays import lay_overlays
from replan.planning.placing.broken_rules import Finding
from replan.planning.plans.moves import Move, ObservedMove
from replan.planning.plans.plan import Plan
from replan.planning.safety.plan_laws import (
    Broken,
    broken_laws_text,
    lawful_alone,
    not_asked_for,
    off_prefix,
)


def require_invariants(
    placement: Placement,
    snapshot: Snapshot,
    plan: Plan,
    judged: Sequence[ObservedMove],
    findings: Sequence[Finding] = (),
) -> Plan:
    """Give back the plan if it keeps the cheap laws; raises UnsafePlan, since a broken one is a bug of replan."""
    broken = [*broken_laws(placement, snapshot, plan, judged), *keeps_rules(snapshot, findings)]
    if broken:
        raise UnsafePlan(
            f"the plan breaks laws that every plan must keep, so it is not made:\n{broken_laws_text(broken)}\n"
            "This is a bug in replan, not in the placement. Please report it, with the placement and the output of "
            "`replan snapshot`; nothing was changed"
        )
    return plan


def broken_laws(
    placement: Placement, snapshot: Snapshot, plan: Plan, judged: Sequence[ObservedMove]
) -> list[Broken]:
    """All that is broken of the laws that cost little: time and memory grow with the moves, not with the cluster."""
    return [
        *lawful_alone(plan),
        *only_what_was_asked(snapshot, plan, judged),
        *(broken for move, state in judged for broken in unsafe_start(move, state)),
        *arrives(placement, snapshot, judged, plan.remember),
    ]


def keeps_rules(snapshot: Snapshot, findings: Sequence[Finding]) -> Iterator[Broken]:
    """The lists that were chosen keep the rules that they were chosen by (`placing.broken_rules`)."""
    for finding in findings:
        [state] = snapshot.states([finding.row])
        name = str(state.partition)
        yield Broken(
            "keeps-rules", name, f"{name}: its chosen list breaks its rule ({finding.breach})"
        )


def only_what_was_asked(
    snapshot: Snapshot, plan: Plan, judged: Sequence[ObservedMove]
) -> Iterator[Broken]:
    """The plan is for this cluster, and moves from what is observed to something else."""
    if plan.cluster_id != snapshot.cluster_id:
        yield not_asked_for(
            "the plan", f"it is for cluster {plan.cluster_id}, not {snapshot.cluster_id}"
        )
    if plan.racks != snapshot.racks:
        yield not_asked_for("the plan", "its brokers and racks are not those of the snapshot")
    for move, state in judged:
        name = move.partition
        if (move.original, move.topic_id) != (state.replicas, state.topic_id):
            observed = f"{list(state.replicas)} of topic id {state.topic_id}"
            yield not_asked_for(
                name, f"it is planned from {list(move.original)}, and {observed} is observed"
            )
        if move.is_leader_only and move.elect and state.leader == move.target[0]:
            yield not_asked_for(name, f"it is where it belongs, {list(move.target)}, and is moved")
        if state.adding or state.removing:
            yield not_asked_for(name, "a reassignment runs on it, and it is moved")


def unsafe_start(move: Move, state: PartitionState) -> Iterator[Broken]:
    """A move begins only where what is observed can bear it."""
    if move.new and move.unclean_election and len(state.isr) < 2:
        yield Broken(
            "unclean-guard",
            str(move.partition),
            f"{move.partition}: an empty replica is added while only {list(state.isr)} is in sync and unclean "
            "elections are allowed",
        )
    if state.leader is None:
        yield off_prefix(move, "it has no leader, and is moved")


def arrives(
    placement: Placement,
    snapshot: Snapshot,
    judged: Sequence[ObservedMove],
    remember: frozenset[TopicPartition],
) -> Iterator[Broken]:
    """Where every move has ended, the placement wants nothing else of these partitions.

    Judged over the moved partitions alone, as each list is decided by its own partition.
    """
    if not judged:
        return
    after = _moved_alone(snapshot, judged, remember)
    names = named_partitions(sorted(m.partition for m, _ in judged))
    rows = partition_rows(names, placement.explicit)
    declared = replace(
        placement,
        explicit=take(placement.explicit, rows[rows >= 0]),
        apart=(),  # it is about all topics together
        balance=None,  # it is about all partitions together, as are balanced leaders: those are taken as chosen
        preferred_leaders={**_balanced(placement, judged), **placement.preferred_leaders},
        leader_rules={p: r for p, r in placement.leader_rules.items() if not r.balanced},
    )
    wanted = lay_overlays(Alignment.of(declared, after))
    remaining = compare_lists(wanted.table, after.partitions, wanted.rows).table
    there = np.flatnonzero(np.asarray(remaining.column("kind")) != DifferenceKind.MISSING)
    for row in take(remaining, there).to_pylist():
        name = TopicPartition(row["topic"], row["partition"])
        yield Broken(
            "arrives",
            str(name),
            f"{name}: after its move its list is {row['observed']} led by {row['leader']}, and planning again "
            f"would move it ({row['kind']}) to {row['wanted']}",
        )


def _balanced(
    placement: Placement, judged: Sequence[ObservedMove]
) -> dict[TopicPartition, PreferredLeader]:
    """Who leads each moved partition whose leaders are balanced, as preferred leaders by id."""
    intents = Intents.of(placement, {m.partition.topic for m, _ in judged})
    rules = intents.leaders
    balance = placement.balance
    if balance is not None and any(t.measure.of_leaders for t in balance.tolerances):
        ruled = {
            m.partition: PreferredLeader(m.target[0], balance.where)
            for m, _ in judged
            if m.partition.topic in intents.rules and m.partition.topic not in rules
        }
    else:
        ruled = {}
    return ruled | {
        m.partition: PreferredLeader(m.target[0], rule.where)
        for m, _ in judged
        if (rule := rules.get(m.partition.topic)) and rule.balanced
    }


def end_of(move: Move, state: PartitionState) -> PartitionState:
    """A partition after its move, on a cluster where whoever is waited for is in sync, and nobody else is."""
    awaited = move.awaited(drops=bool(move.dropped))
    stays = state.leader in move.target and not move.elect
    return PartitionState(
        partition=state.partition,
        topic_id=state.topic_id,
        replicas=move.target,
        isr=tuple([b for b in move.target if b in state.isr or b in awaited]),
        leader=state.leader if stays else move.target[0],
        leader_epoch=state.leader_epoch,
        bytes=state.bytes,
    )


def _moved_alone(
    snapshot: Snapshot, judged: Sequence[ObservedMove], remember: frozenset[TopicPartition]
) -> Snapshot:
    """The snapshot with nothing but the moved partitions, as they are after their moves."""
    ends = sorted((end_of(m, state) for m, state in judged), key=lambda s: s.partition)
    rows = partition_rows(named_partitions(s.partition for s in ends), snapshot.partitions)
    table = take(snapshot.partitions, rows)
    for column, values in (
        ("leader", pa.array([s.leader for s in ends], pa.int32())),
        ("replicas", from_lists([s.replicas for s in ends])),
        ("isr", from_lists([s.isr for s in ends])),
        ("adding", from_lists([()] * len(ends))),
        ("removing", from_lists([()] * len(ends))),
    ):
        table = with_column(table, column, values)
    orders = {
        m.partition: _kept(m, snapshot.remembered.get(m.partition))
        for m, _ in judged
        if m.partition in remember
    }
    return replace(snapshot, partitions=table, remembered={**snapshot.remembered, **orders})


def _kept(move: Move, before: RememberedOrder | None) -> RememberedOrder:
    """The order that is remembered when a move begins: the first one, as long as the replicas are the same."""
    same = before is not None and set(before.order) == set(move.original)
    order = before.order if before is not None and same else move.original
    return RememberedOrder(order, move.topic_id)
