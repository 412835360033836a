"""What physically is, and the controller does not know: processes, logs, speeds, what is on its way.

Frozen values. How they change with time is in `advance`, how fast copies run in `copy_rates`.

The logs of replicas may differ: which epoch wrote what, where they part, and what a new leader makes of the others. The
log of a partition's leader, or of its last one, is the one that sizes and lags are about: `World.sizes`, and
`World.epochs` for who wrote it. A replica that is not in `World.parted` has a beginning of it. One that is in there has
a log of its own: it was down when another log became the leader's, and is truncated when it meets that leader. What was
there in the beginning counts as written in epoch 0. `docs/limits.md` says what is not imitated.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, field

from replan.documents.json_text import INT64_MAX
from replan.documents.typed import Form
from replan.model.broker import LogDir
from replan.model.control_plane import ReplicaName
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.replica_logs import NO_LEADER_EPOCH, EpochEnd
from replan.model.snapshot import RememberedOrder
from replan.simulator.cluster.faults import (
    BrokerQuestion,
    LoseRequests,
    Permission,
    RepeatRequests,
    Schedule,
)
from replan.simulator.controller.state import ClusterState


class EpochStart(NamedTuple):
    """The place in a log, in bytes, from which on it was written in an epoch."""

    epoch: int
    bytes: float


FIRST_EPOCHS = (EpochStart(0, 0.0),)


class Log(Struct, frozen=True):
    """The log of one replica."""

    epochs: tuple[EpochStart, ...]
    bytes: float

    def cut(self, size: float) -> "Log":
        """Its beginning of this size; an epoch that begins there is gone (LeaderEpochFileCache.truncateFromEnd)."""
        size = min(size, self.bytes)
        return Log(tuple(e for e in self.epochs if e.bytes < size), size)

    def led(self, epoch: int) -> "Log":
        """The same, whose replica leads from now on in an epoch (LeaderEpochFileCache.assign)."""
        if self.epochs and self.epochs[-1].epoch >= epoch:
            return self
        kept = tuple(e for e in self.epochs if e.bytes < self.bytes)
        return Log((*kept, EpochStart(epoch, self.bytes)), self.bytes)

    def ends(self) -> dict[int, float]:
        """Where each epoch ends, in bytes."""
        after = (*(e.bytes for e in self.epochs[1:]), self.bytes)
        return {e.epoch: end for e, end in zip(self.epochs, after, strict=False)}

    def common(self, other: "Log") -> float:
        """How many bytes two logs have in common: the records of one epoch were written by one leader."""
        mine, theirs = self.ends(), other.ends()
        shared = max(mine.keys() & theirs.keys(), default=None)
        return 0.0 if shared is None else min(mine[shared], theirs[shared])


def epoch_end(log: Log, epoch: int, record_bytes: float) -> EpochEnd:
    """The answer of a broker for an epoch (LeaderEpochFileCache.endOffsetFor)."""
    if not log.epochs or epoch > log.epochs[-1].epoch:
        return EpochEnd(NO_LEADER_EPOCH)
    ends = log.ends()
    upto = [e for e in ends if e <= epoch]
    last = offset(log.bytes, record_bytes)
    if not upto:
        return EpochEnd(epoch, offset(log.epochs[0].bytes, record_bytes), 0, last)
    return EpochEnd(max(upto), offset(ends[max(upto)], record_bytes), 0, last)


def offset(size: float, record_bytes: float) -> int:
    """How many whole records there are in so many bytes."""
    return int((size + 0.5) // record_bytes)


class PartitionLogs:
    """The logs of one partition, while its leader changes."""

    def __init__(
        self,
        main: Log,
        lacking: Mapping[BrokerId, float],
        parted: Mapping[BrokerId, Log],
    ) -> None:
        """`lacking`: what replicas lack of the main log, in bytes."""
        self.main = main
        self.lacking = dict(lacking)
        self.parted = dict(parted)

    def log(self, broker: BrokerId) -> Log:
        """The log of one replica."""
        own = self.parted.get(broker)
        return (
            self.main.cut(self.main.bytes - self.lacking.get(broker, 0.0)) if own is None else own
        )

    def led_by(self, leader: BrokerId, epoch: int, replicas: Iterable[BrokerId]) -> None:
        """Make the log of a new leader the main one."""
        logs = {b: self.log(b) for b in replicas}
        own = logs[leader]
        self.main = own.led(epoch)
        self.parted = {}
        self.lacking = {}
        for broker, log in logs.items():
            common = log.common(own)
            if broker == leader:
                continue
            self.lacking[broker] = own.bytes - common
            if log.bytes > common:
                self.parted[broker] = log


def of_partition(
    name: TopicPartition,
    size: float,
    epochs: Mapping[TopicPartition, tuple[EpochStart, ...]],
    lags: Mapping[tuple[TopicPartition, BrokerId], tuple[float, float]],
    parted: Mapping[tuple[TopicPartition, BrokerId], Log],
    replicas: Iterable[BrokerId],
) -> PartitionLogs:
    """The logs of a partition out of what a world keeps."""
    members = tuple(replicas)
    main = Log(epochs.get(name, FIRST_EPOCHS), size)
    lacking = {b: lags[name, b][0] for b in members if (name, b) in lags}
    return PartitionLogs(
        main, lacking, {b: parted[name, b] for b in members if (name, b) in parted}
    )


BrokerDirectory = tuple[BrokerId, str]
"""A log directory of a broker, by its path."""


Amount = Annotated[float, Meta(ge=0, le=INT64_MAX)]
"""Bytes, bytes per second, or seconds."""
AboveZero = Annotated[float, Meta(gt=0, le=INT64_MAX)]


class Speeds(Form, frozen=True, kw_only=True):
    """How fast things go; Kafka's defaults where Kafka has any."""

    network_bytes_per_second: Amount = 100_000_000.0
    """Of each broker, in each direction."""
    disk_bytes_per_second: Amount = math.inf
    """Of each broker, reading and writing copies together."""
    fetch_start_seconds: Amount = 0.2
    """From a follower's new duty to its first fetched byte."""
    throttle_check_seconds: Amount = 0.5
    """How often a throttled copy is asked for again: replica.fetch.wait.max.ms at its leader (DelayedFetch), and at a
    follower that fetches anything else from there; one that does not waits for replica.fetch.backoff.ms."""
    batch_bytes: Annotated[int, Meta(gt=0, le=INT64_MAX)] = 16_384
    """Of the batches in the logs; a producer's batch.size. See `replication.quota.useful_share`."""
    record_bytes: AboveZero = 1_000.0
    """Of the records in the logs: what offsets count."""
    lag_seconds: Amount = 30.0
    """replica.lag.time.max.ms: for how long a follower may be behind before it leaves the ISR."""
    session_seconds: Amount = 9.0
    """broker.session.timeout.ms: from a broker's death to its fencing."""
    start_seconds: Amount = 3.0
    """From a process's start to its broker being unfenced."""
    shutdown_seconds: AboveZero = 1.0
    """Between the heartbeats of a broker that wants to stop."""
    rebalance_seconds: AboveZero | None = 300.0
    """leader.imbalance.check.interval.seconds; None: auto.leader.rebalance.enable is off."""
    unclean_seconds: AboveZero = 300.0
    """unclean.leader.election.interval.ms."""
    delete_seconds: Amount = 60.0
    """file.delete.delay.ms: from dropping a replica to room on the disk."""
    log_dirs_bytes_per_second: Amount = 200_000_000.0
    """Of the copies between the log directories of one broker, together, where no quota holds them."""
    grain_seconds: AboveZero = 0.05
    """Copies that end within one grain end together."""


