"""Known drift: differences that the placement asks to leave alone until a date.

A drain overrides it, and so does a partition under its effective min ISR: both must be repaired whoever waits for what.
Expiry is judged by the time of the snapshot.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from replan.model.declared.placement import LeaderBlacklist, Placement
from replan.model.declared.policy import Acknowledgement
from replan.model.declared.rules import LogDirBlacklist, ReplicaBlacklist
from replan.model.declared.topic_patterns import matches
from replan.model.names import TopicPartition
from replan.model.partition import PartitionState, effective_min_isr
from replan.model.snapshot import Snapshot
from replan.planning.comparison.diff import Differences

Known = tuple[Acknowledgement, Sequence[TopicPartition]]
"""An entry with the differing partitions that it covers."""


@dataclass(frozen=True, slots=True)
class Unacknowledged:
    """What is left of the differences, and what was left out."""

    differences: Differences
    known: tuple[Known, ...] = ()
    unplaceable: frozenset[int] = frozenset()
    """The observed rows of what nothing can place, as far as no entry covers it."""


def expired(
    entry: Acknowledgement | LeaderBlacklist | ReplicaBlacklist | LogDirBlacklist,
    snapshot: Snapshot,
) -> bool:
    """Whether the date of an entry had passed when the snapshot was taken."""
    return entry.expires is not None and entry.expires < snapshot.observed_at


def acknowledgement_of(
    name: TopicPartition, placement: Placement, snapshot: Snapshot
) -> Acknowledgement | None:
    """The entry in force that names a partition, the first of several."""
    return _entry_of(name, _in_force(placement, snapshot))


def _in_force(placement: Placement, snapshot: Snapshot) -> list[Acknowledgement]:
    return [e for e in placement.acknowledged if not expired(e, snapshot)]


def without_acknowledged(
    differs: Differences,
    rows: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    placement: Placement,
    snapshot: Snapshot,
    unplaceable: Sequence[int] = (),
) -> Unacknowledged:
    """Leave out what an entry in force covers.

    `rows`: the observed row of each declared list; `unplaceable`: of each partition that nothing can place.
    """
    entries = _in_force(placement, snapshot)
    if not entries:
        return Unacknowledged(differs, unplaceable=frozenset(unplaceable))
    names = [
        TopicPartition(topic, number)
        for topic, number in zip(
            differs.table.column("topic").to_pylist(),
            differs.table.column("partition").to_pylist(),
            strict=True,
        )
    ]
    covered = {at: e for at, name in enumerate(names) if (e := _entry_of(name, entries))}
    for at in [at for at in covered if rows[differs.positions[at]] >= 0]:
        seen = next(snapshot.states([int(rows[differs.positions[at]])]))
        if _must_be_repaired(seen, placement, snapshot):
            del covered[at]
    stays = np.array([at not in covered for at in range(len(names))], dtype=bool)
    left = Differences(differs.table.filter(pa.array(stays)), differs.positions[stays])
    stuck = {
        at: (seen.partition, e)
        for at, seen in zip(unplaceable, snapshot.states(unplaceable), strict=True)
        if (e := _entry_of(seen.partition, entries))
        and not _must_be_repaired(seen, placement, snapshot)
    }
    known = [*((names[at], e) for at, e in covered.items()), *stuck.values()]
    by_entry = [(e, [name for name, of in known if of is e]) for e in entries]
    return Unacknowledged(
        left,
        tuple((e, found) for e, found in by_entry if found),
        frozenset(unplaceable).difference(stuck),
    )


def _entry_of(name: TopicPartition, entries: Sequence[Acknowledgement]) -> Acknowledgement | None:
    return next((e for e in entries if matches(e.partitions, str(name))), None)


def _must_be_repaired(seen: PartitionState, placement: Placement, snapshot: Snapshot) -> bool:
    settings = snapshot.settings(seen.partition.topic)
    needed = effective_min_isr(settings.min_insync_replicas if settings else 1, len(seen.replicas))
    drained = {entry.broker for entry in placement.replica_blacklist}
    return len(seen.isr) < needed or not drained.isdisjoint(seen.replicas)
