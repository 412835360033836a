"""What to do about one partition, in every state it can be found in."""

from dataclasses import replace

import pytest
from tests.builders import TOPIC_ID, brokers, move, state

from replan.applying.journal.records import Asked, MoveRecord, Reached, Status
from replan.applying.observation.look import Observation
from replan.applying.partitions.judge import End, Hold, PartitionInput, Suspect, Verdict, judge
from replan.applying.reasons import advice, waits
from replan.model.configs import TopicSettings
from replan.model.control_plane import Accepted, Answer, OutcomeUnknown, Rejected
from replan.model.names import BrokerId, TopicId, replicas
from replan.model.partition import PartitionState
from replan.planning.moves import Move
from replan.planning.next_request import Wait
from replan.planning.requests import Request, RequestKind

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
    return MoveRecord(
        "a-1",
        planned.partition,
        planned.topic_id,
        planned.original,
        planned.target,
        asked=Asked(ask.kind, ask.replicas, confirmed),
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
        seen=Observation(
            brokers={b.id: b for b in brokers()},
            topics={"orders": TopicSettings(min_isr)},
            unclear=frozenset({planned.partition}) if unclear else frozenset(),
        ),
        settled=settled,
        racks={b.id: b.rack for b in brokers()},
        answer=answer,
        quarantine_seconds=quarantine,
    )


def foreign(message: str, reason: str) -> Suspect:
    return Suspect(End(Status.FOREIGN, message), reason)


def stale(message: str, reason: str) -> Suspect:
    return Suspect(End(Status.STALE, message), reason)


MIN_ISR_CHANGED = stale(
    "orders-0: planned with min.insync.replicas 2, found 3; make a new plan",
    "not as it was planned; looking twice",
)


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
            Hold("no leader; bring back one of its in-sync replicas"),
            id="no leader",
        ),
        pytest.param(
            sight(None, state([1, 2, 3], [1, 3]), planned=FLIP),
            Hold("waiting until 2 is in sync"),
            id="the first of the order is out of sync",
        ),
        pytest.param(
            sight(None, None),
            stale(
                f"orders-0: planned for topic id {TOPIC_ID}, found no such partition; make a new plan",
                "its topic is not the one that was planned for; looking twice",
            ),
            id="gone",
        ),
        pytest.param(
            sight(None, state([1, 2, 4])),
            stale(
                "orders-0: planned from [1, 2, 3], found [1, 2, 4]; make a new plan",
                "not the list that was planned from; looking twice",
            ),
            id="another list",
        ),
        pytest.param(
            sight(None, state([1, 2, 3]), min_isr=3), MIN_ISR_CHANGED, id="another minimum"
        ),
        pytest.param(
            sight(None, state([1, 2, 3, 4], [1, 2, 3], adding=[4])),
            foreign(
                "orders-0: somebody else's reassignment to [1, 2, 3, 4] runs on it (adding [4], removing []); "
                "let it end or cancel it, then make a new plan",
                "somebody else's reassignment runs on it; looking twice",
            ),
            id="somebody else's reassignment",
        ),
        pytest.param(
            sight(
                None, state([4, 1, 5, 2, 3], [1, 2, 3], leader=1, adding=[4, 5], removing=[2, 3])
            ),
            Hold("somebody else's reassignment to the same list runs on it; waiting for its end"),
            id="somebody else heads to the same list",
        ),
        pytest.param(
            sight(None, None, unclear=True),
            Hold("the controller is ahead of the brokers; looking again", soon=True),
            id="unclear",
        ),
    ],
)
def test_a_partition_that_was_not_begun(given: PartitionInput, verdict: Verdict) -> None:
    assert judge(given) == (None, verdict)


