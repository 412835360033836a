"""What to do about one partition: its next request, a wait, or its end. Pure.

`next_request` says what the move needs; here it is held against what was asked before: whether an earlier request may
still be on its way, whether an effect disappeared, whether the state is an echo of ours or a foreign hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from replan.applying.journal.records import Asked, MoveRecord, Reached, Status
from replan.applying.observation.look import Observation
from replan.applying.partitions.preconditions import AGAIN, precondition
from replan.applying.reasons import advice, unseen, waits
from replan.model.control_plane import Answer, OutcomeUnknown, Rejected
from replan.model.names import BrokerId
from replan.model.partition import PartitionState
from replan.planning.moves import Move
from replan.planning.next_request import Done, Next, OffPath, Stale, Wait, next_request
from replan.planning.requests import CANCEL, Request, RequestKind

LOOK_AGAIN = frozenset({3, 80, 83, 84, 85})
"""Rejections that say: look again. Unknown topic, leader not available, election or cancel not needed."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing to ask now, and why."""

    reason: str
    soon: bool = False
    """Look again in the next tick: it is a matter of seconds."""


@dataclass(frozen=True, slots=True)
class End:
    """This partition has ended."""

    status: Status
    message: str = ""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A conclusion that a second look, some seconds later, must agree with."""

    conclusion: Request | End
    reason: str


Verdict = Request | Hold | End | Suspect


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInput:
    """All that one partition is judged by."""

    move: Move
    own: MoveRecord | None
    state: PartitionState | None
    seen: Observation
    settled: bool
    racks: Mapping[BrokerId, str | None]
    answer: Answer | None = None
    """To the request of the tick before."""
    quarantine_seconds: float | None = None
    """How long an earlier request may still be on its way; None where its outcome is definite."""
    logless: frozenset[BrokerId] = frozenset()
    """Brokers of the target that show no log of it."""

    @property
    def asked(self) -> Asked | None:
        """The last request."""
        return None if self.own is None else self.own.asked


def judge(sight: PartitionInput) -> tuple[MoveRecord | None, Verdict]:
    """The record of a partition as it stands now, and what to do about it."""
    move = sight.move
    if move.partition in sight.seen.unclear:
        return sight.own, Hold("the controller is ahead of the brokers; looking again", soon=True)
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
        return _stale_topic(move, state)
    planned = state.replicas in {move.original, move.target} and state.running is None
    if not planned or isinstance(needed, OffPath):
        return _elsewhere(move, state)
    if isinstance(needed, Wait):
        return Hold(waits(needed, sight.seen, sight.logless), soon=needed.settling)
    return _if_as_planned(sight, needed)


def _elsewhere(move: Move, state: PartitionState) -> Verdict:
    """Neither the planned original nor the target stands there, and we have asked for nothing."""
    if state.running is not None:
        if state.running.target == move.target:
            return Hold(
                "somebody else's reassignment to the same list runs on it; waiting for its end"
            )
        return Suspect(
            End(
                Status.FOREIGN,
                f"{move.partition}: somebody else's reassignment to {list(state.running.target)} runs on it "
                f"(adding {list(state.running.adding)}, removing {list(state.running.removing)}); "
                f"let it end or cancel it, then {AGAIN}",
            ),
            "somebody else's reassignment runs on it; looking twice",
        )
    return Suspect(
        End(
            Status.STALE,
            f"{move.partition}: planned from {list(move.original)}, found {list(state.replicas)}; {AGAIN}",
        ),
        "not the list that was planned from; looking twice",
    )


def _stale_topic(move: Move, state: PartitionState | None) -> Verdict:
    found = "no such partition" if state is None else f"topic id {state.topic_id}"
    return Suspect(
        End(
            Status.STALE,
            f"{move.partition}: planned for topic id {move.topic_id}, found {found}; {AGAIN}",
        ),
        "its topic is not the one that was planned for; looking twice",
    )


def _if_as_planned(sight: PartitionInput, request: Request) -> Verdict:
    seen = sight.seen
    broken = precondition(
        sight.move, seen.topics.get(sight.move.partition.topic), seen.brokers, sight.racks
    )
    if broken is not None:
        return Suspect(End(Status.STALE, broken), "not as it was planned; looking twice")
    return request


def _progressed(sight: PartitionInput, own: MoveRecord, asked: Asked) -> MoveRecord:
    """What the answer and the look add to the record."""
    if sight.quarantine_seconds is None and not asked.confirmed:
        own = replace(own, asked=replace(asked, confirmed=True))
    return replace(own, reached=max(own.reached, _reached(sight)))


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
            return End(Status.DONE)
        case Stale():
            return _stale_topic(sight.move, sight.state)
        case OffPath(found):
            return _off_path(sight, own, found)
        case Wait():
            return Hold(waits(needed, sight.seen, sight.logless))
        case Request():
            return _again_or_next(sight, own, needed)


def _off_path(sight: PartitionInput, own: MoveRecord, found: PartitionState) -> Verdict:
    """A running state that equals an earlier request of ours is its echo; anything else is somebody else's."""
    if found.running is not None and found.running.target in own.past:
        return _unless_quarantined(sight, own, CANCEL)
    what = (
        f"replicas {list(found.replicas)}"
        if found.running is None
        else f"a reassignment to {list(found.running.target)}"
    )
    return Suspect(
        End(
            Status.FOREIGN,
            f"{sight.move.partition}: on the way to {list(sight.move.target)} somebody else changed it: found {what}; "
            f"it is left as it is. Find out who, then {AGAIN}",
        ),
        "somebody else seems to have changed it; looking twice",
    )


