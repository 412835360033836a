"""`replan fleet`: the stages of a fleet in their order, and what they write to the lake.

Each stage reads tables, and writes whole hours of tables: one that is done again, after a crash or for the same hour,
leaves the same tables.
"""

import json
import time
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from replan.documents.files import publish_folder, write_files
from replan.errors import Exit
from replan.fleet.collect import CollectedCluster, Observe, collect_answers, keep_collected
from replan.fleet.do_task import (
    BY_INPUTS,
    COMPARING,
    WRITES,
    Rows,
    Stage,
    TaskDone,
    in_parts,
    sorted_table,
    stage_of_table,
    without_inputs,
    written_by,
)
from replan.fleet.engine import Workers
from replan.fleet.fleet_file import Fleet
from replan.fleet.lake.delta import Hour, Lake, TableFile, hours_condition, is_among
from replan.fleet.lake.files import (
    RowFile,
    always,
    commit_files,
    files_to_merge,
    put_rows,
    remove_files,
    remove_hours,
    replace_rows,
    rows_of_hours,
    run_in,
    sweep_run,
)
from replan.fleet.lake.snapshots import KeptSnapshot
from replan.fleet.lake.tables import (
    DECLARED,
    DIFFERENCES,
    DRIFT,
    ERRORS,
    HISTORY,
    JUDGED,
    PLANS,
    RATES,
    SNAPSHOTS,
    SUMS,
    TABLES,
)
from replan.fleet.stages.classify import ACKNOWLEDGED_CLASS, summed
from replan.fleet.tasks.todo import (
    FleetError,
    Todo,
    from_lake,
    is_judged,
    task_of,
    unchanged,
)
from replan.fleet.tasks.work import Task
from replan.planning.comparison.diff import DifferenceKind

COLLECT = "collect"
KEPT_TOGETHER = 500_000
"""So many partitions that were collected are written together."""
KEPT_SECONDS = 10
"""What was collected is written with the first answer after so long, so that a run that is killed keeps it."""
PER_PARTITION = (DECLARED.name, RATES.name, SUMS.name)
"""Tables with a row of each partition of a fleet: nobody keeps them in memory."""


class RowsInLake(Mapping[str, pa.Table]):
    """What the stages found, as it is in a lake: a table is read when somebody asks for it."""

    def __init__(self, lake: Lake, hours: Mapping[str, Sequence[Hour]], errors: pa.Table) -> None:
        self.lake, self.hours = lake, hours
        self.read = {ERRORS.name: errors}

    def __getitem__(self, name: str) -> pa.Table:
        if name in self.read:
            return self.read[name]
        table, hours = TABLES[name], self.hours[name]
        in_lake = self.lake.read(table, hours_condition(table, hours))
        rows = sorted_table(name, [in_lake.cast(table.schema)])
        if name not in PER_PARTITION:
            self.read[name] = rows
        return rows

    def __iter__(self) -> Iterator[str]:
        return iter([*self.hours, ERRORS.name])

    def __len__(self) -> int:
        return len(self.hours) + 1


class FleetRun(Struct, frozen=True):
    """What the stages found, as rows by table."""

    rows: Rows
    undeclared: tuple[str, ...] = ()
    """Clusters with a snapshot that no placement is about."""
    older: int = 0
    """Snapshots that were not looked at, because there is a newer one of their cluster."""
    late: int = 0
    """Snapshots that came late, and were judged in their place."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many rows of each table were found."""

    @property
    def errors(self) -> pa.Table:
        """What could not be done."""
        return self.rows[ERRORS.name]

    @property
    def drifted(self) -> pa.Table:
        """What drifted, less what is acknowledged."""
        drift = self.rows["drift"]
        return drift.filter(pc.not_equal(drift.column("class"), ACKNOWLEDGED_CLASS))

    @property
    def differing(self) -> pa.Table:
        """Partitions that are not as declared, less those on the way to it; none where nobody asked."""
        differences = self.rows.get(DIFFERENCES.name, DIFFERENCES.schema.empty_table())
        return differences.filter(
            pc.not_equal(differences.column("kind"), DifferenceKind.RUNNING.value)
        )

    def with_errors(self, more: pa.Table) -> "FleetRun":
        """The same with more errors; no other rows are read for that."""
        errors = sorted_table(ERRORS.name, [self.errors, more])
        others = cast("dict[str, pa.Table]", self.rows)  # which nobody changes
        return replace(self, rows=ChainMap({ERRORS.name: errors}, others))

    def exit_code(self, tolerated: int = 0) -> Exit:
        """1 where more clusters than tolerated have an error, as the answer is not whole; else 2 with drift; else 0."""
        if len(set(self.errors.column("cluster").to_pylist())) > tolerated:
            return Exit.ERROR
        if "drift" in self.rows:
            return Exit.CHANGES if self.drifted.num_rows else Exit.OK
        return Exit.CHANGES if self.differing.num_rows else Exit.OK


