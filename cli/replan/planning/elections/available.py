"""Whether a replica can be elected at this moment, as Kafka's PartitionChangeBuilder.isValidNewLeader judges it."""

from collections.abc import Mapping
from enum import StrEnum

from replan.model.broker import Broker
from replan.model.names import BrokerId, Replicas
from replan.model.partition import PartitionState


class Unavailable(StrEnum):
    """Why a replica cannot be elected now; as plans and results spell it."""

    UNREGISTERED = "unregistered"
    FENCED = "fenced"
    OFFLINE = "offline"
    """Its log directory has failed, on a live broker."""
    NOT_IN_SYNC = "not-in-sync"
    NO_LEADER = "no-leader"
    """It has no leader: what is missing is a recovery, not a preferred election."""


UNAVAILABLE_WORDS: Mapping[Unavailable, str] = {
    Unavailable.UNREGISTERED: "its broker is not registered",
    Unavailable.FENCED: "its broker is fenced",
    Unavailable.OFFLINE: "its log directory is offline",
    Unavailable.NOT_IN_SYNC: "it is not in sync",
    Unavailable.NO_LEADER: "the partition has no leader",
}
"""Why a replica cannot be elected now."""


def unavailable(
    broker: BrokerId,
    state: PartitionState,
    brokers: Mapping[BrokerId, Broker],
    offline: Replicas = (),
) -> Unavailable | None:
    """Why a preferred election cannot make this broker the leader; None where it can.

    `offline`: the replicas of the partition that are offline on live brokers, where that is known.
    """
    if broker not in brokers:
        return Unavailable.UNREGISTERED
    if brokers[broker].fenced:
        return Unavailable.FENCED
    if state.leader is None:
        return Unavailable.NO_LEADER
    if broker in offline:
        return Unavailable.OFFLINE
    return None if broker in state.isr else Unavailable.NOT_IN_SYNC
