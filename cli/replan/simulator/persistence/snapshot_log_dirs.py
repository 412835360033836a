"""Disks as snapshots have them: which are lost, and how many logs each holds, but not which.

Here belongs what a simulation makes of that when it begins or is read back, and how an observer sees it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from replan.model.broker import LogDir
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.simulator.cluster.disks import directory_id_of, directory_of, id_of, spread
from replan.simulator.cluster.physical_state import ReplicaName, Simulation
from replan.simulator.cluster.submit import ask
from replan.simulator.controller.commands import LoseDirs
from replan.simulator.controller.state import ClusterState, Directories, Topic

LOST = "KAFKA_STORAGE_ERROR"
"""What DescribeLogDirs answers of a directory that is offline."""


def with_replicas(simulation: Simulation, dirs: Sequence[LogDir]) -> tuple[LogDir, ...]:
    """The directories with the replicas in them, where their broker has several."""
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
        if d.broker in several
        else d
        for d in dirs
    )


def lay(cluster: ClusterState, log_dirs: Iterable[LogDir]) -> dict[ReplicaName, str]:
    """Where replicas of brokers with several directories lie in the beginning: as they say, or dealt out."""
    dirs: dict[BrokerId, list[LogDir]] = {}
    for found in log_dirs:
        dirs.setdefault(found.broker, []).append(found)
    members: dict[BrokerId, list[tuple[TopicPartition, bool]]] = {
        broker: [] for broker, several in dirs.items() if len(several) > 1
    }
    if not members:
        return {}
    known = {
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
    dealt = {r: p for b, held in members.items() for r, p in spread(dirs[b], held).items()}
    return {replica: known.get(replica, path) for replica, path in dealt.items()}


def with_log_dirs(simulation: Simulation, dirs: Sequence[LogDir]) -> Simulation:
    """The cluster whose brokers begin with these log directories."""
    cluster = simulation.cluster
    paths: dict[BrokerId, tuple[str, ...]] = {}
    for found in dirs:
        paths[found.broker] = (*paths.get(found.broker, ()), found.path)
    brokers = {b: replace(r, log_dirs=paths.get(b, r.log_dirs)) for b, r in cluster.brokers.items()}
    cluster = replace(cluster, brokers=brokers)
    world = replace(simulation.world, log_dirs=tuple(dirs), lay=lay(cluster, dirs))
    return with_directories(Simulation(cluster, world))


def with_directories(simulation: Simulation) -> Simulation:
    """The cluster whose controller knows where replicas lie; those in sync on lost disks leave the ISR."""
    cluster, world = simulation.cluster, simulation.world
    first = {d.broker: id_of(world, d.broker, d.path) for d in reversed(world.log_dirs)}
    usual = {b: first.get(b, r.default_dir) for b, r in cluster.brokers.items()}

    def directories(name: TopicPartition, replicas: Replicas) -> Directories:
        if not (world.placed or world.lay):
            return tuple(usual.get(b) for b in replicas)
        return tuple(directory_id_of(world, (name, b)) or usual.get(b) for b in replicas)

    topics = {
        topic: Topic(
            found.id,
            {
                number: replace(
                    p, directories=directories(TopicPartition(topic, number), p.replicas)
                )
                for number, p in found.partitions.items()
            },
        )
        for topic, found in cluster.topics.items()
    }
    return _without_lost(replace(simulation, cluster=replace(cluster, topics=topics)))


def _without_lost(simulation: Simulation) -> Simulation:
    """Let brokers report disks that the snapshot shows as lost while replicas on them are still in sync."""
    world = simulation.world
    for broker in sorted({b for b, _ in world.lost_dirs} & simulation.cluster.brokers.keys()):
        lost = {path for b, path in world.lost_dirs if b == broker}
        if not any(
            broker in p.isr and p.directory(broker) in lost
            for _, p in simulation.cluster.partitions()
        ):
            continue
        known = simulation.cluster.brokers[broker]
        whole = replace(known, log_dirs=tuple(dict.fromkeys((*known.log_dirs, *lost))))
        brokers = {**simulation.cluster.brokers, broker: whole}
        before = replace(simulation, cluster=replace(simulation.cluster, brokers=brokers))
        simulation, _ = ask(before, LoseDirs(broker, frozenset(lost)))
    return simulation


def log_dir_seen(simulation: Simulation, found: LogDir) -> LogDir:
    """A directory with what the controller and the disk make of it."""
    cordoned = found.path in simulation.cluster.brokers[found.broker].cordoned_dirs
    lost = (found.broker, found.path) in simulation.world.lost_dirs
    error = found.error or LOST
    return replace(found, cordoned=cordoned, error=error if lost else None)


def log_dir_described(found: LogDir) -> LogDir:
    """A directory as DescribeLogDirs answers: of an offline one only the error."""
    if found.error is None:
        return found
    return replace(found, total_bytes=None, usable_bytes=None, logs=0)
