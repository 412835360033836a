"""Sentences of why a partition waits: measure, limit, way out."""

from collections.abc import Mapping
from types import MappingProxyType

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
from replan.applying.reasons.recovery import RecoveryWait
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
from replan.applying.reasons.waits import HoldReason
from replan.applying.views.outcome import AnyResult, Result
from replan.reporting.quantities import size
from replan.reporting.sentences import recovery_reasons
from replan.reporting.sentences.pending_text import pending_text
from replan.reporting.sentences.start_text import start_text
from replan.wording import capped, count, listed


def hold_text(reason: HoldReason) -> str:
    """Why a partition waits."""
    if isinstance(reason, RecoveryWait):
        return recovery_reasons.wait_text(reason)
    match reason:
        case (
            NewBrokerFenced()
            | NewBrokerCordoned()
            | WritesWouldStop()
            | UncleanElectionPossible()
            | NoRoom()
            | NoSlot()
            | TopicReassigned()
            | ThrottleContested()
            | SettingFirst()
            | ReplicaUnread()
            | CoordinatorLoads()
        ):
            return start_text(reason)
        case (
            OthersUnderMinIsr()
            | ClusterSilent()
            | JournalSilent()
            | Paused()
            | Cancelling()
            | TopicUnsettled()
            | PartitionsUnseen()
            | CreateArrivalPossible()
            | NotPermitted()
        ):
            return _cluster(reason)
        case (
            Rechecking()
            | EffectUnseen()
            | RejectionPending()
            | RepeatPending()
            | OutcomePending()
            | ArrivalPossible()
        ):
            return pending_text(reason)
        case (
            AwaitingSync()
            | NeverEnding()
            | CopyNeverEnds()
            | CopyStopsWrites()
            | AwaitingThrottle()
            | Confirming()
            | NextBatch()
            | LookTooOld()
            | CopyingInBroker()
            | NoLeader()
        ):
            return _measured(reason)
        case (
            MetadataBehind()
            | CopyGoesOn()
            | OthersFirst()
            | PartitionsFirst()
            | SameListElsewhere()
            | MoveFirst()
            | SettingInUse()
            | SettingUnread()
            | SettingUnseen()
            | Stopping()
        ):
            return _PLAIN[type(reason)]


_PLAIN: Mapping[type[HoldReason], str] = MappingProxyType(
    {
        MetadataBehind: "brokers show older metadata than the controller; rechecking",
        CopyGoesOn: "its copy goes on, throttled; waiting for that to end",
        OthersFirst: "others of the plan have their turn first",
        PartitionsFirst: "its topic gets more partitions first",
        SameListElsewhere: "another tool already reassigns it to the same list; waiting for that to end",
        MoveFirst: "the partition moves to other brokers first",
        SettingInUse: "a move uses another value for a while; it is set when that is restored",
        SettingUnread: "its value cannot be read now; waiting until it can",
        SettingUnseen: "asked for; waiting until it is confirmed",
        Stopping: "stopping",
    }
)


def _measured(
    reason: AwaitingSync
    | NeverEnding
    | CopyNeverEnds
    | CopyStopsWrites
    | AwaitingThrottle
    | Confirming
    | NextBatch
    | LookTooOld
    | CopyingInBroker
    | NoLeader,
) -> str:
    match reason:
        case CopyingInBroker(copied, total):
            return f"its broker copies it: {size(copied)} of {size(total)}"
        case AwaitingThrottle():
            return _awaiting_throttle(reason)
        case AwaitingSync() | NeverEnding() | CopyNeverEnds() | CopyStopsWrites() | NoLeader():
            return _awaiting_sync(reason)
        case LookTooOld(seconds, limit):
            return (
                f"what the cluster showed was {seconds:.0f} s old before anything could be asked, more than "
                f"{limit:.0f} s, so nothing was; see what makes this machine, the cluster or the journal slow"
            )
        case Confirming(seconds):
            return f"in sync; confirming for {seconds:.0f} s"
        case NextBatch(elections):
            return f"waiting for the next batch{' of elections' if elections else ''}"


def _awaiting_throttle(reason: AwaitingThrottle) -> str:
    if reason.catching_up:
        names = ", ".join(capped(list(map(str, reason.catching_up)), limit=5))
        return (
            f"waiting for the throttle, which is lifted while {names} catches up: entries of throttled replicas that "
            "are not of its copies would hold it (replan throttle show)"
        )
    if reason.unread:
        silent = f"{count(len(reason.unread), 'live broker')} ({listed(reason.unread)})"
        what = f"{silent} did not answer when asked for the rate"
    elif reason.unanswered:
        silent = f"{count(len(reason.unanswered), 'broker')} ({listed(reason.unanswered)})"
        what = f"{silent} did not answer when asked to set the rate"
    else:
        return "waiting for the throttle to take effect"
    return f"waiting for the throttle: {what}; the copy does not begin without its throttle"


