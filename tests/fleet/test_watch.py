"""Watching a lake: every snapshot has its effect once, however it comes and whoever is killed meanwhile."""

import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import snapshot, state
from tests.commandline import replan, start
from tests.fleet.fleets import keep_snapshot

from replan.fleet.api import (
    DRIFT,
    ERRORS,
    HISTORY,
    JUDGED,
    Here,
    Hour,
    Lake,
    judge_batch,
    read_fleet,
)

pytestmark = pytest.mark.slow

CLOCK = datetime(2026, 11, 22, 5, tzinfo=UTC)
BAD, GOOD = [1, 2, 3], [1, 2, 4]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "eu.yaml").write_text(
        "version: 1\nassignments: {orders: {partitions: [[1, 2, 4]]}}\n", encoding="utf-8"
    )
    (tmp_path / "fleet.yaml").write_text(
        "version: 1\nlake: lake\nclusters: {eu: {placement: eu.yaml}, us: {placement: eu.yaml}, other: {}}\n",
        encoding="utf-8",
    )
    return tmp_path


def arrive(home: Path, hour: int, members: list[int], cluster: str = "eu", minute: int = 0) -> Hour:
    seen = snapshot([state(members)], observed_at=f"2026-11-21T{hour:02}:{minute:02}:00Z")
    return keep_snapshot(Lake(str(home / "lake")), replace(seen, cluster_id=cluster), cluster)


def history(home: Path) -> list[dict[str, Any]]:
    rows = Lake(str(home / "lake")).read(HISTORY).to_pylist()
    return sorted(rows, key=lambda r: (r["cluster"], r["topic"], r["partition"], r["kind"]))


def judged(home: Path) -> list[tuple[str, int, int]]:
    rows = Lake(str(home / "lake")).read(JUDGED).to_pylist()
    return sorted((r["cluster"], r["hour"], r["drifted"]) for r in rows)


def test_what_arrives_is_judged_once_and_a_replaced_snapshot_again(home: Path) -> None:
    fleet, lake = read_fleet(home / "fleet.yaml"), Lake(str(home / "lake"))
    first, second = arrive(home, 3, BAD), arrive(home, 5, GOOD)
    arrive(home, 3, BAD, "other")  # it has no placement
    days = [("eu", "2026-11-21"), ("other", "2026-11-21"), ("stranger", "2026-11-21")]
    assert judge_batch(days, fleet, lake, CLOCK, Here()).hours == (first, second)
    assert judge_batch(days, fleet, lake, CLOCK, Here()).hours == ()
    again = arrive(home, 5, BAD, minute=30)
    assert judge_batch(days, fleet, lake, CLOCK, Here()).hours == (again,)
    late = arrive(home, 4, GOOD)
    assert judge_batch(days, fleet, lake, CLOCK, Here()).hours == (late,)
    assert judged(home) == [("eu", 3, 1), ("eu", 4, 0), ("eu", 5, 1)]
    (history,) = lake.read(HISTORY).to_pylist()
    assert (history["spells"], history["open"]) == (2, True)
    assert lake.read(DRIFT).num_rows == 2


def test_what_cannot_be_judged_is_not_called_judged(home: Path) -> None:
    fleet, lake = read_fleet(home / "fleet.yaml"), Lake(str(home / "lake"))
    (home / "eu.yaml").write_text("version: 1\nassignment: 3\n", encoding="utf-8")
    arrive(home, 3, BAD)
    done = judge_batch([("eu", "2026-11-21")], fleet, lake, CLOCK, Here())
    assert (done.hours, len(done.errors)) == ((), 1)


def test_a_cut_file_of_one_cluster_stops_no_watch(home: Path) -> None:
    fleet, lake = read_fleet(home / "fleet.yaml"), Lake(str(home / "lake"))
    arrive(home, 3, BAD, "us")
    (file,) = (home / "lake/snapshots").rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:50])
    first = arrive(home, 3, BAD)
    days = [("eu", "2026-11-21"), ("us", "2026-11-21")]
    for number in (0, 1):
        done = judge_batch(days, fleet, lake, CLOCK, Here())
        assert [row["cluster"] for row in done.errors.to_pylist()] == ["us"]
        assert (first in done.hours) == (number == 0)
    (error,) = lake.read(ERRORS).to_pylist()
    assert (error["cluster"], error["stage"]) == ("us", "diff")


@pytest.mark.spark
@pytest.mark.nightly
def test_a_stream_of_spark_hands_over_what_has_arrived(home: Path) -> None:
    arrive(home, 3, BAD)
    run = replan("fleet", "watch", "--engine", "spark", "--once", folder=home)
    assert (run.stdout, run.stderr, run.returncode) == ("", "judged eu 2026-11-21 03h\n", 0)
    assert judged(home) == [("eu", 3, 1)]
    assert [(row["cluster"], row["open"]) for row in history(home)] == [("eu", True)]


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("local", marks=pytest.mark.command),
        pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.nightly]),
    ],
)
def test_a_watch_that_was_killed_goes_on_and_nothing_is_judged_twice(
    home: Path, engine: str
) -> None:
    """The first watch is killed as soon as anything of its first batch is written, the second one gets a ^C."""
    watch = ("fleet", "watch", "--engine", engine, "--trigger", "0")
    for hour in range(4):
        arrive(home, hour, BAD if hour % 2 else GOOD)
        arrive(home, hour, BAD, "us")
    first = start(watch, folder=home)
    begun = home / "lake" / "drift" / "_delta_log"
    while not any(begun.glob("*.json")) and first.poll() is None:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.communicate()

    arrive(home, 9, GOOD)
    whole = [("eu", h, h % 2) for h in range(4)] + [("eu", 9, 0)] + [("us", h, 1) for h in range(4)]
    second = start([*watch, "--metrics", "watch.prom"], folder=home)
    while judged(home) != whole and second.poll() is None:
        time.sleep(0.25)  # reading the lake costs more than the watch
    second.send_signal(signal.SIGINT)
    output, said = second.communicate()
    assert (output, second.returncode) == ("", 130), said
    words = [line.partition(" ")[0] for line in said.splitlines()]
    assert (words.count("stopping"), set(words)) == (1, {"judged", "stopping"})

    metrics = (home / "watch.prom").read_text(encoding="utf-8")
    assert "replan_watch_errors{} 0\n" in metrics
    before = history(home)
    run = replan(*watch, "--once", folder=home)
    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)  # nothing has arrived
    assert judged(home) == whole
    assert history(home) == before
    assert {row["cluster"] for row in before} == {"eu", "us"}
