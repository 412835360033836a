"""The sentences of why a partition waits or has ended."""

from typing import get_args

import pytest
from tests.builders import TOPIC_ID

from replan.applying.journal.steps import Reached, RecoveryStep
from replan.applying.reasons.copies import (
    AwaitingSync,
    AwaitingThrottle,
    Confirming,
    CopyGoesOn,
    CopyingInBroker,
    CopyNeverEnds,
    CopyStopsWrites,
    NeverEnding,
    NoLeader,
    Stalled,
)
from replan.applying.reasons.ends import (
    ChangedElsewhere,
    EffectUndone,
    EndReason,
    Fact,
    NotAsPlanned,
    NotCreated,
    OtherLogDir,
    OtherPartitions,
    OtherReassignment,
    OtherValue,
    PreferredUnavailable,
    RejectedByKafka,
    ReplicaGone,
    StaysInLogDir,
    StaysUnset,
    SubjectGone,
    TakenBack,
    ThrottleRefused,
)
from replan.applying.reasons.gates import (
    Cancelling,
    CoordinatorLoads,
    MoveFirst,
    NewBrokerCordoned,
    NewBrokerFenced,
    NoRoom,
    NoSlot,
    OthersFirst,
    OthersUnderMinIsr,
    PartitionsFirst,
    Paused,
    SettingFirst,
    SettingInUse,
    Stopping,
    ThrottleContested,
    TopicReassigned,
    TopicUnsettled,
    UncleanElectionPossible,
    WritesWouldStop,
)
from replan.applying.reasons.kinds import kind_of
from replan.applying.reasons.recovery import (
    EvidenceChanged,
    LeaderlessTooShort,
    LedAgain,
    LedByAnother,
    LogsSilent,
    RecoveryArrivalPossible,
    RecoveryUnseen,
)
from replan.applying.reasons.requests import (
    ArrivalPossible,
    ClusterSilent,
    CreateArrivalPossible,
    EffectUnseen,
    JournalSilent,
    LookTooOld,
    MetadataBehind,
    NextBatch,
    NotPermitted,
    OutcomePending,
    PartitionsUnseen,
    Rechecking,
    RejectionPending,
    RepeatPending,
    ReplicaUnread,
    SameListElsewhere,
    SettingUnread,
    SettingUnseen,
)
from replan.applying.reasons.waits import HoldReason, is_routine
from replan.applying.views.outcome import PartitionResult, Result
from replan.model.configs import FOLLOWER_RATE, LEADER_REPLICAS, ConfigScope, SettingName
from replan.model.control_plane import TopicPermission
from replan.model.names import BrokerId, TopicId, TopicPartition, replicas
from replan.planning.elections.available import Unavailable
from replan.planning.plans.requests import RequestKind
from replan.reporting.sentences.end_text import advice, end_text
from replan.reporting.sentences.hold_text import hold_text, result_text, stalled_text

NAME = TopicPartition("orders", 0)
B4 = BrokerId(4)
TARGET = replicas(4, 1, 5)

