"""Made-up clusters of any size, the same every time, and placements that differ from them in one row of a hundred."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from replan.model.api import (
    BROKER_LIST,
    PAD,
    TOPICS_SCHEMA,
    Broker,
    BrokerId,
    Features,
    Snapshot,
    from_matrix,
    partitions_table,
    to_matrix,
)
from replan.snapshots.api import derived_topic_id

BROKER_COUNT = 60
PER_TOPIC = 50
DIFFERING = 100
"""One partition of so many is declared otherwise than it stands."""


def synthetic_snapshot(name: str, partitions: int) -> Snapshot:
    """A cluster of 60 brokers, 50 partitions a topic, three replicas each, everything in sync."""
    count = partitions // PER_TOPIC
    lists = _lists(partitions)
    names = [f"topic-{n:06d}" for n in range(count)]
    nobody = pa.array([[]] * partitions, BROKER_LIST)
    chance = np.random.default_rng(1)
    table = partitions_table(
        pa.array(names, pa.string()),
        pa.array(np.repeat(np.arange(count), PER_TOPIC).astype(np.int32)),
        {
            "partition": pa.array(np.tile(np.arange(PER_TOPIC), count).astype(np.int32)),
            "leader": pa.array(lists[:, 0]),
            "leader_epoch": pa.array(chance.integers(0, 100, partitions).astype(np.int32)),
            "replicas": from_matrix(lists),
            "isr": from_matrix(lists),
            **dict.fromkeys(("adding", "removing", "elr", "last_known_elr"), nobody),
            "bytes": pa.array(chance.integers(0, 10**10, partitions)),
        },
    )
    topics = pa.Table.from_pydict(
        {
            "name": names,
            "id": [derived_topic_id(n) for n in names],
            "min_insync_replicas": [2] * count,
            "min_insync_source": [1] * count,
            "unclean_election": [False] * count,
            "leader_throttled": [None] * count,
            "follower_throttled": [None] * count,
        },
        schema=TOPICS_SCHEMA,
    )
    brokers = tuple(Broker(BrokerId(i), "abc"[i % 3]) for i in range(1, BROKER_COUNT + 1))
    return Snapshot(name, "2026-11-21T03:00:00Z", Features(), brokers, topics, table)


def of_every_class(snapshot: Snapshot) -> Snapshot:
    """The same with leaders elsewhere, replicas out of sync, another tool at work, and a throttle that was left."""
    table = snapshot.partitions
    lists = to_matrix(table.column("replicas"))
    leaders, isr = lists[:, 0].copy(), lists.copy()
    leaders[13::1000] = lists[13::1000, 1]
    isr[107::1000, 2] = PAD  # of these the declared list differs, too
    adding = np.full((len(lists), 1), PAD, dtype=np.int32)
    adding[307::1000, 0] = lists[307::1000, 2]
    columns = {"leader": pa.array(leaders), "isr": from_matrix(isr), "adding": from_matrix(adding)}
    for name, values in columns.items():
        table = table.set_column(
            table.schema.get_field_index(name), table.schema.field(name), values
        )
    first = pa.array(["0:1"] + [None] * (snapshot.topics.num_rows - 1), pa.string())
    at = snapshot.topics.schema.get_field_index("leader_throttled")
    topics = snapshot.topics.set_column(at, snapshot.topics.schema.field(at), first)
    return replace(snapshot, partitions=table, topics=topics)


def write_placement(name: str, partitions: int, path: Path) -> None:
    """Declare every partition of the synthetic cluster of that name, one in a hundred otherwise."""
    lists = _lists(partitions)
    otherwise = slice(7, None, DIFFERING)
    lists[otherwise, 2] = lists[otherwise, 2] % BROKER_COUNT + 1
    lines = [f"version: 1\ncluster: {{name: {name}, id: {name}}}\nassignments:"]
    for topic in range(partitions // PER_TOPIC):
        lines.append(f"  topic-{topic:06d}:\n    partitions:")
        rows = lists[topic * PER_TOPIC : (topic + 1) * PER_TOPIC].tolist()
        lines += [f"      - {row}" for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _lists(partitions: int) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    first = np.random.default_rng(0).integers(1, BROKER_COUNT + 1, partitions)
    third = BROKER_COUNT // 3
    return np.stack([(first + k * third - 1) % BROKER_COUNT + 1 for k in range(3)], axis=1).astype(
        np.int32
    )
