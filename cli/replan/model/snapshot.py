"""Everything observed of one cluster at one moment, in columns.

Partitions and topics are Arrow tables, because there may be a million of them: no Python object exists for
a partition until that one is asked for. Brokers and log directories are few and are objects.
How a snapshot is written to disk is in `snapshots`: one JSON document, or a folder of Parquet.

Invariants: `topics` is sorted by name, without repetition; `partitions` is sorted by (topic, partition);
the dictionary of `partitions.topic` is exactly `topics.name`, so a topic's code is its row in `topics`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct, field

from replan.model.broker import Broker, LogDir, Volumes, volumes
from replan.model.columns import BROKER_LIST, Ints, list_lengths, number_column, take
from replan.model.configs import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    THROTTLE_RATES,
    Configs,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    SettingName,
    TopicSettings,
)
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.model.partition import PartitionState
from replan.model.replica_logs import ProbedLogs

TOPICS_SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("min_insync_replicas", pa.int32(), nullable=False),
        pa.field("min_insync_source", pa.int8(), nullable=False),
        pa.field("unclean_election", pa.bool_(), nullable=False),
        pa.field("leader_throttled", pa.string()),
        pa.field("follower_throttled", pa.string()),
    ]
)
PARTITIONS_SCHEMA = pa.schema(
    [
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("leader", pa.int32(), nullable=False),  # -1: none
        pa.field("leader_epoch", pa.int32(), nullable=False),
        pa.field("replicas", BROKER_LIST, nullable=False),
        pa.field("isr", BROKER_LIST, nullable=False),
        pa.field("adding", BROKER_LIST, nullable=False),
        pa.field("removing", BROKER_LIST, nullable=False),
        pa.field("elr", BROKER_LIST, nullable=False),
        pa.field("last_known_elr", BROKER_LIST, nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),  # of the largest replica
    ]
)


class Features(Struct, frozen=True):
    """What this cluster can do, asked of it rather than derived from a version number."""

    replication_factor_guard: bool = False
    """AlterPartitionReassignments knows AllowReplicationFactorChange (KIP-860, request version 1)."""
    eligible_leader_replicas: bool = False
    """ELR (KIP-966) is on."""


class RememberedOrder(Struct, frozen=True):
    """The order that a partition without a declared one had before the leader blacklist changed it.

    Or the whole list, where a move that had begun to add replicas was given up.
    """

    order: Replicas
    topic_id: TopicId
    left: Replicas = ()
    """The longer list that such a move has left; it counts only while the partition has exactly that."""
    recovered: bool = False
    """An election of a surviving log changed it, and no leader blacklist."""


class OwnApplication(Struct, frozen=True):
    """The application of replan's that was open, and what it had not finished: that is nobody else's."""

    id: str
    owner: str
    at_work: bool
    """Whether a process performed it."""
    targets: Mapping[TopicPartition, Replicas]
    """Where it moves partitions to."""
    rates: Mapping[BrokerId, int] = field(default_factory=dict)
    """Its throttle, by broker, in bytes per second; the settings of the snapshot leave it out."""


class Snapshot(Struct, frozen=True, dict=True):
    """One cluster at one moment."""

    cluster_id: str
    observed_at: str
    """RFC 3339, UTC; expiries are judged by it and by nothing else."""
    features: Features
    brokers: tuple[Broker, ...]
    topics: pa.Table
    partitions: pa.Table
    log_dirs: tuple[LogDir, ...] = ()
    broker_configs: Mapping[BrokerId, Configs] = field(default_factory=dict)
    """Throttle rates of live brokers that have any, each with its source."""
    silent: tuple[BrokerId, ...] = ()
    """Live brokers that did not answer about their log directories: sizes there are not known."""
    remembered: Mapping[TopicPartition, RememberedOrder] = field(default_factory=dict)
    offline: Mapping[TopicPartition, Replicas] = field(default_factory=dict)
    """Replicas that are offline on live brokers: their log directory has failed (OfflineReplicas of the metadata)."""
    logs: Mapping[TopicPartition, ProbedLogs] = field(default_factory=dict)
    """What replicas said of their own logs, of the partitions that were probed."""
    application: OwnApplication | None = None
    """As its journal has it."""

    @property
    def own_targets(self) -> Mapping[TopicPartition, Replicas]:
        """Where the open application moves partitions to: they are compared and planned as they will be."""
        return {} if self.application is None else self.application.targets

    hidden: tuple[str, ...] = ()
    """Topics that are there and that whoever observed may not describe: nothing of them is in the tables."""

    def broker_ids(self) -> frozenset[BrokerId]:
        """All registered brokers."""
        return frozenset(b.id for b in self.brokers)

    @cached_property
    def racks(self) -> Mapping[BrokerId, str | None]:
        """Of the registered brokers, by id."""
        return {b.id: b.rack for b in sorted(self.brokers, key=lambda b: b.id)}

    def brokers_of_unknown_rack(self) -> frozenset[BrokerId]:
        """Fenced brokers whose rack is not known, of a cluster that has racks: before 4.1 Kafka does not tell it."""
        if all(b.rack is None for b in self.brokers):
            return frozenset()
        return frozenset(b.id for b in self.brokers if b.fenced and b.rack is None)

    def live_brokers(self) -> frozenset[BrokerId]:
        """Registered brokers that are not fenced."""
        return frozenset(b.id for b in self.brokers if b.live)

    def topic_row(self, topic: str) -> int | None:
        """The row of a topic in `topics`."""
        names = self.topics.column("name")
        at = bisect_left(range(len(names)), topic, key=lambda i: names[i].as_py())
        return at if at < len(names) and names[at].as_py() == topic else None

    def topic_id(self, topic: str) -> TopicId | None:
        """The id of a topic; None where there is no such topic."""
        at = self.topic_row(topic)
        return None if at is None else TopicId(self.topics.column("id")[at].as_py())

    def partition_counts(self) -> dict[str, int]:
        """How many partitions each topic has."""
        names = self.topics.column("name").to_pylist()
        counts = np.bincount(topic_codes(self.partitions), minlength=len(names))
        return dict(zip(names, counts.tolist(), strict=True))

    def settings(self, topic: str) -> TopicSettings | None:
        """What safety needs to know of a topic; None where there is no such topic."""
        at = self.topic_row(topic)
        if at is None:
            return None
        return _settings(self.topics.slice(at, 1).to_pylist()[0])

    def all_settings(self) -> dict[str, TopicSettings]:
        """Settings of every topic, by name."""
        return {row["name"]: _settings(row) for row in self.topics.to_pylist()}

    def throttle_rates(self) -> Iterator[tuple[SettingName, ConfigValue]]:
        """Every throttle rate that a broker shows, with where it comes from; by broker, in the order of the keys."""
        for broker, configs in sorted(self.broker_configs.items()):
            for key in THROTTLE_RATES:
                if key in configs:
                    yield SettingName(ConfigScope.BROKER, str(broker), key), configs[key]

    def throttled_lists(self) -> Iterator[tuple[SettingName, str]]:
        """Every list of throttled replicas that a topic has of its own and that names any; by topic."""
        columns = {LEADER_REPLICAS: "leader_throttled", FOLLOWER_REPLICAS: "follower_throttled"}
        nulls = (self.topics.column(c).null_count for c in columns.values())
        if sum(nulls) == len(columns) * self.topics.num_rows:
            return
        for row in self.topics.select(["name", *columns.values()]).to_pylist():
            for key, column in columns.items():
                if row[column]:
                    yield SettingName(ConfigScope.TOPIC, row["name"], key), row[column]

    @cached_property
    def volumes(self) -> Volumes:
        """Which log directories share a volume, as far as sizes and what lies in them tell."""
        lies = _Lies(self.partitions, self.topics)
        return volumes(self.log_dirs, lies.bytes_in)

    @cached_property
    def dirs_of(self) -> Mapping[BrokerId, tuple[LogDir, ...]]:
        """The log directories by broker; only brokers that say what they have."""
        dirs: dict[BrokerId, list[LogDir]] = {}
        for log_dir in self.log_dirs:
            dirs.setdefault(log_dir.broker, []).append(log_dir)
        return {broker: tuple(of) for broker, of in dirs.items()}

    def may_copy_within(self, broker: BrokerId) -> bool:
        """Whether a replica may be on its way from one log directory of a broker to another (KIP-113).

        Such a copy is a log of the directory that it comes to, and no replica lies there yet. Also where nobody says.
        """
        dirs = self.dirs_of.get(broker, ())
        copies = any(d.logs > sum(map(len, d.replicas.values())) for d in dirs)
        return not dirs or (len(dirs) > 1 and copies)

    def topic_rows(self, topic: str) -> range:
        """The rows of a topic's partitions in `partitions`; empty where there is no such topic."""
        code = self.topic_row(topic)
        if code is None:
            return range(0)
        codes = topic_codes(self.partitions)
        mine = codes.dtype.type(code)  # of another type it would have the whole column converted
        first, end = (int(np.searchsorted(codes, mine, side)) for side in ("left", "right"))
        return range(first, end)

    def partition(self, wanted: TopicPartition) -> PartitionState | None:
        """One partition as an object; None where it does not exist."""
        return self.states_of([wanted]).get(wanted)

    def states_of(self, names: Iterable[TopicPartition]) -> dict[TopicPartition, PartitionState]:
        """Those of some partitions that exist, as objects."""
        rows: list[int] = []
        of_topics: dict[str, tuple[int, Ints]] = {}
        for topic, partition in names:
            if topic not in of_topics:
                there = self.topic_rows(topic)
                column = self.partitions.column("partition").slice(there.start, len(there))
                of_topics[topic] = there.start, column.to_numpy()
            start, numbers = of_topics[topic]
            at = int(np.searchsorted(numbers, partition))
            if at < len(numbers) and numbers[at] == partition:
                rows.append(start + at)
        return {state.partition: state for state in self.states(rows)}

    def leaderless(self) -> Iterator[PartitionState]:
        """The partitions without a leader."""
        return self.states(np.flatnonzero(self.without_leader).tolist())

    @property
    def without_leader(self) -> npt.NDArray[np.bool_]:
        """Of each row of `partitions`, whether it has no leader."""
        return np.asarray(np.asarray(self.partitions.column("leader")) < 0)

    @property
    def moving(self) -> npt.NDArray[np.bool_]:
        """Of each row of `partitions`, whether a reassignment runs on it."""
        adding, removing = (
            list_lengths(self.partitions.column(name)) for name in ("adding", "removing")
        )
        return np.asarray((adding > 0) | (removing > 0))

    def states(self, rows: Iterable[int]) -> Iterator[PartitionState]:
        """The partitions of some rows as objects, in the order asked."""
        wanted = list(rows)
        if not wanted:
            return
        ids = self.topics.column("id")
        chosen = take(self.partitions, wanted)
        codes = topic_codes(chosen)
        for code, row in zip(codes, chosen.to_pylist(), strict=True):
            leader = row["leader"]
            yield PartitionState(
                partition=TopicPartition(row["topic"], row["partition"]),
                topic_id=TopicId(ids[int(code)].as_py()),
                replicas=tuple(row["replicas"]),
                isr=tuple(row["isr"]),
                leader=None if leader < 0 else leader,
                leader_epoch=row["leader_epoch"],
                adding=tuple(row["adding"]),
                removing=tuple(row["removing"]),
                elr=tuple(row["elr"]),
                last_known_elr=tuple(row["last_known_elr"]),
                bytes=row["bytes"],
            )


