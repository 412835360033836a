"""One process's part of an application: look, decide, write, send, and again until nothing is left.

This is the only place where an application meets the outside. It holds no rule of its own beyond patience: how long a
silent cluster or journal is waited for, and when to leave. What a look asks is in `tick.looking`.

A tick sends at most one request of each kind, but elections by the hundred, and none that rests on too old a look: what
was seen may not hold any more, and the intent may have been overtaken, as another process could have taken the journal
over since.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from math import inf
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger, RequestSubject
from replan.applying.journal.originals import Originals, taken_back
from replan.applying.journal.protocol import Journal
from replan.applying.journal.records import (
    Application,
    ApplicationStatus,
    Command,
    Record,
    Status,
    Verb,
)
from replan.applying.observation import Job, TickInput, brings_in
from replan.applying.other_tools import not_ours
from replan.applying.reasons.holds import (
    ClusterSilent,
    EffectUnseen,
    JournalSilent,
    LookTooOld,
    NextBatch,
)
from replan.applying.reasons.notes import RefusedSetting
from replan.applying.reasons.reason import HoldReason, Leftover
from replan.applying.request_memory import RequestMemory
from replan.applying.run.opening import closing, copied_bytes, kept, plan_back, turned, unfinished
from replan.applying.steering import for_application, keeps_throttles
from replan.applying.steps.kinds import kinds_of
from replan.applying.steps.log_moves import copying_within
from replan.applying.throttles import leftovers, unread_lists
from replan.applying.tick.decide import decide, lingering, may_arrive
from replan.applying.tick.decision import Answers, Decision
from replan.applying.tick.looking import look_for_tick
from replan.applying.tick.run_state import RunState, first_state, too_slow
from replan.applying.views.outcome import (
    AnyResult,
    Ending,
    Outcome,
    PartitionResult,
    Performed,
    Result,
    ThrottlesLeft,
    exit_code_of,
    new_text,
    plan_results,
    results_summary,
)
from replan.applying.views.progress import Progress, ProgressListener, progress_of
from replan.errors import BadFile, ClusterRefused, ClusterUnreachable, Exit, ReplanError
from replan.model.broker import LogDir
from replan.model.configs import ConfigChange, ConfigResource
from replan.model.control_plane import (
    Answer,
    Clock,
    ClusterReader,
    ClusterWriter,
    ElectionType,
    Look,
    OutcomeUnknown,
    Rejected,
    Wanted,
)
from replan.model.garbage_collection import garbage_collection_paused
from replan.model.names import Replicas, TopicPartition
from replan.model.partition import PartitionState
from replan.planning.plans.plan import Plan
from replan.planning.plans.requests import RequestKind

_K = TypeVar("_K")


class Ports(Struct, frozen=True):
    """The outside of one run."""

    reader: ClusterReader
    writer: ClusterWriter
    journal: Journal
    clock: Clock
    report: ProgressListener
    stop: Callable[[], bool]
    idle: Callable[[], bool]
    """Whether nothing will happen to the cluster by itself any more."""
    arrived: Callable[[], Sequence[Command]]
    """The commands in the inbox."""


class Leaving(Struct, frozen=True):
    """Why a process leaves, and since when it does."""

    since: float
    ending: Ending
    still_seconds: float
    """For how long nothing had moved."""


NEXT_ELECTIONS = NextBatch(elections=True)
UNSEEN_ELECTION = EffectUnseen(RequestKind.ELECT)
"""The controller has done it, and the broker that is asked shows older metadata."""


class ApplicationRun:
    """One process's part of an application."""

    def __init__(
        self,
        job: Job,
        ledger: Ledger,
        ports: Ports,
        log_dirs: Sequence[LogDir],
        silent_since: float | None = None,
    ) -> None:
        now = ports.clock.now()
        self._job, self._ports = job, ports
        self._state = first_state(job, ledger, now, silent_since).with_room(job, log_dirs)
        self._began = self._looked_at = self._written_at = now
        self._ended_at: float | None = None
        self._leaving: Leaving | None = None
        self._idle_since: float | None = None
        self._turns_at = 0.0
        self._hanging: tuple[TopicPartition, ...] = ()
        """Reassignments of other tools that did not move for too long, and are throttled no longer."""
        self._next: ApplicationRun | None = None
        """What takes this application back, once it is cancelled and rests."""
        self._way_back: Plan | None = None
        """Of a cancelled application: why nothing of it is to go back."""
        self._progress: Progress | None = None
        self._awaits_effect = False
        self._elected_at = now
        """When elections were last asked for."""
        self._elects = False
        """Whether they are all that is waited for."""
        self._perhaps_obeyed: tuple[Command, ...] = ()

    def to_end(self) -> Outcome:
        """Tick until there is an outcome, of this application or of the one that takes it back."""
        clock, overslept = self._ports.clock, 0.0
        while True:
            began = clock.now()
            with (
                garbage_collection_paused()
            ):  # a tick makes values by the hundred thousand, and no cycles
                outcome = self._tick(overslept)
            if outcome is not None:
                return outcome
            if self._next is not None:
                return self._next.to_end()
            before = clock.now()
            pause = self._job.settings.pause_seconds(
                before - began,
                awaits_effect=self._awaits_effect,
                elected=before - self._elected_at if self._elects else None,
            )
            clock.sleep(pause)
            overslept = clock.now() - before - pause

    def _tick(self, overslept: float) -> Outcome | None:
        now, self._awaits_effect, self._elects = self._ports.clock.now(), False, False
        self._note_stop(now)
        try:
            if self._hanging:
                self._throttle_no_others()
        except (BadFile, ClusterUnreachable) as error:
            return self._unwritable(now, error)
        try:
            tick = self._look(overslept)
        except (ClusterUnreachable, ClusterRefused) as error:
            self._state = self._state.without_a_look()
            return self._unreachable(now, error)
        self._looked_at = now
        reported = len(self._state.notes)
        before = self._state = self._state.observed(tick)
        decision, after = decide(tick, before)
        try:
            self._ports.journal.append(intents(decision, before.ledger))
        except (BadFile, ClusterUnreachable) as error:
            self._perhaps_obeyed = tuple(tick.commands)
            return self._unwritable(now, error)  # the state is as before: it is decided again
        self._written_at, self._perhaps_obeyed = now, ()
        if self._leaving is None and any(c.verb is Verb.ABANDON for c in tick.commands):
            self._leaving = Leaving(now, Ending.LEFT_TO_ANOTHER, now - after.moved_at)
        limit, appended = self._job.settings.look_seconds, self._ports.clock.now()
        if appended - tick.now > limit and decision.acts:
            decision, after = too_slow(decision, after, LookTooOld(appended - tick.now, limit))
        answers = Sender(self._ports.writer, self._ports.clock, tick.now + limit).send(decision)
        answered = self._ports.clock.now()
        self._state = after.answered(decision, answers, answered)
        self._note_what_comes(tick, decision, answers, answered)
        self._report(tick, decision, reported, answered)
        return self._refused(answered) or self._outcome(tick, decision)

    def _note_what_comes(
        self, tick: TickInput, decision: Decision, answers: Answers, answered: float
    ) -> None:
        """What the next look is to show: how soon it comes depends on that."""
        refused = any(isinstance(a, Rejected) for a in answers.configs.values())
        holds = set(decision.holds.values())
        turn, elected = NEXT_ELECTIONS in holds, UNSEEN_ELECTION in holds
        self._awaits_effect = (decision.acts or turn) and not refused
        self._elects = bool(elected or decision.elections) and (turn or not tick.look.running)
        if decision.elections:
            self._elected_at = answered

    def _report(self, tick: TickInput, decision: Decision, reported: int, answered: float) -> None:
        """`reported`: how many notes were."""
        self._progress = progress_of(
            tick, self._state, decision, self._began, reported, self._gives_up_at()
        )
        if self._state.refused is not None:
            since, words = self._state.refused
            silence = ClusterSilent(answered - since, words, refuses=True)
            self._progress = replace(self._progress, admission=silence)
        self._ports.report(self._progress)

    def _refused(self, now: float) -> Outcome | None:
        """A permission that is taken away may come back; the process leaves where it does not."""
        if self._state.refused is None:
            return None
        since, error = self._state.refused
        if now - since < self._job.settings.patience_seconds and self._leaving is None:
            return None
        return self._failed(Ending.REFUSED, now - since, ClusterRefused(error))

    def _note_stop(self, now: float) -> None:
        if self._leaving is not None:
            return
        self._note_idle(now)
        still, leave_at = now - self._state.moved_at, self._job.settings.leave_at
        if self._ports.stop():
            self._leaving = Leaving(now, Ending.INTERRUPTED, still)
        elif leave_at is not None and now >= leave_at:
            self._leaving = Leaving(now, Ending.WINDOW_OVER, still)
        elif now >= self._gives_up_at() and not self._hanging:
            self._hanging = (
                () if self._job.plan.changes else tuple(sorted(self._state.others.reassignments))
            )
            if not self._hanging:
                self._leaving = Leaving(now, Ending.GAVE_UP, still)

    def _throttle_no_others(self) -> None:
        """What does not move needs no throttle: it is restored, and the application ends."""
        application = self._state.ledger.application
        if application is not None and application.others:
            self._append((replace(application, others=False),))

    def _note_idle(self, now: float) -> None:
        """Since when nothing from outside has been to come: a broker that has just come back is about to serve."""
        if not self._ports.idle():
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now

    def _gives_up_at(self) -> float:
        """When this process gives up, if nothing moves until then; a declared wait has an end, and runs before that."""
        state, settings = self._state, self._job.settings
        job, ledger, since = self._job, state.ledger, state.leaderless_since
        waits = (kind.waits_until(job, ledger, since) for kind in kinds_of(job.plan))
        moved = max([state.moved_at, *waits])
        limit, idle = settings.give_up_seconds, self._idle_since
        ends = [] if limit is None else [moved + limit]
        ends += [] if idle is None else [max(moved, idle) + settings.idle_seconds]
        return min(ends, default=inf)

    def _look(self, overslept: float) -> TickInput:
        ports, state, admitting = self._ports, self._state, self._leaving is None
        if admitting:
            state = read_now_and_then(self._job, ports, state)
        tick, self._state = look_for_tick(
            self._job,
            ports.reader,
            ports.clock.now,
            state,
            admitting=admitting,
            commands=for_application(state.ledger.application, self._commands()),
            overslept=overslept,
        )
        return tick

    def _commands(self) -> list[Command]:
        """What has arrived; also what a failed append may have marked as obeyed in the journal."""
        arrived = {c.key: c for c in (*self._perhaps_obeyed, *self._ports.arrived())}
        return list(arrived.values())

    def _outcome(self, tick: TickInput, decision: Decision) -> Outcome | None:
        state, patience = self._state, self._job.settings.patience_seconds
        restored = decision.throttles.quiet
        if self._leaving is not None:
            late = tick.now - self._leaving.since >= patience
            return self._stopped(self._leaving, tick, decision) if restored or late else None
        if self._works() or lingering(tick, state) or may_arrive(state):
            return None
        application = state.ledger.application
        if application is not None and application.cancelled_by and self._way_back is None:
            return self._turned(application, tick)
        keeps = keeps_throttles(self._job.plan.throttle, application)
        if not state.ledger.throttles or (keeps and restored):
            return self._closed()
        if self._ended_at is None or state.configs_unknown_since:
            self._ended_at = tick.now
        if tick.now - self._ended_at < patience:
            return None
        leftovers = all_leftovers(state, tick.look)
        return replace(self._outcome_so_far(Exit.HELD, Ending.STAYS_OPEN), leftovers=leftovers)

    def _works(self) -> bool:
        """Whether anything has begun and not ended, or is still to begin."""
        state = self._state
        if state.ledger.open or state.admitted or self._throttles_others():
            return True
        kinds = kinds_of(self._job.plan)
        steps = [step for kind in kinds for step in kind.pending(self._job, state.ledger)]
        if state.ledger.cancelling:
            return any(step.record is not None for step in steps)
        return bool(len(state.queue) or steps)

    def _throttles_others(self) -> bool:
        """Whether reassignments of other tools run, or may, that are to be throttled."""
        state, agreeing = self._state, self._job.settings.agreeing_seconds
        over = state.others.over(self._ports.clock.now(), agreeing)
        return state.ledger.throttles_others and not over

    def _turned(self, cancelled: Application, tick: TickInput) -> Outcome | None:
        """Everything rests: end the cancelled application, and go on with the one that takes it back."""
        settings, ledger = self._job.settings, self._state.ledger
        if tick.now < self._turns_at:
            return None
        self._turns_at = tick.now + settings.agreeing_seconds
        try:
            way_back = way_back_of_cancelled(self._ports.reader, ledger, self._job.plan)
        except (ClusterUnreachable, ClusterRefused) as error:
            return self._unreachable(tick.now, error)
        if way_back is None:
            return None
        back, log_dirs = way_back
        if not back.moves:
            self._way_back = back
            return None
        records = turned(cancelled, ledger, self._job.plan, back, settings)
        try:
            self._append(records)
        except (BadFile, ClusterUnreachable) as error:
            return self._unwritable(self._ports.clock.now(), error)
        job = Job.of(back, settings)
        self._next = ApplicationRun(job, self._state.ledger, self._ports, log_dirs)
        self._next._state = replace(
            self._next._state,
            configs=RequestMemory(unknown_since=self._state.configs_unknown_since),
        )
        return None

    def _closed(self) -> Outcome | None:
        plan, ledger, back = self._job.plan, self._state.ledger, self._way_back
        refusals, left_out = (back or plan).refusals, (back or plan).left_out
        status = ApplicationStatus.CLOSED if back is None else ApplicationStatus.CANCELLED
        outcome = replace(
            self._outcome_so_far(Exit.OK, Ending.COMPLETE), performed=self._performed()
        )
        results, others = outcome.results, self._state.others.total or len(self._hanging)
        text, at = results_summary(results, refusals, others), self._job.settings.moment()
        try:
            self._append((*kept(ledger), *closing(ledger, status, text, at, plan)))
        except (BadFile, ClusterUnreachable) as error:
            return self._unwritable(self._ports.clock.now(), error)
        if self._hanging:
            outcome = replace(outcome, ending=Ending.OTHERS_HANG, exit_code=Exit.HELD)
            return replace(outcome, copying=self._hanging, others=others)
        return replace(outcome, exit_code=exit_code_of(results, left_out), refusals=refusals)

    def _performed(self) -> Performed:
        ledger, copied = self._state.ledger, copied_bytes(self._state.ledger, self._job.plan)
        throttles = None
        if copied and self._state.throttle(self._job) is not None:
            kept = keeps_throttles(self._job.plan.throttle, ledger.application)
            throttles = ThrottlesLeft.KEPT if kept else ThrottlesLeft.RESTORED
        seconds = self._ports.clock.now() - self._began
        return Performed(ledger.application_id, seconds, copied, throttles)

    def _append(self, records: tuple[Record, ...]) -> None:
        self._ports.journal.append(records)
        self._state = replace(self._state, ledger=self._state.ledger.after(records))

    def _unreachable(
        self, now: float, error: ClusterUnreachable | ClusterRefused
    ) -> Outcome | None:
        silent = now - self._looked_at
        if silent < self._job.settings.patience_seconds and self._leaving is None:
            whom = error.waits_for if isinstance(error, ClusterUnreachable) else None
            lasts = self._ports.clock.now() - self._looked_at
            refuses = isinstance(error, ClusterRefused)
            self._report_silence(now, ClusterSilent(lasts, str(error), whom, refuses=refuses))
            return None
        refuses = isinstance(error, ClusterRefused)
        return self._failed(Ending.REFUSED if refuses else Ending.UNREACHABLE, silent, error)

    def _unwritable(self, now: float, error: BadFile | ClusterUnreachable) -> Outcome | None:
        silent = now - self._written_at
        if silent < self._job.settings.journal_patience_seconds and self._leaving is None:
            lasts = self._ports.clock.now() - self._written_at
            self._report_silence(now, JournalSilent(lasts, str(error)))
            return None
        return self._failed(Ending.NOT_WRITTEN, silent, error)

    def _report_silence(self, now: float, silence: ClusterSilent | JournalSilent) -> None:
        if self._progress is not None:
            at = now - self._began
            self._ports.report(
                replace(self._progress, at_seconds=at, now=now, admission=silence, notes=())
            )

    def _outcome_so_far(self, code: Exit, ending: Ending) -> Outcome:
        return outcome_so_far(self._job, self._state, self._ports.clock.now(), code, ending)

    def _stopped(self, leaving: Leaving, tick: TickInput, decision: Decision) -> Outcome:
        held = leaving.ending in {Ending.GAVE_UP, Ending.LEFT_TO_ANOTHER}
        code = Exit.HELD if held else Exit.INTERRUPTED
        whole = self._outcome_so_far(code, leaving.ending)
        return stopped_outcome(whole, tick, self._state, leaving, decision)

    def _failed(self, ending: Ending, seconds: float, error: ReplanError) -> Outcome:
        interrupted = self._leaving is not None and self._leaving.ending is Ending.INTERRUPTED
        code = Exit.INTERRUPTED if interrupted else Exit.ERROR
        return replace(self._outcome_so_far(code, ending), seconds=seconds, error=str(error))


