"""Who leads: the choice of a leader among the replicas of one partition.

Here belongs the choice alone (PartitionChangeBuilder.electLeader). Not here: what else a change writes
(`partition.change`), and the requests and timers that cause elections (`elections`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from replan.model.names import BrokerId, Replicas


class Election(Enum):
    """How far an election may go (PartitionChangeBuilder.Election)."""

    PREFERRED = "the first replica, else the present leader, else any in-sync one"
    ONLINE = "the present leader, else any in-sync one"
    UNCLEAN = "as ONLINE, else the first live replica, whatever it has lost"


@dataclass(frozen=True, slots=True)
class Candidates:
    """What an election chooses from: the target lists of the change under way."""

    leader: BrokerId | None
    replicas: Replicas
    isr: Replicas
    elr: Replicas
    last_known_leader: BrokerId | None
    """None where it may not be used: ELR off, or ISR and ELR not both empty."""
    acceptable: Callable[[BrokerId], bool]
    """Whether a broker is able to lead at all: registered, not fenced, not shutting down."""

    def valid(self, broker: BrokerId) -> bool:
        """Whether a broker may lead cleanly: in the ISR, or in the ELR while the ISR is empty."""
        eligible = self.isr or self.elr
        return broker in eligible and self.acceptable(broker)


@dataclass(frozen=True, slots=True)
class Elected:
    """The outcome; None leads where nobody can."""

    leader: BrokerId | None
    unclean: bool = False


def elect(among: Candidates, election: Election) -> Elected:
    """Choose the leader: in list order, never in order of ISR or id."""
    first = among.replicas[0]
    if election is Election.PREFERRED and among.valid(first):
        return Elected(first)
    if among.leader is not None and among.valid(among.leader):
        return Elected(among.leader)
    clean = next(filter(among.valid, among.replicas), None)
    if clean is not None:
        return Elected(clean)
    if among.last_known_leader is not None:
        return Elected(among.last_known_leader, unclean=True)
    if election is Election.UNCLEAN:
        stale = next(filter(among.acceptable, among.replicas), None)
        return Elected(stale, unclean=stale is not None)
    return Elected(None)
