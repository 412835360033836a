"""Sentences of why a partition or a setting has ended without being done: what was found, and the way out."""

from collections.abc import Mapping
from types import MappingProxyType

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
from replan.applying.reasons.recovery import EvidenceChanged, LedAgain, LedByAnother
from replan.model.configs import SettingName
from replan.model.names import TopicPartition
from replan.reporting.sentences import recovery_reasons
from replan.reporting.sentences.plan_notes import UNAVAILABLE
from replan.wording import capped, listed

REPLAN = "make a new plan"


def end_text(subject: TopicPartition | SettingName, reason: EndReason) -> str:
    """Why a partition or a setting has ended without being done: a sentence of its own, which the journal keeps."""
    match reason:
        case RejectedByKafka(code, name, message, whole):
            what = "the whole request" if whole else "it"
            text = (
                f"Kafka rejected {what} with {code} {name}: {as_sentence(message)} {advice(code)}"
            )
        case PreferredUnavailable(broker, why, in_sync):
            text = (
                f"its preferred replica {broker} is not available: {UNAVAILABLE[why]} (in sync: {list(in_sync)}); "
                "ask again once it is in sync"
            )
        case ThrottleRefused():
            text = (
                f"the throttle of {reason.scope} {reason.resource} cannot be set: Kafka answered {reason.code} "
                f"{reason.name}: {as_sentence(reason.message)} The copy was not started without it; "
                f"{throttle_advice(reason.code)}"
            )
        case OtherReassignment() | ChangedElsewhere() | EffectUndone() | OtherPartitions():
            text = _changed_elsewhere(reason)
        case SubjectGone() | ReplicaGone() | OtherLogDir() | OtherValue():
            text = f"{_elsewhere(reason)}; {REPLAN}"
        case LedAgain() | LedByAnother() | EvidenceChanged():
            text = recovery_reasons.end_text(reason)
        case NotAsPlanned():
            text = f"{_not_as_planned(reason)}; {REPLAN}"
        case StaysInLogDir() | StaysUnset() | NotCreated() | TakenBack():
            text = f"cancelled; {_stays(reason)}"
    return f"{subject}: {text}"


def _stays(reason: StaysInLogDir | StaysUnset | NotCreated | TakenBack) -> str:
    match reason:
        case StaysInLogDir(path):
            return f"its replica stays in {path}"
        case StaysUnset(before):
            return f"it stays as it was: {before or 'not set'}"
        case NotCreated():
            return "the new partitions were not created"
        case TakenBack(original, found) if found == original:
            return f"it is at its original {list(original)}"
        case TakenBack(original, found):
            return f"it goes from {list(found)} back to {list(original)}"


def _elsewhere(reason: SubjectGone | ReplicaGone | OtherLogDir | OtherValue) -> str:
    match reason:
        case SubjectGone():
            return "it does not exist any more"
        case ReplicaGone(broker, found):
            return f"broker {broker} has no replica of it any more: found replicas {list(found)}"
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
            where = f", elsewhere {listed(capped(different, str, limit=5))}" if different else ""
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


def as_sentence(message: str) -> str:
    """What Kafka says, ready for another sentence behind it."""
    said = message.strip()
    return said if said.endswith((".", "!", "?")) else f"{said}."


def throttle_advice(code: int) -> str:
    """What to do about a throttle setting that Kafka refuses."""
    match code:
        case 29 | 31:
            return "grant ALTER_CONFIGS or plan without throttles"
        case 44:
            return (
                "a policy of this cluster forbids it (alter.config.policy.class.name): ask those who run it to allow "
                "throttles, or plan without them"
            )
        case _:
            return "the log of the active controller says why; or plan without throttles"


def advice(code: int) -> str:
    """What to do about a rejection."""
    again = "Make a new plan; if it is rejected again, the log of the active controller says why."
    return _ADVICE.get(code, again)


_NOT_ALLOWED = (
    "The principal needs the operation ALTER on the cluster; grant it, then rerun to resume."
)
_ADVICE: Mapping[int, str] = MappingProxyType(
    {
        29: _NOT_ALLOWED,
        31: _NOT_ALLOWED,
        38: "Another tool changes its number of replicas; let that end, then make a new plan.",
        39: "A broker in the list is not registered, or all its log directories are cordoned; "
        "bring it back, uncordon it, or declare another one.",
        44: "A policy of this cluster forbids it; ask those who run it.",
        56: "While one of a broker's log directories is offline, Kafka moves nothing between its others; "
        "replace the disk and restart the broker, then make a new plan.",
        60: "Another reassignment runs on it; let it end, then make a new plan.",
    }
)
