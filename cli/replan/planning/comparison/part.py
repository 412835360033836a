"""A part of the differences: what `plan --only` chooses, by topic, pattern or partition."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from replan.errors import BadUsage
from replan.model.names import TopicPartition, parse_topic_partition
from replan.model.snapshot import Snapshot
from replan.model.topic_patterns import matches
from replan.planning.comparison.diff import Differences


def part_of(differs: Differences, only: Sequence[str], snapshot: Snapshot) -> Differences:
    """The differences of these topics and partitions, or all; raises BadUsage where a pattern matches nothing."""
    if not only:
        return differs
    topics, partitions = set[str](), set[TopicPartition]()
    for pattern in only:
        named = [t for t in snapshot.topics.column("name").to_pylist() if matches(pattern, t)]
        name = None if named else _partition(pattern)
        if name is not None and snapshot.partition(name) is not None:
            partitions.add(name)
        elif not named:
            raise BadUsage(
                f"--only {pattern}: cluster {snapshot.cluster_id} has no such topic or partition; "
                "write a topic, a pattern such as 'pay*', or a partition such as orders-7"
            )
        topics.update(named)
    rows = differs.table.select(["topic", "partition"]).to_pylist()
    chosen = np.array(
        [r["topic"] in topics or (r["topic"], r["partition"]) in partitions for r in rows],
        dtype=bool,
    )
    return Differences(differs.table.filter(pa.array(chosen)), differs.positions[chosen])


def _partition(text: str) -> TopicPartition | None:
    try:
        return parse_topic_partition(text)
    except ValueError:
        return None
