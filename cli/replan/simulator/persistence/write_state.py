"""What the simulator keeps beside a snapshot: the part `simulation` of its document, written.

Here belongs the form of that part: everything that is not in a snapshot but the next process needs. Reading it
back, and what wins when a person has edited the snapshot, is in `read_state`. Scheduled faults are not kept.
"""

from collections.abc import Mapping
from dataclasses import fields

from replan.model.configs import ConfigScope
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster.disks import UNREPORTED
from replan.simulator.cluster.physical_state import ReplicaName, Simulation, Speeds, World
from replan.simulator.controller.config_keys import DEFAULTS, DESCRIBED_RATES
from replan.simulator.controller.state import CLUSTER_DEFAULT, ClusterState, Partition

Fields = dict[str, object]


def written(simulation: Simulation) -> Fields:
    """The part `simulation`; what is as it would be without saying is left out."""
    cluster, world = simulation.cluster, simulation.world
    parts: Fields = {
        "kafkaVersion": cluster.version,
        "seconds": world.now,
        "speeds": _speeds(world.speeds),
        "nextRebalance": world.next_rebalance,
        "nextUncleanElection": world.next_unclean,
        "nextBrokerEpoch": cluster.next_broker_epoch,
        "brokers": [_broker(simulation, b) for b in sorted(cluster.brokers)],
        "partitions": [
            found for name, p in cluster.partitions() if (found := _partition(world, name, p))
        ],
        "configs": _configs(cluster),
        "files": [
            {"name": name, "values": dict(values)}
            for name, values in sorted(cluster.file_configs.items())
        ],
        "bursts": [
            {"broker": b, "bytes": burst.left_bytes}
            | ({} if burst.used_at is None else {"usedAt": burst.used_at})
            for b, burst in sorted(world.bursts.items())
        ],
        "deletions": [
            {"broker": d.broker, "path": d.path, "bytes": round(d.bytes), "due": d.due}
            for d in world.deletions
        ],
    }
    return {key: value for key, value in parts.items() if value not in ([], {})}


def camel(name: str) -> str:
    """A field's name as documents spell it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _speeds(speeds: Speeds) -> Fields:
    usual = Speeds()
    return {
        camel(f.name): getattr(speeds, f.name)
        for f in fields(Speeds)
        if getattr(speeds, f.name) != getattr(usual, f.name)
    }


def _broker(simulation: Simulation, broker: BrokerId) -> Fields:
    registration, world = simulation.cluster.brokers[broker], simulation.world
    parts: Fields = {
        "shuttingDown": registration.shutting_down or None,
        "downSince": world.down.get(broker),
        "servesAt": world.starting.get(broker),
        "nextBeat": world.stopping.get(broker),
        "returnsAs": world.stopped_cleanly.get(broker),
        "diskLost": (broker, UNREPORTED) in world.lost_dirs or None,
        "newDisk": (broker in world.new_disks) or None,
    }
    kept = {key: value for key, value in parts.items() if value is not None}
    return {"id": broker, "epoch": registration.epoch, "fenced": registration.fenced, **kept}


def _partition(world: World, name: TopicPartition, partition: Partition) -> Fields:
    """What is not usual of one partition; nothing where all of it is."""
    lags = [
        {"broker": b, "bytes": lag.remaining_bytes, "fetchesFrom": lag.fetches_from}
        for b in partition.replicas
        if (lag := world.lags.get((name, b))) is not None
    ]
    parts: Fields = {
        "epoch": partition.partition_epoch,
        "recovering": partition.recovering,
        "bytesPerSecond": world.produce.get(name, 0),
        "lags": lags,
        "placed": _places(world.placed, name, partition),
        "lay": _places(world.lay, name, partition),
    }
    kept = {key: value for key, value in parts.items() if value}
    return {"topic": name.topic, "partition": name.partition, **kept} if kept else {}


def _places(
    places: Mapping[ReplicaName, str], name: TopicPartition, partition: Partition
) -> list[Fields]:
    return [
        {"broker": b, "path": places[name, b]} for b in partition.replicas if (name, b) in places
    ]


def _configs(cluster: ClusterState) -> list[Fields]:
    """Dynamic values that are in no snapshot: other keys, and defaults that are not shown."""
    reported = {
        ConfigScope.TOPIC: {key for key, _ in DEFAULTS},
        ConfigScope.BROKER: set(DESCRIBED_RATES),
    }
    found: list[Fields] = []
    for (scope, name), values in sorted(cluster.configs.items()):
        hidden = set() if (scope, name) == CLUSTER_DEFAULT else reported[scope]
        kept = {key: value for key, value in values.items() if key not in hidden}
        if kept:
            found.append({"scope": scope.value, "name": name, "values": kept})
    return found
