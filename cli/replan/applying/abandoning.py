"""Gives an open application up: its moves stay as they are, its throttles are put back.

Nothing but the saved values in the journal is needed for it: no plan has to be readable, whatever version wrote it.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum

from replan.applying.clear import (
    Ports,
    copying_now,
    copying_within,
    expanded,
    log_moves_of,
    restored,
)
from replan.applying.journal.ledger import Ledger, fold, open_applications
from replan.applying.journal.protocol import Journal
from replan.applying.journal.records import ApplicationStatus, Order, changed
from replan.applying.other_tools import not_ours
from replan.applying.partitions.intents import intent, left_behind
from replan.applying.reasons.notes import ListsLeft
from replan.applying.run.opening import closing, ended, open_plan
from replan.applying.run.sending import Sender
from replan.applying.settings import Settings
from replan.applying.steps.log_moves import LogMoveTick
from replan.applying.tick.next_state import Decision
from replan.applying.views.outcome import Outcome, results_of, summary
from replan.errors import BadFile, BadUsage, Held, UnsafePlan
from replan.model.control_plane import (
    Clock,
    ClusterReader,
    ClusterWriter,
    OutcomeUnknown,
    Wanted,
)
from replan.model.names import TopicPartition
from replan.planning.plans.requests import CANCEL
from replan.wording import capped, count


class RunningCopies(StrEnum):
    """What becomes of copies that run when their application is given up."""

    REFUSED = "refused"
    """Nothing is given up while any runs."""
    UNTHROTTLED = "unthrottled"
    """They go on, without a throttle."""
    CANCELLED = "cancelled"
    """They are cancelled (null), as `cancel` does; nothing else goes back."""


def abandon(
    reader: ClusterReader,
    writer: ClusterWriter,
    journal: Journal,
    clock: Clock,
    *,
    settings: Settings,
    report: Callable[[str], None] | None = None,
    copies: RunningCopies = RunningCopies.REFUSED,
) -> Outcome:
    """Give the open application up: its moves stay as they are, its throttles are put back; BadUsage without one.

    It ends when none of its requests may arrive any more. Where two processes wrote to the journal at once, all
    applications end. Raises Held where copies run and `copies` says nothing of them, before anything is changed.
    """
    records = journal.read()
    if copies is not RunningCopies.UNTHROTTLED and len(open_applications(records)) == 1:
        check_no_copies(fold(records), reader, copies)
    for other in open_applications(records)[:-1]:
        journal.append(
            ended(other, records, ApplicationStatus.ABANDONED, "abandoned", settings.moment())
        )
    ledger = fold(journal.read())
    if ledger.application is None:
        raise BadUsage("no application is open on this cluster; there is nothing to abandon")
    plan = None
    with suppress(BadFile, UnsafePlan):  # whatever version wrote it, it can be given up
        plan = open_plan(ledger)
    results = results_of(sorted(ledger.owned), ledger, {})
    behind = [r for own in ledger.open.values() for r in left_behind(own, ledger)]
    ports = Ports(reader, writer, journal, clock)
    if copies is RunningCopies.CANCELLED:
        ledger = _without_copies(ports, ledger, settings, report)
    outcome, ledger = restored(ports, ledger, settings, report, abandoned=True)
    as_before = set(_as_before(ledger, reader)) if behind else set()
    behind = [r for r in behind if not (isinstance(r, Order) and r.partition in as_before)]
    journal.append(
        (
            *behind,
            *closing(
                ledger, ApplicationStatus.ABANDONED, summary(results), settings.moment(), plan
            ),
        )
    )
    names = tuple(r.partition for r in behind if isinstance(r, Order))
    notes = (*outcome.notes, ListsLeft(names)) if names else outcome.notes
    return replace(outcome, results=results, abandoned=True, notes=notes)


def _as_before(ledger: Ledger, reader: ClusterReader) -> Iterator[TopicPartition]:
    """The unfinished partitions that have their original list: nothing of their moves is left."""
    seen = reader.look(Wanted(partitions=list(ledger.open)))
    for name, own in ledger.open.items():
        state = seen.partitions.get(name)
        if state is not None and name not in seen.running and state.replicas == own.original:
            yield name


def check_no_copies(ledger: Ledger, reader: ClusterReader, copies: RunningCopies) -> None:
    """Raise Held, naming the copies that run and would lose their throttle.

    Where those of the application are to be cancelled, the reassignments of other tools that it throttles.
    """
    seen = reader.look(Wanted(partitions=expanded(ledger), places_of=log_moves_of(ledger)))
    names = copying_now(ledger, seen) + [name for name, _ in copying_within(ledger, seen)]
    others = not_ours(seen, ledger)
    if copies is RunningCopies.CANCELLED:
        names = [name for name in names if name in others]
    if names:
        copying = sorted(set(names))
        named = ", ".join(capped(list(map(str, copying)), limit=20))
        raise Held(
            f"{count(len(copying), 'copy')} of the application still run: {named}; nothing was given up\n"
            "Three ways on: --cancel-copies cancels those of the application; --unthrottled lets them run on without a "
            "throttle; `replan cancel` takes back all that is not finished."
        )


def _without_copies(
    ports: Ports,
    ledger: Ledger,
    settings: Settings,
    report: Callable[[str], None] | None,
) -> Ledger:
    """Cancel what runs to a list of the application, until nothing of it runs; raises Held where that has no effect.

    A list whose outcome is not known may still arrive for the quarantine, so nothing different is asked before.
    """
    began, reported = ports.clock.now(), False
    while True:
        late, until = ports.clock.now() - began, ports.clock.now() + settings.intent_seconds
        seen = ports.reader.look(
            Wanted(partitions=list(ledger.open), places_of=log_moves_of(ledger))
        )
        within = copying_within(ledger, seen)
        ours = {
            n: own
            for n, own in ledger.open.items()
            if n in seen.running and seen.running[n].target in own.past
        }
        unsure = [n for n, own in ledger.open.items() if own.list_pending]
        waits = late < settings.quarantine_seconds and bool(unsure)
        if not ours and not within and not waits:
            return ledger
        if late > 2 * settings.quarantine_seconds + settings.patience_seconds:
            stuck = sorted({*ours, *(name for name, _ in within)})
            named = ", ".join(capped(list(map(str, stuck)), limit=20))
            raise Held(f"cancelling has no effect on {named}; the application stays open")
        if waits and not reported and report is not None:
            report(
                f"the outcome of requests is unknown; watching {settings.quarantine_seconds:.0f} s"
            )
            reported = True
        due = {n: own for n, own in ours.items() if not (own.list_pending and waits)}
        if due or within:
            asked = [intent(own, CANCEL) for own in due.values()]
            ports.journal.append([*asked, *(ledger.log_moves[replica] for replica in within)])
            ledger = ledger.after(asked)
            decision = Decision(
                resizing=dict.fromkeys(due), log_moves=LogMoveTick(asks=dict(within))
            )
            answers = Sender(ports.writer, ports.clock, until).send(decision).partitions
            sure = [n for n in due if not isinstance(answers.get(n), OutcomeUnknown | None)]
            known = [
                changed(own, asked=changed(own.asked, confirmed=True))
                for n in sure
                if (own := ledger.open[n]).asked is not None
            ]
            ledger = ledger.after(known)
        ports.clock.sleep(settings.poll_seconds)
