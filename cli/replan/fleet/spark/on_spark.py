"""The work of all clusters in Spark: a DataFrame of tasks becomes a DataFrame of rows, and these become tables.

The rows of all stages travel in one DataFrame: `table` says to which table one belongs, the column of that name has it
as one value. PySpark is imported when it is called and not before: a user of one cluster needs none of it.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from replan.errors import ReplanError
from replan.fleet.frames import ROWS_PER_BATCH, columns_of
from replan.fleet.lake.tables import TABLES
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


def result_schema(stages: Sequence[Stage]) -> pa.Schema:
    """The columns of the rows of these stages."""
    return pa.schema(
        [
            pa.field("table", pa.string()),
            *(pa.field(name, _struct(name)) for name in written_by(stages)),
        ]
    )


def _struct(name: str) -> pa.StructType:
    return pa.struct([field.with_nullable(True) for field in TABLES[name].schema])


def performed(tasks: "DataFrame", stages: Sequence[Stage]) -> "DataFrame":
    """The rows of each task."""
    schema = result_schema(stages)
    return tasks.mapInArrow(partial(_batches, stages=stages), columns_of(schema))


def _batches(
    batches: Iterable[pa.RecordBatch], stages: Sequence[Stage]
) -> Iterator[pa.RecordBatch]:
    schema = result_schema(stages)
    for batch in batches:
        for row in batch.to_pylist():
            for name, rows in perform(Task(**row), stages).items():
                for part in rows.to_batches(ROWS_PER_BATCH):
                    yield _wrapped(name, part, schema)


def _wrapped(name: str, part: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    count = part.num_rows
    return pa.RecordBatch.from_arrays(
        [
            pa.repeat(pa.scalar(name), count)
            if field.name == "table"
            else pa.StructArray.from_arrays(part.columns, fields=list(field.type))
            if field.name == name
            else pa.nulls(count, field.type)
            for field in schema
        ],
        schema=schema,
    )


def tasks_frame(spark: "SparkSession", tasks: Sequence[Task]) -> "DataFrame":
    """Tasks as the rows of a DataFrame, which the stages take."""
    return spark.createDataFrame(tasks_table(list(tasks)), schema=columns_of(TASKS))


def perform_in(
    spark: "SparkSession", tasks: Sequence[Task], stages: Sequence[Stage], between: Path | None
) -> Rows:
    """The rows of all tasks; `between` is a folder that all executors see, this machine's own unless it is given."""
    slots = 8 * int(spark.conf.get("spark.default.parallelism", str(os.cpu_count() or 1)))
    table = tasks_frame(spark, tasks)
    spread = table.repartition(min(len(tasks), slots))
    with tempfile.TemporaryDirectory(prefix=".replan-fleet-", dir=between) as work:
        place = str(Path(work, "rows"))
        performed(spread, stages).write.partitionBy("table").parquet(place)
        return {name: in_order(name, _read(Path(place), name)) for name in written_by(stages)}


def _read(place: Path, name: str) -> list[pa.Table]:
    """What Spark wrote for one table."""
    schema = TABLES[name].schema
    found = []
    for part in sorted((place / f"table={name}").glob("*.parquet")):
        # Not pyarrow.dataset: importing it imports pandas; not through Spark's sockets, which stay open.
        column = pq.ParquetFile(part).read(columns=[name]).column(0)
        for chunk in column.chunks:
            arrays = [chunk.field(field.name).cast(field.type) for field in schema]
            found.append(pa.table(arrays, schema=schema))
    return found