HOLDS: list[tuple[HoldReason, str]] = [
    (OthersFirst(), "others of the plan have their turn first"),
    (
        LeaderlessTooShort(300.0, 120.0),
        "no leader; recovered once that has lasted for 5 min, in 120 s",
    ),
    (
        LogsSilent((BrokerId(3),)),
        (
            "broker 3 does not say what its log holds, and the plan rests on that; wait until that is answered, or "
            "plan again"
        ),
    ),
    (RecoveryUnseen(RecoveryStep.ELECT), "elect shows no effect yet; rechecking"),
    (
        RecoveryArrivalPossible(BrokerId(2), led=True, seconds=80.0),
        (
            "led again; the outcome of an earlier request is unknown and it may still arrive; watching for 80 s more"
        ),
    ),
    (
        RecoveryArrivalPossible(BrokerId(2), led=False, seconds=80.0),
        (
            "no leader; the outcome of an earlier request is unknown and it may still arrive; watching for 80 s more"
        ),
    ),
    (
        RecoveryArrivalPossible(BrokerId(2), led=False, better=replicas(3), seconds=80.0),
        (
            "the log of 3 is better than that of 2, but the unclean election of 2 was asked for and may still arrive, "
            "which cuts what 2 lacks; stop broker 2 until this has ended to prevent it; watching for 80 s more"
        ),
    ),
    (
        NotPermitted("orders", TopicPermission.DESCRIBE),
        "this user lacks the ACL Describe on Topic orders; waiting until it is granted",
    ),
    (MetadataBehind(), "brokers show older metadata than the controller; rechecking"),
    (PartitionsFirst(), "its topic gets more partitions first"),
    (
        CoordinatorLoads(B4),
        (
            "broker 4 is to lead it, and has just begun to lead another partition of an internal topic: "
            "its groups and transactions come first"
        ),
    ),
    (
        TopicUnsettled((NAME,)),
        "its topic gets partitions only while nothing runs on it; waiting for the reassignment of orders-0",
    ),
    (PartitionsUnseen(), "the new partitions do not show yet; rechecking"),
    (
        PartitionsUnseen(37, "INVALID_PARTITIONS"),
        "Kafka answered 37 INVALID_PARTITIONS; rechecking before partitions are asked for again",
    ),
    (
        CreateArrivalPossible(80.0),
        "the new partitions do not show, and the request for them may still arrive; watching for 80 s more",
    ),
    (NoLeader(), "no leader; bring back one of its in-sync replicas"),
    (
        NoLeader("39 INVALID: no."),
        (
            "no leader, and Kafka does not let its copy be cancelled (39 INVALID: no); "
            "bring back one of its in-sync replicas"
        ),
    ),
    (AwaitingSync(replicas(2)), "waiting until 2 is in sync"),
    (
        CopyStopsWrites(replicas(1, 2), 3, 3),
        (
            "min.insync.replicas is 3 now: with the copy in its list writes need 3 in sync, and [1, 2] are; "
            "the copy is taken back"
        ),
    ),
    (
        CopyNeverEnds(replicas(4)),
        "not registered any more: 4; its copy would never end, and is taken back",
    ),
    (
        NeverEnding(replicas(3)),
        "another tool's lists have left 3 both adding and removing, which Kafka never ends; cancel this reassignment",
    ),
    (
        AwaitingSync(replicas(4, 5), fenced=replicas(4), without_log=replicas(5)),
        "waiting until 4, 5 are in sync; fenced: 4; no log of it on 5: check the disks there and restart it",
    ),
    (Confirming(15), "in sync; confirming for 15 s"),
    (
        SameListElsewhere(),
        "another tool already reassigns it to the same list; waiting for that to end",
    ),
    (Rechecking(NotAsPlanned(Fact.REPLICAS, (), ())), "replicas differ from the plan; rechecking"),
    (
        Rechecking(NotAsPlanned(Fact.TOPIC, TOPIC_ID, None)),
        "its topic is not the one that was planned for; rechecking",
    ),
    (
        Rechecking(NotAsPlanned(Fact.MIN_ISR, 2, 3)),
        "topic or brokers differ from the plan; rechecking",
    ),
    (Rechecking(OtherReassignment((), (), ())), "another tool reassigns it; rechecking"),
    (
        Rechecking(ChangedElsewhere(TARGET, (), running=False)),
        "possibly changed by another tool; rechecking",
    ),
    (
        Rechecking(EffectUndone(TARGET, Reached.EXPANDED, ())),
        "possibly undone by another tool; rechecking",
    ),
    (EffectUnseen(RequestKind.EXPAND), "expand shows no effect yet; rechecking"),
    (
        EffectUnseen(RequestKind.ELECT, 80, "PREFERRED_LEADER_NOT_AVAILABLE"),
        "elect: Kafka answered 80 PREFERRED_LEADER_NOT_AVAILABLE; rechecking",
    ),
    (
        RejectionPending(44, "POLICY_VIOLATION", 20),
        "rejected with 44 POLICY_VIOLATION, but an earlier copy of the request may still arrive; waiting 20 s more",
    ),
    (
        OthersUnderMinIsr((TopicPartition("clicks", 3),), replicas(4)),
        (
            "1 partition that this plan does not move fell under min ISR on brokers that its copies load (4): "
            "clicks-3; no copy is begun until they are back"
        ),
    ),
    (
        ClusterSilent(12, "no broker answers"),
        "the cluster has not answered for 12 s: no broker answers",
    ),
    (
        ClusterSilent(12, "no answer in time", "the active controller"),
        (
            "the active controller has not answered for 12 s, while brokers do; "
            "it goes on when another one has taken over"
        ),
    ),
    (
        JournalSilent(12, "its partition has no leader"),
        (
            "the journal has not been writable for 12 s, so nothing new is asked for: its partition has no leader"
        ),
    ),
    (
        RepeatPending(RequestKind.EXPAND, 4),
        "the outcome of expand is unknown; sending it again in 4 s",
    ),
    (
        RepeatPending(
            RequestKind.ASSIGN,
            15,
            "AlterPartitionReassignments is not permitted: CLUSTER_AUTHORIZATION_FAILED (31): Cluster authorization "
            "failed.\n  this user needs the ACL Alter on Cluster; ask for it, or use another user",
        ),
        (
            "assign was refused: AlterPartitionReassignments is not permitted: CLUSTER_AUTHORIZATION_FAILED (31): "
            "Cluster authorization failed; this user needs the ACL Alter on Cluster; ask for it, or use another user; "
            "asking again in 15 s"
        ),
    ),
    (
        LookTooOld(20, 12),
        (
            "what the cluster showed was 20 s old before anything could be asked, more than 12 s, so nothing was; "
            "see what makes this machine, the cluster or the journal slow"
        ),
    ),
    (
        AwaitingSync(replicas(4), unregistered=replicas(4)),
        "waiting until 4 is in sync; not registered any more: 4; make a new plan",
    ),
    (
        NoSlot(B4, 5, 5, (TopicPartition("clicks", 3),)),
        "broker 4 is at its limit (`--slots 5`); other tools reassign clicks-3",
    ),
    (
        OutcomePending(RequestKind.EXPAND, replicas(1, 2), RequestKind.ASSIGN, 33.3),
        "the outcome of expand [1, 2] is unknown and it may still arrive; assign follows in 33 s",
    ),
    (
        ArrivalPossible(RequestKind.ASSIGN, replicas(1, 2), 33.3),
        "the outcome of assign [1, 2] is unknown and it may still arrive; watching for 33 s more",
    ),
    (CopyGoesOn(), "its copy goes on, throttled; waiting for that to end"),
    (
        AwaitingThrottle(replicas(3)),
        (
            "waiting for the throttle: 1 live broker (3) did not answer when asked for the rate; "
            "the copy does not begin without its throttle"
        ),
    ),
    (NewBrokerFenced(B4), "broker 4 is to receive a replica and is fenced; start it"),
    (
        NewBrokerCordoned(B4),
        "broker 4 is to receive a replica and all its log directories are cordoned; uncordon it, or plan without it",
    ),
    (
        WritesWouldStop(replicas(1), 2, 2),
        (
            "in sync and live: [1]; with min.insync.replicas 2 at least 2 are needed before replicas are added, "
            "or writes stop for the whole copy; bring the others back first"
        ),
    ),
    (
        UncleanElectionPossible("orders", replicas(1)),
        (
            "unclean.leader.election.enable is true and only [1] is in sync: an empty new replica could be elected; "
            "run `kafka-configs.sh --alter --entity-type topics --entity-name orders "
            "--add-config unclean.leader.election.enable=false` first, or bring another replica back"
        ),
    ),
    (
        NoRoom(B4, "/a", 100, 300, 120, 100),
        (
            "broker 4 has no room: 100 bytes to /a (the directory with the fewest logs), 300 usable, 120 of them "
            "promised to other copies, 100 must stay free; make room there"
        ),
    ),
    (
        NoRoom(B4, "/a", 100, 199, 0, 100),
        (
            "broker 4 has no room: 100 bytes to /a (the directory with the fewest logs), 199 usable, 100 must "
            "stay free; make room there"
        ),
    ),
    (
        TopicReassigned(tuple(TopicPartition("orders", p) for p in range(4))),
        (
            "another tool reassigns orders-0, orders-1, orders-2; a cluster before 4.1 cannot guard a reorder against "
            "that; waiting for that to end"
        ),
    ),
    (NoSlot(B4, 5, 5), "broker 4 is at its limit (`--slots 5`)"),
    (NoSlot(B4, 1, 5), "broker 4 is at its limit (1, not 5: in-sync replicas were lost)"),
    (
        ThrottleContested(((B4, FOLLOWER_RATE), ("orders", LEADER_REPLICAS))),
        (
            "another tool removed a throttle twice (broker 4: follower.replication.throttled.rate; "
            "topic orders: leader.replication.throttled.replicas); find out which, then rerun to resume"
        ),
    ),
    (
        AwaitingThrottle(unanswered=replicas(4)),
        (
            "waiting for the throttle: 1 broker (4) did not answer when asked to set the rate; "
            "the copy does not begin without its throttle"
        ),
    ),
    (AwaitingThrottle(), "waiting for the throttle to take effect"),
    (
        AwaitingThrottle(catching_up=(TopicPartition("orders", 0),)),
        (
            "waiting for the throttle, which is lifted while orders-0 catches up: entries of throttled replicas that "
            "are not of its copies would hold it (replan throttle show)"
        ),
    ),
    (
        UncleanElectionPossible("orders", replicas(1, 2)),
        (
            "unclean.leader.election.enable is true and was false when planned: an empty new replica could be elected; "
            "run `kafka-configs.sh --alter --entity-type topics --entity-name orders "
            "--add-config unclean.leader.election.enable=false` first"
        ),
    ),
    (
        SettingFirst(SettingName(ConfigScope.BROKER, "4", FOLLOWER_RATE)),
        "waiting until follower.replication.throttled.rate of broker 4 is set",
    ),
    (CopyingInBroker(5, 20), "its broker copies it: 5 B of 20 B"),
    (ReplicaUnread(B4), "broker 4 does not say where its replicas lie; waiting until it does"),
    (MoveFirst(), "the partition moves to other brokers first"),
    (SettingUnread(), "its value cannot be read now; waiting until it can"),
    (SettingUnseen(), "asked for; waiting until it is confirmed"),
    (SettingInUse(), "a move uses another value for a while; it is set when that is restored"),
    (NextBatch(elections=False), "waiting for the next batch"),
    (NextBatch(elections=True), "waiting for the next batch of elections"),
    (Stopping(), "stopping"),
    (Paused("bob@ops-2"), "paused by bob@ops-2; `replan resume` goes on"),
    (Cancelling("bob@ops-2"), "cancelled by bob@ops-2: what is not finished goes back"),
]

