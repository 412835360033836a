"""What becomes of a broker that loses a disk, and how it comes back with another one.

Here belong the loss (LogManager.handleLogDirFailure, ReplicaManager.handleLogDirFailure), which directories a broker
registers with, and the empty logs on a new disk. What the controller makes of it is in `log_dirs`; processes that
end and start are in `apply_fault`.
"""

from collections.abc import Iterator
from dataclasses import replace

from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.simulator.cluster.disks import (
    UNREPORTED,
    directory_id_of,
    directory_of,
    id_of,
    new_id,
    with_placed,
)
from replan.simulator.cluster.physical_state import Directory, Lag, Simulation, World
from replan.simulator.controller.commands import AssignDirs
from replan.simulator.controller.state import BrokerRegistration, ClusterState


def dirs_of(simulation: Simulation, broker: BrokerId) -> tuple[str, ...]:
    """The paths of a broker's log directories; a default name where no snapshot has any."""
    reported = tuple(d.path for d in simulation.world.log_dirs if d.broker == broker)
    registration = simulation.cluster.brokers.get(broker)
    return reported or (() if registration is None else (UNREPORTED,))


def chosen(simulation: Simulation, broker: BrokerId, path: str | None) -> str | None:
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
    found: dict[TopicPartition, Replicas] = {}
    for broker in sorted(live):
        for name, _ in _lying_in(simulation, {d for d in lost if d[0] == broker}):
            found[name] = (*found.get(name, ()), broker)
    return found


def _lying_in(
    simulation: Simulation, lost: set[Directory]
) -> Iterator[tuple[TopicPartition, bool]]:
    """The partitions with a replica there, and whether the controller takes that to lie elsewhere."""
    ((broker, _), *_rest) = lost
    ids = {id_of(simulation.world, b, path) for b, path in lost}
    for name, partition in simulation.cluster.partitions_where(lambda p: broker in p.replicas):
        path = directory_of(simulation.world, (name, broker)) or UNREPORTED
        if (broker, path) in lost:
            yield name, partition.directory(broker) not in ids


def _replaced(world: World, fresh: set[Directory], number: int) -> World:
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
