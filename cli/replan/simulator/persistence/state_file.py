"""A simulated cluster that lives in a file (`--simulated FILE`).

Here belong opening, keeping and locking such a file. It is a snapshot document with a part `simulation` beside it,
which may be missing. Every change that the cluster accepts is written at once, whole (a sibling is renamed over the
file): killing the process loses nothing but virtual time since the last change. Reading locks nothing. The first change
takes the lock, which keeps other processes out but no person with an editor: where the file has been edited
since it was last seen, it is read again before the next change, as something that others did to the cluster.
"""

import fcntl
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Annotated

from msgspec import Meta, to_builtins
from msgspec.structs import replace

from replan.documents.files import cannot, write_file
from replan.documents.json_text import INT32_MAX, render_document
from replan.documents.typed import Form, Int32, Text, typed
from replan.errors import BadFile, Held
from replan.model.configs import THROTTLE_RATES, ConfigScope
from replan.model.control_plane import ReplicaName
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.disks import UNREPORTED
from replan.simulator.cluster.physical_state import (
    FIRST_EPOCHS,
    Amount,
    Burst,
    Deletion,
    EpochStart,
    FutureLog,
    Lag,
    Log,
    Simulation,
    Speeds,
    World,
)
from replan.simulator.cluster.submit import without_keys
from replan.simulator.controller.configs import DEFAULTS
from replan.simulator.controller.state import CLUSTER_DEFAULT, ClusterState, Partition, Topic
from replan.simulator.persistence.from_snapshot import (
    DEFAULT_VERSION,
    consistent,
    first_rebalance,
    raw_simulation,
    snapshot_to_save,
)
from replan.snapshots.files import read_json_object
from replan.snapshots.json_form import from_document, to_document


class StateFile:
    """One file, its lock, and what it looked like when this process last saw it."""

    def __init__(self, path: Path) -> None:
        self.clock = VirtualClock()
        self._path = path
        self._last_stamp: tuple[int, int, int] | None = None
        self._lock: IO[str] | None = None

    def read(self) -> Simulation:
        """The cluster as the file has it now."""
        self._last_stamp = self._stamp()
        return restore(read_json_object(self._path), str(self._path))

    def lock(self) -> Simulation | None:
        """Take the lock, once; returns the state where the file was edited. Raises Held where another has it."""
        if self._lock is None:
            self._lock = self._take_lock()
        if self._stamp() == self._last_stamp:
            return None
        simulation = self.read()
        self.clock.jump_to(simulation.world.now)
        return simulation

    def keep(self, simulation: Simulation) -> None:
        """Write the state."""
        write_file(self._path, _text(simulation))
        self._last_stamp = self._stamp()

    def release(self, simulation: Simulation) -> None:
        """Write the last state and free the lock, where this process has changed anything; an edited file stays."""
        if self._lock is None:
            return
        if self._stamp() == self._last_stamp:
            self.keep(simulation)
        self._lock.close()
        self._lock = None

    def _stamp(self) -> tuple[int, int, int] | None:
        with suppress(OSError):
            status = self._path.stat()
            return (status.st_ino, status.st_size, status.st_mtime_ns)
        return None

    def _take_lock(self) -> IO[str]:
        beside = self._path.with_name(f".{self._path.name}.lock")
        try:
            lock = beside.open("w", encoding="utf-8")
        except OSError as problem:
            raise cannot("write", beside, problem) from problem
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            lock.close()
            raise Held(
                f"{self._path}: another process is changing this simulated cluster; "
                "wait until it has ended, or use another file"
            ) from problem
        return lock


def _text(simulation: Simulation) -> str:
    document = to_document(snapshot_to_save(simulation, simulation.world.now))
    return render_document(document | {"simulation": simulation_part(simulation)})


FAULTS_OF_A_PROCESS = (
    "agenda",
    "troubles",
    "unreachable_until",
    "metadata_lag_seconds",
    "look_seconds",
    "unresponsive",
    "forbidden",
    "slow",
)
"""The fields of a world that no file keeps: they end with the process that was given the faults."""