class _Lies:
    """How many bytes lie in log directories, by the largest replica of each partition; read once it is asked for."""

    def __init__(self, partitions: pa.Table, topics: pa.Table) -> None:
        self._partitions, self._topics = partitions, topics
        self._codes: dict[str, int] = {}
        self._keys: Ints = np.zeros(0, np.int64)
        self._sizes: Ints = np.zeros(0, np.int64)
        self._bytes: dict[tuple[BrokerId, str], int] = {}

    def bytes_in(self, log_dir: LogDir) -> int:
        """Of one directory; 0 where nobody says what lies there."""
        at = (log_dir.broker, log_dir.path)
        if at not in self._bytes:
            self._bytes[at] = self._read(log_dir)
        return self._bytes[at]

    def _read(self, log_dir: LogDir) -> int:
        if not self._codes:
            names = self._topics.column("name").to_pylist()
            self._codes = {name: code for code, name in enumerate(names)}
            numbers = self._partitions.column("partition").to_numpy().astype(np.int64)
            self._keys = (topic_codes(self._partitions).astype(np.int64) << 32) | numbers
            self._sizes = self._partitions.column("bytes").to_numpy()
        of_topics = log_dir.replicas.values()
        codes = [self._codes.get(topic, -1) for topic in log_dir.replicas]
        counts = [len(numbers) for numbers in of_topics]
        numbers = np.fromiter(chain.from_iterable(of_topics), np.int64, sum(counts))
        wanted = (np.repeat(np.array(codes, np.int64), counts) << 32) | numbers
        at = np.minimum(np.searchsorted(self._keys, wanted), max(0, len(self._keys) - 1))
        there = at[self._keys[at] == wanted] if len(self._keys) else at[:0]
        return int(self._sizes[there].sum())


