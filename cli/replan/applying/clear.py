"""Puts back the throttles that an application left behind, without going on with it.

What a running copy of an open application needs stays, and so does everything that is not ours. Nothing but the saved
values in the journal is needed for it: no plan is read, whatever version wrote it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf

from replan.applying.journal.ledger import Ledger, fold
from replan.applying.journal.protocol import Journal
from replan.applying.journal.steps import Status
from replan.applying.known import held_since
from replan.applying.observation import Observation, made_again
from replan.applying.other_tools import not_ours
from replan.applying.reasons.reason import Leftover, Note
from replan.applying.run.application_run import Sender, intents
from replan.applying.settings import Settings
from replan.applying.throttles.broker_rates import leftovers
from replan.applying.throttles.replica_lists import unread_lists
from replan.applying.throttles.tick import (
    ThrottleHistory,
    ThrottleInput,
    WantedThrottles,
    throttle_tick,
)
from replan.applying.tick.run_state import Decision, Repeats, throttled
from replan.applying.views.outcome import Ending, Outcome
from replan.errors import ClusterRefused, Exit
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
    Look,
    OutcomeUnknown,
    ReplicaName,
    Wanted,
)
from replan.model.names import BrokerId, TopicPartition


def throttle_clear(
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
    ledger = fold(journal.read())
    ports = Ports(reader, writer, journal, clock)
    outcome, _ = restored(ports, ledger, settings, report, since=silent_since)
    return outcome


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside of what is done without a plan."""

    reader: ClusterReader
    writer: ClusterWriter
    journal: Journal
    clock: Clock


def restored(
    ports: Ports,
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
    touched = frozenset(throttled(ledger))
    pending = abandoned and ledger.may_arrive
    missing: Mapping[Subject, float] = {}
    notes: dict[Note, None] = {}
    repeats = Repeats()
    while True:
        late = ports.clock.now() - began
        waits = late < settings.quarantine_seconds and bool(touched or pending)
        until = ports.clock.now() + settings.look_seconds
        seen = ports.reader.look(_wanted(ledger))
        copying = [] if abandoned else copying_now(ledger, seen)
        missing = held_since(missing, _missing(ledger, seen), ports.clock.now())
        gone = {s for s, at in missing.items() if at <= ports.clock.now() - settings.ending_seconds}
        waits = waits or len(gone) < len(missing)
        history = ThrottleHistory(
            may_arrive=touched if waits else frozenset(),
            gone=frozenset(subject for subject in gone if isinstance(subject, str)),
            unregistered=frozenset(subject for subject in gone if isinstance(subject, int)),
        )
        view = ThrottleInput(seen.topics, seen.rates, history)
        tick = throttle_tick(
            _kept(copying, ledger, seen, abandoned=abandoned), ledger, view, keep_rates=False
        )
        left = settings.quarantine_seconds - late
        if tick.quiet and waits and report is not None and reported - left >= COUNTED_SECONDS:
            reported = left
            report(
                f"restored; for {max(left, 0):.0f} s more a change that was sent before may arrive, "
                "and is put back then"
            )
        last = min(max(began, started), started + settings.quarantine_seconds)
        over = ports.clock.now() - last >= longest
        if (tick.quiet and not waits) or over:
            outcome = _outcome(ledger, copying, seen, history.unregistered)
            return replace(outcome, notes=tuple(notes)), ledger
        decision = Decision(records=tick.records, throttles=tick)
        sent = repeats.due(decision, ports.clock.now())
        ports.journal.append(intents(sent, ledger))
        ledger = ledger.after(tick.records)
        notes |= dict.fromkeys(tick.notes)
        answers = Sender(ports.writer, ports.clock, until).send(sent)
        if answers.refused is not None:
            raise ClusterRefused(answers.refused)
        repeats = repeats.after(decision, sent, answers, ports.clock.now())
        if any(isinstance(answer, OutcomeUnknown) for answer in answers.configs.values()):
            began = ports.clock.now()
        ports.clock.sleep(settings.poll_seconds)


COUNTED_SECONDS = 30.0
"""How often it is said for how much longer late changes are watched for."""
Subject = str | BrokerId
"""A topic or a broker."""


def _missing(ledger: Ledger, seen: Look) -> set[Subject]:
    """What has throttles of replan's and is not there; brokers and topics may only be unknown to whom was asked."""
    topics: set[Subject] = {t for t, _ in ledger.entries if not seen.may_exist(t)}
    return topics | {broker for broker, _ in ledger.rates if broker not in seen.brokers}


def _wanted(ledger: Ledger) -> Wanted:
    return Wanted(
        partitions=expanded(ledger),
        topics={topic for topic, _ in ledger.entries},
        rates_of={broker for broker, _ in ledger.rates},
        registered={broker for broker, _ in ledger.rates},
        places_of=log_moves_of(ledger),
    )


def copying_within(ledger: Ledger, seen: Observation) -> dict[ReplicaName, str]:
    """The copies of the open application between log directories that run, and where each replica lies."""
    return {
        replica: place.path
        for replica, record in ledger.log_moves.items()
        if record.status is Status.OPEN
        and (place := seen.places.get(replica[1], {}).get(replica[0], GONE)).path
        and place.future_path == record.target
    }


def log_moves_of(ledger: Ledger) -> dict[BrokerId, list[TopicPartition]]:
    """The replicas that were sent to another log directory and have not ended, by their broker."""
    found: dict[BrokerId, list[TopicPartition]] = {}
    for (name, broker), record in ledger.log_moves.items():
        if record.status is Status.OPEN:
            found.setdefault(broker, []).append(name)
    return found


def expanded(ledger: Ledger) -> list[TopicPartition]:
    """The partitions that an expand list of replan was asked for and that may still copy."""
    return [
        n for n, own in ledger.owned.items() if own.given_up or (n in ledger.open and own.expanding)
    ]


def copying_now(ledger: Ledger, seen: Observation) -> list[TopicPartition]:
    """The copies of the open application that the controller still carries out."""
    found = []
    for name in expanded(ledger):
        running, own, state = seen.running.get(name), ledger.owned[name], seen.partitions.get(name)
        if made_again(seen, name, own.topic_id):
            continue
        in_sync = () if state is None else state.isr
        new = set(own.target).difference(own.original, in_sync)
        if running is not None and new.intersection(running.replicas).difference(running.removing):
            found.append(name)
    if ledger.throttles_others:
        found += [name for name in sorted(not_ours(seen, ledger)) if name not in found]
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


def _outcome(
    ledger: Ledger,
    copying: list[TopicPartition],
    seen: Observation,
    unregistered: Collection[BrokerId],
) -> Outcome:
    left: tuple[Leftover, ...] = (
        *leftovers(ledger.rates, seen.rates, unregistered),
        *unread_lists(ledger.entries, seen.forbidden),
    )
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
