"""A fleet of one real cluster and a simulated one: collected, judged and planned as each by itself."""

from pathlib import Path

from tests.builders import snapshot, state
from tests.commandline import replan
from tests.kafka.harness.clients import create_topic
from tests.kafka.harness.one_jvm import OneJvmCluster

from replan.fleet.api import DRIFT, JUDGED, PLANS, Lake
from replan.snapshots.api import write_snapshot


def test_a_real_cluster_is_judged_beside_a_simulated_one(
    one_jvm: OneJvmCluster, tmp_path: Path
) -> None:
    create_topic(one_jvm.bootstrap, "fleet", [[1, 2, 3]])
    write_snapshot(snapshot([state([1, 2, 3])]), tmp_path / "sim.json")
    declared = "version: 1\nassignments: {NAME: {partitions: [[1, 2, 4]]}}\n"
    for file, topic in (("real", "fleet"), ("sim", "orders")):
        (tmp_path / f"{file}.yaml").write_text(declared.replace("NAME", topic), encoding="utf-8")
    (tmp_path / "fleet.yaml").write_text(
        "version: 1\nlake: lake\nclusters:\n"
        f"  real: {{bootstrapServers: '{one_jvm.bootstrap}', placement: real.yaml}}\n"
        "  sim: {simulated: sim.json, placement: sim.yaml}\n",
        encoding="utf-8",
    )
    run = replan("fleet", "run", "-o", "report", folder=tmp_path)
    assert run.returncode == 2, run.stdout + run.stderr
    lake = Lake(str(tmp_path / "lake"))
    found = {r["cluster"]: r for r in lake.read(DRIFT).to_pylist()}
    assert {name: (r["topic"], r["class"]) for name, r in found.items()} == {
        "real": ("fleet", "operator"),
        "sim": ("orders", "operator"),
    }
    assert lake.read(JUDGED).num_rows == lake.read(PLANS).num_rows == 2
    one = replan("drift", "--cluster", "real", folder=tmp_path)
    assert one.returncode == 2, one.stderr
    assert "fleet-0" in one.stdout