def judge_fleet(
    fleet: Fleet,
    lake: Lake,
    stages: Sequence[Stage],
    workers: Workers,
    now: datetime,
    unanswered: Collection[str] = (),
    as_of: datetime | None = None,
) -> FleetRun:
    """Judge the newest snapshots of a fleet and those that came late, and write what was found; raises BadFile.

    What was judged before, and has not changed since, is not judged again. `unanswered` and `as_of`: see `from_lake`.
    """
    hour = Hour.at(now)
    todo = unchanged(lake, from_lake(fleet, lake, now, unanswered, as_of), stages)
    run = do_and_commit(lake, todo, stages, workers, hour)
    if todo.late and JUDGED.name in run.rows:
        late = judge_kept(fleet, lake, todo.late, workers, hour)
        run = replace(run.with_errors(late.errors), late=late.rows[JUDGED.name].num_rows)
    return run


def do_and_commit(
    lake: Lake, todo: Todo, stages: Sequence[Stage], workers: Workers, now: Hour
) -> FleetRun:
    """Do these stages for all tasks, and put what they find into the lake; raises ReplanError, and BadFile."""
    names = ",".join(stages)
    todo = replace(todo, tasks=tuple(replace(task, stages=names) for task in todo.tasks))
    if not todo.tasks:
        return commit(lake, todo, stages, (), "", now)
    with run_in(lake) as name:
        for table in written_by(stages):
            lake.begun(TABLES[table])
        tasks = with_small_files(lake, todo.tasks, stages)
        parts = [part for task in tasks for part in in_parts(task, stages)]
        done = list(workers.do_tasks(parts, stages, lake, name))
        return commit(lake, todo, stages, done, name, now)


def with_small_files(lake: Lake, tasks: Sequence[Task], stages: Sequence[Stage]) -> list[Task]:
    """The same tasks; those of clusters of which a table has many small files merge them, too."""
    by_hour: dict[Hour, dict[str, tuple[str, list[str]]]] = {}
    hours = [task.hour for task in tasks]
    for name in chain.from_iterable(WRITES[stage] for stage in stages):
        for hour, files in files_to_merge(lake, TABLES[name], hours).items():
            by_hour.setdefault(hour, {})[name] = str(files[0].day), [file.path for file in files]
    return [
        replace(task, small=json.dumps(by_hour[task.hour])) if task.hour in by_hour else task
        for task in tasks
    ]


def commit(
    lake: Lake, todo: Todo, stages: Sequence[Stage], done: Sequence[TaskDone], name: str, now: Hour
) -> FleetRun:
    """Give the files of a run of this name their place, a commit for each table; raises BadFile.

    A cluster that cannot be judged keeps what its hour has. `judged` and `errors` come last: an hour that is in one of
    them has all that was found of it, by the same snapshot and inputs. Where these are others now, what stages that are
    not asked for have found of the hour is removed.
    """
    said = [row for one in done for row in one.errors]
    failed = frozenset((hour_of(row), row["stage"]) for row in said)
    unpaired = error_rows(todo.errors, stages[0].value, now)
    errors = sorted_table(ERRORS.name, [_once(said, stages), unpaired])
    files, unused = _files_to_commit(done, failed)
    _judge_once(lake, files, name)
    _forget_former(lake, todo.tasks, failed, stages, name)
    same = [task.hour for task in todo.done]
    hours_of: dict[str, Sequence[Hour]] = {}
    writes = {name: stage for stage in stages for name in WRITES[stage]}
    for table in sorted(writes, key=lambda table: (table == JUDGED.name, table)):
        stage = writes[table]
        hours = [task.hour for task in todo.tasks if not _keeps(failed, task.hour, stage, stages)]
        if not TABLES[table].keeps_days:
            newest = _newest(lake, hours)
            unused = unused or len(newest) < len(hours)
            hours = newest
        given = {hour: files.get((table, hour), ()) for hour in hours}
        commit_files(lake, TABLES[table], given, name)
        hours_of[table] = [*same, *(hour for hour in hours if (hour, stage.value) not in failed)]
    remove_files(lake, SNAPSHOTS, [str(part.part) for one in done for part in one.parts])
    if unused or any(one.attempt for one in done):
        sweep_run(lake, name)
    judged = [task.hour for task in todo.tasks]
    nowhere = [Hour(error.cluster, now.day, now.hour) for error in todo.errors]
    over = {hour.cluster: hour for hour in [*judged, *same]} if todo.of_newest else {}
    write_errors(lake, errors, [*judged, *nowhere], [stage.value for stage in stages], over)
    rows = RowsInLake(lake, {table: hours_of[table] for table in writes}, errors)
    counts = dict.fromkeys(writes, 0)
    for file in chain.from_iterable(files.values()):
        counts[file.table] += 0 if file.replaces else file.rows
    return FleetRun(rows, todo.undeclared, todo.older, counts={**counts, ERRORS.name: len(errors)})


