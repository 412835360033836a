"""What is to be done for a fleet: a task for each cluster, out of a lake and its fleet file.

The newest snapshot of a cluster counts, as far as the clock of the run allows it: one that a wrong clock has dated is
an error, and hides nothing. Late ones came after the comparison of a newer one, or between two runs.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
from msgspec import Struct, json
from msgspec.structs import replace

import replan
from replan.errors import BadFile, ReplanError
from replan.fleet.fleet_file import Fleet, FleetCluster
from replan.fleet.lake.delta import Hour, Lake, TableFile, disjoint_groups, moments_by_log
from replan.fleet.lake.files import rows_of_hours
from replan.fleet.lake.snapshots import KeptSnapshot, kept_in
from replan.fleet.lake.tables import ERRORS, JUDGED, RATES, SNAPSHOTS, SUMS
from replan.fleet.tasks.work import Task, digest_of_sources, sources_at


class FleetError(Struct, frozen=True):
    """Why a cluster, a snapshot or a placement could not be judged."""

    cluster: str
    file: str
    message: str


class Todo(Struct, frozen=True):
    """The tasks, and what is no task and why."""

    tasks: tuple[Task, ...]
    """The largest clusters first, so that none of them is begun when all others are done."""
    errors: tuple[FleetError, ...] = ()
    undeclared: tuple[str, ...] = ()
    """Clusters with a snapshot and without a placement."""
    older: int = 0
    """Snapshots that are not looked at, because there is a newer one of their cluster."""
    of_newest: bool = False
    """Whether each task has the newest snapshot of its cluster in the lake: what failed after that is over."""
    done: tuple[Task, ...] = ()
    """What was judged before, and has not changed since."""
    late: tuple[KeptSnapshot, ...] = ()
    """Older snapshots in the lake that were never judged, of clusters that were."""


def from_lake(
    fleet: Fleet,
    lake: Lake,
    now: datetime,
    unanswered: Collection[str] = (),
    as_of: datetime | None = None,
) -> Todo:
    """The newest snapshot of each cluster of the fleet; raises BadFile where the table of snapshots cannot be read.

    `as_of`: the newest at that moment or before, and no other. That there is none is no error of its own where the
    cluster is among the `unanswered` of this run.
    """
    files = lake.files(SNAPSHOTS)
    place = lake.place(SNAPSHOTS)
    newest: list[KeptSnapshot] = []
    errors: list[FleetError] = []
    undeclared: list[str] = []
    for name, cluster in fleet.clusters.items():
        if cluster.placement is None:
            undeclared.append(name)
            continue
        try:
            trusted, wrong = _newest(lake, files.get(name, ()), now, as_of)
        except BadFile as problem:
            errors.append(FleetError(name, place, str(problem)))
            continue
        errors += [FleetError(name, place, f"{place}: {message}") for message in wrong]
        if trusted is not None:
            newest.append(trusted)
        elif not wrong and name not in unanswered:
            message = "there is no snapshot of it in the lake" + (
                "; `replan fleet collect` takes one"
                if as_of is None
                else f" from {as_of.isoformat()} or before; give --as-of a later time"
            )
            errors.append(FleetError(name, lake.address, message))
    newest.sort(key=lambda kept: -kept.partitions)
    return Todo(
        tuple(task_of(fleet, lake, kept) for kept in newest),
        tuple(errors),
        tuple(undeclared),
        of_newest=as_of is None,
        late=() if as_of is not None else tuple(_late(lake, newest)),
    )


def _newest(
    lake: Lake, files: Sequence[TableFile], now: datetime, as_of: datetime | None
) -> tuple[KeptSnapshot | None, list[str]]:
    """The newest snapshot of a cluster that counts, and what is wrong with those after it."""
    wrong: list[str] = []
    for kept in _backwards(lake, files):
        if as_of is not None and datetime.fromisoformat(kept.observed_at) > as_of:
            continue
        message = kept.dated_after(now)
        if message is None:
            return kept, wrong
        wrong.append(message)
    return None, wrong


def _backwards(lake: Lake, files: Sequence[TableFile]) -> Iterator[KeptSnapshot]:
    """The snapshots of a cluster, the newest first; files are opened when nothing newer is left."""
    for some in reversed(disjoint_groups(files)):
        yield from reversed(kept_in(lake, some))


def _late(lake: Lake, newest: Iterable[KeptSnapshot]) -> Iterator[KeptSnapshot]:
    """The snapshots between the first comparison of a cluster and its newest one that nobody has tried to judge.

    What stands before the first comparison is older than the history of its cluster.
    """
    snapshots, judged, errors = (lake.files(table) for table in (SNAPSHOTS, JUDGED, ERRORS))
    for last in newest:
        name = last.at.cluster
        compared = judged.get(name)
        if not compared:
            continue
        begin = compared[0].begin
        for day in sorted({file.day for file in snapshots.get(name, ())}):
            if not begin.day <= day <= last.at.day:
                continue
            late = [
                kept
                for kept in unjudged(lake, of_day(snapshots, name, day), of_day(judged, name, day))
                if begin <= kept.at < last.at and kept.cluster_id == last.cluster_id
            ]
            failed = {
                hour
                for file in (of_day(errors, name, day) if late else ())
                for hour in lake.read_file(ERRORS, file, ["hour"])["hour"].to_pylist()
            }
            yield from (kept for kept in late if kept.at.hour not in failed)


def of_day(
    files: Mapping[str, Sequence[TableFile]], cluster: str, day: date
) -> Sequence[TableFile]:
    """The files of a cluster and day, of those of a table by cluster."""
    return [file for file in files.get(cluster, ()) if file.day == day]


def unjudged(
    lake: Lake, files: Sequence[TableFile], judged: Sequence[TableFile]
) -> Iterator[KeptSnapshot]:
    """The snapshots of a cluster and day that were not judged, or are not those that were; raises BadFile.

    The logs say that there are none where as many were judged, from the first moment to the last.
    """
    there = moments_by_log((file, file.headers) for file in files)
    if there is not None and there == moments_by_log((file, file.rows) for file in judged):
        return
    moments: set[str] = set()
    for file in judged:
        if file.only_moment is not None:
            moments.add(file.only_moment[2])
        else:
            moments |= {*lake.read_file(JUDGED, file, ["observed_at"])["observed_at"].to_pylist()}
    yield from (kept for kept in kept_in(lake, files) if kept.observed_at not in moments)


def unchanged(lake: Lake, todo: Todo, stages: Sequence[str]) -> Todo:
    """The same without the tasks that were done without an error, of the same snapshot with the same inputs.

    What came late changes the rates of its cluster, also where it is older than the first comparison: such a snapshot
    has taken the sums of its cluster away.
    """
    late = {kept.at.cluster for kept in todo.late}
    if RATES.name in stages:  # which is the name of the stage, too
        late |= {task.cluster for task in todo.tasks} - lake.files(SUMS).keys()
    hours = [task.hour for task in todo.tasks]
    failed = rows_of_hours(lake, ERRORS, hours, ["stage"])
    judged = rows_of_hours(lake, JUDGED, hours, ["observed_at", "inputs", "stages"])

    def is_done(task: Task, hour: Hour) -> bool:
        if task.cluster in late or hour not in judged:
            return False
        said = failed[hour]["stage"].to_pylist() if hour in failed else ()
        return set(stages).isdisjoint(said) and is_judged(task, judged[hour], stages)

    done = tuple(t for t, hour in zip(todo.tasks, hours, strict=True) if is_done(t, hour))
    same = set(done)
    return replace(todo, tasks=tuple(t for t in todo.tasks if t not in same), done=done)


def is_judged(task: Task, judged: pa.Table, stages: Collection[str] = ()) -> bool:
    """Whether these rows of `judged` say that it was done with these stages, by the same snapshot and inputs."""
    return any(
        row["inputs"] == task.inputs is not None
        and row["observed_at"] == task.observed_at
        and set(stages) <= set((row["stages"] or "").split(","))
        for row in judged.select(["observed_at", "inputs", "stages"]).to_pylist()
    )


def task_of(fleet: Fleet, lake: Lake, kept: KeptSnapshot) -> Task:
    """The task for one snapshot of a cluster that has a placement."""
    cluster = fleet.cluster(kept.at.cluster)
    placement, owners = placement_source(cluster), json.encode(cluster.owners).decode()
    prices = None if cluster.prices is None else json.encode(cluster.prices).decode()
    return Task(
        kept.at.cluster,
        kept.cluster_id,
        kept.observed_at,
        placement,
        lake=lake.address,
        named=str(cluster.placement),
        owners=owners,
        prices=prices,
        inputs=inputs_of(placement, owners, prices),
        partitions=kept.partitions,
    )


def placement_source(cluster: FleetCluster) -> str:
    """Where the placement of a cluster is: an absolute path, or an address."""
    place = cluster.placement
    return str((place or Path()).absolute()) if not isinstance(place, str) else place


def inputs_of(placement: str, *options: str | None) -> str:
    """What a cluster is judged by besides its snapshot: the digests of program and options, and of its placement."""
    digest = sha256(program_digest().encode())
    for option in options:
        digest.update(f"\0{option}".encode())
    try:
        declared = digest_of_sources(sources_at(placement))
    except (ReplanError, OSError) as problem:  # whoever judges it says the same
        declared = sha256(str(problem).encode()).hexdigest()
    return f"{digest.hexdigest()}-{declared}"


@cache
def program_digest() -> str:
    """The digest of this program's own code."""
    digest = sha256()
    for file in sorted(Path(replan.__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
