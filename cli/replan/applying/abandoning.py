"""Gives an open application up: its moves stay as they are, its throttles are put back.

Nothing but the saved values in the journal is needed for it: no plan has to be readable, whatever version wrote it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from replan.applying.journal.ledger import Ledger, fold, open_applications, unended
from replan.applying.journal.protocol import Journal
from replan.applying.journal.records import (
    Application,
    ApplicationStatus,
    Order,
    Record,
    changed,
)
from replan.applying.journal.steps import Asked, MoveRecord, Reached, StandingRecord, Status
from replan.applying.known import Refused, Repeat, again, believed, refusals
from replan.applying.observation import made_again, runs_own, unshown
from replan.applying.other_tools import not_ours
from replan.applying.partitions.judge import intent, left_behind, no_more_left
from replan.applying.reasons.notes import ListsLeft
from replan.applying.run.application_run import Sender
from replan.applying.run.opening import closing, ended, next_id, open_plan
from replan.applying.settings import Settings
from replan.applying.steps.log_moves import LOG_MOVES
from replan.applying.steps.standing_throttles import is_set
from replan.applying.tick.run_state import Decision, Repeats
from replan.applying.views.outcome import (
    Outcome,
    create_results,
    log_move_results,
    recovery_results,
    results_of,
    setting_results,
    summary,
)
from replan.errors import BadFile, BadUsage, ClusterRefused, Held, UnsafePlan
from replan.model.configs import ConfigScope
from replan.model.control_plane import (
    Accepted,
    Clock,
    ClusterReader,
    ClusterWriter,
    Look,
    OutcomeUnknown,
    Rejected,
    Wanted,
)
from replan.model.names import BrokerId, TopicPartition
from replan.planning.plans.plan import Plan
from replan.planning.plans.requests import CANCEL, RequestKind
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
    silent_since: float | None = None,
) -> Outcome:
    """Give the open application up: its moves stay as they are, its throttles are put back; BadUsage without one.

    It ends when none of its requests may arrive any more. Where two processes wrote to the journal at once, all
    applications end. Raises Held where copies run and `copies` says nothing of them, before anything is changed.
    """
    records = journal.read()
    alone = len(open_applications(records)) == 1
    if copies is not RunningCopies.UNTHROTTLED and alone:
        check_no_copies(fold(records), reader, copies)
    for other in open_applications(records)[:-1]:
        journal.append(
            ended(other, records, ApplicationStatus.ABANDONED, "abandoned", settings.moment())
        )
    ledger = fold(journal.read())
    if ledger.application is None:
        taken_up = _left_running(ledger, reader, settings, copies)
        journal.append(taken_up)
        ledger = ledger.after(taken_up)
    plan = None
    with suppress(BadFile, UnsafePlan):  # whatever version wrote it, it can be given up
        plan = open_plan(ledger)
    begun, since = ledger, clock.now() if silent_since is None else silent_since
    ports = Ports(reader, writer, journal, clock)
    if copies is RunningCopies.CANCELLED:
        ledger, since = _without_copies(ports, ledger, settings, report, since)
    elif copies is RunningCopies.REFUSED and alone:
        _await_arrivals(ports, ledger, settings, report, since)
    outcome, ledger = restored(ports, ledger, settings, report, abandoned=True, since=since)
    ledger = ledger if plan is None else ledger.after(_settled(plan, ledger, reader))
    lists = _lists_left(begun, ledger, reader)
    closed = _with_results(outcome, begun, ledger, plan)
    text, at = summary(closed.all_results), settings.moment()
    ending = closing(ledger, ApplicationStatus.ABANDONED, text, at, plan)
    journal.append((*lists, *ending))
    names = tuple(r.partition for r in lists if isinstance(r, Order))
    notes = (*outcome.notes, ListsLeft(names)) if names else outcome.notes
    return replace(closed, abandoned=True, notes=notes)


def _left_running(
    ledger: Ledger, reader: ClusterReader, settings: Settings, copies: RunningCopies
) -> tuple[Record, ...]:
    """The records that open an application of what ended ones have left running, so that it can be cancelled.

    Raises BadUsage where nothing is left, and where it is not to be cancelled.
    """
    found, nothing = left_running(ledger, reader), "no application is open on this cluster"
    if not found:
        raise BadUsage(f"{nothing}; there is nothing to abandon")
    if copies is not RunningCopies.CANCELLED:
        raise BadUsage(f"{nothing}; {left_running_text(found)}")
    application = Application(
        id=next_id(LEFT_RUNNING, ledger.applications("")),
        status=ApplicationStatus.OPEN,
        plan_digest="",
        placement_digest="",
        cluster_id=reader.cluster_id(),
        owner=settings.owner,
        opened_at=settings.moment(),
        moves=len(found),
    )
    return application, *(_as_left(order, application.id) for order in found)


def left_running(ledger: Ledger, reader: ClusterReader) -> list[Order]:
    """What ended applications have begun and left, and what still runs."""
    left = {r.partition: r for r in ledger.records.values() if isinstance(r, Order) and r.left}
    if not left:
        return []
    seen = reader.look(Wanted(partitions=sorted(left)))
    return [
        order
        for name, order in sorted(left.items())
        if name in seen.running
        and seen.running[name].target == order.left
        and not made_again(seen, name, order.topic_id)
    ]


def left_running_text(found: Sequence[Order]) -> str:
    """That these run, and how they end."""
    named = ", ".join(capped([str(order.partition) for order in found], limit=20))
    return (
        f"reassignments that ended ones have begun still run: {named}\n"
        "`replan abandon --cancel-copies` cancels them."
    )


LEFT_RUNNING = "left-running"
"""What the id of an application begins with that cancels what ended ones have left."""


def _as_left(order: Order, application: str) -> MoveRecord:
    """The record of a move that has ended in the middle, and whose list runs."""
    return MoveRecord(
        application=application,
        partition=order.partition,
        topic_id=order.topic_id,
        original=order.replicas,
        target=order.left,
        status=Status.CANCELLED,
        asked=Asked(RequestKind.EXPAND, order.left, confirmed=True),
        past=(order.left,),
        reached=Reached.EXPANDED,
        message=f"{order.partition}: an application that has ended left {list(order.left)} running",
    )


def _with_results(outcome: Outcome, begun: Ledger, ledger: Ledger, plan: Plan | None) -> Outcome:
    """How all stands that the application had begun; `begun`: as it was when it was given up."""
    found = results_of(sorted(begun.owned), begun, {})
    if plan is None:
        return replace(outcome, results=found)
    creates = [c for c in plan.creates if c.topic in ledger.creates]
    recoveries = [r for r in plan.recoveries if r.partition in ledger.recoveries]
    return replace(
        outcome,
        results=(
            *create_results(creates, ledger, {}),
            *recovery_results(recoveries, ledger, {}),
            *found,
        ),
        settings=setting_results(
            [s for s in plan.standing if s.setting in ledger.standing], ledger, {}
        ),
        log_moves=log_move_results(
            [m for m in plan.log_moves if m.replica in ledger.log_moves], ledger, {}
        ),
    )


def _settled(plan: Plan, ledger: Ledger, reader: ClusterReader) -> list[StandingRecord]:
    """What has become of the settings that were asked for and are to stay, once none of them may arrive any more."""
    waiting = [s for s in plan.standing if s.setting in ledger.standing]
    waiting = [s for s in waiting if unended(ledger.standing[s.setting])]
    if not waiting:
        return []
    names = {
        scope: [s.setting.name for s in waiting if s.setting.scope is scope]
        for scope in ConfigScope
    }
    brokers = [BrokerId(int(name)) for name in names[ConfigScope.BROKER]]
    seen = reader.look(Wanted(topics=names[ConfigScope.TOPIC], rates_of=brokers))
    return [
        changed(
            ledger.standing[s.setting],
            status=Status.DONE if is_set(s, seen) else Status.CANCELLED,
        )
        for s in waiting
    ]


def _lists_left(begun: Ledger, ledger: Ledger, reader: ClusterReader) -> list[Record]:
    """The records of the lists that moves leave longer than they were, as it has come; `begun`: as it was before."""
    left = {n: r for n, own in begun.open.items() for r in left_behind(own, begun)}
    ended = {n for n, own in begun.owned.items() if own.given_up}
    if not left and not ended:
        return []
    seen = reader.look(Wanted(partitions=sorted(left.keys() | ended)))
    over = {n for n in left.keys() | ended if _is_over(begun.owned[n], seen)}
    back = [r for n in sorted(ended & over) for r in no_more_left(begun.owned[n], ledger)]
    return [*(r for n, r in left.items() if n not in over), *back]


def _is_over(own: MoveRecord, seen: Look) -> bool:
    """Whether nothing of a move is left: its partition has its original list, or is not there any more."""
    name, state = own.partition, seen.partitions.get(own.partition)
    if unshown(seen, name) is not None:
        return False
    if made_again(seen, name, own.topic_id):
        return True
    return name not in seen.running and (state is None or state.replicas == own.original)


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


def _await_arrivals(
    ports: Ports,
    ledger: Ledger,
    settings: Settings,
    report: Callable[[str], None] | None,
    since: float,
) -> None:
    """Stay until no request of the application may arrive any more; raises Held where one begins a copy."""
    until = since + settings.quarantine_seconds
    if ledger.may_arrive and report is not None:
        report(_WATCHING.format(until - ports.clock.now()))
    while ledger.may_arrive and ports.clock.now() < until:
        ports.clock.sleep(settings.poll_seconds)
        check_no_copies(ledger, ports.reader, RunningCopies.REFUSED)


_WATCHING = "the outcome of requests is unknown; watching {:.0f} s"


def _without_copies(
    ports: Ports,
    ledger: Ledger,
    settings: Settings,
    report: Callable[[str], None] | None,
    since: float,
) -> tuple[Ledger, float]:
    """Cancel what runs to a list of the application, until nothing of it runs; raises Held where that has no effect.

    Also of partitions that have ended in the middle, and whose copy runs on. A list whose outcome is not known may
    still arrive for the quarantine, so nothing different is asked before. What Kafka refuses, or nobody answers, is
    asked for again with growing pauses. Returns since when no request was sent whose outcome is not known.
    """
    began, reported, repeats, started = since, False, Repeats(), ports.clock.now()
    pauses: dict[TopicPartition, Repeat] = {}
    refused: Mapping[TopicPartition, Refused] = {}
    while True:
        late, until = ports.clock.now() - began, ports.clock.now() + settings.look_seconds
        seen = ports.reader.look(
            Wanted(partitions=list(ledger.owned), places_of=log_moves_of(ledger))
        )
        within = copying_within(ledger, seen)
        ours = {n: own for n, own in ledger.owned.items() if runs_own(seen, own)}
        waits = late < settings.quarantine_seconds and ledger.may_arrive
        if not ours and not within and not waits:
            return ledger, since
        longest = 2 * settings.quarantine_seconds + settings.patience_seconds
        why = {n: believed(refused.get(n), settings.agreeing_seconds) for n in ours}
        hopeless = not within and not waits and None not in why.values()
        if hopeless or ports.clock.now() - started > longest:
            stuck = {**dict.fromkeys((name for name, _ in within), None), **why}
            raise Held(_no_effect(stuck, [n for n in ours if seen.partitions[n].leader is None]))
        if waits and not reported and report is not None:
            report(_WATCHING.format(settings.quarantine_seconds - late))
            reported = True
        due = {
            n: own
            for n, own in ours.items()
            if not (own.list_pending and waits)
            and (n not in pauses or pauses[n].at <= ports.clock.now())
        }
        decision = Decision(resizing=dict.fromkeys(due), steps={LOG_MOVES: dict(within)})
        sent = repeats.due(decision, ports.clock.now())
        within_due = sent.steps[LOG_MOVES]
        if sent.resizing or within_due:
            asked = [intent(own, CANCEL) for own in due.values()]
            log_moves = [ledger.log_moves[replica] for replica in within if replica in within_due]
            ports.journal.append([*asked, *log_moves])
            ledger = ledger.after(asked)
            answers = Sender(ports.writer, ports.clock, until).send(sent)
            if answers.refused is not None:
                raise ClusterRefused(answers.refused)
            repeats = repeats.after(decision, sent, answers, ports.clock.now())
            refused = refusals(refused, answers.partitions, ports.clock.now())
            for n, answer in answers.partitions.items():
                before = pauses.pop(n, None)
                if not isinstance(answer, Accepted):
                    pauses[n] = again(before, ports.clock.now())
            known = [
                changed(own, asked=changed(own.asked, confirmed=True))
                for n in due
                if not isinstance(answers.partitions.get(n), OutcomeUnknown | None)
                and (own := ledger.owned[n]).asked is not None
            ]
            ledger = ledger.after(known)
            all_answers = (*answers.partitions.values(), *answers.steps.values())
            if any(isinstance(answer, OutcomeUnknown) for answer in all_answers):
                since = ports.clock.now()
        ports.clock.sleep(settings.poll_seconds)


def _no_effect(
    stuck: Mapping[TopicPartition, Rejected | None], leaderless: Sequence[TopicPartition]
) -> str:
    """What cannot be cancelled, with what Kafka says of it, and the way on."""
    lines = [f"cancelling has no effect on {_named(stuck)}; the application stays open"]
    lines += capped(
        [f"  {n}: {a.code} {a.name}: {a.message}" for n, a in stuck.items() if a is not None],
        limit=20,
    )
    if leaderless:
        lines.append(
            f"Nobody leads {_named(leaderless)}: bring back a replica that was in sync, and rerun. If none comes back: "
            "`replan abandon --unthrottled`, `replan elect best-log`, then `replan abandon --cancel-copies`."
        )
    return "\n".join(lines)


def _named(names: Iterable[TopicPartition]) -> str:
    return ", ".join(capped(list(map(str, sorted(names))), limit=20))
