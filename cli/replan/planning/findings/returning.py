"""Which broker Kafka would elect by itself when it returns, for a partition that nobody leads.

As PartitionChangeBuilder.electLeader chooses when a broker is unfenced (KIP-966 from 4.1 on): a member of the ISR;
where that is empty, of the ELR, as far as it is a replica; where both are empty, the last known leader; and any replica
at all where unclean.leader.election.enable is on. An ELR that names strangers alone keeps the last known leader from
being elected: it is not empty, and no member of it can lead.
"""

from dataclasses import dataclass
from enum import StrEnum

from replan.model.names import Replicas
from replan.model.partition import PartitionState


class Comeback(StrEnum):
    """What makes a returning broker the leader; as plans spell it."""

    IN_SYNC = "in-sync"
    ELIGIBLE = "eligible"
    """Where its last stop was clean: after another one Kafka takes it out of the ELR."""
    LAST_KNOWN_LEADER = "last-known-leader"
    """An unclean election, though nothing that it had acknowledged alone is lost."""
    ANY = "any"
    """Unclean election is on: the first replica that returns leads, whatever it has lost."""
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Awaited:
    """The brokers of which the first that returns will lead."""

    why: Comeback
    brokers: Replicas


def awaited(seen: PartitionState, *, unclean_election: bool) -> Awaited | None:
    """Who is awaited; None where somebody leads."""
    if seen.leader is not None:
        return None
    if unclean_election:
        return Awaited(Comeback.ANY, seen.replicas)
    if seen.isr:
        return Awaited(Comeback.IN_SYNC, tuple(b for b in seen.replicas if b in seen.isr))
    if seen.eligible:
        return Awaited(Comeback.ELIGIBLE, seen.eligible)
    last = tuple(b for b in seen.last_known_elr if b in seen.replicas)
    if not seen.elr and len(last) == 1:
        return Awaited(Comeback.LAST_KNOWN_LEADER, last)
    return Awaited(Comeback.NOBODY, ())
