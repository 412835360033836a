"""What is done to an application instead of going on with it: `throttle clear` and `abandon`.

Clearing puts back the throttles that it left behind. What a running copy of an open application needs stays, and so
does everything that is not ours. Abandoning gives it up: its moves stay as they are, and its throttles are put back.
Nothing but the saved values in the journal is needed for either: no plan has to be readable, whatever version wrote it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from math import inf

from msgspec import Struct, field
from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger, fold, open_applications
from replan.applying.journal.protocol import Journal
from replan.applying.journal.records import (
    Application,
    ApplicationStatus,
    LastRequest,
    LogMoveRecord,
    MoveRecord,
    Order,
    Reached,
    Record,
    Status,
)
from replan.applying.observation import made_again, runs_own, unshown
from replan.applying.other_tools import not_ours
from replan.applying.partitions import forget_given_up, intent, remember_given_up
from replan.applying.reasons.notes import ListsLeft
from replan.applying.reasons.reason import Leftover, Note
from replan.applying.request_memory import (
    Repeat,
    RepeatedRefusal,
    again,
    believed,
    held_since,
    repeated_refusals,
)
from replan.applying.run.application_run import Sender, copying_now, intents
from replan.applying.run.opening import closing, ending_records, next_id, open_plan
from replan.applying.settings import Settings
from replan.applying.steps.kinds import KINDS
from replan.applying.steps.log_moves import (
    LOG_MOVES,
    copying_within,
    places_of_begun,
    rates_of_copies,
)
from replan.applying.throttles import (
    ThrottleHistory,
    ThrottleInput,
    WantedThrottles,
    leftovers,
    throttle_tick,
    unread_lists,
)
from replan.applying.tick.decision import Answers, Decision, Repeats
from replan.applying.tick.run_state import throttled_resources
from replan.applying.views.outcome import (
    Ending,
    Outcome,
    plan_results,
    results_of,
    results_summary,
)
from replan.errors import BadFile, BadUsage, ClusterRefused, Exit, Held, UnsafePlan
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ConfigResource,
    elements,
    override_of,
)
from replan.model.control_plane import (
    Accepted,
    Clock,
    ClusterReader,
    ClusterWriter,
    Look,
    OutcomeUnknown,
    Rejected,
    ReplicaName,
    Wanted,
)
from replan.model.names import BrokerId, TopicPartition
from replan.planning.plans.plan import Plan
from replan.planning.plans.requests import CANCEL, RequestKind
from replan.wording import NAMES_SHOWN, capped, count


def clear_throttles(
    reader: ClusterReader,
    writer: ClusterWriter,
    journal: Journal,
    clock: Clock,
    *,
    settings: Settings,
    report: Callable[[str], None] | None = None,
    silent_since: float | None = None,
) -> Outcome:
    """Restore what replan set and no running copy needs, and stay until no late change can undo that.

    `silent_since`: when the process before was last seen to write; None is now. Raises ClusterUnreachable, Held.
    """
    ledger, began = fold(journal.read()), clock.now() if silent_since is None else silent_since
    ports = ClusterPorts(reader, writer, journal, clock)
    outcome, ledger = restored(ports, ledger, settings, report, since=began)
    if clock.now() - began >= settings.quarantine_seconds:
        journal.append(nothing_arrives(ledger))
    return outcome


def nothing_arrives(ledger: Ledger) -> list[Record]:
    """The records of requests of which none can arrive any more: whoever resumes need not wait for them again."""
    owned = ((own, own.confirmed()) for own in ledger.owned.values())
    return [after for before, after in owned if after is not before]


class ClusterPorts(Struct, frozen=True):
    """The outside of what is done without a plan."""

    reader: ClusterReader
    writer: ClusterWriter
    journal: Journal
    clock: Clock


def restored(
    ports: ClusterPorts,
    ledger: Ledger,
    settings: Settings,
    report: Callable[[str], None] | None,
    *,
    abandoned: bool = False,
    since: float | None = None,
) -> tuple[Outcome, Ledger]:
    """Restore until nothing is left and nothing can come back; `abandoned`: what running copies need, too.

    `since`: when the last request may have been sent whose outcome is not known; None is now.
    """
    began, reported = ports.clock.now() if since is None else since, inf
    started, longest = ports.clock.now(), settings.quarantine_seconds + settings.patience_seconds
    touched = frozenset(throttled_resources(ledger))
    pending = abandoned and ledger.may_arrive
    missing: Mapping[TopicOrBroker, float] = {}
    notes: dict[Note, None] = {}
    repeats = Repeats()
    while True:
        late = ports.clock.now() - began
        waits = late < settings.quarantine_seconds and bool(touched or pending)
        until = ports.clock.now() + settings.look_seconds
        look = ports.reader.look(_wanted(ledger))
        copying = [] if abandoned else copying_now(ledger, look)
        missing = held_since(missing, _missing(ledger, look), ports.clock.now())
        gone = {s for s, at in missing.items() if at <= ports.clock.now() - settings.ending_seconds}
        waits = waits or len(gone) < len(missing)
        history = _throttle_history(touched if waits else frozenset(), gone)
        tick = throttle_tick(
            _kept(copying, ledger, look, abandoned=abandoned),
            ledger,
            ThrottleInput(look.topics, look.rates, history),
            keep_rates=False,
        )
        seconds_left = settings.quarantine_seconds - late
        if (
            tick.quiet
            and waits
            and report is not None
            and reported - seconds_left >= WATCH_COUNTED_SECONDS
        ):
            reported = seconds_left
            report(
                f"restored; for {max(seconds_left, 0):.0f} s more a change that was sent before may arrive, "
                "and is put back then"
            )
        last = min(max(began, started), started + settings.quarantine_seconds)
        over = ports.clock.now() - last >= longest
        if (tick.quiet and not waits) or over:
            outcome = _outcome(ledger, copying, look, history.unregistered)
            return replace(outcome, notes=tuple(notes)), ledger
        wanted = Decision(records=tick.records, throttles=tick)
        sent = repeats.due(wanted, ports.clock.now())
        ports.journal.append(intents(sent, ledger))
        ledger = ledger.after(tick.records)
        notes |= dict.fromkeys(tick.notes)
        answers = _sent(ports, sent, until)
        repeats = repeats.wanted(wanted).answered(sent, answers, ports.clock.now())
        if any(isinstance(answer, OutcomeUnknown) for answer in answers.configs.values()):
            began = ports.clock.now()
        seconds_left = began + settings.quarantine_seconds - ports.clock.now()
        if waits or tick.removals or tick.additions:  # what was only written down is not looked for
            ports.clock.sleep(
                min(settings.poll_seconds, seconds_left)
                if seconds_left > 0
                else settings.poll_seconds
            )


WATCH_COUNTED_SECONDS = 30.0
"""How often it is said for how much longer late changes are watched for."""
TopicOrBroker = str | BrokerId
"""A topic or a broker."""


def _throttle_history(
    may_arrive: frozenset[ConfigResource], gone: Collection[TopicOrBroker]
) -> ThrottleHistory:
    return ThrottleHistory(
        may_arrive=may_arrive,
        gone=frozenset(subject for subject in gone if isinstance(subject, str)),
        unregistered=frozenset(subject for subject in gone if isinstance(subject, int)),
    )


def _missing(ledger: Ledger, look: Look) -> set[TopicOrBroker]:
    """What has throttles of replan's and is not there; brokers and topics may only be unknown to whom was asked."""
    topics: set[TopicOrBroker] = {t for t, _ in ledger.entries if not look.may_exist(t)}
    return topics | {broker for broker, _ in ledger.rates if broker not in look.brokers}