def read_now_and_then(job: Job, ports: Ports, state: RunState) -> RunState:
    """What is read while copies wait, and before a look, as it may take long; where that fails, it goes on."""
    now = ports.clock.now()
    if not (state.copies_waiting or _waits_to_copy(job, state.ledger)):
        return state
    with suppress(ClusterUnreachable, ClusterRefused):
        if now - state.readings.disks_at >= job.settings.disk_period:
            state = replace(state, readings=replace(state.readings, disks_at=now))
            state = state.with_room(job, ports.reader.log_dirs())
        began, neighbours = ports.clock.now(), state.neighbours
        if began >= neighbours.due and state.copies_waiting and state.ledger.open:
            period = job.settings.neighbours_seconds
            state = replace(state, neighbours=neighbours.later(began, period))
            snapshot = ports.reader.observe()
            ended = ports.clock.now()
            after = neighbours.after(snapshot, job.moves.keys(), began, ended, period)
            state = replace(state, neighbours=after)
    return state


def _waits_to_copy(job: Job, ledger: Ledger) -> bool:
    """Whether any step beside moves that copies has yet to begin."""
    copying = (kind for kind in kinds_of(job.plan) if kind.copies)
    return any(step.record is None for kind in copying for step in kind.pending(job, ledger))


def way_back_of_cancelled(
    reader: ClusterReader, ledger: Ledger, plan: Plan
) -> tuple[Plan, Sequence[LogDir]] | None:
    """The plan that takes a cancelled application back, and the room on disks; None where readings do not agree yet.

    Raises ClusterRefused where this user may not read a topic of it: what is not seen is not gone.
    """
    names = [own.partition for own in unfinished(ledger, plan)]
    snapshot = reader.observe()
    again = reader.look(Wanted(partitions=names, topics={name.topic for name in names}))
    for topic, missing in again.forbidden.items():
        raise ClusterRefused(
            f"partitions of {topic} are to go back, and this user lacks the ACL {missing} on Topic {topic}"
        )
    back = plan_back(ledger, plan, snapshot)
    log_dirs = reader.log_dirs() if back.moves else ()
    if any(_shown(snapshot.partition(n)) != _shown(again.partitions.get(n)) for n in names):
        return None  # a broker shows older metadata
    return back, log_dirs


