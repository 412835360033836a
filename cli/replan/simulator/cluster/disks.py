"""Log directories: where each replica lies, where a new one goes, how much room is left, and what a lost disk does.

Counts and bytes follow the logs: a copy takes room as it grows, a dropped replica gives it back when its files are
deleted (file.delete.delay.ms). Where replicas lay in the beginning is in no snapshot: `spread_over_log_dirs`
distributes them.

A broker that loses a disk (LogManager.handleLogDirFailure, ReplicaManager.handleLogDirFailure) goes on with the other
directories or ends, and registers with those that work; on a new disk its logs are empty. What the controller makes of
it is in `broker_lifecycle`; processes that end and start are in `apply_fault`.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from replan.model.broker import LogDir
from replan.model.control_plane import ReplicaName
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.simulator.cluster.physical_state import (
    BrokerDirectory,
    Deletion,
    Lag,
    Simulation,
    World,
)
from replan.simulator.controller.commands import AssignDirs
from replan.simulator.controller.state import BrokerRegistration, ClusterState

UNREPORTED = "data"
"""The only log directory of a broker of which none is known."""


def directory_of(world: World, replica: ReplicaName) -> str | None:
    """The path that a replica lies in; None where its broker's directories are not known."""
    path = world.placed.get(replica) or world.initial_dirs.get(replica)
    return path or next((d.path for d in world.log_dirs if d.broker == replica[1]), None)


def lies_on_lost_disk(world: World, replica: ReplicaName) -> bool:
    """Whether a replica can be neither read nor written, since its disk has failed."""
    if not world.lost_dirs:
        return False
    path = directory_of(world, replica)
    return path is not None and (replica[1], path) in world.lost_dirs


def has_lost_disk(world: World, broker: BrokerId) -> bool:
    """Whether any log directory of a broker has failed."""
    return any(lost == broker for lost, _ in world.lost_dirs)


def id_of(world: World, broker: BrokerId, path: str) -> str:
    """The id by which the controller knows a log directory."""
    return world.disk_ids.get((broker, path), path)


def new_id(path: str, number: int) -> str:
    """The id of a directory on a new disk."""
    return f"{path} ({number})"


def path_of(directory_id: str) -> str:
    """The path of a directory by its id."""
    return directory_id.partition(" (")[0]


def directory_id_of(world: World, replica: ReplicaName) -> str | None:
    """The id of the directory that a replica lies in, which its broker reports; None where that is not known."""
    path = directory_of(world, replica)
    if path is None:
        return world.disk_ids.get((replica[1], UNREPORTED))
    return id_of(world, replica[1], path)


def spread_over_log_dirs(
    dirs: Sequence[LogDir], members: Iterable[tuple[TopicPartition, bool]]
) -> dict[ReplicaName, str]:
    """Deal a broker's replicas out to its several directories, each as many as it says that it holds.

    `members`: the partitions, and whether the broker's replica is in sync, as none on a lost disk is.
    """
    places: dict[ReplicaName, str] = {}
    room = {d.path: d.logs for d in dirs}
    serving = [d.path for d in dirs if d.error is None]
    for name, in_sync in sorted(members, key=lambda member: not member[1]):
        among = serving if in_sync and serving else room
        path = max(among, key=lambda path: (room[path], path not in serving))
        room[path] -= 1
        places[name, dirs[0].broker] = path
    return places


def with_new(world: World, replica: ReplicaName) -> World:
    """The world with a new log, in the directory that has the fewest (LogManager.nextLogDirs).

    A replica that lay on a lost disk when it was dropped is not created again until its broker has restarted: to
    the broker it is there, and offline (ReplicaManager.getOrCreatePartition).
    """
    offline = (replica[1], world.placed.get(replica)) in world.lost_dirs  # see `without_dropped`
    return world if offline else with_placed(world, replica)


def with_placed(world: World, replica: ReplicaName) -> World:
    """The world with a log in the directory that its broker was asked for, else where the fewest are."""
    open_dirs = [
        d
        for d in world.log_dirs
        if d.broker == replica[1] and not d.cordoned and (d.broker, d.path) not in world.lost_dirs
    ]
    if not open_dirs:
        return world
    wanted = world.preferred.get(replica)
    chosen = min(open_dirs, key=lambda d: (d.path != wanted, d.logs))
    return replace(
        world,
        preferred={r: path for r, path in world.preferred.items() if r != replica},
        placed={**world.placed, replica: chosen.path},
        log_dirs=_updated(world.log_dirs, chosen.broker, chosen.path, logs=1),
    )


