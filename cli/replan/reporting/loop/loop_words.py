"""What a loop's state, its reasons, and what keeps a deviation from being put right are called, in sentences.

A reason says itself. Times within a sentence are written in UTC; whoever shows a moment of its own shows it as one
(`loop_view`).
"""

from replan.model.declared.reconcile import DeviationKind
from replan.reconciling.explaining import ByPolicy
from replan.reconciling.status import (
    BrokersDown,
    BrokersFirst,
    EndedWorse,
    Failed,
    LeaseHeld,
    LockHeld,
    LoopReason,
    LoopState,
    LoopStatus,
    MovedTooOften,
    NoWindow,
    OtherApplication,
    RacksDown,
    RoundResult,
    RoundsFail,
    SomebodyPaused,
    Subject,
    UnderMinIsr,
    WhyNot,
    utc,
)
from replan.reporting.lines import Tone
from replan.wording import count, duration, subject

LOOP_STATE_WORDS: dict[LoopState, tuple[str, Tone]] = {
    LoopState.STARTING: ("starts", Tone.PLAIN),
    LoopState.WAITING_FOR_LEASE: ("stands by", Tone.PLAIN),
    LoopState.UNREACHABLE: ("cluster not reached", Tone.GOES),
    LoopState.BROKEN_PLACEMENT: ("placement broken", Tone.GOES),
    LoopState.PAUSED: ("paused", Tone.CHANGES),
    LoopState.HELD_BY_ANOTHER: ("another works", Tone.CHANGES),
    LoopState.ACTING: ("acts", Tone.CHANGES),
    LoopState.HOLDING: ("holds", Tone.GOES),
    LoopState.BACKING_OFF: ("backs off", Tone.GOES),
    LoopState.OUTSIDE_WINDOW: ("outside of its windows", Tone.CHANGES),
    LoopState.WAITING: ("waits", Tone.CHANGES),
    LoopState.DIFFERS: ("differs", Tone.CHANGES),
    LoopState.AT_REST: ("at rest", Tone.COMES),
    LoopState.ENDED: ("ended", Tone.PLAIN),
}
"""In short, and how good that is: what comes is good, what goes is bad."""

DEVIATION_WORDS: dict[DeviationKind | None, str] = {
    DeviationKind.BROKER_DOWN: "a broker is down",
    DeviationKind.LOG_DIR_FULL: "a log directory is full",
    DeviationKind.PLACEMENT_CHANGED: "the placement was changed",
    DeviationKind.CHANGED_ELSEWHERE: "the cluster was changed",
    DeviationKind.LEADERSHIP_MOVED: "another replica leads",
    DeviationKind.OUT_OF_BALANCE: "out of balance",
    DeviationKind.STALE_THROTTLE: "a throttle was left behind",
    None: "for a person",
}

ROUND_RESULT_WORDS: dict[RoundResult, str] = {
    RoundResult.DONE: "done",
    RoundResult.PARTLY: "done in part",
    RoundResult.CANCELLED: "cancelled",
    RoundResult.LEFT: "left open",
    RoundResult.FAILED: "failed",
}

LOOP_REASON_WORDS: dict[type[LoopReason], str] = {
    LeaseHeld: "another loop works",
    Failed: "placement or cluster could not be read",
    SomebodyPaused: "paused",
    OtherApplication: "another application is open",
    LockHeld: "another process has the lock",
    BrokersDown: "brokers are down",
    BrokersFirst: "brokers that are down come first",
    RacksDown: "racks are down",
    UnderMinIsr: "partitions came under min ISR",
    EndedWorse: "a round ended worse than it began",
    MovedTooOften: "moved too often",
    RoundsFail: "rounds fail",
    NoWindow: "no window is open",
}
"""What each reason is called where many are summed up."""


_SAYS: dict[LoopState, str] = {
    LoopState.STARTING: "It has not looked at the cluster yet.",
    LoopState.WAITING_FOR_LEASE: "It stands by: another loop works on this cluster.",
    LoopState.UNREACHABLE: (
        "The cluster, its journal or the repository of the placement does not answer; it goes on once they do."
    ),
    LoopState.BROKEN_PLACEMENT: (
        "The placement cannot be used as it is written; nothing is done until it is fixed."
    ),
    LoopState.PAUSED: "It is paused; `replan resume` lets it go on.",
    LoopState.HELD_BY_ANOTHER: "Another application or process comes first; it goes on after that.",
    LoopState.ACTING: "It puts right what policy allows.",
    LoopState.HOLDING: "It does nothing by itself now.",
    LoopState.BACKING_OFF: "Its rounds fail; it tries again, less and less often.",
    LoopState.OUTSIDE_WINDOW: "{differing}; what is due waits for a window.",
    LoopState.WAITING: "{differing}; what policy puts right has not lasted long enough yet.",
    LoopState.DIFFERS: "{differing}; none of it is put right by itself.",
    LoopState.AT_REST: "The cluster is as its placement says.",
    LoopState.ENDED: "The loop has ended.",
}


def state_text(status: LoopStatus) -> str:
    """What the loop is doing, in one sentence."""
    differing = count(sum(tally.count for tally in status.differs), "deviation")
    return _SAYS[status.state].format(differing=differing)


def why_not_text(why: WhyNot | None) -> str:
    """Why a deviation is not put right at this moment."""
    return "is put right next" if why is None else str(why)


def by_policy_text(one: ByPolicy) -> str:
    """What policy does with a deviation, and when."""
    judged, kind = one.judged, one.judged.deviation.kind
    named = (
        DEVIATION_WORDS[kind]
        if kind is None
        else f"{DEVIATION_WORDS[kind]} (reconcile.putRight.{kind})"
    )
    since = f"since {utc(judged.since)}" if one.seen_by_loop else "not seen by a loop yet"
    return f"{named}, {since}: {_when(one)}"


def _when(one: ByPolicy) -> str:
    judged = one.judged
    if one.after_seconds is None or judged.due_at is None:
        return why_not_text(judged.why_not)
    lasted = (
        f"once it has lasted for {duration(one.after_seconds)}" if one.after_seconds else "at once"
    )
    if one.holds:
        return f"is put right {lasted}, once the loop begins anything again: {' '.join(map(str, one.holds))}"
    if judged.why_not is None:
        return f"is put right {lasted}, which is now"
    due = f"is put right {lasted}, at {utc(judged.due_at)}"
    if judged.acts_at is None:
        return f"{due}, and no window opens"
    later = judged.acts_at > judged.due_at
    return f"{due}; the next window opens at {utc(judged.acts_at)}" if later else due


def subject_text(of: Subject) -> str:
    """`orders-7`, `orders-7 on broker 4`, `broker 4: /data/d1`."""
    name = subject(of.topic, of.partition, of.broker)
    if of.topic is not None and of.broker is not None:
        name = f"{name} on broker {of.broker}"
    more = [part for part in (of.path, of.detail) if part]
    return f"{name}: {', '.join(more)}" if more else name
