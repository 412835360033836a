"""How partitions fared over a run, and the laws that hold of it: above all, that no plan makes a partition worse off.

Here belong laws over histories (`trajectory`) as pure functions that return what they find broken, but for what is
allowed (`slack`). Laws over a plan that was not run are in `plan_invariants`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from replan.model.names import BrokerId
from replan.planning.plans.moves import Move
from replan.planning.recovery.recovery import Recovery
from replan.planning.safety.plan_laws import Broken
from replan.planning.safety.slack import Slack
from replan.planning.safety.trajectory import Ends, Sample, Trajectory


def harms_nobody(ours: Trajectory, ends: Ends, slack: Slack) -> Iterator[Broken]:
    """With our steps a partition is never worse off than at both ends of its move under the same faults."""
    name = ours.partition
    original, target = ends.at_original, ends.at_target

    def fewer(at: float) -> bool:
        least = min(len(original.at(at).in_sync), len(target.at(at).in_sync))
        return len(ours.at(at).in_sync) < least

    def under(at: float) -> bool:
        return ours.at(at).margin < 0 <= min(original.at(at).margin, target.at(at).margin)

    def leaderless(at: float) -> bool:
        leads = original.at(at).leader is not None and target.at(at).leader is not None
        return ours.at(at).leader is None and leads

    def late(begin: float, end: float) -> float:
        since = min(_out_since(original, begin), _out_since(target, begin))
        return slack.in_sync_seconds + slack.late_seconds(since, end)

    def led_late(_begin: float, _end: float) -> float:
        return slack.leaderless_seconds

    for law, what, holds, allowed in (
        ("fewer-in-sync", "has fewer live in-sync replicas", fewer, late),
        ("under-min-isr", "is under its min ISR", under, late),
        ("leaderless", "has no leader", leaderless, led_late),
    ):
        for begin, end in _stretches(holds, (ours, original, target)):
            if end - begin > allowed(begin, end):
                yield Broken(
                    law,
                    str(name),
                    f"{name}: from second {begin:g} to {end:g} it {what} than without any step: "
                    f"{_shown(ours.at(begin))}; at its original {_shown(original.at(begin))}; "
                    f"at its target {_shown(target.at(begin))}",
                )
    spared = max(original.lost_bytes, target.lost_bytes)
    lost = _lost_bytes(ours, slack)
    if lost > spared + 1:
        yield Broken(
            "shorter-log",
            str(name),
            f"{name}: {lost:.0f} bytes of its committed log were lost, {spared:.0f} without any step",
        )


def _lost_bytes(ours: Trajectory, slack: Slack) -> float:
    """What was cut off the committed log, but for what an unclean election excuses."""
    return sum(
        cut for at, cut in ours.cuts if slack.unclean is None or not slack.unclean.excuses(ours, at)
    )


def _out_since(history: Trajectory, until: float) -> float:
    """Since when a replica had been out of sync that is back at a moment; that moment where none had."""
    since = until
    for sample in reversed([s for s in history.samples if s.at < until]):
        if len(sample.in_sync) == len(sample.replicas):
            break
        since = sample.at
    return since


def _shown(sample: Sample) -> str:
    return f"in sync {list(sample.in_sync)} of {list(sample.replicas)}, leader {sample.leader}"


def _stretches(
    holds: Callable[[float], bool], histories: tuple[Trajectory, ...]
) -> Iterator[tuple[float, float]]:
    """The times in which something held without a break, as far as all histories go."""
    ended = min(h.ended for h in histories)
    moments = sorted({s.at for h in histories for s in h.samples if s.at < ended})
    began: float | None = None
    for moment in moments:
        if holds(moment):
            began = moment if began is None else began
        elif began is not None:
            yield began, moment
            began = None
    if began is not None:
        yield began, ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Blindness:
    """What an applier cannot see, and so cannot be blamed for."""

    unseen_seconds: float = 2.5
    """Out of sync for less may fall between two looks: a poll, and what a look takes."""
    unknown_seconds: float = 2.5
    """How long before a drop the settle time may have ended: until a look shows it, or while the request that drops was
    on its way."""


def drops_only_what_was_replaced(
    move: Move,
    ours: Trajectory,
    settle_seconds: float,
    blind: Blindness | None = None,
    unnameable: frozenset[BrokerId] = frozenset(),
) -> Iterator[Broken]:
    """A replica of the original leaves the list only when the whole target had settled.

    All of it was in the ISR for the settle time, which ended not long before Kafka accepted the drop (`Blindness`). A
    dead member counts until its session ends, which the settle time is longer than. What is accepted Kafka completes by
    itself, and only with the whole target in the ISR (PartitionReassignmentReplicas.maybeCompleteReassignment).
    `unnameable`: whom the cluster allowed no list to name; what the plan says of that does not count.
    """
    blind = Blindness() if blind is None else blind
    for before, after in pairwise(ours.samples):
        dropped = [b for b in before.replicas if b in move.original and b not in after.replicas]
        if not set(dropped) - unnameable:
            continue
        accepted = _accepted(ours, set(dropped) - unnameable, after.at)
        ended = _last_settled(move, ours, accepted, settle_seconds, blind.unseen_seconds)
        if ended is None or ended < accepted - blind.unknown_seconds:
            when = "never" if ended is None else f"last at second {ended:g}"
            yield Broken(
                "drops-only-what-was-replaced",
                str(move.partition),
                f"{move.partition}: at second {after.at:g} {dropped} of {list(before.replicas)} left, and the target "
                f"{list(move.target)} had been in sync for {settle_seconds:g} s {when}",
            )


def _accepted(ours: Trajectory, dropped: set[BrokerId], until: float) -> float:
    """Since when Kafka had been removing all that it dropped at a moment; that moment if it was not seen to."""
    since = until
    for sample in reversed([s for s in ours.samples if s.at < until]):
        if not dropped <= set(sample.removing):
            break
        since = sample.at
    return since


def _last_settled(
    move: Move, ours: Trajectory, until: float, settle_seconds: float, unseen_seconds: float
) -> float | None:
    """When the whole target had last been in sync for the settle time, up to a moment; None if never."""
    found: float | None = None
    since: float | None = None
    lost: float | None = None
    ends = [*(s.at for s in ours.samples[1:]), ours.ended]
    for sample, end in zip(ours.samples, ends, strict=True):
        if sample.at >= until:
            break
        if not set(move.target) <= {*sample.in_sync, *sample.not_serving}:
            lost = sample.at if lost is None else lost
            continue
        if since is None or (lost is not None and sample.at - lost > unseen_seconds):
            since = sample.at
        lost = None
        if min(end, until) - since >= settle_seconds - unseen_seconds:
            found = min(end, until)
    return found


def arrived(move: Move, ours: Trajectory) -> Iterator[Broken]:
    """At the end the partition has its target, and was led by its first replica there, if it is to be."""
    last, first = ours.samples[-1], move.target[0]
    if last.replicas != move.target:
        yield Broken(
            "arrives",
            str(move.partition),
            f"{move.partition}: it counts as done, and its list is {list(last.replicas)} instead of "
            f"{list(move.target)}",
        )
    elif move.elect and not any(
        _led_by(first, s) for s in ours.samples if s.replicas == move.target
    ):
        yield Broken(
            "arrives",
            str(move.partition),
            f"{move.partition}: it counts as done, and {first}, the first of {list(move.target)}, never led it",
        )


def led_again(recovery: Recovery, ours: Trajectory) -> Iterator[Broken]:
    """A partition that was recovered was led by the chosen replica, and before that by nobody."""
    leaders = [s.leader for s in ours.samples if s.leader is not None]
    if not leaders or leaders[0] != recovery.chosen:
        name = str(recovery.partition)
        yield Broken(
            "arrives",
            name,
            f"{name}: it counts as led again by {recovery.chosen}, and was led by {leaders[:1]}",
        )


def _led_by(first: BrokerId, sample: Sample) -> bool:
    """Whether it leads, as far as it can be known: one that has just died is elected while its session holds."""
    return sample.leader == first or (sample.leader is None and first not in sample.in_sync)


Settings = Mapping[tuple[str, str, str], str]
"""Throttle configuration: scope, name and key to value."""


def throttles_are_known(
    before: Settings, after: Settings, journalled: frozenset[tuple[str, str, str]]
) -> Iterator[Broken]:
    """Whatever differs from the beginning is in the journal, so that it can be put back."""
    for where in sorted({*before, *after} - journalled):
        if before.get(where) != after.get(where):
            scope, name, key = where
            yield Broken(
                "throttles-are-known",
                f"{scope} {name}",
                f"{scope} {name}: {key} was {before.get(where)!r} and stays behind as {after.get(where)!r}, and the "
                "journal does not know",
            )