def _wanted(ledger: Ledger) -> Wanted:
    return Wanted(
        partitions=ledger.may_copy,
        topics={topic for topic, _ in ledger.entries},
        rates_of={broker for broker, _ in ledger.rates},
        registered={broker for broker, _ in ledger.rates},
        places_of=places_of_begun(ledger),
    )


def _kept(
    copying: Iterable[TopicPartition], ledger: Ledger, look: Look, *, abandoned: bool
) -> WantedThrottles:
    """What running copies need of what is set; what was saved says it, no plan is read."""
    numbers: dict[str, set[str]] = {}
    for name in copying:
        numbers.setdefault(name.topic, set()).add(str(name.partition))
    entries = {
        where: frozenset(e for e in present if e.partition(":")[0] in numbers.get(where[0], ()))
        for where, prior in ledger.entries.items()
        if where[0] in look.topics
        and (
            present := {*prior.ours}.intersection(
                elements(override_of(look.topics[where[0]], where[1]))
            )
        )
    }
    brokers = {
        (RATE_OF[config], BrokerId(int(entry.partition(":")[2])))
        for (_, config), kept in entries.items()
        for entry in kept
    }
    within = set() if abandoned else rates_of_copies(ledger, look)
    rates = {
        where: int(prior.ours[-1])
        for where, prior in ledger.rates.items()
        if (where[1], where[0]) in brokers or where in within
    }
    return WantedThrottles({where: kept for where, kept in entries.items() if kept}, rates)