def with_faults_of(world: World, edited: Simulation) -> Simulation:
    """The cluster as it was edited, with what this process has injected into it, or is still to."""
    faults = {name: getattr(world, name) for name in FAULTS_OF_A_PROCESS}
    return replace(edited, world=replace(edited.world, **faults))


# What a file has beside the snapshot, by its keys.

Seconds = Annotated[float, Meta(ge=0, le=1e10)]
"""Virtual seconds, at most some three hundred years."""


class KeptBroker(Form, frozen=True, kw_only=True):
    """One broker; its times are not used where a person has changed `fenced` in the snapshot."""

    id: Int32
    epoch: Int32 | None = None
    fenced: bool = False
    shutting_down: bool = False
    down_since: Seconds | None = None
    serves_at: Seconds | None = None
    next_beat: Seconds | None = None
    returns_as: Annotated[int, Meta(ge=-1, le=INT32_MAX)] | None = None
    disk_lost: bool = False
    new_disk: bool = False


class KeptLag(Form, frozen=True):
    """What a replica that is not caught up lacks, when it starts to fetch, and since when if it is in the ISR."""

    broker: Int32
    bytes: Amount
    fetches_from: Seconds
    behind_since: Seconds | None = None


class KeptEpoch(Form, frozen=True):
    """From which byte of a log on an epoch wrote it."""

    epoch: Int32
    bytes: Amount


class KeptLog(Form, frozen=True):
    """The log of a replica that is no beginning of the leader's."""

    broker: Int32
    bytes: Amount
    epochs: tuple[KeptEpoch, ...]


class KeptPlace(Form, frozen=True):
    """The log directory of a replica."""

    broker: Int32
    path: Text


class KeptFuture(Form, frozen=True):
    """A log on its way to another directory of its broker."""

    broker: Int32
    path: Text
    remaining_bytes: Amount
    bytes: Amount


class KeptPartition(Form, frozen=True, kw_only=True):
    """What is not usual of one partition."""

    topic: Text
    partition: Int32
    epoch: Int32 = 0
    recovering: bool = False
    bytes_per_second: Amount = 0.0
    lags: tuple[KeptLag, ...] = ()
    epochs: tuple[KeptEpoch, ...] = ()
    parted: tuple[KeptLog, ...] = ()
    placed: tuple[KeptPlace, ...] = ()
    initial_dirs: tuple[KeptPlace, ...] = ()
    preferred: tuple[KeptPlace, ...] = ()
    futures: tuple[KeptFuture, ...] = ()

    @property
    def name(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)


class KeptConfigs(Form, frozen=True):
    """Dynamic values of one resource that no snapshot has."""

    scope: ConfigScope
    name: str
    values: dict[str, str]


class KeptFile(Form, frozen=True):
    """The values of one broker's server.properties; of all brokers' under the name ""."""

    name: str
    values: dict[str, str]


class KeptBurst(Form, frozen=True):
    """What a throttled leader may still send ahead of its even rate."""

    broker: Int32
    bytes: Amount
    used_at: Seconds | None = None


class KeptDeletion(Form, frozen=True):
    """Bytes of a dropped replica that are still on the disk until `due`."""

    broker: Int32
    path: Text
    bytes: Amount
    due: Seconds


class KeptSimulation(Form, frozen=True, kw_only=True):
    """What the simulator keeps beside a snapshot: the part `simulation`; all of it may be missing.

    The snapshot wins: a person may edit it by hand between two commands. So whatever this says of a broker, topic or
    replica that is not there any more is ignored. Scheduled faults are not kept.
    """

    kafka_version: str | None = None
    seconds: Seconds = 0.0
    speeds: Speeds = Speeds()
    next_rebalance: Seconds | None = None
    next_unclean_election: Seconds | None = None
    next_broker_epoch: Int32 = 0
    brokers: tuple[KeptBroker, ...] = ()
    partitions: tuple[KeptPartition, ...] = ()
    configs: tuple[KeptConfigs, ...] = ()
    files: tuple[KeptFile, ...] = ()
    bursts: tuple[KeptBurst, ...] = ()
    deletions: tuple[KeptDeletion, ...] = ()


