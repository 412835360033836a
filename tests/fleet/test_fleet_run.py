"""A fleet of simulated clusters and a lake: from asking them to the report, killed in between, and done again."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace
from tests.builders import snapshot, state
from tests.commandline import environment, replan
from tests.fleet.fleets import drawn_snapshot, keep_snapshot, kept_snapshots

from replan.errors import BadFile, ClusterUnreachable
from replan.fleet.api import (
    DRIFT,
    DRIFT_STAGES,
    ERRORS,
    HISTORY,
    JUDGED,
    RATES,
    SNAPSHOTS,
    TABLES,
    CollectedCluster,
    FleetCluster,
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
    run_history,
)
from replan.model.api import Snapshot
from replan.snapshots.api import write_snapshot

pytestmark = pytest.mark.slow

NOW = Hour.of("", "2026-11-22T05:00:00Z")
CLOCK = datetime(2026, 11, 22, 5, tzinfo=UTC)
ORDERS = "version: 1\nassignments: {orders: {partitions: [[1, 2, 4]]}}\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two clusters that answer, one that does not, one whose placement is broken."""
    for name, members in (("eu", [1, 2, 3]), ("us", [1, 2, 4]), ("lab", [1, 2, 4])):
        seen = replace(snapshot([state(members, size=1000)]), cluster_id=f"id-{name}")
        write_snapshot(seen, tmp_path / f"{name}.json")
        (tmp_path / f"{name}.yaml").write_text(ORDERS, encoding="utf-8")
    (tmp_path / "lab.yaml").write_text("version: 1\nassignment: 3\n", encoding="utf-8")
    (tmp_path / "fleet.yaml").write_text(
        "version: 1\nlake: lake\nowners: {orders: sales}\nclusters:\n"
        "  eu: {simulated: eu.json, placement: eu.yaml}\n"
        "  us: {snapshot: us.json, placement: us.yaml}\n"
        "  lab: {snapshot: lab.json, placement: lab.yaml}\n"
        "  gone: {bootstrapServers: '127.0.0.1:1', placement: eu.yaml, timeout: 1s}\n",
        encoding="utf-8",
    )
    return tmp_path


def tables(home: Path) -> dict[str, Any]:
    lake = Lake(str(home / "lake"))
    return {name: sorted(lake.read(table).to_pylist(), key=str) for name, table in TABLES.items()}


def stages(home: Path, *asked: Stage) -> None:
    """What a command of one stage does."""
    fleet, lake = read_fleet(home / "fleet.yaml"), Lake(str(home / "lake"))
    todo = from_lake(fleet, lake, CLOCK)
    do_and_commit(lake, todo, asked, Here(), NOW)


def without_waits(lines: Iterable[str]) -> list[str]:
    """Without what depends on how long a client tried."""
    return [line for line in lines if "gone" not in line]


@pytest.mark.command
def test_a_whole_run_judges_who_answers_and_names_the_others(home: Path) -> None:
    earlier = home / "report/plans/lab.plan.json"  # of a run before its placement was broken
    earlier.parent.mkdir(parents=True)
    earlier.write_text("{}", encoding="utf-8")
    run = replan("fleet", "run", "-o", "report", folder=home)
    assert run.returncode == 1
    assert not earlier.exists()
    assert "eu       orders-0  operator  replicas  [1,2,4]   [1,2,3]       1  sales" in run.stdout
    assert run.stdout.splitlines()[-1] == "Drift: 1 difference in 1 of 2 clusters; 2 errors."
    found = tables(home)
    assert [
        (e["cluster"], e["stage"]) for e in sorted(found["errors"], key=lambda e: e["cluster"])
    ] == [
        ("gone", "collect"),
        ("lab", "diff"),
    ]
    assert {r["cluster"] for r in found["judged"]} == {"eu", "us"}
    (history,) = found["history"]
    assert (history["cluster"], history["topic"], history["open"], history["spells"]) == (
        "eu",
        "orders",
        True,
        1,
    )
    # The plan is, to the byte, the one that the command saves.
    saved = replan(
        "plan", "-f", "eu.yaml", "--snapshot", "eu.json", "-o", "eu.plan.json", folder=home
    )
    assert saved.returncode == 2
    assert (home / "report/plans/eu.plan.json").read_bytes() == (home / "eu.plan.json").read_bytes()
    written = {p.name for p in (home / "report").iterdir()}
    assert written == {
        "plans",
        "index.html",
        "report.md",
        "report.json",
        "clusters.csv",
        "drift.csv",
        "resolved.csv",
        "acknowledged.csv",
        "metrics.prom",
    }

    again = replan("fleet", "run", "--tolerate-errors", "2", folder=home)
    assert again.returncode == 2
    assert without_waits(again.stdout.splitlines()) == without_waits(run.stdout.splitlines())
    # The same hour is replaced.
    assert {n: without_waits(map(str, rows)) for n, rows in tables(home).items()} == {
        n: without_waits(map(str, rows)) for n, rows in found.items()
    }

    # A cluster that has left the fleet has no plan that somebody could apply.
    without = (home / "fleet.yaml").read_text(encoding="utf-8").replace("  eu:", "  new:")
    (home / "fleet.yaml").write_text(without, encoding="utf-8")
    replan("fleet", "plan", "-o", "report/plans", folder=home)
    assert {p.name for p in (home / "report/plans").iterdir()} == {"us.plan.json"}


