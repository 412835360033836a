"""What must hold before a partition is touched: preconditions, which make it stale, and gates, which make it wait.

A precondition is about what was reviewed: topic, configured values, racks. It never reads ISR, leader, epochs or
sizes. A gate is about now, and may open later. Each gives a sentence with measure, limit and way out, or None.
"""

from collections.abc import Mapping

from replan.applying.admission.disk_space import Room
from replan.applying.observation.look import Observation
from replan.model.broker import Broker
from replan.model.configs import TopicSettings
from replan.model.names import BrokerId, is_internal
from replan.model.partition import PartitionState
from replan.planning.moves import Move

AGAIN = "make a new plan"


def precondition(
    move: Move,
    settings: TopicSettings | None,
    brokers: Mapping[BrokerId, Broker],
    racks: Mapping[BrokerId, str | None],
) -> str | None:
    """What is not as it was when planned, expected and found; None where all is."""
    if settings is None:
        return f"{move.partition}: topic {move.partition.topic} is not there any more; {AGAIN}"
    if settings.min_insync_replicas != move.min_insync_replicas:
        return (
            f"{move.partition}: planned with min.insync.replicas {move.min_insync_replicas}, "
            f"found {settings.min_insync_replicas}; {AGAIN}"
        )
    if settings.unclean_election != move.unclean_election:
        return (
            f"{move.partition}: planned with unclean.leader.election.enable {_yes(move.unclean_election)}, "
            f"found {_yes(settings.unclean_election)}; {AGAIN}"
        )
    return _brokers_as_planned(move, brokers, racks)


def _brokers_as_planned(
    move: Move, brokers: Mapping[BrokerId, Broker], racks: Mapping[BrokerId, str | None]
) -> str | None:
    for broker in move.target:
        found = brokers.get(broker)
        if found is None:
            return (
                f"{move.partition}: broker {broker} of target {list(move.target)} was registered when planned, "
                f"now it is not; {AGAIN}"
            )
        if found.rack != racks.get(broker):
            return (
                f"{move.partition}: broker {broker} was planned in rack {racks.get(broker)}, "
                f"found in rack {found.rack}; {AGAIN}"
            )
    return None


def _yes(value: bool) -> str:
    return "true" if value else "false"


def start_gate(
    move: Move, state: PartitionState, seen: Observation, room: Room | None
) -> str | None:
    """Why no replica may be added now, if so; without `room` the disks are not judged."""
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


def _no_room(move: Move, state: PartitionState, room: Room | None) -> str | None:
    if room is None:
        return None
    size = max(move.bytes, state.bytes)
    reasons = (room.why_not(broker, size) for broker in move.new)
    return next((r for r in reasons if r is not None), None)


def instant_gate(move: Move, seen: Observation) -> str | None:
    """Why a list that copies nothing may not be asked for now, if so.

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
