"""What to do about one partition, in every state it can be found in."""

import pytest
from msgspec.structs import replace
from tests.builders import TOPIC_ID, brokers, move, state
from tests.unit.applying.journal.records import begun

from replan.applying.api import (
    ArrivalPossible,
    AwaitingSync,
    ChangedElsewhere,
    Confirming,
    EffectUndone,
    EffectUnseen,
    End,
    EndReason,
    Fact,
    Hold,
    LastRequest,
    MetadataBehind,
    MoveRecord,
    MoveVerdict,
    NeverEnding,
    NoLeader,
    NotAsPlanned,
    OtherReassignment,
    OutcomePending,
    PartitionInput,
    PreferredUnavailable,
    Reached,
    Rechecking,
    RejectedByKafka,
    RejectionPending,
    SameListElsewhere,
    Status,
    Suspect,
    judge_cancelled,
    judge_partition,
)
from replan.model.api import (
    Accepted,
    Answer,
    BrokerId,
    Look,
    OutcomeUnknown,
    PartitionState,
    Rejected,
    TopicId,
    TopicSettings,
    replicas,
)
from replan.planning.api import Move, Request, RequestKind, StandaloneElection, Unavailable

SWAP = move([1, 2, 3], [4, 1, 5])
FLIP = move([1, 2, 3], [2, 1, 3])
EXPANDED = [1, 2, 3, 4, 5]
EXPAND = Request(RequestKind.EXPAND, replicas(*EXPANDED))
ASSIGN = Request(RequestKind.ASSIGN, replicas(4, 1, 5))
ELECT = Request(RequestKind.ELECT, replicas(4))
CANCEL = Request(RequestKind.CANCEL, ())
LOST = OutcomeUnknown("timed out")
REFUSED = Rejected(44, "POLICY_VIOLATION", "Not on Fridays.")
NO_LEADER_THERE = Rejected(80, "PREFERRED_LEADER_NOT_AVAILABLE", "")


def own(
    ask: Request,
    reached: Reached = Reached.NOTHING,
    *,
    confirmed: bool = True,
    planned: Move = SWAP,
) -> MoveRecord:
    lists = (EXPAND.replicas, ASSIGN.replicas)
    return begun(
        planned,
        asked=LastRequest(ask.kind, ask.replicas, confirmed),
        past=lists[: 2 if ask.kind is not RequestKind.EXPAND else 1],
        reached=reached,
    )


def sight(
    known: MoveRecord | None,
    found: PartitionState | None,
    *,
    planned: Move = SWAP,
    settled: bool = False,
    answer: Answer | None = None,
    quarantine: float | None = None,
    unclear: bool = False,
    min_isr: int = 2,
) -> PartitionInput:
    return PartitionInput(
        move=planned,
        own=known,
        state=found,
        look=Look(
            brokers={b.id: b for b in brokers()},
            topics={"orders": TopicSettings(min_isr)},
            unclear=frozenset({planned.partition}) if unclear else frozenset(),
        ),
        settled=settled,
        settle_seconds=15,
        racks={b.id: b.rack for b in brokers()},
        answer=answer,
        refusal=answer if isinstance(answer, Rejected) else None,
        quarantine_seconds=quarantine,
    )


def suspected(status: Status, reason: EndReason) -> Suspect[Request]:
    return Suspect(End(status, reason), Rechecking(reason))


def foreign(reason: EndReason) -> Suspect[Request]:
    return suspected(Status.FOREIGN, reason)


def stale(reason: EndReason) -> Suspect[Request]:
    return suspected(Status.STALE, reason)


