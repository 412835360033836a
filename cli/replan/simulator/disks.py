"""Log directories: where a new replica goes, and how much room is left.

Here belong the counts and bytes of log directories. They follow the logs: a copy takes room as it grows, a dropped
replica gives it back when its files are deleted (file.delete.delay.ms). A replica that was there from the beginning is
taken to lie in its broker's first directory, since a snapshot does not tell.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from replan.model.broker import LogDir
from replan.model.names import BrokerId
from replan.simulator.world import Deletion, ReplicaName, World


def directory_of(world: World, replica: ReplicaName) -> str | None:
    """The path that a replica lies in; None where its broker's directories are not known."""
    if replica in world.placed:
        return world.placed[replica]
    return next((d.path for d in world.log_dirs if d.broker == replica[1]), None)


def with_new(world: World, replica: ReplicaName) -> World:
    """The world with a new log, in the directory that has the fewest (LogManager.nextLogDirs)."""
    open_dirs = [
        d for d in world.log_dirs if d.broker == replica[1] and not d.cordoned and d.error is None
    ]
    if not open_dirs:
        return world
    chosen = min(open_dirs, key=lambda d: d.logs)
    return replace(
        world,
        placed={**world.placed, replica: chosen.path},
        log_dirs=_updated(world.log_dirs, chosen.broker, chosen.path, logs=1),
    )


def without_dropped(world: World, replica: ReplicaName, size: float) -> World:
    """The world without a log; its bytes stay on the disk for a while."""
    path = directory_of(world, replica)
    if path is None:
        return world
    deletion = Deletion(world.now + world.speeds.delete_seconds, replica[1], path, size)
    return replace(
        world,
        placed={r: p for r, p in world.placed.items() if r != replica},
        log_dirs=_updated(world.log_dirs, replica[1], path, logs=-1),
        deletions=(*world.deletions, deletion),
    )


def with_written(world: World, written: Mapping[ReplicaName, float]) -> World:
    """The world after so many bytes were written to replicas."""
    if not world.log_dirs:
        return world
    first = {d.broker: d.path for d in reversed(world.log_dirs)}
    amounts: defaultdict[tuple[BrokerId, str], float] = defaultdict(float)
    for replica, amount in written.items():
        path = world.placed.get(replica) or first.get(replica[1])
        if path is not None:
            amounts[replica[1], path] += amount
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
