"""`replan fleet drift`: from two folders to one value, by the engine that suits the size of the fleet.

Belongs here: what is compared, and by which engine. How the stages follow each other is in `on_spark` and `in_process`.
"""

import tempfile
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from replan.errors import BadFile, BadUsage
from replan.fleet.in_process import compare_in_process
from replan.fleet.result import FleetDrift, publish
from replan.fleet.sources import Source, find_placements, find_snapshots

SPARK_BYTES = 50_000_000
"""Beyond so much input `auto` takes Spark: some four million partitions in Parquet, for which one process takes half a
minute (`benchmarks/fleet_drift.py`)."""
LONG_BYTES = 200_000_000
"""Beyond so much input a quick start of Java is not worth its slower code."""
LOCAL_MASTER = "local[*]"


class Engine(StrEnum):
    """What does the work."""

    AUTO = "auto"
    LOCAL = "local"
    """This process, one cluster after another."""
    SPARK = "spark"


def run_fleet_drift(
    snapshots: Path,
    placements: Path,
    output: Path | None = None,
    engine: Engine = Engine.AUTO,
    master: str | None = None,
) -> FleetDrift:
    """Compare each cluster's newest snapshot with its placement, and publish the tables where asked.

    Raises BadFile where there is nothing to compare, ReplanError where Spark cannot run; whatever is wrong
    with one cluster is a row of the errors.
    """
    sources = find_sources(snapshots, placements)
    size = sum(_size(source.path) for source in sources)
    if chosen(engine, master, size) is Engine.LOCAL:
        found = compare_in_process(sources)
    else:
        found = _on_spark(sources, output, master or LOCAL_MASTER, size)
    if output is not None:
        publish(found, output)
    return found


def chosen(engine: Engine, master: str | None, size: int) -> Engine:
    """The engine for an input of so many bytes; raises BadUsage where a Spark master is named and not wanted."""
    if engine is Engine.LOCAL and master is not None:
        raise BadUsage(f"--master {master} goes with --engine spark")
    if engine is not Engine.AUTO:
        return engine
    return Engine.LOCAL if master is None and size <= SPARK_BYTES else Engine.SPARK


def _on_spark(sources: list[Source], output: Path | None, master: str, size: int) -> FleetDrift:
    from replan.fleet.on_spark import compare, require_spark

    require_spark(find_spec)
    from replan.fleet.session import Length, alone, spark_session

    if output is None and not alone(master):
        raise BadUsage(
            f"with --master {master} the executors need a folder that all of them see: "
            "give --output a path there"
        )
    length = Length.LONG if size > LONG_BYTES else Length.SHORT
    between = None if output is None else output.resolve().parent
    with (
        tempfile.TemporaryDirectory(prefix=".replan-fleet-", dir=between) as work,
        spark_session(master, length) as spark,
    ):
        return compare(spark, sources, Path(work))


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


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