RATE_OF = {LEADER_REPLICAS: LEADER_RATE, FOLLOWER_REPLICAS: FOLLOWER_RATE}
"""The rate that a list of throttled replicas goes with."""


def _outcome(
    ledger: Ledger,
    copying: list[TopicPartition],
    look: Look,
    unregistered: Collection[BrokerId],
) -> Outcome:
    not_restored: tuple[Leftover, ...] = (
        *leftovers(ledger.rates, look.rates, unregistered),
        *unread_lists(ledger.entries, look.forbidden),
    )
    running = tuple(copying)
    if not_restored:
        return Outcome(exit_code=Exit.HELD, ending=Ending.NOT_RESTORED, leftovers=not_restored)
    if running:
        return Outcome(
            exit_code=Exit.OK, ending=Ending.COPIES_THROTTLED, copying=running, throttled=True
        )
    if ledger.throttles:
        return Outcome(exit_code=Exit.ERROR, ending=Ending.NOT_RESTORED)
    return Outcome(exit_code=Exit.OK, ending=Ending.RESTORED)


class RunningCopies(StrEnum):
    """What becomes of copies that run when their application is given up."""

    REFUSED = "refused"
    """Nothing is given up while any runs."""
    UNTHROTTLED = "unthrottled"
    """They go on, without a throttle."""
    CANCELLED = "cancelled"
    """They are cancelled (null), as `cancel` does; nothing else goes back."""


def abandon_application(
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
            ending_records(
                other, records, ApplicationStatus.ABANDONED, "abandoned", settings.moment()
            )
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
    ports = ClusterPorts(reader, writer, journal, clock)
    if copies is RunningCopies.CANCELLED:
        ledger, since = _without_copies(ports, ledger, settings, report, since)
    elif copies is RunningCopies.REFUSED and alone:
        _await_arrivals(ports, ledger, settings, report, since)
    outcome, ledger = restored(ports, ledger, settings, report, abandoned=True, since=since)
    if plan is not None:
        ledger = ledger.after([r for kind in KINDS for r in kind.settled(plan, ledger, reader)])
    lists = _lists_left(begun, ledger, reader)
    closed = _with_results(outcome, begun, ledger, plan)
    text, at = results_summary(closed.results, abandoned=True), settings.moment()
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
    orders, nothing = left_running(ledger, reader), "no application is open on this cluster"
    if not orders:
        raise BadUsage(f"{nothing}; there is nothing to abandon")
    if copies is not RunningCopies.CANCELLED:
        raise BadUsage(f"{nothing}; {left_running_text(orders)}")
    application = Application(
        id=next_id(LEFT_RUNNING, ledger.applications("")),
        status=ApplicationStatus.OPEN,
        plan_digest="",
        placement_digest="",
        cluster_id=reader.cluster_id(),
        owner=settings.owner,
        opened_at=settings.moment(),
        moves=len(orders),
    )
    return application, *(_as_left(order, application.id) for order in orders)


def left_running(ledger: Ledger, reader: ClusterReader) -> list[Order]:
    """What ended applications have begun and left, and what still runs."""
    orders = {r.partition: r for r in ledger.records.values() if isinstance(r, Order) and r.left}
    if not orders:
        return []
    look = reader.look(Wanted(partitions=sorted(orders)))
    return [
        order
        for name, order in sorted(orders.items())
        if name in look.running
        and look.running[name].target == order.left
        and not made_again(look, name, order.topic_id)
    ]


def left_running_text(orders: Sequence[Order]) -> str:
    """That these run, and how they end."""
    named = ", ".join(capped([str(order.partition) for order in orders], limit=NAMES_SHOWN))
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
        asked=LastRequest(RequestKind.EXPAND, order.left, confirmed=True),
        past=(order.left,),
        reached=Reached.EXPANDED,
        message=f"{order.partition}: an application that has ended left {list(order.left)} running",
    )


