"""Replicas on their way to another log directory of the same broker (KIP-113).

Here belongs what a broker does about AlterReplicaLogDirs: ReplicaManager.alterReplicaLogDirs starts a future log, which
ReplicaAlterLogDirsThread fills at `replica.alter.log.dirs.io.max.bytes.per.second` and then swaps in
(LogManager.replaceCurrentWithFutureLog); the old files are deleted later. The room for a future log counts from the
beginning. Not here: in which directory a new replica is made (`disks`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from replan.model.configs import LOG_DIRS_RATE
from replan.model.control_plane import Accepted, Answer, LogPlace, Rejected, ReplicaName
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId
from replan.simulator.cluster.disks import (
    directory_of,
    has_lost_disk,
    id_of,
    lies_on_lost_disk,
    with_counts,
    without_dropped,
)
from replan.simulator.cluster.physical_state import FutureLog, Simulation, World
from replan.simulator.cluster.replication.quota import rate_in_force
from replan.simulator.cluster.submit import submit_command
from replan.simulator.controller.commands import AssignDirs, rejection
from replan.simulator.controller.state import ClusterState

DONE_BYTES = 0.5


def altered(
    simulation: Simulation, paths: Mapping[ReplicaName, str]
) -> tuple[Simulation, dict[ReplicaName, Answer]]:
    """What becomes of a request to brokers that serve.

    Of a replica that is not there yet they remember where to make it (LogManager.maybeUpdatePreferredLogDir).
    """
    answers: dict[ReplicaName, Answer] = {}
    world = simulation.world
    for replica, path in paths.items():
        refused = _refused(simulation, replica, path)
        answers[replica] = refused or Accepted()
        if refused is None:
            world = _begun(world, replica, path)
        elif refused.code == ErrorCode.REPLICA_NOT_AVAILABLE:
            world = replace(world, preferred={**world.preferred, replica: path})
    return replace(simulation, world=world), answers


def _refused(simulation: Simulation, replica: ReplicaName, path: str) -> Rejected | None:
    """Why a broker refuses; with any directory offline it makes no future log (LogManager.getOrCreateLog, 4.3.1)."""
    (name, broker), world = replica, simulation.world
    if not any(d.broker == broker and d.path == path for d in world.log_dirs):
        return rejection(ErrorCode.LOG_DIR_NOT_FOUND)
    if (broker, path) in world.lost_dirs:
        return rejection(ErrorCode.KAFKA_STORAGE_ERROR)
    partition = simulation.cluster.partition(name)
    if partition is None or broker not in partition.replicas:
        return rejection(ErrorCode.REPLICA_NOT_AVAILABLE)
    if lies_on_lost_disk(world, replica):
        return rejection(ErrorCode.KAFKA_STORAGE_ERROR)
    future = world.futures.get(replica)
    paths = {directory_of(world, replica), None if future is None else future.path}
    if path not in paths and has_lost_disk(world, broker):
        return rejection(ErrorCode.KAFKA_STORAGE_ERROR)
    return None


def _begun(world: World, replica: ReplicaName, path: str) -> World:
    running = world.futures.get(replica)
    if running is not None and running.path == path:
        return world
    world = _ended(world, replica)
    if directory_of(world, replica) == path:
        return world
    size = float(world.replica_bytes(*replica))
    future = FutureLog(path, size, size)
    world = with_counts(world, replica[1], path, logs=1, freed=-size)
    return replace(world, futures={**world.futures, replica: future})


def _ended(world: World, replica: ReplicaName) -> World:
    """The world without a future log that is given up."""
    future = world.futures.get(replica)
    if future is None:
        return world
    futures = {r: f for r, f in world.futures.items() if r != replica}
    world = with_counts(world, replica[1], future.path, logs=-1, freed=future.bytes)
    return replace(world, futures=futures)


def future_log_rates(cluster: ClusterState, world: World) -> dict[ReplicaName, float]:
    """Bytes per second of each; a broker's share the quota, and stand still while it does not serve."""
    running = {r: f for r, f in world.futures.items() if world.serves(r[1])}
    alike = Counter(broker for _, broker in running)
    return {r: _quota(cluster, world, r[1]) / alike[r[1]] for r in running}


def _quota(cluster: ClusterState, world: World, broker: BrokerId) -> float:
    rate, usual = (
        rate_in_force(cluster, broker, LOG_DIRS_RATE),
        world.speeds.log_dirs_bytes_per_second,
    )
    return usual if rate is None else min(usual, float(rate))


def moments(cluster: ClusterState, world: World) -> Iterator[float]:
    """When each will be filled."""
    for replica, rate in future_log_rates(cluster, world).items():
        if rate > 0:
            left = world.futures[replica].remaining_bytes / rate
            yield world.now + max(left, world.speeds.grain_seconds)


def flowed(cluster: ClusterState, world: World, seconds: float) -> World:
    """The world after so many seconds."""
    if not world.futures:
        return world
    futures = dict(world.futures)
    for replica, rate in future_log_rates(cluster, world).items():
        future = futures[replica]
        left = max(0.0, future.remaining_bytes - rate * seconds)
        futures[replica] = replace(future, remaining_bytes=left)
    return replace(world, futures=futures)


def with_done(simulation: Simulation) -> Simulation:
    """Swap in what is filled; give up what belongs to replicas that are gone, or copies from or to a failed disk.

    See ReplicaManager.handleLogDirFailure.
    """
    for replica, future in simulation.world.futures.items():
        name, broker = replica
        partition, world = simulation.cluster.partition(name), simulation.world
        gone = partition is None or broker not in partition.replicas
        failed = lies_on_lost_disk(world, replica) or (broker, future.path) in world.lost_dirs
        if gone or failed:
            simulation = replace(simulation, world=_ended(world, replica))
        elif future.remaining_bytes < DONE_BYTES and world.serves(broker):
            simulation = _swapped(simulation, replica, future)
    return simulation


def _swapped(simulation: Simulation, replica: ReplicaName, future: FutureLog) -> Simulation:
    name, broker = replica
    world = without_dropped(simulation.world, replica, future.bytes)
    futures = {r: f for r, f in world.futures.items() if r != replica}
    initial = {r: path for r, path in world.initial_dirs.items() if r != replica}
    placed = {**world.placed, replica: future.path}
    world = replace(world, placed=placed, initial_dirs=initial, futures=futures)
    simulation = replace(simulation, world=world)
    command = AssignDirs(broker, ((name, id_of(world, broker, future.path)),))
    return submit_command(simulation, command)[0]


def log_place(simulation: Simulation, replica: ReplicaName) -> LogPlace:
    """Where a replica lies, as its broker says."""
    (name, broker), world = replica, simulation.world
    partition, future = simulation.cluster.partition(name), world.futures.get(replica)
    there = partition is not None and broker in partition.replicas
    path = directory_of(world, replica) if there and not lies_on_lost_disk(world, replica) else None
    size = 0 if path is None else world.replica_bytes(name, broker)
    if future is None:
        return LogPlace(path, size)
    return LogPlace(path, size, future.path, round(future.bytes - future.remaining_bytes))