def without_dropped(world: World, replica: ReplicaName, size: float) -> World:
    """The world without a log; its bytes stay on the disk for a while."""
    path = directory_of(world, replica)
    if path is None:
        return world
    if (replica[1], path) in world.lost_dirs:
        return replace(world, placed={**world.placed, replica: path})
    deletion = Deletion(world.now + world.speeds.delete_seconds, replica[1], path, size)
    return replace(
        world,
        placed={r: p for r, p in world.placed.items() if r != replica},
        log_dirs=_updated(world.log_dirs, replica[1], path, logs=-1),
        deletions=(*world.deletions, deletion),
    )


def by_directory(
    world: World, written: Mapping[ReplicaName, float]
) -> dict[tuple[BrokerId, str], float]:
    """What is written to replicas, bytes or bytes per second, by the log directories that they lie in."""
    first = {d.broker: d.path for d in reversed(world.log_dirs)}
    amounts: defaultdict[tuple[BrokerId, str], float] = defaultdict(float)
    for replica, amount in written.items():
        path = world.placed.get(replica) or world.initial_dirs.get(replica) or first.get(replica[1])
        if path is not None and amount > 0:
            amounts[replica[1], path] += amount
    return amounts


def full_dirs(world: World) -> list[BrokerDirectory]:
    """The log directories in which nothing is free; one of which nobody knows how much is free is none of them."""
    return [(d.broker, d.path) for d in world.log_dirs if d.usable_bytes == 0]


def soonest_full(world: World, rates: Mapping[ReplicaName, float], before: float) -> float:
    """When copies will have filled the next log directory, if that is sooner; growth by producers is not counted."""
    reach = (before - world.now) * world.speeds.network_bytes_per_second
    near = [(d, d.usable_bytes) for d in world.log_dirs if 0 < (d.usable_bytes or 0) <= reach]
    if not near:
        return before
    filling, grain = by_directory(world, rates), world.speeds.grain_seconds
    left = (
        (usable or 0) / rate for d, usable in near if (rate := filling.get((d.broker, d.path), 0.0))
    )
    return min(before, world.now + max(grain, min(left, default=math.inf)))


def with_written(world: World, written: Mapping[ReplicaName, float]) -> World:
    """The world after so many bytes were written to replicas."""
    if not world.log_dirs:
        return world
    amounts = by_directory(world, written)
    dirs = tuple(
        _one_updated(d, 0, -amounts[d.broker, d.path]) if (d.broker, d.path) in amounts else d
        for d in world.log_dirs
    )
    return replace(world, log_dirs=dirs)


def with_deletions_done(world: World) -> World:
    """The world after the deletions that are due."""
    if all(d.due > world.now for d in world.deletions):
        return world
    dirs = world.log_dirs
    for deletion in world.deletions:
        if deletion.due <= world.now:
            dirs = _updated(dirs, deletion.broker, deletion.path, freed=deletion.bytes)
    waiting = tuple(d for d in world.deletions if d.due > world.now)
    return replace(world, log_dirs=dirs, deletions=waiting)


def with_counts(world: World, broker: BrokerId, path: str, *, logs: int, freed: float) -> World:
    """The world with so many more logs, and so many bytes free, in one directory."""
    return replace(world, log_dirs=_updated(world.log_dirs, broker, path, logs=logs, freed=freed))


def _updated(
    dirs: tuple[LogDir, ...], broker: BrokerId, path: str, *, logs: int = 0, freed: float = 0.0
) -> tuple[LogDir, ...]:
    return tuple(
        _one_updated(d, logs, freed) if (d.broker, d.path) == (broker, path) else d for d in dirs
    )


def _one_updated(log_dir: LogDir, logs: int, freed: float) -> LogDir:
    usable = log_dir.usable_bytes
    if usable is not None:
        ceiling = usable + round(freed) if log_dir.total_bytes is None else log_dir.total_bytes
        usable = max(0, min(usable + round(freed), ceiling))
    return replace(log_dir, logs=max(0, log_dir.logs + logs), usable_bytes=usable)


def dirs_of(simulation: Simulation, broker: BrokerId) -> tuple[str, ...]:
    """The paths of a broker's log directories; a default name where no snapshot has any."""
    reported = tuple(d.path for d in simulation.world.log_dirs if d.broker == broker)
    registration = simulation.cluster.brokers.get(broker)
    return reported or (() if registration is None else (UNREPORTED,))


def log_dir_to_lose(simulation: Simulation, broker: BrokerId, path: str | None) -> str | None:
    """The directory that a loss means: the one named, else the last; None where it is lost already."""
    left = _left(simulation, broker)
    if path is None:
        return left[-1] if left else None
    return path if path in left else None


