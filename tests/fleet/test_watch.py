"""Watching a lake: every snapshot has its effect once, however it comes and whoever is killed meanwhile."""

import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import replan, start
from tests.fleet.fleets import (
    BAD,
    BROKEN,
    CLOCK,
    GOOD,
    ORDERS,
    at_hour,
    keep_snapshot,
    observed,
    write_fleet_file,
)

from replan.fleet.api import (
    DRIFT,
    ERRORS,
    HISTORY,
    JUDGED,
    Here,
    Hour,
    JudgedBatch,
    Lake,
    judge_batch,
    read_fleet,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "eu.yaml").write_text(ORDERS)
    fleet = {"eu": "placement: eu.yaml", "us": "placement: eu.yaml", "other": ""}
    write_fleet_file(tmp_path / "fleet.yaml", fleet)
    return tmp_path


def arrive(home: Path, hour: float, members: Sequence[int], cluster: str = "eu") -> Hour:
    seen = observed(members, at_hour(hour), cluster_id=cluster)
    return keep_snapshot(Lake(str(home / "lake")), seen, cluster)


def judge(home: Path, *clusters: str) -> JudgedBatch:
    """What is judged of a day of these clusters."""
    fleet, lake = read_fleet(home / "fleet.yaml"), Lake(str(home / "lake"))
    days = [(name, "2026-11-21") for name in clusters]
    return judge_batch(days, fleet, lake, CLOCK, Here())


def history(home: Path) -> list[dict[str, Any]]:
    rows = Lake(str(home / "lake")).read(HISTORY).to_pylist()
    return sorted(rows, key=lambda r: (r["cluster"], r["topic"], r["partition"], r["kind"]))


def judged(home: Path) -> list[tuple[str, int, int]]:
    rows = Lake(str(home / "lake")).read(JUDGED).to_pylist()
    return sorted((r["cluster"], r["hour"], r["drifted"]) for r in rows)


def test_what_arrives_is_judged_once_and_a_replaced_snapshot_again(home: Path) -> None:
    names = ("eu", "other", "stranger")
    first, second = arrive(home, 3, BAD), arrive(home, 5, GOOD)
    arrive(home, 3, BAD, "other")  # it has no placement
    assert judge(home, *names).hours == (first, second)
    assert judge(home, *names).hours == ()
    again = arrive(home, 5.5, BAD)
    assert judge(home, *names).hours == (again,)
    late = arrive(home, 4, GOOD)
    assert judge(home, *names).hours == (late,)
    assert judged(home) == [("eu", 3, 1), ("eu", 4, 0), ("eu", 5, 1)]
    (spell,) = history(home)
    assert (spell["spells"], spell["open"]) == (2, True)
    assert Lake(str(home / "lake")).read(DRIFT).num_rows == 2


def test_what_cannot_be_judged_is_not_called_judged(home: Path) -> None:
    (home / "eu.yaml").write_text(BROKEN)
    arrive(home, 3, BAD)
    done = judge(home, "eu")
    assert (done.hours, len(done.errors)) == ((), 1)


def test_a_cut_file_of_one_cluster_stops_no_watch(home: Path) -> None:
    arrive(home, 3, BAD, "us")
    (file,) = (home / "lake/snapshots").rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:50])
    first = arrive(home, 3, BAD)
    for number in (0, 1):
        done = judge(home, "eu", "us")
        assert [row["cluster"] for row in done.errors.to_pylist()] == ["us"]
        assert (first in done.hours) == (number == 0)
    (error,) = Lake(str(home / "lake")).read(ERRORS).to_pylist()
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

    metrics = (home / "watch.prom").read_text()
    assert "replan_watch_errors{} 0\n" in metrics
    before = history(home)
    run = replan(*watch, "--once", folder=home)
    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)  # nothing has arrived
    assert judged(home) == whole
    assert history(home) == before
    assert {row["cluster"] for row in before} == {"eu", "us"}
