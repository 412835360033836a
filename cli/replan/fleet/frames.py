"""A stage as a function of DataFrames: tasks to the rows of one of its tables.

The function of a stage is the same in both engines; here Spark calls it in `mapInArrow`, where the tasks are.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from replan.fleet.lake.tables import LakeTable
from replan.fleet.spark_types import spark_type
from replan.fleet.tasks.work import Task, Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_PER_BATCH = 100_000
Of = Callable[[Work], Mapping[str, pa.Table]]
"""A stage: the work of a task to rows by table."""


def columns_of(schema: pa.Schema) -> str:
    """The columns as Spark's DDL has them."""
    return ", ".join(f"`{field.name}` {spark_type(field.type)}" for field in schema)


def rows_frame(tasks: "DataFrame", stage: Of, table: LakeTable) -> "DataFrame":
    """The rows of one table. What a stage raises fails the job; `on_spark.performed` makes it a row of `errors`."""
    return tasks.mapInArrow(partial(_rows, stage=stage, table=table), columns_of(table.schema))


def _rows(
    batches: Iterable[pa.RecordBatch], stage: Of, table: LakeTable
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            yield from stage(Work(Task(**row)))[table.name].to_batches(ROWS_PER_BATCH)
