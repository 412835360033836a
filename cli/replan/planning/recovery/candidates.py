"""The surviving logs of one partition without a leader, ranked, with what each of them lacks. Pure.

The best log has the last record of the highest epoch, and among those the highest end (KIP-966): a longer log of an
older epoch may have records that were never acknowledged, and lacks some that were.

A loss counts each record once, in whichever of the other logs it is: logs that part from the leader's may share what
they have beyond it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property

from msgspec import field
from msgspec.structs import replace

from replan.documents.typed import BrokerIds, Form, Int64, ValidBrokerId
from replan.model.names import BrokerId
from replan.model.partition import PartitionState
from replan.model.replica_logs import ProbedLog, ProbedLogs, ReplicaLog
from replan.planning.recovery.log_forms import LogForm, log_form, read_log


class Candidate(Form, frozen=True, kw_only=True, dict=True):
    """One replica of a partition without a leader."""

    broker: ValidBrokerId
    alive: bool = True
    registered: bool = True
    eligible: bool = False
    """In the ISR or the ELR: it has every acknowledged record, and Kafka elects it as soon as it is back."""
    last_known_leader: bool = False
    answer: LogForm | None = field(default=None, name="log")
    """What it says of its log; none where it was not asked, as it is not live."""
    earlier: LogForm | None = field(default=None, name="earlierLog")
    """What an earlier snapshot knew of its log, where nothing is known now."""

    def __post_init__(self) -> None:
        if self.earlier is not None and self.earlier.problem is not None:
            raise ValueError(".earlierLog: expected an `end`")

    @cached_property
    def log(self) -> ProbedLog | None:
        """The same; None where it was not asked."""
        return None if self.answer is None else read_log(self.answer)

    @cached_property
    def earlier_log(self) -> ReplicaLog | None:
        """What an earlier snapshot knew of it."""
        log = None if self.earlier is None else read_log(self.earlier)
        return log if isinstance(log, ReplicaLog) else None

    @property
    def known_log(self) -> ReplicaLog | None:
        """Its log, where it answered."""
        return self.log if self.alive and isinstance(self.log, ReplicaLog) else None

    @property
    def last_known(self) -> ReplicaLog | None:
        """What is known of its log: from now, or from an earlier snapshot."""
        return self.known_log or self.earlier_log


class Tail(Form, frozen=True):
    """Records that a replica has and a leader's log has not: they are truncated when it follows."""

    broker: ValidBrokerId
    begin: Int64
    end: Int64

    @property
    def records(self) -> int:
        """How many."""
        return self.end - self.begin


class Loss(Form, frozen=True):
    """What a partition loses when a replica leads it; at least, since nobody knows what silent replicas have."""

    records: Int64 = 0
    """Those of all `tails`."""
    tails: tuple[Tail, ...] = ()
    """No record is in two of them; the longest first."""
    unknown: BrokerIds = ()
    """Replicas whose logs nobody knows now."""

    def __post_init__(self) -> None:
        if self.records != sum(tail.records for tail in self.tails):
            raise ValueError(".records: expected the records of all `tails`")

    @classmethod
    def of(cls, tails: tuple[Tail, ...] = (), unknown: tuple[BrokerId, ...] = ()) -> "Loss":
        """Of what is known and of what is not."""
        return cls(sum(tail.records for tail in tails), tails, unknown)


def candidates(
    state: PartitionState,
    logs: ProbedLogs,
    live: Collection[BrokerId],
    registered: Collection[BrokerId],
    earlier_logs: ProbedLogs | None = None,
) -> tuple[Candidate, ...]:
    """The replicas of a partition in list order.

    `registered`: all brokers that are; `earlier_logs`: what an earlier snapshot knew of their logs.
    """
    eligible = {*state.isr, *state.elr}
    ranked: list[Candidate] = []
    for b in state.replicas:
        log, before = logs.get(b) if b in live else None, (earlier_logs or {}).get(b)
        earlier = isinstance(before, ReplicaLog) and not isinstance(log, ReplicaLog)
        ranked.append(
            Candidate(
                broker=b,
                alive=b in live,
                registered=b in registered,
                eligible=b in eligible,
                last_known_leader=b in state.last_known_elr,
                answer=None if log is None else log_form(b, log),
                earlier=log_form(b, before) if earlier and before else None,
            )
        )
    return tuple(ranked)


def best_candidate(among: Iterable[Candidate]) -> Candidate | None:
    """The candidate with the best log; of equal ones the first of the list."""
    answered = [c for c in among if c.known_log is not None]
    return max(answered, key=_rank, default=None)


def _rank(candidate: Candidate) -> tuple[int, int]:
    return candidate.known_log.rank if candidate.known_log is not None else (-2, 0)


def parting(one: ReplicaLog, other: ReplicaLog) -> int:
    """From which offset on one of two logs may have what the other has not.

    What lies before the start of one of them was deleted there, by retention, and is lost by no election.
    """
    return max(_same(one, other), one.start, other.start)


def _same(one: ReplicaLog, other: ReplicaLog) -> int:
    """Up to where two logs agree: one leader wrote the records of an epoch, so up to where that ends first."""
    shared = max(one.epochs.keys() & other.epochs.keys(), default=None)
    return 0 if shared is None else min(one.epochs[shared], other.epochs[shared])


def tails(logs: Mapping[BrokerId, ReplicaLog], leader: BrokerId) -> tuple[Tail, ...]:
    """What every other log has beyond that of the leader; a record may be in several."""
    own = logs.get(leader)
    if own is None:
        return ()
    every_tail = (Tail(b, parting(own, log), log.end) for b, log in logs.items() if b != leader)
    return tuple(tail for tail in every_tail if tail.records > 0)


def lost(logs: Mapping[BrokerId, ReplicaLog], leader: BrokerId) -> tuple[Tail, ...]:
    """The same, each record once: the longest tail, then what the others have beyond those before them."""
    tails_lost: list[Tail] = []
    whole: list[Tail] = []
    for tail in sorted(tails(logs, leader), key=lambda t: t.records, reverse=True):
        log, rest = logs[tail.broker], [tail]
        for other in whole:
            begin = max(other.begin, log.start)
            end = min(_same(log, logs[other.broker]), other.end)
            rest = [part for of in rest for part in _without(of, begin, end)]
        whole.append(tail)
        tails_lost += rest
    return tuple(sorted(tails_lost, key=lambda t: t.records, reverse=True))


def _without(tail: Tail, begin: int, end: int) -> Iterator[Tail]:
    """What is left of a tail before and behind a stretch."""
    if end <= begin:
        yield tail
        return
    before, behind = (
        replace(tail, end=min(tail.end, begin)),
        replace(tail, begin=max(tail.begin, end)),
    )
    yield from (part for part in (before, behind) if part.records > 0)


def loss(among: Iterable[Candidate], leader: BrokerId) -> Loss:
    """What is lost where a replica leads."""
    members = tuple(among)
    unknown = tuple(c.broker for c in members if c.known_log is None)
    if all(c.known_log is None for c in members if c.broker == leader):
        return Loss.of(unknown=unknown)
    return Loss.of(
        lost({c.broker: c.last_known for c in members if c.last_known is not None}, leader), unknown
    )
