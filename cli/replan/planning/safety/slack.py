"""How much worse off a partition may be for a while without a law being broken, and why.

Here belongs what no applier can prevent: sessions of dead brokers, times in which nobody is at work, elections that
come before anybody can look. The laws that allow it are in `run_invariants`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from replan.planning.safety.trajectory import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class UncleanElection:
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


@dataclass(frozen=True, slots=True)
class Crowding:
    """A copy of the plan that uses a network which a replica that comes back needs, too."""

    began: float
    ended: float
    seconds: float
    """How long its bytes would take what is free of that network; infinite where nothing is."""

    def within(self, since: float, until: float) -> float:
        """How much of that falls between two moments."""
        overlap = min(until, self.ended) - max(since, self.began)
        return 0.0 if overlap <= 0 else self.seconds * overlap / (self.ended - self.began)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slack:
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