# Writing it.


def simulation_part(simulation: Simulation) -> dict[str, object]:
    """The part `simulation`; what is as it would be without saying is left out."""
    cluster, world = simulation.cluster, simulation.world
    partitions = (_partition(world, name, p) for name, p in cluster.partitions())
    kept = KeptSimulation(
        kafka_version=cluster.version,
        seconds=world.now,
        speeds=world.speeds,
        next_rebalance=None if math.isinf(world.next_rebalance) else world.next_rebalance,
        next_unclean_election=world.next_unclean,
        next_broker_epoch=cluster.next_broker_epoch,
        brokers=tuple(_broker(simulation, b) for b in sorted(cluster.brokers)),
        partitions=tuple(
            p for p in partitions if p != KeptPartition(topic=p.topic, partition=p.partition)
        ),
        configs=_configs(cluster),
        files=tuple(KeptFile(n, dict(v)) for n, v in sorted(cluster.file_configs.items())),
        bursts=tuple(
            KeptBurst(b, f.left_bytes, f.used_at) for b, f in sorted(world.bursts.items())
        ),
        deletions=tuple(
            KeptDeletion(d.broker, d.path, round(d.bytes), d.due) for d in world.deletions
        ),
    )
    document: dict[str, object] = to_builtins(kept)
    return document


def _broker(simulation: Simulation, broker: BrokerId) -> KeptBroker:
    registration, world = simulation.cluster.brokers[broker], simulation.world
    return KeptBroker(
        id=broker,
        epoch=registration.epoch,
        fenced=registration.fenced,
        shutting_down=registration.shutting_down,
        down_since=world.down.get(broker),
        serves_at=world.starting.get(broker),
        next_beat=world.stopping.get(broker),
        returns_as=world.stopped_cleanly.get(broker),
        disk_lost=(broker, UNREPORTED) in world.lost_dirs,
        new_disk=broker in world.new_disks,
    )


def _partition(world: World, name: TopicPartition, partition: Partition) -> KeptPartition:
    lags = ((b, world.lags.get((name, b))) for b in partition.replicas)
    return KeptPartition(
        topic=name.topic,
        partition=name.partition,
        epoch=partition.partition_epoch,
        recovering=partition.recovering,
        bytes_per_second=world.produce.get(name, 0),
        lags=tuple(
            KeptLag(b, *lag, world.behind.get((name, b))) for b, lag in lags if lag is not None
        ),
        epochs=tuple(KeptEpoch(*of) for of in world.epochs.get(name, FIRST_EPOCHS) if of.epoch),
        parted=tuple(
            KeptLog(b, log.bytes, tuple(KeptEpoch(*of) for of in log.epochs))
            for b in partition.replicas
            if (log := world.parted.get((name, b))) is not None
        ),
        placed=_places(world.placed, name, partition.replicas),
        initial_dirs=_places(world.initial_dirs, name, partition.replicas),
        preferred=_places(
            world.preferred, name, sorted({b for n, b in world.preferred if n == name})
        ),
        futures=tuple(
            KeptFuture(b, of.path, of.remaining_bytes, of.bytes)
            for b in partition.replicas
            if (of := world.futures.get((name, b))) is not None
        ),
    )


def _places(
    paths: Mapping[ReplicaName, str], name: TopicPartition, brokers: Iterable[BrokerId]
) -> tuple[KeptPlace, ...]:
    return tuple(KeptPlace(b, paths[name, b]) for b in brokers if (name, b) in paths)