MIN_ISR_CHANGED = stale(NotAsPlanned(Fact.MIN_ISR, 2, 3))


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        pytest.param(sight(None, state([1, 2, 3])), EXPAND, id="as planned"),
        pytest.param(sight(None, state([4, 1, 5])), End(Status.DONE), id="there already"),
        pytest.param(
            sight(None, state([4, 1, 5], leader=1)), ELECT, id="there already, led by another"
        ),
        pytest.param(
            sight(None, state([1, 2, 3], leader=None)),
            Hold(NoLeader()),
            id="no leader",
        ),
        pytest.param(
            sight(None, state([1, 2, 3], [1, 3]), planned=FLIP),
            Hold(AwaitingSync(replicas(2))),
            id="the first of the order is out of sync",
        ),
        pytest.param(
            sight(None, None),
            stale(NotAsPlanned(Fact.TOPIC, TOPIC_ID, None)),
            id="gone",
        ),
        pytest.param(
            sight(None, state([1, 2, 4])),
            stale(NotAsPlanned(Fact.REPLICAS, SWAP.original, replicas(1, 2, 4))),
            id="another list",
        ),
        pytest.param(
            sight(None, state([1, 2, 3]), min_isr=3), MIN_ISR_CHANGED, id="another minimum"
        ),
        pytest.param(
            sight(None, state([1, 2, 3, 4], [1, 2, 3], adding=[4])),
            foreign(OtherReassignment(replicas(1, 2, 3, 4), replicas(4), ())),
            id="another tool's reassignment",
        ),
        pytest.param(
            replace(
                sight(None, state([1, 2, 3, 4], [1, 2, 3], adding=[4])),
                given_up_list=replicas(1, 2, 3, 4),
            ),
            stale(NotAsPlanned(Fact.REPLICAS, SWAP.original, replicas(1, 2, 3, 4))),
            id="a copy that an earlier application has left",
        ),
        pytest.param(
            sight(
                None, state([4, 1, 5, 2, 3], [1, 2, 3], leader=1, adding=[4, 5], removing=[2, 3])
            ),
            Hold(SameListElsewhere()),
            id="another tool's reassignment leads to the same list",
        ),
        pytest.param(
            sight(None, None, unclear=True),
            Hold(MetadataBehind(), soon=True),
            id="unclear",
        ),
    ],
)
def test_a_partition_that_was_not_begun(given: PartitionInput, verdict: MoveVerdict) -> None:
    assert judge_partition(given) == (None, verdict)


PREFERRED = move([1, 2, 3], [1, 2, 3], election=StandaloneElection.PREFERRED)
FIRST = Request(RequestKind.ELECT, replicas(1))


def unavailable(why: Unavailable, *in_sync: int) -> Suspect[Request]:
    return suspected(Status.REJECTED, PreferredUnavailable(BrokerId(1), why, replicas(*in_sync)))


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        pytest.param(sight(None, state([1, 2, 3], leader=2)), FIRST, id="another leads"),
        pytest.param(sight(None, state([1, 2, 3])), End(Status.DONE), id="it leads already"),
        pytest.param(
            sight(None, state([1, 2, 3], [2, 3])),
            unavailable(Unavailable.NOT_IN_SYNC, 2, 3),
            id="out of sync",
        ),
        pytest.param(
            sight(None, state([1, 2, 3], [], leader=None)),
            unavailable(Unavailable.NO_LEADER),
            id="no leader",
        ),
        pytest.param(
            sight(own(FIRST, Reached.ASSIGNED, planned=PREFERRED), state([1, 2, 3], [2, 3])),
            unavailable(Unavailable.NOT_IN_SYNC, 2, 3),
            id="out of sync since it was asked for",
        ),
        pytest.param(
            sight(
                own(FIRST, Reached.ASSIGNED, planned=PREFERRED),
                state([1, 2, 3], leader=2),
                answer=NO_LEADER_THERE,
            ),
            End(Status.REJECTED, RejectedByKafka(80, "PREFERRED_LEADER_NOT_AVAILABLE", "")),
            id="Kafka says that it is not available",
        ),
        pytest.param(
            sight(
                own(FIRST, Reached.ASSIGNED, planned=PREFERRED),
                state([1, 2, 3], leader=2),
                answer=replace(REFUSED, whole=True),
            ),
            End(Status.REJECTED, RejectedByKafka(44, "POLICY_VIOLATION", "Not on Fridays.", True)),
            id="the whole request is refused",
        ),
    ],
)
def test_an_election_that_was_asked_for_by_itself_never_waits(
    given: PartitionInput, verdict: MoveVerdict
) -> None:
    assert judge_partition(replace(given, move=PREFERRED))[1] == verdict


