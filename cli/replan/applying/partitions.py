r"""The lifecycle of one partition of an application: its phases, and all transitions between them.

RULES: a partition is in one phase; `decide` alone chooses the next one; what is not in this table does not happen.
A request is sent only for a partition that is InFlight after the tick: its intent is written down first.

    from \ to  Waiting  Deferred  Parked  Admitted  InFlight  Ended   a partition in this phase
    Waiting      x        x         x       x         x        x     has not begun, and is looked at
    Deferred     x                                                   waits for its time
    Parked       x                                                   waits for a free slot
    Admitted              x         x       x         x        x     has slots and room, waits for its throttle
    InFlight                                          x        x     was asked for something
    Ended                                              x             is asked for nothing, unless a list of it runs on

    Waiting  -> Deferred   a gate is closed; the gates are asked again after some seconds
    Waiting  -> Parked     a broker has no free slot
    Waiting  -> Waiting    passed over so often that it stays in view and reserves the slots that become free
    Waiting  -> Admitted   every gate is open, its slots are taken and its room is reserved
    Waiting  -> InFlight   it copies nothing, or its copy needs no throttle
    Admitted -> InFlight   its throttle is in force, and the gates are still open
    Admitted -> Deferred, Parked   a gate has closed, or a limit has shrunk, since
    InFlight -> InFlight   its next request, or the same one again
    any      -> Ended      done, stale, rejected, or changed by another tool
    Ended    -> InFlight   a list that was asked for runs after all, or runs on and never ends: it is taken back

InFlight and Ended are written down in the journal and outlive the process. The others are this process's alone: another
one begins with Waiting.

What to do about one partition, its next request, a wait, or its end, says `judge_while_copying`; once its application
is cancelled, until it rests, `judge_cancelled`, whose states are in `run.opening`. Both go by `judge_partition`. Where
each phase is kept is said in `tick.run_state`. Pure.
"""

from collections.abc import Hashable, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import (
    Forget,
    LastRequest,
    MoveRecord,
    Order,
    Reached,
    Record,
    Status,
)
from replan.applying.observation import TickInput, unshown
from replan.applying.reasons.ends import (
    ChangedElsewhere,
    EffectUndone,
    Fact,
    NotAsPlanned,
    OtherReassignment,
    PreferredUnavailable,
    RejectedByKafka,
    TakenBack,
)
from replan.applying.reasons.holds import (
    ArrivalPossible,
    AwaitingSync,
    Confirming,
    CopyNeverEnds,
    CopyStopsWrites,
    EffectUnseen,
    MetadataBehind,
    NeverEnding,
    NewBrokerCordoned,
    NoLeader,
    OutcomePending,
    Rechecking,
    RejectionPending,
    RepeatPending,
    SameListElsewhere,
    UncleanElectionPossible,
)
from replan.applying.reasons.reason import EndReason, HoldReason
from replan.model.broker import Broker
from replan.model.configs import TopicSettings
from replan.model.control_plane import Answer, Look, OutcomeUnknown, Rejected
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId, Replicas
from replan.model.partition import (
    PartitionState,
    Reassignment,
    effective_min_isr,
    may_add_empty_replica,
)
from replan.planning.available import unavailable
from replan.planning.plans.moves import Move
from replan.planning.plans.next_request import Done, NextStep, OffPath, Stale, Wait, next_request
from replan.planning.plans.origins import Origin
from replan.planning.plans.requests import CANCEL, Request, RequestKind


class Waiting(Struct, frozen=True):
    """Not begun; looked at in one of the next ticks."""


class Deferred(Struct, frozen=True):
    """Not begun: a gate was closed."""

    until: float
    """When the gates are asked again."""


class Parked(Struct, frozen=True):
    """Not begun: this broker has no free slot."""

    broker: BrokerId


class Admitted(Struct, frozen=True):
    """Has slots, room and open gates, and waits until its throttle is in force."""


class InFlight(Struct, frozen=True):
    """Something was asked for it, or is about to be."""

    record: MoveRecord


class Ended(Struct, frozen=True):
    """Nothing more is asked for it."""

    record: MoveRecord


Phase = Waiting | Deferred | Parked | Admitted | InFlight | Ended


