"""What to do about the partitions that topics are to get: ask for them, wait, or an end. Pure.

CreatePartitions names the count that a topic is to have, so a request that arrives twice, or late, changes nothing
where the partitions are there. They are done when brokers show all of them where they were wanted. Until then nothing
of the topic moves: Kafka judges their length by the lists that it has (ReplicationControlManager.createPartitions).

Kafka never removes a partition. So once the application is cancelled none is asked for, whatever is written down: that
says what was meant to be sent, and not that it was. Of a create that was written down

    brokers show all of them as wanted           done: they stay
    other partitions show, or another topic      stale, as ever
    none shows, and the request may arrive       wait (85 s after one without an answer, or after a takeover)
    none shows                                   cancelled, once looks agree

A create that is not done does not end while its request may arrive, cancelled or not: a request names no topic id.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from replan.applying.journal.ledger import Ledger, RequestSubject
from replan.applying.journal.records import CreateRecord, Status
from replan.applying.observation import Job, unshown
from replan.applying.partitions import End, Hold, Suspect, rejection_end, suspected
from replan.applying.reasons.ends import Fact, NotAsPlanned, NotCreated, OtherPartitions
from replan.applying.reasons.holds import (
    CreateArrivalPossible,
    MetadataBehind,
    NewBrokerFenced,
    PartitionsUnseen,
    TopicUnsettled,
)
from replan.applying.reasons.reason import HoldReason
from replan.applying.request_memory import RequestMemory
from replan.applying.steps.step import (
    Ask,
    FromRecord,
    Requests,
    StepInput,
    StepKind,
    StepVerdict,
)
from replan.model.broker import Broker
from replan.model.control_plane import ClusterReader, NewPartitions, Rejected, Wanted
from replan.model.error_codes import ErrorCode
from replan.model.names import TopicPartition
from replan.planning.plans.creates import Create
from replan.planning.plans.origins import Grown
from replan.planning.plans.plan import Plan

NOT_FINAL_FOR_CREATES = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_PARTITIONS,  # as many already
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,  # too many changes at once (KIP-599)
    }
)
"""Rejections that say: look, and ask again."""


class CreateStep(Struct, FromRecord, frozen=True):
    """The partitions that one topic is to get."""

    create: Create
    record: CreateRecord | None = None

    @property
    def subject(self) -> TopicPartition:
        """The first of them."""
        return self.create.first

    def judge(self, given: StepInput) -> StepVerdict:
        """Done, stale, or what to do while brokers show none of them."""
        return self._shown(given) or self._not_there(given)

    def judge_cancelled(self, given: StepInput) -> StepVerdict:
        """The same; none is asked for."""
        return self._shown(given) or suspected(Status.CANCELLED, NotCreated())

    def _shown(self, given: StepInput) -> Hold | End | Suspect[Ask] | None:
        """What follows where a look shows partitions of them, or not enough to tell."""
        create, look = self.create, given.tick.look
        names = _looked_at(create)
        there = {n: look.partitions[n] for n in names & look.partitions.keys()}
        others = {s.topic_id for s in there.values()} - {create.topic_id}
        hidden = next((why for n in sorted(names) if (why := unshown(look, n)) is not None), None)
        if hidden is not None:
            return Hold(hidden)
        if not there or others:
            other = NotAsPlanned(Fact.TOPIC, create.topic_id, min(others, default=None))
            return suspected(Status.STALE, other)
        wanted = create.partitions
        different = tuple(
            n for n, listed in wanted.items() if n in there and there[n].replicas != listed
        )
        shown = max(n.partition for n in there) + 1
        if different or create.present < shown != create.count:
            return suspected(Status.STALE, OtherPartitions(create.count, shown, different))
        return End(Status.DONE) if wanted.keys() <= there.keys() else None

    def _not_there(self, given: StepInput) -> StepVerdict:
        create, look = self.create, given.tick.look
        running = tuple(sorted(n for n in look.running if n.topic == create.topic))
        if running:
            return Hold(TopicUnsettled(running))
        present = [TopicPartition(create.topic, p) for p in range(create.present)]
        if not all(n in look.partitions for n in present):
            return Hold(MetadataBehind())
        factors = {len(look.partitions[n].replicas) for n in present} - {create.factor}
        if factors:
            other = NotAsPlanned(Fact.FACTOR, create.factor, min(factors))
            return suspected(Status.STALE, other)
        away = [b for b in create.brokers if b in look.brokers and not look.live(b)]
        return Hold(NewBrokerFenced(away[0])) if away else self._unless_refused(given)

    def _unless_refused(self, given: StepInput) -> StepVerdict:
        """What to do where nothing but Kafka's answer is in the way."""
        create, look = self.create, given.tick.look
        ask = Ask(NewPartitions(create.count, create.lists))
        last = given.memory.refused.get(self.subject)
        if last is None:
            return ask if self.record is None else Suspect(ask, PartitionsUnseen())
        refusal = given.refusal(self.subject)
        if refusal is None or rejection_passes(
            refusal, [look.brokers.get(b) for b in create.brokers]
        ):
            return Suspect(ask, PartitionsUnseen(last.answer.code, last.answer.name))
        return rejection_end(refusal)

    def arrival_possible(self, _end: End, _given: StepInput, seconds: float) -> HoldReason:
        """A request names no topic id."""
        return CreateArrivalPossible(seconds)

    def begun(self, ledger: Ledger) -> CreateRecord:
        """Of which topic, and how many it is to have."""
        create = self.create
        return CreateRecord(ledger.application_id, create.topic, create.topic_id, create.count)


