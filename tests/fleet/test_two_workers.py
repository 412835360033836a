"""A standalone Spark of a master and two workers on this machine: both work, and find what one process finds."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.commandline import environment, replan
from tests.fleet.fleets import drawn_fleet, write_fleet, write_fleet_file
from tests.fleet.stores import KEY, SECRET, object_store
from tests.fleet.test_object_store import SEEDS, reached, rows

from replan.fleet.api import Lake

pytestmark = [pytest.mark.spark, pytest.mark.nightly]
PATIENCE_SECONDS = 900
MASTER = re.compile(r"Starting Spark master at (spark://\S+)")


@dataclass(frozen=True)
class Standalone:
    """A running cluster."""

    master: str
    folders: tuple[Path, ...]
    """Where each worker keeps what its executors write."""
    workers: tuple[int, ...]
    """Their processes."""


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("standalone")) as found:
        yield found


@contextmanager
def standalone(home: Path, before: Sequence[Sequence[str]] = ((), ())) -> Iterator[Standalone]:
    """A master and workers with a core each, which keep their files in this folder; `before`: each one's command."""
    with ExitStack() as stack:
        log = home / "master.log"
        stack.enter_context(daemon(log, "master.Master"))
        master = awaited(log, MASTER)
        folders = tuple(home / f"worker-{n}" for n, _ in enumerate(before, 1))
        workers = []
        for folder, words in zip(folders, before, strict=True):
            options = ("--cores", "1", "--memory", "1200m", "--work-dir", str(folder))
            log = home / f"{folder.name}.log"
            worker = daemon(log, "worker.Worker", *options, master, before=words)
            workers.append(stack.enter_context(worker))
            awaited(log, re.compile(r"(Successfully registered)"))
        yield Standalone(master, folders, tuple(workers))


@contextmanager
def daemon(log: Path, name: str, *arguments: str, before: Sequence[str] = ()) -> Iterator[int]:
    """One process of Spark's own, and its log; ended with the test. `before`: a program that starts it."""
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    options = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*before, str(program), f"org.apache.spark.deploy.{name}", *options, *arguments],
            env={"PATH": os.environ["PATH"], "SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=output,
            stderr=output,
        )
        try:
            yield process.pid
        finally:
            process.terminate()
            process.wait()


def awaited(log: Path, pattern: re.Pattern[str]) -> str:
    """What a process says, once it does."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        found = pattern.search(log.read_text(errors="replace"))
        if found is not None:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"{pattern.pattern}: not in\n{log.read_text(errors='replace')}")


def test_both_executors_work_and_the_tables_are_the_same(
    tmp_path: Path, spark_cluster: Standalone
) -> None:
    write_fleet(tmp_path, range(24, 40))
    fleet = ("fleet", "drift", "--snapshots", "snapshots", "--placements", "placements")
    here = replan(*fleet, "--engine", "local", "-o", "here", folder=tmp_path)
    there = subprocess.run(
        [sys.executable, "-m", "replan", *fleet, "--master", spark_cluster.master, "-o", "there"],
        cwd=tmp_path,
        env=environment(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (there.stdout, there.returncode) == (here.stdout, here.returncode), there.stderr
    assert there.stderr == f"engine: spark, which --master {spark_cluster.master} gives\n"
    for file in (tmp_path / "here").iterdir():
        assert pq.read_table(tmp_path / "there" / file.name) == pq.read_table(file), file.name
    for folder in spark_cluster.folders:
        said = "".join(log.read_text() for log in folder.glob("app-*/*/stderr"))
        assert re.search(r"Finished task \d", said), folder.name


def test_a_fleet_in_an_object_store_is_judged_by_executors_with_the_credentials_of_whoever_runs_it(
    tmp_path: Path, spark_cluster: Standalone
) -> None:
    write_fleet(tmp_path, SEEDS)
    with object_store() as store:
        for file in tmp_path.glob("[sp]*/**/*.*"):
            if file.is_file():
                store.put(str(file.relative_to(tmp_path)), file.read_bytes())
        for name in ("here", "there"):
            fleet = drawn_fleet(SEEDS, "s3a://ops/")
            write_fleet_file(tmp_path / f"{name}.yaml", fleet, f"s3a://ops/{name}")
        variables = {**store.variables, "SPARK_LOCAL_IP": "127.0.0.1"}
        run, python = ("fleet", "run", "--fleet"), {"PYSPARK_PYTHON": sys.executable}
        master = ("--master", spark_cluster.master)
        here = replan(*run, "here.yaml", folder=tmp_path, **variables)
        there = replan(*run, "there.yaml", *master, folder=tmp_path, **variables, **python)
        assert there.returncode == 2, there.stderr
        assert there.stdout == here.stdout
        written = store.contents()
        with reached(store):
            found = [rows(Lake(f"s3a://ops/{name}")) for name in ("here", "there")]
    assert found[0] == found[1]
    written_in = (tmp_path, *spark_cluster.folders)
    files = [file for folder in written_in for file in folder.rglob("*") if file.is_file()]
    assert any("stderr" in file.name for file in files)
    for name, content in {**written, **{str(f): f.read_bytes() for f in files}}.items():
        assert KEY.encode() not in content, name
        assert SECRET.encode() not in content, name
    assert KEY not in there.stdout + there.stderr