class Lag(NamedTuple):
    """A replica that is not caught up: what it has not got yet, and when it starts to fetch."""

    remaining_bytes: float
    fetches_from: float


class Burst(Struct, frozen=True):
    """What a throttled leader may still send ahead of its even rate; see `quota`."""

    left_bytes: float
    used_at: float | None = None
    """When it last sent; None while it does."""


class Deletion(Struct, frozen=True):
    """Bytes of a dropped replica that are still on the disk until `due`."""

    due: float
    broker: BrokerId
    path: str
    bytes: float


class FutureLog(Struct, frozen=True):
    """A log that is being built in another directory of its broker (KIP-113)."""

    path: str
    remaining_bytes: float
    bytes: float
    """Of the whole log."""


class World(Struct, frozen=True, kw_only=True):
    """Everything outside the controller at one moment."""

    now: float = 0.0
    started_at: str = "2026-01-01T00:00:00Z"
    """What the clock on the wall said at virtual second 0; RFC 3339, UTC."""
    speeds: Speeds = field(default_factory=Speeds)
    sizes: Mapping[TopicPartition, float] = field(default_factory=dict)
    """Bytes of the leader's log."""
    produce: Mapping[TopicPartition, float] = field(default_factory=dict)
    """Bytes per second."""
    lags: Mapping[ReplicaName, Lag] = field(default_factory=dict)
    """Of every replica outside the ISR, and of those in it that are behind."""
    behind: Mapping[ReplicaName, float] = field(default_factory=dict)
    """Replicas in the ISR that do not get all that is written, since they are dead or slow, and since when."""
    epochs: Mapping[TopicPartition, tuple[EpochStart, ...]] = field(default_factory=dict)
    """Which epochs wrote the leader's log."""
    parted: Mapping[ReplicaName, Log] = field(default_factory=dict)
    """Logs that are no beginning of the leader's."""
    bursts: Mapping[BrokerId, Burst] = field(default_factory=dict)
    """Of leaders that have sent throttled bytes."""
    down: Mapping[BrokerId, float] = field(default_factory=dict)
    """Processes that do not run, and since when."""
    starting: Mapping[BrokerId, float] = field(default_factory=dict)
    """Processes that run but do not serve yet, and when they will."""
    stopping: Mapping[BrokerId, float] = field(default_factory=dict)
    """Brokers in controlled shutdown, and when their next heartbeat comes."""
    stopped_cleanly: Mapping[BrokerId, int] = field(default_factory=dict)
    """Brokers that ended by a controlled shutdown, with the epoch that they will name when they return."""
    next_rebalance: float = 300.0
    next_unclean: float = 300.0
    agenda: Schedule = ()
    """Sorted by time."""
    troubles: tuple[LoseRequests | RepeatRequests, ...] = ()
    """What the next requests will meet on their way, first come first served."""
    unreachable_until: float = 0.0
    metadata_lag_seconds: float = 0.0
    look_seconds: float = 0.0
    """How much longer than no time a look of replan takes."""
    unresponsive: Mapping[BrokerId, frozenset[BrokerQuestion]] = field(default_factory=dict)
    """What live brokers do not answer replan about themselves."""
    forbidden: Mapping[str | None, frozenset[Permission]] = field(default_factory=dict)
    """What replan's user may not do with a topic, or with the cluster (None)."""
    log_dirs: tuple[LogDir, ...] = ()
    placed: Mapping[ReplicaName, str] = field(default_factory=dict)
    """The log directory of each replica that was made since the beginning."""
    initial_dirs: Mapping[ReplicaName, str] = field(default_factory=dict)
    """The log directory of each replica that was there in the beginning, where its broker has several; it stays so."""
    preferred: Mapping[ReplicaName, str] = field(default_factory=dict)
    """The directories that brokers were asked for replicas that they do not have yet; forgotten when they end."""
    lost_dirs: frozenset[BrokerDirectory] = frozenset()
    """Log directories whose disk has failed."""
    new_disks: frozenset[BrokerId] = frozenset()
    """Brokers whose lost disks have been replaced; they take them when they start."""
    disk_ids: Mapping[BrokerDirectory, str] = field(default_factory=dict)
    """The ids of directories on replaced disks; that of any other is its path."""
    deletions: tuple[Deletion, ...] = ()
    futures: Mapping[ReplicaName, FutureLog] = field(default_factory=dict)
    """Replicas that are being copied to another log directory of their broker."""
    slow: Mapping[BrokerId, float] = field(default_factory=dict)
    """Brokers whose network is slower than the others', bytes per second in each direction."""
    silent: tuple[BrokerId, ...] = ()
    remembered: Mapping[TopicPartition, RememberedOrder] = field(default_factory=dict)

    def serves(self, broker: BrokerId) -> bool:
        """Whether a broker's process runs and has finished starting."""
        return broker not in self.down and broker not in self.starting

    def committed_bytes(self, partition: TopicPartition, isr: Replicas) -> float:
        """The log up to its high watermark: what every member of the ISR has (Partition.maybeIncrementLeaderHW)."""
        size = self.sizes.get(partition, 0.0)
        if not self.behind:
            return size
        members = [(partition, b) for b in isr]
        return size - max(
            (self.lags[r].remaining_bytes for r in members if r in self.behind), default=0.0
        )

    def replica_bytes(self, partition: TopicPartition, broker: BrokerId) -> int:
        """The size of one replica's log."""
        lag = self.lags.get((partition, broker))
        missing = 0.0 if lag is None else lag.remaining_bytes
        return max(0, round(self.sizes.get(partition, 0.0) - missing))


class Simulation(Struct, frozen=True):
    """A whole simulated cluster at one moment."""

    cluster: ClusterState
    world: World