def _with_results(outcome: Outcome, begun: Ledger, ledger: Ledger, plan: Plan | None) -> Outcome:
    """How all stands that the application was to do; `begun`: as it was when it was given up.

    Without a plan that can be read, what it had begun.
    """
    if plan is None:
        return replace(outcome, results=results_of(sorted(begun.owned), begun, {}))
    results = results_of(sorted({*begun.owned, *(m.partition for m in plan.moves)}), begun, {})
    return replace(outcome, results=plan_results(plan, ledger, {}, results))


def _lists_left(begun: Ledger, ledger: Ledger, reader: ClusterReader) -> list[Record]:
    """The records of the lists that moves leave longer than they were, as it has come; `begun`: as it was before."""
    orders = {n: r for n, own in begun.open.items() for r in remember_given_up(own, begun)}
    ended = {n for n, own in begun.owned.items() if own.given_up}
    if not orders and not ended:
        return []
    look = reader.look(Wanted(partitions=sorted(orders.keys() | ended)))
    over = {n for n in orders.keys() | ended if _is_over(begun.owned[n], look)}
    back = [r for n in sorted(ended & over) for r in forget_given_up(begun.owned[n], ledger)]
    return [*(r for n, r in orders.items() if n not in over), *back]


def _is_over(own: MoveRecord, look: Look) -> bool:
    """Whether nothing of a move is left: its partition has its original list, or is not there any more."""
    name, state = own.partition, look.partitions.get(own.partition)
    if unshown(look, name) is not None:
        return False
    if made_again(look, name, own.topic_id):
        return True
    return name not in look.running and (state is None or state.replicas == own.original)


def check_no_copies(ledger: Ledger, reader: ClusterReader, copies: RunningCopies) -> None:
    """Raise Held, naming the copies that run and would lose their throttle.

    Where those of the application are to be cancelled, the reassignments of other tools that it throttles.
    """
    look = reader.look(Wanted(partitions=ledger.may_copy, places_of=places_of_begun(ledger)))
    names = copying_now(ledger, look) + [name for name, _ in copying_within(ledger, look)]
    others = not_ours(look, ledger)
    if copies is RunningCopies.CANCELLED:
        names = [name for name in names if name in others]
    if names:
        copying = sorted(set(names))
        named = ", ".join(capped(list(map(str, copying)), limit=NAMES_SHOWN))
        verb = "runs" if len(copying) == 1 else "run"
        raise Held(
            f"{count(len(copying), 'copy')} of the application still {verb}: {named}; nothing was given up\n"
            "Three ways on: --cancel-copies cancels those of the application; --unthrottled lets them run on without a "
            "throttle; `replan cancel` takes back all that is not finished."
        )


