"""What to do about one partition: its next request, a wait, or its end. Pure.

`next_request` says what the move needs; here it is compared with what was asked before: whether an earlier request may
still be on its way, whether an effect disappeared, whether what runs is an echo of an earlier request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from replan.applying.journal.records import changed
from replan.applying.journal.steps import Asked, MoveRecord, Reached, Status
from replan.applying.observation.look import Observation, unshown
from replan.applying.partitions.nameable import as_nameable
from replan.applying.partitions.preconditions import broken_precondition
from replan.applying.reasons.copies import AwaitingSync, Confirming, NeverEnding, NoLeader
from replan.applying.reasons.ends import (
    ChangedElsewhere,
    EffectUndone,
    EndReason,
    Fact,
    NotAsPlanned,
    OtherReassignment,
    PreferredUnavailable,
    RejectedByKafka,
)
from replan.applying.reasons.requests import (
    ArrivalPossible,
    EffectUnseen,
    MetadataBehind,
    OutcomePending,
    Rechecking,
    RejectionPending,
    RepeatPending,
    SameListElsewhere,
)
from replan.applying.reasons.waits import HoldReason
from replan.model.control_plane import Answer, OutcomeUnknown, Rejected
from replan.model.names import BrokerId, Replicas
from replan.model.partition import PartitionState
from replan.planning.elections.available import unavailable
from replan.planning.plans.moves import Move
from replan.planning.plans.next_request import Done, Next, OffPath, Stale, Wait, next_request
from replan.planning.plans.requests import CANCEL, Request, RequestKind

INVALID_ASSIGNMENT = 39
"""INVALID_REPLICA_ASSIGNMENT: the list names a broker that is not registered, or (from 4.4 on) cordoned."""
LOOK_AGAIN = frozenset({3, 80, 83, 84, 85})
"""Rejections that say: look again. Unknown topic, leader not available, election or cancel not needed."""
NOT_AVAILABLE = frozenset({80})
"""PREFERRED_LEADER_NOT_AVAILABLE: the answer that ends an election that was asked for by itself."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing to ask now, and why."""

    reason: HoldReason
    soon: bool = False
    """Judge it again in the next tick: it is a matter of seconds."""


@dataclass(frozen=True, slots=True)
class End:
    """This partition has ended."""

    status: Status
    reason: EndReason | None = None
    """None where it is done."""


def rejected(answer: Rejected, *, whole: bool = False) -> End:
    """The end that Kafka's refusal is; `whole`: of the request as a whole."""
    return End(Status.REJECTED, RejectedByKafka(answer.code, answer.name, answer.message, whole))


@dataclass(frozen=True, slots=True)
class Suspect:
    """A conclusion that a second look, some seconds later, must agree with."""

    conclusion: Request | End
    reason: HoldReason


Verdict = Request | Hold | End | Suspect


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInput:
    """All that one partition is judged by."""

    move: Move
    own: MoveRecord | None
    state: PartitionState | None
    seen: Observation
    settled: bool
    settle_seconds: float
    racks: Mapping[BrokerId, str | None]
    answer: Answer | None = None
    """To the request of the tick before."""
    refusal: Rejected | None = None
    """Of that request, if it is believed."""
    repeat_seconds: float | None = None
    """In how long the last request may be sent again; None where it had a definite outcome."""
    repeat_refusal: str = ""
    """What the cluster said where it refused that as a whole."""
    quarantine_seconds: float | None = None
    """How long an earlier request may still be on its way; None where its outcome is definite."""
    logless: frozenset[BrokerId] = frozenset()
    """Brokers of the target that show no log of it."""
    left_behind: Replicas = ()
    """The list that an earlier application has left, in whose copies it ended; empty if none has."""

    @property
    def asked(self) -> Asked | None:
        """The last request."""
        return None if self.own is None else self.own.asked


def judge(sight: PartitionInput) -> tuple[MoveRecord | None, Verdict]:
    """The record of a partition as it stands now, and what to do about it."""
    refused = isinstance(sight.answer, Rejected) and sight.answer.code == INVALID_ASSIGNMENT
    move = as_nameable(sight.move, sight.own, sight.state, sight.seen, refused=refused)
    if move is not sight.move:
        sight = replace(sight, move=move)
    hidden = unshown(sight.seen, move.partition)
    if hidden is not None:
        return sight.own, Hold(hidden, soon=isinstance(hidden, MetadataBehind))
    needed = next_request(move, sight.state, settled=sight.settled)
    if sight.own is None or sight.asked is None:
        return sight.own, _not_begun(sight, needed)
    own = _progressed(sight, sight.own, sight.asked)
    return own, _begun(sight, own, needed)


