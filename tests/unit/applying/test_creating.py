"""What one look says of the partitions that a topic is to get."""

from msgspec.structs import replace
from tests.builders import TOPIC, TOPIC_ID, state
from tests.unit.applying.lab import plan_of

from replan.applying.api import (
    CREATES,
    Ask,
    CreateRecord,
    CreateStep,
    End,
    Fact,
    Hold,
    Job,
    Ledger,
    MetadataBehind,
    NewBrokerFenced,
    NotAsPlanned,
    NotCreated,
    OtherPartitions,
    PartitionsUnseen,
    Rechecking,
    RejectedByKafka,
    RepeatedRefusal,
    RequestMemory,
    RequestSubject,
    Settings,
    Status,
    StepInput,
    Suspect,
    TickInput,
    TopicUnsettled,
)
from replan.model.api import (
    Accepted,
    Answer,
    Broker,
    BrokerId,
    Look,
    NewPartitions,
    OutcomeUnknown,
    PartitionState,
    Reassignment,
    Rejected,
    TopicId,
    TopicPartition,
    replicas,
)
from replan.planning.api import Create

CREATE = Create(TOPIC, TOPIC_ID, 2, (replicas(3, 4, 5), replicas(4, 5, 1)))
BEGUN = CreateRecord("a-1", TOPIC, TOPIC_ID, CREATE.count)
ASK = Ask(NewPartitions(CREATE.count, CREATE.lists))
OLD = [state([1, 2, 3]), state([2, 3, 4], partition=1)]
NEW = [state([3, 4, 5], partition=2), state([4, 5, 1], partition=3)]


def look(*states: PartitionState, **more: object) -> Look:
    return Look(partitions={s.partition: s for s in states}, **{"brokers": {}, **more})  # type: ignore[arg-type]


def judged(
    seen: Look, *, asked: bool = False, answer: Answer | None = None, cancelled: bool = False
) -> object:
    refused: dict[RequestSubject, RepeatedRefusal] = {}
    if isinstance(answer, Rejected):
        refused[CREATE.first] = RepeatedRefusal(answer, 0, 50)
    tick = TickInput(job=Job.of(plan_of([]), Settings()), look=seen, now=50, ended=50)
    step = CreateStep(CREATE, BEGUN if asked else None)
    given = StepInput(tick, Ledger(), RequestMemory(refused=refused))
    return step.judge_cancelled(given) if cancelled else step.judge(given)


def ended(verdict: object) -> object:
    """What looks are to agree on."""
    assert isinstance(verdict, Suspect)
    assert isinstance(verdict.conclusion, End)
    assert verdict.conclusion.status is Status.STALE
    return verdict.conclusion.reason


def test_it_looks_one_partition_further_than_it_creates() -> None:
    job = Job.of(replace(plan_of([]), creates=(CREATE,)), Settings())
    read = CREATES.reads(job, Ledger(), RequestMemory())
    assert read.partitions == {TopicPartition(TOPIC, p) for p in range(5)}


def test_partitions_are_asked_for_once_and_again_only_when_looks_agree() -> None:
    assert judged(look(*OLD)) == ASK
    for answer in (None, Accepted(), OutcomeUnknown("no answer")):
        assert judged(look(*OLD), asked=True, answer=answer) == Suspect(ASK, PartitionsUnseen())


def test_they_are_done_when_brokers_show_all_of_them_whoever_made_them() -> None:
    for asked in (False, True):
        assert judged(look(*OLD, *NEW), asked=asked) == End(Status.DONE)


def test_once_cancelled_they_are_done_where_they_came_to_be_and_not_asked_for_where_not() -> None:
    rests: Suspect[Ask] = Suspect(End(Status.CANCELLED, NotCreated()), Rechecking(NotCreated()))
    for answer in (None, Accepted(), OutcomeUnknown("no answer")):
        assert judged(look(*OLD), asked=True, answer=answer, cancelled=True) == rests
    assert judged(look(*OLD, *NEW), asked=True, cancelled=True) == End(Status.DONE)


