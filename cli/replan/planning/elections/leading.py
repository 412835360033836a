"""A partition that is led, and another replica that is asked for: the move of it, and why it cannot be. Pure."""

from collections.abc import Iterator

from replan.model.configs import TopicSettings
from replan.model.declared.placement import Placement
from replan.model.names import BrokerId
from replan.model.partition import PartitionState
from replan.model.snapshot import Snapshot
from replan.planning.comparison.blacklist import blacklist_reaches, in_force
from replan.planning.elections.available import unavailable
from replan.planning.plans.moves import Election, Move, MoveReason, ReasonKind
from replan.planning.plans.plan import Facts, Refusal, RefusalRule

UNAVAILABLE = {
    Election.PREFERRED: RefusalRule.PREFERRED_UNAVAILABLE,
    None: RefusalRule.DESIGNATED_UNAVAILABLE,
}
"""By what the move is."""


def leading_move(seen: PartitionState, settings: TopicSettings, leader: BrokerId) -> Move:
    """Let a replica lead: it comes first in the list, if it does not stand there, and is elected."""
    target = (leader, *(b for b in seen.replicas if b != leader))
    return Move(
        partition=seen.partition,
        topic_id=seen.topic_id,
        original=seen.replicas,
        target=target,
        min_insync_replicas=settings.min_insync_replicas,
        unclean_election=settings.unclean_election,
        reason=MoveReason(ReasonKind.LEADER, broker=leader, leader=seen.leader),
        bytes=seen.bytes,
        leader=seen.leader,
        election=Election.PREFERRED if target == seen.replicas else None,
    )


def cannot_lead(
    move: Move, seen: PartitionState, snapshot: Snapshot, placement: Placement | None
) -> Iterator[Refusal]:
    """Why the replica that is asked for must not, or cannot, lead now."""
    first = move.target[0]
    for entry in () if placement is None else in_force(placement, snapshot):
        if entry.broker == first and blacklist_reaches(entry, seen.partition.topic):
            facts: Facts = {"broker": first, "where": str(entry.where)}
            yield Refusal(*seen.partition, RefusalRule.REPLICA_BLACKLISTED, facts)
    dead_disks = snapshot.offline.get(seen.partition, ())
    why = unavailable(first, seen, {b.id: b for b in snapshot.brokers}, dead_disks)
    if why is not None:
        facts = {"broker": first, "why": str(why), "inSync": seen.isr}
        yield Refusal(*seen.partition, UNAVAILABLE[move.election], facts)
