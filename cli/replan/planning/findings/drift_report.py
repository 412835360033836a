"""Drift with what a reader needs to act on it: the class of each difference, what nobody declares, who could lead.

Pure, and in a stable order, so that two reports can be compared.
"""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from replan.model.columns import Ints, list_lengths, members_of, take, to_matrix
from replan.model.declared.placement import Placement
from replan.model.names import TopicPartition
from replan.model.rates import Rates
from replan.model.snapshot import Snapshot
from replan.planning.compared import compared
from replan.planning.findings.drift import Drift, drift_of
from replan.planning.findings.drift_classes import Difference, DriftClass
from replan.planning.findings.spells import DriftKey, Spell
from replan.wording import NAMES_SHOWN


class Electable(Struct, frozen=True):
    """How many replicas of a partition could lead without losing a record: |ISR ∪ ELR| (KIP-966)."""

    partitions: Mapping[int, int]
    """Number of partitions by the number of electable replicas."""
    at_risk: int
    """Partitions of several replicas of which at most one is electable: the next failure leaves no clean leader."""
    named: tuple[TopicPartition, ...]
    """The first of those."""

    @property
    def least(self) -> int | None:
        """The fewest of any partition; None where there are no partitions."""
        return min(self.partitions, default=None)


class DriftReport(Struct, frozen=True):
    """One cluster at one moment."""

    drift: Drift
    cluster_name: str | None
    unmanaged: Mapping[str, int]
    """Topics that no entry of `assignments` names, with their number of partitions; never drift."""
    electable: Electable
    spells: Mapping[DriftKey, Spell] | None = None
    """What earlier comparisons found; None where nobody asked."""

    def of(self, drift_class: DriftClass) -> tuple[Difference, ...]:
        """The differences of a class, in order."""
        return tuple(d for d in self.drift.differences if d.drift_class is drift_class)

    def tally(self) -> Mapping[DriftClass, int]:
        """How many differences each class has."""
        return {drift_class: len(self.of(drift_class)) for drift_class in DriftClass}

    def spell(self, difference: Difference) -> Spell | None:
        """Since when something drifts; None where nobody asked. What no comparison knew yet began with this one."""
        if self.spells is None:
            return None
        now = self.drift.observed_at
        earlier = self.spells.get(
            (difference.topic, difference.partition, difference.broker, difference.kind)
        )
        if earlier is None or earlier.since > now:
            return Spell(now, began=(now,))
        if earlier.resolved_at is not None and earlier.resolved_at <= now:
            return earlier.again(now)
        return replace(earlier, resolved_at=None)


def drift_report(
    placement: Placement,
    snapshot: Snapshot,
    *,
    journal_unread: bool = False,
    rates: Rates | None = None,
) -> DriftReport:
    """Compare. Raises WrongCluster; `journal_unread` is that of `drift_of`."""
    comparison = compared(placement, snapshot, rates)
    managed, counts = comparison.aligned.intents.entries, snapshot.partition_counts()
    return DriftReport(
        drift=drift_of(comparison, journal_unread=journal_unread),
        cluster_name=placement.cluster_name,
        unmanaged={topic: counts[topic] for topic in sorted(counts) if topic not in managed},
        electable=_electable(snapshot),
    )


def _electable(snapshot: Snapshot) -> Electable:
    electable = _electable_counts(snapshot)
    replicas = list_lengths(snapshot.partitions.column("replicas"))
    numbers, partitions = np.unique(electable, return_counts=True)
    rows = np.flatnonzero((electable <= 1) & (replicas > 1))
    return Electable(
        dict(zip(numbers.tolist(), partitions.tolist(), strict=True)),
        len(rows),
        tuple(state.partition for state in snapshot.states(rows[:NAMES_SHOWN].tolist())),
    )


def _electable_counts(snapshot: Snapshot) -> Ints:
    """`PartitionState.electable` of each row: members of the ELR that are no replicas do not count."""
    counts = list_lengths(snapshot.partitions.column("isr"))
    rows = np.flatnonzero(list_lengths(snapshot.partitions.column("elr")))
    if len(rows):
        some = take(snapshot.partitions, rows)
        elr, isr, listed = (to_matrix(some.column(name)) for name in ("elr", "isr", "replicas"))
        more = members_of(elr, listed) & ~members_of(elr, isr)
        counts[rows] += more.sum(axis=1)
    return counts
