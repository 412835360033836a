"""What is seen of a rehearsed loop: how long things differed, when it held, what partitions went without."""

from collections import Counter
from collections.abc import Callable, Mapping

from msgspec import Struct, field

from replan.model.declared.reconcile import DeviationKind, Reconcile
from replan.model.partition import under_min_isr
from replan.model.snapshot import Snapshot
from replan.planning.plans.plan import Plan
from replan.reconciling.decision import kind_of
from replan.reconciling.status import LoopReason, LoopState, LoopStatus, Observer, Proposal, Round
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.controller.state import ClusterState, Topic

_BLIND = frozenset(
    {LoopState.ACTING, LoopState.UNREACHABLE, LoopState.BROKEN_PLACEMENT, LoopState.ENDED}
)
"""States in which a loop does not know what differs."""


class Lasted(Struct, frozen=True):
    """One deviation: from when to when it was seen; None: to the end."""

    kind: DeviationKind | None
    key: str
    since: float
    until: float | None
    by_round: bool = False
    """Whether a round put it right: one that took up its kind once it was due, and after which it was gone."""

    def seconds(self, end: float) -> float:
        """For how long."""
        return (end if self.until is None else self.until) - self.since


class HeldTime(Struct, frozen=True):
    """One time in which nothing was done, or nothing more begun, and why."""

    state: LoopState
    since: float
    until: float
    reasons: tuple[LoopReason, ...]


class WatchedLoop(Struct):
    """What an observer of a loop saw; all times are seconds since the rehearsal began."""

    began: float
    also: Observer | None
    """Who else hears of it all."""
    passed: Callable[[float], None]
    """Hears how many seconds have passed."""
    policy: Callable[[], Reconcile]
    """That goes now."""
    lasting_since: Callable[[], Mapping[str, float]] = dict
    """Since when each deviation lasts, as the loop remembers it: its status lists the first of them only."""
    states: Counter[LoopState] = field(default_factory=Counter)
    """Seconds in each state."""
    lasted: list[Lasted] = field(default_factory=list)
    holds: list[HeldTime] = field(default_factory=list)
    rounds: dict[int, Round] = field(default_factory=dict)
    last: LoopStatus | None = None
    before_the_end: LoopStatus | None = None
    """The last one in which it had not ended."""
    _open: dict[str, float] = field(default_factory=dict)
    _fresh: list[Round] = field(default_factory=list)
    """Rounds that ended since what differs was last known; where a directory is full, also earlier ones that moved
    something out of it: what has left gives its room back a while later."""

    def changed(self, status: LoopStatus) -> None:
        """Count it."""
        if self.also is not None:
            self.also.changed(status)
        before, at = self.last, status.at - self.began
        self.passed(at)
        if before is not None:
            since = before.at - self.began
            self.states[before.state] += round(at - since, 3)  # type: ignore[assignment]
            if before.reasons and at > since:
                self._held(HeldTime(before.state, since, at, before.reasons))
        self.last = status
        if status.state is not LoopState.ENDED:
            self.before_the_end = status
        for done in status.rounds:
            if done.number not in self.rounds:
                self._fresh.append(done)
            self.rounds[done.number] = done
        if status.state not in _BLIND:
            self._seen(at)

    def planned(self, plan: Plan, snapshot: Snapshot) -> None:
        """Hand it on."""
        if self.also is not None:
            self.also.planned(plan, snapshot)

    def proposed(self, proposal: Proposal) -> None:
        """Hand it on."""
        if self.also is not None:
            self.also.proposed(proposal)

    def _held(self, now: HeldTime) -> None:
        last = self.holds[-1] if self.holds else None
        if last is not None and (last.until, last.state, last.reasons) == (
            now.since,
            now.state,
            now.reasons,
        ):
            now = HeldTime(now.state, last.since, now.until, now.reasons)
            self.holds.pop()
        self.holds.append(now)

    def _seen(self, at: float) -> None:
        now = self.lasting_since()
        for key in self._open.keys() - now.keys():
            since, kind = self._open.pop(key), kind_of(key)
            self.lasted.append(Lasted(kind, key, since, at, self._by_round(kind, since)))
        for key, since in now.items():
            self._open.setdefault(key, since - self.began)
        full = any(kind_of(key) is DeviationKind.LOG_DIR_FULL for key in self._open)
        self._fresh = [r for r in self._fresh if full and DeviationKind.LOG_DIR_FULL in r.kinds]

    def _by_round(self, kind: DeviationKind | None, since: float) -> bool:
        after = None if kind is None else self.policy().put_right.get(kind)
        if after is None:
            return False
        due = self.began + since + after
        return any(kind in done.kinds and due <= done.began_at for done in self._fresh)

    def all_lasted(self) -> list[Lasted]:
        """Those that are over, and those that are not."""
        left = (Lasted(kind_of(key), key, since, None) for key, since in self._open.items())
        return [*self.lasted, *left]


class Missed(Struct, frozen=True):
    """What partitions went without, summed over all of them: partitions at one moment, or seconds over a time."""

    under_replicated: float = 0.0
    """A replica was out of sync, new ones aside."""
    under_min_isr: float = 0.0
    without_leader: float = 0.0

    def plus(self, other: "Missed", times: float = 1.0) -> "Missed":
        """With more of it."""
        return Missed(
            self.under_replicated + times * other.under_replicated,
            self.under_min_isr + times * other.under_min_isr,
            self.without_leader + times * other.without_leader,
        )


PEAKS = 240


class LackMeter:
    """Sums up what all partitions of a cluster go without; sees each of its states, in their order.

    `total` is how many seconds there will be.
    """

    def __init__(self, simulation: Simulation, total: float) -> None:
        self.seconds = Missed()
        self.peaks = [0.0] * PEAKS
        """The most partitions that were under-replicated in each of so many equal parts of the time."""
        self._began, self._total = simulation.world.now, total
        self._topics: dict[str, tuple[Topic, int, Missed]] = {}
        self._at, self._cluster = simulation.world.now, simulation.cluster
        self._now = self._of(simulation.cluster)

    def __call__(self, simulation: Simulation) -> None:
        """From the state before to this one."""
        if simulation.cluster is self._cluster:
            return
        self.until(simulation.world.now)
        self._cluster, self._now = simulation.cluster, self._of(simulation.cluster)

    def until(self, moment: float) -> None:
        """The state that it saw last has lasted until then."""
        if moment > self._at:
            self.seconds = self.seconds.plus(self._now, moment - self._at)
            for part in range(self._part(self._at), self._part(moment) + 1):
                self.peaks[part] = max(self.peaks[part], self._now.under_replicated)
            self._at = moment

    def _part(self, moment: float) -> int:
        return min(PEAKS - 1, int((moment - self._began) / self._total * PEAKS))

    def _of(self, cluster: ClusterState) -> Missed:
        total = Missed()
        for name, topic in cluster.topics.items():
            least = cluster.min_insync_replicas(name)
            measured = self._topics.get(name)
            if measured is None or measured[0] is not topic or measured[1] != least:
                measured = topic, least, _lack(topic, least)
                self._topics[name] = measured
            total = total.plus(measured[2])
        return total


def _lack(topic: Topic, least: int) -> Missed:
    under = below = nobody = 0
    for one in topic.partitions.values():
        missing = set(one.replicas) - set(one.isr) - set(one.adding)
        under += bool(missing)
        below += under_min_isr(least, one.isr, one.replicas)
        nobody += one.leader is None
    return Missed(under, below, nobody)
