"""The stages in one Spark session, which these tests share, and its event log: the same rows as on this machine."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.commandline import python
from tests.fleet.fleets import NOW, rows_of, sized

from replan.fleet.api import (
    COMPARED_AT_ONCE,
    COMPARING,
    DECLARED,
    DRIFT_STAGES,
    HISTORY,
    TABLES,
    Here,
    Lake,
    Stage,
    Todo,
    Workers,
    do_and_commit,
    run_history,
    written_by,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

KILOBYTES_OF_NAMES = 4096
"""What a task of any size says of the seven tables that it writes."""


@pytest.fixture(scope="module")
def event_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which Spark notes what it does, as the user's own settings have it."""
    home = tmp_path_factory.mktemp("spark")
    (home / "events").mkdir()
    settings = {"enabled": "true", "compress": "false", "dir": (home / "events").as_uri()}
    lines = [f"spark.eventLog.{name} {value}\n" for name, value in settings.items()]
    (home / "spark-defaults.conf").write_text("".join(lines))
    return home / "events"


@pytest.fixture(scope="module")
def spark(event_log: Path) -> "Iterator[SparkSession]":
    from replan.fleet.spark.api import spark_session

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(event_log.parent))
        with spark_session("local[2]") as session:
            yield session


def test_giant_clusters_that_are_compared_in_parts_have_the_rows_of_whole_ones(
    spark: "SparkSession", in_a_lake: Callable[[str], tuple[Lake, Todo]]
) -> None:
    from replan.fleet.spark.api import InSpark

    whole, (lake, todo) = in_a_lake("whole"), in_a_lake("parts")
    giant = sized(todo, 3 * COMPARED_AT_ONCE)
    found = do_and_commit(*whole, COMPARING, Here(), NOW)
    in_parts = do_and_commit(lake, giant, COMPARING, InSpark(session=spark), NOW)
    assert dict(found.rows) == dict(in_parts.rows)
    assert found.counts == in_parts.counts
    lengths = {len(files) for files in lake.files(DECLARED).values()}
    assert lengths > {1}, "some of them need the whole cluster"
    assert not list(Path(lake.address).rglob("*.part"))


def test_spark_gives_the_same_tables_in_one_commit_each(
    spark: "SparkSession", event_log: Path, in_a_lake: Callable[[str], tuple[Lake, Todo]]
) -> None:
    """Also where it is done again; what the run says is what the local engine says, and what Spark notes is little."""
    from replan.fleet.spark.api import InSpark

    (lake, todo), (other, others) = in_a_lake("here"), in_a_lake("there")
    here = do_and_commit(lake, todo, list(Stage), Here(), NOW)
    tables = [TABLES[name] for name in written_by(list(Stage))]
    rows = rows_of(lake, *tables)
    assert all(rows.values())
    for times in (1, 2):
        with noted(spark, event_log) as stages:
            there = do_and_commit(other, others, list(Stage), InSpark(session=spark), NOW)
        assert dict(there.rows) == dict(here.rows)
        assert there.counts == {name: found.num_rows for name, found in there.rows.items()}
        assert rows_of(other, *tables) == rows
        for kind in tables:
            table = other.opened(kind)
            assert table is not None
            assert table.version() == times, "one commit a run, after that of the empty table"
        (tasks,) = stages.values()
        assert len(tasks) == len(others.tasks)
        assert_none_of_its_rows(tasks)
    assert not list(Path(other.address).glob(".replan-fleet-*"))


def assert_none_of_its_rows(tasks: Sequence[dict[str, Any]]) -> None:
    """By Spark's own event log: what comes back from a task are the names of its files."""
    measured = [task["Task Metrics"] for task in tasks]
    assert sum(one["Shuffle Write Metrics"]["Shuffle Bytes Written"] for one in measured) == 0
    counted: dict[str, list[int]] = {}
    for metric in (m for task in tasks for m in task["Task Info"]["Accumulables"]):
        counted.setdefault(metric["Name"], []).append(int(metric["Update"]))
    rows = counted["number of output rows"]
    assert rows == [1] * 2 * len(tasks), "a task is a row, and so is what was done for it"
    assert max(counted["data returned from Python workers"]) < KILOBYTES_OF_NAMES
    assert max(one["Result Size"] for one in measured) < 2 * KILOBYTES_OF_NAMES