ENDS: list[tuple[EndReason, str]] = [
    (StaysInLogDir("/d2"), "cancelled; its replica stays in /d2"),
    (StaysUnset(None), "cancelled; it stays as it was: not set"),
    (
        OtherLogDir("/d2", "/d3"),
        "its replica lay in /d2 when planned, and now lies in /d3; make a new plan",
    ),
    (
        OtherLogDir("/d2", None),
        "its replica lay in /d2 when planned, and now lies in no log directory that works; make a new plan",
    ),
    (
        ReplicaGone(BrokerId(4), replicas(5, 2, 3)),
        "broker 4 has no replica of it any more: found replicas [5, 2, 3]; make a new plan",
    ),
    (SubjectGone(), "it does not exist any more; make a new plan"),
    (
        OtherValue(None, "0:3"),
        "was not set when planned, found 0:3; it is left as it is; make a new plan",
    ),
    (
        OtherPartitions(4, 4, (NAME,)),
        (
            "its topic was to have 4 partitions, and another tool made others: found 4, elsewhere orders-0. They are "
            "left as they are; make a new plan"
        ),
    ),
    (
        NotAsPlanned(Fact.FACTOR, 3, 2),
        "planned with replication factor 3, found 2; make a new plan",
    ),
    (
        NotAsPlanned(Fact.TOPIC, TopicId("a"), TopicId("b")),
        "planned for topic id a, found topic id b; make a new plan",
    ),
    (
        NotAsPlanned(Fact.TOPIC, TopicId("a"), None),
        "planned for topic id a, found no such partition; make a new plan",
    ),
    (
        NotAsPlanned(Fact.REPLICAS, replicas(1, 2), replicas(1, 3)),
        "planned from [1, 2], found [1, 3]; make a new plan",
    ),
    (
        NotAsPlanned(Fact.MIN_ISR, 2, 3),
        "planned with min.insync.replicas 2, found 3; make a new plan",
    ),
    (
        NotAsPlanned(Fact.UNCLEAN_ELECTION, planned=False, found=True),
        "planned with unclean.leader.election.enable false, found true; make a new plan",
    ),
    (
        NotAsPlanned(Fact.REGISTRATION, "a", None, B4),
        "broker 4 was registered when planned, now it is not; make a new plan",
    ),
    (
        NotAsPlanned(Fact.RACK, "a", None, B4),
        "broker 4 was planned in rack a, found in rack None; make a new plan",
    ),
    (
        OtherReassignment(replicas(1, 2, 3, 4), replicas(4), ()),
        (
            "another tool's reassignment to [1, 2, 3, 4] is running (adding [4], removing []); "
            "let it end or cancel it, then make a new plan"
        ),
    ),
    (
        ChangedElsewhere(TARGET, replicas(1, 2, 7), running=False),
        (
            "on the way to [4, 1, 5] another tool changed it: found replicas [1, 2, 7]; it is left as it is. "
            "Find out which tool, then make a new plan"
        ),
    ),
    (
        ChangedElsewhere(TARGET, replicas(1, 2, 7), running=True),
        (
            "on the way to [4, 1, 5] another tool changed it: found a reassignment to [1, 2, 7]; it is left as it is. "
            "Find out which tool, then make a new plan"
        ),
    ),
    (
        EffectUndone(TARGET, Reached.EXPANDED, replicas(1, 2, 3)),
        (
            "it was expanded on the way to [4, 1, 5], and another tool undid that: found replicas [1, 2, 3]; "
            "it is not asked for again. Find out which tool, then make a new plan"
        ),
    ),
    (
        RejectedByKafka(44, "POLICY_VIOLATION", "Not on Fridays."),
        (
            "Kafka rejected it with 44 POLICY_VIOLATION: Not on Fridays. A policy of this cluster forbids it; "
            "ask those who run it."
        ),
    ),
    (
        RejectedByKafka(44, "POLICY_VIOLATION", "Not on Fridays.", whole=True),
        (
            "Kafka rejected the whole request with 44 POLICY_VIOLATION: Not on Fridays. A policy of this cluster "
            "forbids it; ask those who run it."
        ),
    ),
    (
        LedAgain(BrokerId(2), 0, 500),
        "led again by 2; records lost: stated at least 0, measured 500",
    ),
    (
        LedByAnother(BrokerId(3), BrokerId(2)),
        "broker 3 leads it, not 2; make a new plan where that is not wanted",
    ),
    (
        EvidenceChanged(BrokerId(3), None, (1, 4000)),
        (
            "the log of broker 3 is not as planned: nothing was known of it, found last epoch 1, end 4,000; "
            "make a new plan"
        ),
    ),
    (
        PreferredUnavailable(BrokerId(1), Unavailable.FENCED, replicas(2, 3)),
        (
            "its preferred replica 1 is not available: its broker is fenced (in sync: [2, 3]); ask again once it is in "
            "sync"
        ),
    ),
    (NotCreated(), "cancelled; the new partitions were not created"),
    (
        TakenBack(replicas(1, 2, 3), replicas(1, 2, 3)),
        "cancelled; it is at its original [1, 2, 3]",
    ),
    (
        TakenBack(replicas(3, 1, 2), replicas(1, 2, 3)),
        "cancelled; it goes from [1, 2, 3] back to [3, 1, 2]",
    ),
    (
        ThrottleRefused(ConfigScope.BROKER, "4", 31, "CLUSTER_AUTHORIZATION_FAILED", "Denied."),
        (
            "the throttle of broker 4 cannot be set: Kafka answered 31 CLUSTER_AUTHORIZATION_FAILED: Denied. "
            "The copy was not started without it; grant ALTER_CONFIGS or plan without throttles"
        ),
    ),
    (
        ThrottleRefused(ConfigScope.TOPIC, "orders", 44, "POLICY_VIOLATION", "no throttles here"),
        (
            "the throttle of topic orders cannot be set: Kafka answered 44 POLICY_VIOLATION: no throttles here. "
            "The copy was not started without it; a policy of this cluster forbids it "
            "(alter.config.policy.class.name): ask those who run it to allow throttles, or plan without them"
        ),
    ),
]


