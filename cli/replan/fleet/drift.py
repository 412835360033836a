"""`replan fleet drift`: the whole pipeline from two folders to one value.

Belongs here: the order of the stages and the tables between them. PySpark is imported when it is called and
not before, since it is an extra that a user of one cluster does not need.
"""

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from replan.errors import BadFile, BadUsage, ReplanError
from replan.fleet.lake import Lake
from replan.fleet.pairs import Head, pair_up
from replan.fleet.result import FleetDrift, in_order, publish
from replan.fleet.sources import Source, find_placements, find_snapshots
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

LONG_BYTES = 200_000_000
"""Beyond so much input a quick start of Java is not worth its slower code."""


def run_fleet_drift(
    snapshots: Path, placements: Path, output: Path | None, master: str
) -> FleetDrift:
    """Compare each cluster's newest snapshot with its placement, and publish the tables where asked.

    Raises BadFile where there is nothing to compare, ReplanError where Spark cannot run; whatever is wrong
    with one cluster is a row of the errors.
    """
    sources = find_sources(snapshots, placements)
    require_spark(find_spec)
    from replan.fleet.session import Length, alone, spark_session

    if output is None and not alone(master):
        raise BadUsage(
            f"with --master {master} the executors need a folder that all of them see: "
            "give --output a path there"
        )
    size = sum(_size(source.path) for source in sources)
    length = Length.LONG if size > LONG_BYTES else Length.SHORT
    between = None if output is None else output.resolve().parent
    with (
        tempfile.TemporaryDirectory(prefix=".replan-fleet-", dir=between) as work,
        spark_session(master, length) as spark,
    ):
        found = compare(spark, sources, Path(work))
    if output is not None:
        publish(found, output)
    return found


def find_sources(snapshots: Path, placements: Path) -> list[Source]:
    """Everything there is to compare; raises BadFile where either side has nothing."""
    found = find_snapshots(snapshots)
    if not found:
        raise BadFile(
            f"{snapshots}: there is no snapshot in this folder; "
            f"`replan snapshot -o {snapshots / 'CLUSTER'}` writes one"
        )
    declared = find_placements(placements)
    if not declared:
        raise BadFile(
            f"{placements}: there is no placement in this folder: "
            "it should hold a YAML file or a folder for each cluster"
        )
    return [*found, *declared]


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

    told = [{"role": s.role.value, "name": s.name, "path": str(s.path.absolute())} for s in sources]
    lake = Lake(spark, work)
    lake.write("heads", stages.heads(_spread(spark, pa.Table.from_pylist(told, schema=SOURCES))))
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


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
