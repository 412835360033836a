"""`apply`, `resume`, `interrupt`, `abandon`, `clear`, `tick`, and faults: the real applier, in virtual time.

`apply` begins a process, or resumes the paused one. It ends, is interrupted, is killed, or pauses where the scenario
says so; `tick` lets it work while time passes. A fault happens now (`kill 3`) or later (`at 10s kill 3`); its words are
in `replan.faults`.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.abandoning import RunningCopies, clear_throttles
from replan.applying.abandoning import abandon_application as give_up
from replan.applying.journal.records import Command, MoveRecord, Status, Verb
from replan.applying.run.loop import apply_plan, never
from replan.applying.settings import Settings
from replan.applying.views.outcome import Outcome
from replan.applying.views.progress import Progress
from replan.errors import ReplanError
from replan.faults.read import read_schedule
from replan.faults.token_reader import TokenReader
from replan.model.control_plane import Clock
from replan.model.names import TopicPartition
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest, loads
from replan.reporting.application.outcome_text import STOPPED, outcome_text, refused_line
from replan.reporting.application.progress_text import counts
from replan.scenarios.effect_boundary import Boundary, Crash, RecordedJournal, RecordedWriter
from replan.scenarios.planning import planned
from replan.scenarios.session import Killed, Process, Session
from replan.simulator.cluster.faults import At
from replan.simulator.controller.state import Partition

OWNER = "ann@ops-1"
LONGEST_APPLY_SECONDS = 3_600.0
"""Of one `apply`; then it pauses by itself."""
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")

HasReached = Callable[[MoveRecord, Partition], bool]
"""Whether a move has come so far."""


class _ApplyOptions(Struct):
    """What one `apply` asks for."""

    seconds: float | None = None
    """None: to its end, or until nothing can move any more."""
    until: tuple[TopicPartition, HasReached] | None = None
    stop_after: float | None = None
    crash: Crash | None = None
    settings: Settings = Settings(owner=OWNER)
    starts: bool = False
    """It says something that only a process that begins can take."""
    verb: Verb | None = None
    """What a process that begins does to an open application."""


def apply(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """Begin or go on: `[briefly] [until orders-0 expanded|in-sync|assigned|done] [for 30s] [stop after 10s]
    [crash before|after 3rd effect] [slots 1] [settle 15s] [give up after 2m]`.
    """
    session.transcript.briefly = tokens.phrase("briefly")
    options = _options(tokens)
    if session.process is None:
        plan = planned(session) if session.plan is None else session.plan
        _begin(session, plan, options)
    elif options.starts:
        raise tokens.wrong("a process is running; it takes only `for` and `until`")
    return _continue(session, options)


def resume(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`resume`: another process, on another machine, goes on with the plan that the journal holds."""
    if session.process is not None:
        raise tokens.wrong("a process is running already")
    application = session.ledger().application
    if application is None:
        raise tokens.wrong("no application is open")
    session.transcript.briefly = tokens.phrase("briefly")
    options = _options(tokens)
    options.verb = Verb.RESUME
    plan = loads(session.ledger().plan_text(application.id), "journal")
    _begin(session, plan, options)
    return _continue(session, options)