def _shown(state: PartitionState | None) -> object:
    """What two readings of a partition that rests must agree on."""
    return state and (state.topic_id, state.replicas, state.adding, state.removing)


def intents(decision: Decision, ledger: Ledger) -> Sequence[Record]:
    """What to append before sending: restoring needs no record, but an append of this process, since that is the fence.

    A process whose journal was taken over learns it from its append and from nothing else; so something that is written
    there already is written again.
    """
    if decision.records or not decision.acts:
        return decision.records
    records = (ledger.application, *ledger.priors, *ledger.steps)
    return next(([record] for record in records if record is not None), [])


class Sender(Struct, frozen=True):
    """Sends the requests of one tick."""

    writer: ClusterWriter
    clock: Clock
    until: float
    """On the clock: when the look of this tick is too old."""

    def send(self, decision: Decision) -> Answers:
        """Send everything; what is removed before what is added, so that no key comes twice in a request."""
        answers = Answers()
        for changes in (decision.throttles.removals, decision.throttles.additions):
            answers.configs.update(self._configure(changes))
        for kind, asks in decision.steps.items():
            for subjects, request in kind.requests(asks):
                answers.steps.update(self._sent(subjects, partial(request, self.writer)))
        answers.partitions.update(self._reassign(decision.resizing, may_resize=True))
        answers.partitions.update(self._reassign(decision.same_size, may_resize=False))
        for names in decision.elections:
            elected = self._sent(names, partial(self.writer.elect, names, ElectionType.PREFERRED))
            answers.partitions.update(elected)
            if any(isinstance(answer, OutcomeUnknown) for answer in elected.values()):
                break  # the next leaders wait until it is known whether these are made
        return answers

    def _configure(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Answer]:
        subjects = list(dict.fromkeys((c.scope, c.name) for c in changes))
        return self._sent(subjects, lambda: self.writer.alter_configs(changes))

    def _reassign(
        self, lists: Mapping[TopicPartition, Replicas | None], *, may_resize: bool
    ) -> Mapping[TopicPartition, Answer]:
        return self._sent(
            list(lists),
            lambda: self.writer.reassign(lists, allow_replication_factor_change=may_resize),
        )

    def _sent(
        self, subjects: Collection[_K], request: Callable[[], Mapping[_K, Answer]]
    ) -> Mapping[_K, Answer]:
        if not subjects or self.clock.now() > self.until:
            return {}
        unknown: dict[_K, Answer] = dict.fromkeys(subjects, OutcomeUnknown("no answer"))
        try:
            return {**unknown, **request()}
        except ClusterUnreachable as error:
            return dict.fromkeys(subjects, OutcomeUnknown(str(error)))
        except ClusterRefused as error:
            return dict.fromkeys(subjects, OutcomeUnknown(str(error), refused=True))


