"""What to ask next for one partition: one pure function of the move and of what is seen now.

The plan's preview (`preview`), the applier, resume and the rehearsal all use it; none has rules of its own.
It reads no version. From Kafka 4.3 on (KAFKA-19975) a reassignment may finish although a kept replica is dead,
up to 4.2 one dead replica keeps it listed for ever: so neither "still listed" nor "no longer listed" proves
anything here; only membership in the ISR does.

Invariants, held by tests/properties/test_next_request.py over random histories of both completion rules:
* no list that drops a replica is asked for before every replica of the target has been in the ISR for the settle time;
* nothing is asked for while it has no leader;
* a running reassignment is overwritten only by our own assign over our own expand;
* from every state that our own requests can reach, some sequence of observations ends in Done.

L / A / D / I below: the observed list, adding, removing, ISR.
"""

from msgspec import Struct

from replan.model.names import BrokerId, TopicId
from replan.model.partition import PartitionState
from replan.planning.plans.moves import Move
from replan.planning.plans.requests import Request, RequestKind


class Wait(Struct, frozen=True):
    """Nothing to ask until these replicas are in the ISR (and have stayed there, if `settling`)."""

    missing: frozenset[BrokerId]
    settling: bool = False
    leaderless: bool = False
    """It has no leader: whatever is asked now could only stand in the way of a recovery."""


class Done(Struct, frozen=True):
    """The partition has the list and the leader that the move wants."""


class Stale(Struct, frozen=True):
    """The topic is gone, or another topic has its name now."""

    expected: TopicId
    observed: TopicId | None


class OffPath(Struct, frozen=True):
    """A list that this move never asks for: an echo of an earlier request of replan, or another tool's doing."""

    observed: PartitionState


NextStep = Request | Wait | Done | Stale | OffPath


def next_request(move: Move, state: PartitionState | None, *, settled: bool) -> NextStep:
    """What to ask next.

    `settled`: every replica of the target has been in the ISR in all polls of the settle time.
    """
    if state is None or state.topic_id != move.topic_id:
        return Stale(move.topic_id, None if state is None else state.topic_id)
    step = _ask(move, state, settled=settled)
    if state.leader is None and isinstance(step, Request):
        return Wait(frozenset(), leaderless=True)
    return step


def _ask(move: Move, state: PartitionState, *, settled: bool) -> NextStep:
    """The table of cases, for a partition that has a leader."""
    new, listed = frozenset(move.new), frozenset(state.replicas)
    if state.replicas == move.target and not state.removing and new <= frozenset(state.isr):
        return _arrived(move, state)
    if state.removing:
        return _dropping(move, state, settled=settled)
    if not new <= listed or (not new and state.replicas == move.original):
        return _starting(move, state, settled=settled)
    return _expanded(move, state, settled=settled)


def _arrived(move: Move, state: PartitionState) -> NextStep:
    first = move.target[0]
    if state.leader == first or not move.elect:
        return Done()
    elect = Request(RequestKind.ELECT, (first,))
    return elect if first in state.isr else Wait(frozenset({first}))


def _dropping(move: Move, state: PartitionState, *, settled: bool) -> NextStep:
    """Something is being removed: by our assign, or by Kafka because expand could not name it."""
    if state.replicas[: len(move.target)] == move.target and set(state.removing) <= set(
        move.leaving
    ):
        return Wait(frozenset(move.target) - frozenset(state.isr))
    if state.replicas == move.expanded + tuple(sorted(state.removing)):
        # Up to 4.2 it also waits for the leaving ones that it names, which may be dead: assign drops them.
        return _assign_when_ready(move, state, drops=True, settled=settled)
    return OffPath(state)


def _starting(move: Move, state: PartitionState, *, settled: bool) -> NextStep:
    if state.replicas != move.original or state.adding:
        return OffPath(state)
    if move.new:
        missing = move.kept - frozenset(state.isr)
        # Kafka itself drops a live replica that the list cannot name, as soon as the new ones are in sync.
        expand = Request(RequestKind.EXPAND, move.expanded)
        return Wait(missing) if missing and move.unnameable & set(state.isr) else expand
    return _assign_when_ready(move, state, drops=bool(move.leaving), settled=settled)


def _expanded(move: Move, state: PartitionState, *, settled: bool) -> NextStep:
    """Expand is running or done: the new replicas are listed behind what was there."""
    listed, new = frozenset(state.replicas), frozenset(move.new)
    on_path = (move.kept | new) <= listed <= (frozenset(move.original) | new)
    if not on_path or not set(state.adding) <= new:
        return OffPath(state)
    drops = bool(listed - frozenset(move.target))
    return _assign_when_ready(move, state, drops=drops, settled=settled)


def _assign_when_ready(
    move: Move, state: PartitionState, *, drops: bool, settled: bool
) -> NextStep:
    """Assign once it is safe: with drops only when settled on the whole target."""
    missing = frozenset(move.awaited(drops=drops)) - frozenset(state.isr)
    if missing:
        return Wait(missing)
    if drops and not settled:
        return Wait(frozenset(), settling=True)
    return Request(RequestKind.ASSIGN, move.target)