def cancel(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`cancel`: take back what is not finished; a process that is running obeys, without one another begins."""
    session.transcript.briefly = tokens.phrase("briefly")
    options = _options(tokens)
    application = session.ledger().application
    if application is None:
        raise tokens.wrong("no application is open")
    if session.process is None:
        options.verb = Verb.CANCEL
        _begin(session, loads(session.ledger().plan_text(application.id), "journal"), options)
    else:
        number = f"{session.clock.now():09.0f}"
        session.journal.inbox.append(
            Command(application.id, number, Verb.CANCEL, sender="bob@ops-2")
        )
    return _continue(session, options)


def interrupt(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`interrupt`: ^C to the process that is running."""
    tokens.end()
    if session.process is None:
        raise tokens.wrong("no process is running")
    session.stopping = True
    return _continue(session, _ApplyOptions())


def kill_process(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`crash`: the process dies where it is."""
    tokens.end()
    if session.process is None:
        raise tokens.wrong("no process is running")
    session.process.kill()
    return _ended(session)


def clear(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`clear`: `replan throttle clear`, to its end."""
    return _without_plan(session, tokens, clear_throttles)


def abandon(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`abandon [cancel-copies|unthrottled]`: `replan abandon`, to its end, where no process is at work."""
    copies = RunningCopies.REFUSED
    if tokens.phrase("cancel-copies"):
        copies = RunningCopies.CANCELLED
    elif tokens.phrase("unthrottled"):
        copies = RunningCopies.UNTHROTTLED
    return _without_plan(session, tokens, partial(give_up, copies=copies))


def _without_plan(session: Session, tokens: TokenReader, work: Callable[..., Outcome]) -> str:
    tokens.end()
    if session.process is not None:
        raise tokens.wrong("a process is running")

    def report(text: str) -> None:
        session.transcript.add(session.clock.now(), text)

    def run(clock: Clock) -> Outcome:
        writer = RecordedWriter(session.plane, Boundary(session.transcript, clock, {}))
        settings = Settings(owner=OWNER)
        outcome = work(
            session.plane, writer, session.journal, clock, settings=settings, report=report
        )
        for note in outcome.notes:
            report(f"note: {note}")
        return outcome

    session.process = Process(session.clock, run)
    return _continue(session, _ApplyOptions())


def tick(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`tick 30s`: time passes; a process that is running works along."""
    seconds = tokens.seconds()
    tokens.end()
    session.advance_to(session.clock.now() + seconds)
    return _ended(session)


def at(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`at 10s kill 3`: so long from now, whatever goes on then."""
    seconds = tokens.seconds()
    _schedule(session, seconds, read_schedule(tokens, session.fault_context()))
    return ""


def inject(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`kill 3`: inject it now; the command is the first of its words."""
    tokens.back()
    faults = read_schedule(tokens, session.fault_context())
    for now in (h for h in faults if h.seconds == 0):
        session.inject(now.fault)
    _schedule(session, 0.0, [h for h in faults if h.seconds > 0])
    return ""


def _schedule(session: Session, seconds: float, faults: Sequence[At]) -> None:
    begins = session.clock.now() + seconds
    session.agenda += [At(begins + h.seconds, h.fault) for h in faults]


def _options(tokens: TokenReader) -> _ApplyOptions:
    options = _ApplyOptions()
    while tokens:
        if tokens.phrase("until"):
            options.until = tokens.partition(), tokens.choose("something to wait for", REACHED)
        elif tokens.phrase("for"):
            options.seconds = tokens.seconds()
        else:
            options.starts = True
            _starting(tokens, options)
    return options


def _starting(tokens: TokenReader, options: _ApplyOptions) -> None:
    if tokens.phrase("stop", "after"):
        options.stop_after = tokens.seconds()
    elif tokens.phrase("crash"):
        before = tokens.choose("before or after", {"before": True, "after": False})
        ordinal = _ORDINAL.fullmatch(tokens.one("which effect, e.g. 3rd"))
        if ordinal is None:
            raise tokens.wrong("say which effect as 1st, 2nd, 3rd, 4th")
        tokens.expect("effect")
        options.crash = Crash(int(ordinal[1]), before)
    elif tokens.phrase("slots"):
        options.settings = replace(
            options.settings, slots_per_broker=tokens.number("a number of slots")
        )
    elif tokens.phrase("settle"):
        options.settings = replace(options.settings, settle_seconds=tokens.seconds())
    elif tokens.phrase("give", "up", "after"):
        options.settings = replace(options.settings, give_up_seconds=tokens.seconds())
    else:
        tokens.end()


def _begin(session: Session, plan: Plan, options: _ApplyOptions) -> None:
    started = session.clock.now()
    session.stopping = False
    session.transcript.process_begins()
    moves = {m.partition: m for m in plan.moves}

    def stop() -> bool:
        due = options.stop_after is not None and session.clock.now() - started >= options.stop_after
        return due or session.stopping

    def idle() -> bool:
        return session.may_give_up and not session.agenda and session.plane.idle()

    def report(progress: Progress) -> None:
        session.progress = progress
        session.transcript.progress(progress, session.clock.now())

    def run(clock: Clock) -> Outcome:
        boundary = Boundary(session.transcript, clock, moves, options.crash)
        return apply_plan(
            plan,
            session.plane,
            RecordedWriter(session.plane, boundary),
            RecordedJournal(session.journal, boundary),
            clock,
            plan_digest=digest(plan),
            settings=options.settings,
            report=report,
            stop=stop,
            idle=idle,
            arrived=session.journal.arrived,
            verb=options.verb,
        )

    _ = session.plane
    session.process = Process(session.clock, run)


def _continue(session: Session, options: _ApplyOptions) -> str:
    until = options.until
    reached = never if until is None else lambda: _has_reached(session, *until)
    session.may_give_up = until is None and options.seconds is None
    limit = session.clock.now() + (options.seconds or LONGEST_APPLY_SECONDS)
    session.advance_to(limit, reached)
    return _ended(session) or _at_rest(session)


def _has_reached(session: Session, name: TopicPartition, reached: HasReached) -> bool:
    own = session.ledger().owned.get(name)
    partition = session.plane.simulation.cluster.partition(name)
    return own is not None and partition is not None and reached(own, partition)


def _at_rest(session: Session) -> str:
    return f"running, {counts(session.progress)}" if session.progress is not None else "running"


def _ended(session: Session) -> str:
    """How the process ended, once; nothing while it lives or where there is none."""
    process = session.process
    if process is None or process.end is None:
        return ""
    session.process = None
    match process.end:
        case Outcome() as outcome:
            return _in_words(outcome)
        case Killed():
            return "killed"
        case ReplanError() as error:
            return error_text(error)


def _in_words(outcome: Outcome) -> str:
    stopped = [r for r in outcome.results if r.result in STOPPED]
    lines = [f"{r.result}: {r.message}" for r in stopped]
    lines += map(refused_line, outcome.refusals)
    return "\n".join([*lines, f"exit {int(outcome.exit_code)}: {outcome_text(outcome)}"])


def error_text(error: ReplanError) -> str:
    """An error as the command line would end with it."""
    return f"exit {int(error.exit_code)}: {error}"


REACHED: dict[str, HasReached] = {
    "expanded": lambda own, state: set(own.target) <= set(state.replicas),
    "in-sync": lambda own, state: set(own.target) <= set(state.isr),
    "assigned": lambda own, state: own.target == state.replicas,
    "done": lambda own, _state: own.status is Status.DONE,
}