@pytest.mark.parametrize(("reason", "text"), HOLDS)
def test_a_hold_is_said_with_measure_and_way_out(reason: HoldReason, text: str) -> None:
    assert hold_text(reason) == text


@pytest.mark.parametrize(("reason", "text"), ENDS)
def test_an_end_is_a_sentence_that_stands_alone(reason: EndReason, text: str) -> None:
    assert end_text(NAME, reason) == f"orders-0: {text}"


def test_every_reason_has_its_sentence_here_and_a_kind_of_its_own() -> None:
    assert {type(reason) for reason, _ in HOLDS} == set(get_args(HoldReason))
    assert {type(reason) for reason, _ in ENDS} == set(get_args(EndReason))
    every = [reason for reason, _ in HOLDS] + [reason for reason, _ in ENDS]
    assert len({kind_of(reason) for reason in every}) == len({type(reason) for reason in every})
    assert kind_of(NewBrokerFenced(B4)) == "new-broker-fenced"


def test_a_hold_that_counts_down_is_the_same_hold() -> None:
    first, later = (
        OutcomePending(RequestKind.EXPAND, replicas(1), RequestKind.ASSIGN, left)
        for left in (33, 32)
    )
    assert first == later
    assert NewBrokerFenced(B4) != NewBrokerFenced(BrokerId(5))


