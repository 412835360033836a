"""Sentences of why a partition waits or has ended: measure, limit, way out."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from replan.applying.outcome import AnyResult, Result
from replan.applying.reasons.ends import (
    ChangedElsewhere,
    EffectUndone,
    EndReason,
    Fact,
    NotAsPlanned,
    OtherLogDir,
    OtherPartitions,
    OtherReassignment,
    OtherValue,
    PreferredUnavailable,
    RejectedByKafka,
    SubjectGone,
    TakenBack,
    ThrottleRefused,
)
from replan.applying.reasons.recovery import EvidenceChanged, LedAgain, LedByAnother, RecoveryWait
from replan.applying.reasons.waits import (
    ArrivalPossible,
    AwaitingSync,
    AwaitingThrottle,
    Cancelling,
    ClusterSilent,
    Confirming,
    CopyGoesOn,
    CopyingInBroker,
    EffectUnseen,
    HoldReason,
    JournalSlow,
    MetadataBehind,
    MoveFirst,
    NewBrokerCordoned,
    NewBrokerFenced,
    NextBatch,
    NoLeader,
    NoRoom,
    NoSlot,
    OthersUnderMinIsr,
    OutcomePending,
    PartitionsFirst,
    PartitionsUnseen,
    Paused,
    Rechecking,
    RejectionPending,
    RepeatPending,
    ReplicaUnread,
    SameListElsewhere,
    SettingFirst,
    SettingInUse,
    SettingUnread,
    SettingUnseen,
    Stalled,
    Stopping,
    ThrottleContested,
    TopicReassigned,
    TopicUnsettled,
    UncleanElectionPossible,
    WritesWouldStop,
)
from replan.model.configs import SettingName
from replan.model.names import TopicPartition
from replan.reporting import recovery_reasons
from replan.reporting.plan_notes import UNAVAILABLE
from replan.wording import capped, count

REPLAN = "make a new plan"


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
        ):
            return _resources(reason)
        case (
            OthersUnderMinIsr()
            | ClusterSilent()
            | Paused()
            | Cancelling()
            | TopicUnsettled()
            | PartitionsUnseen()
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
            return _pending(reason)
        case (
            AwaitingSync()
            | AwaitingThrottle()
            | Confirming()
            | NextBatch()
            | JournalSlow()
            | CopyingInBroker()
        ):
            return _measured(reason)
        case (
            MetadataBehind()
            | CopyGoesOn()
            | NoLeader()
            | PartitionsFirst()
            | SameListElsewhere()
            | MoveFirst()
            | SettingInUse()
            | SettingUnread()
            | SettingUnseen()
            | Stopping()
        ):
            return _PLAIN[type(reason)]


def _awaiting_throttle(reason: AwaitingThrottle) -> str:
    if not reason.unread:
        return "waiting for the throttle to take effect"
    silent = f"{count(len(reason.unread), 'live broker')} ({_listed(reason.unread)})"
    return (
        f"waiting for the throttle: {silent} did not answer when asked for the rate; "
        "the copy does not begin without its throttle"
    )


_PLAIN: Mapping[type[HoldReason], str] = MappingProxyType(
    {
        MetadataBehind: "brokers show older metadata than the controller; rechecking",
        CopyGoesOn: "its copy goes on, throttled; waiting for that to end",
        PartitionsFirst: "its topic gets more partitions first",
        NoLeader: "no leader; bring back one of its in-sync replicas",
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
    | AwaitingThrottle
    | Confirming
    | NextBatch
    | JournalSlow
    | CopyingInBroker,
) -> str:
    match reason:
        case CopyingInBroker(copied, total):
            return f"its broker copies it: {copied} of {total} bytes"
        case AwaitingThrottle():
            return _awaiting_throttle(reason)
        case AwaitingSync():
            return _awaiting_sync(reason)
        case JournalSlow(seconds, limit):
            return (
                f"writing to the journal took {seconds:.0f} s, longer than {limit:.0f} s, so nothing was sent; "
                "put the journal on a faster disk"
            )
        case Confirming(seconds):
            return f"in sync; confirming for {seconds:.0f} s"
        case NextBatch(elections):
            return f"waiting for the next batch{' of elections' if elections else ''}"


def _awaiting_sync(reason: AwaitingSync) -> str:
    verb = "is" if len(reason.missing) == 1 else "are"
    parts = [f"waiting until {_listed(reason.missing)} {verb} in sync"]
    if reason.fenced:
        parts.append(f"fenced: {_listed(reason.fenced)}")
    if reason.unregistered:
        parts.append(f"not registered any more: {_listed(reason.unregistered)}; make a new plan")
    if reason.without_log:
        parts.append(
            f"no log of it on {_listed(reason.without_log)}: check the disks there and restart it"
        )
    return "; ".join(parts)


def _resources(
    reason: NewBrokerFenced
    | NewBrokerCordoned
    | WritesWouldStop
    | UncleanElectionPossible
    | NoRoom
    | NoSlot
    | TopicReassigned
    | ThrottleContested
    | SettingFirst
    | ReplicaUnread,
) -> str:
    match reason:
        case (
            NewBrokerFenced() | NewBrokerCordoned() | WritesWouldStop() | UncleanElectionPossible()
        ):
            return _gate(reason)
        case _:
            return _shared(reason)


def _gate(
    reason: NewBrokerFenced | NewBrokerCordoned | WritesWouldStop | UncleanElectionPossible,
) -> str:
    match reason:
        case NewBrokerFenced(broker):
            return f"broker {broker} is to receive a replica and is fenced; start it"
        case NewBrokerCordoned(broker):
            return (
                f"broker {broker} is to receive a replica and all its log directories are cordoned; "
                "uncordon it, or plan without it"
            )
        case WritesWouldStop(in_sync, m, needed):
            return (
                f"in sync and live: {list(in_sync)}; with min.insync.replicas {m} at least {needed} are needed before "
                "replicas are added, or writes stop for the whole copy; bring the others back first"
            )
        case UncleanElectionPossible(topic, in_sync):
            return (
                f"unclean.leader.election.enable is true and only {list(in_sync)} is in sync: an empty new replica "
                f"could be elected; run `kafka-configs.sh --alter --entity-type topics --entity-name {topic} "
                "--add-config unclean.leader.election.enable=false` first, or bring another replica back"
            )


def _shared(
    reason: NoRoom | NoSlot | TopicReassigned | ThrottleContested | SettingFirst | ReplicaUnread,
) -> str:
    match reason:
        case ReplicaUnread(broker):
            return f"broker {broker} does not say where its replicas lie; waiting until it does"
        case SettingFirst(setting):
            return f"waiting until {setting} is set"
        case NoRoom():
            also = (
                f", {reason.promised} of them promised to other copies" if reason.promised else ""
            )
            return (
                f"broker {reason.broker} has no room: {reason.size} bytes to {reason.path} (the directory with the "
                f"fewest logs), {reason.usable} usable{also}, {reason.kept_free} must stay free; make room there"
            )
        case NoSlot():
            return _no_slot(reason)
        case TopicReassigned(partitions):
            named = _listed(partitions[:3])
            return (
                f"another tool reassigns {named}; a cluster before 4.1 cannot guard a reorder against that; "
                "waiting for that to end"
            )
        case ThrottleContested(places):
            named = "; ".join(
                f"{'topic' if isinstance(place, str) else 'broker'} {place}: {key}"
                for place, key in places
            )
            return f"another tool removed a throttle twice ({named}); find out which, then rerun to resume"


def _cluster(
    reason: OthersUnderMinIsr
    | ClusterSilent
    | Paused
    | Cancelling
    | TopicUnsettled
    | PartitionsUnseen,
) -> str:
    match reason:
        case TopicUnsettled(running):
            return (
                "its topic gets partitions only while nothing runs on it; waiting for the reassignment of "
                f"{_listed(capped(running, str, limit=5))}"
            )
        case PartitionsUnseen(code, name):
            return (
                "the new partitions do not show yet; rechecking"
                if code is None
                else f"Kafka answered {code} {name}; rechecking before partitions are asked for again"
            )
        case OthersUnderMinIsr(partitions, brokers):
            named = _listed(capped(list(map(str, partitions)), limit=3))
            return (
                f"{count(len(partitions), 'partition')} that this plan does not move fell under min ISR on brokers "
                f"that its copies load ({_listed(brokers)}): {named}; no copy is begun until they are back"
            )
        case Paused(by) | Cancelling(by):
            paused = isinstance(reason, Paused)
            ahead = "; `replan resume` goes on" if paused else ": what is not finished goes back"
            return f"{'paused' if paused else 'cancelled'} by {by}{ahead}"
        case ClusterSilent(seconds, _, str(silent)):
            return (
                f"{silent} has not answered for {seconds:.0f} s, while brokers do; "
                "it goes on when another one has taken over"
            )
        case ClusterSilent(seconds, error):
            return f"the cluster has not answered for {seconds:.0f} s: {error}"


def _no_slot(reason: NoSlot) -> str:
    limit = f"`--slots {reason.limit}`"
    if reason.limit < reason.usual:
        limit = f"{reason.limit}, not {reason.usual}: in-sync replicas were lost"
    named = _listed(capped(list(map(str, reason.others)), limit=3))
    others = f"; other tools reassign {named}" if reason.others else ""
    return f"broker {reason.broker} is at its limit ({limit}){others}"


def _pending(
    reason: Rechecking
    | EffectUnseen
    | RejectionPending
    | RepeatPending
    | OutcomePending
    | ArrivalPossible,
) -> str:
    match reason:
        case Rechecking(suspected):
            return f"{_suspected(suspected)}; rechecking"
        case EffectUnseen(request, None):
            return f"{request} shows no effect yet; rechecking"
        case EffectUnseen(request, code, name):
            return f"{request}: Kafka answered {code} {name}; rechecking"
        case RejectionPending(code, name, seconds):
            return (
                f"rejected with {code} {name}, but an earlier copy of the request may still arrive; "
                f"waiting {seconds:.0f} s more"
            )
        case RepeatPending(request, seconds):
            return f"the outcome of {request} is unknown; sending it again in {seconds:.0f} s"
        case OutcomePending(asked, replicas, _, seconds) | ArrivalPossible(
            asked, replicas, seconds
        ):
            ahead = f"watching for {seconds:.0f} s more"
            if isinstance(reason, OutcomePending):
                ahead = f"{reason.following} follows in {seconds:.0f} s"
            return f"the outcome of {asked} {list(replicas)} is unknown and it may still arrive; {ahead}"


def _suspected(reason: EndReason) -> str:
    match reason:
        case NotAsPlanned(Fact.REPLICAS):
            text = "replicas differ from the plan"
        case NotAsPlanned(Fact.TOPIC):
            text = "its topic is not the one that was planned for"
        case OtherReassignment():
            text = "another tool reassigns it"
        case PreferredUnavailable(broker, why):
            text = f"its preferred replica {broker} is not available: {UNAVAILABLE[why]}"
        case LedByAnother(leader):
            text = f"broker {leader} leads it"
        case ChangedElsewhere():
            text = "possibly changed by another tool"
        case EffectUndone():
            text = "possibly undone by another tool"
        case _:
            text = "topic or brokers differ from the plan"
            if isinstance(reason, TakenBack):
                text = "nothing runs on it"
    return text


def stalled_text(stalled: Stalled) -> str:
    """Why a copy does not move."""
    if stalled.bytes is None:
        return f"broker {stalled.broker} is fenced; the copy goes on when it is back"
    return (
        f"the replica on broker {stalled.broker} has been at {stalled.bytes} bytes for {stalled.seconds:.0f} s; "
        "check its log and the throttle"
    )


def end_text(subject: TopicPartition | SettingName, reason: EndReason) -> str:
    """Why a partition or a setting has ended without being done: a sentence of its own, which the journal keeps."""
    match reason:
        case RejectedByKafka(code, name, message, whole):
            what = "the whole request" if whole else "it"
            text = f"Kafka rejected {what} with {code} {name}: {message} {advice(code)}"
        case PreferredUnavailable(broker, why, in_sync):
            text = (
                f"its preferred replica {broker} is not available: {UNAVAILABLE[why]} (in sync: {list(in_sync)}); "
                "ask again once it is in sync"
            )
        case ThrottleRefused():
            text = (
                f"the throttle of {reason.scope} {reason.resource} cannot be set: Kafka answered {reason.code} "
                f"{reason.name}: {reason.message} The copy was not started without it; "
                "grant ALTER_CONFIGS or plan without throttles"
            )
        case OtherReassignment() | ChangedElsewhere() | EffectUndone() | OtherPartitions():
            text = _changed_elsewhere(reason)
        case SubjectGone() | OtherLogDir() | OtherValue():
            text = f"{_elsewhere(reason)}; {REPLAN}"
        case LedAgain() | LedByAnother() | EvidenceChanged():
            text = recovery_reasons.end_text(reason)
        case NotAsPlanned():
            text = f"{_not_as_planned(reason)}; {REPLAN}"
        case TakenBack(original, found):
            text = "cancelled; " + (
                f"it is at its original {list(original)}"
                if found == original
                else f"it goes from {list(found)} back to {list(original)}"
            )
    return f"{subject}: {text}"


def _elsewhere(reason: SubjectGone | OtherLogDir | OtherValue) -> str:
    match reason:
        case SubjectGone():
            return "it does not exist any more"
        case OtherLogDir(planned, found):
            where = f"lies in {found}" if found else "lies in no log directory that works"
            return f"its replica lay in {planned} when planned, and now {where}"
        case OtherValue(planned, found):
            values = f"was {planned or 'not set'} when planned, found {found or 'not set'}"
            return f"{values}; it is left as it is"


def _changed_elsewhere(
    reason: OtherReassignment | ChangedElsewhere | EffectUndone | OtherPartitions,
) -> str:
    match reason:
        case OtherPartitions(planned, found, different):
            where = f", elsewhere {_listed(capped(different, str, limit=5))}" if different else ""
            return (
                f"its topic was to have {planned} partitions, and another tool made others: found {found}{where}. They "
                f"are left as they are; {REPLAN}"
            )
        case OtherReassignment(target, adding, removing):
            return (
                f"another tool's reassignment to {list(target)} is running (adding {list(adding)}, removing "
                f"{list(removing)}); let it end or cancel it, then {REPLAN}"
            )
        case ChangedElsewhere(target, found, running):
            what = f"a reassignment to {list(found)}" if running else f"replicas {list(found)}"
            return (
                f"on the way to {list(target)} another tool changed it: found {what}; it is left as it is. "
                f"Find out which tool, then {REPLAN}"
            )
        case EffectUndone(target, reached, found):
            return (
                f"it was {reached.name.lower()} on the way to {list(target)}, and another tool undid that: found "
                f"replicas {list(found)}; it is not asked for again. Find out which tool, then {REPLAN}"
            )


def _not_as_planned(reason: NotAsPlanned) -> str:
    planned, found = _value(reason.planned), _value(reason.found)
    match reason.fact:
        case Fact.TOPIC:
            now = "no such partition" if reason.found is None else f"topic id {found}"
            return f"planned for topic id {planned}, found {now}"
        case Fact.REPLICAS:
            return f"planned from {planned}, found {found}"
        case Fact.REGISTRATION:
            return f"broker {reason.broker} was registered when planned, now it is not"
        case Fact.RACK:
            return f"broker {reason.broker} was planned in rack {planned}, found in rack {found}"
        case Fact.MIN_ISR | Fact.UNCLEAN_ELECTION | Fact.FACTOR:
            return f"planned with {reason.fact} {planned}, found {found}"


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return str(list(value))
        case _:
            return str(value)


def advice(code: int) -> str:
    """What to do about a rejection."""
    match code:
        case 29 | 31:
            return "The principal needs the operation ALTER on the cluster; grant it, then rerun to resume."
        case 38:
            return (
                "Another tool changes its number of replicas; let that end, then make a new plan."
            )
        case 39:
            return (
                "A broker in the list is not registered, or all its log directories are cordoned; "
                "bring it back, uncordon it, or declare another one."
            )
        case 44:
            return "A policy of this cluster forbids it; ask those who run it."
        case 60:
            return "Another reassignment runs on it; let it end, then make a new plan."
        case _:
            return "Make a new plan; if it is rejected again, the log of the active controller says why."


def result_text(result: AnyResult) -> str:
    """How one partition or setting stands in the end, with why."""
    if result.result not in {Result.RUNNING, Result.WAITING}:
        return result.message
    if result.hold is not None:
        return f"{result.subject}: {hold_text(result.hold)}"
    return f"{result.subject}: {'started' if result.result is Result.RUNNING else 'not started'}"


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(str, names))
