"""The work of all clusters in Spark: DataFrames of tasks, of what was done for each, and of the rows of one table.

An executor reads the snapshot and the placement of its task, and writes what it finds into the stores of the lake's
tables. What comes back is a row for each task, with the names of its files and its errors; who has started the run
commits them. Spark says who does which task, and does it again where an executor or its Python dies; the third time the
task is left undone, and says so. PySpark is imported when it is called and not before: a user of one cluster needs none
of it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

import pyarrow as pa

from replan.errors import ReplanError
from replan.fleet.lake.delta import Lake
from replan.fleet.lake.files import RowFile, is_seen
from replan.fleet.lake.tables import ERRORS, TABLES
from replan.fleet.perform import Done, Rows, Stage, not_done, performed, stage_function, stage_of
from replan.fleet.spark.types import columns_of
from replan.fleet.tasks.work import TASKS, Task, Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

TRIES = 2
"""So often a cluster is begun whose Python worker or executor is lost."""
LOST = (
    f"the Python worker or executor that judged it was lost {TRIES} times; the kernel ends one where memory is short "
    "(its log says so)"
)
NUMBERED = TASKS.insert(0, pa.field("number", pa.int64(), nullable=False))
FILE = pa.struct(
    {"table": pa.string(), "path": pa.string(), "rows": pa.int64(), "bytes": pa.int64()}
)
ERROR = pa.struct([(field.name, field.type) for field in ERRORS.columns])
DONE = pa.schema(
    [
        ("number", pa.int64()),
        ("attempt", pa.int32()),
        ("files", pa.list_(FILE)),
        ("errors", pa.list_(ERROR)),
    ]
)
ROWS_PER_BATCH = 100_000


def require_spark(find: Callable[[str], object | None] = find_spec) -> None:
    """Raise ReplanError where the extra is not installed, as `find` shows by a package's name."""
    for package in ("pyspark", "pandas"):  # Spark's mapInArrow imports pandas and does not use it
        if find(package) is None:
            raise ReplanError(
                f"the engine spark needs {package}, which is not installed: "
                "pip install 'replan[fleet]'"
            )


def tasks_frame(spark: "SparkSession", tasks: Sequence[Task]) -> "DataFrame":
    """Tasks as rows, each in a partition of its own: so executors begin them in this order, one on each core."""
    from pyspark.sql.functions import broadcast

    rows = [{"number": number, **asdict(task)} for number, task in enumerate(tasks)]
    named = spark.createDataFrame(pa.Table.from_pylist(rows, NUMBERED), schema=columns_of(NUMBERED))
    numbers = spark.range(0, len(tasks), 1, max(len(tasks), 1)).withColumnRenamed("id", "number")
    return numbers.join(broadcast(named), "number")


def rows_frame(tasks: "DataFrame", table: str) -> "DataFrame":
    """The rows of a table of all tasks, for a job of one's own; what its stage raises fails the job."""
    return tasks.mapInArrow(partial(_rows, table=table), columns_of(TABLES[table].schema))


def done_frame(tasks: "DataFrame", stages: Sequence[Stage], lake: Lake, run: str) -> "DataFrame":
    """What was done for each task, its rows being in files of the lake's tables that nobody has committed yet."""
    job = partial(_done, stages=tuple(stages), lake=lake, run=run)
    return tasks.mapInArrow(job, columns_of(DONE))


def performed_in(
    spark: "SparkSession", tasks: Sequence[Task], stages: Sequence[Stage], lake: Lake, run: str
) -> list[Done]:
    """Do the tasks in a session, and write what they find into the stores of the lake's tables."""
    with catch_warnings():  # PySpark lets the garbage collector close its socket
        simplefilter("ignore", ResourceWarning)
        found = done_frame(tasks_frame(spark, tasks), stages, lake, run).collect()
    return [_read(row, tasks[row["number"]]) for row in found]


def _read(row: "Row", task: Task) -> Done:
    files = tuple(RowFile(**file.asDict()) for file in row["files"])
    errors = [{**asdict(task.hour), **error.asDict()} for error in row["errors"]]
    return Done(task, files, pa.Table.from_pylist(errors, ERRORS.schema), row["attempt"])


def _done(
    batches: Iterable[pa.RecordBatch], stages: Sequence[Stage], lake: Lake, run: str
) -> Iterator[pa.RecordBatch]:
    """What an executor does: each task, and what it finds into files."""
    from pyspark import TaskContext

    if not is_seen(lake, run):
        raise ReplanError(f"{lake.address}: executors do not see this folder; it must be shared")
    context = TaskContext.get()
    attempt = 0 if context is None else context.attemptNumber()
    for number, task in _tasks(batches):
        done = (
            not_done(task, stages, LOST) if attempt >= TRIES else performed(task, stages, lake, run)
        )
        row = {
            "number": number,
            "attempt": attempt,
            "files": [asdict(file) for file in done.files],
            "errors": done.errors.select(ERRORS.columns.names).to_pylist(),
        }
        yield pa.RecordBatch.from_pylist([row], schema=DONE)


def _rows(batches: Iterable[pa.RecordBatch], table: str) -> Iterator[pa.RecordBatch]:
    for _, task in _tasks(batches):
        found: Rows = stage_function(stage_of(table))(Work(task))
        yield from found[table].to_batches(ROWS_PER_BATCH)


def _tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Task]]:
    for batch in batches:
        for row in batch.to_pylist():
            yield row.pop("number"), Task(**row)
