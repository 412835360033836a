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
    EndReason,
    HoldReason,
    Leftover,
    Note,
    Reached,
    Reason,
    RecoveryStep,
    Verb,
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
    holds.OthersFirst(),
    holds.LeaderlessTooShort(300.0, 120.0),
    holds.LogsSilent((BrokerId(3),)),
    holds.RecoveryUnseen(RecoveryStep.ELECT),
    holds.RecoveryArrivalPossible(BrokerId(2), led=True, better=(), seconds=80.0),
    holds.RecoveryArrivalPossible(BrokerId(2), led=False, better=(), seconds=80.0),
    holds.RecoveryArrivalPossible(BrokerId(2), led=False, better=replicas(3), seconds=80.0),
    holds.NotPermitted("orders", TopicPermission.DESCRIBE),
    holds.MetadataBehind(),
    holds.PartitionsFirst(),
    holds.CoordinatorLoads(B4),
    holds.TopicUnsettled((NAME,)),
    holds.PartitionsUnseen(),
    holds.PartitionsUnseen(37, "INVALID_PARTITIONS"),
    holds.CreateArrivalPossible(80.0),
    holds.NoLeader(),
    holds.NoLeader("39 INVALID: no."),
    holds.AwaitingSync(replicas(2)),
    holds.CopyStopsWrites(replicas(1, 2), 3, 3),
    holds.CopyNeverEnds(replicas(4)),
    holds.NeverEnding(replicas(3)),
    holds.AwaitingSync(replicas(4, 5), fenced=replicas(4), without_log=replicas(5)),
    holds.Confirming(15),
    holds.SameListElsewhere(),
    holds.Rechecking(ends.NotAsPlanned(ends.Fact.REPLICAS, (), ())),
    holds.Rechecking(ends.NotAsPlanned(ends.Fact.TOPIC, TOPIC_ID, None)),
    holds.Rechecking(ends.NotAsPlanned(ends.Fact.MIN_ISR, 2, 3)),
    holds.Rechecking(ends.OtherReassignment((), (), ())),
    holds.Rechecking(ends.ChangedElsewhere(TARGET, (), running=False)),
    holds.Rechecking(ends.EffectUndone(TARGET, Reached.EXPANDED, ())),
    holds.EffectUnseen(RequestKind.EXPAND),
    holds.EffectUnseen(RequestKind.ELECT, 80, "PREFERRED_LEADER_NOT_AVAILABLE"),
    holds.RejectionPending(44, "POLICY_VIOLATION", 20),
    holds.OthersUnderMinIsr((TopicPartition("clicks", 3),), replicas(4)),
    holds.ClusterSilent(12, "no broker answers"),
    holds.ClusterSilent(12, "no answer in time", "the active controller"),
    holds.JournalSilent(12, "its partition has no leader"),
    holds.RepeatPending(RequestKind.EXPAND, 4),
    holds.RepeatPending(
        RequestKind.ASSIGN,
        15,
        "AlterPartitionReassignments is not permitted: CLUSTER_AUTHORIZATION_FAILED (31): Cluster authorization "
        "failed.\n  this user needs the ACL Alter on Cluster; ask for it, or use another user",
    ),
    holds.LookTooOld(20, 12),
    holds.AwaitingSync(replicas(4), unregistered=replicas(4)),
    holds.NoSlot(B4, 5, 5, (TopicPartition("clicks", 3),)),
    holds.OutcomePending(RequestKind.EXPAND, replicas(1, 2), RequestKind.ASSIGN, 33.3),
    holds.ArrivalPossible(RequestKind.ASSIGN, replicas(1, 2), 33.3),
    holds.CopyGoesOn(),
    holds.AwaitingThrottle(replicas(3)),
    holds.NewBrokerFenced(B4),
    holds.NewBrokerCordoned(B4),
    holds.WritesWouldStop(replicas(1), 2, 2),
    holds.UncleanElectionPossible("orders", replicas(1)),
    holds.NoRoom(B4, "/a", 100, 300, 120, 100),
    holds.NoRoom(B4, "/a", 100, 199, 0, 100),
    holds.NoRoom(B4, "/a", 100, 300, 120, 100, True),
    holds.TopicReassigned(tuple(TopicPartition("orders", p) for p in range(4))),
    holds.NoSlot(B4, 5, 5),
    holds.NoSlot(B4, 1, 5),
    holds.ThrottleContested(((B4, FOLLOWER_RATE), ("orders", LEADER_REPLICAS))),
    holds.AwaitingThrottle(unanswered=replicas(4)),
    holds.AwaitingThrottle(),
    holds.AwaitingThrottle(catching_up=(TopicPartition("orders", 0),)),
    holds.UncleanElectionPossible("orders", replicas(1, 2)),
    holds.SettingFirst(SettingName(ConfigScope.BROKER, "4", FOLLOWER_RATE)),
    holds.CopyingInBroker(5, 20),
    holds.ReplicaUnread(B4),
    holds.MoveFirst(),
    holds.SettingUnread(),
    holds.SettingUnseen(),
    holds.SettingInUse(),
    holds.NextBatch(elections=False),
    holds.NextBatch(elections=True),
    holds.Stopping(),
    holds.Paused("bob@ops-2"),
    holds.Cancelling("bob@ops-2"),
]
ENDS: list[EndReason] = [
    ends.StaysInLogDir("/d2"),
    ends.StaysUnset(None),
    ends.OtherLogDir("/d2", "/d3"),
    ends.OtherLogDir("/d2", None),
    ends.ReplicaGone(BrokerId(4), replicas(5, 2, 3)),
    ends.SubjectGone(),
    ends.OtherValue(None, "0:3"),
    ends.OtherPartitions(4, 4, (NAME,)),
    ends.NotAsPlanned(ends.Fact.FACTOR, 3, 2),
    ends.NotAsPlanned(ends.Fact.TOPIC, TopicId("a"), TopicId("b")),
    ends.NotAsPlanned(ends.Fact.TOPIC, TopicId("a"), None),
    ends.NotAsPlanned(ends.Fact.REPLICAS, replicas(1, 2), replicas(1, 3)),
    ends.NotAsPlanned(ends.Fact.MIN_ISR, 2, 3),
    ends.NotAsPlanned(ends.Fact.UNCLEAN_ELECTION, planned=False, observed=True),
    ends.NotAsPlanned(ends.Fact.REGISTRATION, "a", None, B4),
    ends.NotAsPlanned(ends.Fact.RACK, "a", None, B4),
    ends.OtherReassignment(replicas(1, 2, 3, 4), replicas(4), ()),
    ends.ChangedElsewhere(TARGET, replicas(1, 2, 7), running=False),
    ends.ChangedElsewhere(TARGET, replicas(1, 2, 7), running=True),
    ends.EffectUndone(TARGET, Reached.EXPANDED, replicas(1, 2, 3)),
    ends.RejectedByKafka(44, "POLICY_VIOLATION", "Not on Fridays."),
    ends.RejectedByKafka(44, "POLICY_VIOLATION", "Not on Fridays.", whole=True),
    ends.LedAgain(BrokerId(2), 0, 500),
    ends.LedByAnother(BrokerId(3), BrokerId(2)),
    ends.EvidenceChanged(BrokerId(3), None, (1, 4000)),
    ends.PreferredUnavailable(BrokerId(1), Unavailable.FENCED, replicas(2, 3)),
    ends.NotCreated(),
    ends.TakenBack(replicas(1, 2, 3), replicas(1, 2, 3)),
    ends.TakenBack(replicas(3, 1, 2), replicas(1, 2, 3)),
    ends.ThrottleRefused(ConfigScope.BROKER, "4", 31, "CLUSTER_AUTHORIZATION_FAILED", "Denied."),
    ends.ThrottleRefused(ConfigScope.TOPIC, "orders", 44, "POLICY_VIOLATION", "no throttles here"),
    *(
        ends.RejectedByKafka(code, "NAME", "said without a stop")
        for code in (29, 31, 38, 39, 56, 60, -1)
    ),
    ends.ThrottleRefused(ConfigScope.BROKER, "4", 42, "INVALID_REQUEST", "no"),
]
NOTES: list[Note] = [
    notes.EntriesRemoved("orders", FOLLOWER_REPLICAS, ("0:4", "1:4"), again=False),
    notes.RateRemoved(B4, FOLLOWER_RATE, again=True),
    notes.RateGivesWay(B4, FOLLOWER_RATE, TopicPartition("orders", 0)),
    notes.RateChanged(B4, FOLLOWER_RATE, "70"),
    notes.RateKept(B4, FOLLOWER_RATE, "70", "90"),
    notes.RateKept(B4, FOLLOWER_RATE, None, None),
    notes.RateRefused(("0",), "bob@ops-2"),
    notes.RateUnused(B4, FOLLOWER_RATE, "90"),
    notes.ReadingsApart(9, (B4,)),
    notes.ListsLeft((TopicPartition("orders", 0),)),
    notes.ArrivedLate(TopicPartition("orders", 0), replicas(1, 2, 3, 4)),
    notes.SlowerAlready(B4, FOLLOWER_RATE, 1_000_000, 20_000_000),
    notes.RateLowered(B4, FOLLOWER_RATE, 90_000_000, 20_000_000),
    notes.Obeyed(Verb.THROTTLE, "80000000", "bob@ops-2", others=True),
    notes.Obeyed(Verb.PAUSE, "", "bob@ops-2"),
    notes.Obeyed(Verb.THROTTLE, "80000000", "bob@ops-2"),
    notes.Obeyed(Verb.THROTTLE, "unlimited", "bob@ops-2"),
]
LEFTOVERS: list[Leftover] = [
    notes.UnrestoredRate(B4, FOLLOWER_RATE, None),
    notes.UnrestoredRate(B4, FOLLOWER_RATE, "90"),
    notes.RefusedSetting(ConfigScope.TOPIC, "orders", 44, "POLICY_VIOLATION", "no"),
    notes.UnreadList("orders", FOLLOWER_REPLICAS, TopicPermission.DESCRIBE),
]
STALLED = [holds.Stalled(B4), holds.Stalled(B4, 70, 300)]


def sentences() -> list[str]:
    lines = ["holds"]
    lines += [f"  {r.kind}{' (routine)' if r.routine else ''}: {r}" for r in HOLDS]
    lines += ["ends"]
    for reason in ENDS:
        lines += [
            f"  {reason.kind}: {reason.of(NAME)}",
            f"    suspected: {holds.Rechecking(reason)}",
        ]
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
    assert holds.NewBrokerFenced(B4).kind == "new-broker-fenced"


def test_a_hold_that_counts_down_is_the_same_hold() -> None:
    first, later = (
        holds.OutcomePending(RequestKind.EXPAND, replicas(1), RequestKind.ASSIGN, left)
        for left in (33, 32)
    )
    assert first == later
    assert holds.NewBrokerFenced(B4) != holds.NewBrokerFenced(BrokerId(5))
