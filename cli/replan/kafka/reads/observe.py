"""A whole cluster at one moment, as a snapshot; each fact comes from exactly one source.

| fact                                    | source                                                       |
| --------------------------------------- | ------------------------------------------------------------ |
| cluster id, brokers, racks, fenced      | DescribeCluster (before 4.1 fenced: see `brokers`)           |
| cordoned, directories, sizes            | DescribeLogDirs of each live broker                          |
| what runs, with its lists               | ListPartitionReassignments                                   |
| other lists, ISR, leaders, epochs, ELR  | DescribeTopicPartitions                                      |
| settings of topics, rates of brokers    | DescribeConfigs                                              |
| what the cluster can do                 | ApiVersions                                                  |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from replan.kafka.reads import brokers, configs, log_dirs
from replan.kafka.reads.log_dirs import TopicRows
from replan.kafka.reads.partitions import PartitionColumns, pages
from replan.kafka.reads.patience import Reads
from replan.kafka.reads.reassignments import running
from replan.model.broker import Broker, LogDir
from replan.model.columns import Ints
from replan.model.configs import Configs
from replan.model.garbage_collection import garbage_collection_paused
from replan.model.names import BrokerId
from replan.model.snapshot import TOPICS_SCHEMA, Snapshot, partitions_table


def observe(reads: Reads, *, observed_at: str, broker_seconds: float) -> Snapshot:
    """Ask for everything; a broker that does not answer within `broker_seconds` is named as silent."""
    described = brokers.describe_cluster(reads)
    registered = brokers.listed(described)
    live = [b.id for b in registered.values() if b.live]
    with garbage_collection_paused():
        columns = _partitions(reads)
        logs = _logs(reads, live, columns.rows(), broker_seconds)
    if not brokers.tells_fenced(described):
        registered = brokers.with_members(registered, columns.members())
    topics, partitions = tables(columns, configs.of_topics(reads, columns.names), logs.sizes)
    rates = configs.of_brokers(reads, live, limit_seconds=broker_seconds)
    return Snapshot(
        cluster_id=described.cluster_id,
        observed_at=observed_at,
        features=brokers.features(reads),
        brokers=_with_cordons(registered, logs.directories),
        topics=topics,
        partitions=partitions,
        log_dirs=logs.directories,
        broker_configs={broker: found for broker, found in rates.items() if found},
        silent=logs.silent,
    )


@dataclass(frozen=True, slots=True)
class _Logs:
    directories: tuple[LogDir, ...]
    sizes: Ints
    silent: tuple[BrokerId, ...]


def _partitions(reads: Reads) -> PartitionColumns:
    columns = PartitionColumns(running(reads, None))
    for topic in pages(reads, None):
        columns.add(topic)
    return columns


def _logs(reads: Reads, live: Sequence[BrokerId], rows: TopicRows, broker_seconds: float) -> _Logs:
    """What brokers tell of their logs; the messages themselves are gone before garbage is collected again."""
    told = log_dirs.ask_everything(reads, live, limit_seconds=broker_seconds)
    return _Logs(
        tuple(log_dirs.directories(told)),
        log_dirs.largest_replicas(told, rows),
        tuple(broker for broker in live if broker not in told),
    )


def _with_cordons(
    registered: Mapping[BrokerId, Broker], directories: tuple[LogDir, ...]
) -> tuple[Broker, ...]:
    cordoned = log_dirs.cordoned(directories)
    return tuple(replace(b, cordoned=b.id in cordoned) for b in registered.values())


def tables(
    columns: PartitionColumns, configured: Mapping[str, Configs], sizes: Any
) -> tuple[pa.Table, pa.Table]:
    """Both tables, without the topics that were deleted between the two questions."""
    kept = np.array([name in configured for name in columns.names], dtype=bool)
    topics = _topics_table(
        [(n, i) for n, i in zip(columns.names, columns.ids, strict=True) if n in configured],
        configured,
    )
    codes = np.asarray(columns.codes())
    rows = kept[codes] if len(kept) else np.array([], dtype=bool)
    places = (np.cumsum(kept) - 1).astype(np.int32)
    arrays = {**columns.columns(), "bytes": pa.array(sizes, pa.int64())}
    if not kept.all():
        arrays = {name: array.filter(pa.array(rows)) for name, array in arrays.items()}
        codes = places[codes[rows]]
    names = topics.column("name").combine_chunks()
    return topics, partitions_table(names, pa.array(codes, pa.int32()), arrays)


def _topics_table(names: list[tuple[str, Any]], configured: Mapping[str, Configs]) -> pa.Table:
    found = [configs.settings(configured[name]) for name, _ in names]
    return pa.Table.from_pydict(
        {
            "name": [name for name, _ in names],
            "id": [topic_id for _, topic_id in names],
            "min_insync_replicas": [s.min_insync_replicas for s in found],
            "min_insync_source": [int(s.min_insync_source) for s in found],
            "unclean_election": [s.unclean_election for s in found],
            "leader_throttled": [s.leader_throttled for s in found],
            "follower_throttled": [s.follower_throttled for s in found],
        },
        schema=TOPICS_SCHEMA,
    )
