"""The laws of a loop that reconciles, on drawn histories: brokers, racks and disks fail, people and tools act.

1. Nothing is done that policy does not allow: a round puts right kinds that policy names, each after it has lasted for
   its time as whoever made the history knows it, and moves only what these kinds explain; it begins in a window.
2. What policy allows is put right within its time plus the copy, or a hold, a window or a rule names why.
3. After the last event the loop comes to rest: nothing runs, no application is open, no throttle of it is left, and
   what it says of holds is so. But where a list names a broker that is down for good, or an open application has a
   partition with a replica there, the loop tries again, less and less often, and says so.
4. Nothing swings: no partition goes back where it came from, unless an event since then asks for it.
5. What is copied: at most 1.2 times the replicas of a broker that never comes back, at most these of one that comes
   back later than its time, nothing of one that is back before.
6. The law of `apply` holds meanwhile: a replica leaves only once the target has been in sync for the settle time.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from math import inf

from hypothesis import given
from hypothesis import strategies as st
from tests.properties.hostile import as_found
from tests.properties.loop_histories import (
    BASE,
    EVERY,
    HOUR,
    MB,
    SIZE,
    Away,
    History,
    Left,
    Run,
    happens,
    histories,
)

from replan.applying.journal.ledger import fold
from replan.applying.settings import Settings
from replan.model.declared.reconcile import DeviationKind, Reconcile
from replan.model.names import BrokerId, TopicPartition
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.planning.safety.run_invariants import drops_only_what_was_replaced
from replan.planning.safety.trajectory import Trajectory
from replan.reconciling.status import (
    BrokersDown,
    Deviation,
    LoopHolds,
    LoopState,
    NextStage,
    NoHistory,
    NotAllowed,
    PersonActs,
    RacksDown,
    Round,
    RunsElsewhere,
    TooEarly,
    WindowClosed,
)
from replan.reconciling.windows import is_open
from replan.rehearsal.recording import throttles_of

HARD = as_found(fast=5, full=15, nightly=4_000)
BROKER = as_found(fast=3, full=10, nightly=1_000)
LATE_SECONDS = 2 * EVERY + 60
"""A round that looks, and one that acts."""


def broken(run: Run) -> Iterator[str]:
    """Everything that does not hold of a run."""
    yield from _allowed(run)
    yield from _in_time(run)
    yield from _at_rest(run)
    yield from _swings(run)
    yield from _drops(run)


def _rounds(run: Run) -> Iterator[tuple[Round, float, Plan]]:
    """Each round, when it began, and its plan."""
    plans = {digest(plan): plan for _, plan in run.seen.plans}
    for number in sorted(run.month.watched.rounds):
        done = run.month.watched.rounds[number]
        yield done, done.began_at - run.month.watched.began, plans[done.plan_digest]


def _allowed(run: Run) -> Iterator[str]:
    history = run.history
    windows = history.policy.windows
    for done, at, plan in _rounds(run):
        if not set(done.kinds) <= history.policy.put_right.keys() or not done.kinds:
            yield f"round {done.number} puts right {done.kinds}"
        if not set(done.kinds) <= windows.excepted and not is_open(windows.open, done.began_at):
            yield f"round {done.number} begins outside of the windows"
        for kind in done.kinds:
            after = history.policy.put_right[kind]
            if not any(at - began >= after for began in _causes(history, kind)):
                yield f"round {done.number} puts {kind} right at {at:.0f}, too early"
        for move in plan.moves:
            if not any(_explains(history, kind, move, at) for kind in done.kinds):
                yield f"round {done.number} moves {move.partition} for none of {done.kinds}"


def _causes(history: History, kind: DeviationKind) -> Iterator[float]:
    """When something happened that may make a deviation of the kind."""
    match kind:
        case DeviationKind.BROKER_DOWN:
            yield from (e.at for e in history.away)
        case DeviationKind.PLACEMENT_CHANGED:
            yield from (d.at for d in history.declared[1:])
        case DeviationKind.CHANGED_ELSEWHERE:
            yield from (e.at for e in history.by_hand)
        case _:
            yield from (e.at for e in history.events)


def _explains(history: History, kind: DeviationKind, move: Move, at: float) -> bool:
    """Whether a kind is a reason for a move, by what has happened."""
    after = history.policy.put_right[kind]
    number = move.partition.partition
    match kind:
        case DeviationKind.BROKER_DOWN:
            return any((history.down(b, at) or -1) >= after for b in move.original)
        case DeviationKind.PLACEMENT_CHANGED:
            return any(
                d.at <= at - after and (history.by_rule or d.lists[number] != before.lists[number])
                for before, d in pairwise(history.declared)
            )
        case DeviationKind.CHANGED_ELSEWHERE:
            return any(e.number == number and e.at <= at - after for e in history.by_hand)
        case DeviationKind.LEADERSHIP_MOVED:
            return set(move.original) == set(move.target)
        case _:
            return False


def _in_time(run: Run) -> Iterator[str]:
    """What is due is put right by the next round, or says what is in the way, and that is so."""
    history, open_for = run.history, defaultdict[str, float](float)
    for now, later in pairwise(run.seen.statuses):
        if now.state in {LoopState.ACTING, LoopState.ENDED, LoopState.STARTING}:
            continue
        seen = set()
        for one in now.deviations:
            key = f"{one.kind} {one.subject}"
            seen.add(key)
            if (wrong := _why(history, one, now.at, reasons=bool(now.reasons))) is not None:
                yield f"at {now.at - run.month.watched.began:.0f}: {key}: {wrong}"
            if one.due_at is not None and one.why_not is None and not now.reasons:
                open_for[key] += later.at - max(now.at, one.due_at)
                if open_for[key] > LATE_SECONDS:
                    yield f"{key} is due since {one.due_at - run.month.watched.began:.0f}, and waits for nothing"
        for key in open_for.keys() - seen:
            del open_for[key]


def _why(history: History, one: Deviation, now: float, *, reasons: bool) -> str | None:
    """What is not so of the reason for which something is not put right."""
    policy, why = history.policy, one.why_not
    allowed = one.kind in policy.put_right
    match why:
        case NotAllowed():
            by_hand = {e.number for e in history.by_hand}
            unknown = one.kind is DeviationKind.CHANGED_ELSEWHERE and one.drift == "lists-differ"
            wrong = allowed or (unknown and one.subject.partition not in by_hand)
        case TooEarly():
            wrong = one.due_at is None or one.due_at <= now
        case WindowClosed():
            wrong = is_open(policy.windows.open, now)
        case LoopHolds():
            wrong = not reasons
        case RunsElsewhere():
            wrong = not history.by_hand
        case NoHistory() | NextStage():
            wrong = True
        case PersonActs():
            wrong = one.kind is not None
        case _:
            wrong = False
    return f"{why} is not so" if wrong else None


def _at_rest(run: Run) -> Iterator[str]:
    month, last = run.month, run.month.watched.before_the_end
    cluster = month.simulation.cluster
    partitions = cluster.topics["orders"].partitions.values()
    down = {b for b in range(1, 7) if run.history.down(b, month.seconds) is not None}
    opened = fold(run.journal.read()).application is not None
    if opened and any(down & {*p.replicas} for p in partitions):
        if last is None or last.state not in {LoopState.ACTING, LoopState.BACKING_OFF}:
            yield f"it waits for a broker that is down, and says {last and last.state}"
        return
    if opened:
        yield "an application is open at the end"
    asked = {e.number for e in run.history.by_hand if down & {*e.target}}
    for number, one in cluster.topics["orders"].partitions.items():
        if (
            one.reassigning and number not in asked
        ):  # a person's, to a broker that is down, never ends
            yield f"a reassignment of {number} runs at the end"
    left = {(b, k) for _, b, k in throttles_of(cluster)}
    tools = {(str(e.broker), e.key) for e in run.history.events if isinstance(e, Left)}
    if left - tools:
        yield f"throttles are left: {sorted(left - tools)}"
    dead = any(down & {*of} for of in run.history.declared[-1].lists) and not run.history.by_rule
    tries = last is not None and last.state in {LoopState.ACTING, LoopState.BACKING_OFF} and dead
    if last is None or not (tries or last.state in _RESTS):
        yield f"it ends {last and last.state} {last and last.reasons}"
        return
    for reason in last.reasons:
        if isinstance(reason, BrokersDown | RacksDown) and len(down) < 2:
            yield f"it holds at the end for {reason}"


_RESTS = frozenset(
    {LoopState.AT_REST, LoopState.DIFFERS, LoopState.HOLDING, LoopState.OUTSIDE_WINDOW}
)


def _swings(run: Run) -> Iterator[str]:
    moved = defaultdict[TopicPartition, list[tuple[float, Move]]](list)
    for _, at, plan in _rounds(run):
        for move in plan.moves:
            for before, first in moved[move.partition]:
                back = set(move.target) == set(first.original) != set(first.target)
                if back and not _asked_since(run.history, first, before, at):
                    yield f"{move.partition} goes back to {move.target} at {at:.0f}"
            moved[move.partition].append((at, move))


def _asked_since(history: History, first: Move, before: float, at: float) -> bool:
    """Whether something since the first move asks for another one: a placement, a person, the end of a broker."""
    number = first.partition.partition
    if any(d.at > before - EVERY for d in history.declared[1:]):
        return True
    if any(e.number == number and e.at <= at for e in history.by_hand):
        return True
    return any(history.down(b, at) is not None for b in first.target)


def _drops(run: Run) -> Iterator[str]:
    """Of each move of each round, while nobody else moves the partition."""
    histories_of = run.recorder.trajectories()
    settle = Settings().settle_seconds
    for done, at, plan in _rounds(run):
        until = done.ended_at - run.month.watched.began
        for move in plan.moves:
            if any(at - HOUR <= e.at <= until for e in run.history.by_hand):
                continue
            ours = _within(histories_of[move.partition], at, until)
            for found in drops_only_what_was_replaced(move, ours, settle):
                yield found.message


def _within(ours: Trajectory, began: float, until: float) -> Trajectory:
    first = ours.at(began)
    inside = tuple(s for s in ours.samples if began < s.at <= until)
    return Trajectory(ours.partition, (first, *inside), until)


@HARD
@given(histories())
def test_a_loop_keeps_its_laws_whatever_happens(history: History) -> None:
    run = happens(history)
    assert list(broken(run)) == []


@st.composite
def one_broker_away(draw: st.DrawFn) -> tuple[History, float]:
    """One broker dies, by rule, and comes back or never does; with after how long it is replaced."""
    after = draw(st.sampled_from([0, 600, 1_800, 7_200]))
    rate = draw(st.sampled_from([None, 2 * MB, 300_000, 100_000]))
    lasts = draw(
        st.sampled_from(
            [inf, 30.0, 300.0, after - 120.0, after + 1_500.0, after + 2_400.0, 9 * HOUR]
        )
    )
    at = draw(st.sampled_from([1.0, 1.13, 4.7])) * HOUR
    broker = draw(st.integers(1, 6))
    away = Away((broker,), at, at + max(30.0, lasts), "kill")
    policy = Reconcile({DeviationKind.BROKER_DOWN: after})
    return History(policy, True, rate, (away,), at / HOUR + 16), away.until - at


@BROKER
@given(one_broker_away())
def test_a_broker_that_is_away_costs_at_most_its_replicas_once(
    drawn: tuple[History, float],
) -> None:
    history, lasts = drawn
    [away] = history.away
    [after] = history.policy.put_right.values()
    run = happens(history)
    held = sum(away.brokers[0] in of for of in BASE) * SIZE
    most = 1.2 * held if lasts == inf else 1.001 * held if lasts >= after else 0.0
    assert run.copied <= most
    assert list(broken(run)) == []
    if lasts == inf:
        lists = run.month.simulation.cluster.topics["orders"].partitions.values()
        assert all(BrokerId(away.brokers[0]) not in p.replicas for p in lists)