def _configs(cluster: ClusterState) -> tuple[KeptConfigs, ...]:
    """Dynamic values that are in no snapshot: other keys, and defaults that are not shown."""
    reported = {
        ConfigScope.TOPIC: {key for key, _ in DEFAULTS},
        ConfigScope.BROKER: set(THROTTLE_RATES),
    }
    kept_configs = []
    for (scope, name), values in sorted(cluster.configs.items()):
        hidden = set() if (scope, name) == CLUSTER_DEFAULT else reported[scope]
        kept = {key: value for key, value in values.items() if key not in hidden}
        if kept:
            kept_configs.append(KeptConfigs(scope, name, kept))
    return tuple(kept_configs)


# Reading it.


def restore(document: Mapping[str, object], source: str) -> Simulation:
    """The simulated cluster that a document describes."""
    snapshot = from_document(document, source)
    kept = typed(document.get("simulation", {}), KeptSimulation, source, "$.simulation")
    try:
        simulation = raw_simulation(snapshot, kept.kafka_version or DEFAULT_VERSION)
    except ValueError as problem:
        raise BadFile(f"{source}: {problem}") from problem
    cluster = _with_brokers(simulation.cluster, kept)
    cluster = _with_partitions(_with_configs(cluster, kept), kept)
    world = _with_processes(_with_time(simulation.world, cluster, kept), cluster, kept)
    return consistent(Simulation(cluster, _with_logs(world, cluster, kept)))


def _with_brokers(cluster: ClusterState, kept: KeptSimulation) -> ClusterState:
    brokers = dict(cluster.brokers)
    for broker in kept.brokers:
        registration = brokers.get(BrokerId(broker.id))
        if registration is not None:
            epoch = registration.epoch if broker.epoch is None else broker.epoch
            brokers[registration.id] = replace(
                registration, epoch=epoch, shutting_down=broker.shutting_down
            )
    highest = max((r.epoch for r in brokers.values()), default=0)
    following = max(kept.next_broker_epoch, highest + 1)
    return replace(cluster, brokers=brokers, next_broker_epoch=following)


def _with_configs(cluster: ClusterState, kept: KeptSimulation) -> ClusterState:
    configs = {resource: dict(values) for resource, values in cluster.configs.items()}
    for config in kept.configs:
        if config.scope is ConfigScope.BROKER or config.name in cluster.topics:
            resource = config.scope, config.name
            configs[resource] = config.values | configs.get(resource, {})
    files = {name: dict(values) for name, values in cluster.file_configs.items()}
    for file in kept.files:
        files[file.name] = file.values | files.get(file.name, {})
    return replace(cluster, configs=configs, file_configs=files)


def _with_partitions(cluster: ClusterState, kept: KeptSimulation) -> ClusterState:
    topics = {name: dict(topic.partitions) for name, topic in cluster.topics.items()}
    for partition in kept.partitions:
        state = cluster.partition(partition.name)
        if state is not None:
            topics[partition.topic][partition.partition] = replace(
                state,
                partition_epoch=partition.epoch,
                recovering=partition.recovering and state.leader is not None,
            )
    return replace(
        cluster,
        topics={n: Topic(cluster.topics[n].id, partitions) for n, partitions in topics.items()},
    )


def _with_time(world: World, cluster: ClusterState, kept: KeptSimulation) -> World:
    now, speeds = kept.seconds, kept.speeds
    began = datetime.fromisoformat(world.started_at) - timedelta(seconds=now)
    rebalance, unclean = kept.next_rebalance, kept.next_unclean_election
    return replace(
        world,
        now=now,
        started_at=began.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        speeds=speeds,
        next_rebalance=first_rebalance(cluster, speeds, now) if rebalance is None else rebalance,
        next_unclean=now + speeds.unclean_seconds if unclean is None else unclean,
        bursts={BrokerId(b.broker): Burst(b.bytes, b.used_at) for b in kept.bursts},
        deletions=tuple(
            Deletion(d.due, BrokerId(d.broker), d.path, d.bytes) for d in kept.deletions
        ),
    )