RUNNING = state(EXPANDED, [1, 2, 3], adding=[4, 5])
COPIED = state(EXPANDED, EXPANDED, leader=1)
BACK = state([1, 2, 3])
QUARANTINED = Hold(
    "the outcome of expand [1, 2, 3, 4, 5] is not known and it may still arrive; assign follows in 33 s"
)


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        pytest.param(
            sight(own(EXPAND), RUNNING), Hold("waiting until 4, 5 are in sync"), id="copying"
        ),
        pytest.param(
            sight(own(EXPAND), COPIED), Hold("in sync; waiting whether it stays so"), id="settling"
        ),
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
            Suspect(EXPAND, "expand was accepted and is not seen yet"),
            id="accepted and not seen",
        ),
        pytest.param(
            sight(own(EXPAND), BACK, min_isr=3),
            MIN_ISR_CHANGED,
            id="changed before it is asked again",
        ),
        pytest.param(
            sight(own(EXPAND, Reached.EXPANDED), BACK),
            foreign(
                "orders-0: it was expanded on the way to [4, 1, 5], and somebody else took it back: found replicas "
                "[1, 2, 3]; it is not asked for again. Find out who, then make a new plan",
                "what we did seems to be taken back; looking twice",
            ),
            id="expand taken back",
        ),
        pytest.param(
            sight(own(ASSIGN, Reached.ASSIGNED), COPIED, settled=True),
            foreign(
                "orders-0: it was assigned on the way to [4, 1, 5], and somebody else took it back: found replicas "
                "[1, 2, 3, 4, 5]; it is not asked for again. Find out who, then make a new plan",
                "what we did seems to be taken back; looking twice",
            ),
            id="assign taken back",
        ),
        pytest.param(
            sight(own(EXPAND), BACK, answer=REFUSED),
            End(
                Status.REJECTED,
                "orders-0: Kafka rejected it with 44 POLICY_VIOLATION: Not on Fridays. A policy of this cluster "
                "forbids it; ask those who run it.",
            ),
            id="rejected",
        ),
        pytest.param(
            sight(own(EXPAND, confirmed=False), BACK, answer=REFUSED, quarantine=20),
            Hold(
                "rejected with 44 POLICY_VIOLATION, but an earlier copy of the request may still arrive; "
                "waiting 20 s more"
            ),
            id="rejected, with an earlier copy under way",
        ),
        pytest.param(
            sight(own(EXPAND), RUNNING, answer=REFUSED),
            Hold("waiting until 4, 5 are in sync"),
            id="rejected, but an earlier copy had its effect",
        ),
        pytest.param(
            sight(own(ELECT, Reached.ASSIGNED), state([4, 1, 5], leader=1), answer=NO_LEADER_THERE),
            Suspect(
                ELECT, "elect: Kafka answered 80 PREFERRED_LEADER_NOT_AVAILABLE; looking again"
            ),
            id="an election that was not possible",
        ),
        pytest.param(
            sight(own(ASSIGN), state([4, 1, 5], leader=1)), ELECT, id="assigned, led by another"
        ),
        pytest.param(
            sight(own(ASSIGN), state([4, 1, 5], [1, 5], leader=1)),
            Hold("waiting until 4 is in sync"),
            id="assigned, the preferred leader out of sync",
        ),
        pytest.param(sight(own(ELECT), state([4, 1, 5])), End(Status.DONE), id="done"),
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
            Hold(
                "the outcome of assign [4, 1, 5] is not known and it may still arrive; cancel follows in 5 s"
            ),
            id="an echo within the quarantine",
        ),
        pytest.param(
            sight(own(EXPAND), state([1, 2, 7])),
            foreign(
                "orders-0: on the way to [4, 1, 5] somebody else changed it: found replicas [1, 2, 7]; "
                "it is left as it is. Find out who, then make a new plan",
                "somebody else seems to have changed it; looking twice",
            ),
            id="another list",
        ),
        pytest.param(
            sight(own(EXPAND), state([1, 2, 3, 5], [1, 2, 3], adding=[5])),
            foreign(
                "orders-0: on the way to [4, 1, 5] somebody else changed it: found a reassignment to [1, 2, 3, 5]; "
                "it is left as it is. Find out who, then make a new plan",
                "somebody else seems to have changed it; looking twice",
            ),
            id="another reassignment",
        ),
        pytest.param(
            sight(own(EXPAND), state(EXPANDED, topic_id=TopicId("another"))),
            stale(
                f"orders-0: planned for topic id {TOPIC_ID}, found topic id another; make a new plan",
                "its topic is not the one that was planned for; looking twice",
            ),
            id="another topic",
        ),
        pytest.param(
            sight(own(EXPAND), COPIED, unclear=True),
            Hold("the controller is ahead of the brokers; looking again", soon=True),
            id="unclear",
        ),
    ],
)
def test_a_partition_that_was_begun(given: PartitionInput, verdict: Verdict) -> None:
    assert judge(given)[1] == verdict


@pytest.mark.parametrize(
    ("known", "found", "quarantine", "reached", "confirmed"),
    [
        (own(EXPAND, confirmed=False), BACK, 10, Reached.NOTHING, False),
        (own(EXPAND, confirmed=False), RUNNING, 10, Reached.EXPANDED, False),
        (own(EXPAND, confirmed=False), RUNNING, None, Reached.EXPANDED, True),
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
    after, _ = judge(sight(known, found, quarantine=quarantine))
    assert known.asked is not None
    assert after == replace(known, asked=replace(known.asked, confirmed=confirmed), reached=reached)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            31,
            "The principal needs the operation ALTER on the cluster; grant it, then run the same command again.",
        ),
        (38, "Somebody else changes its number of replicas; let that end, then make a new plan."),
        (60, "Another reassignment runs on it; let it end, then make a new plan."),
        (
            -1,
            "Make a new plan; if it is rejected again, the log of the active controller says why.",
        ),
    ],
)
def test_advice_says_what_to_do(code: int, words: str) -> None:
    assert advice(code) == words


def test_a_wait_names_the_fenced_ones() -> None:
    around = Observation(brokers={b.id: b for b in brokers(fenced=[4])})
    missing = frozenset({BrokerId(4), BrokerId(5)})
    assert waits(Wait(missing), around) == "waiting until 4, 5 are in sync; fenced: 4"


def test_a_wait_names_brokers_that_show_no_log_unless_they_are_fenced() -> None:
    around = Observation(brokers={b.id: b for b in brokers(fenced=[4])})
    missing = frozenset({BrokerId(4), BrokerId(5)})
    assert waits(Wait(missing), around, missing) == (
        "waiting until 4, 5 are in sync; fenced: 4; "
        "no log of it on 5: look at the disks there, and start it again"
    )
