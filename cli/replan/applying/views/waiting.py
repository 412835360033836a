"""What an open application waits for and how far it is, for those who only look: nothing is asked or written.

It is what `decide` would say in its first tick, so a process need not run for that.
"""

from collections.abc import Callable, Mapping
from itertools import chain
from math import inf
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger, RequestSubject
from replan.applying.observation import Job, PartitionHistory
from replan.applying.other_tools import not_ours
from replan.applying.reasons.holds import AwaitingThrottle, OthersFirst
from replan.applying.reasons.reason import HoldReason
from replan.applying.settings import Settings
from replan.applying.steering import closed_by
from replan.applying.tick.decide import decide
from replan.applying.tick.looking import look_for_tick
from replan.applying.tick.run_state import first_state
from replan.applying.views.progress import Progress, progress_of
from replan.model.control_plane import ClusterReader, Look
from replan.model.names import TopicPartition
from replan.planning.plans.plan import Plan

_K = TypeVar("_K")


class WatchedApplication(Struct, frozen=True):
    """An open application as somebody sees it who looks on."""

    waits: Mapping[RequestSubject, HoldReason]
    progress: Progress
    history: PartitionHistory
    """Of the sizes of its copies, for the next look."""


NOTHING_SEEN = PartitionHistory()


def watched(
    plan: Plan,
    ledger: Ledger,
    reader: ClusterReader,
    now: float = 0.0,
    before: PartitionHistory = NOTHING_SEEN,
    read: Callable[[], Ledger] | None = None,
) -> WatchedApplication:
    """What each unfinished step waits for, as far as a process would look at it now, and how far the copies are.

    By the settings of the process that is at work, or was last. `before`: of the look before, for the rates.
    `read`: reads the journal again, where a process may be at work between `ledger` and the look.
    """
    job = Job.of(plan, _settings(ledger))
    state = first_state(job, ledger, now).with_room(job, reader.log_dirs())
    tick, state = look_for_tick(job, reader, lambda: now, replace(state, history=before))
    if read is not None:
        tick = replace(tick, look=_without_begun_since(tick.look, ledger, read))
    decision, after = decide(tick, state.observed(tick))
    closed = closed_by(ledger.application)
    waiting = job.moves.keys() - ledger.owned.keys()
    held: dict[TopicPartition, HoldReason] = (
        dict.fromkeys(waiting.difference(tick.candidates), OthersFirst())
        if closed is None
        else dict.fromkeys(waiting, closed)
    )
    held |= decision.holds
    progress = progress_of(tick, after, decision, now, len(after.notes), inf)
    holds = _told(held)
    waits: dict[RequestSubject, HoldReason] = dict(
        chain(holds.items(), _told(decision.step_holds).items())
    )
    return WatchedApplication(waits, replace(progress, last_holds=holds), after.history)


def _without_begun_since(look: Look, ledger: Ledger, read: Callable[[], Ledger]) -> Look:
    """The look without what replan has begun between the reading of `ledger` and it: that is not another tool's.

    A list stands in the journal before it is asked for, so a journal that is read after a look knows all of replan's
    that runs in it.
    """
    unknown = not_ours(look, ledger)
    if not unknown:
        return look
    begun = unknown.keys() - not_ours(look, read()).keys()
    return replace(look, running={n: r for n, r in look.running.items() if n not in begun})


def _told(holds: Mapping[_K, HoldReason]) -> dict[_K, HoldReason]:
    return {n: why for n, why in holds.items() if not _is_next_to_set(why)}


def _is_next_to_set(why: HoldReason) -> bool:
    """Whether a throttle is all that is missing, and whoever performs the plan sets it without further ado."""
    return isinstance(why, AwaitingThrottle) and why == AwaitingThrottle()


def _settings(ledger: Ledger) -> Settings:
    application, usual = ledger.application, Settings()
    if application is None:
        return usual
    return Settings(
        settle_seconds=application.settle or usual.settle_seconds,
        slots_per_broker=application.slots or usual.slots_per_broker,
    )