def test_spark_gives_the_same_history_whole_and_by_topic(
    tmp_path: Path,
    in_a_lake: Callable[[str], tuple[Lake, Todo]],
    spark: "SparkSession",
) -> None:
    from replan.fleet.spark.api import InSpark, history_frame, lake_frame

    made = in_a_lake("here"), in_a_lake("there")
    both: list[Workers] = [Here(), InSpark(session=spark)]
    for (lake, todo), workers in zip(made, both, strict=True):
        do_and_commit(lake, todo, DRIFT_STAGES, Here(), NOW)
        for _ in range(2):
            run_history(lake, [*(task.cluster for task in todo.tasks), "stranger"], workers)
    rows = [rows_of(lake, HISTORY)[HISTORY.name] for lake, _ in made]
    assert rows[0] == rows[1] != []
    table = made[1][0].opened(HISTORY)
    assert table is not None
    assert table.version() == 1, "what has not changed is not written again"
    assert not list(Path(made[1][0].address).glob(".replan-fleet-*"))
    judged, history, drift, moved = (
        lake_frame(spark, made[0][0], TABLES[name])
        for name in ("judged", "history", "drift", "applications")
    )
    divided = {task.cluster: 3 for task in made[0][1].tasks[::2]}
    by_topic = written_rows(
        history_frame(judged, history, drift, moved, divided), tmp_path / "history"
    )
    assert sorted(map(str, by_topic.to_pylist())) == rows[0]


@contextmanager
def noted(spark: "SparkSession", event_log: Path) -> Iterator[dict[int, list[dict[str, Any]]]]:
    """What Spark notes of the tasks of the jobs in the `with`, by stage; it is there after it."""
    group, found = f"jobs {time.monotonic_ns()}", dict[int, list[dict[str, Any]]]()
    spark.sparkContext.setJobGroup(group, "")
    yield found
    spark.sparkContext.setJobGroup("elsewhere", "")
    (log,) = event_log.glob(f"*{spark.sparkContext.applicationId}/events_*")
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    jobs = (event for event in events if event["Event"] == "SparkListenerJobStart")
    mine = (job for job in jobs if job["Properties"].get("spark.jobGroup.id") == group)
    found |= {stage: [] for job in mine for stage in job["Stage IDs"]}
    for event in events:
        if event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in found:
            found[event["Stage ID"]].append(event)


def test_spark_reads_and_shuffles_what_a_history_is_made_of_and_the_driver_gets_names(
    event_log: Path,
    in_a_lake: Callable[[str], tuple[Lake, Todo]],
    spark: "SparkSession",
) -> None:
    """By its own event log: each row of the tables that executors read is shuffled once."""
    from replan.fleet.spark.api import InSpark

    lake, todo = in_a_lake("there")
    do_and_commit(lake, todo, DRIFT_STAGES, Here(), NOW)
    with noted(spark, event_log) as stages:
        run_history(lake, [task.cluster for task in todo.tasks], InSpark(session=spark))
    measured = [task["Task Metrics"] for tasks in stages.values() for task in tasks]
    rows = sum(lake.read(TABLES[name]).num_rows for name in ("judged", "drift"))
    shuffled = [one["Shuffle Write Metrics"]["Shuffle Records Written"] for one in measured]
    fetched = [one["Shuffle Read Metrics"]["Total Records Read"] for one in measured]
    assert rows == sum(shuffled) == sum(fetched) > len(todo.tasks)
    assert sum(one["Shuffle Write Metrics"]["Shuffle Bytes Written"] for one in measured) > 0
    assert max(one["Result Size"] for one in measured) < 2 * KILOBYTES_OF_NAMES
    assert lake.read(HISTORY).num_rows


def test_the_rows_of_a_table_are_a_dataframe(
    tmp_path: Path,
    in_a_lake: Callable[[str], tuple[Lake, Todo]],
    spark: "SparkSession",
) -> None:
    from replan.fleet.spark.api import one_partition_each, rows_frame, tasks_frame

    lake, todo = in_a_lake("here")
    here = do_and_commit(lake, todo, list(Stage), Here(), NOW)
    able = [task for task in todo.tasks if task.cluster != "c51"]
    tasks, usual = tasks_frame(spark, able), spark.range(3).rdd.getNumPartitions()
    with one_partition_each(spark, able):
        assert tasks_frame(spark, able).rdd.getNumPartitions() == len(able)
    assert spark.range(3).rdd.getNumPartitions() == usual
    found = written_rows(rows_frame(tasks, "drift"), tmp_path / "drift")
    assert found.schema.names == TABLES["drift"].schema.names
    assert sorted(found.to_pylist(), key=str) == sorted(here.rows["drift"].to_pylist(), key=str)


