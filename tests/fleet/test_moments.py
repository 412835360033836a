"""Which snapshots of a lake are judged, and what is found, in whatever order they come and by whatever clock."""

from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from deltalake import DeltaTable
from tests.fleet.fleets import (
    BAD,
    BEGIN,
    BROKEN,
    COMPARED,
    GOOD,
    ORDERS,
    Clusters,
    found_in,
    observed,
)

from replan.errors import BadFile
from replan.fleet.api import (
    AHEAD,
    DECLARED,
    DRIFT,
    ERRORS,
    HISTORY,
    JUDGED,
    PLANS,
    SNAPSHOTS,
    gather,
    render_fleet_drift,
)
from replan.snapshots.api import write_snapshot

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 12))]
)
def test_whatever_comes_when_the_tables_are_those_of_snapshots_that_came_in_order(
    tmp_path: Path, seed: int
) -> None:
    """Late ones, in the place of others, several between two runs, some dated by a wrong clock."""
    chance = Random(seed)  # noqa: S311 - the same fleet every time
    hours = {name: sorted(chance.sample(range(1, 9), 4)) for name in ("eu", "us")}
    arrivals = ((float(h), chance.choice([GOOD, BAD]), name) for name in hours for h in hours[name])
    found = list(arrivals)
    ordered, drawn = Clusters(tmp_path / "ordered"), Clusters(tmp_path / "drawn")
    for name in hours:
        for one in (ordered, drawn):
            one.arrive(0, BAD, name)
    ordered.run(0.5)
    drawn.run(0.5)
    for hour, members, name in sorted(found, key=lambda one: one[0]):
        ordered.arrive(hour, members, name)
        ordered.run(10)
    replaced = [(h + 0.5, BAD if members is GOOD else GOOD, n) for h, members, n in found]
    chance.shuffle(found)
    arriving = [*chance.sample(replaced, 4), *found]
    for number, (hour, members, name) in enumerate(arriving):
        drawn.arrive(hour, members, name)
        if number == 3:
            drawn.arrive(24 * 365, GOOD, name)
        if chance.random() < 0.4:
            drawn.watched(10) if chance.random() < 0.3 else drawn.run(10)
    last = drawn.run(10)
    assert drawn.rows() == ordered.rows()
    assert len(drawn.judged()) == 2 + len(found)
    (error,) = last.errors.to_pylist()
    assert "is dated 2027-11-21T00:00:00Z, later than the clock of this run" in error["message"]


def test_a_snapshot_from_the_future_hides_no_drift_and_is_an_error(clusters: Clusters) -> None:
    clusters.arrive(1, BAD)
    clusters.arrive(24 * 1500, GOOD)
    clusters.arrive(1, GOOD, "us")
    found = clusters.run(2)
    assert (found.drifted.num_rows, found.exit_code(), found.exit_code(1)) == (1, 1, 2)
    (error,) = found.errors.to_pylist()
    assert (error["cluster"], error["stage"], error["hour"]) == ("eu", "diff", 2)
    said = "is dated 2030-12-30T00:00:00Z, later than the clock of this run (2026-11-21T02:00:00Z)"
    assert said in error["message"]
    (eu, _) = gather(clusters.lake, clusters.fleet).clusters
    assert (eu.name, eu.drifted, len(eu.errors)) == ("eu", 1, 1)
    assert clusters.run(3).errors.num_rows == 1
    assert clusters.lake.read(ERRORS).num_rows == 1, "that of the run before is over"


def test_maintenance_removes_what_a_wrong_clock_has_dated_where_it_is_asked_to(
    clusters: Clusters,
) -> None:
    for hour in (1, 2, 3, 24 * 1500):
        clusters.arrive(hour, BAD)
    kept = [len(clusters.lake.read(SNAPSHOTS, "part = 'header'"))]
    for future in (False, True):
        after = BEGIN + timedelta(hours=2.5) if future else None
        list(clusters.lake.maintain(90, BEGIN.date(), after))
        kept.append(len(clusters.lake.read(SNAPSHOTS, "part = 'header'")))
    assert kept == [4, 4, 2], "that of 03:00, and of later days"
    assert clusters.run(2).errors.column("cluster").to_pylist() == ["us"]


