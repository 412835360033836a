"""What is not as it is declared, without a word on what to do about it. Read only.

A reassignment that already converges to the declared list is no drift; it is counted apart. A declared partition that
has no leader is drift, whatever its list: nobody can read or write it.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from replan.model.declared.placement import Placement
from replan.model.declared.where import Mistake
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.rates import Rates
from replan.model.snapshot import Snapshot
from replan.planning.compared import Comparison, compared
from replan.planning.comparison.alignment import (
    PartitionCount,
    named_partitions,
    partition_counts,
    rows_of,
)
from replan.planning.comparison.diff import DifferenceKind
from replan.planning.comparison.overlays import managed
from replan.planning.comparison.preferred import absent_leaders
from replan.planning.findings.health import BrokerDown, brokers_down, judge, unclean_topics
from replan.planning.plans.log_dir_balance import log_dir_balance
from replan.planning.plans.log_dirs import log_drains
from replan.planning.plans.plan import NAMED, Facts, PlanWarning, WarningKind
from replan.planning.plans.standing_throttles import ThrottleSetting, standing_differences
from replan.planning.safety.placing_refusals import OutOfBalance


@dataclass(frozen=True, slots=True)
class Drifted:
    """One partition that differs from what is declared."""

    partition: TopicPartition
    kind: DifferenceKind
    declared: Replicas
    observed: Replicas
    leader: BrokerId | None


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

    unbalanced: tuple[OutOfBalance, ...] = ()
    """The balance, where a plan brings it nearer and not as near as is asked for, or where it is required."""
    log_dirs: tuple[tuple[TopicPartition, BrokerId, str], ...] = ()
    """Replicas in log directories that are to be empty, with their broker and the directory."""
    standing: tuple[ThrottleSetting, ...] = ()
    """Throttle settings that are not as they are declared to stay."""
    unclean: tuple[str, ...] = ()
    """Topics where unclean election is on; a warning, no difference."""
    elr_gone: tuple[TopicPartition, ...] = ()
    """Partitions whose ELR has been cleared while they are under their minimum; a warning, no difference."""
    down: tuple[BrokerDown, ...] = ()
    """Brokers that do not serve, whether or not anything differs."""
    unjudged: int = 0
    """Partitions kept as they are, since the rack of a broker that is down is not known."""
    warnings: tuple[PlanWarning, ...] = ()
    """What is declared and does nothing here, and what goes on without being declared."""
    mistakes: tuple[Mistake, ...] = ()
    """What the author of the placement has to correct before anything can be planned."""

    @property
    def none(self) -> bool:
        """Whether nothing drifted."""
        return not (
            self.partitions
            or self.counts
            or self.unbalanced
            or self.standing
            or self.log_dirs
            or self.mistakes
        )


def find_drift(placement: Placement, snapshot: Snapshot, rates: Rates | None = None) -> Drift:
    """Compare; raises WrongCluster where the placement names another cluster, or the rates are of another one.

    While the open application is at work, what goes to the declared list converges.
    """
    return drift_of(compared(placement, snapshot, rates))


def drift_of(found: Comparison) -> Drift:
    """The same of a comparison."""
    placement, snapshot, heading = found.aligned.placement, found.observed, found.aligned.heading
    at_work = snapshot.application is not None and snapshot.application.at_work
    lacking = {name for create in found.growth.creates for name in create.partitions}
    differing = [*_different(found, lacking), *_to_be_created(found)]
    converging = {
        d.partition
        for d in differing
        if d.kind is DifferenceKind.RUNNING or (at_work and heading.get(d.partition) == d.declared)
    }
    on_the_way = [d.partition for d in differing if d.partition in converging]
    differing = [
        d
        for d in differing
        if d.partition not in converging and d.kind is not DifferenceKind.RUNNING
    ]
    differing += [
        Drifted(p.partition, DifferenceKind.UNPLACEABLE, (), p.replicas, p.leader)
        for p in found.aligned.snapshot.states(sorted(found.left.unplaceable))
        if p.partition not in lacking
    ]
    differing += _absent_leaders(found)
    lost, undeclared = _leaderless(found, {d.partition for d in differing})
    differing += lost
    dirs = log_dir_balance(placement, snapshot, {}, log_drains(placement, snapshot, {}))
    dirs_unbalanced = found.log_dirs_off_balance(dirs.now)
    unbalanced = (*_unbalanced(found), *(dirs_unbalanced if dirs.moves else ()))
    missed = [
        PlanWarning(WarningKind.BALANCE, reason.facts)
        for reason in (*found.off_balance, *dirs_unbalanced)
        if reason not in unbalanced
    ]
    return Drift(
        snapshot.cluster_id,
        snapshot.observed_at,
        tuple(differing),
        tuple(partition_counts(placement, found.aligned.intents, snapshot)),
        tuple(on_the_way),
        tuple(sorted(name for _, names in found.left.known for name in names)),
        unbalanced,
        _lying_there(placement, snapshot),
        tuple(standing_differences(placement, found.aligned.intents, snapshot)),
        unclean_topics(snapshot),
        tuple(sorted(u.state.partition for u in judge(snapshot).unhealthy if u.elr_gone)),
        brokers_down(snapshot),
        len(found.wanted.chosen.unjudged),
        (*undeclared, *found.warnings, *missed),
        found.mistakes,
    )


def _unbalanced(found: Comparison) -> tuple[OutOfBalance, ...]:
    """What a plan would do about it, and could not do in full; what nothing can change is a warning."""
    chosen, balance = found.wanted.chosen, found.aligned.placement.balance
    if balance is None or not (balance.required or chosen.for_balance.any()):
        return ()
    return found.off_balance


def _different(found: Comparison, lacking: Collection[TopicPartition]) -> Iterator[Drifted]:
    """What differs of the partitions that there are, and of those that cannot be created now."""
    for row in found.left.differences.table.to_pylist():
        name = TopicPartition(row["topic"], row["partition"])
        if name not in lacking:
            leader = BrokerId(row["leader"]) if row["leader"] >= 0 else None
            declared, observed = tuple(row["declared"]), tuple(row["observed"])
            yield Drifted(name, DifferenceKind(row["kind"]), declared, observed, leader)


def _to_be_created(found: Comparison) -> Iterator[Drifted]:
    """Partitions that a list declares and the cluster lacks; those of a `partitionCount` are counted by topic."""
    explicit = found.aligned.placement.topics
    names = [n for c in found.growth.creates if c.topic in explicit for n in c.partitions]
    table = found.wanted.table
    rows = rows_of(named_partitions(names), table)
    for name, declared in zip(names, table.column("replicas").take(pa.array(rows)), strict=True):
        yield Drifted(name, DifferenceKind.MISSING, tuple(declared.as_py()), (), None)


def _leaderless(
    found: Comparison, differing: Collection[TopicPartition]
) -> tuple[list[Drifted], list[PlanWarning]]:
    """Partitions without a leader, of those that are declared or differ; and a warning of the others."""
    snapshot, kind = found.aligned.snapshot, DifferenceKind.NO_LEADER
    without, declared = np.asarray(snapshot.partitions.column("leader")) < 0, managed(found.aligned)
    rows = found.aligned.observed.rows(named_partitions(differing))
    declared[rows[rows >= 0]] = True
    lost = [
        Drifted(p.partition, kind, p.replicas, p.replicas, None)
        for p in snapshot.states(np.flatnonzero(without & declared).tolist())
    ]
    others = np.flatnonzero(without & ~declared).tolist()
    names = tuple(str(p.partition) for p in snapshot.states(others[:NAMED]))
    facts: Facts = {"partitions": names, "count": len(others)}
    return lost, [PlanWarning(WarningKind.LEADERLESS, facts)] if others else []


def _absent_leaders(found: Comparison) -> Iterator[Drifted]:
    kind = DifferenceKind.PREFERRED_ABSENT
    for absent in absent_leaders(found.aligned, found.wanted.chosen):
        seen = found.aligned.snapshot.partition(absent.partition)
        leader = None if seen is None else seen.leader
        wanted, has = (absent.preferred.broker,), absent.replicas or ()
        yield Drifted(absent.partition, kind, wanted, has, leader)


def _lying_there(
    placement: Placement, snapshot: Snapshot
) -> tuple[tuple[TopicPartition, BrokerId, str], ...]:
    found = log_drains(placement, snapshot, {})
    lying = [(m.partition, m.broker, m.source) for m in found.moves]
    return tuple(sorted([*lying, *((m.partition, m.broker, m.source) for m in found.no_room)]))