def _settings(row: Mapping[str, Any]) -> TopicSettings:
    return TopicSettings(
        row["min_insync_replicas"],
        ConfigSource(row["min_insync_source"]),
        row["unclean_election"],
        row["leader_throttled"],
        row["follower_throttled"],
    )


def topic_codes(partitions: pa.Table) -> "np.ndarray[tuple[int], np.dtype[np.int32]]":
    """The topic of each row as its row number in `topics`."""
    column = partitions.column("topic")
    if column.num_chunks == 0:
        return np.array([], dtype=np.int32)
    one = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return np.asarray(one.indices, dtype=np.int32)


def effective_minimums(partitions: pa.Table, topics: pa.Table) -> Ints:
    """`effective_min_isr` of each row."""
    configured = np.asarray(topics.column("min_insync_replicas"), dtype=np.int64)
    assigned = list_lengths(partitions.column("replicas"))
    return np.minimum(configured[topic_codes(partitions)], assigned)


def partitions_table(
    topic_names: pa.Array, codes: npt.ArrayLike, columns: Mapping[str, pa.Array]
) -> pa.Table:
    """Make a `partitions` table from topic codes and the other columns; sorts nothing."""
    topic = pa.DictionaryArray.from_arrays(number_column(codes), topic_names)
    arrays = [topic, *(columns[name] for name in PARTITIONS_SCHEMA.names[1:])]
    return pa.Table.from_arrays(arrays, schema=PARTITIONS_SCHEMA)