TRANSITIONS: dict[type[Phase], tuple[type[Phase], ...]] = {
    Waiting: (Waiting, Deferred, Parked, Admitted, InFlight, Ended),
    Deferred: (Waiting,),
    Parked: (Waiting,),
    Admitted: (Deferred, Parked, Admitted, InFlight, Ended),
    InFlight: (InFlight, Ended),
    Ended: (InFlight,),
}


def check_transition(before: Phase, after: Phase) -> None:
    """Raise ValueError where a phase cannot follow another: a mistake of replan's."""
    if type(after) not in TRANSITIONS[type(before)]:
        raise ValueError(f"no way from {before} to {after}")


class Hold(Struct, frozen=True):
    """Nothing to ask now, and why."""

    reason: HoldReason
    soon: bool = False
    """Judge it again in the next tick: it is a matter of seconds."""


class End(Struct, frozen=True):
    """This partition has ended."""

    status: Status
    reason: EndReason | None = None
    """None where it is done."""


def rejection_end(answer: Rejected, *, whole: bool = False) -> End:
    """The end that Kafka's refusal is; `whole`: of the request as a whole."""
    return End(Status.REJECTED, RejectedByKafka(answer.code, answer.name, answer.message, whole))


Q = TypeVar("Q", bound=Hashable)


S = TypeVar("S", bound=Hashable)


class Suspect(Struct, Generic[Q], frozen=True):
    """A conclusion that a second look, some seconds later, must agree with."""

    conclusion: Q | End
    reason: HoldReason

    def agreed(
        self, tick: TickInput, subject: S, suspected: Mapping[tuple[S, Hashable], float]
    ) -> bool:
        """Whether looks have agreed on it for long enough to conclude; `suspected`: since when.

        What rests on what the controller lists, which is never old, or is nothing but another request, needs less. All
        else rests on what brokers show, and ends something: it must have been shown for longer than metadata lag.
        """
        end = self.conclusion if isinstance(self.conclusion, End) else None
        listed = end is None or (end.reason is not None and end.reason.listed)
        needed = tick.settings.agreeing_seconds if listed else tick.settings.ending_seconds
        return suspected.get((subject, self.conclusion), tick.ended) <= tick.now - needed


def suspected(status: Status, reason: EndReason) -> Suspect[Any]:
    """An end that later looks must agree with."""
    return Suspect(End(status, reason), Rechecking(reason))


MoveVerdict = Request | Hold | End | Suspect[Request]


class PartitionInput(Struct, frozen=True, kw_only=True):
    """All that one partition is judged by."""

    move: Move
    own: MoveRecord | None
    state: PartitionState | None
    look: Look
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
    given_up_list: Replicas = ()
    """The list that an earlier application has left, in whose copies it ended; empty if none has."""

    @property
    def asked(self) -> LastRequest | None:
        """The last request."""
        return None if self.own is None else self.own.asked


def judge_while_copying(given: PartitionInput) -> tuple[MoveRecord | None, MoveVerdict]:
    """The record of a partition as it stands now, and what to do about it.

    A running copy is taken back where the partition is worse off with it than without. The gates
    (`admission.closed_gate`) let no copy begin where its longer list would stop writes (the effective minimum is min(m,
    assigned), Partition.effectiveMinIsr), nor where an unclean election could choose it: with unclean election on,
    Kafka may let any live replica lead a partition without a live one in sync, also one that has hardly begun to copy,
    and what it lacks is lost when the others truncate to it. The same holds while it runs:

    the copy runs, and ...                                             then
    without it writes with acks=all would succeed, with it they fail   it is cancelled, once looks have agreed for 5 s
    unclean election is off                                            it goes on
    unclean election was on when planned, two live ones are in sync    it goes on
    unclean election is on and fewer are, or it was off when planned   it is cancelled, once looks have agreed for 5 s
    its partition is to end, and the copy waits for a broker that      it is cancelled, once looks have agreed for 5 s;
    is not registered any more: it would run for ever                  then the partition ends
    the cancel was asked for and shows no effect                       it is asked for again
    the cancel has taken effect                                        the move begins again, through all gates; it is
                                                                       stale where the plan rests on other settings

    A replica that is in the ISR is no copy any more. Without a leader nothing is asked for: with ELR on, Kafka refuses
    it. Where Kafka drops replicas after the copy, because the list could not name them, a cancel puts them at the end
    of the list (PartitionReassignmentRevert): the move begins again from that order.
    """
    own, verdict = judge_partition(_from_the_kept_order(given))
    state = given.state
    if own is None or own.asked is None or state is None or verdict == End(Status.DONE):
        return own, verdict
    if state.topic_id != own.topic_id or not own.began(state.running):
        return own, verdict
    copies, endless = not set(state.adding) <= set(state.isr), _endless(given, state, verdict)
    if own.asked.kind is RequestKind.CANCEL and (copies or endless):
        return own, repeated(given, CANCEL) if state.leader is not None else Hold(NoLeader())
    worse = (_worse_with_it(given, state) if copies else None) or endless
    if worse is None:
        return own, verdict
    if state.leader is None:
        return own, Hold(NoLeader())
    ask = unless_quarantined(given, own, CANCEL)
    return own, Suspect(CANCEL, worse) if isinstance(ask, Request) else ask


