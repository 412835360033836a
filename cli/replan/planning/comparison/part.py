"""A part of the differences: what `plan --only` chooses, by topic, pattern or partition; or what a policy allows."""

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from replan.errors import BadUsage
from replan.model.columns import take
from replan.model.configs import ConfigScope, SettingName
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


class PlannedPart(Struct, frozen=True):
    """The part of what differs that is planned: all of it, what `plan --only` names, or what a policy has chosen."""

    within: PartitionFilter
    is_all: bool = False
    scope: Scope | None = None
    """Where a policy has chosen it."""

    @classmethod
    def of(cls, only: Sequence[str], scope: Scope | None, snapshot: Snapshot) -> "PlannedPart":
        """The part that is asked for; raises BadUsage where a pattern of `only` matches nothing."""
        if scope is not None:
            return cls(scope.partitions.__contains__, scope=scope)
        return cls(_named_by(only, snapshot)) if only else cls(lambda _: True, is_all=True)

    def differences(self, differs: Differences) -> Differences:
        """Those of the part."""
        if self.is_all:
            return differs
        rows = differs.table.select(["topic", "partition"]).to_pylist()
        chosen = np.array(
            [self.within(TopicPartition(r["topic"], r["partition"])) for r in rows], dtype=bool
        )
        return Differences(take(differs.table, np.flatnonzero(chosen)), differs.positions[chosen])

    def has_setting(self, name: SettingName) -> bool:
        """Whether a setting is of the part: one of a topic, if the whole topic is; one of a broker never by `only`."""
        if self.scope is not None and name in self.scope.settings:
            return True
        whole = name.scope is ConfigScope.TOPIC and self.within(TopicPartition(name.name, -1))
        return self.is_all or whole

    def balances(self, name: TopicPartition) -> bool:
        """Whether replicas of a partition may change their log directories for the balance of these."""
        return self.within(name) if self.scope is None else name in self.scope.balanced

    @property
    def log_moves(self) -> tuple[LogMove, ...]:
        """What a policy moves between the log directories of a broker."""
        return () if self.scope is None else self.scope.log_moves


def _named_by(only: Sequence[str], snapshot: Snapshot) -> PartitionFilter:
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


def _partition(text: str) -> TopicPartition | None:
    try:
        return parse_topic_partition(text)
    except ValueError:
        return None