def _files_to_commit(
    done: Iterable[TaskDone], failed: Collection[tuple[Hour, str]]
) -> tuple[dict[tuple[str, Hour], list[RowFile]], bool]:
    """Those of each table and hour, and whether there are others: of stages of which another part has failed."""
    files: dict[tuple[str, Hour], list[RowFile]] = {}
    unused = False
    for one in done:
        for file in one.files:
            if (one.task.hour, stage_of_table(file.table).value) in failed:
                unused = True
            else:
                files.setdefault((file.table, one.task.hour), []).append(file)
    return files, unused


def publish(run: FleetRun, output: Path) -> None:
    """Write the tables as a folder of Parquet files, in place of an earlier one; raises BadFile."""

    def fill(folder: Path) -> None:
        for name, table in run.rows.items():
            pq.write_table(table, folder / f"{name}.parquet", compression="zstd")

    mine = {f"{name}.parquet" for name in TABLES}
    publish_folder(output, fill, lambda folder: mine.issuperset(c.name for c in folder.iterdir()))


def write_plans(fleet: Fleet, lake: Lake, run: FleetRun, folder: Path) -> None:
    """Write the plan of each cluster to a file of its own; raises BadFile.

    The file of who has none now is removed, also of a cluster that has left the fleet: its plan is stale.
    """
    folder.mkdir(parents=True, exist_ok=True)
    plans = run.rows[PLANS.name].select(["cluster", "document"]).to_pylist()
    files = {folder / f"{row['cluster']}.plan.json": row["document"] for row in plans}
    for name in fleet.clusters.keys() | lake.files(PLANS).keys():
        if (file := folder / f"{name}.plan.json") not in files:
            file.unlink(missing_ok=True)
    write_files(files)


def _judge_once(lake: Lake, files: dict[tuple[str, Hour], list[RowFile]], run: str) -> None:
    """Put one row of `judged` in the place of those of the parts of a cluster."""
    for (table, hour), some in files.items():
        parts = [file.path for file in some if not file.replaces]
        if table == JUDGED.name and len(parts) > 1:
            places = (TableFile(path, hour.cluster, hour.day) for path in parts)
            rows = pa.concat_tables(lake.read_file(JUDGED, place) for place in places)
            some[:] = [file for file in some if file.replaces]
            some.append(put_rows(lake, JUDGED, summed(rows), hour, run))
            remove_files(lake, JUDGED, parts)


def _forget_former(
    lake: Lake,
    tasks: Iterable[Task],
    failed: Collection[tuple[Hour, str]],
    stages: Sequence[Stage],
    run: str,
) -> None:
    """Let nothing that another snapshot or other inputs have found of an hour count as found by those of its task.

    `judged` says no inputs where it says others than those by which tables of the hour are about to be written: else
    what these find would count as found by the former, after a crash, and where `judged` is not written. Of an hour
    that was compared by others, what stages that are not asked for have found is removed.
    """
    by_inputs = [stage for stage in stages if stage in BY_INPUTS]
    writing = {
        task.hour: task
        for task in tasks
        if not all(_keeps(failed, task.hour, stage, stages) for stage in by_inputs)
    }
    before = rows_of_hours(lake, JUDGED, writing)
    unsaid = {
        hour: [put_rows(lake, JUDGED, without_inputs(rows), hour, run)]
        for hour, rows in before.items()
        if any(inputs not in (None, writing[hour].inputs) for inputs in rows["inputs"].to_pylist())
    }
    commit_files(lake, JUDGED, unsaid, run)
    others = [
        hour
        for hour, rows in before.items()
        if _is_compared(failed, hour, stages) and not is_judged(writing[hour], rows)
    ]
    unasked = [stage for stage in BY_INPUTS if stage not in stages]
    for table in (TABLES[name] for stage in unasked for name in WRITES[stage]):
        if table.keeps_days:
            remove_hours(lake, table, others, run)


def _once(errors: Iterable[Mapping[str, Any]], stages: Sequence[Stage]) -> pa.Table:
    """Each failed part says the same in each stage that needs it; only the first of them is kept."""
    order = [stage.value for stage in stages]
    first: dict[tuple[Hour, str], Mapping[str, Any]] = {}
    for row in sorted(errors, key=lambda row: order.index(row["stage"])):
        first.setdefault((hour_of(row), row["message"]), row)
    return pa.Table.from_pylist(list(first.values()), schema=ERRORS.schema)