def _from_the_kept_order(given: PartitionInput) -> PartitionInput:
    """After a cancel the original list may have another order."""
    own, state = given.own, given.state
    cancelled = own is not None and own.asked is not None and own.asked.kind is RequestKind.CANCEL
    if not cancelled or state is None or state.running is not None:
        return given
    if state.replicas == given.move.original or set(state.replicas) != set(given.move.original):
        return given
    return replace(given, move=replace(given.move, original=state.replicas))


def _endless(
    given: PartitionInput, state: PartitionState, verdict: MoveVerdict
) -> CopyNeverEnds | None:
    """For whom what runs would wait for ever, once nothing more is asked for its partition."""
    if not isinstance(verdict.conclusion if isinstance(verdict, Suspect) else verdict, End):
        return None
    gone = () if state.running is None else never_there(state.running, given.look)
    return CopyNeverEnds(gone) if gone else None


def never_there(running: Reassignment, look: Look) -> Replicas:
    """The brokers that a reassignment waits for and that are not registered any more; empty where it can end."""
    return tuple(b for b in running.target if b not in look.brokers)


def _worse_with_it(
    given: PartitionInput, state: PartitionState
) -> CopyStopsWrites | UncleanElectionPossible | None:
    settings = given.look.topics.get(given.move.partition.topic)
    if settings is None:
        return None
    return _stops_writes(given, state, settings) or _could_lead(given, state, settings)


def _stops_writes(
    given: PartitionInput, state: PartitionState, settings: TopicSettings
) -> CopyStopsWrites | None:
    """Whether the list with the copy needs more replicas in sync than there are, and the list without it does not."""
    m, original = settings.min_insync_replicas, given.move.original
    live_isr, needed = state.live_isr(given.look.live), effective_min_isr(m, len(state.replicas))
    without = len(set(live_isr) & set(original)) >= effective_min_isr(m, len(original))
    return CopyStopsWrites(live_isr, m, needed) if without and len(live_isr) < needed else None


def _could_lead(
    given: PartitionInput, state: PartitionState, settings: TopicSettings
) -> UncleanElectionPossible | None:
    """Why a replica that copies could be elected."""
    if not settings.unclean_election:
        return None
    live_isr = state.live_isr(given.look.live)
    if given.move.unclean_election and may_add_empty_replica(live_isr):
        return None
    return UncleanElectionPossible(given.move.partition.topic, live_isr)


def judge_cancelled(given: PartitionInput) -> tuple[MoveRecord | None, MoveVerdict]:
    """The record of a partition that has begun, as it stands now, and what to do about it."""
    own, verdict = judge_partition(given)
    state = given.state
    if own is None or own.asked is None or verdict == End(Status.DONE):
        return own, verdict
    if unshown(given.look, given.move.partition) is not None:
        return own, verdict
    if state is None or state.topic_id != own.topic_id:
        return own, stale_topic(given.move, state)
    if state.running is None:
        return own, _resting(given, own, own.asked, state)
    return own, _running(given, own, own.asked, state)


