"""Sentences of requests whose outcome is not known yet: what was asked, and for how long it is watched."""

from replan.applying.reasons.ends import (
    ChangedElsewhere,
    EffectUndone,
    EndReason,
    Fact,
    NotAsPlanned,
    NotCreated,
    OtherReassignment,
    PreferredUnavailable,
    StaysInLogDir,
    StaysUnset,
    TakenBack,
)
from replan.applying.reasons.recovery import LedByAnother
from replan.applying.reasons.requests import (
    ArrivalPossible,
    EffectUnseen,
    OutcomePending,
    Rechecking,
    RejectionPending,
    RepeatPending,
)
from replan.reporting.sentences.plan_notes import UNAVAILABLE


def pending_text(
    reason: Rechecking
    | EffectUnseen
    | RejectionPending
    | RepeatPending
    | OutcomePending
    | ArrivalPossible,
) -> str:
    """What was asked, and for how long its outcome is watched."""
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
        case RepeatPending():
            return _repeated(reason)
        case OutcomePending(asked, replicas, _, seconds) | ArrivalPossible(
            asked, replicas, seconds
        ):
            ahead = f"watching for {seconds:.0f} s more"
            if isinstance(reason, OutcomePending):
                ahead = f"{reason.following} follows in {seconds:.0f} s"
            return f"the outcome of {asked} {list(replicas)} is unknown and it may still arrive; {ahead}"


def _repeated(reason: RepeatPending) -> str:
    if not reason.refusal:
        return f"the outcome of {reason.request} is unknown; sending it again in {reason.seconds:.0f} s"
    said = "; ".join(line.strip().rstrip(".") for line in reason.refusal.splitlines())
    return f"{reason.request} was refused: {said}; asking again in {reason.seconds:.0f} s"


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
            if isinstance(reason, TakenBack | StaysInLogDir | StaysUnset):
                text = "nothing runs on it"
            elif isinstance(reason, NotCreated):
                text = "there are no such partitions"
    return text
