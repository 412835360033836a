"""Declared beside observed: which row of one table is which row of another, joined once per plan.

Partitions are matched by topic and number, in numpy: an index of one table is made once, and any others are looked up
in it. Not here: what a partition should look like (`overlays`), and what differs (`diff`).
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from msgspec import Struct

from replan.model.columns import Ints, list_in_row, positions_in, to_matrix, topics_of
from replan.model.declared.intents import Intents
from replan.model.declared.placement import Placement
from replan.model.declared.where import Where
from replan.model.names import Replicas, TopicPartition
from replan.model.rates import Rates
from replan.model.snapshot import Snapshot


class PartitionIndex(Struct, frozen=True):
    """The partitions of a table, ready to be looked up."""

    names: pa.Array
    """Topics; the position of each is its code."""
    keys: Ints
    """Code and partition of each row, ascending."""
    order: Ints | None
    """The row of each key; None where the rows ascend already."""

    @classmethod
    def of(cls, table: pa.Table) -> "PartitionIndex":
        """Index a table with columns topic and partition."""
        names, codes = topics_of(table)
        keys = _keys(codes, table)
        if bool(np.all(keys[1:] > keys[:-1])):
            return cls(names, keys, None)
        order = np.argsort(keys)
        return cls(names, keys[order], order)

    def rows(self, table: pa.Table) -> Ints:
        """The row of each partition of another table, -1 where this one has none; shape (table,)."""
        if not table.num_rows:
            return np.zeros(0, dtype=np.int64)
        names, codes = topics_of(table)
        wanted = _keys(positions_in(names, self.names)[codes], table)
        if not len(self.keys):
            return np.full(len(wanted), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        rows = at if self.order is None else self.order[at]
        return np.where((self.keys[at] == wanted) & (wanted >= 0), rows, -1)


class Alignment(Struct, frozen=True):
    """A placement beside a snapshot."""

    placement: Placement
    snapshot: Snapshot
    observed: PartitionIndex
    """Of the snapshot's partitions."""
    explicit_rows: Ints
    """The observed row of each explicit list, -1 where the cluster has none."""
    leader_rows: Ints
    """The observed row of each partition with a preferred leader, in the placement's order; -1 where there is none."""
    intents: Intents
    """Which entry counts for each topic."""
    rates: Rates | None = None
    """What producers write, where it is known."""

    @classmethod
    def of(
        cls,
        placement: Placement,
        snapshot: Snapshot,
        rates: Rates | None = None,
        intents: Intents | None = None,
    ) -> "Alignment":
        """Join the two; `intents`: where somebody has decided them already."""
        observed = PartitionIndex.of(snapshot.partitions)
        return cls(
            placement,
            snapshot,
            observed,
            observed.rows(placement.explicit),
            observed.rows(named_partitions(placement.preferred_leaders)),
            intents or Intents.of(placement, snapshot.topics.column("name").to_pylist()),
            rates,
        )

    def over(self, snapshot: Snapshot) -> "Alignment":
        """The same placement beside a snapshot of the same topics."""
        return Alignment.of(self.placement, snapshot, self.rates, self.intents)


def partition_rows(wanted: pa.Table, table: pa.Table) -> Ints:
    """The row in `table` of each partition of `wanted`, -1 where there is none: for tables that are joined but once."""
    return PartitionIndex.of(table).rows(wanted) if wanted.num_rows else np.zeros(0, dtype=np.int64)


def named_partitions(names: Iterable[TopicPartition]) -> pa.Table:
    """Names as a table with columns topic and partition, in the order given."""
    listed = list(names)
    return pa.table(
        {
            "topic": pa.array([n.topic for n in listed], pa.string()),
            "partition": pa.array([n.partition for n in listed], pa.int32()),
        }
    )


def _keys(codes: Ints, table: pa.Table) -> Ints:
    """One sortable number per row: topic code and partition; negative where the topic is unknown."""
    partitions = np.asarray(table.column("partition"), dtype=np.int64)
    return np.where(codes < 0, np.int64(-1), (codes << 32) | partitions)


class DeclaredList(Struct, frozen=True):
    """An explicit list as it is written."""

    replicas: Replicas
    where: Where


class PartitionCount(Struct, frozen=True):
    """A topic with another number of partitions than is declared."""

    topic: str
    declared: int
    observed: int


def partition_counts(
    placement: Placement, intents: Intents, snapshot: Snapshot
) -> list[PartitionCount]:
    """Topics with another number of partitions than `partitionCount`, or with more than their list form declares.

    Partitions that a list declares beyond the topic's are differences of their own (MISSING).
    """
    live = snapshot.partition_counts()
    return [
        PartitionCount(topic, count, live[topic])
        for topic, name, count in intents.partition_counts()
        if count < live[topic] or (name in placement.rules and count > live[topic])
    ]


def declared_lists(
    placement: Placement, names: Sequence[TopicPartition]
) -> dict[TopicPartition, DeclaredList]:
    """The declared list of each of these partitions that has one."""
    rows = partition_rows(named_partitions(names), placement.explicit)
    declared = {name: at for name, at in zip(names, rows.tolist(), strict=True) if at >= 0}
    if not declared:
        return {}
    lists = to_matrix(placement.explicit.column("replicas"))
    lines, columns = (placement.explicit.column(key) for key in ("line", "column"))
    return {
        name: DeclaredList(
            list_in_row(lists, at),
            Where(placement.topics[name.topic].where.file, lines[at].as_py(), columns[at].as_py()),
        )
        for name, at in declared.items()
    }
