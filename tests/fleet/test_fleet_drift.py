"""The pipeline as a whole, by both engines: in this process, and in a real Spark session."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.builders import CLUSTER_ID, snapshot, state
from tests.fleet.fleets import write_fleet

from replan.errors import BadUsage
from replan.fleet.drift import SPARK_BYTES, Engine, chosen, find_sources
from replan.fleet.in_process import compare_in_process
from replan.fleet.result import FleetDrift, publish
from replan.fleet.tables import CLUSTERS, DRIFT, ERRORS
from replan.manifest.load import load_placement
from replan.planning.drift import Drift, find_drift
from replan.snapshots.files import read_snapshot, write_snapshot

Compare = Callable[[Path], FleetDrift]


ORDERS = """\
version: 1
cluster: {name: payments-eu}
assignments:
  orders:
    partitions: {0: [1, 2, 4]}
"""


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def compare(request: pytest.FixtureRequest) -> Compare:
    """Compares the fleet of a folder by one engine."""

    def in_process(home: Path) -> FleetDrift:
        return compare_in_process(find_sources(home / "snapshots", home / "placements"))

    def on_spark(home: Path) -> FleetDrift:
        from replan.fleet.on_spark import compare as compare_on_spark

        (home / "between").mkdir()
        sources = find_sources(home / "snapshots", home / "placements")
        return compare_on_spark(request.getfixturevalue("spark"), sources, home / "between")

    return in_process if request.param == "local" else on_spark


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


def test_a_fleet_gives_what_each_cluster_gives_by_itself(compare: Compare, tmp_path: Path) -> None:
    seeds = range(24)
    write_fleet(tmp_path, seeds)
    alone = in_process(tmp_path, seeds)
    found = compare(tmp_path)

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
    compare: Compare, fleet: Path
) -> None:
    found = compare(fleet)
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
    compare: Compare, fleet: Path
) -> None:
    (fleet / "snapshots" / "us.json").write_text("{", encoding="utf-8")
    (fleet / "placements" / "us.yaml").write_text(ORDERS, encoding="utf-8")
    found = compare(fleet)
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
    compare: Compare, fleet: Path
) -> None:
    write_snapshot(
        replace(snapshot([state([1, 2, 3])]), cluster_id="us"), fleet / "snapshots" / "us"
    )
    (fleet / "placements" / "us.yaml").write_text("version: 1\nassignments: 3\n", encoding="utf-8")
    found = compare(fleet)
    (error,) = found.errors.to_pylist()
    assert (error["cluster"], error["file"]) == ("us", str(fleet / "placements" / "us.yaml"))
    assert "us.yaml:2:" in error["message"]
    assert found.undeclared == ()
    assert found.rows.num_rows == 1


def test_a_snapshot_whose_tables_are_cut_is_a_row_although_its_header_is_whole(
    compare: Compare, fleet: Path
) -> None:
    file = fleet / "snapshots" / "eu" / "partitions.parquet"
    file.write_bytes(file.read_bytes()[:100])
    found = compare(fleet)
    (error,) = found.errors.to_pylist()
    assert error["cluster"] == "payments-eu"
    assert error["file"] == str(fleet / "snapshots" / "eu")
    assert error["message"].startswith(f"{file}: this is no whole Parquet file: ")
    assert (found.rows.num_rows, found.clusters.num_rows, found.exit_code) == (0, 0, 1)


def test_of_two_snapshots_of_a_cluster_the_newer_one_counts(compare: Compare, fleet: Path) -> None:
    later = snapshot([state([1, 2, 4])], observed_at="2026-11-21T03:00:00.5Z")
    write_snapshot(later, fleet / "snapshots" / "eu-later.json")
    (fleet / "placements" / "eu.yaml").write_text(
        ORDERS.replace("payments-eu", f"payments-eu, id: {CLUSTER_ID}"), encoding="utf-8"
    )
    found = compare(fleet)
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


def test_a_cluster_of_which_nothing_is_declared_has_no_drift(compare: Compare, fleet: Path) -> None:
    (fleet / "placements" / "eu.yaml").write_text("version: 1\n", encoding="utf-8")
    found = compare(fleet)
    (cluster,) = found.clusters.to_pylist()
    assert (cluster["partitions"], cluster["drifted"], found.exit_code) == (0, 0, 0)


def by_itself(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command on its own, since it starts and ends a session."""
    python = [sys.executable, "-W", "error::UserWarning"]
    folders = ["--snapshots", str(home / "snapshots"), "--placements", str(home / "placements")]
    output = ["--output", str(home / "out"), *arguments]
    return subprocess.run(
        [*python, "-m", "replan", "fleet", "drift", *folders, *output],
        capture_output=True,
        text=True,
        check=False,
    )


REPORT = """\
CLUSTER      PARTITIONS  DRIFTED  ON THE WAY  AS OF
payments-eu           1        1           0  2026-11-21T03:00:00Z

CLUSTER      PARTITION  CLASS     DECLARED  IS       LEADER
payments-eu  orders-0   replicas  [1,2,4]   [1,2,3]       1

Drift: 1 partition in 1 cluster.
"""


@pytest.mark.command
def test_a_small_fleet_is_compared_in_this_process_without_java(fleet: Path) -> None:
    run = by_itself(fleet)
    assert (run.stdout, run.stderr, run.returncode) == (REPORT, "", 2)
    assert sorted(p.name for p in (fleet / "out").iterdir()) == [
        "clusters.parquet",
        "drift.parquet",
        "errors.parquet",
    ]


@pytest.mark.spark
def test_the_whole_run_on_spark_prints_the_same_and_nothing_of_sparks(fleet: Path) -> None:
    run = by_itself(fleet, "--engine", "spark", "--master", "local[2]")
    assert (run.stdout, run.stderr, run.returncode) == (REPORT, "", 2)
    assert sorted(p.name for p in fleet.iterdir()) == ["out", "placements", "snapshots"]


@pytest.mark.spark
def test_a_master_that_there_is_not_is_said_in_sparks_words(fleet: Path) -> None:
    run = by_itself(fleet, "--master", "nowhere")
    first, *_, last = run.stderr.splitlines()
    assert first == "replan: Spark cannot start on master nowhere; it said last:"
    assert last.endswith("Master must either be yarn or start with spark, k8s, or local")
    assert (run.stdout, run.returncode) == ("", 1)


@pytest.mark.parametrize(
    ("engine", "master", "size", "expected"),
    [
        (Engine.AUTO, None, SPARK_BYTES, Engine.LOCAL),
        (Engine.AUTO, None, SPARK_BYTES + 1, Engine.SPARK),
        (Engine.AUTO, "local[2]", 1, Engine.SPARK),
        (Engine.LOCAL, None, SPARK_BYTES + 1, Engine.LOCAL),
        (Engine.SPARK, None, 1, Engine.SPARK),
    ],
)
def test_the_engine_suits_the_size_unless_one_is_named(
    engine: Engine, master: str | None, size: int, expected: Engine
) -> None:
    assert chosen(engine, master, size) is expected


def test_a_master_for_the_local_engine_is_a_mistake(fleet: Path) -> None:
    with pytest.raises(BadUsage):
        chosen(Engine.LOCAL, "local[2]", 1)
