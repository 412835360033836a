"""Reasons say themselves: every one has an example here, and its sentence in `goldens/reasons.txt`.

`REPLAN_REWRITE=1 pytest tests/unit/applying/test_reasons.py` writes the file again; the diff is the review.
"""

import inspect
from pathlib import Path
from types import ModuleType

import pytest
from tests.builders import TOPIC_ID
from tests.goldens import check

from replan.applying.api import (
    ArrivalPossible,
    ArrivedLate,
    AwaitingSync,
    AwaitingThrottle,
    Cancelling,
    ChangedElsewhere,
    ClusterSilent,
    Confirming,
    CoordinatorLoads,
    CopyGoesOn,
    CopyingInBroker,
    CopyNeverEnds,
    CopyStopsWrites,
    CreateArrivalPossible,
    EffectUndone,
    EffectUnseen,
    EndReason,
    EntriesRemoved,
    EvidenceChanged,
    Fact,
    HoldReason,
    JournalSilent,
    LeaderlessTooShort,
    LedAgain,
    LedByAnother,
    Leftover,
    ListsLeft,
    LogsSilent,
    LookTooOld,
    MetadataBehind,
    MoveFirst,
    NeverEnding,
    NewBrokerCordoned,
    NewBrokerFenced,
    NextBatch,
    NoLeader,
    NoRoom,
    NoSlot,
    NotAsPlanned,
    NotCreated,
    Note,
    NotPermitted,
    Obeyed,
    OtherLogDir,
    OtherPartitions,
    OtherReassignment,
    OthersFirst,
    OthersUnderMinIsr,
    OtherValue,
    OutcomePending,
    PartitionsFirst,
    PartitionsUnseen,
    Paused,
    PreferredUnavailable,
    RateChanged,
    RateGivesWay,
    RateKept,
    RateLowered,
    RateRefused,
    RateRemoved,
    RateUnused,
    Reached,
    ReadingsApart,
    Reason,
    Rechecking,
    RecoveryArrivalPossible,
    RecoveryStep,
    RecoveryUnseen,
    RefusedSetting,
    RejectedByKafka,
    RejectionPending,
    RepeatPending,
    ReplicaGone,
    ReplicaUnread,
    SameListElsewhere,
    SettingFirst,
    SettingInUse,
    SettingUnread,
    SettingUnseen,
    SlowerAlready,
    Stalled,
    StaysInLogDir,
    StaysUnset,
    Stopping,
    SubjectGone,
    TakenBack,
    ThrottleContested,
    ThrottleRefused,
    TopicReassigned,
    TopicUnsettled,
    UncleanElectionPossible,
    UnreadList,
    UnrestoredRate,
    Verb,
    WritesWouldStop,
)
from replan.applying.reasons import ends, holds, notes
from replan.model.api import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    BrokerId,
    ConfigScope,
    SettingName,
    TopicId,
    TopicPartition,
    TopicPermission,
    replicas,
)
from replan.planning.api import RequestKind, Unavailable

GOLDEN = Path(__file__).parent / "goldens" / "reasons.txt"
NAME = TopicPartition("orders", 0)
B4 = BrokerId(4)
TARGET = replicas(4, 1, 5)

