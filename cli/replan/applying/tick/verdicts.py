"""What one partition is judged by, and when a suspicion of one look has become a conclusion. Pure."""

from replan.applying.journal.records import Order
from replan.applying.journal.steps import MoveRecord
from replan.applying.partitions.judge import PartitionInput, Suspect
from replan.applying.reasons.ends import ChangedElsewhere, EndReason, OtherReassignment
from replan.applying.tick.run_state import RunState
from replan.applying.tick_input import TickInput
from replan.model.names import TopicPartition
from replan.planning.plans.requests import Request


def partition_input(
    tick: TickInput, state: RunState, name: TopicPartition, record: MoveRecord | None
) -> PartitionInput:
    """All that one partition is judged by."""
    move = tick.job.moves[name]
    order = state.ledger.order(Order(name, move.topic_id, move.original).key)
    return PartitionInput(
        move=move,
        own=record,
        state=tick.seen.partitions.get(name),
        seen=tick.seen,
        settled=state.history.settled(name, tick.settings.settle_seconds),
        settle_seconds=tick.settings.settle_seconds,
        racks=tick.job.plan.racks,
        answer=state.answers.get(name),
        repeat_seconds=state.repeat_seconds(name, tick.now),
        quarantine_seconds=quarantine_left(tick, state, name),
        logless=frozenset(b for b in move.target if state.history.shows_no_log(name, b)),
        left_behind=() if order is None else order.left,
    )


def quarantine_left(tick: TickInput, state: RunState, name: TopicPartition) -> float | None:
    """How long an earlier request of a partition may still be on its way."""
    since = state.unknown_since.get(name)
    if since is None:
        return None
    left = tick.settings.quarantine_seconds - (tick.now - since)
    return left if left > 0 else None


def agreed(tick: TickInput, state: RunState, name: TopicPartition, suspect: Suspect) -> bool:
    """Whether looks have agreed on a suspicion for long enough."""
    conclusion = suspect.conclusion
    listed = isinstance(conclusion, Request) or _listed(conclusion.reason)
    return tick.agreed(state.suspected, (name, conclusion), listed=listed)


def _listed(reason: EndReason | None) -> bool:
    """Whether a conclusion rests on what the controller lists as running, which is never old."""
    match reason:
        case OtherReassignment() | ChangedElsewhere(running=True):
            return True
        case _:
            return False
