"""`fleet run` as managed Spark starts it, by spark-submit, and through a Spark Connect server: as on this machine."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from tests.commandline import environment, replan
from tests.fleet.fleets import drawn_fleet, rows_of, write_fleet, write_fleet_file
from tests.fleet.test_two_workers import awaited

import replan as package
from replan.fleet.api import HISTORY, Lake

pytestmark = [pytest.mark.spark, pytest.mark.nightly]
SEEDS = range(24, 36)
SUBMIT = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
PORT = re.compile(r"Spark Connect server started at: \S*:(\d+)")
SPARK = environment(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A fleet of twelve clusters, with a file for each of two lakes, and what the local engine says of the first."""
    write_fleet(tmp_path, SEEDS)
    for lake in ("here", "there"):
        write_fleet_file(tmp_path / f"{lake}.yaml", drawn_fleet(SEEDS), f"{lake}/lake")
    return tmp_path


def run_here(home: Path) -> subprocess.CompletedProcess[str]:
    return replan(*("fleet", "run", "--fleet", "here.yaml", "-o", "here/report"), folder=home)


def same_tables(home: Path) -> None:
    here, there = Lake(str(home / "here" / "lake")), Lake(str(home / "there" / "lake"))
    assert rows_of(here) == rows_of(there)
    assert here.read(HISTORY).num_rows
    plans = sorted((home / "here" / "report" / "plans").iterdir())
    assert plans
    for plan in plans:
        assert plan.read_bytes() == (home / "there" / "report" / "plans" / plan.name).read_bytes()


def test_spark_submit_runs_the_whole_pipeline(fleet: Path) -> None:
    here = run_here(fleet)
    there = subprocess.run(
        [
            *(SUBMIT, "--master", "local[2]", str(Path(package.__file__).with_name("__main__.py"))),
            *("fleet", "run", "--fleet", "there.yaml", "-o", "there/report"),
        ],
        cwd=fleet,
        env=SPARK,
        capture_output=True,
        text=True,
        check=False,
    )
    said = f"engine: spark, which spark-submit gives\n{here.stdout}"  # it joins stderr to stdout
    assert (there.stdout, there.returncode) == (said, here.returncode), there.stderr[-2000:]
    same_tables(fleet)


def test_a_connect_server_runs_the_whole_pipeline(fleet: Path) -> None:
    here = run_here(fleet)
    with connect_server(fleet / "server.log") as address:
        options = ("--fleet", "there.yaml", "--remote", address, "-o", "there/report")
        there = replan("fleet", "run", *options, folder=fleet)
        folders = ("--snapshots", "snapshots", "--placements", "placements")
        unshared = replan("fleet", "drift", *folders, "--remote", address, folder=fleet)
    assert "the executors need a folder that all of them see" in unshared.stderr
    assert (unshared.stdout, unshared.returncode) == ("", 1)
    assert (there.stdout, there.returncode) == (here.stdout, here.returncode), there.stderr
    same_tables(fleet)


@contextmanager
def connect_server(log: Path) -> Iterator[str]:
    """A Spark Connect server, its address; ended with the test."""
    settings = ("--conf", "spark.connect.grpc.binding.port=0", "--conf", "spark.ui.enabled=false")
    command = [SUBMIT, "--master", "local[2]", *settings, "--class", SERVER, "spark-internal"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=SPARK, stdout=output, stderr=output)
        try:
            yield f"sc://127.0.0.1:{awaited(log, PORT)}"
        finally:
            process.terminate()
            process.wait()
