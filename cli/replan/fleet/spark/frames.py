"""A fleet as DataFrames: its tasks, what was done for each, the rows of one table, and the history of each cluster.

An executor reads the snapshot and the placement of its task, and writes what it finds into the stores of the lake's
tables: rows of partitions pass between the stages of a task in Python, as Arrow, and never through Java, where one
passage costs as much as judging them (docs/fleet.md). What comes back is a row for each task, with the names of its
files and its errors; who has started the run commits them. What is small and has to be grouped, as the drift of many
days by cluster, is a `lake_frame` that Spark shuffles.
"""

import gc
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import asdict, replace
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from replan.errors import ReplanError
from replan.fleet.do_task import (
    CLUSTER_TRIES,
    Rows,
    Stage,
    TaskDone,
    do_task,
    not_done,
    stage_function,
    stage_of_table,
)
from replan.fleet.lake.delta import Lake
from replan.fleet.lake.files import RowFile, sees_run
from replan.fleet.lake.tables import APPLICATIONS, DRIFT, ERRORS, HISTORY, JUDGED, TABLES
from replan.fleet.spark.source import ROWS_PER_BATCH, lake_frame, spark_schema
from replan.fleet.stages.history import READ, HistoryRows, history_of, put_history
from replan.fleet.tasks.work import TASKS, Task, Work
from replan.model.garbage_collection import GARBAGE_THRESHOLD

JUDGE_LOST = (
    f"the Python worker or executor that judged it was lost {CLUSTER_TRIES} times; "
    "the kernel ends one where memory is short (its log says so)"
)
NUMBERED = TASKS.insert(0, pa.field("number", pa.int64(), nullable=False))
FILE = pa.struct(
    [
        *(("table", pa.string()), ("path", pa.string()), ("rows", pa.int64())),
        *(("bytes", pa.int64()), ("stats", pa.string()), ("replaces", pa.list_(pa.string()))),
    ]
)
ERROR = pa.struct([(field.name, field.type) for field in ERRORS.columns])
PART_COLUMNS = pa.struct([("part", pa.string()), ("inputs", pa.string())])
DONE = pa.schema(
    [
        ("number", pa.int64()),
        ("attempt", pa.int32()),
        ("files", pa.list_(FILE)),
        ("errors", pa.list_(ERROR)),
        ("parts", pa.list_(PART_COLUMNS)),
    ]
)
KEPT_COLUMNS = pa.schema([("cluster", pa.string()), ("changed", pa.bool_()), ("file", FILE)])
DRIFT_ROWS = 500_000
"""The history of a cluster with more rows of drift is made in several tasks, by topic."""


def tasks_frame(spark: SparkSession, tasks: Sequence[Task]) -> DataFrame:
    """Tasks as rows; with `one_partition_each`, executors begin them in this order, one on each core."""
    rows = [{"number": number, **asdict(task)} for number, task in enumerate(tasks)]
    return spark.createDataFrame(pa.Table.from_pylist(rows, NUMBERED), spark_schema(NUMBERED))


@contextmanager
def one_partition_each(spark: SparkSession, tasks: Sequence[Task]) -> Iterator[None]:
    """Let Spark cut what it reads from the driver into as many partitions as there are tasks, then as before."""
    key = "spark.sql.leafNodeDefaultParallelism"
    before = spark.conf.get(key, None)
    spark.conf.set(key, max(len(tasks), 1))
    try:
        yield
    finally:
        spark.conf.unset(key) if before is None else spark.conf.set(key, before)


def rows_frame(tasks: DataFrame, table: str) -> DataFrame:
    """The rows of a table of all tasks, for a job of one's own; what its stage raises fails the job."""
    return tasks.mapInArrow(partial(_rows, table=table), spark_schema(TABLES[table].schema))


def done_frame(tasks: DataFrame, stages: Sequence[Stage], lake: Lake, run: str) -> DataFrame:
    """What was done for each task, its rows being in files of the lake's tables that nobody has committed yet."""
    job = partial(_done, stages=tuple(stages), lake=lake, run=run)
    return tasks.mapInArrow(job, spark_schema(DONE))


def done_in(frame: DataFrame, tasks: Sequence[Task]) -> list[TaskDone]:
    """What was done for these tasks, by the rows of `done_frame`."""
    done = []
    for row in frame.collect():
        task = tasks[row["number"]]
        files = tuple(RowFile(**file.asDict()) for file in row["files"])
        errors = [{**asdict(task.hour), **error.asDict()} for error in row["errors"]]
        parts = tuple(replace(task, small=None, **part.asDict()) for part in row["parts"])
        done.append(TaskDone(task, files, errors, parts, row["attempt"]))
    return done