HOLDS: list[HoldReason] = [
    OthersFirst(),
    LeaderlessTooShort(300.0, 120.0),
    LogsSilent((BrokerId(3),)),
    RecoveryUnseen(RecoveryStep.ELECT),
    RecoveryArrivalPossible(BrokerId(2), led=True, better=(), seconds=80.0),
    RecoveryArrivalPossible(BrokerId(2), led=False, better=(), seconds=80.0),
    RecoveryArrivalPossible(BrokerId(2), led=False, better=replicas(3), seconds=80.0),
    NotPermitted("orders", TopicPermission.DESCRIBE),
    MetadataBehind(),
    PartitionsFirst(),
    CoordinatorLoads(B4),
    TopicUnsettled((NAME,)),
    PartitionsUnseen(),
    PartitionsUnseen(37, "INVALID_PARTITIONS"),
    CreateArrivalPossible(80.0),
    NoLeader(),
    NoLeader("39 INVALID: no."),
    AwaitingSync(replicas(2)),
    CopyStopsWrites(replicas(1, 2), 3, 3),
    CopyNeverEnds(replicas(4)),
    NeverEnding(replicas(3)),
    AwaitingSync(replicas(4, 5), fenced=replicas(4), without_log=replicas(5)),
    Confirming(15),
    SameListElsewhere(),
    Rechecking(NotAsPlanned(Fact.REPLICAS, (), ())),
    Rechecking(NotAsPlanned(Fact.TOPIC, TOPIC_ID, None)),
    Rechecking(NotAsPlanned(Fact.MIN_ISR, 2, 3)),
    Rechecking(OtherReassignment((), (), ())),
    Rechecking(ChangedElsewhere(TARGET, (), running=False)),
    Rechecking(EffectUndone(TARGET, Reached.EXPANDED, ())),
    EffectUnseen(RequestKind.EXPAND),
    EffectUnseen(RequestKind.ELECT, 80, "PREFERRED_LEADER_NOT_AVAILABLE"),
    RejectionPending(44, "POLICY_VIOLATION", 20),
    OthersUnderMinIsr((TopicPartition("clicks", 3),), replicas(4)),
    ClusterSilent(12, "no broker answers"),
    ClusterSilent(12, "no answer in time", "the active controller"),
    JournalSilent(12, "its partition has no leader"),
    RepeatPending(RequestKind.EXPAND, 4),
    RepeatPending(
        RequestKind.ASSIGN,
        15,
        "AlterPartitionReassignments is not permitted: CLUSTER_AUTHORIZATION_FAILED (31): Cluster authorization "
        "failed.\n  this user needs the ACL Alter on Cluster; ask for it, or use another user",
    ),
    LookTooOld(20, 12),
    AwaitingSync(replicas(4), unregistered=replicas(4)),
    NoSlot(B4, 5, 5, (TopicPartition("clicks", 3),)),
    OutcomePending(RequestKind.EXPAND, replicas(1, 2), RequestKind.ASSIGN, 33.3),
    ArrivalPossible(RequestKind.ASSIGN, replicas(1, 2), 33.3),
    CopyGoesOn(),
    AwaitingThrottle(replicas(3)),
    NewBrokerFenced(B4),
    NewBrokerCordoned(B4),
    WritesWouldStop(replicas(1), 2, 2),
    UncleanElectionPossible("orders", replicas(1)),
    NoRoom(B4, "/a", 100, 300, 120, 100),
    NoRoom(B4, "/a", 100, 199, 0, 100),
    NoRoom(B4, "/a", 100, 300, 120, 100, True),
    TopicReassigned(tuple(TopicPartition("orders", p) for p in range(4))),
    NoSlot(B4, 5, 5),
    NoSlot(B4, 1, 5),
    ThrottleContested(((B4, FOLLOWER_RATE), ("orders", LEADER_REPLICAS))),
    AwaitingThrottle(unanswered=replicas(4)),
    AwaitingThrottle(),
    AwaitingThrottle(catching_up=(TopicPartition("orders", 0),)),
    UncleanElectionPossible("orders", replicas(1, 2)),
    SettingFirst(SettingName(ConfigScope.BROKER, "4", FOLLOWER_RATE)),
    CopyingInBroker(5, 20),
    ReplicaUnread(B4),
    MoveFirst(),
    SettingUnread(),
    SettingUnseen(),
    SettingInUse(),
    NextBatch(elections=False),
    NextBatch(elections=True),
    Stopping(),
    Paused("bob@ops-2"),
    Cancelling("bob@ops-2"),
]
ENDS: list[EndReason] = [
    StaysInLogDir("/d2"),
    StaysUnset(None),
    OtherLogDir("/d2", "/d3"),
    OtherLogDir("/d2", None),
    ReplicaGone(BrokerId(4), replicas(5, 2, 3)),
    SubjectGone(),
    OtherValue(None, "0:3"),
    OtherPartitions(4, 4, (NAME,)),
    NotAsPlanned(Fact.FACTOR, 3, 2),
    NotAsPlanned(Fact.TOPIC, TopicId("a"), TopicId("b")),
    NotAsPlanned(Fact.TOPIC, TopicId("a"), None),
    NotAsPlanned(Fact.REPLICAS, replicas(1, 2), replicas(1, 3)),
    NotAsPlanned(Fact.MIN_ISR, 2, 3),
    NotAsPlanned(Fact.UNCLEAN_ELECTION, planned=False, observed=True),
    NotAsPlanned(Fact.REGISTRATION, "a", None, B4),
    NotAsPlanned(Fact.RACK, "a", None, B4),
    OtherReassignment(replicas(1, 2, 3, 4), replicas(4), ()),
    ChangedElsewhere(TARGET, replicas(1, 2, 7), running=False),
    ChangedElsewhere(TARGET, replicas(1, 2, 7), running=True),
    EffectUndone(TARGET, Reached.EXPANDED, replicas(1, 2, 3)),
    RejectedByKafka(44, "POLICY_VIOLATION", "Not on Fridays."),
    RejectedByKafka(44, "POLICY_VIOLATION", "Not on Fridays.", whole=True),
    LedAgain(BrokerId(2), 0, 500),
    LedByAnother(BrokerId(3), BrokerId(2)),
    EvidenceChanged(BrokerId(3), None, (1, 4000)),
    PreferredUnavailable(BrokerId(1), Unavailable.FENCED, replicas(2, 3)),
    NotCreated(),
    TakenBack(replicas(1, 2, 3), replicas(1, 2, 3)),
    TakenBack(replicas(3, 1, 2), replicas(1, 2, 3)),
    ThrottleRefused(ConfigScope.BROKER, "4", 31, "CLUSTER_AUTHORIZATION_FAILED", "Denied."),
    ThrottleRefused(ConfigScope.TOPIC, "orders", 44, "POLICY_VIOLATION", "no throttles here"),
    *(
        RejectedByKafka(code, "NAME", "said without a stop")
        for code in (29, 31, 38, 39, 56, 60, -1)
    ),
    ThrottleRefused(ConfigScope.BROKER, "4", 42, "INVALID_REQUEST", "no"),
]
NOTES: list[Note] = [
    EntriesRemoved("orders", FOLLOWER_REPLICAS, ("0:4", "1:4"), again=False),
    RateRemoved(B4, FOLLOWER_RATE, again=True),
    RateGivesWay(B4, FOLLOWER_RATE, TopicPartition("orders", 0)),
    RateChanged(B4, FOLLOWER_RATE, "70"),
    RateKept(B4, FOLLOWER_RATE, "70", "90"),
    RateKept(B4, FOLLOWER_RATE, None, None),
    RateRefused(("0",), "bob@ops-2"),
    RateUnused(B4, FOLLOWER_RATE, "90"),
    ReadingsApart(9, (B4,)),
    ListsLeft((TopicPartition("orders", 0),)),
    ArrivedLate(TopicPartition("orders", 0), replicas(1, 2, 3, 4)),
    SlowerAlready(B4, FOLLOWER_RATE, 1_000_000, 20_000_000),
    RateLowered(B4, FOLLOWER_RATE, 90_000_000, 20_000_000),
    Obeyed(Verb.THROTTLE, "80000000", "bob@ops-2", others=True),
    Obeyed(Verb.PAUSE, "", "bob@ops-2"),
    Obeyed(Verb.THROTTLE, "80000000", "bob@ops-2"),
    Obeyed(Verb.THROTTLE, "unlimited", "bob@ops-2"),
]
LEFTOVERS: list[Leftover] = [
    UnrestoredRate(B4, FOLLOWER_RATE, None),
    UnrestoredRate(B4, FOLLOWER_RATE, "90"),
    RefusedSetting(ConfigScope.TOPIC, "orders", 44, "POLICY_VIOLATION", "no"),
    UnreadList("orders", FOLLOWER_REPLICAS, TopicPermission.DESCRIBE),
]
STALLED = [Stalled(B4), Stalled(B4, 70, 300)]


