"""A process of a run is killed: what it was doing is done again, then an error of its cluster, and never of the run."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from tests.commandline import LIMIT_SECONDS, environment, python, replan, start
from tests.fleet.fleets import BAD, ORDERS, keep_snapshot, observed, write_fleet_file

from replan.fleet.api import ERRORS, JUDGED, Lake
from replan.fleet.spark.api import find_java

pytestmark = pytest.mark.slow

NAMES = ("slow", "eu", "us", "lab")
WORK = """
import json
from replan.fleet.in_process import MUCH, Here
from replan.fleet.lake.delta import Hour, Lake
from replan.fleet.do_task import DRIFT_STAGES
from replan.fleet.run import do_and_commit
from replan.fleet.tasks.todo import Todo
from replan.fleet.tasks.work import Task

if __name__ == "__main__":
    at = "2026-11-21T03:00:00Z"
    names = ("slow", "eu", "us", "lab")
    tasks = [Task(n, n, at, f"{n}.yaml", "lake", partitions=MUCH) for n in names]
    todo = Todo(tuple(tasks))
    found = do_and_commit(Lake("lake"), todo, DRIFT_STAGES, Here(), Hour.of("", at))
    print(json.dumps({name: found.rows[name].to_pylist() for name in ("judged", "errors")}, default=str))
"""

CONTEXT = """
import sys

from pyspark import SparkContext
from pyspark.accumulators import _start_update_server

from replan.fleet.spark.session import ProcessLost, spark_session


def kill_java(frame, event, argument):
    if frame.f_code is _start_update_server.__code__:
        sys.setprofile(None)
        SparkContext._gateway.proc.kill()
        SparkContext._gateway.proc.wait()


sys.setprofile(kill_java)
try:
    with spark_session("local[1]"):
        print("a context of a Java that is gone")
except ProcessLost as lost:
    print(lost)
with spark_session("local[1]") as spark:
    print(spark.range(3).count())
"""
"""A session whose Java is killed while PySpark makes its context, which Java's has been made for, and one after it."""


class Gate:
    """A placement that its reader waits for, so that a test meets that process in the middle of its work."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.met: set[int] = set()
        self.writer: io.FileIO | None = None
        os.mkfifo(path)

    def reader(self, run: "subprocess.Popen[str]") -> int:
        """A process that has begun to read, each once; it waits until the next is asked for, unless it is killed.

        Raises AssertionError where the run has ended, and nobody will.
        """
        while any(self._has(Path("/proc", str(number))) for number in self.met):
            self.close()  # it finds an empty file
            time.sleep(0.05)
        self.writer = self.writer or self._writer(run)
        while True:
            assert run.poll() is None, run.communicate()
            for process in Path("/proc").glob("[0-9]*"):
                number = int(process.name)
                if number not in {os.getpid(), *self.met} and self._has(process):
                    self.met.add(number)
                    return number

    def close(self) -> None:
        """Let whoever waits at the gate find an empty file."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    def _writer(self, run: "subprocess.Popen[str]") -> io.FileIO:
        """The pipe, to write to, once somebody reads from it."""
        while True:
            with suppress(OSError):  # nobody reads
                return io.FileIO(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK), "w")
            assert run.poll() is None, run.communicate()
            time.sleep(0.05)

    def open(self) -> None:
        """Let whoever reads from now on find a placement."""
        whole = self.path.with_suffix(".whole")
        whole.write_text(ORDERS)
        whole.replace(self.path)

    def _has(self, process: Path) -> bool:
        try:
            return any(fd.readlink() == self.path for fd in (process / "fd").iterdir())
        except OSError:  # it has ended
            return False


def kill(victim: int) -> None:
    os.kill(victim, signal.SIGKILL)


def parent(process: int) -> int:
    return int(state_and_parent(process)[1])


def is_alive(process: int) -> bool:
    try:
        return state_and_parent(process)[0] != "Z"  # it has ended, and nobody has asked how
    except FileNotFoundError:
        return False


def state_and_parent(process: int) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[:2]


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    found = gated(tmp_path)
    yield found
    found.close()


