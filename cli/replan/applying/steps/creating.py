"""What to do about the partitions that topics are to get: ask for them, wait, or an end. Pure.

CreatePartitions names the count that a topic is to have, so a request that arrives twice, or late, changes nothing
where the partitions are there. They are done when brokers show all of them where they were wanted. Until then nothing
of the topic moves: Kafka judges their length by the lists that it has (ReplicationControlManager.createPartitions).

Kafka never removes a partition. So once the application is cancelled none is asked for, whatever is written down: that
says what was meant to be sent, and not that it was. Of a create that was written down

    brokers show all of them as wanted           done: they stay
    other partitions show, or another topic      stale, as ever
    none shows, and the request may arrive       wait (90 s after one without an answer, or after a takeover)
    none shows                                   cancelled, once looks agree

A create that is not done does not end while its request may arrive, cancelled or not: a request names no topic id.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from replan.applying.journal.ledger import Ledger, unended
from replan.applying.journal.steps import CreateRecord, Status
from replan.applying.observation import (
    Observation,
    Refused,
    believed,
    held_since,
    refusals,
    unshown,
)
from replan.applying.partitions.judge import End, Hold, rejected
from replan.applying.reasons.ends import Fact, NotAsPlanned, NotCreated, OtherPartitions
from replan.applying.reasons.holds import (
    Cancelling,
    CreateArrivalPossible,
    MetadataBehind,
    NewBrokerFenced,
    PartitionsUnseen,
    Rechecking,
    TopicUnsettled,
)
from replan.applying.reasons.reason import HoldReason
from replan.applying.tick_input import Job, TickInput
from replan.model.broker import Broker
from replan.model.control_plane import Answer, NewPartitions, OutcomeUnknown, Rejected
from replan.model.names import BrokerId, TopicPartition
from replan.planning.plans.creates import Create

LOOK_AGAIN = frozenset({3, 37, 89})
"""Rejections that say: look, and ask again. Unknown topic, as many partitions already, too many changes at once
(KIP-599)."""


INVALID_ASSIGNMENT = 39
"""All brokers of a list are fenced or shutting down; or one is not registered or cordoned, for which it is final."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The partitions are to be asked for."""


@dataclass(frozen=True, slots=True)
class Unsure:
    """A conclusion that later looks must agree with."""

    conclusion: Ask | End
    reason: HoldReason


@dataclass(frozen=True, slots=True)
class Creating:
    """What a process knows of its creates from tick to tick."""

    answers: Mapping[str, Answer] = field(default_factory=dict)
    """The last of each topic."""
    refused: Mapping[str, Refused] = field(default_factory=dict)
    suspected: Mapping[tuple[str, Ask | End], float] = field(default_factory=dict)
    """What looks have suggested so far, and since when."""
    unknown_since: Mapping[str, float] = field(default_factory=dict)
    """Topics of which a request may be on its way, and since when."""

    def answered(self, answers: Mapping[str, Answer], now: float) -> "Creating":
        """What is known once requests were answered."""
        unknown = {topic: now for topic, a in answers.items() if isinstance(a, OutcomeUnknown)}
        return replace(
            self,
            answers={**self.answers, **answers},
            refused=refusals(self.refused, answers, now),
            unknown_since={**self.unknown_since, **unknown},
        )


@dataclass(slots=True)
class CreateTick:
    """What one tick decides of creates."""

    records: list[CreateRecord] = field(default_factory=list)
    asks: dict[str, NewPartitions] = field(default_factory=dict)
    holds: dict[TopicPartition, HoldReason] = field(default_factory=dict)
    """By the first of the new partitions."""
    suspected: Mapping[tuple[str, Ask | End], float] = field(default_factory=dict)


def pending(job: Job, ledger: Ledger) -> list[Create]:
    """The creates that have not ended."""
    return [create for topic, create in job.creates.items() if unended(ledger.creates.get(topic))]


def looked_at(creates: Iterable[Create]) -> set[TopicPartition]:
    """All partitions of their topics, wanted ones and one beyond."""
    return {TopicPartition(c.topic, p) for c in creates for p in range(c.count + 1)}


def create_tick(
    tick: TickInput, ledger: Ledger, known: Creating, closed: HoldReason | None
) -> CreateTick:
    """Decide for each create that has not ended; `closed`: why nothing is to be asked for now, if so."""
    found, agreeing = CreateTick(), list[tuple[str, Ask | End]]()
    for create in pending(tick.job, ledger):
        verdict = judge_create(
            create,
            tick.seen,
            asked=create.topic in ledger.creates,
            answer=known.answers.get(create.topic),
            refusal=believed(known.refused.get(create.topic), tick.settings.agreeing_seconds),
            cancelled=isinstance(closed, Cancelling) and create.topic in ledger.creates,
        )
        if isinstance(verdict, Unsure):
            suspicion = create.topic, verdict.conclusion
            again = isinstance(verdict.conclusion, Ask)
            agreed = tick.agreed(known.suspected, suspicion, listed=again)
            if not (agreed and again):
                agreeing.append(suspicion)
            verdict = verdict.conclusion if agreed else Hold(verdict.reason)
        since = known.unknown_since.get(create.topic, -inf)
        left = since + tick.settings.quarantine_seconds - tick.now
        if isinstance(verdict, End) and verdict.status is not Status.DONE and left > 0:
            verdict = Hold(CreateArrivalPossible(left))
        _take(create, verdict, ledger, found, closed)
    found.suspected = held_since(known.suspected, agreeing, tick.ended)
    return found


