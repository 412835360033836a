"""The lake of a fleet in a notebook: read with Spark, DuckDB and Polars, and two stages in a job of one's own.

Each part after `# %%` is a cell for Jupyter (by Jupytext), VS Code and PyCharm; run as a script it does all of them:

    python examples/demo_fleet.py demo/ && python examples/notebook.py demo/fleet.yaml

It needs `pip install 'replan[fleet]'`, and Java. DuckDB and Polars are not part of that: `pip install duckdb polars`.
"""

# %% The fleet file says where the lake is.
import os
import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from replan.fleet.fleet_file import read_fleet
from replan.fleet.lake.delta import Lake
from replan.fleet.lake.tables import DRIFT
from replan.fleet.spark.frames import rows_frame, tasks_frame
from replan.fleet.spark.source import LakeSource
from replan.fleet.tasks.todo import from_lake

fleet = read_fleet(Path(sys.argv[1] if len(sys.argv) > 1 else "fleet.yaml"))
lake = Lake(str(fleet.lake))
print("lake:", lake.address)

# %% Spark reads a table as a data source of its own, without jars. Executors open the files.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8"}
builder = SparkSession.builder.appName("notebook").config(map=settings)
spark = builder.master(os.environ.get("MASTER", "local[2]")).getOrCreate()
spark.dataSource.register(LakeSource)
drift = spark.read.format("replan").option("lake", lake.address).option("table", "drift").load()
print("Spark: what drifted, by class")
drift.groupBy("class").count().orderBy("class").show()

# %% DuckDB reads the files that the log of a table names; what the files are divided by is in their paths.
if find_spec("duckdb") is None:
    print("DuckDB is not installed: pip install duckdb\n")
else:
    import duckdb  # type: ignore[import-not-found,unused-ignore]
    from deltalake import DeltaTable

    files = DeltaTable(lake.place(DRIFT)).file_uris()
    known = duckdb.read_parquet(files, hive_partitioning=True, union_by_name=True)
    print("DuckDB: what drifted, by class")
    print(known.aggregate("class, count(*) AS count").order("class"))

# %% Polars opens a Delta table as it is.
if find_spec("polars") is None:
    print("Polars is not installed: pip install polars\n")
else:
    import polars as pl  # type: ignore[import-not-found,unused-ignore]

    table = pl.scan_delta(lake.place(DRIFT))
    print("Polars: what drifted, by class")
    print(table.group_by("class").len("count").sort("class").collect())

# %% Two stages in a job of one's own: the newest snapshots are compared and priced now, and nothing is written.
# A task is a cluster with its newest snapshot; one that cannot be judged would fail the job, so it is left out.
todo = from_lake(fleet, lake, datetime.now(UTC))
errors = spark.read.format("replan").option("lake", lake.address).option("table", "errors").load()
unjudged = errors.filter("stage = 'diff'").select("cluster").distinct()
failed = {row["cluster"] for row in unjudged.collect()}
tasks = tasks_frame(spark, [task for task in todo.tasks if task.cluster not in failed])
costs = rows_frame(tasks, "costs").select("cluster", "topic", "partition", "bytes")
owned = rows_frame(tasks, "drift").select("cluster", "topic", "partition", "owner").distinct()
print("Spark: what each owner has to copy")
(
    owned.join(costs, ["cluster", "topic", "partition"])
    .groupBy(f.coalesce("owner", f.lit("nobody")).alias("owner"))
    .agg(f.count("*").alias("partitions"), f.sum("bytes").alias("bytes"))
    .orderBy("owner")
    .show()
)

# %% Snapshots and declared lists are rows, too: a comparison of one's own. A giant snapshot is several partitions.
read = spark.read.format("replan").option("lake", lake.address).option("table", "snapshots").load()
seen = read.filter("part = 'partitions'").select("cluster", "observed_at", "partitions.*")
declared = rows_frame(tasks, "declared").withColumnRenamed("replicas", "declared")
print("Spark: partitions that are declared, and those that lie as declared")
(
    declared.join(seen, ["cluster", "observed_at", "topic", "partition"], "left")
    .groupBy("cluster")
    .agg(f.count("*").alias("partitions"), f.count_if(f.expr("declared = replicas")).alias("there"))
    .orderBy("cluster")
    .show()
)
spark.stop()