def gated(home: Path) -> Gate:
    """A fleet of four clusters, of which the placement of one is the gate."""
    for name in NAMES:
        keep_snapshot(Lake(str(home / "lake")), observed(BAD, cluster_id=name), name)
        if name != "slow":
            (home / f"{name}.yaml").write_text(ORDERS)
    fleet = {name: f"placement: {name}.yaml" for name in NAMES}
    write_fleet_file(home / "fleet.yaml", fleet)
    return Gate(home / "slow.yaml")


def test_nobody_waits_at_a_gate_for_a_run_that_has_ended(gate: Gate) -> None:
    ended = subprocess.Popen(("false",), stdout=subprocess.PIPE, text=True)
    with pytest.raises(AssertionError):
        gate.reader(ended)


@pytest.mark.timeout(LIMIT_SECONDS)
@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_a_lost_worker_of_the_local_engine_costs_a_retry_and_then_one_error(
    gate: Gate, times: int
) -> None:
    script = gate.path.with_name("work.py")
    script.write_text(WORK)
    running = subprocess.Popen(
        [sys.executable, str(script)],
        cwd=script.parent,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for number in range(times):
        victim = gate.reader(running)
        if number == 0 and times == 1:
            gate.open()
        kill(victim)
    output, said = running.communicate()
    assert (running.returncode, said) == (0, "")
    found = json.loads(output)
    judged = {row["cluster"] for row in found["judged"]}
    assert judged == {"eu", "us", "lab"} | ({"slow"} if times == 1 else set())
    assert {row["cluster"] for row in found["errors"]} == ({"slow"} if times == 2 else set())
    why = "the worker process that judged it was ended by SIGKILL, 2 times; the kernel does that where memory is short"
    assert all(row["message"].startswith(why) for row in found["errors"])


def victims(reader: int) -> dict[str, int]:
    """The processes of Spark above the Python worker that reads; none are above one whose daemon was killed."""
    found = {"worker": reader, "daemon": reader}
    if (daemon := parent(reader)) > 1:
        found |= {"daemon": daemon, "java": parent(daemon)}
        assert found["java"] > 1, "Java is there as long as its daemon"
    return found


def judged(home: Path) -> set[str]:
    return set(Lake(str(home / "lake")).read(JUDGED).column("cluster").to_pylist())


def errors(home: Path) -> dict[str, str]:
    rows = Lake(str(home / "lake")).read(ERRORS).to_pylist()
    return {row["cluster"]: row["message"] for row in rows}


DRIFT = ("fleet", "drift", "--engine", "spark")
WHY = {
    "worker": "the Python worker or executor that judged it was lost 2 times",
    "daemon": "the Python worker or executor that judged it was lost 2 times",
    "java": "Spark's Java process",
}


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tmp"
    folder.mkdir()
    yield folder
    assert [f.name for f in folder.iterdir() if not f.name.startswith("hsperfdata")] == []


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(2 * LIMIT_SECONDS)
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("victim", ["worker", "daemon", "java"])
def test_a_lost_process_of_spark_costs_a_retry_and_then_one_error(
    gate: Gate, temporary: Path, victim: str, times: int
) -> None:
    home = gate.path.parent
    running = start(DRIFT, folder=home, TMPDIR=str(temporary))
    assert gate.reader(running) == running.pid, "it reads what is declared: that may have changed"
    for _ in range(times):
        found = victims(gate.reader(running))
        if times == 1:
            gate.open()
        kill(found[victim])
        if found[victim] != found["worker"]:
            kill(found["worker"])  # it outlives the others for a while
    output, said = running.communicate()
    assert "Traceback" not in said
    lost = errors(home)
    assert judged(home) == {*NAMES} - lost.keys(), said
    assert running.returncode == (2 if times == 1 else 1), said
    assert all(message.startswith(WHY[victim]) for message in lost.values()), lost
    if times == 1:
        assert not lost
    elif victim == "java":
        assert "slow" in lost, "and what the two have not come to"
    else:
        assert set(lost) == {"slow"}
    assert output
    assert [file.name for file in (home / "lake").glob(".*")] == []


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(2 * LIMIT_SECONDS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_in_spark_as_any_other(
    gate: Gate, temporary: Path, number: signal.Signals
) -> None:
    home = gate.path.parent
    running = start(DRIFT, folder=home, TMPDIR=str(temporary))
    assert gate.reader(running) == running.pid
    found = victims(gate.reader(running))
    running.send_signal(number)
    output, said = running.communicate()
    assert (running.returncode, output, said) == (130, "", "replan: interrupted\n")
    while any(map(is_alive, found.values())):
        time.sleep(0.1)
    assert [file.name for file in (home / "lake").glob(".*")] == []
    assert judged(home) == set()


def java_that_ends(home: Path, starts: Sequence[int]) -> Path:
    """A Java that is killed at these of its starts; the first is that of Spark's launcher, the second Spark itself."""
    real = find_java(os.environ)
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text(real.release)
    program = home / "bin" / "java"
    program.write_text(
        f"#!/bin/sh\necho >> {home}/starts\n"
        f"case $(wc -l < {home}/starts) in {'|'.join(map(str, starts))}) kill -9 $$;; esac\n"
        f'exec {real.home}/bin/java "$@"\n'
    )
    program.chmod(0o755)
    return home


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.parametrize("starts", [[1], [2], [2, 4]])
def test_java_that_ends_while_it_starts_is_started_once_more(
    gate: Gate, temporary: Path, tmp_path: Path, starts: Sequence[int]
) -> None:
    gate.open()
    java = java_that_ends(tmp_path / "java", starts)
    run = replan(*DRIFT, folder=gate.path.parent, TMPDIR=str(temporary), JAVA_HOME=str(java))
    if len(starts) == 1:
        assert (run.returncode, len(judged(gate.path.parent))) == (2, 4), run.stderr
        return
    said = "Spark cannot start on master local[*,3]: its Java process ended while it started\n"
    assert run.stderr.startswith(f"replan: {said}")
    assert (run.returncode, run.stdout, judged(gate.path.parent)) == (1, "", set())
    assert errors(gate.path.parent) == {}


@pytest.mark.spark
@pytest.mark.nightly
def test_java_that_ends_while_a_context_is_made_leaves_room_for_another(temporary: Path) -> None:
    run = python("-c", CONTEXT, folder=temporary, TMPDIR=str(temporary))
    lost = r"Spark's Java process \(pid \d+\) ended by SIGKILL"
    assert re.fullmatch(rf"{lost}\n3\n", run.stdout), run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(2 * LIMIT_SECONDS)
def test_what_a_killed_driver_leaves_is_removed_by_the_next_run(
    gate: Gate, temporary: Path
) -> None:
    home = gate.path.parent
    running = start(DRIFT, folder=home, TMPDIR=str(temporary))
    assert gate.reader(running) == running.pid
    found = victims(gate.reader(running))
    kill(running.pid)
    running.communicate()
    while is_alive(found["java"]):
        time.sleep(0.1)
    assert [file.name[:14] for file in (home / "lake").glob(".*")] == [".replan-fleet-"]
    gate.open()
    again = replan(*DRIFT, folder=home, TMPDIR=str(temporary))
    assert (again.returncode, judged(home)) == (2, {*NAMES}), again.stderr
    assert [file.name for file in (home / "lake").glob(".*")] == []


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(2 * LIMIT_SECONDS)
def test_a_worker_that_dies_while_a_source_is_planned_is_said_to_be_lost(tmp_path: Path) -> None:
    """Spark asks no second one by itself; then all is done once more (`InSpark`), and the second worker lives."""
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource

    from replan.fleet.spark.api import ProcessLost, spark_session

    died = tmp_path / "died"

    class Dying(DataSource):  # type: ignore[misc]  # PySpark leaves it untyped
        @classmethod
        def name(cls) -> str:
            return "dying"

        def schema(self) -> str:
            if not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return "number int"

    def columns(spark: SparkSession) -> list[str]:
        spark.dataSource.register(Dying)
        return list(spark.read.format("dying").load().columns)

    with pytest.raises(ProcessLost), spark_session("local[1]") as spark:
        columns(spark)
    with spark_session("local[1]") as spark:
        assert columns(spark) == ["number"]
