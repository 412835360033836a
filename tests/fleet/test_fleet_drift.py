"""The pipeline as a whole, in a real session."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from tests.builders import CLUSTER_ID, snapshot, state
from tests.fleet.fleets import write_fleet

from replan.fleet.drift import compare, find_sources
from replan.fleet.result import FleetDrift, publish
from replan.fleet.tables import CLUSTERS, DRIFT, ERRORS
from replan.manifest.load import load_placement
from replan.planning.drift import Drift, find_drift
from replan.snapshots.files import read_snapshot, write_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ORDERS = """\
version: 1
cluster: {name: payments-eu}
assignments:
  orders:
    partitions: {0: [1, 2, 4]}
"""


def compared(spark: "SparkSession", home: Path) -> FleetDrift:
    between = home / "between"
    between.mkdir()
    return compare(spark, find_sources(home / "snapshots", home / "placements"), between)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A fleet of one cluster, eu, that differs in one partition."""
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "placements").mkdir()
    write_snapshot(snapshot([state([1, 2, 3])]), tmp_path / "snapshots" / "eu")
    (tmp_path / "placements" / "eu.yaml").write_text(ORDERS, encoding="utf-8")
    return tmp_path


def in_process(home: Path, seeds: range) -> dict[str, Drift]:
    """What the planner says of each cluster by itself."""
    found = {}
    for seed in seeds:
        name = f"cluster-{seed}"
        snapshots, placements = home / "snapshots", home / "placements"
        path = snapshots / (f"{name}.json" if seed % 2 else name)
        declared = placements / (f"{name}.yaml" if seed % 3 else name)
        found[name] = find_drift(load_placement([declared]), read_snapshot(path))
    return found


def rows_of(name: str, drift: Drift) -> list[dict[str, Any]]:
    """One cluster's drift in the fleet's columns, partitions beyond the declared count left out."""
    return [
        {
            "cluster_id": name,
            "cluster_name": name.replace("cluster", "fleet"),
            "topic": d.partition.topic,
            "partition": d.partition.partition,
            "kind": d.kind,
            "declared": list(d.declared),
            "observed": list(d.observed),
            "leader": -1 if d.leader is None else d.leader,
            "observed_at": drift.observed_at,
        }
        for d in drift.partitions
    ]


def test_a_fleet_gives_what_each_cluster_gives_by_itself(
    spark: "SparkSession", tmp_path: Path
) -> None:
    seeds = range(24)
    write_fleet(tmp_path, seeds)
    alone = in_process(tmp_path, seeds)
    found = compared(spark, tmp_path)

    assert found.errors.to_pylist() == []
    surplus = [r for r in found.rows.to_pylist() if r["kind"] == "partitions"]
    rows = [r for r in found.rows.to_pylist() if r["kind"] != "partitions"]
    key = ("cluster_name", "cluster_id", "topic", "partition", "kind")
    expected = [row for name, drift in alone.items() for row in rows_of(name, drift)]
    assert rows == sorted(expected, key=lambda r: [r[k] for k in key])
    assert {(r["cluster_id"], r["topic"], r["partition"]) for r in surplus} == {
        (name, c.topic, p)
        for name, drift in alone.items()
        for c in drift.counts
        for p in range(c.declared, c.observed)
    }
    converging = {c["cluster_id"]: c["converging"] for c in found.clusters.to_pylist()}
    assert converging == {name: len(drift.converging) for name, drift in alone.items()}
    assert {d.kind for drift in alone.values() for d in drift.partitions} == {
        "missing",
        "replicas",
        "order",
        "leader",
    }
    assert any(converging.values())
    assert surplus


def test_the_tables_have_their_declared_schemas_and_survive_publishing(
    spark: "SparkSession", fleet: Path
) -> None:
    found = compared(spark, fleet)
    publish(found, fleet / "out")
    publish(found, fleet / "out")
    for name, schema, table in (
        ("drift", DRIFT, found.rows),
        ("clusters", CLUSTERS, found.clusters),
        ("errors", ERRORS, found.errors),
    ):
        assert table.schema == schema
        assert pq.ParquetFile(fleet / "out" / f"{name}.parquet").read() == table


def test_a_broken_snapshot_is_a_row_and_the_others_are_compared(
    spark: "SparkSession", fleet: Path
) -> None:
    (fleet / "snapshots" / "us.json").write_text("{", encoding="utf-8")
    (fleet / "placements" / "us.yaml").write_text(ORDERS, encoding="utf-8")
    found = compared(spark, fleet)
    file = fleet / "snapshots" / "us.json"
    assert found.errors.to_pylist() == [
        {
            "cluster": "payments-eu",
            "file": str(fleet / "placements" / "us.yaml"),
            "message": "no readable snapshot is named us; name it so, or say `cluster.id`",
        },
        {
            "cluster": "us",
            "file": str(file),
            "message": f"{file}:1:2: this is not JSON: Expecting property name enclosed in double quotes",
        },
    ]
    assert found.rows.num_rows == 1
    assert found.exit_code == 1


