"""The work of all clusters in Spark: each number of a DataFrame is a task, whose rows go to files in a shared folder.

Spark says who does which task, and does it again where an executor dies. It does not carry the rows: Java would turn
each from Arrow to its own form and to Parquet, which takes longer than finding them. A file has its name by task and
table, and appears whole by a rename; a task that is done twice finds the same. PySpark is imported when it is called
and not before: a user of one cluster needs none of it.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from replan.documents.atomic import replace_file
from replan.errors import ReplanError
from replan.fleet.frames import columns_of
from replan.fleet.perform import Rows, Stage, in_order, perform, written_by
from replan.fleet.tasks.work import TASKS, Task, tasks_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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


def perform_in(
    spark: "SparkSession", tasks: Sequence[Task], stages: Sequence[Stage], between: Path | None
) -> Rows:
    """The rows of all tasks; `between` is a folder that all executors see, this machine's own unless it is given."""
    slots = 8 * int(spark.conf.get("spark.default.parallelism", str(os.cpu_count() or 1)))
    with tempfile.TemporaryDirectory(prefix=".replan-fleet-", dir=between) as work:
        job = partial(_performed, tasks=tuple(tasks), stages=tuple(stages), place=Path(work))
        numbers = spark.range(0, len(tasks), 1, min(len(tasks), slots))
        done = numbers.mapInArrow(job, "id bigint")
        done.write.format("noop").mode("overwrite").save()
        return {name: in_order(name, _kept(Path(work), name)) for name in written_by(stages)}


def _performed(
    batches: Iterable[pa.RecordBatch], tasks: Sequence[Task], stages: Sequence[Stage], place: Path
) -> Iterator[pa.RecordBatch]:
    """What an executor does: the tasks of these numbers, into files."""
    if not place.is_dir():
        raise ReplanError(f"{place.parent}: executors do not see this folder; it must be shared")
    for batch in batches:
        for number in batch.column(0).to_pylist():
            for name, rows in perform(tasks[number], stages).items():
                replace_file(place / f"{name}-{number:06}.arrow", partial(_keep, rows))
        yield batch


def _keep(rows: pa.Table, file: Path) -> None:
    compressed = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(file, rows.schema, options=compressed) as target:
        target.write_table(rows)


def _kept(place: Path, name: str) -> list[pa.Table]:
    return [pa.ipc.open_file(file).read_all() for file in sorted(place.glob(f"{name}-*.arrow"))]
