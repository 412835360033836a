"""The lake as a data source of Spark: its tables as DataFrames, a partition for some files each; no jars.

    spark.dataSource.register(LakeSource)
    spark.read.format("replan").option("lake", "s3a://ops/replan").option("table", "drift").load()

Executors open the files that the log of the table names. As a stream (`readStream`, without a table) it says which
clusters and days have new snapshots: its offset is the version of the table `snapshots`.
"""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from replan.fleet.lake.arrivals import TOUCHED, newest_version, touched_between
from replan.fleet.lake.delta import Lake, TableFile, loose
from replan.fleet.lake.tables import TABLES, LakeTable

PART_BYTES = 32 * 2**20
PART_FILES = 100
PART_ROWS = 500_000
"""So much one task reads at most, about."""
ROWS_PER_BATCH = 100_000
SOURCE_FORMAT = "replan"


@dataclass
class _Files(InputPartition):  # type: ignore[misc]  # PySpark leaves it untyped
    """What one task reads."""

    files: list[TableFile] = field(default_factory=list)
    bytes: int = 0
    share: tuple[int, int] = (0, 1)
    """Which of how many parts of one large file."""


class LakeSource(DataSource):  # type: ignore[misc]
    """`lake`: its address; `table`; without one, as a stream, the arrivals."""

    @classmethod
    def name(cls) -> str:
        """As `format` takes it."""
        return SOURCE_FORMAT

    @property
    def lake(self) -> Lake:
        """The lake that is asked for."""
        return Lake(self.options["lake"])

    def schema(self) -> StructType:
        """That of the table, or of the arrivals."""
        name = self.options.get("table")
        return spark_schema(TOUCHED if name is None else TABLES[name].schema)

    def reader(self, schema: StructType) -> "LakeReader":  # noqa: ARG002 - ours is declared
        """What reads a table."""
        return LakeReader(self.lake, TABLES[self.options["table"]])

    def streamReader(self, schema: StructType) -> "ArrivalsReader":  # noqa: ARG002, N802
        """What follows the snapshots."""
        return ArrivalsReader(self.lake)


@dataclass
class LakeReader(DataSourceReader):  # type: ignore[misc]
    """Some columns of a table, of all clusters or of some."""

    lake: Lake
    table: LakeTable
    columns: Sequence[str] = ()
    clusters: Sequence[str] | None = None

    def partitions(self) -> list[InputPartition]:
        """The files, some together."""
        files = self.lake.files(self.table)
        names = files if self.clusters is None else [n for n in self.clusters if n in files]
        parts = [_Files()]
        for file in chain.from_iterable(files[name] for name in names):
            shares = 1 + (file.rows or 0) // PART_ROWS
            if shares > 1:
                parts[:0] = [_Files([file], share=(n, shares)) for n in range(shares)]
                continue
            part = parts[-1]
            if len(part.files) >= PART_FILES or (
                part.files and part.bytes + file.size > PART_BYTES
            ):
                parts.append(part := _Files())
            part.files.append(file)
            part.bytes += file.size
        return [*parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        assert isinstance(partition, _Files)  # noqa: S101 - they are what `partitions` has made
        for file in partition.files:
            rows = self.lake.read_file(self.table, file, self.columns, share=partition.share)
            yield from rows.to_batches(ROWS_PER_BATCH)


class ArrivalsReader(DataSourceStreamReader):  # type: ignore[misc]
    """The clusters and days that commits of the table `snapshots` touched."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Before the first commit."""
        return {"version": -1}

    def latestOffset(self) -> dict[str, int]:  # noqa: N802
        """The newest commit."""
        return {"version": newest_version(self.lake)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """One: a batch is some lines."""
        return [InputPartition((start["version"], end["version"]))]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """What came after one version until another."""
        yield from touched_between(self.lake, *partition.value)


def spark_schema(schema: pa.Schema) -> StructType:
    """An Arrow schema as Spark has it; every column may be null, as in the lake."""
    return from_arrow_schema(loose(schema.empty_table()).schema)


def lake_frame(
    spark: SparkSession,
    lake: Lake,
    table: LakeTable,
    columns: Sequence[str] = (),
    clusters: Sequence[str] | None = None,
) -> DataFrame:
    """A table of the lake, or some columns of some clusters, read by executors.

    This process says who reads which files: for a `LakeSource` Spark would start three more of Python to ask them that.
    """
    reader = LakeReader(lake, table, columns, clusters)
    parts = pa.table({"part": pa.array(map(pickle.dumps, reader.partitions()), pa.binary())})
    schema = pa.schema(map(table.schema.field, columns or table.schema.names))
    frame = spark.createDataFrame(parts, spark_schema(parts.schema))
    return frame.mapInArrow(partial(_read, reader=reader), spark_schema(schema))


def _read(batches: Iterable[pa.RecordBatch], reader: LakeReader) -> Iterator[pa.RecordBatch]:
    """What an executor does: read the files of its parts."""
    for batch in batches:
        for part in batch["part"]:
            yield from reader.read(pickle.loads(part.as_py()))  # noqa: S301 - it is what `lake_frame` has made


def arrivals_frame(spark: SparkSession, lake: Lake) -> DataFrame:
    """The clusters and days that get snapshots, as a stream."""
    spark.dataSource.register(LakeSource)
    return spark.readStream.format(SOURCE_FORMAT).option("lake", lake.address).load()