def test_a_broken_placement_is_a_row_and_the_others_are_compared(
    spark: "SparkSession", fleet: Path
) -> None:
    write_snapshot(
        replace(snapshot([state([1, 2, 3])]), cluster_id="us"), fleet / "snapshots" / "us"
    )
    (fleet / "placements" / "us.yaml").write_text("version: 1\nassignments: 3\n", encoding="utf-8")
    found = compared(spark, fleet)
    (error,) = found.errors.to_pylist()
    assert (error["cluster"], error["file"]) == ("us", str(fleet / "placements" / "us.yaml"))
    assert "us.yaml:2:" in error["message"]
    assert found.undeclared == ()
    assert found.rows.num_rows == 1


def test_a_snapshot_whose_tables_are_cut_is_a_row_although_its_header_is_whole(
    spark: "SparkSession", fleet: Path
) -> None:
    file = fleet / "snapshots" / "eu" / "partitions.parquet"
    file.write_bytes(file.read_bytes()[:100])
    found = compared(spark, fleet)
    (error,) = found.errors.to_pylist()
    assert error["cluster"] == "payments-eu"
    assert error["file"] == str(fleet / "snapshots" / "eu")
    assert error["message"].startswith(f"{file}: this is no whole Parquet file: ")
    assert (found.rows.num_rows, found.clusters.num_rows, found.exit_code) == (0, 0, 1)


def test_of_two_snapshots_of_a_cluster_the_newer_one_counts(
    spark: "SparkSession", fleet: Path
) -> None:
    later = snapshot([state([1, 2, 4])], observed_at="2026-11-21T03:00:00.5Z")
    write_snapshot(later, fleet / "snapshots" / "eu-later.json")
    (fleet / "placements" / "eu.yaml").write_text(
        ORDERS.replace("payments-eu", f"payments-eu, id: {CLUSTER_ID}"), encoding="utf-8"
    )
    found = compared(spark, fleet)
    assert (found.rows.num_rows, found.older, found.exit_code) == (0, 1, 0)
    assert found.clusters.to_pylist() == [
        {
            "cluster_id": CLUSTER_ID,
            "cluster_name": "payments-eu",
            "observed_at": "2026-11-21T03:00:00.5Z",
            "partitions": 1,
            "drifted": 0,
            "converging": 0,
        }
    ]


def test_a_cluster_of_which_nothing_is_declared_has_no_drift(
    spark: "SparkSession", fleet: Path
) -> None:
    (fleet / "placements" / "eu.yaml").write_text("version: 1\n", encoding="utf-8")
    found = compared(spark, fleet)
    (cluster,) = found.clusters.to_pylist()
    assert (cluster["partitions"], cluster["drifted"], found.exit_code) == (0, 0, 0)


def by_itself(home: Path, master: str) -> "subprocess.CompletedProcess[str]":
    """The command on its own, since it starts and ends a session."""
    python = [sys.executable, "-W", "error::UserWarning"]
    folders = ["--snapshots", str(home / "snapshots"), "--placements", str(home / "placements")]
    output = ["--output", str(home / "out"), "--master", master]
    return subprocess.run(
        [*python, "-m", "replan", "fleet", "drift", *folders, *output],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_whole_run_prints_its_report_and_nothing_of_sparks(fleet: Path) -> None:
    run = by_itself(fleet, "local[2]")
    assert run.stderr == ""
    assert run.stdout == (
        "CLUSTER      PARTITIONS  DRIFTED  ON THE WAY  AS OF\n"
        "payments-eu           1        1           0  2026-11-21T03:00:00Z\n"
        "\n"
        "CLUSTER      PARTITION  CLASS     DECLARED  IS       LEADER\n"
        "payments-eu  orders-0   replicas  [1,2,4]   [1,2,3]       1\n"
        "\n"
        "Drift: 1 partition in 1 cluster.\n"
    )
    assert run.returncode == 2
    assert sorted(p.name for p in fleet.iterdir()) == ["out", "placements", "snapshots"]


def test_a_master_that_there_is_not_is_said_in_sparks_words(fleet: Path) -> None:
    run = by_itself(fleet, "nowhere")
    first, *_, last = run.stderr.splitlines()
    assert first == "replan: Spark cannot start on master nowhere; it said last:"
    assert last.endswith("Master must either be yarn or start with spark, k8s, or local")
    assert (run.stdout, run.returncode) == ("", 1)
