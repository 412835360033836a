"""Puts back the throttles that an application left behind, without going on with it; and gives an application up.

What a running copy of an open application needs stays, and so does everything that is not ours. Nothing but the saved
values in the journal is needed for it: no plan is read, whatever version wrote it.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from replan.applying.journal.ledger import Ledger, fold, open_applications
from replan.applying.journal.protocol import Journal
from replan.applying.journal.records import ApplicationStatus, Order, changed
from replan.applying.journal.steps import Status
from replan.applying.next_state import Decision
from replan.applying.observation.look import Observation
from replan.applying.opening import closing, ended, open_plan
from replan.applying.outcome import Ending, Outcome, results_of, summary
from replan.applying.partitions.intents import intent, left_behind
from replan.applying.reasons.notes import ListsLeft
from replan.applying.run_state import throttled
from replan.applying.sending import Sender, intents
from replan.applying.settings import Settings
from replan.applying.throttles.broker_rates import leftovers
from replan.applying.throttles.tick import (
    ThrottleHistory,
    ThrottleInput,
    WantedThrottles,
    throttle_tick,
)
from replan.errors import BadFile, BadUsage, Exit, Held, UnsafePlan
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
    elements,
    override_of,
)
from replan.model.control_plane import (
    Clock,
    ClusterReader,
    ClusterWriter,
    LogPlace,
    OutcomeUnknown,
    Wanted,
)
from replan.model.names import BrokerId, TopicPartition
from replan.planning.requests import CANCEL
from replan.wording import capped, count


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
    outcome, _ = _cleared(_Ports(reader, writer, journal, clock), ledger, settings, report)
    return outcome


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
    if copies is RunningCopies.REFUSED and len(open_applications(records)) == 1:
        check_no_copies(fold(records), reader)
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
    ports = _Ports(reader, writer, journal, clock)
    if copies is RunningCopies.CANCELLED:
        ledger = _without_copies(ports, ledger, settings, report)
    cleared, ledger = _cleared(ports, ledger, settings, report, abandoned=True)
    journal.append(
        (
            *behind,
            *closing(
                ledger, ApplicationStatus.ABANDONED, summary(results), settings.moment(), plan
            ),
        )
    )
    names = tuple(r.partition for r in behind if isinstance(r, Order))
    notes = (*cleared.notes, ListsLeft(names)) if names else cleared.notes
    return replace(cleared, results=results, abandoned=True, notes=notes)


@dataclass(frozen=True, slots=True)
class _Ports:
    reader: ClusterReader
    writer: ClusterWriter
    journal: Journal
    clock: Clock


def check_no_copies(ledger: Ledger, reader: ClusterReader) -> None:
    """Raise Held, naming the copies of the open application that run."""
    copying = _copying(ledger, reader.look(Wanted(partitions=_expanded(ledger))))
    if copying:
        named = ", ".join(capped(list(map(str, copying)), limit=20))
        raise Held(
            f"{count(len(copying), 'copy')} of the application still run: {named}; nothing was given up\n"
            "Three ways on: --cancel-copies cancels them; --unthrottled lets them run on without a throttle; "
            "`replan cancel` takes back all that is not finished."
        )


def _without_copies(
    ports: _Ports,
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
        seen = ports.reader.look(Wanted(partitions=list(ledger.open)))
        ours = {
            n: own
            for n, own in ledger.open.items()
            if n in seen.running and seen.running[n].target in own.past
        }
        unsure = [n for n, own in ledger.open.items() if own.list_pending]
        waits = late < settings.quarantine_seconds and bool(unsure)
        if not ours and not waits:
            return ledger
        if late > 2 * settings.quarantine_seconds + settings.patience_seconds:
            named = ", ".join(capped(list(map(str, sorted(ours))), limit=20))
            raise Held(f"cancelling has no effect on {named}; the application stays open")
        if waits and not reported and report is not None:
            report(
                f"the outcome of requests is unknown; watching {settings.quarantine_seconds:.0f} s"
            )
            reported = True
        due = {n: own for n, own in ours.items() if not (own.list_pending and waits)}
        if due:
            asked = [intent(own, CANCEL) for own in due.values()]
            ports.journal.append(asked)
            ledger = ledger.after(asked)
            decision = Decision(resizing=dict.fromkeys(due))
            answers = Sender(ports.writer, ports.clock, until).send(decision).partitions
            sure = [n for n in due if not isinstance(answers.get(n), OutcomeUnknown | None)]
            known = [
                changed(own, asked=changed(own.asked, confirmed=True))
                for n in sure
                if (own := ledger.open[n]).asked is not None
            ]
            ledger = ledger.after(known)
        ports.clock.sleep(settings.poll_seconds)


def _cleared(
    ports: _Ports,
    ledger: Ledger,
    settings: Settings,
    report: Callable[[str], None] | None,
    *,
    abandoned: bool = False,
) -> tuple[Outcome, Ledger]:
    began, reported = ports.clock.now(), False
    touched = frozenset(throttled(ledger))
    pending = abandoned and any(r.list_pending for r in ledger.owned.values())
    while True:
        late = ports.clock.now() - began
        waits = late < settings.quarantine_seconds and bool(touched or pending)
        seen = ports.reader.look(_wanted(ledger))
        copying = [] if abandoned else _copying(ledger, seen)
        history = ThrottleHistory(may_arrive=touched if waits else frozenset())
        view = ThrottleInput(seen.topics, seen.rates, history)
        tick = throttle_tick(
            _kept(copying, ledger, seen, abandoned=abandoned), ledger, view, keep_rates=False
        )
        if tick.quiet and waits and not reported:
            reported = _report(report, settings.quarantine_seconds - late)
        over = late >= settings.quarantine_seconds + settings.patience_seconds
        if (tick.quiet and not waits) or over:
            return _outcome(ledger, copying, seen), ledger
        until = ports.clock.now() + settings.intent_seconds
        decision = Decision(records=tick.records, throttles=tick)
        ports.journal.append(intents(decision, ledger))
        ledger = ledger.after(tick.records)
        Sender(ports.writer, ports.clock, until).send(decision)
        ports.clock.sleep(settings.poll_seconds)


def _report(report: Callable[[str], None] | None, left: float) -> bool:
    if report is not None:
        report(f"restored; watching {left:.0f} s for late changes")
    return True


def _wanted(ledger: Ledger) -> Wanted:
    return Wanted(
        partitions=_expanded(ledger),
        topics={topic for topic, _ in ledger.entries},
        rates_of={broker for broker, _ in ledger.rates},
        places_of=_log_moves(ledger),
    )


def _log_moves(ledger: Ledger) -> dict[BrokerId, list[TopicPartition]]:
    found: dict[BrokerId, list[TopicPartition]] = {}
    for (name, broker), record in ledger.log_moves.items():
        if record.status is Status.OPEN:
            found.setdefault(broker, []).append(name)
    return found


def _expanded(ledger: Ledger) -> list[TopicPartition]:
    return [
        n for n, own in ledger.owned.items() if own.given_up or (n in ledger.open and own.expanding)
    ]


def _copying(ledger: Ledger, seen: Observation) -> list[TopicPartition]:
    """The copies of the open application that the controller still carries out."""
    found = []
    for name in _expanded(ledger):
        running, own, state = seen.running.get(name), ledger.owned[name], seen.partitions.get(name)
        in_sync = () if state is None else state.isr
        new = set(own.target).difference(own.original, in_sync)
        if running is not None and new.intersection(running.replicas).difference(running.removing):
            found.append(name)
    return found


def _kept(
    copying: Iterable[TopicPartition], ledger: Ledger, seen: Observation, *, abandoned: bool
) -> WantedThrottles:
    """What running copies need of what is set; what was saved says it, no plan is read."""
    numbers: dict[str, set[str]] = {}
    for name in copying:
        numbers.setdefault(name.topic, set()).add(str(name.partition))
    entries = {
        where: frozenset(e for e in present if e.partition(":")[0] in numbers.get(where[0], ()))
        for where, prior in ledger.entries.items()
        if where[0] in seen.topics
        and (
            present := {*prior.ours}.intersection(
                elements(override_of(seen.topics[where[0]], where[1]))
            )
        )
    }
    brokers = {
        (RATE_OF[config], BrokerId(int(entry.partition(":")[2])))
        for (_, config), kept in entries.items()
        for entry in kept
    }
    within = {
        (broker, LOG_DIRS_RATE)
        for (name, broker), record in ledger.log_moves.items()
        if not abandoned
        and record.status is Status.OPEN
        and seen.places.get(broker, {}).get(name, GONE).future_path
    }
    rates = {
        where: int(prior.ours[-1])
        for where, prior in ledger.rates.items()
        if (where[1], where[0]) in brokers or where in within
    }
    return WantedThrottles({where: kept for where, kept in entries.items() if kept}, rates)


GONE = LogPlace(None)
RATE_OF = {LEADER_REPLICAS: LEADER_RATE, FOLLOWER_REPLICAS: FOLLOWER_RATE}
"""The rate that a list of throttled replicas goes with."""


def _outcome(ledger: Ledger, copying: list[TopicPartition], seen: Observation) -> Outcome:
    left = leftovers(ledger.rates, seen.rates)
    running = tuple(copying)
    if left:
        return Outcome(exit_code=Exit.HELD, ending=Ending.NOT_RESTORED, leftovers=left)
    if running:
        return Outcome(
            exit_code=Exit.OK, ending=Ending.COPIES_THROTTLED, copying=running, throttled=True
        )
    if ledger.throttles:
        return Outcome(exit_code=Exit.ERROR, ending=Ending.NOT_RESTORED)
    return Outcome(exit_code=Exit.OK, ending=Ending.RESTORED)
