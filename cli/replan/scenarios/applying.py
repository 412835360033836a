"""`apply`, `resume`, `interrupt`, `clear`, `tick`: the real applier on the cluster, in virtual time.

`apply` begins a process, or lets the one that is at rest go on. It ends, is interrupted, is killed, or comes to rest
where the story says so; then it waits for the story, and works along while time passes.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from replan.applying.clear import throttle_clear
from replan.applying.journal.records import Status
from replan.applying.loop import apply_plan
from replan.applying.outcome import Outcome, Result
from replan.applying.progress import Progress
from replan.applying.settings import Settings
from replan.errors import ReplanError, UnsafePlan
from replan.faults.token_reader import Words
from replan.model.control_plane import Clock
from replan.model.names import TopicPartition
from replan.planning.plan import Plan
from replan.planning.plan_file import digest, loads
from replan.reporting.progress_text import counts
from replan.scenarios.effect_boundary import Boundary, Crash, ToldControlPlane, ToldJournal
from replan.scenarios.planning import planned
from replan.scenarios.process import Killed, Process
from replan.scenarios.session import Story

OWNER = "ann@ops-1"
LONGEST_SECONDS = 3_600.0
"""Of one `apply`; then it comes to rest by itself."""
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")

Reached = Callable[[Story, TopicPartition], bool]


@dataclass(slots=True)
class _Wish:
    """What one `apply` asks for."""

    seconds: float = LONGEST_SECONDS
    until: tuple[TopicPartition, Reached] | None = None
    stop_after: float | None = None
    crash: Crash | None = None
    settings: Settings = Settings(owner=OWNER)  # noqa: RUF009 - a frozen value
    starts: bool = False
    """It says something that only a process that begins can take."""


def apply(story: Story, words: Words, _body: Sequence[str]) -> str:
    """Begin or go on: `[briefly] [until orders-0 expanded|in-sync|assigned|done] [for 30s] [stop after 10s]
    [crash before|after 3rd effect] [slots 1] [settle 15s] [give up after 2m]`.
    """
    story.chronicle.briefly = words.phrase("briefly")
    wish = _wish(words)
    if story.process is None:
        plan = planned(story) if story.plan is None else story.plan
        _check_refusals(plan)
        _begin(story, plan, wish)
    elif wish.starts:
        raise words.wrong("a process is running; only `for` and `until` can be said to it")
    return _let_go(story, wish)


def resume(story: Story, words: Words, _body: Sequence[str]) -> str:
    """`resume`: another process, on another machine, goes on with the plan that the journal holds."""
    if story.process is not None:
        raise words.wrong("a process is running; it needs no other one")
    application = story.ledger().application
    if application is None:
        raise words.wrong("no application is open")
    story.chronicle.briefly = words.phrase("briefly")
    wish = _wish(words)
    plan = loads(story.ledger().plan_text(application.id), "journal")
    _begin(story, plan, wish)
    return _let_go(story, wish)


def interrupt(story: Story, words: Words, _body: Sequence[str]) -> str:
    """`interrupt`: ^C to the process that is running."""
    words.end()
    if story.process is None:
        raise words.wrong("no process is running")
    story.stopping = True
    return _let_go(story, _Wish())


def kill_process(story: Story, words: Words, _body: Sequence[str]) -> str:
    """`crash`: the process dies where it stands."""
    words.end()
    if story.process is None:
        raise words.wrong("no process is running")
    story.process.kill()
    return _ended(story)


def clear(story: Story, words: Words, _body: Sequence[str]) -> str:
    """`clear`: `replan throttle clear`, to its end."""
    words.end()
    if story.process is not None:
        raise words.wrong("a process is running")

    def report(text: str) -> None:
        story.chronicle.tell(story.clock.now(), text)

    def run(clock: Clock) -> Outcome:
        plane = ToldControlPlane(story.plane, Boundary(story.chronicle, clock, {}))
        settings = Settings(owner=OWNER)
        return throttle_clear(plane, story.journal, clock, settings=settings, report=report)

    story.process = Process(story.clock, run)
    return _let_go(story, _Wish())


def tick(story: Story, words: Words, _body: Sequence[str]) -> str:
    """`tick 30s`: time passes; a process that is running works along."""
    seconds = words.seconds()
    words.end()
    story.let_pass(story.clock.now() + seconds)
    return _ended(story)


def _wish(words: Words) -> _Wish:
    wish = _Wish()
    while words:
        if words.phrase("until"):
            wish.until = words.partition(), words.choose("something to wait for", REACHED)
        elif words.phrase("for"):
            wish.seconds = words.seconds()
        else:
            wish.starts = True
            _starting(words, wish)
    return wish


def _starting(words: Words, wish: _Wish) -> None:
    if words.phrase("stop", "after"):
        wish.stop_after = words.seconds()
    elif words.phrase("crash"):
        before = words.choose("before or after", {"before": True, "after": False})
        found = _ORDINAL.fullmatch(words.one("which effect, e.g. 3rd"))
        if found is None:
            raise words.wrong("say which effect as 1st, 2nd, 3rd, 4th")
        words.expect("effect")
        wish.crash = Crash(int(found[1]), before)
    elif words.phrase("slots"):
        wish.settings = replace(wish.settings, slots_per_broker=words.number("a number of slots"))
    elif words.phrase("settle"):
        wish.settings = replace(wish.settings, settle_seconds=words.seconds())
    elif words.phrase("give", "up", "after"):
        wish.settings = replace(wish.settings, give_up_seconds=words.seconds())
    else:
        words.end()


def _check_refusals(plan: Plan) -> None:
    if plan.refusals:
        named = "\n".join(f"{r.message}  [{r.rule}]" for r in plan.refusals)
        raise UnsafePlan(f"a plan with refusals is not performed in part:\n{named}")


def _begin(story: Story, plan: Plan, wish: _Wish) -> None:
    began = story.clock.now()
    story.stopping = False
    story.chronicle.process_begins()
    moves = {m.partition: m for m in plan.moves}

    def stop() -> bool:
        due = wish.stop_after is not None and story.clock.now() - began >= wish.stop_after
        return due or story.stopping

    def report(progress: Progress) -> None:
        story.progress = progress
        story.chronicle.progress(progress, story.clock.now())

    def run(clock: Clock) -> Outcome:
        boundary = Boundary(story.chronicle, clock, moves, wish.crash)
        return apply_plan(
            plan,
            ToldControlPlane(story.plane, boundary),
            ToldJournal(story.journal, boundary),
            clock,
            plan_digest=digest(plan),
            settings=wish.settings,
            report=report,
            stop=stop,
        )

    _ = story.plane
    story.process = Process(story.clock, run)


def _let_go(story: Story, wish: _Wish) -> str:
    until = wish.until
    reached = None if until is None else lambda: until[1](story, until[0])
    limit = story.clock.now() + wish.seconds
    story.let_pass(limit, _never if reached is None else reached)
    return _ended(story) or _at_rest(story)


def _never() -> bool:
    return False


def _at_rest(story: Story) -> str:
    return f"running, {counts(story.progress)}" if story.progress is not None else "running"


def _ended(story: Story) -> str:
    """How the process ended, once; nothing while it lives or where there is none."""
    process = story.process
    if process is None or process.end is None:
        return ""
    story.process = None
    match process.end:
        case Outcome() as outcome:
            return _in_words(outcome)
        case Killed():
            return "killed"
        case ReplanError() as error:
            return refused(error)


def _in_words(outcome: Outcome) -> str:
    stopped = [r for r in outcome.results if r.result in STOPPED]
    lines = [f"{r.result}: {r.message}" for r in stopped]
    return "\n".join([*lines, f"exit {int(outcome.exit_code)}: {outcome.text}"])


def refused(error: ReplanError) -> str:
    """An error as the command line would end with it."""
    return f"exit {int(error.exit_code)}: {error}"


STOPPED = (Result.STALE, Result.REJECTED, Result.FOREIGN)


def _expanded(story: Story, name: TopicPartition) -> bool:
    partition = story.plane.simulation.cluster.partition(name)
    own = story.ledger().owned.get(name)
    return own is not None and partition is not None and set(own.target) <= set(partition.replicas)


def _in_sync(story: Story, name: TopicPartition) -> bool:
    partition = story.plane.simulation.cluster.partition(name)
    own = story.ledger().owned.get(name)
    return own is not None and partition is not None and set(own.target) <= set(partition.isr)


def _assigned(story: Story, name: TopicPartition) -> bool:
    partition = story.plane.simulation.cluster.partition(name)
    own = story.ledger().owned.get(name)
    return own is not None and partition is not None and own.target == partition.replicas


def _done(story: Story, name: TopicPartition) -> bool:
    own = story.ledger().owned.get(name)
    return own is not None and own.status is Status.DONE


REACHED: dict[str, Reached] = {
    "expanded": _expanded,
    "in-sync": _in_sync,
    "assigned": _assigned,
    "done": _done,
}
