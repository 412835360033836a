"""A simulation out of a document: the snapshot, and laid over it what the simulator kept beside it.

Here belongs reading the part `simulation`, which `write_state` writes. The snapshot wins: a person may edit it by hand
between two commands. So whatever the part says of a broker, topic or replica that is not there any more is ignored,
and all of the part may be missing. Raises BadFile with the place of what is wrong.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

from replan.documents.nodes import INT64_MAX, Node, optional, shown
from replan.errors import BadFile
from replan.model.configs import ConfigScope
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster.disks import UNREPORTED
from replan.simulator.cluster.physical_state import (
    Burst,
    Deletion,
    Lag,
    ReplicaName,
    Simulation,
    Speeds,
    World,
)
from replan.simulator.controller.state import ClusterState, Partition, Resource, Topic
from replan.simulator.persistence.from_snapshot import DEFAULT_VERSION, from_snapshot
from replan.simulator.persistence.snapshot_log_dirs import with_directories
from replan.simulator.persistence.write_state import camel
from replan.snapshots.json_form import from_document

LATEST_SECONDS = 1e10
"""Some three hundred years."""
NEVER_ZERO = frozenset(
    {"rebalance_seconds", "unclean_seconds", "shutdown_seconds", "grain_seconds", "batch_bytes"}
)
KEYS = (
    "kafkaVersion",
    "seconds",
    "speeds",
    "nextRebalance",
    "nextUncleanElection",
    "nextBrokerEpoch",
    "brokers",
    "partitions",
    "configs",
    "files",
    "bursts",
    "deletions",
)
BROKER_KEYS = (
    "id",
    "epoch",
    "fenced",
    "shuttingDown",
    "downSince",
    "servesAt",
    "nextBeat",
    "returnsAs",
    "diskLost",
    "newDisk",
)
PARTITION_KEYS = (
    "topic",
    "partition",
    "epoch",
    "recovering",
    "bytesPerSecond",
    "lags",
    "placed",
    "lay",
)


def restore(document: Mapping[str, object], source: str) -> Simulation:
    """The simulated cluster that a document describes."""
    snapshot = from_document(document, source)
    root = Node(dict(document), source)
    part = root.get("simulation") or Node({}, source, root, "simulation")
    part.mapping(KEYS)
    version = optional(part.get("kafkaVersion"), Node.text, DEFAULT_VERSION)
    try:
        simulation = from_snapshot(snapshot, version)
    except ValueError as problem:
        raise BadFile(f"{source}: {problem}") from problem
    cluster = _with_brokers(simulation.cluster, part)
    cluster = _with_partitions(_with_configs(cluster, part), part)
    world = _world(Simulation(cluster, simulation.world), part)
    return with_directories(Simulation(cluster, world))


def number(node: Node) -> float:
    """A value as a number of at least 0 that need not be whole: bytes, or bytes per second."""
    value = node.value
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise node.wrong(f"expected a number, found {shown(value)}")
    if not 0 <= value <= INT64_MAX:
        raise node.wrong(f"expected a number of at least 0, found {shown(value)}")
    return float(value)


def seconds(node: Node) -> float:
    """A value as virtual seconds."""
    found = number(node)
    if found > LATEST_SECONDS:
        raise node.wrong(
            f"expected at most {LATEST_SECONDS:,.0f} seconds, found {shown(node.value)}"
        )
    return found


def _with_brokers(cluster: ClusterState, part: Node) -> ClusterState:
    brokers = dict(cluster.brokers)
    for node in part.elements("brokers"):
        node.mapping(BROKER_KEYS)
        known = brokers.get(BrokerId(node.child("id").int32()))
        if known is not None:
            brokers[known.id] = replace(
                known,
                epoch=optional(node.get("epoch"), Node.int32, known.epoch),
                shutting_down=optional(node.get("shuttingDown"), Node.flag, False),
            )
    highest = max((r.epoch for r in brokers.values()), default=0)
    following = optional(part.get("nextBrokerEpoch"), Node.int32, 0)
    return replace(cluster, brokers=brokers, next_broker_epoch=max(following, highest + 1))


def _with_configs(cluster: ClusterState, part: Node) -> ClusterState:
    configs = {resource: dict(values) for resource, values in cluster.configs.items()}
    for node in part.elements("configs"):
        node.mapping(("scope", "name", "values"))
        resource = _resource(node)
        if resource[0] is ConfigScope.BROKER or resource[1] in cluster.topics:
            configs[resource] = _values(node) | configs.get(resource, {})
    files = {name: dict(values) for name, values in cluster.file_configs.items()}
    for node in part.elements("files"):
        node.mapping(("name", "values"))
        name = node.child("name").any_text()
        files[name] = _values(node) | files.get(name, {})
    return replace(cluster, configs=configs, file_configs=files)


def _resource(node: Node) -> Resource:
    scope = node.child("scope")
    if scope.value not in {s.value for s in ConfigScope}:
        raise scope.wrong(f'expected "topic" or "broker", found {shown(scope.value)}')
    return ConfigScope(scope.text()), node.child("name").any_text()


def _values(node: Node) -> dict[str, str]:
    return {key: value.any_text() for key, value in node.members("values")}


def _with_partitions(cluster: ClusterState, part: Node) -> ClusterState:
    topics = {name: dict(topic.partitions) for name, topic in cluster.topics.items()}
    for node in part.elements("partitions"):
        node.mapping(PARTITION_KEYS)
        name = _name(node)
        known = cluster.partition(name)
        if known is not None:
            topics[name.topic][name.partition] = _partition(known, node)
    return replace(
        cluster,
        topics={n: Topic(cluster.topics[n].id, partitions) for n, partitions in topics.items()},
    )


def _partition(known: Partition, node: Node) -> Partition:
    recovering = optional(node.get("recovering"), Node.flag, False)
    return replace(
        known,
        partition_epoch=optional(node.get("epoch"), Node.int32, 0),
        recovering=recovering and known.leader is not None,
    )


def _name(node: Node) -> TopicPartition:
    return TopicPartition(node.child("topic").text(), node.child("partition").int32())


def _world(simulation: Simulation, part: Node) -> World:
    world = simulation.world
    now = optional(part.get("seconds"), seconds, 0.0)
    began = datetime.fromisoformat(world.started_at) - timedelta(seconds=now)
    speeds = _speeds(part)
    interval = speeds.rebalance_seconds or 0.0
    world = replace(
        world,
        now=now,
        started_at=began.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        speeds=speeds,
        next_rebalance=optional(part.get("nextRebalance"), seconds, now + interval),
        next_unclean=optional(
            part.get("nextUncleanElection"), seconds, now + speeds.unclean_seconds
        ),
        bursts=dict(map(_burst, part.elements("bursts"))),
        deletions=tuple(map(_deletion, part.elements("deletions"))),
    )
    return _with_logs(_with_processes(world, simulation.cluster, part), part)


def _speeds(part: Node) -> Speeds:
    node = part.get("speeds")
    if node is None:
        return Speeds()
    names = {camel(f.name): f.name for f in fields(Speeds)}
    node.mapping(names)
    found: dict[str, float | None] = {
        names[key]: None if value.value is None else number(value)
        for key, value in part.members("speeds")
    }
    for key, value in found.items():
        if value is None and key != "rebalance_seconds":
            raise node.child(camel(key)).wrong("expected a number, found null")
        if value == 0 and key in NEVER_ZERO:
            raise node.child(camel(key)).wrong("expected a number above 0, found 0")
    return replace(Speeds(), **found)  # type: ignore[arg-type]  # only rebalance_seconds is None


def _burst(node: Node) -> tuple[BrokerId, Burst]:
    node.mapping(("broker", "bytes", "usedAt"))
    broker = BrokerId(node.child("broker").int32())
    used_at = optional(node.get("usedAt"), seconds, None)
    return broker, Burst(number(node.child("bytes")), used_at)


def _deletion(node: Node) -> Deletion:
    node.mapping(("broker", "path", "bytes", "due"))
    return Deletion(
        seconds(node.child("due")),
        BrokerId(node.child("broker").int32()),
        node.child("path").text(),
        number(node.child("bytes")),
    )


def _with_processes(world: World, cluster: ClusterState, part: Node) -> World:
    """Processes as they were; one whose fencing was edited by hand starts as the snapshot has it."""
    down = dict.fromkeys(world.down, world.now)
    times: dict[str, dict[BrokerId, float]] = {"downSince": down, "servesAt": {}, "nextBeat": {}}
    returning: dict[BrokerId, int] = {}
    lost, renewed = set(world.lost_dirs), set[BrokerId]()
    for node in part.elements("brokers"):
        known = cluster.brokers.get(BrokerId(node.child("id").int32()))
        if known is None or optional(node.get("fenced"), Node.flag, False) != known.fenced:
            continue
        for key, moments in times.items():
            if (found := node.get(key)) is not None:
                moments[known.id] = seconds(found)
        if (epoch := node.get("returnsAs")) is not None:
            returning[known.id] = epoch.int32(-1)
        if optional(node.get("diskLost"), Node.flag, False):
            lost.add((known.id, UNREPORTED))
        if optional(node.get("newDisk"), Node.flag, False):
            renewed.add(known.id)
    return replace(
        world,
        down=down,
        starting=times["servesAt"],
        stopping=times["nextBeat"],
        stopped_cleanly=returning,
        lost_dirs=frozenset(lost),
        new_disks=frozenset(renewed),
    )


def _with_logs(world: World, part: Node) -> World:
    """Progress of copies and places of replicas, for replicas that still are what they were."""
    begins = world.now + world.speeds.fetch_start_seconds
    lags = {r: Lag(lag.remaining_bytes, begins) for r, lag in world.lags.items()}
    placed: dict[ReplicaName, str] = {}
    lay = dict(world.lay)
    produce: dict[TopicPartition, float] = {}
    for node in part.elements("partitions"):
        name = _name(node)
        for found in node.elements("lags"):
            found.mapping(("broker", "bytes", "fetchesFrom"))
            replica = (name, BrokerId(found.child("broker").int32()))
            if replica in lags:
                lags[replica] = Lag(
                    number(found.child("bytes")), seconds(found.child("fetchesFrom"))
                )
        placed |= _places(node, "placed")
        lay |= _places(node, "lay")
        if (rate := node.get("bytesPerSecond")) is not None and name in world.sizes:
            produce[name] = number(rate)
    return replace(world, lags=lags, placed=placed, lay=lay, produce=produce)


def _places(partition: Node, key: str) -> dict[ReplicaName, str]:
    name = _name(partition)
    places: dict[ReplicaName, str] = {}
    for found in partition.elements(key):
        found.mapping(("broker", "path"))
        places[name, BrokerId(found.child("broker").int32())] = found.child("path").text()
    return places