def _awaiting_sync(
    reason: AwaitingSync | NeverEnding | CopyNeverEnds | CopyStopsWrites | NoLeader,
) -> str:
    if isinstance(reason, NoLeader):
        said = reason.refused.removesuffix(".")
        asked = f", and Kafka does not let its copy be cancelled ({said})" if said else ""
        return f"no leader{asked}; bring back one of its in-sync replicas"
    if isinstance(reason, CopyNeverEnds):
        gone = listed(reason.brokers)
        return f"not registered any more: {gone}; its copy would never end, and is taken back"
    if isinstance(reason, NeverEnding):
        return (
            f"another tool's lists have left {listed(reason.brokers)} both adding and removing, "
            "which Kafka never ends; cancel this reassignment"
        )
    if isinstance(reason, CopyStopsWrites):
        return (
            f"min.insync.replicas is {reason.min_insync_replicas} now: with the copy in its list writes need "
            f"{reason.needed} in sync, and {list(reason.in_sync)} are; the copy is taken back"
        )
    verb = "is" if len(reason.missing) == 1 else "are"
    parts = [f"waiting until {listed(reason.missing)} {verb} in sync"]
    if reason.fenced:
        parts.append(f"fenced: {listed(reason.fenced)}")
    if reason.unregistered:
        parts.append(f"not registered any more: {listed(reason.unregistered)}; make a new plan")
    if reason.without_log:
        parts.append(
            f"no log of it on {listed(reason.without_log)}: check the disks there and restart it"
        )
    return "; ".join(parts)


def _creating(reason: TopicUnsettled | PartitionsUnseen | CreateArrivalPossible) -> str:
    match reason:
        case TopicUnsettled(running):
            return (
                "its topic gets partitions only while nothing runs on it; waiting for the reassignment of "
                f"{listed(capped(running, str, limit=5))}"
            )
        case PartitionsUnseen(code, name):
            return (
                "the new partitions do not show yet; rechecking"
                if code is None
                else f"Kafka answered {code} {name}; rechecking before partitions are asked for again"
            )
        case CreateArrivalPossible(seconds):
            return (
                "the new partitions do not show, and the request for them may still arrive; "
                f"watching for {seconds:.0f} s more"
            )


def _cluster(
    reason: OthersUnderMinIsr
    | ClusterSilent
    | JournalSilent
    | Paused
    | Cancelling
    | TopicUnsettled
    | PartitionsUnseen
    | CreateArrivalPossible
    | NotPermitted,
) -> str:
    match reason:
        case NotPermitted(topic, permission):
            return f"this user lacks the ACL {permission} on Topic {topic}; waiting until it is granted"
        case TopicUnsettled() | PartitionsUnseen() | CreateArrivalPossible():
            return _creating(reason)
        case OthersUnderMinIsr(partitions, brokers):
            named = listed(capped(list(map(str, partitions)), limit=3))
            return (
                f"{count(len(partitions), 'partition')} that this plan does not move fell under min ISR on brokers "
                f"that its copies load ({listed(brokers)}): {named}; no copy is begun until they are back"
            )
        case Paused(by) | Cancelling(by):
            paused = isinstance(reason, Paused)
            ahead = "; `replan resume` goes on" if paused else ": what is not finished goes back"
            return f"{'paused' if paused else 'cancelled'} by {by}{ahead}"
        case ClusterSilent():
            return _silent(reason)
        case JournalSilent(seconds, error):
            return f"the journal has not been writable for {seconds:.0f} s, so nothing new is asked for: {error}"


def _silent(reason: ClusterSilent) -> str:
    if reason.refuses:
        return f"the cluster has refused what this user asks for, for {reason.seconds:.0f} s: {reason.error}"
    if reason.waits_for is None:
        return f"the cluster has not answered for {reason.seconds:.0f} s: {reason.error}"
    return (
        f"{reason.waits_for} has not answered for {reason.seconds:.0f} s, while brokers do; "
        "it goes on when another one has taken over"
    )


def stalled_text(stalled: Stalled) -> str:
    """Why a copy does not move."""
    if stalled.bytes is None:
        return f"broker {stalled.broker} is fenced; the copy goes on when it is back"
    return (
        f"the replica on broker {stalled.broker} has been at {stalled.bytes} bytes for {stalled.seconds:.0f} s; "
        "check its log and the throttle"
    )


def result_text(result: AnyResult) -> str:
    """How one partition or setting stands in the end, with why."""
    if result.result not in {Result.RUNNING, Result.WAITING}:
        return result.message
    if result.hold is not None:
        return f"{result.subject}: {hold_text(result.hold)}"
    return f"{result.subject}: {'started' if result.result is Result.RUNNING else 'not started'}"