def _not_begun(sight: PartitionInput, needed: Next) -> Verdict:
    move, state = sight.move, sight.state
    if isinstance(needed, Done):
        return End(Status.DONE)
    if isinstance(needed, Stale) or state is None:
        return stale_topic(move, state)
    planned = state.replicas in {move.original, move.target} and state.running is None
    if not planned or isinstance(needed, OffPath):
        return _elsewhere(sight, state)
    if isinstance(needed, Wait):
        return _unavailable(sight) or Hold(_awaited(sight, needed), soon=needed.settling)
    return _if_as_planned(sight, needed)


def _unavailable(sight: PartitionInput) -> Suspect | None:
    """Why an election that was asked for by itself ends where a move of a placement would wait."""
    move, state = sight.move, sight.state
    if move.election is None or state is None:
        return None
    why = unavailable(move.target[0], state, sight.seen.brokers)
    if why is None:
        return None
    return _suspect(Status.REJECTED, PreferredUnavailable(move.target[0], why, state.isr))


def _elsewhere(sight: PartitionInput, state: PartitionState) -> Verdict:
    """It has neither the planned original nor the target, and nothing was asked for."""
    move, running = sight.move, state.running
    if running is None or running.target == sight.left_behind:
        return _suspect(Status.STALE, NotAsPlanned(Fact.REPLICAS, move.original, state.replicas))
    if running.target == move.target:
        return Hold(SameListElsewhere())
    other = OtherReassignment(running.target, running.adding, running.removing)
    return _suspect(Status.FOREIGN, other)


def _suspect(status: Status, reason: EndReason) -> Suspect:
    return Suspect(End(status, reason), Rechecking(reason))


def _awaited(sight: PartitionInput, needed: Wait) -> HoldReason:
    if needed.leaderless:
        return NoLeader()
    if needed.settling:
        return Confirming(sight.settle_seconds)
    running = None if sight.state is None else sight.state.running
    both = set() if running is None else set(running.adding) & set(running.removing)
    if both and not needed.missing:
        return NeverEnding(tuple(sorted(both)))
    missing = tuple(sorted(needed.missing))
    live = [b for b in missing if sight.seen.live(b)]
    return AwaitingSync(
        missing,
        fenced=tuple(b for b in missing if b in sight.seen.brokers and b not in live),
        unregistered=tuple(b for b in missing if b not in sight.seen.brokers),
        without_log=tuple(b for b in live if b in sight.logless),
    )


def stale_topic(move: Move, state: PartitionState | None) -> Verdict:
    """Its topic is gone, or another one has its name."""
    found = None if state is None else state.topic_id
    return _suspect(Status.STALE, NotAsPlanned(Fact.TOPIC, move.topic_id, found))


def _if_as_planned(sight: PartitionInput, request: Request) -> Verdict:
    return _broken(sight) or request


def _broken(sight: PartitionInput) -> Suspect | None:
    """What is not as planned any more; it ends a partition also while it copies."""
    seen = sight.seen
    broken = broken_precondition(
        sight.move, seen.topics.get(sight.move.partition.topic), seen.brokers, sight.racks
    )
    return None if broken is None else _suspect(Status.STALE, broken)


def _progressed(sight: PartitionInput, own: MoveRecord, asked: Asked) -> MoveRecord:
    """What the answer and the look add to the record."""
    if sight.quarantine_seconds is None and not asked.confirmed:
        own = changed(own, asked=changed(asked, confirmed=True))
    reached = Reached.NOTHING if asked.kind is RequestKind.CANCEL else _reached(sight)
    return changed(own, reached=reached) if reached > own.reached else own


def _reached(sight: PartitionInput) -> Reached:
    move, state = sight.move, sight.state
    if state is None or state.topic_id != move.topic_id:
        return Reached.NOTHING
    if state.replicas == move.target and not state.removing:
        return Reached.ASSIGNED
    if move.new and set(move.new) <= set(state.replicas):
        return Reached.EXPANDED
    return Reached.NOTHING