def test_clocks_may_differ_by_some_minutes(clusters: Clusters) -> None:
    minutes = AHEAD.total_seconds() / 60
    clusters.arrive(2 + minutes / 60, BAD)
    assert clusters.run(2).drifted.num_rows == 1
    assert "eu" in clusters.run(2 - 1 / 3600).errors.column("cluster").to_pylist()


def test_a_cluster_that_has_nothing_but_a_future_is_not_judged(clusters: Clusters) -> None:
    clusters.arrive(100, BAD)
    found = clusters.run(2)
    assert [e["cluster"] for e in found.errors.to_pylist()] == ["eu", "us"]
    assert "is dated" in found.errors.column("message")[0].as_py()
    assert found.rows["judged"].num_rows == 0


def test_the_watch_leaves_out_what_a_wrong_clock_has_dated(clusters: Clusters) -> None:
    clusters.arrive(1, BAD)
    clusters.arrive(20, GOOD)
    assert [hour.hour for hour in clusters.watched(2).hours] == [1]
    (error,) = clusters.lake.read(ERRORS).to_pylist()
    assert (error["cluster"], error["hour"]) == ("eu", 2)
    assert "is dated 2026-11-21T20:00:00Z" in error["message"]


def test_a_file_from_the_future_is_an_error_and_the_older_one_is_compared(tmp_path: Path) -> None:
    for folder in ("snapshots/eu", "placements"):
        (tmp_path / folder).mkdir(parents=True)
    for day, members in (("21", BAD), ("30", GOOD)):
        seen = observed(members, f"2026-11-{day}T03:00:00Z")
        write_snapshot(seen, tmp_path / "snapshots" / "eu" / f"{day}.json")
    (tmp_path / "placements" / "eu.yaml").write_text(ORDERS)
    found = found_in(tmp_path, now=BEGIN + timedelta(days=1))
    assert (found.drifted.num_rows, found.older, found.exit_code()) == (1, 0, 1)
    (error,) = found.errors.to_pylist()
    assert error["message"].startswith(f"{tmp_path}/snapshots/eu/30.json: this snapshot is dated")


def test_a_late_snapshot_is_judged_in_its_place_and_the_answer_stays_that_of_the_newest(
    clusters: Clusters,
) -> None:
    clusters.arrive(1, BAD)
    clusters.run(1.5)
    clusters.arrive(4, BAD)
    clusters.run(4.5)
    clusters.arrive(2, GOOD)
    found = clusters.run(5)
    assert clusters.judged() == [("eu", 1, 1), ("eu", 2, 0), ("eu", 4, 1)]
    (history,) = clusters.lake.read(HISTORY).to_pylist()
    assert (history["spells"], history["since"]) == (2, "2026-11-21T04:00:00Z")
    assert [r["hour"] for r in found.rows["judged"].to_pylist()] == [4]
    assert "1 late snapshot judged, too.\n" in render_fleet_drift(found)
    (declared,) = clusters.lake.read(DECLARED).to_pylist()
    assert declared["observed_at"] == "2026-11-21T04:00:00Z"
    assert {r["hour"] for r in clusters.lake.read(PLANS).to_pylist()} == {1, 4}
    assert clusters.run(6).late == 0


