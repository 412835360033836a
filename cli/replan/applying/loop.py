"""The loop that performs a plan: look, decide, write, send, and again until nothing is left.

This is the only place where an application meets the outside. It holds no rule of its own beyond patience: how long a
silent cluster or journal is waited for, when to leave, and what is said then.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from replan.applying.admission.gates import under_min_isr
from replan.applying.cancelling import is_cancelled, plan_back, turned, unfinished
from replan.applying.copies import lingering, may_arrive
from replan.applying.creating import pending
from replan.applying.decide import decide
from replan.applying.journal.ledger import Ledger, fold
from replan.applying.journal.originals import finished_before
from replan.applying.journal.protocol import Journal
from replan.applying.journal.records import ApplicationStatus, Command, Record, Verb
from replan.applying.journal.steps import Status
from replan.applying.log_moves import pending as logs_pending
from replan.applying.next_state import Decision, too_slow
from replan.applying.observation.look import Readings
from replan.applying.opening import check_cluster, closing, finished, kept, opening
from replan.applying.outcome import (
    AnyResult,
    Ending,
    LogMoveResult,
    Outcome,
    PartitionResult,
    Result,
    SettingResult,
    create_results,
    exit_code_of,
    log_move_results,
    recovery_results,
    results_of,
    setting_results,
    summary,
)
from replan.applying.probing import probe
from replan.applying.progress import Progress, Report, copies_in_progress
from replan.applying.reasons.notes import Leftover, RefusedSetting
from replan.applying.reasons.waits import ClusterSilent, JournalSlow
from replan.applying.recovering import pending as pending_recoveries
from replan.applying.recovering import to_probe
from replan.applying.run_state import Configured, first_state
from replan.applying.sending import Sender, intents
from replan.applying.settings import Settings
from replan.applying.standing_throttles import pending as still_to_set
from replan.applying.steering import (
    for_application,
    keeps_throttles,
    none_arrived,
    taken_over,
)
from replan.applying.throttles.broker_rates import leftovers
from replan.applying.tick_input import EndText, Job, TickInput
from replan.errors import BadFile, BadUsage, ClusterRefused, ClusterUnreachable, Exit, ReplanError
from replan.model.broker import LogDir
from replan.model.control_plane import Clock, ClusterReader, ClusterWriter, Look, Wanted
from replan.model.garbage_collection import garbage_collection_paused
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState
from replan.model.replica_logs import LogsFound
from replan.planning.moves import Move
from replan.planning.plan import Plan


def never() -> bool:
    """What a real cluster says when asked whether nothing will happen to it any more."""
    return False


def apply_plan(
    plan: Plan,
    reader: ClusterReader,
    writer: ClusterWriter,
    journal: Journal,
    clock: Clock,
    *,
    plan_digest: str,
    settings: Settings,
    report: Report,
    stop: Callable[[], bool],
    end_text: EndText,
    idle: Callable[[], bool] = never,
    arrived: Callable[[], Sequence[Command]] = none_arrived,
    verb: Verb | None = None,
    rate: str = "",
) -> Outcome:
    """Perform a plan, or go on with it, until nothing is left or `stop` says so.

    It gives up when nothing has moved for `settings.give_up_seconds`; and where `idle` says that nothing will happen to
    the cluster by itself any more, which only a simulated one can know, as soon as no timer can move anything either.

    `arrived` gives the commands in the inbox, and never fails. `verb`: what to do to an application that is open, as if
    somebody had sent it there: go on although it was paused, or cancel it.

    Raises WrongCluster, Held (another application is open, or another process took over), ClusterRefused, and
    ClusterUnreachable or BadFile where cluster or journal cannot be read at the beginning, within the patience.
    """
    log_dirs = _first_reading(plan, reader, clock, settings, stop)
    ledger = fold(journal.read())
    if verb is Verb.CANCEL and ledger.application is None:
        raise BadUsage("no application is open on this cluster; there is nothing to cancel")
    if ledger.application is None and finished(plan, plan_digest, ledger, reader):
        names = [
            *(c.first for c in plan.creates),
            *(r.partition for r in plan.recoveries),
            *(m.partition for m in plan.moves),
        ]
        results = tuple(PartitionResult(name, Result.DONE) for name in names)
        moved = (LogMoveResult(m.partition, m.broker, Result.DONE) for m in plan.log_moves)
        settings_there = tuple(SettingResult(s.setting, Result.DONE) for s in plan.standing)
        if not ledger.throttles:
            return Outcome(
                exit_code=plan.left_out,
                ending=Ending.NOTHING_TO_DO,
                results=results,
                settings=settings_there,
                log_moves=tuple(moved),
                refusals=plan.refusals,
            )
    opened = opening(
        plan, plan_digest, ledger, settings, resumes=verb in {Verb.RESUME, Verb.CANCEL}
    )
    opened += taken_over(ledger, settings, verb, rate)
    journal.append(opened)
    ports = _Ports(reader, writer, journal, clock, report, stop, idle, arrived)
    job = Job.of(plan, settings, end_text)
    end = ApplicationRun(job, ledger.after(opened), ports, log_dirs).to_end()
    surprises = end.cancelled and end.exit_code is Exit.OK and verb is None
    return replace(end, exit_code=Exit.HELD) if surprises else end


def _first_reading(
    plan: Plan,
    cluster: ClusterReader,
    clock: Clock,
    settings: Settings,
    stop: Callable[[], bool],
) -> Sequence[LogDir]:
    """The room on disks, of the cluster that the plan is for; one that does not answer is asked again for a while."""
    until = clock.now() + settings.patience_seconds
    while True:
        try:
            check_cluster(plan, cluster.cluster_id())
            return cluster.log_dirs()
        except ClusterUnreachable:
            if clock.now() >= until or stop():
                raise
        clock.sleep(settings.poll_seconds)


def _shown(found: PartitionState | None) -> object:
    """What two readings of a partition that rests must agree on."""
    return found and (found.topic_id, found.replicas, found.adding, found.removing)


def _suffers(move: Move, seen: Look) -> bool:
    found = seen.partitions.get(move.partition)
    return found is not None and under_min_isr(move, found)


@dataclass(frozen=True, slots=True)
class _Ports:
    """The outside of one run."""

    reader: ClusterReader
    writer: ClusterWriter
    journal: Journal
    clock: Clock
    report: Report
    stop: Callable[[], bool]
    idle: Callable[[], bool]
    arrived: Callable[[], Sequence[Command]]


@dataclass(frozen=True, slots=True)
class _Leaving:
    """Why a process leaves, and since when it does."""

    since: float
    ending: Ending
    still_seconds: float
    """For how long nothing had moved."""


class ApplicationRun:
    """One process's part of an application."""

    def __init__(self, job: Job, ledger: Ledger, ports: _Ports, log_dirs: Sequence[LogDir]) -> None:
        now = ports.clock.now()
        self._job, self._ports = job, ports
        self._state = first_state(self._job, ledger, now).with_room(self._job, log_dirs)
        self._readings = Readings()
        self._changed: Collection[Configured] = ()
        self._began = self._seen_at = self._written_at = self._disks_at = now
        self._ended_at: float | None = None
        self._leaving: _Leaving | None = None
        self._idle_since: float | None = None
        self._turns_at = 0.0
        self._next: ApplicationRun | None = None
        """What takes this application back, once it is cancelled and rests."""
        self._way_back: Plan | None = None
        """Of a cancelled application: why nothing of it is to go back."""
        self._progress: Progress | None = None
        self._answering: frozenset[BrokerId] = frozenset()
        self._asked = False

    def to_end(self) -> Outcome:
        """Tick until there is an outcome, of this application or of the one that takes it back."""
        clock, overslept = self._ports.clock, 0.0
        while True:
            began = clock.now()
            with (
                garbage_collection_paused()
            ):  # a tick makes no cycles, and values by the hundred thousand
                outcome = self._tick(overslept)
            if outcome is not None:
                return outcome
            if self._next is not None:
                return self._next.to_end()
            before = clock.now()
            pause = self._job.settings.pause_seconds(before - began, asked=self._asked)
            clock.sleep(pause)
            overslept = clock.now() - before - pause

    def _tick(self, overslept: float) -> Outcome | None:
        now, self._asked = self._ports.clock.now(), False
        self._note_stop(now)
        try:
            tick = self._look(now, overslept)
        except (ClusterUnreachable, ClusterRefused) as error:
            self._state = self._state.without_a_look()
            return self._unreachable(now, error)
        self._seen_at = now
        reported = len(self._state.notes)
        before = self._state = self._state.observed(tick)
        decision, after = decide(tick, before)
        began = self._ports.clock.now()
        try:
            self._ports.journal.append(intents(decision, before.ledger))
        except (BadFile, ClusterUnreachable) as error:
            return self._unwritable(now, error)
        self._written_at = now
        if self._leaving is None and any(c.verb is Verb.ABANDON for c in tick.commands):
            self._leaving = _Leaving(now, Ending.LEFT_TO_ANOTHER, now - after.moved_at)
        limit, appended = self._job.settings.intent_seconds, self._ports.clock.now()
        if appended - began > limit and decision.asks:
            decision, after = too_slow(decision, after, JournalSlow(appended - began, limit))
        answers = Sender(self._ports.writer, self._ports.clock, began + limit).send(decision)
        self._state = after.answered(answers, self._ports.clock.now())
        self._asked = decision.asks and not self._state.refused_configs
        self._changed = answers.configs.keys() | answers.standing.keys()
        self._report(tick, reported, decision)
        return self._outcome(tick, decision)

    def _note_stop(self, now: float) -> None:
        if self._leaving is not None:
            return
        still, idle = now - self._state.moved_at, self._idle_seconds(now)
        limit, settings = self._job.settings.give_up_seconds, self._job.settings
        if self._ports.stop():
            self._leaving = _Leaving(now, Ending.INTERRUPTED, still)
        elif settings.leave_at is not None and now >= settings.leave_at:
            self._leaving = _Leaving(now, Ending.WINDOW_OVER, still)
        elif (limit is not None and still >= limit) or (min(still, idle) >= settings.idle_seconds):
            self._leaving = _Leaving(now, Ending.GAVE_UP, still)

    def _idle_seconds(self, now: float) -> float:
        """For how long nothing from outside has been to come: a broker that has just come back is about to serve."""
        if not self._ports.idle():
            self._idle_since = None
            return 0.0
        self._idle_since = now if self._idle_since is None else self._idle_since
        return now - self._idle_since

    def _look(self, now: float, overslept: float) -> TickInput:
        job = self._job
        commands = for_application(self._state.ledger.application, self._ports.arrived())
        state = self._state.without_old_unknowns(now, job.settings.quarantine_seconds)
        candidates: tuple[TopicPartition, ...] = ()
        admitting = self._leaving is None
        if admitting:
            state, candidates = state.chosen(job, now)
        self._state = state
        watched = [n for n in state.watched(job) if n not in candidates] if admitting else []
        every_tick = state.wanted(job, (*candidates, *watched))
        asked = self._readings.wanted(
            every_tick,
            now,
            job.settings,
            urgent=state.urgent(job, self._changed),
            copying=state.copying(job),
        )
        look = self._ports.reader.look(asked)
        ended = self._ports.clock.now()
        self._readings, seen = self._readings.after(every_tick, asked, look, now)
        self._answering = frozenset(seen.rates)
        candidates += tuple(n for n in watched if _suffers(job.moves[n], seen))
        history = state.history.with_sizes(job.moves, seen.sizes, now)
        self._state = replace(state, history=history)
        self._read_now_and_then(now)
        return TickInput(
            job=job,
            seen=seen,
            now=now,
            ended=ended,
            candidates=candidates,
            admitting=admitting,
            logs=self._probed(seen),
            commands=tuple(commands),
            overslept=overslept,
        )

    def _probed(self, seen: Look) -> dict[TopicPartition, LogsFound]:
        """The logs that this tick is decided by."""
        live = [b for b, broker in seen.brokers.items() if broker.live]
        wanted = to_probe(self._job, self._state.ledger, seen.partitions, live)
        return probe(self._ports.reader, wanted) if wanted else {}

    def _read_now_and_then(self, now: float) -> None:
        """What is read while copies wait; where that fails, the look is good all the same."""
        if not self._state.copies_waiting or self._leaving is not None:
            return
        with suppress(ClusterUnreachable):
            self._read_disks(now)
            self._read_neighbours()

    def _read_disks(self, now: float) -> None:
        if now - self._disks_at >= self._job.settings.disk_seconds:
            self._disks_at = now
            self._state = self._state.with_room(self._job, self._ports.reader.log_dirs())

    def _read_neighbours(self) -> None:
        began, known = self._ports.clock.now(), self._state.neighbours
        if began < known.due or not self._state.ledger.open:
            return
        period = self._job.settings.neighbours_seconds
        self._state = replace(self._state, neighbours=known.later(began, period))
        snapshot = self._ports.reader.observe()
        ended = self._ports.clock.now()
        after = known.after(snapshot, self._job.moves.keys(), began, ended, period)
        self._state = replace(self._state, neighbours=after)

    def _report(self, tick: TickInput, reported: int, decision: Decision) -> None:
        total, state = self._job.plan.steps, self._state
        owned = [r.status for r in state.ledger.steps]
        done, running = owned.count(Status.DONE), owned.count(Status.OPEN)
        notes = state.notes[reported:]
        copies = copies_in_progress(tick, state, decision.holds)
        self._progress = Progress(
            at_seconds=tick.now - self._began,
            total=total,
            done=done,
            stopped=len(owned) - running - done,
            running=running,
            waiting=total - len(owned),
            copies=copies,
            holds=decision.holds,
            now=tick.now,
            since=state.held_since,
            admission=decision.admission,
            throttles=state.ledger.throttles,
            notes=notes,
        )
        self._ports.report(self._progress)

    def _outcome(self, tick: TickInput, decision: Decision) -> Outcome | None:
        state, patience = self._state, self._job.settings.patience_seconds
        restored = decision.throttles.quiet
        if self._leaving is not None:
            late = tick.now - self._leaving.since >= patience
            return self._stopped(self._leaving, decision) if restored or late else None
        if self._works() or lingering(tick, state) or may_arrive(state):
            return None
        if is_cancelled(state.ledger) and self._way_back is None:
            return self._turned(tick)
        keeps = keeps_throttles(self._job.plan.throttle, state.ledger.application)
        if not state.ledger.throttles or (keeps and restored):
            return self._closed()
        if self._ended_at is None or state.configs_unknown_since:
            self._ended_at = tick.now
        if tick.now - self._ended_at < patience:
            return None
        return replace(self._left(Exit.HELD, Ending.STAYS_OPEN), leftovers=self._leftovers())

    def _works(self) -> bool:
        """Whether anything has begun and not ended, or is still to begin."""
        state = self._state
        if state.ledger.open or state.admitted:
            return True
        creates = pending(self._job, state.ledger)
        leaderless = pending_recoveries(self._job, state.ledger)
        if is_cancelled(state.ledger):
            return any(c.topic in state.ledger.creates for c in creates) or any(
                r.partition in state.ledger.recoveries for r in leaderless
            )
        within = logs_pending(self._job, state.ledger)
        return bool(
            len(state.queue)
            or creates
            or leaderless
            or within
            or still_to_set(self._job, state.ledger)
        )

    def _turned(self, tick: TickInput) -> Outcome | None:
        """Everything rests: end the cancelled application, and go on with the one that takes it back."""
        reader, settings, ledger = self._ports.reader, self._job.settings, self._state.ledger
        if tick.now < self._turns_at:
            return None
        self._turns_at = tick.now + settings.agreeing_seconds
        names = [o.partition for o in unfinished(ledger)]
        try:
            snapshot = reader.observe()
            again = reader.look(Wanted(partitions=names))
            back = plan_back(ledger, self._job.plan, snapshot)
            log_dirs = reader.log_dirs() if back.moves else ()
        except (ClusterUnreachable, ClusterRefused) as error:
            return self._unreachable(tick.now, error)
        if any(_shown(snapshot.partition(n)) != _shown(again.partitions.get(n)) for n in names):
            return None  # a broker shows older metadata
        if not back.moves:
            self._way_back = back
            return None
        records = turned(ledger, self._job.plan, back, settings)
        try:
            self._append(records)
        except (BadFile, ClusterUnreachable) as error:
            return self._unwritable(self._ports.clock.now(), error)
        job = Job.of(back, settings, self._job.end_text)
        self._next = ApplicationRun(job, self._state.ledger, self._ports, log_dirs)
        self._next._state = replace(
            self._next._state, configs_unknown_since=self._state.configs_unknown_since
        )
        return None

    def _closed(self) -> Outcome | None:
        plan, ledger, back = self._job.plan, self._state.ledger, self._way_back
        refusals, left_out = (back or plan).refusals, (back or plan).left_out
        results: list[AnyResult] = [*self._settings(), *self._results(), *self._log_moves()]
        status = ApplicationStatus.CLOSED if back is None else ApplicationStatus.CANCELLED
        text, at = summary(results, refusals), self._job.settings.moment()
        outcome = self._left(exit_code_of(results, left_out), Ending.COMPLETE)
        try:
            self._append((*kept(ledger), *closing(ledger, status, text, at, plan)))
        except (BadFile, ClusterUnreachable) as error:
            return self._unwritable(self._ports.clock.now(), error)
        return replace(outcome, refusals=refusals)

    def _append(self, records: tuple[Record, ...]) -> None:
        self._ports.journal.append(records)
        self._state = replace(self._state, ledger=self._state.ledger.after(records))

    def _results(self) -> tuple[PartitionResult, ...]:
        order = [m.partition for m in self._job.plan.moves]
        ledger, holds = self._state.ledger, self._state.holds
        created = create_results(self._job.plan.creates, ledger, holds)
        recovered = recovery_results(self._job.plan.recoveries, ledger, holds)
        now, since = self._ports.clock.now(), self._state.held_since
        return tuple(
            r if r.hold is None else replace(r, held_seconds=now - since.get(r.partition, now))
            for r in (*created, *recovered, *results_of(order, ledger, holds))
        )

    def _settings(self) -> tuple[SettingResult, ...]:
        state = self._state
        return setting_results(self._job.plan.standing, state.ledger, state.setting_holds)

    def _log_moves(self) -> tuple[LogMoveResult, ...]:
        state = self._state
        return log_move_results(self._job.plan.log_moves, state.ledger, state.log_holds)

    def _leftovers(self) -> tuple[Leftover, ...]:
        """Settings of replan that are still there and that no running copy needs."""
        refused = (
            RefusedSetting(scope, name, answer.code, answer.name, answer.message)
            for (scope, name), answer in sorted(self._state.refused_configs.items())
        )
        return (*leftovers(self._state.ledger.rates, self._answering), *refused)

    def _stopped(self, leaving: _Leaving, decision: Decision) -> Outcome:
        held = leaving.ending in {Ending.GAVE_UP, Ending.LEFT_TO_ANOTHER}
        code = Exit.HELD if held else Exit.INTERRUPTED
        running = sorted(n for n, own in self._state.ledger.open.items() if own.expanding)
        return replace(
            self._left(code, leaving.ending),
            copying=tuple(running),
            throttled=self._state.throttle(self._job) is not None,
            seconds=leaving.still_seconds,
            admission=decision.admission,
            leftovers=self._leftovers(),
        )

    def _unreachable(
        self, now: float, error: ClusterUnreachable | ClusterRefused
    ) -> Outcome | None:
        silent = now - self._seen_at
        if silent < self._job.settings.patience_seconds and self._leaving is None:
            if self._progress is not None:
                whom = error.waits_for if isinstance(error, ClusterUnreachable) else None
                lasts = self._ports.clock.now() - self._seen_at
                silence = ClusterSilent(lasts, str(error), whom)
                at = now - self._began
                self._ports.report(
                    replace(self._progress, at_seconds=at, now=now, admission=silence, notes=())
                )
            return None
        return self._failed(Ending.UNREACHABLE, silent, error)

    def _unwritable(self, now: float, error: BadFile | ClusterUnreachable) -> Outcome | None:
        silent = now - self._written_at
        if silent < self._job.settings.journal_patience_seconds and self._leaving is None:
            return None
        return self._failed(Ending.NOT_WRITTEN, silent, error)

    def _failed(self, ending: Ending, seconds: float, error: ReplanError) -> Outcome:
        asked = self._leaving is not None and self._leaving.ending is Ending.INTERRUPTED
        code = Exit.INTERRUPTED if asked else Exit.ERROR
        return replace(self._left(code, ending), seconds=seconds, error=str(error))

    def _left(self, code: Exit, ending: Ending) -> Outcome:
        ledger = self._state.ledger
        application = ledger.application
        cancelled = "" if application is None else application.takes_back
        finished = [] if application is None else finished_before(ledger, application)
        if application is not None and application.cancelled_by:
            cancelled = application.id
            finished = [own.partition for own in ledger.ended(Status.DONE)]
        return Outcome(
            exit_code=code,
            ending=ending,
            cancelled=cancelled,
            finished=tuple(sorted(finished)),
            results=self._results(),
            settings=self._settings(),
            log_moves=self._log_moves(),
            notes=self._state.notes,
            refusals=self._job.plan.refusals,
        )
