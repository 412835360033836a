"""The pipeline in Spark: the order of the stages and the tables between them.

PySpark is imported when it is called and not before, since it is an extra that a user of one cluster does not need.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from replan.errors import ReplanError
from replan.fleet.between import Lake
from replan.fleet.pairs import Head, pair_up
from replan.fleet.result import FleetDrift, in_order
from replan.fleet.sources import Source
from replan.fleet.tables import (
    CLUSTERS,
    DIFFERENCES,
    DRIFT,
    ERRORS,
    HEADS,
    PAIRS,
    RESOLVED,
    SOURCES,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def require_spark(find: Callable[[str], object | None]) -> None:
    """Raise ReplanError where the extra is not installed, as `find` shows by a package's name."""
    for package in ("pyspark", "pandas"):  # Spark's applyInArrow imports pandas and does not use it
        if find(package) is None:
            raise ReplanError(
                f"the fleet commands need {package}, which is not installed: "
                "pip install 'replan[fleet]'"
            )


def compare(spark: "SparkSession", sources: Iterable[Source], work: Path) -> FleetDrift:
    """Run the stages in a session; `work` takes the tables between them."""
    from replan.fleet import stages

    named = pa.Table.from_pylist([s.row() for s in sources], schema=SOURCES)
    lake = Lake(spark, work)
    lake.write("heads", stages.heads(_spread(spark, named)))
    pairing = pair_up(Head(**row) for row in lake.arrow("heads", HEADS).to_pylist())
    unpaired = pa.Table.from_pylist([asdict(e) for e in pairing.errors], schema=ERRORS)
    if not pairing.pairs:
        nothing = (DRIFT.empty_table(), CLUSTERS.empty_table())
        return in_order(*nothing, unpaired, pairing.undeclared, pairing.older)
    paired = pa.Table.from_pylist([asdict(p) for p in pairing.pairs], schema=PAIRS)
    pairs = _spread(spark, paired)
    lake.write("resolved", stages.resolved(pairs), by="side")
    declared, observed = lake.read("resolved", RESOLVED), lake.read("resolved", RESOLVED)
    lake.write("differences", stages.differences(declared, observed))
    rows, found = lake.read("resolved", RESOLVED), lake.read("differences", DIFFERENCES)
    lake.write("drift", stages.drift(rows, found, pairs))
    lake.write("clusters", stages.clusters(rows, found, pairs))
    lake.write("errors", stages.errors(rows, pairs))
    return in_order(
        lake.arrow("drift", DRIFT),
        lake.arrow("clusters", CLUSTERS),
        pa.concat_tables([unpaired, lake.arrow("errors", ERRORS)]),
        pairing.undeclared,
        pairing.older,
    )


def _spread(spark: "SparkSession", table: pa.Table) -> "DataFrame":
    """A table whose rows are work, dealt out so that every core gets some."""
    tasks = min(table.num_rows, 8 * spark.sparkContext.defaultParallelism)
    return spark.createDataFrame(table).repartition(tasks)
