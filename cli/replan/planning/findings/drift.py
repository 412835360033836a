"""What moved by itself: the differences as they are, without a word on what to do about them. Read only.

Classes are the kinds of `comparison.diff`, `standing` where a throttle is not as declared, and `partitions` where a
topic has other partitions than the list form declares. A reassignment that already converges to the declared list is no
drift; it is counted apart.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from replan.model.declared.placement import Placement
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.comparison.acknowledged import without_acknowledged
from replan.planning.comparison.alignment import NOWHERE, Alignment, Heading
from replan.planning.comparison.blacklist import without_ended
from replan.planning.comparison.cluster_check import check_cluster
from replan.planning.comparison.diff import DifferenceKind, compare
from replan.planning.comparison.overlays import Wanted, wanted
from replan.planning.comparison.preferred import absent_leaders
from replan.planning.findings.health import judge, unclean_topics
from replan.planning.placing.problem import OF_THE_BALANCE, Impossible
from replan.planning.plans.log_dirs import log_drains
from replan.planning.plans.standing_throttles import ThrottleSetting, standing_differences


@dataclass(frozen=True, slots=True)
class Drifted:
    """One partition that differs from what is declared."""

    partition: TopicPartition
    kind: DifferenceKind
    declared: Replicas
    observed: Replicas
    leader: BrokerId | None


@dataclass(frozen=True, slots=True)
class PartitionCount:
    """A topic with another number of partitions than is declared."""

    topic: str
    declared: int
    observed: int


@dataclass(frozen=True, slots=True)
class Drift:
    """All that drifted on one cluster."""

    cluster_id: str
    observed_at: str
    partitions: tuple[Drifted, ...]
    counts: tuple[PartitionCount, ...]
    converging: tuple[TopicPartition, ...]
    """Partitions whose running reassignment, or replan's own running application, leads to the declared list."""
    acknowledged: tuple[TopicPartition, ...] = ()
    """Partitions that differ, which the placement asks to leave alone until a date."""

    unbalanced: tuple[Impossible, ...] = ()
    """Why the balance cannot be reached, where it cannot: replicas or bytes are out of their bounds."""
    log_dirs: tuple[tuple[TopicPartition, BrokerId, str], ...] = ()
    """Replicas in log directories that are to be empty, with their broker and the directory."""
    standing: tuple[ThrottleSetting, ...] = ()
    """Throttle settings that are not as they are declared to stay."""
    unclean: tuple[str, ...] = ()
    """Topics where unclean election is on; a warning, no difference."""
    elr_gone: tuple[TopicPartition, ...] = ()
    """Partitions whose ELR has been cleared while they are under their minimum; a warning, no difference."""

    @property
    def none(self) -> bool:
        """Whether nothing drifted."""
        return not (
            self.partitions or self.counts or self.unbalanced or self.standing or self.log_dirs
        )


def find_drift(
    placement: Placement,
    snapshot: Snapshot,
    heading: Heading = NOWHERE,
    *,
    at_work: bool = True,
) -> Drift:
    """Compare; raises WrongCluster where the placement names another cluster.

    `heading`: where the open application moves partitions to. While it is `at_work`, what goes to the declared list
    converges.
    """
    check_cluster(placement, snapshot)
    placement = without_ended(placement, snapshot)
    aligned = Alignment.of(placement, snapshot, heading)
    return drift_of(aligned, wanted(aligned), at_work=at_work)


def drift_of(aligned: Alignment, asked: Wanted, *, at_work: bool = True) -> Drift:
    """The same of a placement and a snapshot that are joined already; `asked` is what is wanted of them."""
    placement, snapshot, heading = aligned.placement, aligned.snapshot, aligned.heading
    differs = compare(asked.table, snapshot.partitions, asked.rows)
    stuck = unplaceable(asked.chosen.impossible)
    left = without_acknowledged(differs, asked.rows, placement, snapshot, stuck)
    rows = left.differences.table.to_pylist()
    differing = [
        Drifted(
            TopicPartition(r["topic"], r["partition"]),
            DifferenceKind(r["kind"]),
            tuple(r["declared"]),
            tuple(r["observed"]),
            BrokerId(r["leader"]) if r["leader"] >= 0 else None,
        )
        for r in rows
    ]
    converging = {
        d.partition
        for d in differing
        if d.kind is DifferenceKind.RUNNING or (at_work and heading.get(d.partition) == d.declared)
    }
    differing += [
        Drifted(p.partition, DifferenceKind.UNPLACEABLE, (), p.replicas, p.leader)
        for p in snapshot.states(sorted(left.unplaceable))
    ]
    differing += _absent_leaders(aligned, asked)
    return Drift(
        snapshot.cluster_id,
        snapshot.observed_at,
        tuple(d for d in differing if d.partition not in converging),
        tuple(partition_counts(placement, snapshot)),
        tuple(d.partition for d in differing if d.partition in converging),
        tuple(sorted(name for _, names in left.known for name in names)),
        tuple(r for r in asked.chosen.impossible if r.obstacle in OF_THE_BALANCE),
        _lying_there(placement, snapshot),
        tuple(standing_differences(placement, snapshot)),
        unclean_topics(snapshot),
        tuple(sorted(u.state.partition for u in judge(snapshot).unhealthy if u.elr_gone)),
    )


def _absent_leaders(aligned: Alignment, asked: Wanted) -> Iterator[Drifted]:
    kind = DifferenceKind.PREFERRED_ABSENT
    for found in absent_leaders(aligned, asked.chosen):
        seen = aligned.snapshot.partition(found.partition)
        leader = None if seen is None else seen.leader
        yield Drifted(
            found.partition, kind, (found.preferred.broker,), found.replicas or (), leader
        )


def _lying_there(
    placement: Placement, snapshot: Snapshot
) -> tuple[tuple[TopicPartition, BrokerId, str], ...]:
    found = log_drains(placement, snapshot, {})
    lying = [(m.partition, m.broker, m.source) for m in found.moves]
    return tuple(sorted([*lying, *((m.partition, m.broker, m.source) for m in found.no_room)]))


def unplaceable(reasons: Sequence[Impossible]) -> list[int]:
    """The observed rows of all partitions that no list can place."""
    return sorted({row for reason in reasons for row in reason.partitions})


def partition_counts(placement: Placement, snapshot: Snapshot) -> list[PartitionCount]:
    """Topics with another number of partitions than `partitionCount`, or with more than their list form declares.

    Partitions that a list declares beyond the topic's are differences of their own (MISSING).
    """
    live = snapshot.partition_counts()
    placed = placement.entries_of(live)
    declared = {
        topic: count
        for topic, name in placed.items()
        if (count := counted(placement, name)) is not None
        and (count < live[topic] or (name in placement.rules and count > live[topic]))
    }
    return [PartitionCount(topic, declared[topic], live[topic]) for topic in sorted(declared)]


def counted(placement: Placement, name: str) -> int | None:
    """The number of partitions that an entry of `assignments` declares."""
    entry = placement.topics.get(name) or placement.rules.get(name)
    return None if entry is None else entry.partition_count
