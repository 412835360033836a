"""Why a partition waits: all reasons. The sentences are in `reporting.sentences.hold_text`."""

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
from replan.applying.reasons.recovery import RecoveryUnseen, RecoveryWait
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

HoldReason = (
    MetadataBehind
    | NotPermitted
    | OthersFirst
    | PartitionsFirst
    | CoordinatorLoads
    | TopicUnsettled
    | PartitionsUnseen
    | CreateArrivalPossible
    | NoLeader
    | AwaitingSync
    | NeverEnding
    | CopyNeverEnds
    | CopyStopsWrites
    | Confirming
    | SameListElsewhere
    | Rechecking
    | EffectUnseen
    | RejectionPending
    | RepeatPending
    | LookTooOld
    | RecoveryWait
    | OutcomePending
    | ArrivalPossible
    | CopyGoesOn
    | NewBrokerFenced
    | NewBrokerCordoned
    | WritesWouldStop
    | UncleanElectionPossible
    | NoRoom
    | TopicReassigned
    | NoSlot
    | ThrottleContested
    | OthersUnderMinIsr
    | Paused
    | Cancelling
    | ClusterSilent
    | JournalSilent
    | AwaitingThrottle
    | SettingFirst
    | SettingUnread
    | SettingUnseen
    | SettingInUse
    | CopyingInBroker
    | ReplicaUnread
    | MoveFirst
    | NextBatch
    | Stopping
)


def is_routine(reason: HoldReason) -> bool:
    """Whether a hold is part of every move, and not worth a report."""
    match reason:
        case AwaitingSync(_, fenced, unregistered, without_log):
            return not fenced and not unregistered and not without_log
        case EffectUnseen(_, code):
            return code is None
        case AwaitingThrottle(unread, catching_up, unanswered):
            return not unread and not catching_up and not unanswered
        case Confirming() | MetadataBehind() | NextBatch() | Stopping():
            return True
        case SettingFirst() | RecoveryUnseen() | CoordinatorLoads():
            return True
        case _:
            return False