def test_a_worker_imports_no_pandas_and_reads_no_archive_again_for_each_task(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """PySpark lets all that finds modules look again before each task, and Spark's own jar has thousands of files."""

    def modules(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from zipimport import zipimporter

        known = sys.path_importer_cache.items()
        archives = [name for name, finder in known if isinstance(finder, zipimporter)]
        for _ in batches:
            found = {"pandas": "pandas" in sys.modules, "archives": str(archives)}
            yield pa.RecordBatch.from_pylist([found])

    frame = spark.range(0, 2, 1, 2).mapInArrow(modules, "pandas boolean, archives string")
    found = written_rows(frame, tmp_path / "found").to_pylist()
    assert found == [{"pandas": False, "archives": "[]"}] * 2


@pytest.mark.parametrize(
    ("name", "is_loaded"),
    [("classic.SparkSession", True), ("ml.InternalFunctionRegistration", False)],
)
def test_a_session_loads_no_extension_of_spark(
    spark: "SparkSession", name: str, is_loaded: bool
) -> None:
    jvm, new_array = spark._jvm, spark.sparkContext._gateway.new_array
    kinds, named = new_array(jvm.java.lang.Class, 1), new_array(jvm.java.lang.Object, 1)
    kinds[0] = jvm.java.lang.Class.forName("java.lang.String")
    named[0] = f"org.apache.spark.sql.{name}"
    loaders = jvm.java.lang.Class.forName("java.lang.ClassLoader")
    find = loaders.getDeclaredMethod("findLoadedClass", kinds)
    find.setAccessible(True)
    found = find.invoke(jvm.java.lang.ClassLoader.getSystemClassLoader(), named)
    assert (found is not None) is is_loaded


@pytest.mark.command
@pytest.mark.nightly
def test_a_worker_of_another_daemon_forgets_the_jar_with_its_first_task(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "spark-core.jar", "w") as jar:
        jar.writestr("a.class", "")
    script = (
        "import sys, zipimport\n"
        "from replan.fleet.spark.frames import preload\n"
        "kinds = lambda: [type(f) for f in sys.path_importer_cache.values()]\n"
        "assert zipimport.zipimporter in kinds()\n"
        "preload()\n"
        "assert zipimport.zipimporter not in kinds()\n"
    )
    path = os.pathsep.join([str(tmp_path / "spark-core.jar"), *sys.path])
    assert python("-c", script, folder=tmp_path, PYTHONPATH=path).returncode == 0


@pytest.mark.command
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the kernel lists no threads")
def test_workers_are_forked_from_a_process_without_threads(tmp_path: Path) -> None:
    """A library's thread is not in the fork, and a lock that it held there stays locked."""
    script = (
        "import os, sys\n"
        "from replan.fleet.spark.daemon import prepare_to_fork\n"
        "prepare_to_fork()\n"
        "assert {'numpy', 'pyarrow', 'pyspark'} <= sys.modules.keys()\n"
        "import deltalake\n"
        "print(len(os.listdir('/proc/self/task')))\n"
    )
    done = python("-c", script, folder=tmp_path)
    assert (done.stdout, done.stderr) == ("1\n", "")


def written_rows(frame: "DataFrame", place: Path) -> pa.Table:
    """The rows of a DataFrame, through files: `collect` leaves sockets open."""
    frame.write.parquet(str(place))
    parts = [pq.ParquetFile(part).read() for part in sorted(place.glob("*.parquet"))]
    return pa.concat_tables(part for part in parts if part.num_rows)


@pytest.mark.nightly
def test_only_a_session_of_our_own_java_alone_has_no_ui(
    spark: "SparkSession", tmp_path: Path
) -> None:
    done = python("-c", UI, folder=tmp_path)
    assert done.stdout.startswith("http://"), done.stderr
    assert spark.sparkContext.uiWebUrl is None


UI = """
from replan.fleet.spark.session import spark_session
with spark_session("local-cluster[1,1,1024]") as spark:
    print(spark.sparkContext.uiWebUrl)
"""