RUNNING = state(EXPANDED, [1, 2, 3], adding=[4, 5])
COPIED = state(EXPANDED, EXPANDED, leader=1)
BACK = state([1, 2, 3])
QUARANTINED = Hold(
    OutcomePending(RequestKind.EXPAND, replicas(*EXPANDED), RequestKind.ASSIGN, 33.3)
)


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        pytest.param(sight(own(EXPAND), RUNNING), Hold(AwaitingSync(replicas(4, 5))), id="copying"),
        pytest.param(
            sight(own(ASSIGN), state([4, 1, 5, 2], [4, 1, 5], adding=[2], removing=[2])),
            Hold(NeverEnding(replicas(2))),
            id="both adding and removing by lists of another tool",
        ),
        pytest.param(sight(own(EXPAND), COPIED), Hold(Confirming(15)), id="settling"),
        pytest.param(sight(own(EXPAND), COPIED, settled=True), ASSIGN, id="settled"),
        pytest.param(
            sight(own(EXPAND), COPIED, settled=True, min_isr=3),
            MIN_ISR_CHANGED,
            id="minimum raised",
        ),
        pytest.param(
            sight(own(EXPAND, confirmed=False), COPIED, settled=True, quarantine=33.3),
            QUARANTINED,
            id="settled within the quarantine",
        ),
        pytest.param(
            sight(own(EXPAND, confirmed=False), COPIED, settled=True),
            ASSIGN,
            id="after the quarantine",
        ),
        pytest.param(
            sight(own(EXPAND, confirmed=False), BACK, answer=LOST, quarantine=90),
            EXPAND,
            id="unknown outcome: the same again at once",
        ),
        pytest.param(
            sight(own(EXPAND), BACK, answer=Accepted()),
            Suspect(EXPAND, EffectUnseen(RequestKind.EXPAND)),
            id="accepted and not seen",
        ),
        pytest.param(
            sight(own(EXPAND), BACK, min_isr=3),
            MIN_ISR_CHANGED,
            id="changed before it is asked again",
        ),
        pytest.param(
            sight(own(EXPAND, Reached.EXPANDED), BACK),
            foreign(EffectUndone(SWAP.target, Reached.EXPANDED, replicas(1, 2, 3))),
            id="expand taken back",
        ),
        pytest.param(
            sight(own(ASSIGN, Reached.ASSIGNED), COPIED, settled=True),
            foreign(EffectUndone(SWAP.target, Reached.ASSIGNED, replicas(*EXPANDED))),
            id="assign taken back",
        ),
        pytest.param(
            sight(own(EXPAND), BACK, answer=REFUSED),
            End(Status.REJECTED, RejectedByKafka(44, "POLICY_VIOLATION", "Not on Fridays.")),
            id="rejected",
        ),
        pytest.param(
            sight(own(EXPAND, confirmed=False), BACK, answer=REFUSED, quarantine=20),
            Hold(RejectionPending(44, "POLICY_VIOLATION", 20)),
            id="rejected, with an earlier copy under way",
        ),
        pytest.param(
            sight(own(EXPAND), RUNNING, answer=REFUSED),
            Hold(AwaitingSync(replicas(4, 5))),
            id="rejected, but an earlier copy had its effect",
        ),
        pytest.param(
            sight(own(ELECT, Reached.ASSIGNED), state([4, 1, 5], leader=1), answer=NO_LEADER_THERE),
            Suspect(
                ELECT,
                EffectUnseen(RequestKind.ELECT, 80, "PREFERRED_LEADER_NOT_AVAILABLE"),
            ),
            id="an election that was not possible",
        ),
        pytest.param(
            sight(own(ASSIGN), state([4, 1, 5], leader=1)), ELECT, id="assigned, led by another"
        ),
        pytest.param(
            sight(own(ASSIGN), state([4, 1, 5], [1, 5], leader=1)),
            Hold(AwaitingSync(replicas(4))),
            id="assigned, the preferred leader out of sync",
        ),
        pytest.param(sight(own(ELECT), state([4, 1, 5])), End(Status.DONE), id="done"),
        pytest.param(
            sight(own(ASSIGN, confirmed=False), state([4, 1, 5]), quarantine=5),
            Hold(ArrivalPossible(RequestKind.ASSIGN, SWAP.target, 5)),
            id="done, a list may arrive",
        ),
        pytest.param(
            sight(own(ELECT, confirmed=False), state([4, 1, 5]), quarantine=5),
            End(Status.DONE),
            id="done, an election may arrive",
        ),
        pytest.param(
            sight(own(ASSIGN), state([1, 2, 3, 4, 5], [4, 1, 5], adding=[2, 3])),
            CANCEL,
            id="an echo of expand",
        ),
        pytest.param(
            sight(
                own(ASSIGN, confirmed=False),
                state([1, 2, 3, 4, 5], [4, 1, 5], adding=[2, 3]),
                quarantine=5,
            ),
            Hold(OutcomePending(RequestKind.ASSIGN, SWAP.target, RequestKind.CANCEL, 5)),
            id="an echo within the quarantine",
        ),
        pytest.param(
            sight(own(EXPAND), state([1, 2, 7])),
            foreign(ChangedElsewhere(SWAP.target, replicas(1, 2, 7), running=False)),
            id="another list",
        ),
        pytest.param(
            sight(own(EXPAND), state([1, 2, 3, 5], [1, 2, 3], adding=[5])),
            foreign(ChangedElsewhere(SWAP.target, replicas(1, 2, 3, 5), running=True)),
            id="another reassignment",
        ),
        pytest.param(
            sight(own(EXPAND), state(EXPANDED, topic_id=TopicId("another"))),
            stale(NotAsPlanned(Fact.TOPIC, TOPIC_ID, TopicId("another"))),
            id="another topic",
        ),
        pytest.param(
            sight(own(EXPAND), COPIED, unclear=True),
            Hold(MetadataBehind(), soon=True),
            id="unclear",
        ),
    ],
)
def test_a_partition_that_was_begun(given: PartitionInput, verdict: MoveVerdict) -> None:
    assert judge_partition(given)[1] == verdict


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (3, "UNKNOWN_TOPIC_OR_PARTITION"),
        (80, "PREFERRED_LEADER_NOT_AVAILABLE"),
        (83, "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        (84, "ELECTION_NOT_NEEDED"),
        (85, "NO_REASSIGNMENT_IN_PROGRESS"),
    ],
)
def test_a_rejection_that_says_look_again_ends_nothing(code: int, name: str) -> None:
    given = sight(own(EXPAND), BACK, answer=Rejected(code, name, ""))
    assert judge_partition(given)[1] == Suspect(
        EXPAND, EffectUnseen(RequestKind.EXPAND, code, name)
    )


