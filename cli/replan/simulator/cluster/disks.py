"""Log directories: where each replica lies, where a new one goes, and how much room is left.

Here belong the counts and bytes of log directories. They follow the logs: a copy takes room as it grows, a dropped
replica gives it back when its files are deleted (file.delete.delay.ms). Where replicas lay in the beginning is in
no snapshot: `spread` distributes them. Not here: what becomes of a broker that loses a disk (`disk_failures`).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from replan.model.broker import LogDir
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster.physical_state import Deletion, ReplicaName, World

UNREPORTED = "data"
"""The only log directory of a broker of which none is known."""


def directory_of(world: World, replica: ReplicaName) -> str | None:
    """The path that a replica lies in; None where its broker's directories are not known."""
    path = world.placed.get(replica) or world.lay.get(replica)
    return path or next((d.path for d in world.log_dirs if d.broker == replica[1]), None)


def lies_on_lost_disk(world: World, replica: ReplicaName) -> bool:
    """Whether a replica can be neither read nor written, since its disk has failed."""
    if not world.lost_dirs:
        return False
    path = directory_of(world, replica)
    return path is not None and (replica[1], path) in world.lost_dirs


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


def spread(
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

    A replica that lay on a lost disk before it was dropped is not created again until its broker has restarted: to
    the broker it is there, and offline (ReplicaManager.getOrCreatePartition).
    """
    return world if lies_on_lost_disk(world, replica) else with_placed(world, replica)


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
        path = world.placed.get(replica) or world.lay.get(replica) or first.get(replica[1])
        if path is not None and amount > 0:
            amounts[replica[1], path] += amount
    return amounts


def soonest_full(world: World, speeds: Mapping[ReplicaName, float], before: float) -> float:
    """When copies will have filled the next log directory, if that is sooner; growth by producers is not counted."""
    reach = (before - world.now) * world.speeds.network_bytes_per_second
    near = [(d, d.usable_bytes) for d in world.log_dirs if 0 < (d.usable_bytes or 0) <= reach]
    if not near:
        return before
    rates, grain = by_directory(world, speeds), world.speeds.grain_seconds
    left = (
        (usable or 0) / rate for d, usable in near if (rate := rates.get((d.broker, d.path), 0.0))
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


def _one_updated(found: LogDir, logs: int, freed: float) -> LogDir:
    usable = found.usable_bytes
    if usable is not None:
        ceiling = usable + round(freed) if found.total_bytes is None else found.total_bytes
        usable = max(0, min(usable + round(freed), ceiling))
    return replace(found, logs=max(0, found.logs + logs), usable_bytes=usable)
