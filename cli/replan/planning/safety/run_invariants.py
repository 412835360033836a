"""How partitions fared over a run, and the laws that hold of it: above all, that no plan makes a partition worse off.

A history is a value that a rehearsal or a test fills in. The laws return what they find broken, but for what is allowed
(`Slack`). Laws over a plan that was not run are in `plan_invariants`.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.plans.moves import Move
from replan.planning.recovery.recovery import Recovery
from replan.planning.safety.plan_laws import Broken


class Sample(Struct, frozen=True):
    """A partition from one moment on, until the next sample."""

    at: float
    """Seconds."""
    replicas: Replicas
    in_sync: Replicas
    """Members of the ISR whose process serves: a killed broker stays listed until its session ends, and is no help."""
    leader: BrokerId | None
    """None also where the leader that is listed does not serve."""
    min_in_sync: int
    """The effective minimum min(m, assigned) (Partition.effectiveMinIsr since 3.7)."""
    log_end: float = 0.0
    """Bytes of the committed log."""
    not_serving: Replicas = ()
    """Members of the ISR whose process does not serve: nobody can know it before their session ends."""
    adding: Replicas = ()
    removing: Replicas = ()

    @property
    def margin(self) -> int:
        """How many in-sync replicas may be lost before writes stop; negative where they have."""
        return len(self.in_sync) - self.min_in_sync


class Trajectory(Struct, frozen=True):
    """One partition from the beginning to the end of a run; samples are in order of time, at least one."""

    partition: TopicPartition
    samples: tuple[Sample, ...]
    ended: float

    def at(self, seconds: float) -> Sample:
        """The sample that holds at a moment."""
        after = bisect_right(self.samples, seconds, key=lambda s: s.at)
        return self.samples[max(0, after - 1)]

    def seconds_where(self, holds: Callable[[Sample], bool]) -> float:
        """How long something held, in all."""
        ends = [*(s.at for s in self.samples[1:]), self.ended]
        return sum(
            max(0.0, end - sample.at)
            for sample, end in zip(self.samples, ends, strict=True)
            if holds(sample)
        )

    @property
    def under_min_isr_seconds(self) -> float:
        """How long writes with acks=all could not succeed for want of replicas."""
        return self.seconds_where(lambda s: s.margin < 0)

    @property
    def leaderless_seconds(self) -> float:
        """How long it had no leader."""
        return self.seconds_where(lambda s: s.leader is None)

    @property
    def lost_bytes(self) -> float:
        """What was cut off the committed log."""
        return sum(cut for _, cut in self.cuts)

    @property
    def cuts(self) -> Iterator[tuple[float, float]]:
        """When bytes were cut off the committed log, and how many."""
        for before, after in pairwise(self.samples):
            yield after.at, max(0.0, before.log_end - after.log_end)


class Ends(Struct, frozen=True, kw_only=True):
    """The same partition under the same faults, without the plan: at its original, and at its target.

    A move leads from one to the other, so a fault that only the target can meet is no harm done by the steps.
    """

    at_original: Trajectory
    at_target: Trajectory


class UncleanElection(Struct, frozen=True, kw_only=True):
    """When unclean election is on for a topic, and how soon a copy can be taken back that it might choose.

    Where all live replicas in sync die sooner, Kafka may elect the copy, whatever an applier does.
    """

    switched: Sequence[tuple[float, bool]]
    """From when on it is on or off, in order of time."""
    noticed_seconds: float
    """From the moment in which one replica alone serves in sync until the copy is taken back."""
    unattended: Sequence[tuple[float, float]] = ()
    """When nobody could take it back."""

    def excuses(self, ours: Trajectory, at: float) -> bool:
        """Whether the log was cut at a moment by an election that came too soon to be prevented."""
        since = next((s for s, on in reversed(self.switched) if s <= at and on), None)
        if since is None or not any(s.at < at for s in ours.samples):
            return False
        before = [s for s in ours.samples if s.at < at]
        if before[-1].in_sync:
            return False
        began = (
            next((i for i in reversed(range(len(before))) if len(before[i].in_sync) > 1), -1) + 1
        )
        ends = [*(s.at for s in before[began + 1 :]), at]
        alone = (
            (max(s.at, since), end)
            for s, end in zip(before[began:], ends, strict=True)
            if s.in_sync and s.leader is not None
        )
        return sum(self._attended(*span) for span in alone) <= self.noticed_seconds

    def _attended(self, begin: float, end: float) -> float:
        away = sum(max(0.0, min(end, b) - max(begin, a)) for a, b in self.unattended)
        return max(0.0, end - begin - away)


class Crowding(Struct, frozen=True):
    """A copy of the plan that uses a network which a replica that comes back needs, too."""

    began: float
    ended: float
    seconds: float
    """How long its bytes would take what is free of that network; infinite where nothing is."""

    def within(self, since: float, until: float) -> float:
        """How much of that falls between two moments."""
        overlap = min(until, self.ended) - max(since, self.began)
        return 0.0 if overlap <= 0 else self.seconds * overlap / (self.ended - self.began)


class Slack(Struct, frozen=True, kw_only=True):
    """How long a difference may last before it counts: what recovers by itself in this time is not our doing."""

    in_sync_seconds: float = 3.0
    """A follower's first fetch, a leader's retry."""
    leaderless_seconds: float = 12.0
    """The session of a dead leader (9 s), whichever broker it was."""
    unattended: Sequence[tuple[float, float]] = ()
    """When nobody could lift the throttle of the copies: no process ran, or no broker answered it. A replica that is
    out of sync meanwhile catches up under it, and is late by so long at most."""

    crowded: Sequence[Sequence[Crowding]] = ()
    """The copies on the network of each of the partition's brokers: a replica that comes back shares it with them."""
    unclean: UncleanElection | None = None
    """None: no loss is excused."""

    def late_seconds(self, since: float, until: float) -> float:
        """How late the throttle, and the copies, may make a replica that is out of sync between two moments."""
        throttled = sum(
            end - begin for begin, end in self.unattended if begin < until and end > since
        )
        return throttled + sum(c.within(since, until) for on in self.crowded for c in on)


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


class Blindness(Struct, frozen=True, kw_only=True):
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
    last: float | None = None
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
            last = min(end, until)
    return last


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


ThrottleSettings = Mapping[tuple[str, str, str], str]
"""Throttle configuration: scope, name and key to value."""


def throttles_are_known(
    before: ThrottleSettings, after: ThrottleSettings, journalled: frozenset[tuple[str, str, str]]
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
