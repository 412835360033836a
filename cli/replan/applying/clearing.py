"""Puts back the throttles that an application left behind, without going on with it: `replan throttle clear`.

What a running copy of an open application needs stays, and so does everything that is not ours.
"""

from replan.applying.copies import expanding
from replan.applying.decide import Decision
from replan.applying.journal import Journal
from replan.applying.ledger import Ledger, fold
from replan.applying.outcome import Outcome
from replan.applying.rates import leftovers
from replan.applying.seen import Seen, Wanted, look
from replan.applying.sending import Sender
from replan.applying.settings import Settings
from replan.applying.throttles import Copy
from replan.applying.throttling import ThrottleView, throttle_tick
from replan.errors import Exit
from replan.model.control_plane import Clock, ControlPlane
from replan.model.snapshot import Features
from replan.planning.plan import Plan
from replan.planning.plan_file import loads


def throttle_clear(
    control_plane: ControlPlane, journal: Journal, clock: Clock, *, settings: Settings
) -> Outcome:
    """Restore what is ours and needed by no running copy; raises ClusterUnreachable, Held."""
    ledger = fold(journal.read())
    plan, began = _open_plan(ledger), clock.now()
    while True:
        seen = look(control_plane, _wanted(ledger), Features())
        copies = _running_copies(ledger, plan, seen)
        view = ThrottleView(seen.topics, seen.configs)
        throttle = None if plan is None else plan.throttle
        tick = throttle_tick(copies, throttle, ledger, view, keep_rates=False)
        late = clock.now() - began >= settings.patience_seconds
        if tick.quiet or late:
            return _outcome(ledger, copies, seen)
        until = clock.now() + settings.intent_seconds
        journal.append(tick.records)
        ledger = ledger.after(tick.records)
        Sender(control_plane, clock, until).send(Decision(throttles=tick))
        clock.sleep(settings.poll_seconds)


def _open_plan(ledger: Ledger) -> Plan | None:
    if ledger.application is None:
        return None
    application = ledger.application.id
    return loads(ledger.plan_text(application), f"journal, application {application}")


def _wanted(ledger: Ledger) -> Wanted:
    copying = [name for name, own in ledger.open.items() if expanding(own)]
    return Wanted(
        copying, {topic for topic, _ in ledger.entries}, {broker for broker, _ in ledger.rates}
    )


def _running_copies(ledger: Ledger, plan: Plan | None, seen: Seen) -> list[Copy]:
    """The copies of the open application that the controller still carries out."""
    copies: list[Copy] = []
    for move in () if plan is None else plan.moves:
        running, own = seen.running.get(move.partition), ledger.open.get(move.partition)
        if running is None or own is None or set(running.adding).isdisjoint(move.new):
            continue
        state = seen.partitions.get(move.partition)
        kept = set(move.original) & set(move.target)
        copies.append(Copy(move, lifted=state is not None and not kept <= set(state.isr)))
    return copies


def _outcome(ledger: Ledger, copies: list[Copy], seen: Seen) -> Outcome:
    left = tuple(leftovers(ledger.rates, seen.configs))
    if left:
        named = "\n".join(left)
        return Outcome(Exit.HELD, f"throttles of ours: not all put back\n{named}", leftovers=left)
    if copies:
        named = ", ".join(str(c.move.partition) for c in copies)
        return Outcome(Exit.OK, f"throttles of ours: put back, except for copies that run: {named}")
    if ledger.entries or ledger.rates:
        return Outcome(
            Exit.ERROR,
            "throttles of ours: some could not be put back; run the same command again, "
            "and look whether the principal may ALTER_CONFIGS",
        )
    return Outcome(Exit.OK, "throttles of ours: all put back to what was there before")
