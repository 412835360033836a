"""A whole cluster at one moment, as a snapshot; each fact comes from exactly one source.

| fact                                    | source                                                       |
| --------------------------------------- | ------------------------------------------------------------ |
| cluster id, brokers, racks, fenced      | DescribeCluster (before 4.1 fenced: see `brokers`)           |
| cordoned, directories, sizes            | DescribeLogDirs of each live broker                          |
| what runs, with its lists               | ListPartitionReassignments                                   |
| other lists, ISR, leaders, epochs, ELR, | DescribeTopicPartitions                                      |
| offline replicas                        |                                                              |
| settings of topics, rates of brokers    | DescribeConfigs                                              |
| what the cluster can do                 | ApiVersions, when the connection was made                    |
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from replan.errors import ClusterRefused
from replan.kafka.failures import DESCRIBE_BROKER_CONFIGS
from replan.kafka.reads import brokers, configs
from replan.kafka.reads.log_dirs import all_cordoned, directories, directories_and_sizes
from replan.kafka.reads.partitions import PartitionColumns, pages
from replan.kafka.reads.patience import Reads
from replan.kafka.reads.reassignments import listing
from replan.model.configs import Configs, TopicSettings
from replan.model.names import BrokerId
from replan.model.snapshot import TOPICS_SCHEMA, Snapshot, partitions_table

_BROKER_SECONDS = 5.0


def observe(reads: Reads, *, observed_at: str, lenient: bool = False) -> Snapshot:
    """Ask for everything; a broker that does not answer in time is named as silent.

    Topics that this user may not describe are named, settings of topics that it may not read marked as not known.
    `lenient`: so are rates of brokers that it may not read left out.
    """
    described = brokers.described(reads)
    registered = brokers.listed(described)
    live = [b.id for b in registered.values() if b.live]
    columns = _partitions(reads)
    answers, sizes, others = directories_and_sizes(reads, live, columns.topics, columns.rows)
    if not brokers.tells_fenced(described):
        registered = brokers.registered(reads, registered, columns.members())
    topics, partitions = tables(columns, configs.of_topics(reads, columns.names), sizes)
    return Snapshot(
        cluster_id=described.cluster_id,
        observed_at=observed_at,
        features=brokers.features(reads.wire),
        brokers=tuple(
            replace(b, cordoned=all_cordoned(answers.get(b.id, ()))) for b in registered.values()
        ),
        topics=topics,
        partitions=partitions,
        log_dirs=tuple(directories(answers)),
        broker_configs={
            b: found for b, found in _rates(reads, live, lenient=lenient).items() if found
        },
        silent=tuple(broker for broker in live if broker not in answers),
        offline=columns.offline(frozenset(live)),
        hidden=_hidden(reads, others),
    )


def _hidden(reads: Reads, topics: Collection[str]) -> tuple[str, ...]:
    """The topics of these that this user may not describe: a broker lists without a word those that it may.

    What brokers hold logs of needs no permission on topics (DescribeLogDirs), and asked by name each shows why it was
    not listed: it is gone meanwhile, or may not be described.
    """
    named = (topic for page in pages(reads, topics) for topic in page.topics)
    return tuple(sorted({topic.name for topic in named if topic.hidden}))


def _partitions(reads: Reads) -> PartitionColumns:
    listed = listing(reads)
    columns = PartitionColumns(reads.ask(listed.operation, listed.question))
    for page in pages(reads, None):
        columns.add(page)
    return columns


def _rates(reads: Reads, live: Sequence[BrokerId], *, lenient: bool) -> dict[BrokerId, Configs]:
    asked = {broker: configs.asking_broker(reads, broker).question for broker in live}
    try:
        told = reads.ask_each(DESCRIBE_BROKER_CONFIGS, asked, limit_seconds=_BROKER_SECONDS)
    except ClusterRefused:
        if not lenient:
            raise
        return {}
    return dict(sorted(told.items()))


def tables(
    columns: PartitionColumns, configured: Mapping[str, TopicSettings], sizes: Any
) -> tuple[pa.Table, pa.Table]:
    """Both tables, without the topics that were deleted between the two questions."""
    kept = np.array([name in configured for name in columns.names], dtype=bool)
    topics = _topics_table(
        [(topic.name, topic.id) for topic in columns.topics if topic.name in configured],
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


def _topics_table(
    names: list[tuple[str, Any]], configured: Mapping[str, TopicSettings]
) -> pa.Table:
    found = [configured[name] for name, _ in names]
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
