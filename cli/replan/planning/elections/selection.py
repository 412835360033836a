"""Which partitions an election is asked for: all, those of topics and patterns, or some that are named one by one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from replan.errors import BadUsage
from replan.model.columns import Ints
from replan.model.declared.topic_patterns import matches
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.comparison.alignment import named_partitions, rows_of


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for; exactly one of the three is."""

    everything: bool = False
    topics: tuple[str, ...] = ()
    """Names and patterns."""
    partitions: tuple[TopicPartition, ...] = ()
    """Named one by one, each once."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The partitions of a cluster that are meant."""

    rows: Ints
    """Of the snapshot's `partitions`, ascending."""
    named: frozenset[TopicPartition]
    """Those that were named one by one."""
    missing: tuple[TopicPartition, ...]
    """Those of them that the cluster does not have."""


def choose_partitions(selection: Selection, snapshot: Snapshot) -> Chosen:
    """Find them; raises BadUsage where a topic or a pattern matches nothing."""
    if selection.everything:
        rows = np.arange(snapshot.partitions.num_rows)
    elif selection.partitions:
        names = sorted(set(selection.partitions))
        found = rows_of(named_partitions(names), snapshot.partitions)
        lost = tuple(n for n, at in zip(names, found.tolist(), strict=True) if at < 0)
        return Chosen(np.sort(found[found >= 0]), frozenset(names), lost)
    else:
        topics = sorted(_topics(selection.topics, snapshot))
        rows = np.array([at for name in topics for at in snapshot.topic_rows(name)], dtype=np.int64)
    return Chosen(rows, frozenset(), ())


def _topics(wanted: Sequence[str], snapshot: Snapshot) -> set[str]:
    names = snapshot.topics.column("name").to_pylist()
    found = {pattern: {n for n in names if matches(pattern, n)} for pattern in wanted}
    for pattern, topics in found.items():
        if not topics:
            raise BadUsage(
                f"--topic {pattern}: cluster {snapshot.cluster_id} has no such topic; check the name, or use a pattern "
                "such as 'pay*' (internal topics match only patterns that begin with __)"
            )
    return set().union(*found.values())