def _running(
    given: PartitionInput, own: MoveRecord, asked: LastRequest, state: PartitionState
) -> MoveVerdict:
    if asked.kind is not RequestKind.CANCEL or not own.began(state.running):
        return off_path(given, own, state)
    if state.leader is None and given.refusal is not None:
        said = given.refusal  # with ELR on 39, until it has a leader
        return Hold(NoLeader(f"{said.code} {said.name}: {said.message}"))
    return repeated(given, CANCEL)  # whatever Kafka answers, there is no other way to rest


def _resting(
    given: PartitionInput, own: MoveRecord, asked: LastRequest, state: PartitionState
) -> MoveVerdict:
    if own.list_pending and given.quarantine_seconds is not None:
        return Hold(ArrivalPossible(asked.kind, asked.replicas, given.quarantine_seconds))
    if not Origin(own.partition, own.topic_id, own.original, own.target).leads_to(state):
        return off_path(given, own, state)
    rest = TakenBack(own.original, state.replicas)
    return suspected(Status.CANCELLED, rest)


def judge_partition(given: PartitionInput) -> tuple[MoveRecord | None, MoveVerdict]:
    """The record of a partition as it stands now, and what to do about it.

    `next_request` says what the move needs; here it is compared with what was asked before: whether an earlier request
    may still be on its way, whether an effect disappeared, whether what runs is an echo of an earlier request.
    """
    unnameable = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    refused = isinstance(given.answer, Rejected) and given.answer.code == unnameable
    move = as_nameable(given.move, given.own, given.state, given.look, refused=refused)
    if move is not given.move:
        given = replace(given, move=move)
    hidden = unshown(given.look, move.partition)
    if hidden is not None:
        return given.own, Hold(hidden, soon=isinstance(hidden, MetadataBehind))
    needed = next_request(move, given.state, settled=given.settled)
    if given.own is None or given.asked is None:
        return given.own, _not_begun(given, needed)
    own = _progressed(given, given.own, given.asked)
    return own, _begun(given, own, needed)


def _not_begun(given: PartitionInput, needed: NextStep) -> MoveVerdict:
    move, state = given.move, given.state
    if isinstance(needed, Done):
        return End(Status.DONE)
    if isinstance(needed, Stale) or state is None:
        return stale_topic(move, state)
    planned = state.replicas in {move.original, move.target} and state.running is None
    if not planned or isinstance(needed, OffPath):
        return _elsewhere(given, state)
    if isinstance(needed, Wait):
        return _unavailable(given) or Hold(_awaited(given, needed), soon=needed.settling)
    return _broken(given) or needed


def _elsewhere(given: PartitionInput, state: PartitionState) -> MoveVerdict:
    """It has neither the planned original nor the target, and nothing was asked for."""
    move, running = given.move, state.running
    if running is None or running.target == given.given_up_list:
        return suspected(Status.STALE, NotAsPlanned(Fact.REPLICAS, move.original, state.replicas))
    if running.target == move.target:
        return Hold(SameListElsewhere())
    other = OtherReassignment(running.target, running.adding, running.removing)
    return suspected(Status.FOREIGN, other)


def _awaited(given: PartitionInput, needed: Wait) -> HoldReason:
    if needed.leaderless:
        return NoLeader()
    if needed.settling:
        return Confirming(given.settle_seconds)
    running = None if given.state is None else given.state.running
    both = set() if running is None else set(running.adding) & set(running.removing)
    if both and not needed.missing:
        return NeverEnding(tuple(sorted(both)))
    missing = tuple(sorted(needed.missing))
    live = [b for b in missing if given.look.live(b)]
    return AwaitingSync(
        missing,
        fenced=tuple(b for b in missing if b in given.look.brokers and b not in live),
        unregistered=tuple(b for b in missing if b not in given.look.brokers),
        without_log=tuple(b for b in live if b in given.logless),
    )


def _begun(given: PartitionInput, own: MoveRecord, needed: NextStep) -> MoveVerdict:
    match needed:
        case Done():
            return _done(given, own)
        case Stale():
            return stale_topic(given.move, given.state)
        case OffPath(state):
            return off_path(given, own, state)
        case Wait():
            broken = _broken(given) or _unavailable(given)
            return Hold(_awaited(given, needed)) if broken is None else broken
        case Request():
            return _again_or_next(given, own, needed)