def _begun(sight: PartitionInput, own: MoveRecord, needed: Next) -> Verdict:
    match needed:
        case Done():
            return _done(sight, own)
        case Stale():
            return stale_topic(sight.move, sight.state)
        case OffPath(found):
            return off_path(sight, own, found)
        case Wait():
            broken = _broken(sight) or _unavailable(sight)
            return Hold(_awaited(sight, needed)) if broken is None else broken
        case Request():
            return _again_or_next(sight, own, needed)


def _done(sight: PartitionInput, own: MoveRecord) -> Verdict:
    """It is done when no earlier list may arrive any more and undo that, in this application or in the next one."""
    if own.asked is None or not own.list_pending or sight.quarantine_seconds is None:
        return End(Status.DONE)
    return Hold(ArrivalPossible(own.asked.kind, own.asked.replicas, sight.quarantine_seconds))


def off_path(sight: PartitionInput, own: MoveRecord, found: PartitionState) -> Verdict:
    """A running state that equals an earlier request of replan is its echo; anything else is another tool's."""
    if found.running is not None and found.running.target in own.past:
        return unless_quarantined(sight, own, CANCEL)
    running = found.running
    listed = found.replicas if running is None else running.target
    changed = ChangedElsewhere(sight.move.target, listed, running is not None)
    return _suspect(Status.FOREIGN, changed)


def _again_or_next(sight: PartitionInput, own: MoveRecord, needed: Request) -> Verdict:
    if _taken_back(own, needed):
        return _disappeared(sight, own)
    asked = own.asked
    if asked is not None and (asked.kind, asked.replicas) == (needed.kind, needed.replicas):
        return _again(sight, needed)
    verdict = _if_as_planned(sight, needed)
    if isinstance(verdict, Request):
        verdict = unless_quarantined(sight, own, verdict)
    other = verdict is needed and own.expanding and needed.kind is RequestKind.EXPAND
    if other and not isinstance(sight.answer, Rejected):  # who was left out is back
        return Suspect(needed, EffectUnseen(needed.kind))
    return verdict


def _again(sight: PartitionInput, needed: Request) -> Verdict:
    """The last request shows no effect: at once again if nobody knows whether it arrived, else after a second look."""
    rejection = sight.answer if isinstance(sight.answer, Rejected) else None
    final = NOT_AVAILABLE if sight.move.election else frozenset()
    if sight.refusal is not None and sight.refusal.code not in LOOK_AGAIN - final:
        return _rejected(sight, sight.refusal)
    verdict = _if_as_planned(sight, needed)
    if not isinstance(verdict, Request):
        return verdict
    if sight.repeat_seconds:
        return Hold(
            RepeatPending(needed.kind, sight.repeat_seconds, sight.repeat_refusal), soon=True
        )
    if sight.repeat_seconds is not None or isinstance(sight.answer, OutcomeUnknown):
        return verdict
    if rejection is None:
        return Suspect(needed, EffectUnseen(needed.kind))
    return Suspect(needed, EffectUnseen(needed.kind, rejection.code, rejection.name))


def _taken_back(own: MoveRecord, needed: Request) -> bool:
    """Whether what is needed was seen to be there before."""
    match needed.kind:
        case RequestKind.EXPAND:
            return own.reached >= Reached.EXPANDED
        case RequestKind.ASSIGN:
            return own.reached >= Reached.ASSIGNED
        case RequestKind.ELECT | RequestKind.CANCEL:
            return False


def _disappeared(sight: PartitionInput, own: MoveRecord) -> Verdict:
    found = () if sight.state is None else sight.state.replicas
    return _suspect(Status.FOREIGN, EffectUndone(sight.move.target, own.reached, found))


def _rejected(sight: PartitionInput, rejection: Rejected) -> Verdict:
    if sight.quarantine_seconds is not None:
        return Hold(RejectionPending(rejection.code, rejection.name, sight.quarantine_seconds))
    return rejected(rejection, whole=rejection.whole)


def unless_quarantined(sight: PartitionInput, own: MoveRecord, ask: Request) -> Verdict:
    """A request that differs from one whose copies may still be on their way has to wait."""
    asked = own.asked
    if asked is None or asked.confirmed or (asked.kind, asked.replicas) == (ask.kind, ask.replicas):
        return ask
    left = sight.quarantine_seconds or 0.0
    return Hold(OutcomePending(asked.kind, asked.replicas, ask.kind, left))
