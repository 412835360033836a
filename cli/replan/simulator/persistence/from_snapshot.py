"""How a cluster that was observed, or written by hand, begins to live, and how it is observed again.

What only the simulator knows (epochs, progress of copies, time) is beside the snapshot: see `state_file`.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from replan.documents.json_text import INT64_MAX
from replan.model.broker import Broker, LogDir
from replan.model.columns import from_lists
from replan.model.configs import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
    ConfigResource,
    ConfigScope,
    ConfigSource,
    TopicSettings,
)
from replan.model.control_plane import ReplicaName
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.model.replica_logs import ProbedLogs, ReplicaLog
from replan.model.snapshot import TOPICS_SCHEMA, Features, Snapshot, partitions_table
from replan.simulator.client_view import broker_configs, broker_shown, topic_settings
from replan.simulator.cluster.disks import (
    UNREPORTED,
    directory_id_of,
    directory_of,
    id_of,
    offline_replicas,
    spread_over_log_dirs,
)
from replan.simulator.cluster.physical_state import (
    FIRST_EPOCHS,
    EpochStart,
    Lag,
    Log,
    Simulation,
    Speeds,
    World,
)
from replan.simulator.cluster.submit import submit_command
from replan.simulator.controller.commands import FenceBroker, LoseDirs
from replan.simulator.controller.state import (
    CLUSTER_DEFAULT,
    BrokerRegistration,
    ClusterState,
    Directories,
    Partition,
    Topic,
)

# How a snapshot begins to live.

DEFAULT_VERSION = "4.3"
YEARS = range(1_000, 9_001)
"""In which a simulation may begin: time runs on from there, and dates end with the year 9999."""


def from_snapshot(snapshot: Snapshot, version: str = DEFAULT_VERSION) -> Simulation:
    """A simulated cluster that begins as the snapshot shows it; raises ValueError where no cluster can be so.

    ELR is on where the snapshot says so. Brokers that are fenced in it are dead. What a replica out of the ISR lacks
    is not known: an adding one is taken to have nothing, any other everything but the last bytes.
    """
    return consistent(raw_simulation(snapshot, version))


def consistent(simulation: Simulation) -> Simulation:
    """The cluster whose controller has taken in where replicas lie, which disks are lost, and who is fenced."""
    return _with_fenced_out_of_isrs(_with_lost_dirs_reported(_with_assigned_dirs(simulation)))


def raw_simulation(snapshot: Snapshot, version: str) -> Simulation:
    """What the snapshot says, which may be edited by hand: `consistent` makes of it what a controller can have."""
    if datetime.fromisoformat(snapshot.observed_at).year not in YEARS:
        raise ValueError(
            f"observed at {snapshot.observed_at}: a simulation begins in the years {YEARS[0]} to {YEARS[-1]}"
        )
    configs, files = _stored_configs(snapshot)
    cluster = ClusterState(
        cluster_id=snapshot.cluster_id,
        version=version,
        elr_enabled=snapshot.features.eligible_leader_replicas,
        brokers=_registrations(snapshot),
        topics=_topics(snapshot),
        configs=configs,
        file_configs=files,
        next_broker_epoch=len(snapshot.brokers) + 1,
    )
    check_cluster_state(cluster)
    world = World(
        started_at=snapshot.observed_at,
        sizes=_sizes(snapshot),
        log_dirs=snapshot.log_dirs,
        down={b.id: 0.0 for b in snapshot.brokers if b.fenced},
        silent=snapshot.silent,
        remembered=snapshot.remembered,
        lost_dirs=frozenset((d.broker, d.path) for d in snapshot.log_dirs if d.error is not None),
        next_rebalance=first_rebalance(cluster, World().speeds, 0.0),
    )
    world = _with_probed_logs(world, snapshot.logs)
    world = replace(
        world,
        lags=initial_lags(cluster, world),
        initial_dirs=_initial_dirs(cluster, world.log_dirs),
    )
    return Simulation(cluster, world)


def check_cluster_state(cluster: ClusterState) -> None:
    """Raise ValueError where no controller can have such a state, naming the partition and what is wrong."""
    if cluster.elr_enabled and not cluster.rules.knows_elr:
        raise ValueError(f"eligible leader replicas are not available in Kafka {cluster.version}")
    for name, topic in cluster.topics.items():
        if not topic.partitions:
            raise ValueError(
                f"{name}: it has no partitions, as a topic is shown for a moment while it is created or deleted; take "
                "the snapshot again, or take the topic out of it"
            )
        if sorted(topic.partitions) != list(range(len(topic.partitions))):
            raise ValueError(f"{name}: its partitions must be numbered 0, 1, 2 ... without a gap")
    for partition_name, partition in cluster.partitions():
        problem = _contradiction(partition)
        if problem is not None:
            raise ValueError(f"{partition_name}: {problem}")


def _contradiction(partition: Partition) -> str | None:
    replicas = set(partition.replicas)
    for what, members in (
        ("ISR", partition.isr),
        ("adding", partition.adding),
        ("removing", partition.removing),
    ):
        if not replicas.issuperset(members):
            return f"{what} {list(members)} has brokers that are no replicas: {list(partition.replicas)}"
    if partition.leader is not None and partition.leader not in partition.isr:
        return f"leader {partition.leader} is not in the ISR {list(partition.isr)}"
    if set(partition.isr) & set(partition.elr):
        return f"ISR {list(partition.isr)} and ELR {list(partition.elr)} overlap"
    return None


def first_rebalance(cluster: ClusterState, speeds: Speeds, now: float) -> float:
    """When leaders are first rebalanced, as far as time alone decides it."""
    if cluster.rules.rebalance_waits_for_imbalance:
        return math.inf
    return now + (speeds.rebalance_seconds or 0.0)


def initial_lags(cluster: ClusterState, world: World) -> dict[tuple[TopicPartition, BrokerId], Lag]:
    """What replicas outside the ISR lack, as far as one can guess."""
    begins = world.now + world.speeds.fetch_start_seconds
    return {
        (name, broker): Lag(world.sizes.get(name, 0.0) if broker in p.adding else 0.0, begins)
        for name, p in cluster.partitions()
        for broker in p.replicas
        if broker not in p.isr
    }


def _with_probed_logs(world: World, logs: Mapping[TopicPartition, ProbedLogs]) -> World:
    """The world in which replicas have the logs that they said they had; the best of each partition is the main one."""
    sizes, epochs, parted = dict(world.sizes), dict(world.epochs), dict(world.parted)
    for name, by_broker in logs.items():
        logs_of = {b: log for b, log in by_broker.items() if isinstance(log, ReplicaLog)}
        if not logs_of or name not in sizes:
            continue
        best = max(logs_of, key=lambda b: logs_of[b].rank)
        for broker, log in logs_of.items():
            own = _probed(log, world.speeds.record_bytes)
            if broker == best:
                sizes[name], epochs[name] = own.bytes, own.epochs
            else:
                parted[name, broker] = own
    return replace(world, sizes=sizes, epochs=epochs, parted=parted)


def _probed(log: ReplicaLog, record_bytes: float) -> Log:
    starts, begin = list[EpochStart](), 0.0
    for epoch, end in sorted(log.epochs.items()):
        starts.append(EpochStart(epoch, begin))
        begin = end * record_bytes
    return Log(tuple(starts) or FIRST_EPOCHS, log.end * record_bytes)


def _registrations(snapshot: Snapshot) -> dict[BrokerId, BrokerRegistration]:
    return {
        broker.id: _registration(broker, snapshot.dirs_of.get(broker.id, ()), i)
        for i, broker in enumerate(snapshot.brokers, 1)
    }


def _registration(broker: Broker, dirs: Iterable[LogDir], epoch: int) -> BrokerRegistration:
    dirs = list(dirs)
    cordoned_of = {d.path: d.cordoned or broker.cordoned for d in dirs} or {
        UNREPORTED: broker.cordoned
    }
    online = [d.path for d in dirs if d.error is None] or cordoned_of
    return BrokerRegistration(
        broker.id,
        broker.rack,
        epoch=epoch,
        fenced=broker.fenced,
        log_dirs=tuple(online),
        cordoned_dirs=frozenset(path for path, cordoned in cordoned_of.items() if cordoned),
    )


def _topics(snapshot: Snapshot) -> dict[str, Topic]:
    by_topic: dict[str, dict[int, Partition]] = {}
    for row in snapshot.partitions.to_pylist():
        by_topic.setdefault(row["topic"], {})[row["partition"]] = _partition(row)
    ids = dict(
        zip(
            snapshot.topics.column("name").to_pylist(),
            snapshot.topics.column("id").to_pylist(),
            strict=True,
        )
    )
    return {name: Topic(TopicId(ids[name]), by_topic.get(name, {})) for name in ids}


def _partition(row: Mapping[str, Any]) -> Partition:
    leader = row["leader"]
    return Partition(
        replicas=tuple(row["replicas"]),
        isr=tuple(row["isr"]),
        leader=None if leader < 0 else leader,
        adding=tuple(row["adding"]),
        removing=tuple(row["removing"]),
        leader_epoch=row["leader_epoch"],
        elr=tuple(row["elr"]),
        last_known_elr=tuple(row["last_known_elr"]),
    )


def _sizes(snapshot: Snapshot) -> dict[TopicPartition, float]:
    columns = (snapshot.partitions.column(c).to_pylist() for c in ("topic", "partition", "bytes"))
    return {TopicPartition(t, p): float(size) for t, p, size in zip(*columns, strict=True)}


# Configurations: a snapshot has effective values with their sources, the controller what is stored where.

_DynamicConfigs = dict[ConfigResource, dict[str, str]]
_ConfigFiles = dict[str, dict[str, str]]


def _stored_configs(snapshot: Snapshot) -> tuple[_DynamicConfigs, _ConfigFiles]:
    """Dynamic values by resource, and values of files; raises ValueError where no cluster can have them.

    With ELR on the cluster has a default of min.insync.replicas, whatever the files say.
    """
    stored: _DynamicConfigs = {}
    files: _ConfigFiles = {}
    for name in snapshot.topics.column("name").to_pylist():
        settings = snapshot.settings(name)
        if settings is not None:
            _store_topic(stored, files, name, settings)
    for broker, configs in snapshot.broker_configs.items():
        for key, value in configs.items():
            _store_broker(stored, files, broker, key, value.value, value.source)
    if snapshot.features.eligible_leader_replicas:
        stored.setdefault(CLUSTER_DEFAULT, {}).setdefault(MIN_INSYNC_REPLICAS, "1")
    return stored, files


def _store_topic(
    stored: _DynamicConfigs, files: _ConfigFiles, topic: str, settings: TopicSettings
) -> None:
    own = stored.setdefault((ConfigScope.TOPIC, topic), {})
    minimum = str(settings.min_insync_replicas)
    match settings.min_insync_source:
        case ConfigSource.CLUSTER_DEFAULT:
            _agree(stored.setdefault(CLUSTER_DEFAULT, {}), topic, minimum)
        case ConfigSource.BROKER_FILE | ConfigSource.BROKER:
            _agree(files.setdefault("", {}), topic, minimum)
        case ConfigSource.KAFKA_DEFAULT if minimum == "1":
            pass
        case _:
            own[MIN_INSYNC_REPLICAS] = minimum
    if settings.unclean_election:
        own[UNCLEAN_ELECTION] = "true"
    if settings.leader_throttled is not None:
        own[LEADER_REPLICAS] = settings.leader_throttled
    if settings.follower_throttled is not None:
        own[FOLLOWER_REPLICAS] = settings.follower_throttled
    if not own:
        del stored[ConfigScope.TOPIC, topic]


def _agree(values: dict[str, str], topic: str, minimum: str) -> None:
    """A default is one value for all topics."""
    default = values.setdefault(MIN_INSYNC_REPLICAS, minimum)
    if default != minimum:
        raise ValueError(
            f"{topic}: min.insync.replicas is {minimum} by a default that is {default} for another topic; "
            "give one of them the source `topic`"
        )


def _store_broker(
    stored: _DynamicConfigs,
    files: _ConfigFiles,
    broker: BrokerId,
    key: str,
    value: str,
    source: ConfigSource,
) -> None:
    match source:
        case ConfigSource.CLUSTER_DEFAULT:
            stored.setdefault(CLUSTER_DEFAULT, {})[key] = value
        case ConfigSource.BROKER_FILE:
            files.setdefault(str(broker), {})[key] = value
        case _:
            stored.setdefault((ConfigScope.BROKER, str(broker)), {})[key] = value


# Disks: a snapshot has which are lost, and how many logs each holds, but not always which.


def with_log_dirs(simulation: Simulation, dirs: Sequence[LogDir]) -> Simulation:
    """The cluster whose brokers begin with these log directories."""
    cluster = simulation.cluster
    paths: dict[BrokerId, tuple[str, ...]] = {}
    for log_dir in dirs:
        paths[log_dir.broker] = (*paths.get(log_dir.broker, ()), log_dir.path)
    brokers = {b: replace(r, log_dirs=paths.get(b, r.log_dirs)) for b, r in cluster.brokers.items()}
    cluster = replace(cluster, brokers=brokers)
    world = replace(
        simulation.world, log_dirs=tuple(dirs), initial_dirs=_initial_dirs(cluster, dirs)
    )
    return _with_assigned_dirs(Simulation(cluster, world))


def _initial_dirs(cluster: ClusterState, log_dirs: Iterable[LogDir]) -> dict[ReplicaName, str]:
    """Where replicas of brokers with several directories lie in the beginning: as they say, or dealt out."""
    dirs: dict[BrokerId, list[LogDir]] = {}
    for log_dir in log_dirs:
        dirs.setdefault(log_dir.broker, []).append(log_dir)
    members: dict[BrokerId, list[tuple[TopicPartition, bool]]] = {
        broker: [] for broker, several in dirs.items() if len(several) > 1
    }
    if not members:
        return {}
    listed = {
        (TopicPartition(topic, number), broker): d.path
        for broker in members
        for d in dirs[broker]
        for topic, numbers in d.replicas.items()
        for number in numbers
    }
    for name, partition in cluster.partitions():
        for broker in partition.replicas:
            if broker in members:
                members[broker].append((name, broker in partition.isr))
    dealt = {
        r: p for b, held in members.items() for r, p in spread_over_log_dirs(dirs[b], held).items()
    }
    return {replica: listed.get(replica, path) for replica, path in dealt.items()}


def _with_assigned_dirs(simulation: Simulation) -> Simulation:
    """The cluster whose controller knows where replicas lie."""
    cluster, world = simulation.cluster, simulation.world
    first = {d.broker: id_of(world, d.broker, d.path) for d in reversed(world.log_dirs)}
    usual = {b: first.get(b, r.default_dir) for b, r in cluster.brokers.items()}

    def directories(name: TopicPartition, replicas: Replicas) -> Directories:
        if not (world.placed or world.initial_dirs):
            return tuple(usual.get(b) for b in replicas)
        return tuple(directory_id_of(world, (name, b)) or usual.get(b) for b in replicas)

    topics = {
        topic: Topic(
            of_topic.id,
            {
                number: replace(
                    p, directories=directories(TopicPartition(topic, number), p.replicas)
                )
                for number, p in of_topic.partitions.items()
            },
        )
        for topic, of_topic in cluster.topics.items()
    }
    return replace(simulation, cluster=replace(cluster, topics=topics))


def _with_lost_dirs_reported(simulation: Simulation) -> Simulation:
    """Let live brokers report disks that the snapshot shows as lost while replicas on them are still in sync."""
    world = simulation.world
    losers = {b for b, _ in world.lost_dirs if world.serves(b)}
    for broker in sorted(losers & simulation.cluster.brokers.keys()):
        lost = {path for b, path in world.lost_dirs if b == broker}
        if not any(
            broker in p.isr and p.directory(broker) in lost
            for _, p in simulation.cluster.partitions()
        ):
            continue
        registration = simulation.cluster.brokers[broker]
        whole = replace(
            registration, log_dirs=tuple(dict.fromkeys((*registration.log_dirs, *lost)))
        )
        brokers = {**simulation.cluster.brokers, broker: whole}
        before = replace(simulation, cluster=replace(simulation.cluster, brokers=brokers))
        simulation, _ = submit_command(before, LoseDirs(broker, frozenset(lost)))
    return simulation


def _with_fenced_out_of_isrs(simulation: Simulation) -> Simulation:
    """Fence properly whom the snapshot shows as fenced but still in an ISR, as a hand-edited file may."""
    cluster = simulation.cluster
    for broker in [b for b, r in sorted(cluster.brokers.items()) if r.fenced]:
        if not any(broker in p.isr for _, p in simulation.cluster.partitions()):
            continue
        brokers = dict(simulation.cluster.brokers)
        brokers[broker] = replace(brokers[broker], fenced=False)
        alive = replace(simulation.cluster, brokers=brokers)
        simulation, _ = submit_command(replace(simulation, cluster=alive), FenceBroker(broker))
    return simulation


# What an observer sees of a simulated cluster.


def observed_snapshot(simulation: Simulation, now: float) -> Snapshot:
    """What an observer sees at a virtual second: dead brokers answer neither sizes nor configurations."""
    cluster, serving = simulation.cluster, _serving(simulation)
    unresponsive = {b for b, r in cluster.brokers.items() if not r.fenced} - serving
    whole = snapshot_to_save(simulation, now)
    return replace(
        whole,
        log_dirs=_listing_replicas(simulation, log_dirs_described(simulation)),
        broker_configs={b: c for b, c in whole.broker_configs.items() if b in serving},
        silent=tuple(sorted({*whole.silent, *unresponsive} & cluster.brokers.keys())),
    )


def snapshot_to_save(simulation: Simulation, now: float) -> Snapshot:
    """The snapshot with what dead brokers cannot answer, to be saved."""
    cluster, world = simulation.cluster, simulation.world
    configured = {b: broker_configs(cluster, b) for b in sorted(cluster.brokers)}
    return Snapshot(
        cluster_id=cluster.cluster_id,
        observed_at=_rfc3339(moment_at(world, now)),
        features=features_of(cluster),
        brokers=tuple(broker_shown(r) for _, r in sorted(cluster.brokers.items())),
        topics=_topics_table(cluster),
        partitions=_partitions_table(cluster, world),
        log_dirs=tuple(
            _as_it_is_now(simulation, d) for d in world.log_dirs if d.broker in configured
        ),
        broker_configs={b: configs for b, configs in configured.items() if configs},
        silent=world.silent,
        remembered=world.remembered,
        offline=offline_replicas(simulation),
    )


def features_of(cluster: ClusterState) -> Features:
    """What a cluster of this version and these features can do."""
    return Features(cluster.rules.replication_factor_guard, cluster.elr_enabled)


OFFLINE_ERROR = "KAFKA_STORAGE_ERROR"
"""What DescribeLogDirs answers of a directory that is offline."""


def log_dirs_described(simulation: Simulation) -> tuple[LogDir, ...]:
    """The log directories of the brokers that answer."""
    serving = _serving(simulation)
    dirs = (d for d in simulation.world.log_dirs if d.broker in serving)
    return tuple(_as_described(_as_it_is_now(simulation, d)) for d in dirs)


def _as_described(log_dir: LogDir) -> LogDir:
    """A directory as DescribeLogDirs answers: of an offline one only the error."""
    if log_dir.error is None:
        return log_dir
    return replace(log_dir, total_bytes=None, usable_bytes=None, logs=0)


def _as_it_is_now(simulation: Simulation, log_dir: LogDir) -> LogDir:
    """A directory with what the controller and the disk make of it."""
    directory = id_of(simulation.world, log_dir.broker, log_dir.path)
    cordoned = directory in simulation.cluster.brokers[log_dir.broker].cordoned_dirs
    lost = (log_dir.broker, log_dir.path) in simulation.world.lost_dirs
    error = log_dir.error or OFFLINE_ERROR
    return replace(log_dir, cordoned=cordoned, error=error if lost else None)


def _listing_replicas(simulation: Simulation, dirs: Sequence[LogDir]) -> tuple[LogDir, ...]:
    """The directories with the replicas in them, where their broker has several; an offline one tells none."""
    several = {b for b, number in Counter(d.broker for d in dirs).items() if number > 1}
    lying: dict[tuple[BrokerId, str], dict[str, list[int]]] = {}
    for name, partition in simulation.cluster.partitions() if several else ():
        for broker in several.intersection(partition.replicas):
            path = directory_of(simulation.world, (name, broker))
            if path is not None:
                of = lying.setdefault((broker, path), {})
                of.setdefault(name.topic, []).append(name.partition)
    return tuple(
        replace(
            d,
            replicas={t: tuple(sorted(of)) for t, of in lying.get((d.broker, d.path), {}).items()},
        )
        if d.broker in several and d.error is None
        else d
        for d in dirs
    )


def _serving(simulation: Simulation) -> set[BrokerId]:
    brokers, world = simulation.cluster.brokers, simulation.world
    return {b for b, r in brokers.items() if not r.fenced and world.serves(b)}


def _topics_table(cluster: ClusterState) -> pa.Table:
    rows = []
    for name, topic in sorted(cluster.topics.items()):
        settings = topic_settings(cluster, name)
        rows.append(
            {
                "name": name,
                "id": topic.id,
                "min_insync_replicas": settings.min_insync_replicas,
                "min_insync_source": int(settings.min_insync_source),
                "unclean_election": settings.unclean_election,
                "leader_throttled": settings.leader_throttled,
                "follower_throttled": settings.follower_throttled,
            }
        )
    return pa.Table.from_pylist(rows, schema=TOPICS_SCHEMA)


def _partitions_table(cluster: ClusterState, world: World) -> pa.Table:
    names = sorted(cluster.topics)
    codes = {name: code for code, name in enumerate(names)}
    rows = list(cluster.partitions())

    def lists(of: str) -> pa.Array:
        return from_lists([getattr(p, of) for _, p in rows])

    def numbers(values: Iterable[int], kind: pa.DataType) -> pa.Array:
        return pa.array(list(values), kind)

    return partitions_table(
        pa.array(names, pa.string()),
        numbers((codes[n.topic] for n, _ in rows), pa.int32()),
        {
            "partition": numbers((n.partition for n, _ in rows), pa.int32()),
            "leader": numbers((-1 if p.leader is None else p.leader for _, p in rows), pa.int32()),
            "leader_epoch": numbers((p.leader_epoch for _, p in rows), pa.int32()),
            **{
                c: lists(c)
                for c in ("replicas", "isr", "adding", "removing", "elr", "last_known_elr")
            },
            "bytes": numbers(
                (min(round(world.sizes.get(n, 0.0)), INT64_MAX) for n, _ in rows), pa.int64()
            ),
        },
    )


def moment_at(world: World, now: float) -> datetime:
    """The moment of a virtual second, in UTC."""
    started = datetime.fromisoformat(world.started_at)
    return (started + timedelta(seconds=now)).astimezone(UTC)


def _rfc3339(moment: datetime) -> str:
    """In whole seconds, as RFC 3339 writes it."""
    return moment.replace(microsecond=0).isoformat().replace("+00:00", "Z")
