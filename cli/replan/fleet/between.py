"""The tables between the stages: a folder of Parquet each, written by Spark, read by Spark or by this process.

Nothing is ever collected through Spark's driver sockets: a table is a folder, whoever reads it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from replan.fleet.tables import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Lake:
    """A folder that all executors see, with a folder for each table."""

    spark: "SparkSession"
    folder: Path

    def write(self, name: str, table: "DataFrame", by: str | None = None) -> None:
        """Write a table once, in a folder for each value of one column where asked."""
        writer = table.write if by is None else table.write.partitionBy(by)
        writer.parquet(str(self.folder / name))

    def read(self, name: str, schema: pa.Schema) -> "DataFrame":
        """A table for Spark; each call gives columns of their own ids."""
        return self.spark.read.schema(spark_schema(schema)).parquet(str(self.folder / name))

    def arrow(self, name: str, schema: pa.Schema) -> pa.Table:
        """A table for this process, whole; not for those written by a column."""
        parts = sorted((self.folder / name).glob("*.parquet"))
        # Not pyarrow.dataset: importing it imports pandas.
        tables = [pq.ParquetFile(part).read().select(schema.names).cast(schema) for part in parts]
        return pa.concat_tables([schema.empty_table(), *tables])
