"""When a running copy is taken back, because with it the partition is worse off than without. Pure.

The gates (`admission.gates`) let no copy begin where its longer list would stop writes (the effective minimum is
min(m, assigned), Partition.effectiveMinIsr), nor where an unclean election could choose it: with unclean election on,
Kafka may let any live replica lead a partition without a live one in sync, also one that has hardly begun to copy, and
what it lacks is lost when the others truncate to it. The same holds while it runs:

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

A replica that is in the ISR is no copy any more. Without a leader nothing is asked for: with ELR on, Kafka refuses it.
Where Kafka drops replicas after the copy, because the list could not name them, a cancel puts them at the end of the
list (PartitionReassignmentRevert): the move begins again from that order.
"""

from dataclasses import replace

from replan.applying.journal.steps import MoveRecord, Status
from replan.applying.observation.look import Observation
from replan.applying.partitions.judge import (
    End,
    Hold,
    PartitionInput,
    Suspect,
    Verdict,
    judge,
    unless_quarantined,
)
from replan.applying.partitions.judge_cancelled import cancel_again
from replan.applying.reasons.copies import CopyNeverEnds, CopyStopsWrites, NoLeader
from replan.applying.reasons.gates import UncleanElectionPossible
from replan.model.configs import TopicSettings
from replan.model.names import Replicas
from replan.model.partition import PartitionState, Reassignment, effective_min_isr
from replan.planning.plans.requests import CANCEL, Request, RequestKind


def judge_while_copying(sight: PartitionInput) -> tuple[MoveRecord | None, Verdict]:
    """The record of a partition as it stands now, and what to do about it."""
    own, verdict = judge(_from_the_order_that_is_left(sight))
    state = sight.state
    if own is None or own.asked is None or state is None or verdict == End(Status.DONE):
        return own, verdict
    if state.topic_id != own.topic_id or not _ours(own, state):
        return own, verdict
    copies, endless = not set(state.adding) <= set(state.isr), _endless(sight, state, verdict)
    if own.asked.kind is RequestKind.CANCEL and (copies or endless):
        return own, cancel_again(sight) if state.leader is not None else Hold(NoLeader())
    worse = (_worse_with_it(sight, state) if copies else None) or endless
    if worse is None:
        return own, verdict
    if state.leader is None:
        return own, Hold(NoLeader())
    ask = unless_quarantined(sight, own, CANCEL)
    return own, Suspect(CANCEL, worse) if isinstance(ask, Request) else ask


def _from_the_order_that_is_left(sight: PartitionInput) -> PartitionInput:
    """After a cancel the original list may have another order."""
    own, state = sight.own, sight.state
    cancelled = own is not None and own.asked is not None and own.asked.kind is RequestKind.CANCEL
    if not cancelled or state is None or state.running is not None:
        return sight
    if state.replicas == sight.move.original or set(state.replicas) != set(sight.move.original):
        return sight
    return replace(sight, move=replace(sight.move, original=state.replicas))


def _ours(own: MoveRecord, state: PartitionState) -> bool:
    """Whether a reassignment of replan's runs."""
    return state.running is not None and state.running.target in own.past


def _endless(
    sight: PartitionInput, state: PartitionState, verdict: Verdict
) -> CopyNeverEnds | None:
    """For whom what runs would wait for ever, once nothing more is asked for its partition."""
    if not isinstance(verdict.conclusion if isinstance(verdict, Suspect) else verdict, End):
        return None
    gone = () if state.running is None else never_there(state.running, sight.seen)
    return CopyNeverEnds(gone) if gone else None


def never_there(running: Reassignment, seen: Observation) -> Replicas:
    """The brokers that a reassignment waits for and that are not registered any more; empty where it can end."""
    return tuple(b for b in running.target if b not in seen.brokers)


def _worse_with_it(
    sight: PartitionInput, state: PartitionState
) -> CopyStopsWrites | UncleanElectionPossible | None:
    settings = sight.seen.topics.get(sight.move.partition.topic)
    if settings is None:
        return None
    return _stops_writes(sight, state, settings) or _could_lead(sight, state, settings)


def _stops_writes(
    sight: PartitionInput, state: PartitionState, settings: TopicSettings
) -> CopyStopsWrites | None:
    """Whether the list with the copy needs more replicas in sync than there are, and the list without it does not."""
    m, original = settings.min_insync_replicas, sight.move.original
    in_sync = tuple(b for b in state.isr if sight.seen.live(b))
    needed = effective_min_isr(m, len(state.replicas))
    without = len(set(in_sync) & set(original)) >= effective_min_isr(m, len(original))
    return CopyStopsWrites(in_sync, m, needed) if without and len(in_sync) < needed else None


def _could_lead(
    sight: PartitionInput, state: PartitionState, settings: TopicSettings
) -> UncleanElectionPossible | None:
    """Why a replica that copies could be elected."""
    if not settings.unclean_election:
        return None
    in_sync = tuple(b for b in state.isr if sight.seen.live(b))
    if sight.move.unclean_election and len(in_sync) >= 2:
        return None
    return UncleanElectionPossible(sight.move.partition.topic, in_sync)
