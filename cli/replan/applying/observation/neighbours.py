"""The partitions that are not replan's to move, as far as they suffer: which of them have fallen under their min ISR.

Read now and then while copies wait, since it costs a reading of the whole cluster. Not here: what follows from it
(`decide`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.findings.health import HealthState, judge

SHARE = 20
"""A reading may take up to a twentieth of the time; one that takes longer is made less often."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What readings of the whole cluster showed."""

    due: float = float("-inf")
    """When the next reading may be made, by the clock of the application."""
    before: frozenset[TopicPartition] | None = None
    """Those that were under their min ISR when this process first looked: no copy of its own is the cause."""
    fallen: Mapping[TopicPartition, Replicas] = field(default_factory=dict)
    """Those that have fallen under it since, and their replicas."""

    def after(
        self,
        snapshot: Snapshot,
        ours: Collection[TopicPartition],
        began: float,
        ended: float,
        period: float,
    ) -> "Neighbours":
        """What is known after one more reading."""
        under = {
            found.state.partition: found.state.replicas
            for found in judge(snapshot).unhealthy
            if found.health in {HealthState.OFFLINE, HealthState.UNDER_MIN_ISR}
            and found.state.partition not in ours
        }
        before = frozenset(under) if self.before is None else self.before & under.keys()
        fallen = {name: listed for name, listed in under.items() if name not in before}
        return Neighbours(ended + max(period, SHARE * (ended - began)), before, fallen)

    def later(self, now: float, period: float) -> "Neighbours":
        """After a reading that failed: the next one is tried after as long."""
        return replace(self, due=now + period)

    def suffering(self, loaded: Collection[BrokerId]) -> tuple[TopicPartition, ...]:
        """Those that have fallen under their min ISR and have a replica on one of these brokers."""
        return tuple(sorted(n for n, of in self.fallen.items() if not set(of).isdisjoint(loaded)))
