"""The throttles of one tick: which settings its copies need, and whether those of one copy are in force. Pure.

Here belongs what joins the copies of a tick to the rules of `throttles`; which copies there are is in `copies`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from replan.applying.other_tools import rates_of_others
from replan.applying.reasons.copies import AwaitingThrottle
from replan.applying.reasons.ends import EndReason
from replan.applying.steering import keeps_throttles
from replan.applying.throttles.broker_rates import Rate
from replan.applying.throttles.replica_lists import Copy
from replan.applying.throttles.tick import (
    ThrottleInput,
    ThrottleTick,
    WantedThrottles,
    gives_way_to,
    in_place,
    throttle_tick,
    unread,
    with_kept,
)
from replan.applying.tick.copies import copy_of, refused_setting
from replan.applying.tick.questions import standing_places
from replan.applying.tick.run_state import RunState
from replan.applying.tick_input import TickInput
from replan.model.declared.placement import MoveThrottle
from replan.planning.plans.moves import Move


@dataclass(frozen=True, slots=True)
class Throttled:
    """What is under the throttle of an application."""

    throttle: MoveThrottle | None
    copies: Sequence[Copy]
    of_others: Sequence[Copy]
    """Copies of other tools that are to be throttled, too."""
    rates: Mapping[Rate, int]
    """Bytes per second, for moves between log directories."""


def throttle_input(tick: TickInput, state: RunState) -> ThrottleInput:
    """What a tick has read of throttles."""
    seen = tick.seen
    live = {b for b, broker in seen.brokers.items() if broker.live}
    return ThrottleInput(seen.topics, seen.rates, state.throttle_history, live)


def throttles_now(
    tick: TickInput,
    state: RunState,
    view: ThrottleInput,
    throttled: Throttled,
    *,
    cancelling: bool,
) -> ThrottleTick:
    """What the copies that run or are about to need of throttles."""
    throttle, copies = throttled.throttle, throttled.copies
    released = standing_places(tick.job, state.ledger)
    keeps = keeps_throttles(throttle, state.ledger.application)
    wanted = WantedThrottles.of([*copies, *throttled.of_others], throttle)
    wanted = replace(wanted, rates={**wanted.rates, **throttled.rates})
    if keeps:
        wanted = with_kept(wanted, copies, state.ledger, view, released)
    waiting = tick.admitting and state.copies_waiting > 0 and not cancelling
    found = throttle_tick(
        wanted, state.ledger, view, keep_rates=keeps or waiting, released=released
    )
    notes = rates_of_others(throttled.of_others, throttle, state.ledger, view)
    return replace(found, notes=(*found.notes, *notes))


def throttle_missing(
    tick: TickInput,
    state: RunState,
    view: ThrottleInput,
    move: Move,
    throttle: MoveThrottle | None,
    throttles: ThrottleTick,
) -> AwaitingThrottle | EndReason | None:
    """What a copy waits for before it may begin, or why it never will; None where its throttle is in force."""
    copy = copy_of(tick, state, move)
    if in_place(copy, throttle, throttles, view):
        return None
    brokers = (*move.original, *move.new)
    refused = refused_setting(tick, state, [move.partition.topic], brokers)
    if refused is not None:
        return refused
    return AwaitingThrottle(
        unread(copy, throttle, view), gives_way_to(copy, throttle, view), state.unanswered(brokers)
    )
