"""How one partition fared over a run: its history as a value.

Who records one (the simulator's rehearsal, a test) fills in the values; nothing here lets time pass. The laws over
histories are in `run_invariants`.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from replan.model.names import BrokerId, Replicas, TopicPartition


@dataclass(frozen=True, slots=True)
class Sample:
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


@dataclass(frozen=True, slots=True)
class Trajectory:
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
        """How long nobody led."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The same partition under the same faults, without the plan: at its original, and at its target.

    A move leads from one to the other, so a fault that only the target can meet is no harm done by the steps.
    """

    at_original: Trajectory
    at_target: Trajectory