def sentences() -> list[str]:
    lines = ["holds"]
    lines += [f"  {r.kind}{' (routine)' if r.routine else ''}: {r}" for r in HOLDS]
    lines += ["ends"]
    for reason in ENDS:
        lines += [f"  {reason.kind}: {reason.of(NAME)}", f"    suspected: {Rechecking(reason)}"]
    lines += ["notes", *(f"  {note.kind}: {note}" for note in NOTES)]
    lines += ["leftovers", *(f"  {left.kind}: {left}" for left in LEFTOVERS)]
    return [*lines, "stalled", *(f"  {stalled}" for stalled in STALLED)]


def test_every_sentence_is_as_the_golden_file_has_it() -> None:
    text = "".join(f"{line}\n" for line in sentences())
    check(GOLDEN, text)


def of(module: ModuleType, base: type) -> set[type]:
    """The reasons of a module."""
    return {
        found
        for _, found in inspect.getmembers(module, inspect.isclass)
        if issubclass(found, base) and found.__module__ == module.__name__
    }


@pytest.mark.parametrize(
    ("module", "base", "examples"),
    [
        (holds, HoldReason, HOLDS),
        (ends, EndReason, ENDS),
        (notes, Note, NOTES),
        (notes, Leftover, LEFTOVERS),
    ],
)
def test_every_reason_has_an_example(
    module: ModuleType, base: type[Reason], examples: list[Reason]
) -> None:
    assert of(module, base) == {type(reason) for reason in examples}


def test_a_reason_has_a_kind_of_its_own() -> None:
    every = [reason for module in (holds, ends, notes) for reason in of(module, Reason)]
    assert len({found.__name__ for found in every}) == len(every)
    assert NewBrokerFenced(B4).kind == "new-broker-fenced"


def test_a_hold_that_counts_down_is_the_same_hold() -> None:
    first, later = (
        OutcomePending(RequestKind.EXPAND, replicas(1), RequestKind.ASSIGN, left)
        for left in (33, 32)
    )
    assert first == later
    assert NewBrokerFenced(B4) != NewBrokerFenced(BrokerId(5))
