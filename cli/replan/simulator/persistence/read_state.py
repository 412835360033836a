"""A simulation out of a document: the snapshot, and laid over it what the simulator kept beside it.

The snapshot wins: a person may edit it by hand between two commands. So whatever the part `simulation` says of a
broker, topic or replica that is not there any more is ignored, and all of the part may be missing. Raises BadFile with
the place of what is wrong.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from msgspec.structs import asdict

from replan.documents.typed import typed
from replan.errors import BadFile
from replan.model.configs import ConfigScope
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster.disks import UNREPORTED
from replan.simulator.cluster.physical_state import (
    Burst,
    Deletion,
    FutureLog,
    Lag,
    ReplicaName,
    Simulation,
    Speeds,
    World,
)
from replan.simulator.cluster.replica_logs import BEGINNING, EpochStart, Log
from replan.simulator.controller.state import ClusterState, Topic
from replan.simulator.persistence.from_snapshot import (
    DEFAULT_VERSION,
    first_rebalance,
    from_snapshot,
)
from replan.simulator.persistence.kept_state import KeptEpoch, KeptSimulation, places
from replan.simulator.persistence.snapshot_log_dirs import with_directories
from replan.snapshots.json_form import from_document


def restore(document: Mapping[str, object], source: str) -> Simulation:
    """The simulated cluster that a document describes."""
    snapshot = from_document(document, source)
    kept = typed(document.get("simulation", {}), KeptSimulation, source, "$.simulation")
    try:
        simulation = from_snapshot(snapshot, kept.kafka_version or DEFAULT_VERSION)
    except ValueError as problem:
        raise BadFile(f"{source}: {problem}") from problem
    cluster = _with_brokers(simulation.cluster, kept)
    cluster = _with_partitions(_with_configs(cluster, kept), kept)
    world = _with_processes(_with_time(simulation.world, cluster, kept), cluster, kept)
    return with_directories(Simulation(cluster, _with_logs(world, cluster, kept)))


def _with_brokers(cluster: ClusterState, kept: KeptSimulation) -> ClusterState:
    brokers = dict(cluster.brokers)
    for found in kept.brokers:
        known = brokers.get(BrokerId(found.id))
        if known is not None:
            epoch = known.epoch if found.epoch is None else found.epoch
            brokers[known.id] = replace(known, epoch=epoch, shutting_down=found.shutting_down)
    highest = max((r.epoch for r in brokers.values()), default=0)
    following = max(kept.next_broker_epoch, highest + 1)
    return replace(cluster, brokers=brokers, next_broker_epoch=following)


def _with_configs(cluster: ClusterState, kept: KeptSimulation) -> ClusterState:
    configs = {resource: dict(values) for resource, values in cluster.configs.items()}
    for found in kept.configs:
        if found.scope is ConfigScope.BROKER or found.name in cluster.topics:
            resource = found.scope, found.name
            configs[resource] = found.values | configs.get(resource, {})
    files = {name: dict(values) for name, values in cluster.file_configs.items()}
    for file in kept.files:
        files[file.name] = file.values | files.get(file.name, {})
    return replace(cluster, configs=configs, file_configs=files)


def _with_partitions(cluster: ClusterState, kept: KeptSimulation) -> ClusterState:
    topics = {name: dict(topic.partitions) for name, topic in cluster.topics.items()}
    for found in kept.partitions:
        known = cluster.partition(found.name)
        if known is not None:
            topics[found.topic][found.partition] = replace(
                known,
                partition_epoch=found.epoch,
                recovering=found.recovering and known.leader is not None,
            )
    return replace(
        cluster,
        topics={n: Topic(cluster.topics[n].id, partitions) for n, partitions in topics.items()},
    )


def _with_time(world: World, cluster: ClusterState, kept: KeptSimulation) -> World:
    now, speeds = kept.seconds, Speeds(**asdict(kept.speeds))
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
    known = [
        b
        for b in kept.brokers
        if (r := cluster.brokers.get(BrokerId(b.id))) and r.fenced == b.fenced
    ]

    def each(field: str) -> dict[BrokerId, float]:
        return {BrokerId(b.id): v for b in known if (v := getattr(b, field)) is not None}

    return replace(
        world,
        down=dict.fromkeys(world.down, world.now) | each("down_since"),
        starting=each("serves_at"),
        stopping=each("next_beat"),
        stopped_cleanly={BrokerId(b.id): b.returns_as for b in known if b.returns_as is not None},
        lost_dirs=world.lost_dirs | {(BrokerId(b.id), UNREPORTED) for b in known if b.disk_lost},
        new_disks=frozenset(BrokerId(b.id) for b in known if b.new_disk),
    )


def _with_logs(world: World, cluster: ClusterState, kept: KeptSimulation) -> World:
    """Progress of copies and places of replicas, for replicas that still are what they were."""
    begins = world.now + world.speeds.fetch_start_seconds
    lags = {r: Lag(lag.remaining_bytes, begins) for r, lag in world.lags.items()}
    placed: dict[ReplicaName, str] = {}
    lay = dict(world.lay)
    preferred: dict[ReplicaName, str] = {}
    produce: dict[TopicPartition, float] = {}
    epochs, parted = dict(world.epochs), dict(world.parted)
    futures: dict[ReplicaName, FutureLog] = {}
    behind: dict[ReplicaName, float] = {}
    for found in kept.partitions:
        if found.epochs and found.name in world.sizes:
            first = () if found.epochs[0].bytes == 0 else BEGINNING
            epochs[found.name] = (*first, *_starts(found.epochs))
        for log in found.parted:
            if (replica := (found.name, BrokerId(log.broker))) in lags:
                parted[replica] = Log(_starts(log.epochs), log.bytes)
        for lag in found.lags:
            replica = (found.name, BrokerId(lag.broker))
            if lag.behind_since is not None and _in_sync(cluster, replica):
                behind[replica] = lag.behind_since
            if replica in lags or replica in behind:
                lags[replica] = Lag(lag.bytes, lag.fetches_from)
        placed |= places(found, found.placed)
        lay |= places(found, found.lay)
        preferred |= places(found, found.preferred)
        for of in found.futures:
            future = FutureLog(of.path, of.remaining_bytes, of.bytes)
            futures[found.name, BrokerId(of.broker)] = future
        if found.bytes_per_second and found.name in world.sizes:
            produce[found.name] = found.bytes_per_second
    return replace(
        world,
        lags=lags,
        behind=behind,
        placed=placed,
        lay=lay,
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
