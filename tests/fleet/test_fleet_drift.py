"""The stages over two folders, by both engines: in this process, and as commands that start Spark."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.builders import snapshot, state
from tests.commandline import python
from tests.fleet.fleets import NOW, found_in, sized

from replan.errors import BadUsage
from replan.fleet.api import (
    COMPARED_AT_ONCE,
    COMPARING,
    DRIFT_STAGES,
    MUCH,
    SUBMITTED,
    TABLES,
    Engine,
    Here,
    Lake,
    SparkTarget,
    Stage,
    Todo,
    do_and_commit,
)
from replan.snapshots.api import write_snapshot

pytestmark = pytest.mark.slow

STAGES = (*DRIFT_STAGES, Stage.COST, Stage.PLAN)
ORDERS = "version: 1\ncluster: {name: payments-eu}\nassignments: {orders: {partitions: {0: [1, 2, 4]}}}\n"


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A fleet of one cluster, eu, that differs in one partition."""
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "placements").mkdir()
    write_snapshot(snapshot([state([1, 2, 3], size=10)]), tmp_path / "snapshots" / "eu")
    declare(tmp_path, ORDERS)
    return tmp_path


def declare(home: Path, placement: str, name: str = "eu") -> None:
    (home / "placements" / f"{name}.yaml").write_text(placement)


@pytest.mark.parametrize(
    ("stages", "partitions"),
    [(STAGES, MUCH), (COMPARING, 3 * COMPARED_AT_ONCE)],
    ids=["whole", "in parts"],
)
def test_processes_give_what_one_process_gives(
    in_a_lake: Callable[[str], tuple[Lake, Todo]], stages: Sequence[Stage], partitions: int
) -> None:
    one, several = (
        dict(do_and_commit(lake, sized(todo, n), stages, Here(), NOW).rows)
        for n, (lake, todo) in ((0, in_a_lake("here")), (partitions, in_a_lake("there")))
    )
    assert one == several


def test_more_errors_cost_no_look_at_the_tables(
    in_a_lake: Callable[[str], tuple[Lake, Todo]],
) -> None:
    """A run of many partitions would read a row of each otherwise."""
    lake, todo = in_a_lake("here")
    found = do_and_commit(lake, todo, [Stage.DIFF], Here(), NOW)
    for name in ("declared", "differences"):
        shutil.rmtree(lake.place(TABLES[name]))
    more = found.with_errors(found.errors)
    assert more.errors.num_rows == 2 * found.errors.num_rows == 2
    assert list(more.rows) == list(found.rows)


def test_on_one_machine_the_folder_of_the_output_need_not_be_there_yet(fleet: Path) -> None:
    where = SparkTarget(Engine.LOCAL, between=fleet / "nowhere")
    assert found_in(fleet, where=where).drifted.num_rows == 1


def test_a_broken_snapshot_is_a_row_and_the_others_are_compared(fleet: Path) -> None:
    (fleet / "snapshots" / "us.json").write_text("{")
    declare(fleet, ORDERS, "us")
    found = found_in(fleet)
    files = fleet / "placements" / "us.yaml", fleet / "snapshots" / "us.json"
    said = (
        "no readable snapshot is named us; name it so, or say `cluster.id`",
        f"{files[1]}:1:2: this is not JSON: Expecting property name enclosed in double quotes",
    )
    errors = found.errors.to_pylist()
    assert [(e["cluster"], e["stage"]) for e in errors] == [("payments-eu", "diff"), ("us", "diff")]
    assert [(e["file"], e["message"]) for e in errors] == [*zip(map(str, files), said, strict=True)]
    assert (found.rows["drift"].num_rows, found.exit_code(), found.exit_code(2)) == (1, 1, 2)


def test_a_cluster_of_which_nothing_is_declared_has_no_drift(fleet: Path) -> None:
    declare(fleet, "version: 1\n")
    found = found_in(fleet)
    (judged,) = found.rows["judged"].to_pylist()
    assert (judged["partitions"], judged["drifted"], found.exit_code()) == (0, 0, 0)


DRIFT = ("fleet", "drift", "--snapshots", "snapshots", "--placements", "placements", "-o", "out")


