"""A fleet of simulated clusters and a lake: from asking them to the report, killed in between, and done again."""

import json
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from msgspec.structs import replace
from tests.builders import OBSERVED_AT, snapshot, state
from tests.commandline import python, replan
from tests.fleet.fleets import (
    BAD,
    BROKEN,
    CLOCK,
    GOOD,
    NOW,
    ORDERS,
    at_hour,
    keep_snapshot,
    observed,
    rows_of,
    write_fleet_file,
)

from replan.errors import BadFile, ClusterUnreachable
from replan.fleet.api import (
    DRIFT_STAGES,
    ERRORS,
    HISTORY,
    JUDGED,
    SNAPSHOTS,
    TABLES,
    CollectedCluster,
    Fleet,
    FleetCluster,
    FleetRun,
    Here,
    Hour,
    Lake,
    Observe,
    Stage,
    collect_answers,
    do_and_commit,
    from_lake,
    gather,
    read_fleet,
    rendered,
    replace_rows,
    run_collect,
)
from replan.snapshots.api import write_snapshot

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two clusters that answer, one that does not, one whose placement is broken."""
    for name, members in (("eu", [1, 2, 3]), ("us", [1, 2, 4]), ("lab", [1, 2, 4])):
        seen = observed(members, cluster_id=f"id-{name}", size=1000)
        write_snapshot(seen, tmp_path / f"{name}.json")
        (tmp_path / f"{name}.yaml").write_text(ORDERS if name != "lab" else BROKEN)
    fleet = {
        "eu": "simulated: eu.json, placement: eu.yaml, owners: {orders: sales}",
        "us": "snapshot: us.json, placement: us.yaml",
        "lab": "snapshot: lab.json, placement: lab.yaml",
        "gone": "bootstrapServers: '127.0.0.1:1', placement: eu.yaml, timeout: 1s",
    }
    write_fleet_file(tmp_path / "fleet.yaml", fleet)
    return tmp_path


@pytest.fixture
def fleet(home: Path) -> Fleet:
    return read_fleet(home / "fleet.yaml")


@pytest.fixture
def lake(home: Path) -> Lake:
    return Lake(str(home / "lake"))


def stages(fleet: Fleet, lake: Lake, *asked: Stage) -> FleetRun:
    """What a command of one stage does."""
    return do_and_commit(lake, from_lake(fleet, lake, CLOCK), asked, Here(), NOW)


def without_waits(lines: Iterable[str]) -> list[str]:
    """Without what depends on how long a client tried."""
    return [line for line in lines if "gone" not in line]


@pytest.mark.command
def test_a_whole_run_judges_who_answers_and_names_the_others(home: Path, lake: Lake) -> None:
    with (home / "eu.yaml").open("a") as file:  # what the plan warns of, by the place of the entry
        file.write("blacklists: {leaders: [{broker: 9}]}\n")
    earlier = home / "report/plans/lab.plan.json"  # of a run before its placement was broken
    earlier.parent.mkdir(parents=True)
    earlier.write_text("{}")
    run = replan("fleet", "run", "-o", "report", folder=home)
    assert run.returncode == 1
    assert not earlier.exists()
    assert "eu       orders-0  operator  replicas  [1,2,4]   [1,2,3]       1  sales" in run.stdout
    assert run.stdout.splitlines()[-1] == "Drift: 1 difference in 1 of 2 clusters; 2 errors."
    found = rows_of(lake)
    errors = [[e[k] for k in ("cluster", "stage", "file")] for e in lake.read(ERRORS).to_pylist()]
    broken = ["lab", "diff", "lab.yaml"]
    assert sorted(errors) == [["gone", "collect", "127.0.0.1:1"], broken]
    assert {*lake.read(JUDGED)["cluster"].to_pylist()} == {"eu", "us"}
    (history,) = lake.read(HISTORY, columns=("cluster", "topic", "open", "spells")).to_pylist()
    assert [*history.values()] == ["eu", "orders", True, 1]
    # The plan is, to the byte, the one that the command saves.
    plan = ("plan", "-f", "eu.yaml", "--snapshot", "eu.json", "-o", "eu.plan.json")
    assert replan(*plan, folder=home).returncode == 2
    assert (home / "report/plans/eu.plan.json").read_bytes() == (home / "eu.plan.json").read_bytes()
    csv = {f"{name}.csv" for name in ("clusters", "drift", "resolved", "acknowledged")}
    others = {"plans", "index.html", "report.md", "report.json", "metrics.prom"}
    assert {p.name for p in (home / "report").iterdir()} == csv | others

    again = replan("fleet", "run", "--tolerate-errors", "2", folder=home)
    assert again.returncode == 2
    assert without_waits(again.stdout.splitlines()) == without_waits(run.stdout.splitlines())
    # The same hour is replaced.
    for name, rows in rows_of(lake).items():
        assert without_waits(rows) == without_waits(found[name]), name

    # A cluster that has left the fleet has no plan that somebody could apply.
    without = (home / "fleet.yaml").read_text().replace("  eu:", "  new:")
    (home / "fleet.yaml").write_text(without)
    replan("fleet", "plan", "-o", "report/plans", folder=home)
    assert {p.name for p in (home / "report/plans").iterdir()} == {"us.plan.json"}


@pytest.mark.command
def test_each_stage_is_a_command_and_together_they_are_the_run(home: Path, lake: Lake) -> None:
    for stage in ("collect", "rates", "diff", "classify", "drift", "cost", "plan"):
        assert replan("fleet", stage, folder=home).returncode == 1, stage
    for words in (("history",), ("report", "-o", "report")):
        assert replan("fleet", *words, folder=home).returncode == 0, words
    found = [table for table in TABLES.values() if table is not ERRORS]
    asked_together = {JUDGED.name: ["stages"]}
    alone = rows_of(lake, *found, less=asked_together)
    assert replan("fleet", "run", "-o", "all", folder=home).returncode == 1
    assert rows_of(lake, *found, less=asked_together) == alone
    reports = [json.loads((home / n / "report.json").read_text()) for n in ("report", "all")]
    assert reports[0]["drift"] == reports[1]["drift"]


def test_one_clusters_trouble_is_its_own_and_a_late_one_is_not_waited_for() -> None:
    seen = snapshot([state([1, 2])])

    def observe(cluster: FleetCluster) -> CollectedCluster:
        match cluster.name:
            case "down":
                raise ClusterUnreachable("nobody answers")
            case "bug":
                raise KeyError("x")
            case "late":
                time.sleep(30)
            case _:
                pass
        return CollectedCluster(seen)

    names = ("late", "down", "bug", *(f"c{n}" for n in range(30)))
    asked = [FleetCluster(n, timeout_seconds=0.2 if n == "late" else 20) for n in names]
    found = {a.cluster: a.outcome for a in collect_answers(asked, observe)}
    assert found.pop("down") == "nobody answers"
    assert str(found.pop("bug")).startswith("unexpected KeyError")
    assert str(found.pop("late")).startswith("no answer within 0.2 s")
    assert found == {f"c{n}": CollectedCluster(seen) for n in range(30)}


IMPORTED = """
import sys, threading
from replan.main import run
late = set()
def look(frame, event, _):
    if event == "call" and frame.f_code.co_name == "<module>":
        late.add(str(frame.f_globals.get("__name__")).partition(".")[0])