def _done(given: PartitionInput, own: MoveRecord) -> MoveVerdict:
    """It is done when no earlier list may arrive any more and undo that, in this application or in the next one."""
    if own.asked is None or not own.list_pending or given.quarantine_seconds is None:
        return End(Status.DONE)
    return Hold(ArrivalPossible(own.asked.kind, own.asked.replicas, given.quarantine_seconds))


def off_path(given: PartitionInput, own: MoveRecord, state: PartitionState) -> MoveVerdict:
    """A running state that equals an earlier request of replan is its echo; anything else is another tool's."""
    running = state.running
    if own.began(running):
        return unless_quarantined(given, own, CANCEL)
    listed = state.replicas if running is None else running.target
    changed = ChangedElsewhere(given.move.target, listed, running is not None)
    return suspected(Status.FOREIGN, changed)


def _again_or_next(given: PartitionInput, own: MoveRecord, needed: Request) -> MoveVerdict:
    if _taken_back(own, needed):
        return _disappeared(given, own)
    asked = own.asked
    if asked is not None and (asked.kind, asked.replicas) == (needed.kind, needed.replicas):
        return _again(given, needed)
    verdict = _broken(given) or unless_quarantined(given, own, needed)
    other = verdict is needed and own.expanding and needed.kind is RequestKind.EXPAND
    if other and not isinstance(given.answer, Rejected):  # who was left out is back
        return Suspect(needed, EffectUnseen(needed.kind))
    return verdict


def _taken_back(own: MoveRecord, needed: Request) -> bool:
    """Whether what is needed was seen to be there before."""
    match needed.kind:
        case RequestKind.EXPAND:
            return own.reached >= Reached.EXPANDED
        case RequestKind.ASSIGN:
            return own.reached >= Reached.ASSIGNED
        case RequestKind.ELECT | RequestKind.CANCEL:
            return False


def _disappeared(given: PartitionInput, own: MoveRecord) -> MoveVerdict:
    observed = () if given.state is None else given.state.replicas
    return suspected(Status.FOREIGN, EffectUndone(given.move.target, own.reached, observed))


NOT_FINAL_FOR_MOVES = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    }
)
"""Rejections that say: look again."""


def _again(given: PartitionInput, needed: Request) -> MoveVerdict:
    """The last request shows no effect: at once again if nobody knows whether it arrived, else after a second look."""
    if (refusal := given.refusal) is not None:
        unavailable = refusal.code == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        if refusal.code not in NOT_FINAL_FOR_MOVES or (unavailable and given.move.election):
            return _rejected(given, refusal)
    return _broken(given) or repeated(given, needed)


def repeated(given: PartitionInput, request: Request) -> MoveVerdict:
    """A request once more that shows no effect: the pauses grow while nobody knows what became of it."""
    kind, answer = request.kind, given.answer
    if given.repeat_seconds:
        return Hold(RepeatPending(kind, given.repeat_seconds, given.repeat_refusal), soon=True)
    if given.repeat_seconds is not None or isinstance(answer, OutcomeUnknown):
        return request
    if (cordoned := new_and_cordoned(given.move, given.look)) is not None:
        return Suspect(request, NewBrokerCordoned(cordoned))
    if isinstance(answer, Rejected):
        return Suspect(request, EffectUnseen(kind, answer.code, answer.name))
    return Suspect(request, EffectUnseen(kind))


def new_and_cordoned(move: Move, look: Look) -> BrokerId | None:
    """A new broker that is cordoned: from 4.4 on Kafka refuses each list with it, until that is over."""
    return next((b for b in move.new if b in look.brokers and look.brokers[b].cordoned), None)


def _rejected(given: PartitionInput, rejection: Rejected) -> MoveVerdict:
    if given.quarantine_seconds is not None:
        return Hold(RejectionPending(rejection.code, rejection.name, given.quarantine_seconds))
    return rejection_end(rejection, whole=rejection.whole)


def unless_quarantined(given: PartitionInput, own: MoveRecord, ask: Request) -> MoveVerdict:
    """A request that differs from one whose copies may still be on their way has to wait."""
    asked = own.asked
    if asked is None or asked.confirmed or (asked.kind, asked.replicas) == (ask.kind, ask.replicas):
        return ask
    seconds = given.quarantine_seconds or 0.0
    return Hold(OutcomePending(asked.kind, asked.replicas, ask.kind, seconds))