def outcome_so_far(job: Job, state: RunState, now: float, code: Exit, ending: Ending) -> Outcome:
    """The application as it stands."""
    ledger = state.ledger
    application = ledger.application
    cancelled = "" if application is None else application.takes_back
    before = Originals([]) if application is None else taken_back(ledger, application)
    finished = [o.partition for o in before.origins() if o.done]
    grown = (new_text(TopicPartition(g.topic, g.before), g.count - g.before) for g in before.grown)
    kept = {*before.recovered, *grown}
    results = results_now(job, state, now)
    if application is not None and application.cancelled_by:
        cancelled = application.id
        finished = [own.partition for own in ledger.ended(Status.DONE)]
        done = [r for r in results if isinstance(r, PartitionResult) and r.result is Result.DONE]
        kept = {str(r.partition) for r in done if not r.created} - {*map(str, finished)}
        kept |= {new_text(r.partition, r.created) for r in done if r.created}
    return Outcome(
        exit_code=code,
        ending=ending,
        cancelled=cancelled,
        finished=tuple(sorted(finished)),
        kept=tuple(sorted(kept)),
        results=results,
        others=state.others.total,
        notes=state.notes,
        refusals=job.plan.refusals,
    )


def results_now(job: Job, state: RunState, now: float) -> tuple[AnyResult, ...]:
    """How each step stands, and for how long a partition has waited for what it waits for."""
    ledger, since = state.ledger, state.held_since
    holds: dict[RequestSubject, HoldReason] = dict(
        chain(state.holds.items(), state.step_holds.items())
    )
    return tuple(
        replace(r, held_seconds=now - since.get(r.partition, now))
        if isinstance(r, PartitionResult) and r.hold is not None
        else r
        for r in plan_results(job.plan, ledger, holds)
    )