class CreateKind(StepKind[CreateStep]):
    """The kind of step that adds partitions to topics."""

    part = "creates"
    record = CreateRecord

    def steps(self, plan: Plan, ledger: Ledger) -> list[CreateStep]:
        """Those of a plan."""
        records = ledger.steps_of(CreateRecord)
        return [CreateStep(c, records.get(c.topic)) for c in plan.creates]

    def reads(self, job: Job, ledger: Ledger, memory: RequestMemory[RequestSubject]) -> Wanted:
        """All partitions of their topics, and whether brokers of lists that Kafka refused are cordoned."""
        steps = self.pending(job, ledger)
        refused = [step.create for step in steps if step.subject in memory.refused]
        return Wanted(
            partitions={n for step in steps for n in _looked_at(step.create)},
            cordons_of={b for create in refused for b in create.brokers},
        )

    def there(self, plan: Plan, cluster: ClusterReader) -> bool:
        """Whether all of them are shown."""
        names = {name for create in plan.creates for name in create.partitions}
        look = cluster.look(Wanted(partitions=sorted(names)))
        return not look.unclear and names <= look.partitions.keys()

    def requests(self, asks: Mapping[TopicPartition, NewPartitions]) -> Requests:
        """All topics in one request."""
        topics = {name.topic: new for name, new in asks.items()}
        first = {name.topic: name for name in asks}
        yield (
            asks.keys(),
            lambda writer: {
                first[topic]: answer for topic, answer in writer.create_partitions(topics).items()
            },
        )

    def stays(self, plan: Plan | None, ledger: Ledger) -> Mapping[str, list[Grown]]:
        """The topics with their counts before, 0 where that is not known, and after."""
        before = {} if plan is None else {c.topic: c.present for c in plan.creates}
        lasting = ledger.lasting(CreateRecord)
        return {"grown": [Grown(r.topic, before.get(r.topic, 0), r.count) for r in lasting]}


CREATES = CreateKind()


def _looked_at(create: Create) -> set[TopicPartition]:
    """All partitions of the topic, wanted ones and one beyond."""
    return {TopicPartition(create.topic, p) for p in range(create.count + 1)}


def rejection_passes(answer: Rejected, brokers: Iterable[Broker | None]) -> bool:
    """Whether a rejection holds for the moment alone; `brokers`: of the lists, None where one is not registered."""
    if answer.code == ErrorCode.INVALID_REPLICA_ASSIGNMENT:
        # all brokers of a list are fenced or shutting down; or one is not registered or cordoned, which is final
        return all(broker is not None and not broker.cordoned for broker in brokers)
    return answer.code in NOT_FINAL_FOR_CREATES
