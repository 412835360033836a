"""What one partition is judged by, and when a suspicion of one look has become a conclusion. Pure."""

from replan.applying.journal.records import Order
from replan.applying.journal.steps import MoveRecord
from replan.applying.observation.refusals import believed
from replan.applying.partitions.judge import PartitionInput, Suspect
from replan.applying.reasons.ends import ChangedElsewhere, EndReason, OtherReassignment
from replan.applying.reasons.waits import HoldReason
from replan.applying.tick.run_state import RunState
from replan.applying.tick.unchanged import Sight, Wait, Waits
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
        refusal=believed(state.refused.get(name), tick.settings.agreeing_seconds),
        repeat_seconds=state.repeat_seconds(name, tick.now),
        repeat_refusal=state.repeats[name].refusal if name in state.repeats else "",
        quarantine_seconds=quarantine_left(tick, state, name),
        logless=frozenset(b for b in move.target if state.history.shows_no_log(name, b)),
        left_behind=() if order is None else order.left,
    )


class Unchanged:
    """The waits of the tick before, and which of them still hold."""

    def __init__(self, tick: TickInput, state: RunState, *, remembers: bool) -> None:
        """`remembers`: partitions are judged by the same rules as in the tick before."""
        self._remembers = remembers
        same = remembers and state.waits.brokers == tick.seen.brokers
        self._before = state.waits.of if same else {}
        self._seen, self._settings, self._history = tick.seen, tick.settings, state.history
        self._concerned = {
            *state.answers,
            *state.refused,
            *state.repeats,
            *state.unknown_since,
            *tick.seen.unclear,
            *(name for (name, _), misses in state.history.misses.items() if misses),
        }
        """The partitions that something else concerns."""
        self._now: dict[TopicPartition, Wait] = {}

    def wait(self, name: TopicPartition, record: MoveRecord | None) -> Wait | None:
        """The wait of a partition in flight, if it still holds."""
        wait = self._before.get(name)
        if wait is None or wait.record is not record or self._sight(name) != wait.sight:
            return None
        self._now[name] = wait
        return wait

    def keep(self, name: TopicPartition, record: MoveRecord | None, reason: HoldReason) -> None:
        """Keep the wait of a partition for the next tick, if it is in flight."""
        sight = self._sight(name)
        if record is not None and sight is not None:
            self._now[name] = Wait(reason, record, sight)

    def _sight(self, name: TopicPartition) -> Sight | None:
        """What the verdict on a partition rests on beside brokers and record; None where something else concerns it."""
        found, settings = self._seen.partitions.get(name), self._seen.topics.get(name.topic)
        if found is None or settings is None or name in self._concerned:
            return None
        settled = self._history.settled(name, self._settings.settle_seconds)
        return found, settled, settings.min_insync_replicas, settings.unclean_election

    def waits(self) -> Waits:
        """Those that hold in the next tick, if nothing of them changes."""
        return Waits(self._seen.brokers, self._now) if self._remembers else Waits()


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