threading.setprofile(look)
run(["fleet", "collect"])
sys.exit(" ".join(late & {"replan", "pandas", "pyarrow"}))
"""


def test_no_cluster_is_asked_before_all_is_imported_that_its_answer_needs(home: Path) -> None:
    """On a machine that has much to do imports may take longer than a cluster has time."""
    done = python("-c", IMPORTED, folder=home)
    assert (home / "lake" / "snapshots").is_dir(), done.stderr
    assert done.stderr.splitlines()[-1] == "", done.stderr


@pytest.mark.parametrize("rest", [True, False], ids=["same-fields", "other-fields"])
def test_a_snapshot_of_a_newer_version_is_an_error_of_its_cluster(
    fleet: Fleet, lake: Lake, rest: bool
) -> None:
    for name in ("eu", "us"):
        keep_snapshot(lake, observed(BAD), name)
    rows = lake.read(SNAPSHOTS, "cluster = 'eu'").to_pylist()
    for row in rows:
        if row["header"] is not None:
            same = json.loads(row["header"]) if rest else {"kind": "replan.snapshot"}
            row["header"] = json.dumps({**same, "formatVersion": 99})
    newer_rows = pa.Table.from_pylist(rows, schema=SNAPSHOTS.schema)
    replace_rows(lake, SNAPSHOTS, newer_rows, [Hour.of("eu", OBSERVED_AT)])
    stages(fleet, lake, *DRIFT_STAGES)
    errors = {e["cluster"]: e for e in lake.read(ERRORS).to_pylist()}
    assert "format version 99 is newer" in errors["eu"]["message"]
    assert (errors["eu"]["stage"], errors["eu"]["file"]) == ("diff", lake.address)
    assert [r["cluster"] for r in lake.read(JUDGED).to_pylist()] == ["us"]


def test_the_largest_clusters_come_first(fleet: Fleet, lake: Lake) -> None:
    for name, count in (("eu", 2), ("us", 5), ("lab", 1), ("gone", 3)):
        seen = snapshot([state([1, 2], partition=n) for n in range(count)])
        keep_snapshot(lake, replace(seen, cluster_id=name), name)
    tasks = from_lake(fleet, lake, CLOCK).tasks
    assert [task.cluster for task in tasks] == ["us", "gone", "eu", "lab"]


@pytest.mark.command
def test_a_plan_is_judged_by_the_rates_of_the_lake(home: Path, fleet: Fleet, lake: Lake) -> None:
    for hour in (0, 1):
        seen = observed(BAD, at_hour(hour), cluster_id="id-eu", size=10**10 * hour)
        keep_snapshot(lake, seen, "eu")
    stages(fleet, lake, Stage.RATES)
    (home / "eu.yaml").write_text(f"{ORDERS}throttles: {{moves: {{rate: 1MB/s}}}}\n")
    plan = ("plan", "-f", "eu.yaml", "--snapshot", "eu.json")
    judged = replan(*plan, "--rates", "lake", folder=home)
    assert (judged.returncode, replan(*plan, folder=home).returncode) == (3, 2)
    assert "lake, observed 2026-11-21T01:00:00Z" in judged.stderr
    unrated = ("plan", "-f", "us.yaml", "--snapshot", "us.json", "--rates", "lake")
    nothing = replan(*unrated, folder=home)
    assert nothing.returncode == 1
    assert "there are no rates of cluster id-us" in nothing.stderr


def test_an_error_is_over_when_its_stage_is_done_with_an_older_snapshot(
    fleet: Fleet, lake: Lake
) -> None:
    def errors_at(hour: int, observe: Observe) -> list[str]:
        now = Hour.of("", f"2026-11-22T{hour:02}:00:00Z")
        run_collect(fleet, lake, observe, now)
        todo = from_lake(fleet, lake, CLOCK)
        do_and_commit(lake, todo, DRIFT_STAGES, Here(), now)
        (us,) = [c for c in gather(lake, fleet).clusters if c.name == "us"]
        return [error["stage"] for error in us.errors]

    def from_file(cluster: FleetCluster) -> CollectedCluster:
        if cluster.name == "gone":
            return _refusing(cluster)
        return CollectedCluster(observed(GOOD, at_hour(1)))

    assert errors_at(3, _refusing) == ["collect", "diff"]
    assert errors_at(4, from_file) == []  # of hour 1 of the day before
    assert errors_at(5, _refusing) == ["collect"]


def test_an_error_of_an_hour_before_the_newest_snapshot_stays_written_down(
    fleet: Fleet, lake: Lake
) -> None:
    def answering(_cluster: FleetCluster) -> CollectedCluster:
        return CollectedCluster(observed(BAD, at_hour(4)))

    for hour, observe in ((2, _refusing), (4, answering)):
        run_collect(fleet, lake, observe, Hour.of("", f"2026-11-21T{hour:02}:00:00Z"))
    assert lake.read(ERRORS, "cluster = 'us'").column("hour").to_pylist() == [2]


def _refusing(_cluster: FleetCluster) -> CollectedCluster:
    raise BadFile("torn </script><script>alert(1)</script>")


def test_no_text_of_a_cluster_becomes_a_part_of_the_page(fleet: Fleet, lake: Lake) -> None:
    run_collect(fleet, lake, _refusing, NOW)
    files = rendered(gather(lake, fleet))
    assert files["index.html"].count("<script") == 2
    assert "&lt;/script&gt;" in files["index.html"]
    assert 'replan_fleet_errors{cluster="eu"} 1\n' in files["metrics.prom"]
    (error, *_) = json.loads(files["report.json"])["clusters"][0]["errors"]
    assert "torn </script>" in error["message"]


@pytest.mark.command
def test_no_secret_reaches_the_lake(home: Path, lake: Lake) -> None:
    (home / "client.properties").write_text(
        "sasl.mechanism=PLAIN\nsasl.password=hunter2\nsecurity.protocol=SASL_PLAINTEXT\nsasl.username=u\n"
    )
    file = home / "fleet.yaml"
    secured = "timeout: 1s, commandConfig: client.properties"
    file.write_text(file.read_text().replace("timeout: 1s", secured))
    run = replan("fleet", "run", "-o", "report", folder=home)
    assert "hunter2" not in run.stdout + run.stderr
    written = [f for root in ("lake", "report") for f in (home / root).rglob("*") if f.is_file()]
    assert written
    for one in written:
        assert b"hunter2" not in one.read_bytes()
    (error,) = lake.read(ERRORS, "cluster = 'gone'").to_pylist()
    assert error["stage"] == "collect"