@cache
def preload() -> None:
    """Import what tasks need, and let the collector leave it alone: Spark's Python workers collect after each task.

    Before each they also look for modules again, and would read the list of files of Spark's own jar, 30 ms of CPU.
    """
    sys.path[:] = [entry for entry in sys.path if not entry.endswith(".jar")]
    for archive in [entry for entry in sys.path_importer_cache if ".jar" in entry]:
        del sys.path_importer_cache[archive]
    for stage in Stage:
        stage_function(stage)
    gc.set_threshold(GARBAGE_THRESHOLD)
    gc.freeze()


def _done(
    batches: Iterable[pa.RecordBatch], stages: Sequence[Stage], lake: Lake, run: str
) -> Iterator[pa.RecordBatch]:
    """What an executor does: each task, and what it finds into files."""
    preload()
    if not sees_run(lake, run):
        raise ReplanError(f"{lake.address}: executors do not see this folder; it must be shared")
    context = TaskContext.get()
    attempt = 0 if context is None else context.attemptNumber()
    for number, task in _tasks(batches):
        done = (
            not_done(task, stages, JUDGE_LOST)
            if attempt >= CLUSTER_TRIES
            else do_task(task, stages, lake, run)
        )
        row = {
            "number": number,
            "attempt": attempt,
            "files": [asdict(file) for file in done.files],
            "errors": done.errors,
            "parts": [{"part": one.part, "inputs": one.inputs} for one in done.parts],
        }
        yield pa.RecordBatch.from_pylist([row], schema=DONE)


def _rows(batches: Iterable[pa.RecordBatch], table: str) -> Iterator[pa.RecordBatch]:
    for _, task in _tasks(batches):
        tables: Rows = stage_function(stage_of_table(table))(Work(task))
        yield from tables[table].to_batches(ROWS_PER_BATCH)


def _tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Task]]:
    for batch in batches:
        for row in batch.to_pylist():
            yield row.pop("number"), Task(**row)


def history_frame(
    judged: DataFrame,
    history: DataFrame,
    drift: DataFrame,
    applications: DataFrame,
    divided: Mapping[str, int] | None = None,
    keep: tuple[Lake, str] | None = None,
) -> DataFrame:
    """The history of each cluster, of these tables of the lake or of what columns of them it is made of (`READ`).

    `divided`: in how many groups, by topic, that of a large cluster is made. `keep`: a lake and a run; then a row is a
    group, whether its history has changed, and the file of its rows that nobody has committed yet.
    """
    parts = f.create_map(
        *chain.from_iterable((f.lit(c), f.lit(n)) for c, n in (divided or {"": 1}).items())
    )
    count = f.coalesce(f.element_at(parts, f.col("cluster")), f.lit(1))
    by_topic = f.pmod(f.hash(f.coalesce("topic", f.lit(""))), count)
    each = f.explode(f.sequence(f.lit(0), count - 1))
    frames = {JUDGED: judged, HISTORY: history, DRIFT: drift, APPLICATIONS: applications}
    rows = [
        frames[table].select(
            "cluster",
            (each if table is JUDGED else by_topic).alias("group"),
            f.struct(*columns).alias(table.name),
        )
        for table, columns in READ.items()
    ]
    whole = rows[0]
    for more in rows[1:]:
        whole = whole.unionByName(more, allowMissingColumns=True)
    schema = HISTORY.schema if keep is None else KEPT_COLUMNS
    names = frozenset(divided or ())

    def job(rows: pa.Table) -> pa.Table:
        return _history(rows, names, keep)

    return whole.groupBy("cluster", "group").applyInArrow(job, spark_schema(schema))


def kept_histories(spark: SparkSession, lake: Lake, clusters: Sequence[str], run: str) -> DataFrame:
    """The same of a lake, into files of its table `history`."""
    files = lake.files(DRIFT)
    rows = {name: sum(file.rows or 0 for file in files.get(name, ())) for name in clusters}
    divided = {name: 1 + n // DRIFT_ROWS for name, n in rows.items() if n > DRIFT_ROWS}
    judged, history, drift, applications = (
        lake_frame(spark, lake, table, columns, clusters) for table, columns in READ.items()
    )
    return history_frame(judged, history, drift, applications, divided, (lake, run))


def _history(rows: pa.Table, divided: frozenset[str], keep: tuple[Lake, str] | None) -> pa.Table:
    """What an executor does for a group of `history_frame`."""
    cluster = rows["cluster"][0].as_py()
    kept = HistoryRows(*(_part(rows, table.name) for table in READ))
    if keep is None:
        return history_of(cluster, kept)
    changed, file = put_history(cluster, kept, *keep, part=cluster in divided)
    row = {"cluster": cluster, "changed": changed, "file": file and asdict(file)}
    return pa.Table.from_pylist([row], KEPT_COLUMNS)


def _part(rows: pa.Table, name: str) -> pa.Table:
    """The rows of one table, in its own types."""
    mine = rows.filter(pc.is_valid(rows[name]))[name].combine_chunks()
    schema = TABLES[name].schema
    part = pa.Table.from_struct_array(mine)
    return part.cast(
        pa.schema([schema.field(column).with_nullable(True) for column in part.schema.names])
    )
