"""Puts back the throttles that an application left behind, without going on with it; and gives an application up.

What a running copy of an open application needs stays, and so does everything that is not ours.
"""

from collections.abc import Callable

from replan.applying.journal.ledger import Ledger, fold, open_applications
from replan.applying.journal.protocol import Journal
from replan.applying.journal.records import ApplicationStatus
from replan.applying.next_state import Decision
from replan.applying.observation.look import Observation
from replan.applying.opening import closing, ended, open_plan
from replan.applying.outcome import Outcome, results_of, summary
from replan.applying.run_state import throttled
from replan.applying.sending import Sender, intents
from replan.applying.settings import Settings
from replan.applying.throttles.broker_rates import leftovers
from replan.applying.throttles.replica_lists import Copy
from replan.applying.throttles.tick import ThrottleHistory, ThrottleInput, throttle_tick
from replan.errors import BadUsage, Exit
from replan.model.control_plane import Clock, ClusterReader, ClusterWriter, Wanted
from replan.planning.plan import Plan


def throttle_clear(
    reader: ClusterReader,
    writer: ClusterWriter,
    journal: Journal,
    clock: Clock,
    *,
    settings: Settings,
    report: Callable[[str], None] | None = None,
) -> Outcome:
    """Restore what replan set and no running copy needs, and stay until no late change can undo that.

    Raises ClusterUnreachable, Held.
    """
    ledger = fold(journal.read())
    plan, began = open_plan(ledger), clock.now()
    touched = frozenset(throttled(ledger))
    reported = False
    while True:
        late = clock.now() - began
        may_arrive = touched if late < settings.quarantine_seconds else frozenset()
        seen = reader.look(_wanted(ledger))
        copies = _running_copies(ledger, plan, seen)
        view = ThrottleInput(seen.topics, seen.rates, ThrottleHistory(may_arrive=may_arrive))
        throttle = None if plan is None else plan.throttle
        tick = throttle_tick(copies, throttle, ledger, view, keep_rates=False)
        if tick.quiet and may_arrive and not reported:
            reported = _report(report, settings.quarantine_seconds - late)
        over = late >= settings.quarantine_seconds + settings.patience_seconds
        if (tick.quiet and not may_arrive) or over:
            return _outcome(ledger, copies, seen)
        until = clock.now() + settings.intent_seconds
        decision = Decision(records=tick.records, throttles=tick)
        journal.append(intents(decision, ledger))
        ledger = ledger.after(tick.records)
        Sender(writer, clock, until).send(decision)
        clock.sleep(settings.poll_seconds)


def _report(report: Callable[[str], None] | None, left: float) -> bool:
    if report is not None:
        report(f"restored; watching {left:.0f} s for late changes")
    return True


def abandon(
    reader: ClusterReader,
    writer: ClusterWriter,
    journal: Journal,
    clock: Clock,
    *,
    settings: Settings,
    report: Callable[[str], None] | None = None,
) -> Outcome:
    """Give the open application up: its moves stay as they are, its throttles are put back; BadUsage without one.

    Copies that run go on without a throttle. Where two processes wrote to the journal at once, all applications end.
    """
    records = journal.read()
    for other in open_applications(records)[:-1]:
        journal.append(ended(other, records, ApplicationStatus.ABANDONED, "abandoned"))
    ledger = fold(journal.read())
    plan = open_plan(ledger)
    if plan is None:
        raise BadUsage("no application is open on this cluster; there is nothing to abandon")
    results = results_of([m.partition for m in plan.moves], ledger, {})
    journal.append(closing(ledger, ApplicationStatus.ABANDONED, summary(results)))
    cleared = throttle_clear(reader, writer, journal, clock, settings=settings, report=report)
    text = f"abandoned: {summary(results)}\n{cleared.text}"
    return Outcome(cleared.exit_code, text, results, cleared.leftovers)


def _wanted(ledger: Ledger) -> Wanted:
    copying = [name for name, own in ledger.open.items() if own.expanding]
    return Wanted(
        partitions=copying,
        topics={topic for topic, _ in ledger.entries},
        rates_of={broker for broker, _ in ledger.rates},
    )


def _running_copies(ledger: Ledger, plan: Plan | None, seen: Observation) -> list[Copy]:
    """The copies of the open application that the controller still carries out."""
    copies: list[Copy] = []
    for move in () if plan is None else plan.moves:
        running, own = seen.running.get(move.partition), ledger.open.get(move.partition)
        if running is None or own is None or not running.adds_any(move.new):
            continue
        state = seen.partitions.get(move.partition)
        out = state is not None and not move.kept <= set(state.isr)
        copies.append(Copy(move, leader_throttle_suspended=out))
    return copies


def _outcome(ledger: Ledger, copies: list[Copy], seen: Observation) -> Outcome:
    left = tuple(leftovers(ledger.rates, seen.rates))
    if left:
        named = "\n".join(left)
        return Outcome(
            Exit.HELD, f"throttles set by replan: not all restored\n{named}", leftovers=left
        )
    if copies:
        named = ", ".join(str(c.move.partition) for c in copies)
        return Outcome(
            Exit.OK, f"throttles set by replan: restored, except for running copies: {named}"
        )
    if ledger.entries or ledger.rates:
        return Outcome(
            Exit.ERROR,
            "throttles set by replan: some could not be restored; rerun, "
            "and check that the principal may ALTER_CONFIGS",
        )
    return Outcome(Exit.OK, "throttles set by replan: all restored to what was there before")
