"""An executor is killed while it works: a run finds all the same what it finds undisturbed.

The placement of one cluster is a pipe: whoever is to judge that cluster waits in it, so that a test meets an executor
in the middle of its work, kills it, and lets the next one through.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commandline import LIMIT_SECONDS
from tests.fleet.fleets import rows_of
from tests.fleet.test_lost import Gate, gated, kill, parent
from tests.fleet.test_other_starts import SPARK, SUBMIT
from tests.fleet.test_two_workers import standalone

import replan
from replan.fleet.api import JUDGED, Lake

pytestmark = [
    pytest.mark.spark,
    pytest.mark.nightly,
    pytest.mark.timeout(4 * LIMIT_SECONDS),
]
MAIN = str(Path(replan.__file__).with_name("__main__.py"))
DRIFT = ("fleet", "drift", "--engine", "spark")
EXECUTOR = b"CoarseGrainedExecutorBackend"
TWO_EXECUTORS = ("--master", "local-cluster[2,1,1024]", "--conf", "spark.ui.enabled=false")
"""Each of them is a process of its own."""


@pytest.fixture
def unbroken(tmp_path: Path) -> dict[str, list[str]]:
    """What a run finds that nobody disturbs."""
    home = tmp_path / "unbroken"
    home.mkdir()
    gated(home).open()
    done = run(home, sys.executable, MAIN, "fleet", "drift", "--engine", "local")
    _, said = done.communicate()
    assert done.returncode == 2, said
    return rows(home)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    home = tmp_path / "broken"
    home.mkdir()
    found = gated(home)
    yield found
    found.close()


def run(home: Path, *command: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command, cwd=home, env=SPARK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def rows(home: Path) -> dict[str, list[str]]:
    """All rows; the digest of what a cluster is judged by has the content of its placement, which the pipe has not."""
    return rows_of(Lake(str(home / "lake")), less={JUDGED.name: ["inputs"]})


def kill_executor_and_await(
    running: "subprocess.Popen[str]", gate: Gate, unbroken: dict[str, list[str]]
) -> None:
    """Kill the executor that has come to the gate, with its Python; the run does as if nothing had been."""
    gate.reader(running)  # who started the run: it reads what is declared, as that may have changed
    worker = gate.reader(running)
    executor = parent(parent(worker))
    assert EXECUTOR in Path(f"/proc/{executor}/cmdline").read_bytes()
    gate.open()
    kill(executor)
    kill(worker)  # it would wait at the pipe
    _, said = running.communicate()
    assert running.returncode == 2, said
    assert "Traceback" not in said
    assert rows(gate.path.parent) == unbroken
    assert [file.name for file in (gate.path.parent / "lake").glob(".*")] == []


def test_an_executor_of_spark_submit(gate: Gate, unbroken: dict[str, list[str]]) -> None:
    running = run(gate.path.parent, SUBMIT, *TWO_EXECUTORS, MAIN, *DRIFT)
    kill_executor_and_await(running, gate, unbroken)


def test_an_executor_of_a_standalone_cluster(
    gate: Gate, unbroken: dict[str, list[str]], tmp_path: Path
) -> None:
    with standalone(tmp_path) as cluster:
        running = run(gate.path.parent, sys.executable, MAIN, *DRIFT, "--master", cluster.master)
        kill_executor_and_await(running, gate, unbroken)
