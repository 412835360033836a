"""Gates: what must hold now before replicas are added, or a list is asked for. A gate may open later.

Each gives a sentence with measure, limit and way out, or None. What makes a plan stale instead is in
`partitions.preconditions`.
"""

from replan.applying.admission.disk_space import Room
from replan.applying.observation.look import Observation
from replan.model.names import Replicas, is_internal
from replan.model.partition import PartitionState
from replan.planning.moves import Move


def closed_gate(
    move: Move, listed: Replicas, state: PartitionState, seen: Observation, room: Room
) -> str | None:
    """Why this list may not be asked for now, if so; whether it is asked for the first time makes no difference."""
    if set(listed) <= set(state.replicas):
        return _reorder_guard(move, seen)
    return (
        _new_brokers(move, seen)
        or _safe_start(move, state, seen)
        or _unclean_guard(move, state, seen)
        or _no_room(move, state, room)
    )


def _new_brokers(move: Move, seen: Observation) -> str | None:
    for broker in move.new:
        if not seen.live(broker):
            return f"broker {broker} is to receive a replica and is fenced; start it"
        if seen.brokers[broker].cordoned:
            return (
                f"broker {broker} is to receive a replica and all its log directories are cordoned; "
                "uncordon it, or plan without it"
            )
    return None


def _safe_start(move: Move, state: PartitionState, seen: Observation) -> str | None:
    """Adding replicas raises the effective minimum min(m, assigned) (Partition.effectiveMinIsr since 3.7).

    Where a partition is under its minimum already and the start does not raise it, it is not made worse: it is healed.
    """
    m = move.min_insync_replicas
    in_sync = [b for b in state.isr if seen.live(b)]
    after, before = min(m, len({*move.original, *move.target})), min(m, len(move.original))
    if len(in_sync) >= after or (len(in_sync) < before and before == after):
        return None
    return (
        f"in sync and live: {in_sync}, with min.insync.replicas {m} at least {after} are needed before replicas are "
        "added, or writes stop for the whole copy; bring back the others first"
    )


def _unclean_guard(move: Move, state: PartitionState, seen: Observation) -> str | None:
    settings = seen.topics.get(move.partition.topic)
    in_sync = [b for b in state.isr if seen.live(b)]
    if settings is None or not settings.unclean_election or len(in_sync) >= 2:
        return None
    return (
        f"unclean.leader.election.enable is true and only {in_sync} is in sync: an empty new replica could be elected; "
        f"run `kafka-configs.sh --alter --entity-type topics --entity-name {move.partition.topic} "
        "--add-config unclean.leader.election.enable=false` first, or bring back another replica"
    )


def _no_room(move: Move, state: PartitionState, room: Room) -> str | None:
    size = max(move.bytes, state.bytes)
    reasons = (room.why_not(move.partition, broker, size) for broker in move.new)
    return next((r for r in reasons if r is not None), None)


def _reorder_guard(move: Move, seen: Observation) -> str | None:
    """Whether a move that copies nothing has to wait.

    Without the guard of KIP-860 a list may overwrite a reassignment that somebody else began a moment ago.
    """
    if seen.features.replication_factor_guard or move.new:
        return None
    topic = move.partition.topic
    busy = [str(n) for n in sorted(seen.running) if n.topic == topic]
    if not busy:
        return None
    return (
        f"somebody else reassigns {', '.join(busy[:3])}; this cluster (before 4.1) cannot guard a reorder against it; "
        "it goes on when that has ended"
    )


def internal(move: Move) -> bool:
    """Whether a move is one of those that come last and alone."""
    return is_internal(move.partition.topic)