@pytest.mark.parametrize(
    ("known", "found", "quarantine", "reached", "confirmed"),
    [
        (own(EXPAND, confirmed=False), BACK, 10, Reached.NOTHING, False),
        (own(EXPAND, confirmed=False), RUNNING, 10, Reached.EXPANDED, False),
        (own(EXPAND, confirmed=False), RUNNING, None, Reached.EXPANDED, True),
        (own(EXPAND), state([1, 2, 3, 4], [1, 2, 3], adding=[4]), None, Reached.NOTHING, True),
        (own(EXPAND), state([1, 2, 3, 5], leader=1), None, Reached.NOTHING, True),
        (own(ASSIGN, confirmed=False), state([4, 1, 5]), None, Reached.ASSIGNED, True),
        (own(EXPAND, Reached.EXPANDED), BACK, None, Reached.EXPANDED, True),
        (own(EXPAND), None, None, Reached.NOTHING, True),
    ],
)
def test_the_record_takes_in_what_is_definite_and_what_was_seen(
    known: MoveRecord,
    found: PartitionState | None,
    quarantine: float | None,
    reached: Reached,
    confirmed: bool,
) -> None:
    after, _ = judge_partition(sight(known, found, quarantine=quarantine))
    assert known.asked is not None
    assert after == replace(known, asked=replace(known.asked, confirmed=confirmed), reached=reached)


@pytest.mark.parametrize(
    ("logless", "without_log"), [((), ()), ((4, 5), (5,))], ids=["fenced", "no log"]
)
def test_a_wait_names_the_fenced_ones_and_live_ones_that_show_no_log(
    logless: tuple[int, ...], without_log: tuple[int, ...]
) -> None:
    given = sight(own(EXPAND), RUNNING)
    around = replace(given.look, brokers={b.id: b for b in brokers(fenced=[4])})
    given = replace(given, look=around, logless=frozenset(replicas(*logless)))
    awaited = AwaitingSync(replicas(4, 5), replicas(4), without_log=replicas(*without_log))
    assert judge_partition(given)[1] == Hold(awaited)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        pytest.param(state(EXPANDED, adding=[4, 5]), CANCEL, id="ours runs"),
        pytest.param(
            state([1, 2, 3, 6], adding=[6]),
            foreign(ChangedElsewhere(SWAP.target, replicas(1, 2, 3, 6), running=True)),
            id="another tool's runs",
        ),
    ],
)
def test_once_cancelled_only_what_is_ours_is_taken_back(
    found: PartitionState, verdict: MoveVerdict
) -> None:
    assert judge_cancelled(sight(own(EXPAND), found))[1] == verdict
