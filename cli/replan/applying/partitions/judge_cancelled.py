"""What to do about a partition whose application is cancelled, until it rests. Pure; the states are in `cancelling`."""

from replan.applying.journal.steps import Asked, MoveRecord, Status
from replan.applying.observation.look import unshown
from replan.applying.partitions.judge import (
    End,
    Hold,
    PartitionInput,
    Suspect,
    Verdict,
    judge,
    off_path,
    stale_topic,
    unless_quarantined,
)
from replan.applying.reasons.copies import NoLeader
from replan.applying.reasons.ends import TakenBack
from replan.applying.reasons.requests import (
    ArrivalPossible,
    EffectUnseen,
    Rechecking,
    RepeatPending,
)
from replan.model.control_plane import OutcomeUnknown, Rejected
from replan.model.partition import PartitionState
from replan.planning.plans.origins import Origin
from replan.planning.plans.requests import CANCEL, RequestKind


def judge_cancelled(sight: PartitionInput) -> tuple[MoveRecord | None, Verdict]:
    """The record of a partition that has begun, as it stands now, and what to do about it."""
    own, verdict = judge(sight)
    state = sight.state
    if own is None or own.asked is None or verdict == End(Status.DONE):
        return own, verdict
    if unshown(sight.seen, sight.move.partition) is not None:
        return own, verdict
    if state is None or state.topic_id != own.topic_id:
        return own, stale_topic(sight.move, state)
    if state.running is None:
        return own, _resting(sight, own, own.asked, state)
    return own, _running(sight, own, own.asked, state)


def _running(
    sight: PartitionInput, own: MoveRecord, asked: Asked, state: PartitionState
) -> Verdict:
    if state.running is None or state.running.target not in own.past:
        return off_path(sight, own, state)
    if state.leader is None and asked.kind is RequestKind.CANCEL and sight.refusal is not None:
        said = sight.refusal  # with ELR on 39, until somebody leads it
        return Hold(NoLeader(f"{said.code} {said.name}: {said.message}"))
    if asked.kind is RequestKind.CANCEL:
        return cancel_again(sight)
    return unless_quarantined(sight, own, CANCEL)


def cancel_again(sight: PartitionInput) -> Verdict:
    """Null shows no effect yet; whatever Kafka answers, there is no other way to rest."""
    kind, answer = CANCEL.kind, sight.answer
    if sight.repeat_seconds:
        return Hold(RepeatPending(kind, sight.repeat_seconds, sight.repeat_refusal), soon=True)
    if sight.repeat_seconds is not None or isinstance(answer, OutcomeUnknown):
        return CANCEL
    if isinstance(answer, Rejected):
        return Suspect(CANCEL, EffectUnseen(kind, answer.code, answer.name))
    return Suspect(CANCEL, EffectUnseen(kind))


def _resting(
    sight: PartitionInput, own: MoveRecord, asked: Asked, state: PartitionState
) -> Verdict:
    if own.list_pending and sight.quarantine_seconds is not None:
        return Hold(ArrivalPossible(asked.kind, asked.replicas, sight.quarantine_seconds))
    if not Origin(own.partition, own.topic_id, own.original, own.target).leads_to(state):
        return off_path(sight, own, state)
    rest = TakenBack(own.original, state.replicas)
    return Suspect(End(Status.CANCELLED, rest), Rechecking(rest))