def hour_of(row: Mapping[str, Any]) -> Hour:
    """The hour of a row of any table that is divided by day."""
    return Hour(row["cluster"], row["day"], row["hour"])


def error_rows(errors: Iterable[FleetError], stage: str, now: Hour) -> pa.Table:
    """Errors that belong to no snapshot, in the hour of this run."""
    rows = [{**asdict(now), "stage": stage, **asdict(error)} for error in errors]
    return pa.Table.from_pylist(rows, schema=ERRORS.schema)


def _newest(lake: Lake, hours: Iterable[Hour]) -> list[Hour]:
    """Of each cluster the newest hour, unless a newer snapshot was judged: a table without days has what that has."""
    newest = {hour.cluster: hour for hour in sorted(hours)}
    judged = lake.files(JUDGED)
    return [
        hour
        for name, hour in newest.items()
        if all(Hour(name, file.day, file.last or 0) <= hour for file in judged.get(name, ()))
    ]


def judge_kept(
    fleet: Fleet, lake: Lake, kept: Sequence[KeptSnapshot], workers: Workers, now: Hour
) -> FleetRun:
    """Judge these snapshots, whatever came after them, and write what was found in their hours; raises BadFile."""
    tasks = tuple(task_of(fleet, lake, one) for one in kept)
    return do_and_commit(lake, Todo(tasks), COMPARING, workers, now)


def _keeps(
    failed: Collection[tuple[Hour, str]], hour: Hour, stage: Stage, stages: Collection[Stage]
) -> bool:
    """Whether this stage failed, and there is no new comparison either that an earlier result would contradict."""
    return (hour, stage.value) in failed and not _is_compared(failed, hour, stages)


def _is_compared(
    failed: Collection[tuple[Hour, str]], hour: Hour, stages: Collection[Stage]
) -> bool:
    """Whether there is a new comparison."""
    return Stage.CLASSIFY in stages and (hour, Stage.CLASSIFY.value) not in failed


def write_errors(
    lake: Lake,
    rows: pa.Table,
    hours: Iterable[Hour],
    stages: Sequence[str],
    over: Mapping[str, Hour],
) -> None:
    """Put the errors of some stages in the place of those that they had in these hours.

    `over`: by cluster, from which hour on errors of these stages are over: that of the newest snapshot.
    """
    columns, where = ["cluster", "day", "hour"], is_among("stage", stages)
    failed = map(hour_of, lake.read(ERRORS, where, columns).to_pylist()) if over else ()
    past = [hour for hour in failed if hour.cluster in over and hour >= over[hour.cluster]]
    replace_rows(lake, ERRORS, rows, [*hours, *past], ("stage", list(stages)))


def run_collect(fleet: Fleet, lake: Lake, observe: Observe, now: Hour) -> pa.Table:
    """Ask all clusters that are to be asked, and keep what they answer; the errors, which are kept as well."""
    clusters = [cluster for cluster in fleet.clusters.values() if cluster.is_asked]
    errors = []
    kept: dict[str, Hour] = {}
    waiting: dict[str, CollectedCluster] = {}
    rows, written_at = 0, time.monotonic()
    for answer in collect_answers(clusters, observe):
        if isinstance(answer.outcome, str):
            cluster = fleet.cluster(answer.cluster)
            address = str(cluster.bootstrap_servers or cluster.simulated or cluster.snapshot)
            errors.append(FleetError(answer.cluster, address, answer.outcome))
            continue
        waiting[answer.cluster] = answer.outcome
        rows += answer.outcome.snapshot.partitions.num_rows
        if rows > KEPT_TOGETHER or time.monotonic() - written_at > KEPT_SECONDS:
            kept |= keep_collected(lake, waiting)
            waiting, rows, written_at = {}, 0, time.monotonic()
    kept |= keep_collected(lake, waiting)
    wrong = sorted_table(ERRORS.name, [error_rows(errors, COLLECT, now)])
    write_errors(lake, wrong, [Hour(c.name, now.day, now.hour) for c in clusters], [COLLECT], kept)
    return wrong


def run_history(lake: Lake, clusters: Iterable[str], workers: Workers) -> None:
    """Bring the history of these clusters up to date, and write it where it has changed; raises ReplanError."""
    drifted = lake.files(DRIFT).keys() | lake.files(HISTORY).keys()
    named = [name for name in clusters if name in drifted]
    if not named:
        return
    with run_in(lake) as run:
        lake.begun(HISTORY)
        changed = dict(workers.histories(lake, named, run))
        commit_files(lake, HISTORY, {always(name): files for name, files in changed.items()}, run)
        sweep_run(lake, run, [HISTORY])