@pytest.mark.command
def test_each_stage_is_a_command_and_together_they_are_the_run(home: Path) -> None:
    for stage, code in (
        ("collect", 1),
        ("rates", 1),
        ("diff", 1),
        ("classify", 1),
        ("drift", 1),
        ("cost", 1),
        ("plan", 1),
        ("history", 0),
    ):
        assert replan("fleet", stage, folder=home).returncode == code, stage
    assert replan("fleet", "report", "-o", "report", folder=home).returncode == 0
    alone = tables(home)
    report = json.loads((home / "report/report.json").read_text())
    assert replan("fleet", "run", "-o", "all", folder=home).returncode == 1
    for name in ("judged", "drift", "costs", "plans", "history", "rates", "declared", "snapshots"):
        assert _less_stages(tables(home)[name]) == _less_stages(alone[name]), name
    whole = json.loads((home / "all/report.json").read_text())
    assert whole["drift"] == report["drift"]


def _less_stages(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without which stages were asked for together."""
    return [{key: value for key, value in row.items() if key != "stages"} for row in rows]


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
    words = [sys.executable, "-c", IMPORTED]
    done = subprocess.run(
        words, cwd=home, env=environment(), capture_output=True, text=True, check=False
    )
    assert (home / "lake" / "snapshots").is_dir(), done.stderr
    assert done.stderr.splitlines()[-1] == "", done.stderr


@pytest.mark.parametrize("rest", [True, False], ids=["same-fields", "other-fields"])
def test_a_snapshot_of_a_newer_version_is_an_error_of_its_cluster(home: Path, rest: bool) -> None:
    lake = Lake(str(home / "lake"))
    for name in ("eu", "us"):
        keep_snapshot(lake, seen_at(3, [1, 2, 3], 0), name)
    rows = lake.read(SNAPSHOTS, "cluster = 'eu'").to_pylist()
    for row in rows:
        if row["header"] is not None:
            newer = {
                **(json.loads(row["header"]) if rest else {"kind": "replan.snapshot"}),
                "formatVersion": 99,
            }
            row["header"] = json.dumps(newer)
    newer_rows = pa.Table.from_pylist(rows, schema=SNAPSHOTS.schema)
    replace_rows(lake, SNAPSHOTS, newer_rows, [Hour.of("eu", "2026-11-21T03:00:00Z")])
    stages(home, *DRIFT_STAGES)
    errors = {e["cluster"]: e for e in lake.read(ERRORS).to_pylist()}
    assert "format version 99 is newer" in errors["eu"]["message"]
    assert (errors["eu"]["stage"], errors["eu"]["file"]) == ("diff", str(home / "lake"))
    assert [r["cluster"] for r in lake.read(JUDGED).to_pylist()] == ["us"]


def test_the_largest_clusters_come_first(home: Path) -> None:
    fleet, lake = read_fleet(home / "fleet.yaml"), Lake(str(home / "lake"))
    for name, count in (("eu", 2), ("us", 5), ("lab", 1), ("gone", 3)):
        seen = snapshot([state([1, 2], partition=n) for n in range(count)])
        keep_snapshot(lake, replace(seen, cluster_id=name), name)
    assert [task.cluster for task in from_lake(fleet, lake, CLOCK).tasks] == [
        "us",
        "gone",
        "eu",
        "lab",
    ]


def test_what_was_collected_is_kept_although_others_fail(home: Path) -> None:
    fleet, lake = read_fleet(home / "fleet.yaml"), Lake(str(home / "lake"))

    def observe(cluster: FleetCluster) -> CollectedCluster:
        if cluster.name == "eu":
            return CollectedCluster(drawn_snapshot(1))
        raise BadFile("torn")

    errors = run_collect(fleet, lake, observe, NOW)
    assert [k.at.cluster for k in kept_snapshots(lake)] == ["eu"]
    assert lake.read(ERRORS).num_rows == errors.num_rows == 3


def seen_at(hour: int, members: list[int], size: int, day: int = 21, **more: Any) -> Snapshot:
    made = snapshot([state(members, size=size)], observed_at=f"2026-11-{day}T{hour:02}:00:00Z")
    return replace(made, cluster_id="id-eu", **more)


def keep(home: Path, *snapshots: Snapshot) -> Iterator[None]:
    for one in snapshots:
        keep_snapshot(Lake(str(home / "lake")), one, "eu")
        yield


def test_rates_come_from_what_grew(home: Path) -> None:
    """What shrank between is left out: its rate is a lower bound, which judges no copies."""
    for _ in keep(
        home, *(seen_at(h, [1, 2, 3], s) for h, s in ((0, 0), (1, 3600), (2, 100), (3, 7300)))
    ):
        pass
    stages(home, Stage.RATES)
    (row,) = Lake(str(home / "lake")).read(RATES).to_pylist()
    assert (row["bytes_per_second"], row["peak_bytes_per_second"]) == (1.5, 2.0)
    assert (row["seconds"], row["intervals"], row["left_out"]) == (7200.0, 2, "shrank")


@pytest.mark.command
def test_a_plan_is_judged_by_the_rates_of_the_lake(home: Path) -> None:
    for _ in keep(home, *(seen_at(h, [1, 2, 3], 10**10 * h) for h in (0, 1))):
        pass
    stages(home, Stage.RATES)
    slow = f"{ORDERS}throttles: {{moves: {{rate: 1MB/s}}}}\n"
    (home / "eu.yaml").write_text(slow, encoding="utf-8")
    plan = ("plan", "-f", "eu.yaml", "--snapshot", "eu.json")
    judged = replan(*plan, "--rates", "lake", folder=home)
    assert (judged.returncode, replan(*plan, folder=home).returncode) == (3, 2)
    assert "lake, observed 2026-11-21T01:00:00Z" in judged.stderr
    nothing = replan(
        "plan", "-f", "us.yaml", "--snapshot", "us.json", "--rates", "lake", folder=home
    )
    assert nothing.returncode == 1
    assert "there are no rates of cluster id-us" in nothing.stderr


def test_the_history_counts_spells_and_takes_a_late_snapshot_in_its_place(home: Path) -> None:
    bad, good = [1, 2, 3], [1, 2, 4]
    lake = Lake(str(home / "lake"))

    def judged(*snapshots: Snapshot) -> list[tuple[Any, ...]]:
        for _ in keep(home, *snapshots):
            stages(home, *DRIFT_STAGES)
        run_history(lake, ["eu"], Here())
        columns = ("first_seen", "last_seen", "spells", "open", "resolved_at")
        return [tuple(r[c] for c in columns) for r in lake.read(HISTORY).to_pylist()]

    first = "2026-11-21T01:00:00Z"
    assert judged(seen_at(1, bad, 0)) == [(first, first, 1, True, None)]
    second = "2026-11-21T02:00:00Z"
    assert judged(seen_at(2, good, 0)) == [(first, first, 1, False, second)]
    fourth = "2026-11-21T04:00:00Z"
    assert judged(seen_at(4, bad, 0)) == [(first, fourth, 2, True, None)]
    for table in (DRIFT, JUDGED):  # their first day is removed by maintenance
        day = lake.read(table).filter(lake.read(table).column("hour").to_numpy() == 4)
        replace_rows(
            lake, table, day, [Hour.of("eu", f"2026-11-21T0{h}:00:00Z") for h in (1, 2, 4)]
        )
    run_history(lake, ["eu"], Here())
    (row,) = lake.read(HISTORY).to_pylist()
    assert (row["first_seen"], row["spells"]) == (first, 2)


def test_an_error_of_an_hour_before_the_newest_comparison_is_over(home: Path) -> None:
    fleet, lake = read_fleet(home / "fleet.yaml"), Lake(str(home / "lake"))
    assert [c.errors for c in gather(lake, fleet).clusters] == [()] * 4
    run_collect(fleet, lake, _refusing, Hour.of("", "2026-11-21T02:00:00Z"))
    assert [len(c.errors) for c in gather(lake, fleet).clusters] == [1] * 4


def test_an_error_is_over_when_its_stage_is_done_with_an_older_snapshot(home: Path) -> None:
    fleet, lake = read_fleet(home / "fleet.yaml"), Lake(str(home / "lake"))

    def at_hour(hour: int, observe: Observe) -> list[str]:
        now = Hour.of("", f"2026-11-22T{hour:02}:00:00Z")
        run_collect(fleet, lake, observe, now)
        todo = from_lake(fleet, lake, CLOCK)
        do_and_commit(lake, todo, DRIFT_STAGES, Here(), now)
        (us,) = [c for c in gather(lake, fleet).clusters if c.name == "us"]
        return [error["stage"] for error in us.errors]

    def from_file(cluster: FleetCluster) -> CollectedCluster:
        return (
            _refusing(cluster)
            if cluster.name == "gone"
            else CollectedCluster(seen_at(1, [1, 2, 4], 0))
        )

    assert at_hour(3, _refusing) == ["collect", "diff"]
    assert at_hour(4, from_file) == []  # of hour 1 of the day before
    assert at_hour(5, _refusing) == ["collect"]


def test_an_error_of_an_hour_before_the_newest_snapshot_stays_written_down(home: Path) -> None:
    fleet, lake = read_fleet(home / "fleet.yaml"), Lake(str(home / "lake"))

    def answering(_cluster: FleetCluster) -> CollectedCluster:
        return CollectedCluster(seen_at(4, [1, 2, 3], 0))

    for hour, observe in ((2, _refusing), (4, answering)):
        run_collect(fleet, lake, observe, Hour.of("", f"2026-11-21T{hour:02}:00:00Z"))
    assert lake.read(ERRORS, "cluster = 'us'").column("hour").to_pylist() == [2]


def test_a_snapshot_of_which_a_file_is_cut_is_an_error_of_its_cluster(home: Path) -> None:
    fleet, lake = read_fleet(home / "fleet.yaml"), Lake(str(home / "lake"))
    for name in ("eu", "us"):
        keep_snapshot(lake, seen_at(1, [1, 2, 3], 0), name)
    (file,) = (home / "lake/snapshots/cluster=us").rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:50])
    run = do_and_commit(lake, from_lake(fleet, lake, CLOCK), DRIFT_STAGES, Here(), NOW)
    assert run.rows["judged"]["cluster"].to_pylist() == ["eu"]
    (error,) = [e for e in run.errors.to_pylist() if e["cluster"] == "us"]
    assert error["message"].startswith(f"{file}: ")


def _refusing(_cluster: FleetCluster) -> CollectedCluster:
    raise BadFile("torn </script><script>alert(1)</script>")


def test_no_text_of_a_cluster_becomes_a_part_of_the_page(home: Path) -> None:
    fleet, lake = read_fleet(home / "fleet.yaml"), Lake(str(home / "lake"))
    run_collect(fleet, lake, _refusing, NOW)
    files = rendered(gather(lake, fleet))
    assert files["index.html"].count("<script") == 2
    assert "&lt;/script&gt;" in files["index.html"]
    assert 'replan_fleet_errors{cluster="eu"} 1\n' in files["metrics.prom"]
    assert (
        "torn </script>" in json.loads(files["report.json"])["clusters"][0]["errors"][0]["message"]
    )


@pytest.mark.command
def test_no_secret_reaches_the_lake(home: Path) -> None:
    (home / "client.properties").write_text(
        "sasl.mechanism=PLAIN\nsasl.password=hunter2\nsecurity.protocol=SASL_PLAINTEXT\nsasl.username=u\n"
    )
    text = (
        (home / "fleet.yaml")
        .read_text()
        .replace("timeout: 1s", "timeout: 1s, commandConfig: client.properties")
    )
    (home / "fleet.yaml").write_text(text)
    run = replan("fleet", "run", "-o", "report", folder=home)
    assert "hunter2" not in run.stdout + run.stderr
    for root in ("lake", "report"):
        for folder, _, files in os.walk(home / root):
            for name in files:
                assert b"hunter2" not in Path(folder, name).read_bytes()
    (error,) = [e for e in tables(home)["errors"] if e["cluster"] == "gone"]
    assert error["stage"] == "collect"