def _take(
    create: Create,
    verdict: Ask | Hold | End,
    ledger: Ledger,
    into: CreateTick,
    closed: HoldReason | None,
) -> None:
    begun = create.topic in ledger.creates
    match verdict:
        case Hold(reason):
            into.holds[create.first] = reason
        case Ask() if closed is not None:
            into.holds[create.first] = closed
        case Ask():
            into.asks[create.topic] = NewPartitions(create.count, create.lists)
            if not begun:
                into.records.append(_record(create, ledger, Status.OPEN))
        case End(status, reason):
            message = "" if reason is None else reason.of(create.first)
            into.records.append(_record(create, ledger, status, message))


def _record(create: Create, ledger: Ledger, status: Status, message: str = "") -> CreateRecord:
    return CreateRecord(
        ledger.application_id, create.topic, create.topic_id, create.count, status, message
    )


def judge_create(
    create: Create,
    seen: Observation,
    *,
    asked: bool,
    answer: Answer | None,
    refusal: Rejected | None = None,
    cancelled: bool = False,
) -> Ask | Hold | End | Unsure:
    """What one look says of the partitions of one topic; `cancelled`: nothing is asked for any more.

    `answer`: the last one; `refusal`: a believed one.
    """
    names = looked_at([create])
    there = {n: seen.partitions[n] for n in names & seen.partitions.keys()}
    others = {s.topic_id for s in there.values()} - {create.topic_id}
    hidden = next((why for n in sorted(names) if (why := unshown(seen, n)) is not None), None)
    if hidden is not None:
        return Hold(hidden)
    if not there or others:
        return _unsure(NotAsPlanned(Fact.TOPIC, create.topic_id, min(others, default=None)))
    wanted = create.partitions
    different = tuple(
        n for n, listed in wanted.items() if n in there and there[n].replicas != listed
    )
    shown = max(n.partition for n in there) + 1
    if different or create.present < shown != create.count:
        return _unsure(OtherPartitions(create.count, shown, different))
    if wanted.keys() <= there.keys():
        return End(Status.DONE)
    if cancelled:
        return Unsure(End(Status.CANCELLED, NotCreated()), Rechecking(NotCreated()))
    return _not_there(create, seen, answer, refusal, asked=asked)


def _not_there(
    create: Create,
    seen: Observation,
    answer: Answer | None,
    refusal: Rejected | None,
    *,
    asked: bool,
) -> Ask | Hold | End | Unsure:
    """What to do while brokers show none of them."""
    running = tuple(sorted(n for n in seen.running if n.topic == create.topic))
    if running:
        return Hold(TopicUnsettled(running))
    present = [TopicPartition(create.topic, p) for p in range(create.present)]
    if not all(n in seen.partitions for n in present):
        return Hold(MetadataBehind())
    factors = {len(seen.partitions[n].replicas) for n in present} - {create.factor}
    if factors:
        return _unsure(NotAsPlanned(Fact.FACTOR, create.factor, min(factors)))
    away = [b for b in brokers_of(create) if b in seen.brokers and not seen.live(b)]
    if away:
        return Hold(NewBrokerFenced(away[0]))
    return _asked(create, seen, answer, refusal, asked=asked)


def _asked(
    create: Create,
    seen: Observation,
    answer: Answer | None,
    refusal: Rejected | None,
    *,
    asked: bool,
) -> Ask | End | Unsure:
    """What to do where nothing but Kafka's answer is in the way."""
    if not isinstance(answer, Rejected):
        return Unsure(Ask(), PartitionsUnseen()) if asked else Ask()
    if refusal is None or passes(refusal, [seen.brokers.get(b) for b in brokers_of(create)]):
        return Unsure(Ask(), PartitionsUnseen(answer.code, answer.name))
    return rejected(refusal)


def passes(answer: Rejected, brokers: Iterable[Broker | None]) -> bool:
    """Whether a rejection holds for the moment alone; `brokers`: of the lists, None where one is not registered."""
    back = all(broker is not None and not broker.cordoned for broker in brokers)
    return answer.code in LOOK_AGAIN or (answer.code == INVALID_ASSIGNMENT and back)


def brokers_of(create: Create) -> list[BrokerId]:
    """All brokers of its lists."""
    return sorted({b for listed in create.lists for b in listed})


def perhaps_cordoned(job: Job, ledger: Ledger, known: Creating) -> set[BrokerId]:
    """The brokers of lists that Kafka refused: they were away for a moment, or are cordoned."""
    refused = (c for c in pending(job, ledger) if isinstance(known.answers.get(c.topic), Rejected))
    return {b for create in refused for b in brokers_of(create)}


def _unsure(reason: NotAsPlanned | OtherPartitions) -> Unsure:
    return Unsure(End(Status.STALE, reason), Rechecking(reason))
