"""Gates: what must hold now before replicas are added, or a list is asked for. A gate may open later.

Every list that is asked for passes `closed_gate`, whatever the history of its partition; a new gate belongs there. What
makes a plan stale instead is in `partitions.preconditions`.
"""

from collections.abc import Container, Mapping

from replan.applying.admission.disk_space import Room
from replan.applying.observation.look import Observation
from replan.applying.reasons.gates import (
    NewBrokerCordoned,
    NewBrokerFenced,
    TopicReassigned,
    UncleanElectionPossible,
    WritesWouldStop,
)
from replan.applying.reasons.waits import HoldReason
from replan.model.names import Replicas, TopicPartition
from replan.model.partition import PartitionState, effective_min_isr
from replan.planning.plans.moves import Move

Others = Mapping[str, tuple[TopicPartition, ...]]
"""The partitions that other tools reassign now, by topic."""


def closed_gate(
    move: Move,
    listed: Replicas,
    state: PartitionState,
    seen: Observation,
    room: Room,
    others: Others,
) -> HoldReason | None:
    """Why this list may not be asked for now, if so; whether it is asked for the first time makes no difference."""
    if set(listed) <= set(state.replicas):
        return _reorder_guard(move, seen, others)
    return (
        _new_brokers(move, seen)
        or _min_isr(move, state, seen)
        or _unclean_election(move, state, seen)
        or _disk_space(move, state, room)
    )


def _new_brokers(move: Move, seen: Observation) -> HoldReason | None:
    for broker in move.new:
        if not seen.live(broker):
            return NewBrokerFenced(broker)
        if seen.brokers[broker].cordoned:
            return NewBrokerCordoned(broker)
    return None


def _min_isr(move: Move, state: PartitionState, seen: Observation) -> HoldReason | None:
    """Adding replicas raises the effective minimum.

    Where a partition is under its minimum already and the start does not raise it, it is not made worse: it is healed.
    """
    m = move.min_insync_replicas
    in_sync = tuple(b for b in state.isr if seen.live(b))
    before = effective_min_isr(m, len(move.original))
    after = effective_min_isr(m, len(move.original) + len(move.new))
    if len(in_sync) >= after or (len(in_sync) < before and before == after):
        return None
    return WritesWouldStop(in_sync, m, after)


def _unclean_election(move: Move, state: PartitionState, seen: Observation) -> HoldReason | None:
    settings = seen.topics.get(move.partition.topic)
    in_sync = tuple(b for b in state.isr if seen.live(b))
    if settings is None or not settings.unclean_election or len(in_sync) >= 2:
        return None
    return UncleanElectionPossible(move.partition.topic, in_sync)


def _disk_space(move: Move, state: PartitionState, room: Room) -> HoldReason | None:
    size = max(move.bytes, state.bytes)
    reasons = (room.why_not(move.partition, broker, size) for broker in move.new)
    return next((r for r in reasons if r is not None), None)


def others_by_topic(seen: Observation, ours: Container[TopicPartition]) -> Others:
    """What runs and is not replan's own."""
    found: dict[str, list[TopicPartition]] = {}
    for name in sorted(seen.running):
        if name not in ours:
            found.setdefault(name.topic, []).append(name)
    return {topic: tuple(names) for topic, names in found.items()}


def _reorder_guard(move: Move, seen: Observation, others: Others) -> HoldReason | None:
    """Whether a move that copies nothing has to wait.

    Without the guard of KIP-860 a list may overwrite a reassignment that another tool began a moment ago.
    """
    if seen.features.replication_factor_guard or move.new:
        return None
    busy = others.get(move.partition.topic)
    return TopicReassigned(busy) if busy else None


def under_min_isr(move: Move, state: PartitionState) -> bool:
    """Whether a partition is under its own min ISR: its copy is what ends that, so it waits for no other move."""
    return len(state.isr) < effective_min_isr(move.min_insync_replicas, len(state.replicas))
