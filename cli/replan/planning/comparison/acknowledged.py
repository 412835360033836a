"""Known drift: differences that the placement asks to leave alone until a date.

A drain overrides it, and so does a partition under its effective min ISR: both must be repaired whoever waits for what.
Dates are judged by the time of the snapshot.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from replan.model.declared.placement import Placement
from replan.model.declared.policy import Acknowledgement
from replan.model.declared.topic_patterns import winners
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


def passed(date: str, snapshot: Snapshot) -> bool:
    """Whether a date had passed when the snapshot was taken."""
    return date < snapshot.observed_at


def acknowledgements_of(
    names: Iterable[TopicPartition], placement: Placement, snapshot: Snapshot
) -> list[Acknowledgement | None]:
    """The entry in force that counts for each partition."""
    entries = _Entries(placement, snapshot)
    return [entries.of(name) for name in names]


class _Entries:
    """Those in force; of those that name a partition, the most particular one counts, as everywhere."""

    def __init__(self, placement: Placement, snapshot: Snapshot) -> None:
        self.entries = [e for e in placement.acknowledged if not passed(e.expires, snapshot)]
        self._of_topic: dict[str, Sequence[Acknowledgement]] = {}

    def of(self, name: TopicPartition) -> Acknowledgement | None:
        """The one that counts for a partition."""
        if name.topic not in self._of_topic:
            self._of_topic[name.topic] = self._by_particularity(name.topic)
        number, entries = name.partition, self._of_topic[name.topic]
        return next((e for e in entries if e.partitions is None or number in e.partitions), None)

    def _by_particularity(self, topic: str) -> Sequence[Acknowledgement]:
        """Those that name a topic; of one name or pattern, those of single partitions before that of all."""
        left = {entry.topic for entry in self.entries}
        found: list[Acknowledgement] = []
        while best := winners(left, [topic]).get(topic):
            alike = [e for e in self.entries if e.topic == best]
            found += sorted(alike, key=lambda e: e.partitions is None)
            left.discard(best)
        return found


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
    entries = _Entries(placement, snapshot)
    if not entries.entries:
        return Unacknowledged(differs, unplaceable=frozenset(unplaceable))
    names = [
        TopicPartition(topic, number)
        for topic, number in zip(
            differs.table.column("topic").to_pylist(),
            differs.table.column("partition").to_pylist(),
            strict=True,
        )
    ]
    covered = {at: e for at, name in enumerate(names) if (e := entries.of(name))}
    for at in [at for at in covered if rows[differs.positions[at]] >= 0]:
        seen = next(snapshot.states([int(rows[differs.positions[at]])]))
        if _must_be_repaired(seen, placement, snapshot):
            del covered[at]
    stays = np.array([at not in covered for at in range(len(names))], dtype=bool)
    left = Differences(differs.table.filter(pa.array(stays)), differs.positions[stays])
    stuck = {
        at: (seen.partition, e)
        for at, seen in zip(unplaceable, snapshot.states(unplaceable), strict=True)
        if (e := entries.of(seen.partition)) and not _must_be_repaired(seen, placement, snapshot)
    }
    known = [*((names[at], e) for at, e in covered.items()), *stuck.values()]
    by_entry = [(e, [name for name, of in known if of is e]) for e in entries.entries]
    return Unacknowledged(
        left,
        tuple((e, found) for e, found in by_entry if found),
        frozenset(unplaceable).difference(stuck),
    )


def _must_be_repaired(seen: PartitionState, placement: Placement, snapshot: Snapshot) -> bool:
    settings = snapshot.settings(seen.partition.topic)
    needed = effective_min_isr(settings.min_insync_replicas if settings else 1, len(seen.replicas))
    drained = {entry.broker for entry in placement.replica_blacklist}
    return len(seen.isr) < needed or not drained.isdisjoint(seen.replicas)
