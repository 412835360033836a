"""Which replica may lead: at this moment, and by itself once its broker is back; and the brokers that are down.

A replica can be elected as Kafka's PartitionChangeBuilder.isValidNewLeader judges it. Who leads again is as
PartitionChangeBuilder.electLeader chooses when a broker is unfenced (KIP-966 from 4.1 on): a member of the ISR; where
that is empty, of the ELR, as far as it is a replica; where both are empty, the last known leader; any replica where
unclean.leader.election.enable is on. An ELR that names strangers alone keeps the last known leader from being elected.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from replan.model.broker import Broker
from replan.model.names import BrokerId, Replicas
from replan.model.partition import PartitionState
from replan.wording import WordedName, count


class Unavailable(WordedName):
    """Why a replica cannot be elected now; as plans and results spell it."""

    UNREGISTERED = "unregistered", "its broker is not registered"
    FENCED = "fenced", "its broker is fenced"
    OFFLINE = "offline", "its log directory is offline"
    """Its log directory has failed, on a live broker."""
    NOT_IN_SYNC = "not-in-sync", "it is not in sync"
    NO_LEADER = "no-leader", "the partition has no leader"
    """What is missing is a recovery, not a preferred election."""


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


class Comeback(WordedName):
    """What makes a returning broker the leader; as plans spell it."""

    IN_SYNC = "in-sync", "Kafka elects {which} by itself once it is back: it is in sync"
    ELIGIBLE = (
        "eligible",
        "Kafka elects {which} by itself once it is back: it is eligible (ELR), if it had stopped cleanly",
    )
    """After another stop Kafka takes it out of the ELR."""
    LAST_KNOWN_LEADER = (
        "last-known-leader",
        "Kafka elects {which} by itself once it is back: the last known leader",
    )
    """An unclean election, though nothing that it had acknowledged alone is lost."""
    ANY = (
        "any",
        "unclean election is on: Kafka elects {which} by itself once it is back, with all that it lacks",
    )
    """The first replica that returns leads, whatever it has lost."""
    NOBODY = "nobody", "Kafka elects nobody by itself, whichever broker returns"


class Awaited(Struct, frozen=True):
    """The brokers of which the first that returns will lead."""

    why: Comeback
    brokers: Replicas

    def __str__(self) -> str:
        """Which broker leads by itself once it is back; the first of several."""
        first = f"the first of brokers {list(self.brokers)}"
        one = f"broker {self.brokers[0]}" if len(self.brokers) == 1 else first
        return self.why.words.format(which=one)


def awaited(state: PartitionState, *, unclean_election: bool) -> Awaited | None:
    """Who is awaited; None where it has a leader."""
    if state.leader is not None:
        return None
    if unclean_election:
        return Awaited(Comeback.ANY, state.replicas)
    if state.isr:
        return Awaited(Comeback.IN_SYNC, tuple(b for b in state.replicas if b in state.isr))
    if state.eligible:
        return Awaited(Comeback.ELIGIBLE, state.eligible)
    last = tuple(b for b in state.last_known_elr if b in state.replicas)
    if not state.elr and len(last) == 1:
        return Awaited(Comeback.LAST_KNOWN_LEADER, last)
    return Awaited(Comeback.NOBODY, ())


class BrokerDown(Struct, frozen=True, rename="camel"):
    """A broker that does not serve, and what that means for the partitions with a replica on it; as JSON, too."""

    broker: BrokerId
    registered: bool
    """It is fenced; otherwise lists name it, and no such broker is registered."""
    replicas: int
    leaderless: int = field(name="withoutLeader")
    """Of those partitions: without a leader."""
    under_min_isr: int
    """With a leader, and under their effective minimum."""

    def __str__(self) -> str:
        """Which broker is down, and what it holds; without a full stop."""
        state = "is down" if self.registered else "is not registered"
        held = f"{count(self.replicas, 'replica')} on it" if self.replicas else "no replica on it"
        ill = [
            f"{number:,} {text}"
            for number, text in (
                (self.leaderless, "without a leader"),
                (self.under_min_isr, "under min ISR"),
            )
            if number
        ]
        partitions = f"; of its partitions {' and '.join(ill)}" if ill else ""
        return f"broker {self.broker} {state}: {held}{partitions}"
