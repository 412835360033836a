"""Topics that have another number of partitions than an entry of `assignments` declares."""

from dataclasses import dataclass

from replan.model.declared.placement import Placement
from replan.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PartitionCount:
    """A topic with another number of partitions than is declared."""

    topic: str
    declared: int
    observed: int


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
