"""A part of the differences: what `plan --only` chooses, by topic, pattern or partition; or what a policy allows."""

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from replan.errors import BadUsage
from replan.model.columns import take
from replan.model.configs import SettingName
from replan.model.declared.topic_patterns import matches
from replan.model.names import TopicPartition, parse_topic_partition
from replan.model.snapshot import Snapshot
from replan.planning.comparison.diff import Differences
from replan.planning.plans.log_dirs import LogMove

PartitionFilter = Callable[[TopicPartition], bool]
"""Whether a partition is in the part that is planned."""


class Scope(Struct, frozen=True):
    """Exactly what is to be planned, where a policy has chosen it."""

    partitions: frozenset[TopicPartition]
    """Of a topic that gets more partitions, the first new one stands for all."""
    settings: frozenset[SettingName] = frozenset()
    """Throttles that are declared to stay."""
    log_moves: tuple[LogMove, ...] = ()
    """Replicas that go to other log directories of their broker, beside what the placement says of these."""
    balanced: frozenset[TopicPartition] = frozenset()
    """Whose replicas go to other log directories of their broker for `balance: {logDirs: …}`."""


def chosen_part(only: Sequence[str], snapshot: Snapshot) -> PartitionFilter:
    """Whether a partition is in the part that is planned; raises BadUsage where a pattern matches nothing."""
    if not only:
        return lambda _: True
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
    return lambda name: name.topic in topics or name in partitions


def differences_in(differs: Differences, within: PartitionFilter) -> Differences:
    """The differences of a part."""
    rows = differs.table.select(["topic", "partition"]).to_pylist()
    chosen = np.array(
        [within(TopicPartition(r["topic"], r["partition"])) for r in rows], dtype=bool
    )
    return Differences(take(differs.table, np.flatnonzero(chosen)), differs.positions[chosen])


def _partition(text: str) -> TopicPartition | None:
    try:
        return parse_topic_partition(text)
    except ValueError:
        return None
