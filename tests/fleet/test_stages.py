"""Stages on tiny tables, in a real session."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pytest
from tests.fleet.fleets import drawn_placement, drawn_snapshot

from replan.fleet.between import Lake
from replan.fleet.resolve import resolve
from replan.fleet.tables import DIFFERENCES, RESOLVED, spark_schema
from replan.manifest.load import load_placement
from replan.planning.comparison.alignment import Alignment
from replan.planning.comparison.diff import differing
from replan.planning.comparison.overlays import wanted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def rows(spark: "SparkSession", *found: dict[str, object]) -> "DataFrame":
    empty = dict.fromkeys(RESOLVED.names) | {"bucket": 0}
    return spark.createDataFrame([empty | row for row in found], spark_schema(RESOLVED))


def declared(cluster: str, partition: int, *replicas: int) -> dict[str, object]:
    common = {"cluster_id": cluster, "topic": "orders", "partition": partition}
    return {**common, "side": "declared", "replicas": list(replicas)}


def observed(cluster: str, partition: int, *replicas: int) -> dict[str, object]:
    lists = {"isr": list(replicas), "adding": [], "removing": [], "leader": replicas[0]}
    return {**declared(cluster, partition, *replicas), **lists, "side": "observed"}


def collected(spark: "SparkSession", home: Path, found: "DataFrame") -> list[dict[str, Any]]:
    lake = Lake(spark, home)
    lake.write("found", found)
    rows: list[dict[str, Any]] = lake.arrow("found", DIFFERENCES).to_pylist()
    return sorted(rows, key=lambda r: (r["cluster_id"], r["topic"], r["partition"]))


def test_each_cluster_is_compared_with_itself_alone(spark: "SparkSession", tmp_path: Path) -> None:
    from replan.fleet.stages import differences

    found = differences(
        rows(
            spark,
            declared("a", 0, 1, 2),
            declared("b", 0, 1, 2),
            declared("c", 0, 1, 2),  # a cluster without any of its topics
        ),
        rows(
            spark,
            observed("a", 0, 1, 2),
            observed("b", 0, 2, 1),
            observed("d", 0, 1, 2),  # observed, but nothing declared
        ),
    )
    common = {"topic": "orders", "partition": 0, "declared": [1, 2]}
    assert collected(spark, tmp_path, found) == [
        {**common, "cluster_id": "b", "kind": "order", "observed": [2, 1], "leader": 2},
        {**common, "cluster_id": "c", "kind": "missing", "observed": [], "leader": -1},
    ]


@pytest.mark.parametrize(("rows_per_bucket", "buckets"), [(1, 3), (3, 2), (1000, 1)])
def test_buckets_change_nothing(
    spark: "SparkSession", tmp_path: Path, rows_per_bucket: int, buckets: int
) -> None:
    from replan.fleet.stages import differences

    snapshot = drawn_snapshot(5)
    file = tmp_path / "placement.yaml"
    file.write_text(drawn_placement(5, snapshot, "five"), encoding="utf-8")
    placement = load_placement([file])
    alone = differing(wanted(Alignment.of(placement, snapshot)).table, snapshot.partitions)
    resolved = resolve(placement, snapshot, rows_per_bucket)
    found = differences(spark.createDataFrame(resolved), spark.createDataFrame(resolved))

    expected = [{"cluster_id": snapshot.cluster_id, **row} for row in alone.to_pylist()]
    assert expected
    assert collected(spark, tmp_path, found) == expected
    assert len(pc.unique(resolved.column("bucket"))) == buckets
