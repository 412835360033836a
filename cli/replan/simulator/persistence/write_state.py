"""What the simulator keeps beside a snapshot: the part `simulation` of its document, written.

The form of that part is in `kept_state`. Scheduled faults are not kept.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from msgspec import to_builtins

from replan.model.configs import ConfigScope
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster.disks import UNREPORTED
from replan.simulator.cluster.physical_state import ReplicaName, Simulation, World
from replan.simulator.cluster.replica_logs import BEGINNING
from replan.simulator.controller.config_keys import DEFAULTS, DESCRIBED_RATES
from replan.simulator.controller.state import CLUSTER_DEFAULT, ClusterState, Partition
from replan.simulator.persistence.kept_state import (
    KeptBroker,
    KeptBurst,
    KeptConfigs,
    KeptDeletion,
    KeptEpoch,
    KeptFile,
    KeptFuture,
    KeptLag,
    KeptLog,
    KeptPartition,
    KeptPlace,
    KeptSimulation,
    KeptSpeeds,
)


def written(simulation: Simulation) -> dict[str, object]:
    """The part `simulation`; what is as it would be without saying is left out."""
    cluster, world = simulation.cluster, simulation.world
    partitions = (_partition(world, name, p) for name, p in cluster.partitions())
    kept = KeptSimulation(
        kafka_version=cluster.version,
        seconds=world.now,
        speeds=KeptSpeeds(**asdict(world.speeds)),
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
        epochs=tuple(KeptEpoch(*of) for of in world.epochs.get(name, BEGINNING) if of.epoch),
        parted=tuple(
            KeptLog(b, log.bytes, tuple(KeptEpoch(*of) for of in log.epochs))
            for b in partition.replicas
            if (log := world.parted.get((name, b))) is not None
        ),
        placed=_places(world.placed, name, partition.replicas),
        lay=_places(world.lay, name, partition.replicas),
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
    found: Mapping[ReplicaName, str], name: TopicPartition, brokers: Iterable[BrokerId]
) -> tuple[KeptPlace, ...]:
    return tuple(KeptPlace(b, found[name, b]) for b in brokers if (name, b) in found)


def _configs(cluster: ClusterState) -> tuple[KeptConfigs, ...]:
    """Dynamic values that are in no snapshot: other keys, and defaults that are not shown."""
    reported = {
        ConfigScope.TOPIC: {key for key, _ in DEFAULTS},
        ConfigScope.BROKER: set(DESCRIBED_RATES),
    }
    found = []
    for (scope, name), values in sorted(cluster.configs.items()):
        hidden = set() if (scope, name) == CLUSTER_DEFAULT else reported[scope]
        kept = {key: value for key, value in values.items() if key not in hidden}
        if kept:
            found.append(KeptConfigs(scope, name, kept))
    return tuple(found)