def by_itself(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command on its own, since it starts and ends a session."""
    strict = ("-W", "error::UserWarning", "-m", "replan")
    return python(*strict, *DRIFT, *arguments, folder=home)


REPORT = """\
CLUSTER      PARTITIONS  DRIFTED  ON THE WAY  AS OF
payments-eu           1        1           0  2026-11-21T03:00:00Z

CLUSTER      WHAT      CLASS     KIND      DECLARED  IS       LEADER  OWNER
payments-eu  orders-0  operator  replicas  [1,2,4]   [1,2,3]       1  -

Drift: 1 difference in 1 cluster.
"""


@pytest.mark.command
def test_a_small_fleet_is_compared_in_this_process_without_java(fleet: Path) -> None:
    run = by_itself(fleet)
    assert (run.stdout, run.returncode) == (REPORT, 2)
    assert run.stderr == (
        "engine: local, as neither --master nor --remote nor spark-submit gives Spark\n"
    )
    written = {p.stem for p in (fleet / "out").iterdir()}
    assert written == {"declared", "differences", "drift", "errors", "judged"}


@pytest.mark.spark
def test_the_whole_run_on_spark_prints_the_same_and_nothing_of_sparks(fleet: Path) -> None:
    run = by_itself(fleet, "--engine", "spark", "--master", "local[2]")
    assert (run.stdout, run.stderr, run.returncode) == (REPORT, "", 2)
    assert sorted(p.name for p in fleet.iterdir()) == ["out", "placements", "snapshots"]


@pytest.mark.command
def test_a_connect_server_that_does_not_answer_is_not_waited_for(fleet: Path) -> None:
    run = by_itself(fleet, "--remote", "sc://127.0.0.1:1")
    assert (run.stdout, run.returncode) == ("", 1)
    said = "\nreplan: Spark Connect at sc://127.0.0.1:1 cannot be used: no answer within 10 s; "
    assert said in run.stderr


@pytest.mark.nightly
@pytest.mark.spark
def test_a_master_that_there_is_not_is_said_in_sparks_words(fleet: Path) -> None:
    run = by_itself(fleet, "--master", "nowhere")
    engine, first, *_, last = run.stderr.splitlines()
    assert engine == "engine: spark, which --master nowhere gives"
    assert first.startswith("replan: Spark cannot start on master nowhere: ")
    assert last.endswith("Master must either be yarn or start with spark, k8s, or local")
    assert (run.stdout, run.returncode) == ("", 1)


def test_what_a_python_worker_raised_is_said_without_its_calls() -> None:
    from replan.fleet.spark.api import said_by

    raised = (
        "\n  An exception was thrown from the Python worker. Please see the stack trace below.\n"
        'Traceback (most recent call last):\n  File "on_spark.py", line 70, in _performed\n    raise ReplanError(x)\n'
    )
    shared = "/lake: executors do not see this folder; it must be shared"
    assert said_by(OSError(f"{raised}replan.errors.ReplanError: {shared}\n")) == shared
    assert said_by(OSError(f"{raised}OSError: disk full\n")) == "OSError: disk full"
    assert said_by(OSError("[CODE] no such table\nmore")) == "[CODE] no such table"


@pytest.mark.parametrize(
    ("where", "environment", "expected", "why"),
    [
        (SparkTarget(), {}, Engine.LOCAL, "nor spark-submit gives Spark"),
        (SparkTarget(), {SUBMITTED: "1234"}, Engine.SPARK, "which spark-submit gives"),
        (SparkTarget(master="local[2]"), {}, Engine.SPARK, "which --master local[2] gives"),
        (SparkTarget(remote="sc://host"), {}, Engine.SPARK, "which --remote sc://host gives"),
        (SparkTarget(Engine.LOCAL), {SUBMITTED: "1234"}, Engine.LOCAL, None),
        (SparkTarget(Engine.SPARK), {}, Engine.SPARK, None),
    ],
)
def test_spark_does_the_work_where_it_is_given_unless_an_engine_is_named(
    where: SparkTarget, environment: dict[str, str], expected: Engine, why: str | None
) -> None:
    assert where.chosen_engine(environment) is expected
    said = where.why(environment)
    assert said is None if why is None else said is not None and said.endswith(why)


@pytest.mark.parametrize(
    "options",
    [
        {"engine": Engine.LOCAL, "master": "local[2]"},
        {"engine": Engine.LOCAL, "remote": "sc://host"},
        {"master": "local[2]", "remote": "sc://host"},
    ],
)
def test_engines_that_contradict_each_other_are_a_mistake(options: dict[str, Any]) -> None:
    with pytest.raises(BadUsage):
        SparkTarget(**options)
