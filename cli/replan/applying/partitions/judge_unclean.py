"""When a running copy is taken back because an unclean election could choose it. Pure.

Where unclean election is on, Kafka may let any live replica lead a partition without a live one in sync, also one that
has hardly begun to copy: what it lacks is lost when the others come back and truncate to it. The gate
(`admission.gates`) lets no copy begin there with fewer than two live replicas in sync; the same holds while it runs:

    the copy runs, and ...                                             then
    unclean election is off                                            it goes on
    unclean election was on when planned, two live ones are in sync    it goes on
    unclean election is on and fewer are, or it was off when planned   it is cancelled, once looks have agreed for 5 s
    the cancel was asked for and shows no effect                       it is asked for again
    the cancel has taken effect                                        the move begins again, through all gates; it is
                                                                       stale where the plan rests on other settings

A replica that is in the ISR is no copy any more. Without a leader nothing is asked for: with ELR on, Kafka refuses it.
"""

from replan.applying.journal.steps import MoveRecord, Status
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
from replan.applying.reasons.copies import NoLeader
from replan.applying.reasons.gates import UncleanElectionPossible
from replan.model.partition import PartitionState
from replan.planning.plans.requests import CANCEL, Request, RequestKind


def judge_while_copying(sight: PartitionInput) -> tuple[MoveRecord | None, Verdict]:
    """The record of a partition as it stands now, and what to do about it."""
    own, verdict = judge(sight)
    state = sight.state
    if own is None or own.asked is None or state is None or verdict == End(Status.DONE):
        return own, verdict
    if state.topic_id != own.topic_id or not _copies(own, state):
        return own, verdict
    if own.asked.kind is RequestKind.CANCEL:
        return own, cancel_again(sight) if state.leader is not None else Hold(NoLeader())
    could_lead = _could_lead(sight, state)
    if could_lead is None:
        return own, verdict
    if state.leader is None:
        return own, Hold(NoLeader())
    ask = unless_quarantined(sight, own, CANCEL)
    return own, Suspect(CANCEL, could_lead) if isinstance(ask, Request) else ask


def _copies(own: MoveRecord, state: PartitionState) -> bool:
    """Whether a reassignment of replan's runs that brings a replica into sync, and drops none.

    Where it drops some, a cancel would not restore the order of the list (ReplicationControlManager appends them).
    """
    running = state.running
    ours = running is not None and running.target in own.past
    return ours and not state.removing and not set(state.adding) <= set(state.isr)


def _could_lead(sight: PartitionInput, state: PartitionState) -> UncleanElectionPossible | None:
    """Why a replica that copies could be elected."""
    settings = sight.seen.topics.get(sight.move.partition.topic)
    if settings is None or not settings.unclean_election:
        return None
    in_sync = tuple(b for b in state.isr if sight.seen.live(b))
    if sight.move.unclean_election and len(in_sync) >= 2:
        return None
    return UncleanElectionPossible(sight.move.partition.topic, in_sync)