def stopped_outcome(
    whole: Outcome,
    tick: TickInput,
    state: RunState,
    leaving: Leaving,
    decision: Decision,
) -> Outcome:
    """The end of a process that leaves what runs to itself; `whole`: the application as it stands, `tick`: the last."""
    begun = {n for n, own in state.ledger.open.items() if own.expanding}
    running = set(copying_now(state.ledger, tick.look)).union(state.others.reassignments)
    within = {name for name, _ in copying_within(state.ledger, tick.look)}
    return replace(
        whole,
        copying=tuple(sorted(running)),
        copying_within=tuple(sorted(within)),
        may_begin=tuple(sorted((begun - running) & state.moves.unknown_since.keys())),
        throttled=state.throttle(tick.job) is not None,
        seconds=leaving.still_seconds,
        admission=decision.admission,
        leftovers=all_leftovers(state, tick.look),
    )


def copying_now(ledger: Ledger, look: Look) -> list[TopicPartition]:
    """The copies of the open application that the controller still carries out."""
    owned = [ledger.owned[name] for name in ledger.may_copy]
    names = [
        own.partition
        for own in owned
        if brings_in(look, own.partition, own.topic_id, set(own.target).difference(own.original))
    ]
    if ledger.throttles_others:
        names += [name for name in sorted(not_ours(look, ledger)) if name not in names]
    return names


def all_leftovers(state: RunState, look: Look) -> tuple[Leftover, ...]:
    """Settings of replan that are still there and that no running copy needs."""
    refused = (
        RefusedSetting(scope, name, answer.code, answer.name, answer.message)
        for (scope, name), answer in sorted(state.configs.answers.items())
        if isinstance(answer, Rejected)
    )
    unregistered = state.throttle_history.unregistered
    return (
        *leftovers(state.ledger.rates, state.readings.answering, unregistered),
        *unread_lists(state.ledger.entries, look.forbidden),
        *refused,
    )
