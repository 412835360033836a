"""What a loop does now: a pure function of policy, deviations, memory, what the cluster looks like, and the time.

The order is that of the states in the package. A hold outweighs what is due; what is due and has a window open is done,
all of it together; else the loop rests until the next thing is due, a window opens, or a hold may be over.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import ceil, inf

from msgspec import Struct
from msgspec.structs import replace

from replan.model.declared.reconcile import DeviationKind, HoldLimits, Reconcile
from replan.model.names import TopicPartition
from replan.planning.plans.standing_throttles import ThrottleSetting
from replan.reconciling.memory import OFTEN, Memory
from replan.reconciling.status import (
    LISTED_DEVIATIONS,
    BrokersDown,
    LoopReason,
    LoopState,
    MovedTooOften,
    NotAllowed,
    RacksDown,
    RoundsFail,
    SomebodyPaused,
    Subject,
    TooEarly,
    UnderMinIsr,
    WhyNot,
    WindowClosed,
)
from replan.reconciling.windows import is_open, opens_at
from replan.wording import DAY_SECONDS

LEAST_OF_A_SHARE = 2
"""One broker of a small cluster is a share of it, and is what `brokerDown` is for."""


FREED_SECONDS = 120.0
"""So long after a round a directory that is still full is left alone: what has left it gives its room back once its
files are deleted (file.delete.delay.ms: 60 s)."""


class Deviation(Struct, frozen=True):
    """One thing that is not as it is declared, before anybody has asked whether it may be put right."""

    kind: DeviationKind | None
    """None: no policy puts it right."""
    subject: Subject
    key: str
    """What it is known by from round to round; it begins with the kind, if there is one."""
    partitions: tuple[TopicPartition, ...] = ()
    """What putting it right would change."""
    declared: tuple[int, ...] = ()
    observed: tuple[int, ...] = ()
    drift: str = ""
    setting: ThrottleSetting | None = None
    """Of a throttle: what putting it right would change."""
    why: WhyNot | None = None
    """Why it is not put right, whatever the policy says."""


_KINDS = {kind.value: kind for kind in DeviationKind}


def kind_of(key: str) -> DeviationKind | None:
    """The kind of what a key stands for."""
    return _KINDS.get(key.partition(" ")[0])


class HoldFacts(Struct, frozen=True):
    """What decides whether a loop holds."""

    registered: int
    down: tuple[int, ...] = ()
    """Registered brokers that do not serve."""
    racks_down: tuple[str, ...] = ()
    """Racks of registered brokers none of which serves."""
    due_to_be_replaced: tuple[int, ...] = ()
    """Brokers that died since the round began that is at work, for as long ago as policy says."""
    under: tuple[str, ...] = ()
    """Partitions that came under min ISR since the round began that is at work, and that it does not heal."""


class Act(Struct, frozen=True):
    """Put these right now."""

    due: tuple[Deviation, ...]


class Holds(Struct, frozen=True):
    """Do nothing, for these reasons."""

    reasons: tuple[LoopReason, ...]
    until: float | None = None
    """When they may be over by themselves; None: when the cluster looks otherwise, or a person has looked."""


class Rest(Struct, frozen=True):
    """Nothing is to be done before then; None: before something changes."""

    until: float | None = None


LoopDecision = Act | Holds | Rest


class Judged(Struct, frozen=True):
    """A deviation with when it may be put right, and why it is not now."""

    deviation: Deviation
    since: float
    due_at: float | None
    why_not: WhyNot | None
    """None: it is due, and nothing is in its way."""
    acts_at: float | None
    """When it is put right if nothing changes and nothing holds; None: never."""


def judged_by_policy(
    policy: Reconcile, deviations: Sequence[Deviation], memory: Memory, now: float
) -> tuple[Judged, ...]:
    """Each deviation by the policy alone; holds are of the loop, not of a deviation."""
    opens = opens_at(policy.windows.open, now)
    return tuple(_judged(policy, deviation, memory, now, opens) for deviation in deviations)


def _judged(
    policy: Reconcile, deviation: Deviation, memory: Memory, now: float, opens: float | None
) -> Judged:
    since = memory.since.get(deviation.key, now)
    if deviation.why is not None:
        return Judged(deviation, since, None, deviation.why, None)
    after = None if deviation.kind is None else policy.put_right.get(deviation.kind)
    if after is None:
        return Judged(deviation, since, None, NotAllowed(), None)
    due_at = max(since + after, _certain_from(deviation, memory, now))
    excepted = deviation.kind in policy.windows.excepted
    at = due_at if excepted else opens_at(policy.windows.open, max(due_at, now))
    if due_at > now:
        return Judged(deviation, since, due_at, TooEarly(), at)
    if not excepted and not is_open(policy.windows.open, now):
        return Judged(deviation, since, due_at, WindowClosed(opens), at)
    return Judged(deviation, since, due_at, None, now)


def _certain_from(deviation: Deviation, memory: Memory, now: float) -> float:
    """From when on it is known to be so: a directory, once the files that the last round left are deleted."""
    ended = memory.rounds[0].ended_at if memory.rounds else -inf
    fresh = deviation.kind is DeviationKind.LOG_DIR_FULL and 0 <= now - ended < FREED_SECONDS
    return ended + FREED_SECONDS if fresh else -inf


def decide_loop(
    policy: Reconcile,
    deviations: Sequence[Deviation],
    memory: Memory,
    facts: HoldFacts,
    now: float,
) -> LoopDecision:
    """What to do now."""
    judged = judged_by_policy(policy, deviations, memory, now)
    due = tuple(j.deviation for j in judged if j.why_not is None)
    healing = _healing(due, memory)
    if healing:
        due, memory = healing, replace(memory, under=())
    reasons = (*holds(memory, now, down(policy.hold, facts)), *_too_often(due, memory, now))
    if reasons and (due or _stands_by_itself(reasons)):
        ends = [r.until for r in reasons if isinstance(r, RoundsFail | MovedTooOften)]
        return Holds(reasons, max(ends) if len(ends) == len(reasons) else None)
    if due:
        return Act(due)
    return Rest(min((j.acts_at for j in judged if j.acts_at is not None), default=None))


def _healing(due: Sequence[Deviation], memory: Memory) -> tuple[Deviation, ...]:
    """What of it is about partitions for which the last round stopped: that goes on, and nothing else does."""
    under = {*memory.under}
    return tuple(f for f in due if under.intersection(map(str, f.partitions))) if under else ()


def _stands_by_itself(reasons: Sequence[LoopReason]) -> bool:
    """Whether a loop says that it holds although nothing is due: what is down is worth saying, a pause goes on."""
    return any(not isinstance(r, MovedTooOften | RoundsFail) for r in reasons)


def holds(memory: Memory, now: float, are_down: Iterable[LoopReason] = ()) -> Iterator[LoopReason]:
    """Why nothing is done, whatever is due; `are_down`: what is down and holds."""
    if memory.paused is not None:
        yield memory.paused
    if memory.worse is not None:
        yield memory.worse
    if memory.under:
        yield UnderMinIsr(memory.under[:LISTED_DEVIATIONS], len(memory.under))
    yield from are_down
    if memory.backs_off(now):
        yield RoundsFail(memory.failures, memory.failure, memory.retry_at)


def holding_state(reasons: Sequence[LoopReason]) -> LoopState:
    """The state of a loop that does nothing for these reasons."""
    if any(isinstance(r, SomebodyPaused) for r in reasons):
        return LoopState.PAUSED
    alone = all(isinstance(r, RoundsFail) for r in reasons)
    return LoopState.BACKING_OFF if alone else LoopState.HOLDING


def down(hold: HoldLimits, facts: HoldFacts) -> Iterator[LoopReason]:
    """What is down and holds, also in the middle of a round."""
    most = most_down(hold, facts.registered)
    if len(facts.down) >= most:
        yield BrokersDown(facts.down, facts.registered, most)
    if len(facts.racks_down) >= hold.racks_down:
        yield RacksDown(facts.racks_down, hold.racks_down)


def most_down(hold: HoldLimits, registered: int) -> int:
    """So many brokers down hold."""
    if isinstance(hold.brokers_down, Fraction):
        return max(LEAST_OF_A_SHARE, ceil(hold.brokers_down * registered))
    return hold.brokers_down


def _too_often(due: Sequence[Deviation], memory: Memory, now: float) -> Iterator[LoopReason]:
    times = {
        str(name): [t for t in memory.moved.get(str(name), ()) if abs(now - t) < DAY_SECONDS]
        for deviation in due
        for name in deviation.partitions
    }
    often = sorted(name for name, moved_at in times.items() if len(moved_at) >= OFTEN)
    if often:
        until = max(times[name][-OFTEN] + DAY_SECONDS for name in often)
        yield MovedTooOften(tuple(often[:LISTED_DEVIATIONS]), len(often), OFTEN, until)