def _with_processes(world: World, cluster: ClusterState, kept: KeptSimulation) -> World:
    """Processes as they were; one whose fencing was edited by hand starts as the snapshot has it."""
    unedited = {
        BrokerId(b.id): b
        for b in kept.brokers
        if (r := cluster.brokers.get(BrokerId(b.id))) and r.fenced == b.fenced
    }

    def each(field: str) -> dict[BrokerId, float]:
        values = ((broker, getattr(b, field)) for broker, b in unedited.items())
        return {broker: value for broker, value in values if value is not None}

    dead_by_hand = without_keys(dict.fromkeys(world.down, world.now), unedited)
    return replace(
        world,
        down={**dead_by_hand, **each("down_since")},
        starting=each("serves_at"),
        stopping=each("next_beat"),
        stopped_cleanly={
            broker: b.returns_as for broker, b in unedited.items() if b.returns_as is not None
        },
        lost_dirs=world.lost_dirs
        | {(broker, UNREPORTED) for broker, b in unedited.items() if b.disk_lost},
        new_disks=frozenset(broker for broker, b in unedited.items() if b.new_disk),
    )


def _with_logs(world: World, cluster: ClusterState, kept: KeptSimulation) -> World:
    """Progress of copies and places of replicas, for replicas that still are what they were."""
    begins = world.now + world.speeds.fetch_start_seconds
    lags = {r: Lag(lag.remaining_bytes, begins) for r, lag in world.lags.items()}
    placed: dict[ReplicaName, str] = {}
    initial_dirs = dict(world.initial_dirs)
    preferred: dict[ReplicaName, str] = {}
    produce: dict[TopicPartition, float] = {}
    epochs, parted = dict(world.epochs), dict(world.parted)
    futures: dict[ReplicaName, FutureLog] = {}
    behind: dict[ReplicaName, float] = {}
    for partition in kept.partitions:
        if partition.epochs and partition.name in world.sizes:
            first = () if partition.epochs[0].bytes == 0 else FIRST_EPOCHS
            epochs[partition.name] = (*first, *_starts(partition.epochs))
        for log in partition.parted:
            if (replica := (partition.name, BrokerId(log.broker))) in lags:
                parted[replica] = Log(_starts(log.epochs), log.bytes)
        for lag in partition.lags:
            replica = (partition.name, BrokerId(lag.broker))
            if lag.behind_since is not None and _in_sync(cluster, replica):
                behind[replica] = lag.behind_since
            if replica in lags or replica in behind:
                lags[replica] = Lag(lag.bytes, lag.fetches_from)
        placed |= _paths(partition, partition.placed)
        initial_dirs |= _paths(partition, partition.initial_dirs)
        preferred |= _paths(partition, partition.preferred)
        for of in partition.futures:
            future = FutureLog(of.path, of.remaining_bytes, of.bytes)
            futures[partition.name, BrokerId(of.broker)] = future
        if partition.bytes_per_second and partition.name in world.sizes:
            produce[partition.name] = partition.bytes_per_second
    return replace(
        world,
        lags=lags,
        behind=behind,
        placed=placed,
        initial_dirs=initial_dirs,
        preferred=preferred,
        produce=produce,
        epochs=epochs,
        parted=parted,
        futures=futures,
    )


def _in_sync(cluster: ClusterState, replica: ReplicaName) -> bool:
    partition = cluster.partition(replica[0])
    return partition is not None and replica[1] in partition.isr


def _starts(kept: Iterable[KeptEpoch]) -> tuple[EpochStart, ...]:
    return tuple(EpochStart(of.epoch, of.bytes) for of in kept)


def _paths(
    partition: KeptPartition, places: tuple[KeptPlace, ...]
) -> dict[tuple[TopicPartition, BrokerId], str]:
    """The log directories of replicas."""
    return {(partition.name, BrokerId(place.broker)): place.path for place in places}
