"""What is to be done for a fleet: a task for each cluster, out of two folders or out of a lake and its fleet file."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from replan.errors import BadFile
from replan.fleet.fleet_file import Fleet
from replan.fleet.lake.delta import Lake, quoted
from replan.fleet.lake.snapshots import Kept, kept_snapshots
from replan.fleet.lake.tables import SNAPSHOTS
from replan.fleet.tasks.heads import head_of
from replan.fleet.tasks.pairs import FleetError, pair_up
from replan.fleet.tasks.sources import find_placements, find_snapshots
from replan.fleet.tasks.work import Task, prices_text

BYTES_OF_A_PARTITION = 13
"""In a snapshot's Parquet folder; a JSON document has six times as many, and takes ten times as long to read."""


@dataclass(frozen=True, slots=True)
class Todo:
    """The tasks, and what is no task and why."""

    tasks: tuple[Task, ...]
    """The largest clusters first, so that none of them is begun when all others are done."""
    errors: tuple[FleetError, ...] = ()
    undeclared: tuple[str, ...] = ()
    """Clusters with a snapshot and without a placement."""
    older: int = 0
    """Snapshots that are not looked at, because there is a newer one of their cluster."""
    partitions: int = 0
    """About how many there are in all."""
    of_newest: bool = False
    """Whether each task has the newest snapshot of its cluster in the lake: what failed after that is over."""


def from_folders(snapshots: Path, placements: Path) -> Todo:
    """Everything that two folders hold; raises BadFile where either side has nothing."""
    found = find_snapshots(snapshots)
    if not found:
        raise BadFile(
            f"{snapshots}: there is no snapshot in this folder; "
            f"`replan snapshot -o {snapshots / 'CLUSTER'}` writes one"
        )
    declared = find_placements(placements)
    if not declared:
        raise BadFile(
            f"{placements}: there is no placement in this folder: "
            "it should hold a YAML file or a folder for each cluster"
        )
    pairing = pair_up(head_of(source) for source in [*found, *declared])
    tasks = tuple(
        Task(p.cluster_name, p.cluster_id, p.observed_at, p.placement, snapshot=p.snapshot)
        for p in pairing.pairs
    )
    sizes = {task: _size(Path(task.snapshot or "")) for task in tasks}
    return Todo(
        tuple(sorted(tasks, key=lambda task: -sizes[task])),
        pairing.errors,
        pairing.undeclared,
        pairing.older,
        sum(sizes.values()) // BYTES_OF_A_PARTITION,
    )


def from_lake(fleet: Fleet, lake: Lake, unanswered: Collection[str] = ()) -> Todo:
    """The newest snapshot of each cluster of the fleet; raises BadFile where the table of snapshots cannot be read.

    That there is none is no error of its own where the cluster is among the `unanswered` of this run.
    """
    newest, torn = newest_of(lake, fleet.clusters)
    tasks: list[Task] = []
    errors: list[FleetError] = []
    undeclared: list[str] = []
    for name, cluster in fleet.clusters.items():
        kept = newest.get(name)
        if cluster.placement is None:
            undeclared.append(name)
        elif name in torn:
            errors.append(FleetError(name, lake.place(SNAPSHOTS), torn[name]))
        elif kept is None and name in unanswered:
            continue
        elif kept is None:
            message = "there is no snapshot of it in the lake; `replan fleet collect` takes one"
            errors.append(FleetError(name, lake.address, message))
        else:
            tasks.append(task_of(fleet, lake, kept))
    tasks.sort(key=lambda task: -newest[task.cluster].partitions)
    return Todo(
        tuple(tasks),
        tuple(errors),
        tuple(undeclared),
        partitions=sum(newest[task.cluster].partitions for task in tasks),
        of_newest=True,
    )


def task_of(fleet: Fleet, lake: Lake, kept: Kept) -> Task:
    """The task for one snapshot of a cluster that has a placement."""
    cluster = fleet.cluster(kept.at.cluster)
    return Task(
        kept.at.cluster,
        kept.cluster_id,
        kept.observed_at,
        str((cluster.placement or Path()).absolute()),
        lake=lake.address,
        owners=json.dumps(dict(cluster.owners)),
        prices=prices_text(cluster),
    )


def newest_of(lake: Lake, clusters: Iterable[str]) -> tuple[Mapping[str, Kept], Mapping[str, str]]:
    """The newest snapshot of each cluster, and why that of others cannot be read; raises BadFile of the table."""
    try:
        return _by_name(kept_snapshots(lake)), {}
    except BadFile:
        lake.read(SNAPSHOTS, "false", ("cluster",))  # where this fails, too, it is the table itself
        found: dict[str, Kept] = {}
        torn: dict[str, str] = {}
        for name in clusters:
            try:
                found.update(_by_name(kept_snapshots(lake, f"cluster = {quoted(name)}")))
            except BadFile as problem:
                torn[name] = str(problem)
        return found, torn


def _by_name(oldest_first: Iterable[Kept]) -> Mapping[str, Kept]:
    return {kept.at.cluster: kept for kept in oldest_first}


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