def halts(simulation: Simulation, broker: BrokerId) -> bool:
    """Whether a broker cannot run with the disks that it has left.

    "Shutdown broker because all log dirs ... have failed"; and so it does without its first one, which holds its
    metadata log where metadata.log.dir is not set ("because the metadata log dir ... has failed").
    """
    paths = dirs_of(simulation, broker)
    return bool(paths) and (broker, paths[0]) in simulation.world.lost_dirs


def can_start(simulation: Simulation, broker: BrokerId) -> bool:
    """Whether a process that starts now finds the disks that it needs."""
    return broker in simulation.world.new_disks or not halts(simulation, broker)


def registered_dirs(simulation: Simulation, registration: BrokerRegistration) -> tuple[str, ...]:
    """The ids of the directories that are online, which a broker sends when it registers."""
    broker, world = registration.id, simulation.world
    if dirs_of(simulation, broker) == (UNREPORTED,) and (broker, UNREPORTED) not in world.disk_ids:
        return registration.log_dirs
    return tuple(id_of(world, broker, path) for path in _left(simulation, broker))


def _left(simulation: Simulation, broker: BrokerId) -> tuple[str, ...]:
    lost = simulation.world.lost_dirs
    return tuple(path for path in dirs_of(simulation, broker) if (broker, path) not in lost)


def started_again(simulation: Simulation, broker: BrokerId) -> Simulation:
    """The cluster in which a broker that starts has its new disks: what was on the failed ones starts empty.

    Without a new disk only what was dropped and asked for again since the loss does: such a replica was given to
    another directory. A replica is created where the fewest logs are (LogManager.getOrCreateLog).
    """
    lost = {d for d in simulation.world.lost_dirs if d[0] == broker}
    if not lost:
        return simulation
    world = simulation.world
    renewed = broker in world.new_disks
    recreated = [name for name, given in _lying_in(simulation, lost) if renewed or given]
    if renewed:
        world = _replaced(world, lost, simulation.cluster.next_broker_epoch)
    lags = dict(world.lags)
    begins = world.now + world.speeds.fetch_start_seconds
    for name in recreated:
        world = with_placed(world, (name, broker))
        lags[name, broker] = Lag(world.sizes.get(name, 0.0), begins)
    world = replace(world, lags=lags, new_disks=world.new_disks - {broker})
    return replace(simulation, world=world)


def offline_replicas(simulation: Simulation) -> dict[TopicPartition, Replicas]:
    """The replicas in failed directories of brokers that serve on, as Kafka's metadata shows them."""
    registered, lost = simulation.cluster.brokers, simulation.world.lost_dirs
    live = {b for b, _ in lost if b in registered and not registered[b].fenced}
    offline: dict[TopicPartition, Replicas] = {}
    for broker in sorted(live):
        for name, _ in _lying_in(simulation, {d for d in lost if d[0] == broker}):
            offline[name] = (*offline.get(name, ()), broker)
    return offline


def _lying_in(
    simulation: Simulation, lost: set[BrokerDirectory]
) -> Iterator[tuple[TopicPartition, bool]]:
    """The partitions with a replica there, and whether the controller takes that to lie elsewhere."""
    ((broker, _), *_rest) = lost
    ids = {id_of(simulation.world, b, path) for b, path in lost}
    for name, partition in simulation.cluster.partitions_where(lambda p: broker in p.replicas):
        path = directory_of(simulation.world, (name, broker)) or UNREPORTED
        if (broker, path) in lost:
            yield name, partition.directory(broker) not in ids


def _replaced(world: World, fresh: set[BrokerDirectory], number: int) -> World:
    dirs = tuple(
        replace(d, logs=0, usable_bytes=d.total_bytes, error=None)
        if (d.broker, d.path) in fresh
        else d
        for d in world.log_dirs
    )
    ids = {(broker, path): new_id(path, number) for broker, path in fresh}
    return replace(
        world,
        log_dirs=dirs,
        deletions=tuple(d for d in world.deletions if (d.broker, d.path) not in fresh),
        lost_dirs=world.lost_dirs - fresh,
        disk_ids={**world.disk_ids, **ids},
    )


def unreported(cluster: ClusterState, world: World, broker: BrokerId) -> AssignDirs | None:
    """What a broker that starts has to report of its replicas, since the controller takes them to lie elsewhere."""
    moved = tuple(
        (name, directory)
        for name, partition in cluster.partitions_where(lambda p: broker in p.replicas)
        if (directory := directory_id_of(world, (name, broker))) is not None
        and directory != partition.directory(broker)
        and cluster.brokers[broker].has_online(directory)
    )
    return AssignDirs(broker, moved) if moved else None
