"""Watching a lake: every snapshot has its effect once, however it comes and whoever is killed meanwhile."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import replan, start
from tests.fleet.fleets import BAD, BROKEN, GOOD, Clusters, write_fleet_file

from replan.fleet.api import DRIFT, ERRORS, HISTORY, SNAPSHOTS, Fleet, FleetCluster

pytestmark = pytest.mark.slow


@pytest.fixture
def home(clusters: Clusters) -> Path:
    """The folder of the clusters, with their fleet file."""
    home = clusters.placement.parent
    fleet = dict.fromkeys(clusters.fleet.clusters, f"placement: {clusters.placement.name}")
    write_fleet_file(home / "fleet.yaml", fleet)
    return home


def history(clusters: Clusters) -> list[dict[str, Any]]:
    return sorted(clusters.lake.read(HISTORY).to_pylist(), key=lambda row: str(row["cluster"]))


def test_what_arrives_is_judged_once_and_a_replaced_snapshot_again(clusters: Clusters) -> None:
    other = {"other": FleetCluster("other")}  # it has no placement
    clusters.fleet = Fleet({**clusters.fleet.clusters, **other})
    clusters.arrive(3, BAD, "other")
    first, second = clusters.arrive(3, BAD), clusters.arrive(5, GOOD)
    assert clusters.watched(9, "stranger").hours == (first, second)
    assert clusters.watched(9, "stranger").hours == ()
    again = clusters.arrive(5.5, BAD)
    assert clusters.watched(9).hours == (again,)
    late = clusters.arrive(4, GOOD)
    assert clusters.watched(9).hours == (late,)
    assert clusters.judged() == [("eu", 3, 1), ("eu", 4, 0), ("eu", 5, 1)]
    (spell,) = history(clusters)
    assert (spell["spells"], spell["open"]) == (2, True)
    assert clusters.lake.read(DRIFT).num_rows == 2


def test_what_cannot_be_judged_is_not_called_judged(clusters: Clusters) -> None:
    clusters.placement.write_text(BROKEN)
    clusters.arrive(3, BAD)
    done = clusters.watched(9)
    assert (done.hours, len(done.errors)) == ((), 1)


def test_a_cut_file_of_one_cluster_stops_no_watch(clusters: Clusters) -> None:
    clusters.arrive(3, BAD, "us")
    (file,) = Path(clusters.lake.place(SNAPSHOTS)).rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:50])
    first = clusters.arrive(3, BAD)
    for number in (0, 1):
        done = clusters.watched(9)
        assert [row["cluster"] for row in done.errors.to_pylist()] == ["us"]
        assert (first in done.hours) == (number == 0)
    (error,) = clusters.lake.read(ERRORS).to_pylist()
    assert (error["cluster"], error["stage"]) == ("us", "diff")


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("local", marks=pytest.mark.command),
        pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.nightly]),
    ],
)
def test_a_watch_that_was_killed_goes_on_and_nothing_is_judged_twice(
    clusters: Clusters, home: Path, engine: str
) -> None:
    """The first watch is killed as soon as anything of its first batch is written, the second one gets a ^C."""
    watch = ("fleet", "watch", "--engine", engine, "--trigger", "0")
    for hour in range(4):
        clusters.arrive(hour, BAD if hour % 2 else GOOD)
        clusters.arrive(hour, BAD, "us")
    first = start(watch, folder=home)
    begun = home / "lake" / "drift" / "_delta_log"
    while not any(begun.glob("*.json")) and first.poll() is None:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.communicate()

    clusters.arrive(9, GOOD)
    whole = [("eu", h, h % 2) for h in range(4)] + [("eu", 9, 0)] + [("us", h, 1) for h in range(4)]
    second = start([*watch, "--metrics", "watch.prom"], folder=home)
    while clusters.judged() != whole and second.poll() is None:
        time.sleep(0.25)  # reading the lake costs more than the watch
    second.send_signal(signal.SIGINT)
    output, said = second.communicate()
    assert (output, second.returncode) == ("", 130), said
    words = [line.partition(" ")[0] for line in said.splitlines()]
    assert (words.count("stopping"), set(words)) == (1, {"judged", "stopping"})

    metrics = (home / "watch.prom").read_text()
    assert "replan_watch_errors{} 0\n" in metrics
    before = history(clusters)
    run = replan(*watch, "--once", folder=home)
    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)  # nothing has arrived
    assert clusters.judged() == whole
    assert history(clusters) == before
    assert {row["cluster"] for row in before} == {"eu", "us"}
