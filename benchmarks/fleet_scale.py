"""How long diff, classify and cost of a whole fleet take, by engine, and how plain SQL engines do the diff alone.

    python benchmarks/fleet_scale.py --clusters 100 --partitions 70000 [--skew] [--home DIR] [--only local,spark,…]

The fleet is made once: snapshots in a lake, a placement for each cluster, one partition in a hundred drifted, of each
class. `local` and `spark` are `replan fleet`, from the lake and the YAML to committed tables. The others join two of
its tables, `declared` and `snapshots`, which the first of them has written, and count the partitions whose lists
differ; `duckdb` and `polars` are measured where they are installed. Peaks as in fleet_drift.py.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa
from benchmarks.fleet_drift import measured
from benchmarks.fleet_synthetic import of_every_class, synthetic_snapshot, write_placement
from deltalake import DeltaTable, QueryBuilder

from replan.fleet.api import (
    DECLARED,
    DRIFT_STAGES,
    SNAPSHOTS,
    Engine,
    Fleet,
    FleetCluster,
    Hour,
    Lake,
    SparkTarget,
    Stage,
    do_and_commit,
    from_lake,
    keep_snapshots,
)
from replan.fleet.spark.api import spark_session
from replan.planning.api import compare_lists, partition_rows

STAGES = (*DRIFT_STAGES, Stage.COST)
NOW = Hour.of("", "2026-11-21T03:00:00Z")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument(
        "--partitions", type=int, default=10_000, help="of each cluster, on average"
    )
    parser.add_argument("--skew", action="store_true", help="half of all partitions in one cluster")
    parser.add_argument("--home", type=Path, help="keep the fleet here, and use the one that is")
    parser.add_argument("--only", default="local,spark,kernel,datafusion,duckdb,polars,spark-sql")
    parser.add_argument("--engine", choices=tuple(RUNS))
    asked = parser.parse_args()
    if asked.engine is not None:
        print(RUNS[asked.engine](asked.home))
        return
    with tempfile.TemporaryDirectory() as folder:
        home = asked.home or Path(folder)
        sizes = sizes_of(asked.clusters, asked.partitions, skew=asked.skew)
        if not (home / "placements").exists():
            make_fleet(home, sizes)
        print(f"{asked.clusters} clusters, {sum(sizes):,} partitions{', skewed' * asked.skew}")
        for engine in asked.only.split(","):
            if engine in {"duckdb", "polars"} and find_spec(engine) is None:
                continue
            command = [sys.executable, __file__, "--engine", engine, "--home", str(home)]
            seconds, cpu, peak, said = measured(command)
            print(
                f"{engine:10} {seconds:7.1f} s at load {os.getloadavg()[0]:.0f}, {cpu:6.1f} s of CPU, "
                f"peak {peak:6,.0f} MB: {said.strip()}",
                flush=True,
            )


def sizes_of(clusters: int, average: int, *, skew: bool) -> list[int]:
    total = clusters * average
    if not skew:
        return [average] * clusters
    others = total // 2 // (clusters - 1) // 50 * 50
    return [total // 2 // 50 * 50] + [others] * (clusters - 1)


def make_fleet(home: Path, sizes: list[int]) -> None:
    lake = Lake(str(home / "lake"))
    (home / "placements").mkdir(parents=True)
    for number, size in enumerate(sizes):
        name = f"cluster-{number:04d}"
        keep_snapshots(lake, [(name, of_every_class(synthetic_snapshot(name, size)))])
        write_placement(name, size, home / "placements" / f"{name}.yaml")


def fleet_of(home: Path) -> Fleet:
    files = sorted((home / "placements").iterdir())
    clusters = {file.stem: FleetCluster(file.stem, placement=file) for file in files}
    return Fleet(clusters, str(home / "lake"))


def run_engine(home: Path, where: SparkTarget) -> str:
    fleet, lake = fleet_of(home), Lake(str(home / "lake"))
    began = time.perf_counter()
    todo = from_lake(fleet, lake, datetime.now(UTC))
    with where.workers() as workers:
        found = do_and_commit(lake, todo, STAGES, workers, NOW)
    seconds = time.perf_counter() - began
    assert not found.errors.num_rows, found.errors.slice(0, 3).to_pylist()
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return f"{found.drifted.num_rows:,} drifted in {seconds:.1f} s; peak of this process alone {own:,.0f} MB"


def run_local(home: Path) -> str:
    return run_engine(home, SparkTarget(Engine.LOCAL))


def run_spark(home: Path) -> str:
    return run_engine(home, SparkTarget(Engine.SPARK, "local[2]"))


def run_kernel(home: Path) -> str:
    """The same comparison that both engines call, cluster after cluster in one process."""
    lake, count = Lake(str(home / "lake")), 0
    for name in lake.files(SNAPSHOTS):
        where = f"cluster = '{name}'"
        declared = lake.read(DECLARED, where, ["topic", "partition", "replicas"])
        seen = lake.read(SNAPSHOTS, f"{where} AND part = 'partitions'", ["partitions"])
        observed = pa.Table.from_struct_array(seen.column(0))
        kinds = (
            compare_lists(declared, observed, partition_rows(declared, observed))
            .table.column("kind")
            .to_pylist()
        )
        count += sum(kind in {"replicas", "order"} for kind in kinds)
    return f"{count:,} lists differ"


def run_datafusion(home: Path) -> str:
    lake = Lake(str(home / "lake"))
    builder = QueryBuilder()
    for name, table in (("declared", DECLARED), ("snapshots", SNAPSHOTS)):
        builder = builder.register(name, DeltaTable(lake.place(table)))
    query = (
        "SELECT count(*) FROM declared d JOIN (SELECT * FROM snapshots WHERE part = 'partitions') s "
        "ON d.cluster = s.cluster AND d.topic = s.partitions['topic'] "
        "AND d.partition = s.partitions['partition'] WHERE d.replicas <> s.partitions['replicas']"
    )
    found = pa.table(builder.execute(query).read_all())
    return f"{found.column(0)[0].as_py():,} lists differ"


def run_duckdb(home: Path) -> str:
    import duckdb  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415 - perhaps not there

    lake = Lake(str(home / "lake"))
    declared, seen = (
        f"read_parquet({DeltaTable(lake.place(t)).file_uris()!r}, hive_partitioning=true)"
        for t in (DECLARED, SNAPSHOTS)
    )
    observed = f"SELECT cluster, unnest(partitions) FROM {seen} WHERE part = 'partitions'"  # noqa: S608 - our own
    found = duckdb.sql(
        f"SELECT count(*) FROM {declared} d JOIN ({observed}) s "  # noqa: S608 - our own
        "USING (cluster, topic, partition) WHERE d.replicas <> s.replicas"
    ).fetchall()
    return f"{found[0][0]:,} lists differ"


def run_polars(home: Path) -> str:
    import polars as pl  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415 - perhaps not there

    lake = Lake(str(home / "lake"))
    declared = pl.scan_delta(lake.place(DECLARED))
    seen = pl.scan_delta(lake.place(SNAPSHOTS)).filter(pl.col("part") == "partitions")
    observed = seen.select("cluster", pl.col("partitions").struct.unnest())
    joined = declared.join(observed, on=["cluster", "topic", "partition"], suffix="_seen")
    different = joined.filter(pl.col("replicas") != pl.col("replicas_seen"))
    return f"{different.select(pl.len()).collect().item():,} lists differ"


def run_spark_sql(home: Path) -> str:
    lake = Lake(str(home / "lake"))
    files = {t: DeltaTable(lake.place(t)).file_uris() for t in (DECLARED, SNAPSHOTS)}
    with spark_session("local[2]") as spark:
        for table, found in files.items():
            base = spark.read.option("basePath", lake.place(table))
            base.parquet(*found).createOrReplaceTempView(table.name)
        row = spark.sql(
            "SELECT count(*) FROM declared d JOIN (SELECT * FROM snapshots WHERE part = 'partitions') s "
            "ON d.cluster = s.cluster AND d.topic = s.partitions.topic "
            "AND d.partition = s.partitions.partition "
            "WHERE size(array_except(d.replicas, s.partitions.replicas)) > 0 OR d.replicas <> s.partitions.replicas"
        ).collect()[0]
    return f"{row[0]:,} lists differ"


RUNS: dict[str, Callable[[Path], str]] = {
    "local": run_local,
    "spark": run_spark,
    "kernel": run_kernel,
    "datafusion": run_datafusion,
    "duckdb": run_duckdb,
    "polars": run_polars,
    "spark-sql": run_spark_sql,
}


if __name__ == "__main__":
    main()
