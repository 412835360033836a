"""Which partitions an election is asked for, by topic, pattern or name, and the move that lets another replica lead."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct

from replan.errors import BadUsage
from replan.model.columns import Ints
from replan.model.configs import TopicSettings
from replan.model.declared.placement import Placement
from replan.model.declared.topic_patterns import matches
from replan.model.names import BrokerId, TopicPartition, led_by
from replan.model.partition import PartitionState
from replan.model.snapshot import Snapshot
from replan.planning.available import unavailable
from replan.planning.comparison.alignment import named_partitions, partition_rows
from replan.planning.comparison.blacklist import blacklist_reaches, in_force
from replan.planning.plans.moves import Move, MoveReason, ReasonKind, StandaloneElection, move_of
from replan.planning.plans.reasons import Facts, Refusal, RefusalRule
from replan.planning.safety.refusals import SafetyRules


class Selection(Struct, frozen=True):
    """What is asked for; exactly one of the three is."""

    everything: bool = False
    topics: tuple[str, ...] = ()
    """Names and patterns."""
    partitions: tuple[TopicPartition, ...] = ()
    """Named one by one, each once."""


class SelectedPartitions(Struct, frozen=True):
    """The partitions of a cluster that are meant."""

    rows: Ints
    """Of the snapshot's `partitions`, ascending."""
    missing: tuple[TopicPartition, ...] = ()
    """Those that were named one by one, and that the cluster does not have."""


def choose_partitions(selection: Selection, snapshot: Snapshot) -> SelectedPartitions:
    """Find them; raises BadUsage where a topic or a pattern matches nothing."""
    if selection.everything:
        rows = np.arange(snapshot.partitions.num_rows)
    elif selection.partitions:
        names = sorted(set(selection.partitions))
        row_of_each = partition_rows(named_partitions(names), snapshot.partitions)
        lost = tuple(n for n, at in zip(names, row_of_each.tolist(), strict=True) if at < 0)
        return SelectedPartitions(np.sort(row_of_each[row_of_each >= 0]), lost)
    else:
        topics = sorted(_topics(selection.topics, snapshot))
        rows = np.array([at for name in topics for at in snapshot.topic_rows(name)], dtype=np.int64)
    return SelectedPartitions(rows)


def _topics(wanted: Sequence[str], snapshot: Snapshot) -> set[str]:
    names = snapshot.topics.column("name").to_pylist()
    by_pattern = {pattern: {n for n in names if matches(pattern, n)} for pattern in wanted}
    for pattern, topics in by_pattern.items():
        if not topics:
            raise BadUsage(
                f"--topic {pattern}: cluster {snapshot.cluster_id} has no such topic; check the name, or use a pattern "
                "such as 'pay*' (internal topics match only patterns that begin with __)"
            )
    return set().union(*by_pattern.values())


def leading_moves(
    wanted: Iterable[tuple[PartitionState, BrokerId]],
    snapshot: Snapshot,
    placement: Placement | None,
) -> tuple[list[Move], list[Refusal]]:
    """What lets replicas lead their partitions, and why some cannot."""
    moves, refusals = list[Move](), list[Refusal]()
    rules, settings = SafetyRules.of(snapshot), snapshot.all_settings()
    for state, leader in wanted:
        name = state.partition
        if leader not in state.replicas:
            refusals.append(Refusal(*name, RefusalRule.NO_SUCH_REPLICA, {"brokers": (leader,)}))
            continue
        move = _leading_move(state, settings[name.topic], leader)
        in_the_way = [*rules.refusals(move, state), *_cannot_lead(move, state, snapshot, placement)]
        refusals += in_the_way[:1]
        moves += [] if in_the_way else [move]
    return moves, refusals


def _leading_move(state: PartitionState, settings: TopicSettings, leader: BrokerId) -> Move:
    """Let a replica lead: it comes first in the list, if it does not stand there, and is elected."""
    target = led_by(leader, state.replicas)
    reason = MoveReason(ReasonKind.LEADER, broker=leader, leader=state.leader)
    elected = StandaloneElection.PREFERRED if target == state.replicas else None
    return move_of(state, target, settings, reason, state.replicas, election=elected)


def _cannot_lead(
    move: Move, state: PartitionState, snapshot: Snapshot, placement: Placement | None
) -> Iterator[Refusal]:
    """Why the replica that is asked for must not, or cannot, lead now."""
    first = move.target[0]
    for entry in () if placement is None else in_force(placement, snapshot):
        if entry.broker == first and blacklist_reaches(entry, state.partition.topic):
            facts: Facts = {"broker": first, "where": str(entry.where)}
            yield Refusal(*state.partition, RefusalRule.LEADER_BLACKLISTED, facts)
    dead_disks = snapshot.offline.get(state.partition, ())
    why = unavailable(first, state, {b.id: b for b in snapshot.brokers}, dead_disks)
    if why is not None:
        facts = {"broker": first, "why": str(why), "inSync": state.isr}
        alone = move.election is StandaloneElection.PREFERRED
        rule = RefusalRule.PREFERRED_UNAVAILABLE if alone else RefusalRule.DESIGNATED_UNAVAILABLE
        yield Refusal(*state.partition, rule, facts)