def _again_or_next(sight: PartitionInput, own: MoveRecord, needed: Request) -> Verdict:
    if _taken_back(own, needed):
        return _disappeared(sight, own)
    asked = own.asked
    if asked is not None and (asked.kind, asked.replicas) == (needed.kind, needed.replicas):
        return _again(sight, needed)
    verdict = _if_as_planned(sight, needed)
    return _unless_quarantined(sight, own, verdict) if isinstance(verdict, Request) else verdict


def _again(sight: PartitionInput, needed: Request) -> Verdict:
    """The last request shows no effect: at once again if nobody knows whether it arrived, else after a second look."""
    rejection = sight.answer if isinstance(sight.answer, Rejected) else None
    if rejection is not None and rejection.code not in LOOK_AGAIN:
        return _rejected(sight, rejection)
    verdict = _if_as_planned(sight, needed)
    if isinstance(sight.answer, OutcomeUnknown) or not isinstance(verdict, Request):
        return verdict
    return Suspect(needed, unseen(needed.kind, rejection))


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
    state = sight.state
    return Suspect(
        End(
            Status.FOREIGN,
            f"{sight.move.partition}: it was {own.reached.name.lower()} on the way to {list(sight.move.target)}, and "
            f"somebody else took it back: found replicas {[] if state is None else list(state.replicas)}; "
            f"it is not asked for again. Find out who, then {AGAIN}",
        ),
        "what we did seems to be taken back; looking twice",
    )


def _rejected(sight: PartitionInput, rejection: Rejected) -> Verdict:
    if sight.quarantine_seconds is not None:
        return Hold(
            f"rejected with {rejection.code} {rejection.name}, but an earlier copy of the request may still arrive; "
            f"waiting {sight.quarantine_seconds:.0f} s more"
        )
    return End(
        Status.REJECTED,
        f"{sight.move.partition}: Kafka rejected it with {rejection.code} {rejection.name}: "
        f"{rejection.message} {advice(rejection.code)}",
    )


def _unless_quarantined(sight: PartitionInput, own: MoveRecord, ask: Request) -> Verdict:
    """A request that differs from one whose copies may still be on their way has to wait."""
    asked = own.asked
    if asked is None or asked.confirmed or (asked.kind, asked.replicas) == (ask.kind, ask.replicas):
        return ask
    left = sight.quarantine_seconds or 0.0
    return Hold(
        f"the outcome of {asked.kind} {list(asked.replicas)} is not known and it may still arrive; "
        f"{ask.kind} follows in {left:.0f} s"
    )
