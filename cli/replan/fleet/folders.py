"""Two folders as a fleet: which snapshot belongs to which placement, in a lake that is there as long as its run.

A snapshot is a folder with a header, or a `.json` file. Other folders are searched, so that a folder may hold
`CLUSTER/TIME/`. A placement is a YAML file or a folder, one for each cluster. Hidden names are left out:
those are files that are being written.

A placement that names a cluster id belongs to that cluster. One that does not belongs to the snapshots of its
own name: `payments-eu.yaml` to `payments-eu/` or `payments-eu.json`, or those named as its `cluster.name`.
Of several snapshots of one cluster the newest counts. A cluster without a placement is not ours and no error.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from replan.documents.files import cannot, work_folder
from replan.errors import BadFile, BadPlacement, ReplanError, unexpected
from replan.fleet.do_task import Stage
from replan.fleet.engine import SparkTarget, folder_between
from replan.fleet.fleet_file import Fleet, FleetCluster
from replan.fleet.lake.delta import Hour, Lake
from replan.fleet.lake.files import RUN
from replan.fleet.lake.snapshots import dated_after, keep_snapshots
from replan.fleet.run import FleetRun, do_and_commit
from replan.fleet.tasks.todo import FleetError, Todo, from_lake
from replan.placement_file.load import load_placement
from replan.placement_file.read import read_cluster
from replan.snapshots.files import read_identity, read_snapshot
from replan.snapshots.head import Identity
from replan.snapshots.parquet_form import HEADER_FILE

Value = TypeVar("Value")
YAML = (".yaml", ".yml")
FOLDERS_DEEP = 3
"""How many folders lie at most between a snapshot and the searched folder's child: no link leads for ever."""


class FileHead(Struct, frozen=True):
    """A snapshot or a placement, and of which cluster it is."""

    name: str
    """What the first file or folder below the searched one is called, without its suffix."""
    path: Path
    cluster_id: str | None
    cluster_name: str | None = None
    observed_at: str = ""


@contextmanager
def judged_folders(
    snapshots: Path, placements: Path, stages: Sequence[Stage], where: SparkTarget, now: datetime
) -> Iterator[FleetRun]:
    """What the stages find of two folders; its rows are there within the `with`.

    Raises ReplanError where the engine fails, BadFile where a folder has nothing, and BadUsage where executors would
    not see the lake.
    """
    with work_folder(folder_between(where), RUN) as home:
        lake = Lake(str(home / "lake"))
        todo = from_folders(snapshots, placements, lake, now)
        with where.workers() as workers:
            run = do_and_commit(lake, todo, stages, workers, Hour.at(now))
        yield run


def from_folders(snapshots: Path, placements: Path, lake: Lake, now: datetime) -> Todo:
    """A task for each cluster of two folders, its snapshot being in this lake; raises BadFile where a side is empty."""
    snapshot_files = find_snapshots(snapshots)
    if not snapshot_files:
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
    errors: list[FleetError] = []
    heads = [
        FileHead(name, path, one.cluster_id, observed_at=one.observed_at)
        for name, path, one in _read(snapshot_files, lambda path: _identity(path, now), errors)
    ]
    declaring = [
        FileHead(name, path, *said) for name, path, said in _read(declared, read_cluster, errors)
    ]
    broken = {error.cluster for error in errors}
    newest = _newest(heads)
    claims = _claims(declaring, newest, errors)
    clusters = _clusters(claims, newest, errors)
    others = (one.name for cluster_id, one in newest.items() if cluster_id not in claims)
    compared = [(name, Path(str(cluster.snapshot))) for name, cluster in clusters.items()]
    whole = _read(compared, read_snapshot, errors)
    keep_snapshots(lake, ((name, snapshot) for name, _, snapshot in whole))
    todo = from_lake(Fleet(clusters), lake, now, {error.cluster for error in errors})
    return replace(
        todo,
        errors=(*errors, *todo.errors),
        undeclared=tuple(sorted(name for name in others if name not in broken)),
        older=len(heads) - len(newest),
    )


def find_snapshots(folder: Path) -> list[tuple[str, Path]]:
    """All snapshots below a folder with their names, sorted by path; raises BadFile if there is no such folder."""
    return [(_name(child), path) for child in _children(folder) for path in _snapshots_in(child)]


def find_placements(folder: Path) -> list[tuple[str, Path]]:
    """All placements in a folder with their names, sorted by path; raises BadFile if there is no such folder."""
    children = (child for child in _children(folder) if child.is_dir() or child.suffix in YAML)
    return [(_name(child), child) for child in children]