def _await_arrivals(
    ports: ClusterPorts,
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
    ports: ClusterPorts,
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
    started, reported = ports.clock.now(), False
    longest = 2 * settings.quarantine_seconds + settings.patience_seconds
    cancels = _Cancels(ports, ledger, since)
    while True:
        ledger, now = cancels.ledger, ports.clock.now()
        late, until = now - since, now + settings.look_seconds
        look = ports.reader.look(
            Wanted(partitions=list(ledger.owned), places_of=places_of_begun(ledger))
        )
        within = copying_within(ledger, look)
        ours = {n: own for n, own in ledger.owned.items() if runs_own(look, own)}
        waits = late < settings.quarantine_seconds and ledger.may_arrive
        if not ours and not within and not waits:
            return ledger, cancels.unknown_since
        why = {n: believed(cancels.refused.get(n), settings.agreeing_seconds) for n in ours}
        hopeless = not within and not waits and None not in why.values()
        if hopeless or ports.clock.now() - started > longest:
            stuck = {**dict.fromkeys((name for name, _ in within), None), **why}
            shown = look.partitions
            leaderless = [n for n in ours if n in shown and shown[n].leader is None]
            raise Held(_no_effect(stuck, leaderless))
        if waits and not reported and report is not None:
            report(_WATCHING.format(settings.quarantine_seconds - late))
            reported = True
        may_cancel = {n: own for n, own in ours.items() if not (own.list_pending and waits)}
        cancels.send(may_cancel, within, until)
        ports.clock.sleep(settings.poll_seconds)


class _Cancels(Struct):
    """The requests that end copies, and what has come of them."""

    ports: ClusterPorts
    ledger: Ledger
    unknown_since: float
    """Since when none was sent whose outcome is not known."""
    repeats: Repeats = Repeats()
    pauses: dict[TopicPartition, Repeat] = field(default_factory=dict)
    refused: Mapping[TopicPartition, RepeatedRefusal] = field(default_factory=dict)

    def send(
        self,
        moves: Mapping[TopicPartition, MoveRecord],
        within: Mapping[ReplicaName, str],
        until: float,
    ) -> None:
        """Cancel these, as far as they do not pause: written down first. `within`: copies between log directories."""
        now = self.ports.clock.now()
        due = {
            n: own for n, own in moves.items() if n not in self.pauses or self.pauses[n].at <= now
        }
        wanted = Decision(resizing=dict.fromkeys(due), steps={LOG_MOVES: dict(within)})
        sent = self.repeats.due(wanted, now)
        within_due = sent.steps[LOG_MOVES]
        if not sent.resizing and not within_due:
            return
        intents_of_moves = [intent(own, CANCEL) for own in due.values()]
        log_moves = self.ledger.steps_of(LogMoveRecord)
        self.ports.journal.append(
            [*intents_of_moves, *(log_moves[r] for r in within if r in within_due)]
        )
        self.ledger = self.ledger.after(intents_of_moves)
        answers = _sent(self.ports, sent, until)
        self.repeats = self.repeats.wanted(wanted).answered(sent, answers, self.ports.clock.now())
        self._take_answers(answers, due)

    def _take_answers(self, answers: Answers, moves: Iterable[TopicPartition]) -> None:
        now = self.ports.clock.now()
        self.refused = repeated_refusals(self.refused, answers.partitions, now)
        for name, answer in answers.partitions.items():
            before = self.pauses.pop(name, None)
            if not isinstance(answer, Accepted):
                self.pauses[name] = again(before, now)
        answered = (n for n in moves if n in answers.partitions)
        definite = (n for n in answered if not isinstance(answers.partitions[n], OutcomeUnknown))
        self.ledger = self.ledger.after([self.ledger.owned[n].confirmed() for n in definite])
        all_answers = (*answers.partitions.values(), *answers.steps.values())
        if any(isinstance(answer, OutcomeUnknown) for answer in all_answers):
            self.unknown_since = now


def _sent(ports: ClusterPorts, decision: Decision, until: float) -> Answers:
    """Send it; raises ClusterRefused where the cluster refuses requests as a whole."""
    answers = Sender(ports.writer, ports.clock, until).send(decision)
    if answers.refused is not None:
        raise ClusterRefused(answers.refused)
    return answers


def _no_effect(
    stuck: Mapping[TopicPartition, Rejected | None], leaderless: Sequence[TopicPartition]
) -> str:
    """What cannot be cancelled, with what Kafka says of it, and the way on."""
    lines = [f"cancelling has no effect on {_named(stuck)}; the application stays open"]
    lines += capped(
        [f"  {n}: {a.code} {a.name}: {a.message}" for n, a in stuck.items() if a is not None],
        limit=NAMES_SHOWN,
    )
    if leaderless:
        lines.append(
            f"Without a leader: {_named(leaderless)}. Bring back a replica that was in sync, and rerun. "
            "If none comes back: "
            "`replan abandon --unthrottled`, `replan elect best-log`, then `replan abandon --cancel-copies`."
        )
    return "\n".join(lines)


def _named(names: Iterable[TopicPartition]) -> str:
    return ", ".join(capped(list(map(str, sorted(names))), limit=NAMES_SHOWN))
