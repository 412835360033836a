"""The work of all clusters in Spark: each number of a DataFrame is a task, whose rows go to files in a shared folder.

Spark says who does which task, and does it again where an executor or its Python dies; the third time the task is left
undone, and says so. It does not carry the rows: Java would turn
each from Arrow to its own form and to Parquet, which takes longer than finding them. A file has its name by task and
table, and appears whole by a rename; a task that is done twice finds the same. PySpark is imported when it is called
and not before: a user of one cluster needs none of it.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from replan.documents.atomic import replace_file
from replan.errors import ReplanError
from replan.fleet.frames import columns_of
from replan.fleet.lake.tables import ERRORS
from replan.fleet.perform import Rows, Stage, in_order, not_done, perform, written_by
from replan.fleet.tasks.work import TASKS, Task, tasks_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TRIES = 2
"""So often a cluster is begun whose Python worker or executor is lost."""
LOST = (
    f"the Python worker or executor that judged it was lost {TRIES} times; the kernel ends one where memory is short "
    "(its log says so)"
)


def require_spark(find: Callable[[str], object | None] = find_spec) -> None:
    """Raise ReplanError where the extra is not installed, as `find` shows by a package's name."""
    for package in ("pyspark", "pandas"):  # Spark's mapInArrow imports pandas and does not use it
        if find(package) is None:
            raise ReplanError(
                f"the engine spark needs {package}, which is not installed: "
                "pip install 'replan[fleet]'"
            )


def tasks_frame(spark: "SparkSession", tasks: Sequence[Task]) -> "DataFrame":
    """Tasks as the rows of a DataFrame, which the stages take."""
    return spark.createDataFrame(tasks_table(list(tasks)), schema=columns_of(TASKS))


def put_tasks(place: Path, tasks: Sequence[Task]) -> None:
    """Write each task where the executor that does it reads it."""
    for number, task in enumerate(tasks):
        (place / f"task-{number:06}.json").write_text(json.dumps(asdict(task)), encoding="utf-8")


def perform_in(spark: "SparkSession", stages: Sequence[Stage], place: Path) -> None:
    """Do the tasks of a folder that all executors see, as far as they are not done yet.

    Each is a task of Spark's, of which it begins the first ones first: as many at a time as executors have cores.
    """
    left = _left(place)
    job = partial(_performed, left=left, stages=tuple(stages), place=place)
    numbers = spark.range(0, len(left), 1, max(len(left), 1))
    numbers.mapInArrow(job, "id bigint").write.format("noop").mode("overwrite").save()


def give_up(stages: Sequence[Stage], place: Path, why: str) -> None:
    """Leave the tasks undone that nobody has done yet; each says why."""
    for number in _left(place):
        _put(place, number, not_done(_task(place, number), stages, why))


def rows_in(stages: Sequence[Stage], place: Path) -> Rows:
    """The rows of all tasks of a folder."""
    return {name: in_order(name, _kept(place, name)) for name in written_by(stages)}


def _left(place: Path) -> list[int]:
    """The tasks without errors: those are written last, as a table without rows where there are none."""
    done = {file.stem.rpartition("-")[2] for file in place.glob(f"{ERRORS.name}-*.arrow")}
    tasks = (file.stem.rpartition("-")[2] for file in place.glob("task-*.json"))
    return sorted(int(number) for number in tasks if number not in done)


def _task(place: Path, number: int) -> Task:
    return Task(**json.loads((place / f"task-{number:06}.json").read_text(encoding="utf-8")))


def _performed(
    batches: Iterable[pa.RecordBatch], left: Sequence[int], stages: Sequence[Stage], place: Path
) -> Iterator[pa.RecordBatch]:
    """What an executor does: the tasks of these numbers, into files."""
    from pyspark import TaskContext

    if not place.is_dir():
        raise ReplanError(f"{place.parent}: executors do not see this folder; it must be shared")
    context = TaskContext.get()
    tried = 0 if context is None else context.attemptNumber()
    for batch in batches:
        for row in batch.column(0).to_pylist():
            task = _task(place, left[row])
            lost = tried >= TRIES
            _put(place, left[row], not_done(task, stages, LOST) if lost else perform(task, stages))
        yield batch


def _put(place: Path, number: int, found: Rows) -> None:
    for name, rows in sorted(found.items(), key=lambda item: item[0] == ERRORS.name):
        replace_file(place / f"{name}-{number:06}.arrow", partial(_keep, rows))


def _keep(rows: pa.Table, file: Path) -> None:
    compressed = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(file, rows.schema, options=compressed) as target:
        target.write_table(rows)


def _kept(place: Path, name: str) -> list[pa.Table]:
    return [pa.ipc.open_file(file).read_all() for file in sorted(place.glob(f"{name}-*.arrow"))]