def _snapshots_in(path: Path, depth: int = 0) -> Iterator[Path]:
    if path.is_file():
        yield from [path] if path.suffix == ".json" else []
        return
    try:
        children = _children(path)
    except BadFile:
        yield path  # reading it will say the same, beside the other snapshots
        return
    # Tables without a header are a snapshot too, a broken one.
    if any(child.name == HEADER_FILE or child.suffix == ".parquet" for child in children):
        yield path
    elif depth < FOLDERS_DEEP:
        for child in children:
            yield from _snapshots_in(child, depth + 1)


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(child for child in folder.iterdir() if not child.name.startswith("."))
    except OSError as problem:
        raise cannot("read", folder, problem) from problem


def _name(path: Path) -> str:
    """The name without `.json`, `.yaml` or `.yml`; a folder's name may hold dots."""
    return path.stem if path.suffix in (".json", *YAML) else path.name


def _read(
    named: Iterable[tuple[str, Path]],
    read: Callable[[Path], Value],
    errors: list[FleetError],
) -> Iterator[tuple[str, Path, Value]]:
    """What can be read of these, one after the other; why another cannot be is added to the errors."""
    for name, path in named:
        place = path.absolute()
        try:
            value = read(place)
        except ReplanError as problem:
            errors.append(FleetError(name, str(place), str(problem)))
        except Exception as problem:  # noqa: BLE001 - a mistake of this program is one row, too
            errors.append(FleetError(name, str(place), unexpected(problem)))
        else:
            yield name, place, value


def _identity(path: Path, now: datetime) -> Identity:
    identity = read_identity(path)
    if (wrong := dated_after(identity.observed_at, now)) is not None:
        raise BadFile(f"{path}: {wrong}")
    return identity


def _newest(heads: Iterable[FileHead]) -> dict[str, FileHead]:
    """The newest snapshot of each cluster; of two that are equally old the last by path."""
    ordered = sorted(heads, key=lambda one: (datetime.fromisoformat(one.observed_at), one.path))
    return {str(one.cluster_id): one for one in ordered}


def _claims(
    declaring: Iterable[FileHead], newest: Mapping[str, FileHead], errors: list[FleetError]
) -> dict[str, list[FileHead]]:
    """The placements that are about each cluster, by its id; why one is about none is added to the errors."""
    claims: dict[str, list[FileHead]] = {}
    for one in declaring:
        head = _snapshot_of(one, newest)
        if isinstance(head, FleetError):
            errors.append(head)
        else:
            claims.setdefault(str(head.cluster_id), []).append(one)
    return claims


def _clusters(
    claims: Mapping[str, Sequence[FileHead]],
    newest: Mapping[str, FileHead],
    errors: list[FleetError],
) -> dict[str, FleetCluster]:
    """The clusters that one placement is about; that another is about them, too, is added to the errors."""
    named: dict[str, list[FileHead]] = {}
    for cluster, claimants in claims.items():
        if len(claimants) == 1:
            one = replace(claimants[0], cluster_id=cluster)
            named.setdefault(_called(one), []).append(one)
        errors += _others(claimants, f"cluster {cluster} has another placement, {{}}; keep one")
    for name, some in named.items():
        errors += _others(
            some, f"{{}} calls its cluster {name}, too; give each a `cluster.name` of its own"
        )
    return {
        name: FleetCluster(name, snapshot=newest[str(one.cluster_id)].path, placement=one.path)
        for name, (one, *more) in sorted(named.items())
        if not more
    }


def _snapshot_of(placement: FileHead, newest: Mapping[str, FileHead]) -> FileHead | FleetError:
    names = {placement.name, placement.cluster_name}
    cluster_id = placement.cluster_id
    heads = [
        one
        for one in newest.values()
        if (one.name in names if cluster_id is None else one.cluster_id == cluster_id)
    ]
    if len(heads) == 1:
        return heads[0]
    try:
        load_placement([placement.path])  # where it is wrong, that is what has to be said of it
    except BadPlacement as problem:
        return _error(placement, str(problem))
    why = f"no readable snapshot is named {placement.name}; name it so, or say `cluster.id`"
    if cluster_id is not None:
        why = f"no readable snapshot of cluster {cluster_id}"
    elif heads:
        ids = ", ".join(sorted(str(one.cluster_id) for one in heads))
        why = f"snapshots of {len(heads)} clusters are named {placement.name} ({ids}); "
        why += "say which one is meant with `cluster.id`"
    return _error(placement, why)


def _others(placements: Sequence[FileHead], message: str) -> Iterator[FleetError]:
    """Of each of several placements, that there are the others; nothing of one."""
    for one in placements:
        others = ", ".join(str(other.path) for other in placements if other is not one)
        if others:
            yield _error(one, message.format(others))


def _error(placement: FileHead, message: str) -> FleetError:
    return FleetError(_called(placement), str(placement.path), message)


def _called(placement: FileHead) -> str:
    return placement.cluster_name or placement.name
