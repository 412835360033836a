"""`apply`: perform a saved plan, or plan and perform at once after asking."""

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from replan.applying.clear import abandon, throttle_clear
from replan.applying.journal.file import FileJournal
from replan.applying.loop import apply_plan
from replan.applying.opening import open_plan
from replan.applying.outcome import Outcome
from replan.applying.progress import Report
from replan.applying.settings import Settings
from replan.commands.cluster import Connection, connect
from replan.commands.journals import NOT_LOCKED, journal_path, owner, read_ledger
from replan.commands.output import note, result
from replan.commands.plan import read_plan
from replan.commands.progress import progress_to
from replan.commands.target import Target
from replan.errors import BadUsage, Exit, UnsafePlan
from replan.manifest.load import load_placement
from replan.planning.plan import Plan
from replan.planning.plan_file import digest
from replan.planning.planner import make_plan
from replan.reporting.outcome_text import render_outcome
from replan.reporting.plan_text import render_plan


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line asks of `apply`."""

    target: Target
    plan_file: Path | None
    files: Sequence[Path]
    """With neither a plan nor files the open application is resumed."""
    journal: Path | None
    auto_approve: bool
    settings: Settings
    faults: Sequence[str] = ()
    """What is to befall the embedded cluster meanwhile."""


def apply(wish: Wish) -> Exit:
    """Perform a plan. 0 done, 3 some partitions stopped, 4 held, 130 interrupted and resumable."""
    if wish.target.snapshot is not None:
        raise BadUsage("apply acts on a cluster; --snapshot can only be planned from")
    if wish.faults and wish.target.simulated is None:
        raise BadUsage("--fault befalls the embedded cluster alone; it goes with --simulated FILE")
    with connect(wish.target) as connection:
        befall = _befalling(wish, connection)
        plan = _plan(wish, connection)
        _check_refusals(plan)
        if not _approved(plan, wish):
            note("not approved; nothing was done")
            return Exit.ERROR
        outcome = _perform(plan, wish, connection, befall)
    result(render_outcome(outcome))
    return outcome.exit_code


def _befalling(wish: Wish, connection: Connection) -> Callable[[Report], Report]:
    """What makes the faults that are asked for happen, and tells them; heavy modules only where there are any."""
    if not wish.faults:
        return lambda report: report
    from replan.commands.befalling import Befalling

    return Befalling(connection, wish.faults)


def _plan(wish: Wish, connection: Connection) -> Plan:
    if wish.plan_file is not None:
        return read_plan(wish.plan_file)
    if not wish.files:
        return _begun(wish, connection)
    placement = load_placement(wish.files)
    seen = connection.control_plane.observe()
    ledger = read_ledger(wish.target, wish.journal, seen.cluster_id)
    begun = ledger.application
    if begun is not None and begun.manifest_digest == placement.digest:
        plan = open_plan(ledger)
        if plan is not None:
            note(f"resuming application {begun.id}, begun by {begun.owner}")
            return plan
    plan = make_plan(
        placement, replace(seen, remembered={**seen.remembered, **ledger.remembered()})
    )
    result(render_plan(plan))
    return plan


def _begun(wish: Wish, connection: Connection) -> Plan:
    """The plan of the open application; raises BadUsage where none is open."""
    cluster_id = connection.control_plane.observe().cluster_id
    plan = open_plan(read_ledger(wish.target, wish.journal, cluster_id))
    if plan is None:
        path = journal_path(wish.target, wish.journal, cluster_id)
        raise BadUsage(f"nothing to resume: the journal {path} knows of no open application")
    return plan


def _check_refusals(plan: Plan) -> None:
    if plan.refusals:
        named = "\n".join(f"  {r.message}  [{r.rule}]" for r in plan.refusals[:20])
        raise UnsafePlan(
            f"the plan has {len(plan.refusals)} refusals, and is not performed in part:\n{named}\n"
            "mend what they name, or take those partitions out of the placement, and plan again"
        )


def _approved(plan: Plan, wish: Wish) -> bool:
    """Ask on a terminal; elsewhere only the flag approves. Raises BadUsage where nobody can be asked."""
    if wish.auto_approve or not plan.moves:
        return True
    if not sys.stdin.isatty():
        raise BadUsage(
            "nobody can be asked here (no terminal); pass --auto-approve to perform the plan"
        )
    if wish.plan_file is not None:
        note(render_plan(plan))
    sys.stderr.write("Perform this plan? Only `yes` does it: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip() == "yes"


def _perform(
    plan: Plan,
    wish: Wish,
    connection: Connection,
    befall: Callable[[Report], Report],
) -> Outcome:
    path = journal_path(wish.target, wish.journal, plan.cluster_id)
    with FileJournal(path) as journal, asked_to_stop() as stop, progress_to(sys.stderr) as report:
        note(f"journal: {path}")
        if wish.target.is_real:
            note(NOT_LOCKED)
        return apply_plan(
            plan,
            connection.control_plane,
            journal,
            connection.clock,
            plan_digest=digest(plan),
            settings=replace(wish.settings, owner=owner()),
            report=befall(report),
            stop=stop,
        )


def clear_throttles(chosen: Target, journal: Path | None) -> Exit:
    """Put back the throttles that are ours and needed by no running copy."""
    return _steer(throttle_clear, chosen, journal)


def give_up(chosen: Target, journal: Path | None) -> Exit:
    """Close the open application where it stands."""
    return _steer(abandon, chosen, journal)


def _steer(do: Callable[..., Outcome], chosen: Target, named: Path | None) -> Exit:
    if chosen.snapshot is not None:
        raise BadUsage("this command acts on a cluster; --snapshot can only be read")
    with connect(chosen) as connection:
        path = journal_path(chosen, named, connection.control_plane.observe().cluster_id)
        with FileJournal(path) as journal:
            outcome = do(
                connection.control_plane,
                journal,
                connection.clock,
                settings=Settings(owner=owner()),
                report=note,
            )
    result(render_outcome(outcome))
    return outcome.exit_code


class _Stop:
    """Set by the first SIGINT or SIGTERM; the second interrupts at once."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Ask the loop to leave at the next safe point."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        note("stopping at the next safe point; once more to leave at once")


@contextmanager
def asked_to_stop() -> Iterator[_Stop]:
    """Turn SIGINT and SIGTERM into a question that the loop asks, for as long as it runs."""
    stop = _Stop()
    before = {
        number: signal.signal(number, stop.on_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
