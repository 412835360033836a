"""The surviving logs of one partition without a leader, ranked, with what each of them lacks. Pure.

The best log has the last record of the highest epoch, and among those the highest end (KIP-966): a longer log of an
older epoch may have records that were never acknowledged, and lacks some that were.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from replan.model.names import BrokerId
from replan.model.partition import PartitionState
from replan.model.replica_logs import LogFound, LogsFound, ReplicaLog


@dataclass(frozen=True, slots=True)
class Candidate:
    """One replica."""

    broker: BrokerId
    alive: bool
    registered: bool = True
    log: LogFound | None = None
    """None where it was not asked, as it is not live."""
    eligible: bool = False
    """In the ISR or the ELR: it has every acknowledged record, and Kafka elects it as soon as it is back."""
    last_known_leader: bool = False

    @property
    def known(self) -> ReplicaLog | None:
        """Its log, where it answered."""
        return self.log if self.alive and isinstance(self.log, ReplicaLog) else None


@dataclass(frozen=True, slots=True)
class Loss:
    """What a partition loses when a replica leads it; at least, since nobody knows what silent replicas have."""

    records: int = 0
    than: BrokerId | None = None
    """Of which replica's log; None where no known log has more."""
    offset: int = 0
    """From where on: they are the same before, or deleted by retention."""
    unknown: tuple[BrokerId, ...] = ()
    """Replicas whose logs nobody knows."""


@dataclass(frozen=True, slots=True)
class Tail:
    """Records that a replica has and a leader's log has not: they are truncated when it follows."""

    broker: BrokerId
    begin: int
    end: int


def candidates(
    state: PartitionState, logs: LogsFound, live: Collection[BrokerId], known: Collection[BrokerId]
) -> tuple[Candidate, ...]:
    """The replicas of a partition in list order; `known` are the registered brokers."""
    eligible = {*state.isr, *state.elr}
    return tuple(
        Candidate(
            broker=b,
            alive=b in live,
            registered=b in known,
            log=logs.get(b) if b in live else None,
            eligible=b in eligible,
            last_known_leader=b in state.last_known_elr,
        )
        for b in state.replicas
    )


def best(among: Iterable[Candidate]) -> Candidate | None:
    """The candidate with the best log; of equal ones the first of the list."""
    answered = [c for c in among if c.known is not None]
    return max(answered, key=_rank, default=None)


def _rank(candidate: Candidate) -> tuple[int, int]:
    return candidate.known.rank if candidate.known is not None else (-2, 0)


def parting(one: ReplicaLog, other: ReplicaLog) -> int:
    """From which offset on one of two logs may have what the other has not.

    The records of one epoch were written by one leader, so both have the same up to where it ends first. What lies
    before the start of one of them was deleted there, by retention, and is lost by no election.
    """
    shared = max(one.epochs.keys() & other.epochs.keys(), default=None)
    same = 0 if shared is None else min(one.epochs[shared], other.epochs[shared])
    return max(same, one.start, other.start)


def tails(among: Iterable[Candidate], leader: BrokerId) -> tuple[Tail, ...]:
    """What every other replica has beyond the log of this one."""
    logs = {c.broker: c.known for c in among if c.known is not None}
    own = logs.get(leader)
    if own is None:
        return ()
    found = (Tail(b, parting(own, log), log.end) for b, log in logs.items() if b != leader)
    return tuple(tail for tail in found if tail.end > tail.begin)


def loss(
    among: Iterable[Candidate],
    leader: BrokerId,
    formerly: Mapping[BrokerId, ReplicaLog] | None = None,
) -> Loss:
    """What is lost where a replica leads; `formerly`: what an earlier snapshot knew of replicas that are silent now."""
    members = tuple(among)
    own = next((c.known for c in members if c.broker == leader), None)
    found = list(tails(members, leader))
    for broker, log in (formerly or {}).items():
        silent = any(c.broker == broker and c.known is None for c in members)
        if silent and own is not None and log.end > parting(own, log):
            found.append(Tail(broker, parting(own, log), log.end))
    unknown = tuple(c.broker for c in members if c.known is None)
    longest = max(found, key=lambda tail: tail.end - tail.begin, default=None)
    if longest is None:
        return Loss(unknown=unknown)
    return Loss(longest.end - longest.begin, longest.broker, longest.begin, unknown)