def test_what_takes_the_place_of_a_snapshot_that_is_not_the_newest_is_judged(
    clusters: Clusters,
) -> None:
    for hour in (1, 2, 3):
        clusters.arrive(hour, GOOD)
        clusters.run(hour + 0.1)
    clusters.arrive(2.8, BAD)
    place = Path(clusters.lake.place(DECLARED))
    before = {*place.rglob("*.parquet")}
    clusters.run(3.5)
    (new,) = {*place.rglob("*.parquet")} - before
    (listed,) = clusters.lake.files(DECLARED)["eu"]
    assert new == place / listed.path, "nothing is left of the one that is not the newest"
    assert clusters.judged() == [("eu", 1, 0), ("eu", 2, 1), ("eu", 3, 0)]
    (history,) = clusters.lake.read(HISTORY).to_pylist()
    assert (history["since"], history["open"]) == ("2026-11-21T02:48:00Z", False)
    assert (clusters.run(4).late, len(clusters.judged())) == (0, 3)


def test_what_takes_the_place_of_the_first_that_was_judged_is_judged(clusters: Clusters) -> None:
    for hour in (1, 2):
        clusters.arrive(hour, BAD)
        clusters.run(hour + 0.1)
    clusters.arrive(1.5, GOOD)
    assert clusters.run(3).late == 1
    assert clusters.judged() == [("eu", 1, 0), ("eu", 2, 1)]
    (history,) = clusters.lake.read(HISTORY).to_pylist()
    assert history["since"] == "2026-11-21T02:00:00Z"
    assert clusters.run(4).late == 0


def test_what_came_between_two_runs_is_judged_once_and_what_cannot_be_is_tried_once(
    clusters: Clusters,
) -> None:
    clusters.arrive(1, BAD)
    clusters.run(1.5)
    for hour in (2, 3):
        clusters.arrive(hour, BAD)
    assert (clusters.run(3.5).late, len(clusters.judged())) == (1, 3)
    clusters.placement.write_text(BROKEN)
    for hour in (4, 5, 6):
        clusters.arrive(hour, BAD)
    broken = clusters.run(6.5)
    assert len(broken.errors) == 1 + 2 + 1, "us has no snapshot"
    assert len(clusters.run(6.6).errors) == 1 + 1
    assert len(clusters.judged()) == 3
    clusters.declare(GOOD)
    assert (clusters.run(6.7).late, len(clusters.judged())) == (0, 4)
    clusters.arrive(4.5, BAD)
    assert (clusters.run(6.8).late, len(clusters.judged())) == (1, 5), "what takes its place is"


def test_a_damaged_file_of_results_is_named_and_without_its_day_all_is_found_again(
    clusters: Clusters,
) -> None:
    for hour in (-22, -21, 1, 2, 3):
        clusters.arrive(hour, BAD)
        clusters.run(hour + 0.1)
    before = clusters.rows(*COMPARED, PLANS)
    (listed, *_) = [f for f in clusters.lake.files(DRIFT)["eu"] if f.day == BEGIN.date()]
    damaged = Path(clusters.lake.place(DRIFT), listed.path)
    damaged.write_bytes(b"torn")
    with pytest.raises(BadFile) as raised:
        clusters.run(4)
    assert all(name in str(raised.value) for name in (clusters.lake.place(DRIFT), damaged.name))
    for table in (DRIFT, JUDGED):
        known = DeltaTable(clusters.lake.place(table))
        known.delete(f"cluster = 'eu' AND day = '{BEGIN.date()}'")
    clusters.run(4.1)
    assert clusters.rows(*COMPARED, PLANS) == before


def test_what_is_older_than_the_history_of_its_cluster_stays_out_of_it(clusters: Clusters) -> None:
    for hour in (1, 2, 3):
        clusters.arrive(hour, BAD)
    assert clusters.run(3.5).late == 0
    assert clusters.judged() == [("eu", 3, 1)]


def test_of_several_hours_that_are_judged_together_the_newest_says_what_is_declared(
    clusters: Clusters,
) -> None:
    for hour in (1, 2, 3):
        clusters.arrive(hour, BAD)
    assert len(clusters.watched(4).hours) == 3
    (declared,) = clusters.lake.read(DECLARED).to_pylist()
    assert declared["observed_at"] == "2026-11-21T03:00:00Z"
