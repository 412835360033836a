"""The laws of a loop that reconciles, each a function that yields what does not hold of a run.

1. Nothing is done that policy does not allow: a round puts right kinds that policy names, each after it has lasted for
   its time as whoever made the history knows it, and moves only what these kinds explain; it begins in a window, not
   while as much is down as holds, and, after that, replaces nobody before the time of `brokerDown` has passed again.
2. What policy allows is put right within its time plus the copy, or a hold, a window or a rule names why; and a loop
   sees what is down at its next look.
3. After the last event the loop comes to rest: nothing runs, no application is open, no throttle of it is left, and
   what it says of holds is so. What needs a broker that is down waits for it, and says which. Each event makes so many
   rounds fail at most, or be given up.
4. Nothing swings: no partition goes back where it came from, unless an event since then asks for it.
5. What is copied: at most 1.2 times the replicas of a broker that never comes back, at most these of one that comes
   back later than its time, nothing of one that is back before.
6. The laws of `apply` hold meanwhile: a replica leaves only once the target has been in sync for the settle time, and
   no partition is under min ISR but for brokers that do not serve.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from math import inf

from tests.properties.loop_histories import (
    HOUR,
    SIZE,
    Broken,
    ByHand,
    Jump,
    KilledLoop,
    Left,
    Run,
    Stopped,
    Trouble,
    changes,
    spans,
)

from replan.applying.api import Settings, fold
from replan.model.api import DeviationKind, TopicPartition
from replan.planning.api import Move, Plan, Sample, Trajectory, digest, drops_only_what_was_replaced
from replan.reconciling.api import (
    BrokersDown,
    ListedDeviation,
    LoopHolds,
    LoopState,
    NeedsBrokers,
    NextStage,
    NoHistory,
    NotAllowed,
    PersonActs,
    RacksDown,
    Round,
    RoundResult,
    RunsElsewhere,
    TooEarly,
    WindowClosed,
    is_open,
    most_down,
)
from replan.rehearsal.api import throttles_of

SEEN_SECONDS = 60.0
"""From the death of a broker until every look shows it: its session ends, and metadata spreads."""
TRIES = 3
"""So many rounds come to nothing for each event, at most."""
ROUND_HOURS = 28.0
"""Before the end nothing has happened for so long that no round begins any more, with two hours for the last one."""


def broken(run: Run) -> Iterator[str]:
    """Everything that does not hold of a run."""
    yield from _tries(run)
    yield from _at_rest(run)
    yield from _in_sync(run)
    if _jumps(run):
        return  # what it says of times is of a clock that was wrong
    yield from _allowed(run)
    yield from _held(run)
    yield from _in_time(run)
    yield from _noticed(run)
    yield from _says_broken(run)
    yield from _swings(run)
    yield from _swings_within_brokers(run)
    yield from _drops(run)


def _jumps(run: Run) -> bool:
    return any(isinstance(e, Jump) for e in run.history.events)


def copies_too_much(run: Run, lasts: float) -> Iterator[str]:
    """Of a history in which one broker is away, for so long."""
    [away], [after] = run.history.away, run.history.policy.put_right.values()
    broker = away.brokers[0]
    held = sum(broker in of for of in run.history.base) * SIZE
    most = 1.2 * held if lasts == inf else 1.001 * held if lasts >= after else 0.0
    if run.copied > most:
        yield f"{run.copied / SIZE:.2f} replicas were copied, and {most / SIZE:.2f} are the most"
    partitions = run.month.simulation.cluster.topics["orders"].partitions.values()
    if lasts == inf and any(broker in p.replicas for p in partitions):
        yield f"broker {broker} never came back, and still has replicas"


def _rounds(run: Run) -> Iterator[tuple[Round, float, Plan]]:
    """Each round, when it began, and its plan."""
    plans = {digest(plan): plan for _, plan in run.seen.plans}
    for number in sorted(run.month.watched.rounds):
        done = run.month.watched.rounds[number]
        yield done, done.began_at - run.month.watched.began, plans[done.plan_digest]


def down(run: Run, broker: int, moment: float) -> float | None:
    """For how long a broker had been down at a moment, also by a disk that was full; None where it served."""
    found = [
        since
        for b, since, until in run.recorder.absent
        if b == broker and since <= moment and (until is None or moment < until)
    ]
    return moment - min(found) if found else None


def down_unseen(run: Run, broker: int, moment: float) -> float | None:
    """For how long a broker counts as down for whoever has not seen that it served in between."""
    lasts, unseen = down(run, broker, moment), run.history.every + _blind_seconds(run)
    if lasts is None:
        return None
    since = moment - lasts
    before = max(
        (
            a
            for b, a, e in run.recorder.absent
            if b == broker and e and since - unseen <= e <= since
        ),
        default=since,
    )
    return moment - before


def _blind_seconds(run: Run) -> float:
    """For how long no look could show anything, at most: nobody was at work, or nobody answered."""
    gaps = sum(e.gap for e in run.history.events if isinstance(e, KilledLoop))
    blind = (e for e in run.history.events if isinstance(e, Trouble | Broken | Stopped))
    silent = sum(e.until - e.at + 120 for e in blind)
    taken_over = 85.0 * (len(run.kills) if run.history.leased else 0)
    return gaps + silent + taken_over


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
            if not any(at - began >= after for began in _causes(run, kind)):
                yield f"round {done.number} puts {kind} right at {at:.0f}, too early"
        for move in plan.moves:
            if not any(_explains(run, kind, move, at) for kind in done.kinds):
                yield f"round {done.number} moves {move.partition} for none of {done.kinds}"
        kinds = {DeviationKind.LOG_DIR_FULL}
        kinds |= {DeviationKind.OUT_OF_BALANCE} if history.balanced_dirs else set()
        if plan.log_moves and not kinds & {*done.kinds}:
            yield f"round {done.number} moves logs for none of {done.kinds}"


def _causes(run: Run, kind: DeviationKind) -> Iterator[float]:
    """When something happened that may make a deviation of the kind."""
    history = run.history
    match kind:
        case DeviationKind.BROKER_DOWN:
            yield from (since for _, since, _ in run.recorder.absent)
        case DeviationKind.PLACEMENT_CHANGED:
            yield from (d.at for d in history.declared[1:])
            yield from _returns(run)
            yield from (end for end, _ in _given_up(run))
        case DeviationKind.CHANGED_ELSEWHERE:
            yield from (e.at for e in history.by_hand)
        case DeviationKind.LOG_DIR_FULL | DeviationKind.OUT_OF_BALANCE:
            yield 0.0
        case _:
            yield from (e.at for e in history.events)


def _given_up(run: Run) -> Iterator[tuple[float, set[TopicPartition]]]:
    """When rounds were cancelled, and what they had: what stays half done counts as a changed placement."""
    for done, _, plan in _rounds(run):
        if done.result is RoundResult.CANCELLED:
            yield done.ended_at - run.month.watched.began, {m.partition for m in plan.moves}


def _returns(run: Run) -> Iterator[float]:
    """When brokers came back that were replaced by rule: with them the rule may ask for other lists."""
    if run.history.by_rule and DeviationKind.BROKER_DOWN in run.history.policy.put_right:
        yield from (until for _, _, until in run.recorder.absent if until is not None)


def _explains(run: Run, kind: DeviationKind, move: Move, at: float) -> bool:
    """Whether a kind is a reason for a move, by what has happened."""
    history, number = run.history, move.partition.partition
    since = at - history.policy.put_right[kind]
    match kind:
        case DeviationKind.BROKER_DOWN:
            lasted = (down_unseen(run, b, at) for b in move.original)
            return any(d is not None and d >= at - since for d in lasted)
        case DeviationKind.PLACEMENT_CHANGED:
            changed = any(
                d.at <= since and (history.by_rule or d.lists[number] != before.lists[number])
                for before, d in changes(history)
            )
            left = any(end <= since and move.partition in names for end, names in _given_up(run))
            return changed or left or any(moment <= since for moment in _returns(run))
        case DeviationKind.CHANGED_ELSEWHERE:
            return any(e.number == number and e.at <= since for e in history.by_hand)
        case DeviationKind.LEADERSHIP_MOVED:
            return set(move.original) == set(move.target)
        case _:
            may = {
                DeviationKind.OUT_OF_BALANCE: history.balanced,
                DeviationKind.LOG_DIR_FULL: history.by_rule,
            }
            return may.get(kind, False)


def _held(run: Run) -> Iterator[str]:
    """No round begins while too much is down, and no broker is replaced before its time has begun again after that."""
    spans, policy = list(_too_much_down(run)), run.history.policy
    after = policy.put_right.get(DeviationKind.BROKER_DOWN, 0)
    for done, at, _ in _rounds(run):
        for begin, end in spans:
            if begin + SEEN_SECONDS < at < end:
                yield f"round {done.number} begins at {at:.0f}, and holds from {begin:.0f} to {end:.0f}"
            visible = end - begin > run.history.every + SEEN_SECONDS + _blind_seconds(run)
            early = visible and end <= at < end + after - SEEN_SECONDS
            if early and set(done.kinds) == {DeviationKind.BROKER_DOWN}:
                yield f"round {done.number} replaces at {at:.0f}, and held until {end:.0f}"


def _too_much_down(run: Run) -> Iterator[tuple[float, float]]:
    """When as much was down as holds, without a break."""
    history, hold = run.history, run.history.policy.hold
    moments = sorted({t for _, a, b in run.recorder.absent for t in (a, b) if t is not None})
    began: float | None = None
    for moment in [*moments, run.month.seconds]:
        gone = {b for b in range(1, history.brokers + 1) if down(run, b, moment) is not None}
        racks = {history.rack(b) for b in range(1, history.brokers + 1)}
        dark = racks - {history.rack(b) for b in range(1, history.brokers + 1) if b not in gone}
        much = len(gone) >= most_down(hold, history.brokers) or len(dark) >= hold.racks_down
        if much and began is None:
            began = moment
        if began is not None and not much:
            yield began, moment
            began = None
    if began is not None:
        yield began, run.month.seconds


def _in_time(run: Run) -> Iterator[str]:
    """What is due is put right by the next round, or says what is in the way, and that is so."""
    open_for, late = defaultdict[str, float](float), 2 * run.history.every + 60
    late += _blind_seconds(run)
    for now, later in pairwise(run.seen.statuses):
        if now.state in {LoopState.ACTING, LoopState.ENDED, LoopState.STARTING}:
            continue
        seen = set()
        for one in now.deviations:
            key = f"{one.kind} {one.subject}"
            seen.add(key)
            if (
                now.state in _LOOKS
                and (wrong := _why(run, one, now.at, reasons=bool(now.reasons))) is not None
            ):
                yield f"at {now.at - run.month.watched.began:.0f}: {key}: {wrong}"
            if one.due_at is not None and one.why_not is None and not now.reasons:
                open_for[key] += later.at - max(now.at, one.due_at)
                if open_for[key] > late:
                    yield f"{key} is due since {one.due_at - run.month.watched.began:.0f}, and waits for nothing"
        for key in open_for.keys() - seen:
            del open_for[key]


def _why(run: Run, one: ListedDeviation, now: float, *, reasons: bool) -> str | None:
    """What is not so of the reason for which something is not put right."""
    policy, why = run.history.policy, one.why_not
    allowed = one.kind in policy.put_right
    match why:
        case NotAllowed():
            by_hand = {e.number for e in run.history.by_hand}
            unknown = one.kind is DeviationKind.CHANGED_ELSEWHERE and one.drift == "lists-differ"
            wrong = allowed or (unknown and one.subject.partition not in by_hand)
        case TooEarly():
            wrong = one.due_at is None or one.due_at <= now
        case WindowClosed():
            wrong = is_open(policy.windows.open, now)
        case LoopHolds():
            wrong = not reasons
        case RunsElsewhere():
            wrong = not run.history.by_hand
        case NeedsBrokers(brokers):
            wrong = not all(_away(run, b, now - run.month.watched.began) for b in brokers)
        case NoHistory() | NextStage():
            wrong = True
        case PersonActs():
            wrong = one.kind is not None
        case _:
            wrong = False
    return f"{why} is not so" if wrong else None


def _away(run: Run, broker: int, moment: float) -> bool:
    """Whether a broker was down when the round looked that ended at a moment."""
    return any(
        b == broker and since <= moment and (until is None or moment < until + SEEN_SECONDS)
        for b, since, until in run.recorder.absent
    )


def _says_broken(run: Run) -> Iterator[str]:
    """While the placement cannot be read a loop says so, once it has read it."""
    for of in spans(run.history, Broken):
        known = of.at + run.history.every + 60 + _blind_seconds(run) - (of.until - of.at + 120)
        for now in run.seen.statuses:
            at = now.at - run.month.watched.began
            if known < at < of.until and now.state in _LOOKS:
                yield f"at {at:.0f} it is {now.state}, and the placement is broken from {of.at:.0f}"


def _noticed(run: Run) -> Iterator[str]:
    """A broker that is down is known as that, since a moment of this outage, by whoever could look."""
    began = run.month.watched.began
    for now in run.seen.statuses:
        at = now.at - began
        for one in now.deviations:
            broker = one.subject.broker
            if one.kind is not DeviationKind.BROKER_DOWN or broker is None or now.looked_at is None:
                continue
            lasts = down(run, broker, now.looked_at - began)
            if lasts is None:
                continue  # it came back as it was looked at, or the look is an old one
            since = now.looked_at - began - lasts
            between = down_unseen(run, broker, now.looked_at - began) != lasts
            if not between and one.since < now.looked_at - lasts - 1:
                yield f"at {at:.0f} broker {broker} is down since {one.since - began:.0f}, not {since:.0f}"


def _tries(run: Run) -> Iterator[str]:
    """Rounds come to nothing for what happened, each event a few times: nothing is tried again and again."""
    in_vain = [
        d for d, _, _ in _rounds(run) if d.result not in {RoundResult.DONE, RoundResult.PARTLY}
    ]
    if not run.history.policy.windows.open and len(in_vain) > TRIES * (1 + len(run.history.events)):
        yield f"{len(in_vain)} rounds came to nothing, of {len(run.history.events)} events"


def _at_rest(run: Run) -> Iterator[str]:
    month, last, history = run.month, run.month.watched.before_the_end, run.history
    gone = {b for b in range(1, history.brokers + 1) if down(run, b, month.seconds) is not None}
    if fold(run.journal.read()).application is not None:
        yield "an application is open at the end"
    yield from _left(run, gone)
    if last is None or last.state not in _RESTS:
        yield f"it ends {last and last.state} {last and last.reasons}"
        return
    for reason in last.reasons:
        brokers = isinstance(reason, BrokersDown) and len(gone) < reason.most
        if brokers or (isinstance(reason, RacksDown) and not gone):
            yield f"it holds at the end for {reason}"
    for done, at, _ in () if _jumps(run) else _rounds(run):
        if at > month.seconds - (30.0 - ROUND_HOURS) * HOUR:
            yield f"round {done.number} of {done.kinds} begins at {at:.0f}, just before the end"


def _left(run: Run, gone: set[int]) -> Iterator[str]:
    """What is left in the cluster that nobody needs.

    What a person asked for may never end: of a broker that is down, or whose disk is full, of a partition without a
    leader, or where a list took another one back in part, since Kafka waits for all that is being added, also where
    that is being removed.
    """
    cluster, history = run.month.simulation.cluster, run.history
    asked = {e.number for e in history.by_hand if not _moved_since(run, e)}
    for number, one in cluster.topics["orders"].partitions.items():
        if one.reassigning and number not in asked:
            yield f"a reassignment of {number} runs at the end"
    left = {(b, k) for _, b, k in throttles_of(cluster) if b not in map(str, gone)}
    tools = {(str(e.broker), e.key) for e in history.events if isinstance(e, Left)}
    if left - tools:
        yield f"throttles are left: {sorted(left - tools)}"


def _moved_since(run: Run, by_hand: ByHand) -> bool:
    """Whether a round has moved what a person had moved before it; by no round where a clock was wrong."""
    name, jumps = run.history.names[by_hand.number], _jumps(run)
    return any(
        not jumps and at > by_hand.at and name in {m.partition for m in plan.moves}
        for _, at, plan in _rounds(run)
    )


_RESTS = frozenset(
    {LoopState.AT_REST, LoopState.DIFFERS, LoopState.HOLDING, LoopState.OUTSIDE_WINDOW}
)
_LOOKS = _RESTS | {LoopState.WAITING, LoopState.BACKING_OFF}


def _swings(run: Run) -> Iterator[str]:
    moved = defaultdict[TopicPartition, list[tuple[float, Move]]](list)
    for done, at, plan in _rounds(run):
        for move in plan.moves:
            for before, first in moved[move.partition]:
                back = set(move.target) == set(first.original) != set(first.target)
                if back and not _asked_since(run, first, before, at, done):
                    yield f"{move.partition} goes back to {move.target} at {at:.0f}"
            moved[move.partition].append((at, move))


def _swings_within_brokers(run: Run) -> Iterator[str]:
    """No replica goes back to a log directory where it was, unless something happened, or lists were moved, since."""
    happened = [e.at for e in run.history.events] + list(_returns(run))
    left = defaultdict[tuple[TopicPartition, int], list[tuple[float, str]]](list)
    for done, at, plan in _rounds(run):
        for move in plan.log_moves:
            for before, path in left[move.replica]:
                if path == move.target and not any(before <= t <= at for t in happened):
                    yield f"round {done.number}: {move.partition} goes back to {path} of {move.broker}"
            left[move.replica].append((at, move.source))
        happened += [at] if plan.moves else []


def _asked_since(run: Run, first: Move, before: float, at: float, done: Round) -> bool:
    """Whether something since the first move asks for another one.

    A placement, a person, the end of a broker; for the balance, and for where there is room, the return of one.
    """
    history, number, every = run.history, first.partition.partition, run.history.every
    if any(d.at > before - every for d in history.declared[1:]):
        return True
    if any(e.number == number and e.at <= at for e in history.by_hand) or run.cancels:
        return True
    kinds = {*done.kinds}
    if DeviationKind.OUT_OF_BALANCE in kinds and any(before <= e.at <= at for e in history.by_hand):
        return True
    by_returns = kinds & {
        DeviationKind.OUT_OF_BALANCE,
        DeviationKind.PLACEMENT_CHANGED,
        DeviationKind.LOG_DIR_FULL,
    }
    if by_returns and any(before - every < until <= at for until in _returns(run)):
        return True
    return any(down(run, b, at) is not None for b in first.target)


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


def _in_sync(run: Run) -> Iterator[str]:
    """A partition is under min ISR only for replicas whose brokers do not serve, or have served again for a while.

    One without a leader has nobody from whom another replica could copy, so a single broker of it is enough.
    """
    for name, ours in run.recorder.trajectories().items():
        ends = [*(s.at for s in ours.samples[1:]), ours.ended]
        for sample, until in zip(ours.samples, ends, strict=True):
            spared = len(sample.replicas) - len(sample.adding) - sample.min_in_sync
            spared = spared if sample.leader is not None else 0
            below = sample.margin < 0 and until - sample.at > SEEN_SECONDS
            if below and len(_excused(run, sample)) <= spared:
                yield f"{name} is under min ISR from {sample.at:.0f} to {until:.0f}: {sample}"


def _excused(run: Run, sample: Sample) -> set[int]:
    """The brokers of a list that do not serve, or did not within the last two hours, or have a disk that was filled."""
    absent = {
        b
        for b, since, until in run.recorder.absent
        if since <= sample.at + SEEN_SECONDS and (until is None or sample.at < until + 2 * HOUR)
    }
    filled = {b for b, _, at in run.recorder.full if at <= sample.at + SEEN_SECONDS}
    return {int(b) for b in sample.replicas if b in absent or b in filled}