def test_an_answer_that_there_are_as_many_already_is_rechecked() -> None:
    answer = Rejected(37, "INVALID_PARTITIONS", "Topic already has 4 partition(s).")
    unseen = PartitionsUnseen(37, "INVALID_PARTITIONS")
    assert judged(look(*OLD), asked=True, answer=answer) == Suspect(ASK, unseen)
    assert judged(look(*OLD, *NEW), asked=True, answer=answer) == End(Status.DONE)


def test_a_policy_that_forbids_it_ends_it() -> None:
    answer = Rejected(44, "POLICY_VIOLATION", "no.")
    reason = RejectedByKafka(44, "POLICY_VIOLATION", "no.")
    assert judged(look(*OLD), asked=True, answer=answer) == End(Status.REJECTED, reason)


def test_it_waits_for_a_broker_that_is_away_and_asks_again_after_a_refusal_for_that() -> None:
    """All brokers of a list are fenced or shut down (39): that passes; one that is gone or cordoned does not."""
    here = {BrokerId(b): Broker(BrokerId(b)) for b in range(1, 6)}
    fenced = {**here, BrokerId(4): Broker(BrokerId(4), fenced=True)}
    cordoned = {**here, BrokerId(4): Broker(BrokerId(4), cordoned=True)}
    gone = {b: broker for b, broker in here.items() if b != 4}
    refused = Rejected(39, "INVALID_REPLICA_ASSIGNMENT", "All brokers are fenced.")
    ends = End(Status.REJECTED, RejectedByKafka(refused.code, refused.name, refused.message))
    assert judged(look(*OLD, brokers=fenced)) == Hold(NewBrokerFenced(BrokerId(4)))
    for brokers, verdict in (
        (here, Suspect(ASK, PartitionsUnseen(refused.code, refused.name))),
        (fenced, Hold(NewBrokerFenced(BrokerId(4)))),
        (cordoned, ends),
        (gone, ends),
    ):
        assert judged(look(*OLD, brokers=brokers), asked=True, answer=refused) == verdict


def test_partitions_of_another_tool_are_left_as_they_are() -> None:
    elsewhere = [NEW[0], state([1, 2, 3], partition=3)]
    name = TopicPartition(TOPIC, 3)
    assert ended(judged(look(*OLD, *elsewhere))) == OtherPartitions(4, 4, (name,))
    assert ended(judged(look(*OLD, NEW[0]))) == OtherPartitions(4, 3)
    more = state([1, 2, 3], partition=4)
    assert ended(judged(look(*OLD, *NEW, more))) == OtherPartitions(4, 5)


def test_it_waits_until_nothing_runs_on_the_topic() -> None:
    name = TopicPartition(TOPIC, 1)
    running = {name: Reassignment(replicas(2, 3, 4, 5), replicas(5), ())}
    assert judged(look(*OLD, running=running)) == Hold(TopicUnsettled((name,)))
    elsewhere = {TopicPartition("clicks", 1): running[name]}
    assert judged(look(*OLD, running=elsewhere)) == ASK


def test_another_replication_factor_or_another_topic_makes_it_stale() -> None:
    longer = [OLD[0], state([1, 2, 3, 4], partition=1)]
    assert ended(judged(look(*longer))) == NotAsPlanned(Fact.FACTOR, 3, 4)
    assert ended(judged(look())) == NotAsPlanned(Fact.TOPIC, TOPIC_ID, None)
    other = TopicId("another-topic-id-00000")
    again = [state([1, 2, 3], topic_id=other)]
    assert ended(judged(look(*again))) == NotAsPlanned(Fact.TOPIC, TOPIC_ID, other)


def test_brokers_that_lag_are_waited_for() -> None:
    assert judged(look(*OLD, unclear=frozenset({TopicPartition(TOPIC, 0)}))) == Hold(
        MetadataBehind()
    )
    assert judged(look(OLD[1])) == Hold(MetadataBehind())