def _unavailable(given: PartitionInput) -> Suspect[Request] | None:
    """Why an election that was asked for by itself ends where a move of a placement would wait."""
    move, state = given.move, given.state
    if move.election is None or state is None:
        return None
    why = unavailable(move.target[0], state, given.look.brokers)
    if why is None:
        return None
    return suspected(Status.REJECTED, PreferredUnavailable(move.target[0], why, state.isr))


def stale_topic(move: Move, state: PartitionState | None) -> MoveVerdict:
    """Its topic is gone, or another one has its name."""
    topic_id = None if state is None else state.topic_id
    return suspected(Status.STALE, NotAsPlanned(Fact.TOPIC, move.topic_id, topic_id))


def _broken(given: PartitionInput) -> Suspect[Request] | None:
    """What is not as planned any more; it ends a partition also while it copies."""
    look = given.look
    broken = broken_precondition(
        given.move, look.topics.get(given.move.partition.topic), look.brokers, given.racks
    )
    return None if broken is None else suspected(Status.STALE, broken)


def broken_precondition(
    move: Move,
    settings: TopicSettings | None,
    brokers: Mapping[BrokerId, Broker],
    racks: Mapping[BrokerId, str | None],
) -> EndReason | None:
    """What is not as it was when planned; None where all is.

    The plan was reviewed with it, and it must still hold, or the partition is stale. A precondition is about topic,
    configured values and racks. It never reads ISR, leader, epochs or sizes. A fenced broker is not gone, and before
    Kafka 4.1 its rack is not known.
    """
    if settings is None:
        return NotAsPlanned(Fact.TOPIC, move.topic_id, None)
    m, unclean = settings.min_insync_replicas, settings.unclean_election
    if m != move.min_insync_replicas:
        return NotAsPlanned(Fact.MIN_ISR, move.min_insync_replicas, m)
    if unclean != move.unclean_election:
        return NotAsPlanned(Fact.UNCLEAN_ELECTION, move.unclean_election, unclean)
    for broker in (
        b for b in move.target if b in racks
    ):  # an election's list may have had an unregistered one
        registered, rack = brokers.get(broker), racks[broker]
        if registered is None:
            return NotAsPlanned(Fact.REGISTRATION, rack, None, broker)
        unlisted = (
            registered.fenced and registered.rack is None
        )  # before 4.1 nobody lists it (KIP-1073)
        if registered.rack != rack and not unlisted:
            return NotAsPlanned(Fact.RACK, rack, registered.rack, broker)
    return None


def _progressed(given: PartitionInput, own: MoveRecord, asked: LastRequest) -> MoveRecord:
    """What the answer and the look add to the record."""
    if given.quarantine_seconds is None:
        own = own.confirmed()
    reached = Reached.NOTHING if asked.kind is RequestKind.CANCEL else _reached(given)
    return replace(own, reached=reached) if reached > own.reached else own


def _reached(given: PartitionInput) -> Reached:
    move, state = given.move, given.state
    if state is None or state.topic_id != move.topic_id:
        return Reached.NOTHING
    if state.replicas == move.target and not state.removing:
        return Reached.ASSIGNED
    if move.new and set(move.new) <= set(state.replicas):
        return Reached.EXPANDED
    return Reached.NOTHING


def as_nameable(
    move: Move,
    own: MoveRecord | None,
    state: PartitionState | None,
    look: Look,
    *,
    refused: bool,
) -> Move:
    """The move, without what no list may name now. `refused`: Kafka has just refused its list for that (39).

    The cluster decides that, never the plan alone. Kafka drops what expand leaves out as soon as the copies end,
    without the settle time. So nothing is left out because a plan says so: a broker that was unregistered or cordoned
    when planned may be back, and a plan may have been edited.

    Those that are not registered and out of the ISR; those that are cordoned, where the plan knew it or Kafka refused
    the expand for it; where it did, those that are fenced too, as before 4.1 not every user can tell an unregistered
    broker from a fenced one. What an expand has left out stays so, unless it shows no effect and the broker is in sync
    again.
    """
    isr = frozenset() if state is None else frozenset(state.isr)
    cordoned = {b for b in move.leaving if b in look.brokers and look.brokers[b].cordoned}
    out = frozenset(move.leaving) - isr
    gone = {b for b in out if b not in look.brokers or (refused and not look.live(b))}
    gone |= cordoned if refused else cordoned & move.unnameable
    left_out = left_out_by_expand(move, own)
    if left_out is not None:
        gone = set(left_out) | (gone if refused else set())
        if state is not None and state.replicas == move.original and state.running is None:
            gone -= set(state.live_isr(look.live)) - cordoned
    return move if gone == move.unnameable else replace(move, unnameable=frozenset(gone))


