"""Which leaving brokers a list may not name now: decided by the cluster, never by the plan alone.

Kafka drops what expand leaves out as soon as the copies end, without the settle time. So nothing is left out because a
plan says so: a broker that was unregistered or cordoned when planned may be back, and a plan may have been edited.
"""

from dataclasses import replace

from replan.applying.journal.steps import MoveRecord
from replan.applying.observation.look import Observation
from replan.model.names import BrokerId
from replan.model.partition import PartitionState
from replan.planning.plans.moves import Move
from replan.planning.plans.requests import RequestKind


def left_out(move: Move, own: MoveRecord | None) -> frozenset[BrokerId] | None:
    """The leaving brokers that the last expand did not name; None where none was asked for, or it was cancelled."""
    if own is None or own.asked is None or own.asked.kind is RequestKind.CANCEL:
        return None
    expands = [of for of in own.past if of != move.target and set(move.new) <= set(of)]
    if own.expanding:
        expands.append(own.asked.replicas)
    return frozenset(move.leaving).difference(expands[-1]) if expands else None


def as_nameable(
    move: Move,
    own: MoveRecord | None,
    state: PartitionState | None,
    seen: Observation,
    *,
    refused: bool,
) -> Move:
    """The move, without what no list may name now. `refused`: Kafka has just refused its list for that (39).

    Those that are not registered and out of the ISR; those that are cordoned, where the plan knew it or Kafka refused
    the expand for it; where it did, those that are fenced too, as before 4.1 not every user can tell an unregistered
    broker from a fenced one. What an expand has left out stays so, unless it shows no effect and the broker is in sync
    again.
    """
    isr = frozenset() if state is None else frozenset(state.isr)
    cordoned = {b for b in move.leaving if b in seen.brokers and seen.brokers[b].cordoned}
    out = frozenset(move.leaving) - isr
    gone = {b for b in out if b not in seen.brokers or (refused and not seen.live(b))}
    gone |= cordoned if refused else cordoned & move.unnameable
    known = left_out(move, own)
    if known is not None:
        gone = set(known) | (gone if refused else set())
        if state is not None and state.replicas == move.original and state.running is None:
            gone -= {b for b in isr if seen.live(b)} - cordoned
    return move if gone == move.unnameable else replace(move, unnameable=frozenset(gone))
