"""What the partitions of an open application wait for, for those who only look: nothing is asked or written.

It is what `decide` would say of them in its first tick, so a process need not run for that.
"""

from collections.abc import Mapping

from replan.applying.journal.ledger import Ledger
from replan.applying.reasons.copies import AwaitingThrottle
from replan.applying.reasons.gates import Cancelling, Paused
from replan.applying.reasons.waits import HoldReason
from replan.applying.settings import Settings
from replan.applying.tick.decide import decide
from replan.applying.tick.questions import wanted
from replan.applying.tick.run_state import first_state
from replan.applying.tick_input import Job, TickInput
from replan.model.control_plane import ClusterReader
from replan.model.names import TopicPartition
from replan.planning.plans.plan import Plan


def holds_of(
    plan: Plan, ledger: Ledger, reader: ClusterReader
) -> Mapping[TopicPartition, HoldReason]:
    """What each unfinished partition waits for, as far as a process would look at it now.

    By the settings of the process that is at work, or was last.
    """
    job = Job.of(plan, _settings(ledger), end_text=lambda _name, _reason: "")
    state = first_state(job, ledger, 0.0).with_room(job, reader.log_dirs())
    state, candidates = state.chosen(job, 0.0)
    seen = reader.look(wanted(state, job, candidates))
    tick = TickInput(job=job, seen=seen, now=0.0, ended=0.0, candidates=candidates)
    decision, _ = decide(tick, state.observed(tick))
    closed = _closed(ledger)
    held = {} if closed is None else {n: closed for n in job.moves if n not in ledger.owned}
    return held | {n: why for n, why in decision.holds.items() if not _is_next_to_set(why)}


def _is_next_to_set(why: HoldReason) -> bool:
    """Whether a throttle is all that is missing, and whoever performs the plan sets it without further ado."""
    return isinstance(why, AwaitingThrottle) and why == AwaitingThrottle()


def _closed(ledger: Ledger) -> HoldReason | None:
    """What keeps every partition that has not begun from it; `decide` does not look at these one by one then."""
    known = ledger.application
    if known is not None and known.cancelled_by:
        return Cancelling(known.cancelled_by)
    return Paused(known.paused_by) if known is not None and known.paused_by else None


def _settings(ledger: Ledger) -> Settings:
    known, usual = ledger.application, Settings()
    if known is None:
        return usual
    return Settings(
        settle_seconds=known.settle or usual.settle_seconds,
        slots_per_broker=known.slots or usual.slots_per_broker,
    )