def left_out_by_expand(move: Move, own: MoveRecord | None) -> frozenset[BrokerId] | None:
    """The leaving brokers that the last expand did not name; None where none was asked for, or it was cancelled."""
    if own is None or own.asked is None or own.asked.kind is RequestKind.CANCEL:
        return None
    expands = [of for of in own.past if of != move.target and set(move.new) <= set(of)]
    if own.expanding:
        expands.append(own.asked.replicas)
    return frozenset(move.leaving).difference(expands[-1]) if expands else None


def begun(move: Move, ledger: Ledger) -> MoveRecord:
    """The first record of a move in the open application."""
    return MoveRecord(
        application=ledger.application_id,
        partition=move.partition,
        topic_id=move.topic_id,
        original=move.original,
        target=move.target,
    )


def intent(own: MoveRecord, ask: Request) -> MoveRecord:
    """The record that says what is about to be asked; a cancel takes back what was reached."""
    is_list = ask.kind in {RequestKind.EXPAND, RequestKind.ASSIGN}
    fresh = (ask.replicas,) if is_list and ask.replicas not in own.past else ()
    return replace(
        own,
        asked=LastRequest(ask.kind, ask.replicas),
        past=own.past + fresh,
        reached=Reached.NOTHING if ask.kind is RequestKind.CANCEL else own.reached,
    )


def remember_order(move: Move, ledger: Ledger) -> tuple[Record, ...]:
    """Keep the order to come back to: the first one, as long as topic and replica set are the same.

    One that a recovery has left becomes the blacklist's, which the end of the recovery alone does not lift.
    """
    order = Order(move.partition, move.topic_id, move.original)
    kept = ledger.order(order.key)
    if kept is None or set(kept.replicas) != set(order.replicas):
        return (order,)
    return (replace(kept, recovered=False),) if kept.recovered else ()


def forget_order(move: Move, ledger: Ledger) -> tuple[Record, ...]:
    """Forget an order that stands again, and a list that can come back no more."""
    return _no_more(Order(move.partition, move.topic_id, move.target), ledger)


def remember_given_up(own: MoveRecord, ledger: Ledger) -> tuple[Record, ...]:
    """Keep the list to come back to, where a move is given up that has begun to add replicas.

    Where no entry declares the partition, nothing else knows that those were not to stay. Its order is the remembered
    one, if there is any. A cancel that was asked for last may have been refused: then the list before it runs.
    """
    if own.asked is None or own.reached is Reached.ASSIGNED:
        return ()
    refusable = own.asked.kind is RequestKind.CANCEL and own.past
    listed = own.past[-1] if refusable else own.asked.replicas if own.expanding else ()
    if set(listed) <= set(own.original):
        return ()
    order = Order(own.partition, own.topic_id, own.original, listed)
    kept = ledger.order(order.key)
    if kept is not None and set(kept.replicas) == set(order.replicas):
        order = replace(kept, left=order.left)
    return (order,)


def forget_given_up(own: MoveRecord, ledger: Ledger) -> tuple[Record, ...]:
    """Forget the list to come back to, where the partition of a move that was given up has its original one."""
    return _no_more(Order(own.partition, own.topic_id, own.original), ledger)


def _no_more(there: Order, ledger: Ledger) -> tuple[Record, ...]:
    order = ledger.order(there.key)
    if order is None or (not order.left and order.replicas != there.replicas):
        return ()
    if order.replicas != there.replicas and set(order.replicas) == set(there.replicas):
        return (replace(order, left=()),)
    return (Forget(there.key),)
