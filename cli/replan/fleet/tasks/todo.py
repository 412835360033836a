"""What is to be done for a fleet: a task for each cluster, out of two folders or out of a lake and its fleet file.

The newest snapshot of a cluster counts, as far as the clock of the run allows it: one that a wrong clock has dated is
an error, and hides nothing. Late ones came after the comparison of a newer one, or between two runs.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from replan.errors import BadFile
from replan.fleet.fleet_file import Fleet
from replan.fleet.lake.delta import Hour, Lake, quoted
from replan.fleet.lake.snapshots import Kept, dated_after, kept_snapshots
from replan.fleet.lake.tables import ERRORS, JUDGED, SNAPSHOTS
from replan.fleet.tasks.heads import head_of
from replan.fleet.tasks.pairs import FleetError, Head, pair_up
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
    late: tuple[Kept, ...] = ()
    """Older snapshots in the lake that were never judged, of clusters that were."""


def from_folders(snapshots: Path, placements: Path, now: datetime) -> Todo:
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
    pairing = pair_up(_by_clock(head_of(source), now) for source in [*found, *declared])
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


def _by_clock(head: Head, now: datetime) -> Head:
    wrong = None if head.observed_at is None else dated_after(head.observed_at, now)
    return head if wrong is None else replace(head, message=f"{head.path}: {wrong}")


def from_lake(fleet: Fleet, lake: Lake, now: datetime, unanswered: Collection[str] = ()) -> Todo:
    """The newest snapshot of each cluster of the fleet; raises BadFile where the table of snapshots cannot be read.

    That there is none is no error of its own where the cluster is among the `unanswered` of this run.
    """
    known, torn = snapshots_of(lake, fleet.clusters)
    place = lake.place(SNAPSHOTS)
    newest: list[Kept] = []
    errors: list[FleetError] = []
    undeclared: list[str] = []
    for name, cluster in fleet.clusters.items():
        dated = [(kept, kept.dated_after(now)) for kept in known.get(name, ())]
        trusted = [kept for kept, wrong in dated if wrong is None]
        if cluster.placement is None:
            undeclared.append(name)
            continue
        errors += [FleetError(name, place, f"{place}: {wrong}") for _, wrong in dated if wrong]
        if trusted:
            newest.append(trusted[-1])
        elif name in torn:
            errors.append(FleetError(name, place, torn[name]))
        elif not dated and name not in unanswered:
            message = "there is no snapshot of it in the lake; `replan fleet collect` takes one"
            errors.append(FleetError(name, lake.address, message))
    newest.sort(key=lambda kept: -kept.partitions)
    return Todo(
        tuple(task_of(fleet, lake, kept) for kept in newest),
        tuple(errors),
        tuple(undeclared),
        partitions=sum(kept.partitions for kept in newest),
        of_newest=True,
        late=tuple(_late(lake, newest, known)),
    )


def _late(
    lake: Lake, newest: Iterable[Kept], known: Mapping[str, Sequence[Kept]]
) -> Iterator[Kept]:
    """The snapshots between the first comparison of a cluster and its newest one that nobody has tried to judge.

    What stands before the first comparison is older than the history of its cluster.
    """
    judged: dict[str, set[tuple[Hour, str]]] = {}
    for row in lake.read(JUDGED, columns=["cluster", "day", "hour", "observed_at"]).to_pylist():
        hour = Hour(row["cluster"], row["day"], row["hour"])
        judged.setdefault(hour.cluster, set()).add((hour, row["observed_at"]))
    failed = {
        Hour(row["cluster"], row["day"], row["hour"])
        for row in lake.read(ERRORS, columns=["cluster", "day", "hour"]).to_pylist()
    }
    for last in newest:
        done = judged.get(last.at.cluster)
        if done is None:
            continue
        begin = min(done)[0]
        for kept in known[last.at.cluster]:
            tried = (kept.at, kept.observed_at) in done or kept.at in failed
            if begin < kept.at < last.at and kept.cluster_id == last.cluster_id and not tried:
                yield kept


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


def snapshots_of(
    lake: Lake, clusters: Iterable[str]
) -> tuple[Mapping[str, Sequence[Kept]], Mapping[str, str]]:
    """The snapshots of each cluster, oldest first, and why those of others cannot be read.

    Raises BadFile where it is the table itself.
    """
    try:
        return _by_name(kept_snapshots(lake)), {}
    except BadFile:
        lake.read(SNAPSHOTS, "false", ("cluster",))  # where this fails, too, it is the table itself
        found: dict[str, Sequence[Kept]] = {}
        torn: dict[str, str] = {}
        for name in clusters:
            try:
                found.update(_by_name(kept_snapshots(lake, f"cluster = {quoted(name)}")))
            except BadFile as problem:
                torn[name] = str(problem)
        return found, torn


def _by_name(oldest_first: Iterable[Kept]) -> Mapping[str, Sequence[Kept]]:
    found: dict[str, list[Kept]] = {}
    for kept in oldest_first:
        found.setdefault(kept.at.cluster, []).append(kept)
    return found


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