@pytest.mark.parametrize(
    ("reason", "routine"),
    [
        (AwaitingSync(replicas(4)), True),
        (AwaitingSync(replicas(4), fenced=replicas(4)), False),
        (AwaitingSync(replicas(4), without_log=replicas(4)), False),
        (EffectUnseen(RequestKind.EXPAND), True),
        (EffectUnseen(RequestKind.ELECT, 80, "X"), False),
        (Confirming(15), True),
        (NoSlot(B4, 5, 5), False),
    ],
)
def test_what_every_move_waits_for_is_routine(reason: HoldReason, routine: bool) -> None:
    assert is_routine(reason) is routine


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            31,
            "The principal needs the operation ALTER on the cluster; grant it, then rerun to resume.",
        ),
        (38, "Another tool changes its number of replicas; let that end, then make a new plan."),
        (
            56,
            (
                "While one of a broker's log directories is offline, Kafka moves nothing between its others; "
                "replace the disk and restart the broker, then make a new plan."
            ),
        ),
        (60, "Another reassignment runs on it; let it end, then make a new plan."),
        (
            -1,
            "Make a new plan; if it is rejected again, the log of the active controller says why.",
        ),
    ],
)
def test_advice_says_what_to_do(code: int, words: str) -> None:
    assert advice(code) == words


@pytest.mark.parametrize(
    ("stalled", "text"),
    [
        (Stalled(B4), "broker 4 is fenced; the copy goes on when it is back"),
        (
            Stalled(B4, 70, 300),
            "the replica on broker 4 has been at 70 bytes for 300 s; check its log and the throttle",
        ),
    ],
)
def test_a_copy_that_does_not_move_is_named_with_its_broker(stalled: Stalled, text: str) -> None:
    assert stalled_text(stalled) == text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (PartitionResult(NAME, Result.WAITING), "orders-0: not started"),
        (PartitionResult(NAME, Result.RUNNING), "orders-0: started"),
        (PartitionResult(NAME, Result.RUNNING, hold=Stopping()), "orders-0: stopping"),
        (PartitionResult(NAME, Result.STALE, "orders-0: gone"), "orders-0: gone"),
    ],
)
def test_a_partition_in_the_end_is_said_with_why(result: PartitionResult, text: str) -> None:
    assert result_text(result) == text
