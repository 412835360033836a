"""How a loop steers what it applies: it pauses it, lets it go on, or cancels the rest, as a person would.

    too much is down, partitions came under  pause: what runs ends, nothing begins
    min ISR, a broker that died meanwhile
    is due to be replaced, or no window is
    open
    that is over                             resume
    paused so, and nothing runs any more     cancel: nothing is in flight, so what has not begun is left, and the
                                             cluster is free for others until the next round
    the broker is back whose replicas are    cancel, if less is lost by that than is still to be copied
    replaced
    a broker is due to be replaced, and      cancel, if less of what runs is copied than is still to be: nobody waits
    something runs                           for longer than it took so far
    nothing has moved for `STUCK_SECONDS`    cancel: what it waits for, such as a broker that died meanwhile, may be for
                                             another round to put right; this one has failed
    nor after that                           the way back waits for a broker, too: it is given up as it is

A cancel is not taken back. What a person has paused, only a person lets go on. Pure.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.records import Verb
from replan.applying.views.progress import Progress
from replan.model.declared.reconcile import DeviationKind, Reconcile
from replan.reconciling.decision import HoldFacts, down
from replan.reconciling.status import (
    LISTED_DEVIATIONS,
    BrokersFirst,
    LoopReason,
    NoWindow,
    UnderMinIsr,
)
from replan.reconciling.windows import is_open, opens_at

STUCK_SECONDS = 900.0


class Steered(Struct, frozen=True):
    """What the loop has asked of its application."""

    kinds: tuple[DeviationKind, ...]
    replaced: tuple[int, ...] = ()
    """Brokers that were down when it was planned."""
    paused: tuple[LoopReason, ...] = ()
    """Why the loop has paused it."""
    cancelled: bool = False
    stuck: bool = False
    """Whether it was cancelled since nothing moved."""
    given_up: bool = False
    """Whether nothing has moved since then, either: the process leaves, and gives it up."""


def steer(
    policy: Reconcile,
    facts: HoldFacts,
    progress: Progress,
    before: Steered,
    now: float,
    still: float = 0.0,
) -> tuple[Verb | None, Steered]:
    """What to ask for next, if anything; `still`: for how many seconds nothing has moved."""
    if before.cancelled:
        return None, replace(before, given_up=before.given_up or still >= STUCK_SECONDS)
    back = set(before.replaced) - set(facts.down)
    if before.replaced and back == set(before.replaced) and _less_work(progress):
        return Verb.CANCEL, replace(before, cancelled=True)
    reasons = _reasons(policy, facts, before.kinds, now)
    stuck = still >= STUCK_SECONDS
    over = before.paused and reasons and progress.waiting and not progress.running
    first = any(isinstance(r, BrokersFirst) for r in reasons)
    if stuck or over or (first and progress.running and _more_is_left(progress)):
        return Verb.CANCEL, replace(before, cancelled=True, stuck=stuck)
    if reasons and not before.paused:
        return Verb.PAUSE, replace(before, paused=reasons)
    if before.paused and not reasons:
        return Verb.RESUME, replace(before, paused=())
    return None, before if reasons == before.paused else replace(before, paused=reasons)


def _reasons(
    policy: Reconcile, facts: HoldFacts, kinds: Sequence[DeviationKind], now: float
) -> tuple[LoopReason, ...]:
    reasons: list[LoopReason] = list(down(policy.hold, facts))
    if facts.under:
        reasons.append(UnderMinIsr(facts.under[:LISTED_DEVIATIONS], len(facts.under)))
    if facts.due_to_be_replaced:
        reasons.append(BrokersFirst(facts.due_to_be_replaced))
    windows = policy.windows
    if not is_open(windows.open, now) and not set(kinds) <= windows.excepted:
        reasons.append(NoWindow(opens_at(windows.open, now)))
    return tuple(reasons)


def _more_is_left(progress: Progress) -> bool:
    """Whether more of the running copies is still to be copied than is there."""
    running = [r for copy in progress.copies for r in copy.replicas]
    there = sum(r.copied_bytes or 0 for r in running)
    return sum(r.total_bytes for r in running) > 2 * there


def _less_work(progress: Progress) -> bool:
    """Whether less is thrown away by a cancel than is still to be copied."""
    volume = progress.volume()
    thrown_away = sum(r.copied_bytes or 0 for copy in progress.copies for r in copy.replicas)
    return volume.total_bytes - volume.copied_bytes > thrown_away
