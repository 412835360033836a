"""What a run leaves alone, since it has not changed since it was judged; and the past, by today's placements."""

from datetime import timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from msgspec.structs import replace
from tests.builders import snapshot, state
from tests.fleet.fleets import BAD, BEGIN, BROKEN, GOOD, Clusters, at_hour, keep_snapshot

from replan.commands.api import moment
from replan.fleet.api import (
    BY_INPUTS,
    COSTS,
    DECLARED,
    DIFFERENCES,
    DRIFT,
    DRIFT_STAGES,
    ERRORS,
    HISTORY,
    JUDGED,
    PLANS,
    RATES,
    TABLES,
    Fleet,
    FleetRun,
    Here,
    Hour,
    Lake,
    Stage,
    do_and_commit,
    from_lake,
    judge_fleet,
    key_of,
    render_fleet_drift,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def clusters(clusters: Clusters) -> Clusters:
    for name in ("eu", "us"):
        clusters.arrive(1, BAD, name)
    return clusters


def versions(lake: Lake) -> dict[str, int]:
    """The last commit of each table that there is."""
    places = {name: lake.place(table) for name, table in TABLES.items()}
    return {n: DeltaTable(p).version() for n, p in places.items() if DeltaTable.is_deltatable(p)}


def as_of(clusters: Clusters, hour: float) -> FleetRun:
    now, then = BEGIN + timedelta(days=3), BEGIN + timedelta(hours=hour)
    return judge_fleet(clusters.fleet, clusters.lake, BY_INPUTS, Here(), now, (), then)


def test_what_has_not_changed_is_not_judged_again_and_is_said_all_the_same(
    clusters: Clusters,
) -> None:
    first = render_fleet_drift(clusters.run(2))
    before = versions(clusters.lake)
    assert render_fleet_drift(clusters.run(3)) == first
    assert versions(clusters.lake) == before
    clusters.run(3, *DRIFT_STAGES)
    assert versions(clusters.lake) == before


def test_another_stage_another_placement_or_another_snapshot_is_judged(clusters: Clusters) -> None:
    clusters.run(2, *DRIFT_STAGES)
    assert not clusters.lake.read(PLANS).num_rows
    assert clusters.run(2).counts["plans"] == 2
    clusters.declare(BAD)
    assert clusters.run(2).drifted.num_rows == 0
    assert clusters.judged() == [("eu", 1, 0), ("us", 1, 0)]
    clusters.arrive(1.5, GOOD, "us")  # in the place of the one of the same hour
    assert clusters.run(2).counts["judged"] == 1
    assert clusters.judged() == [("eu", 1, 0), ("us", 1, 1)]
    eu = replace(clusters.fleet.clusters["eu"], owners={"*": "x"})
    clusters.fleet = Fleet({**clusters.fleet.clusters, "eu": eu}, clusters.lake.address)
    assert clusters.run(2).counts["judged"] == 1


def test_what_was_found_by_another_placement_meanwhile_is_not_taken_for_what_was_judged(
    clusters: Clusters,
) -> None:
    clusters.run(2)
    before = clusters.rows(PLANS, COSTS)
    clusters.declare(BAD)
    clusters.run(2, Stage.COST, Stage.PLAN)
    assert {row["changes"] for row in clusters.lake.read(PLANS).to_pylist()} == {0}
    clusters.declare(GOOD)
    assert clusters.run(2).counts["plans"] == 2
    assert clusters.rows(PLANS, COSTS) == before
    assert clusters.run(2).counts["plans"] == 0


def test_a_comparison_by_others_takes_away_what_stages_that_nobody_asks_for_had_found(
    clusters: Clusters,
) -> None:
    """Else the report would lay the copies of one placement beside the drift of another."""
    clusters.run(2)
    clusters.declare(BAD)
    clusters.run(2, *DRIFT_STAGES)
    assert clusters.lake.read(COSTS).num_rows == clusters.lake.read(PLANS).num_rows == 0
    clusters.run(2)
    clusters.arrive(1.5, GOOD, "us")
    clusters.watched(2)
    assert [row["cluster"] for row in clusters.lake.read(PLANS).to_pylist()] == ["eu"]
    clusters.run(2, *DRIFT_STAGES)
    assert [row["cluster"] for row in clusters.lake.read(PLANS).to_pylist()] == ["eu"]


def test_a_placement_that_is_another_for_a_moment_is_judged_again(clusters: Clusters) -> None:
    now = BEGIN + timedelta(hours=2)
    todo = from_lake(clusters.fleet, clusters.lake, now)  # reads what is declared
    clusters.declare(BAD)
    do_and_commit(clusters.lake, todo, BY_INPUTS, Here(), Hour.at(now))
    assert clusters.judged() == [("eu", 1, 0), ("us", 1, 0)]
    clusters.declare(GOOD)
    assert clusters.run(2).counts["judged"] == 2
    assert clusters.judged() == [("eu", 1, 1), ("us", 1, 1)]


def test_a_balance_goes_by_the_rates_that_the_same_run_finds(clusters: Clusters) -> None:
    """Not by those of the hour before: a second run would find another plan of the same snapshot."""
    clusters.placement.write_text(
        "version: 1\nassignments: {orders: {replicationFactor: 1}}\nbalance: {bytesIn: 10%}\n"
    )
    for hour in (4, 5):
        sizes = [hour * 3_600_000 * (1 if partition else 20) for partition in range(4)]
        states = [state([1], partition=n, size=size) for n, size in enumerate(sizes)]
        seen = replace(snapshot(states, observed_at=at_hour(hour)), cluster_id="eu")
        keep_snapshot(clusters.lake, seen, "eu")
        clusters.run(hour, *Stage)

    def plans() -> pa.Table:
        return clusters.lake.read(PLANS, "cluster = 'eu' AND hour = 5")

    (first,) = plans().to_pylist()
    DeltaTable(clusters.lake.place(JUDGED)).delete("cluster = 'eu' AND hour = 5")
    clusters.run(5, *Stage)
    assert plans().to_pylist() == [first]
    assert '"bytesIn"' in str(first["document"])


def test_what_left_an_error_is_judged_again(clusters: Clusters) -> None:
    clusters.placement.write_text(BROKEN)
    for _ in range(2):
        assert clusters.run(2).errors.num_rows == 2
    clusters.declare(GOOD)
    assert clusters.run(2).counts["judged"] == 2
    assert not clusters.lake.read(ERRORS).num_rows


def test_the_rates_of_the_newest_count_what_came_late_also_from_before_the_first_comparison(
    clusters: Clusters,
) -> None:
    def intervals() -> dict[tuple[str, int], int]:
        rows = clusters.lake.read(RATES).to_pylist()
        return {(row["cluster"], row["hour"]): row["intervals"] for row in rows}

    clusters.arrive(4, BAD)
    clusters.run(4.5, *Stage)
    assert intervals() == {("eu", 4): 1, ("us", 1): 0}
    clusters.arrive(2, BAD)
    found = clusters.run(5, *Stage)
    assert (found.late, intervals()) == (0, {("eu", 4): 2, ("us", 1): 0})
    clusters.arrive(3, BAD)
    clusters.run(5.5, *Stage)
    assert intervals() == {("eu", 4): 3, ("us", 1): 0}
    before = versions(clusters.lake)
    clusters.run(6, *Stage)
    assert versions(clusters.lake) == before


def test_of_the_past_a_later_spell_says_not_since_when(clusters: Clusters) -> None:
    clusters.run(2)
    for hour, members in ((3, GOOD), (4, BAD)):
        clusters.arrive(hour, members)
        clusters.run(hour + 0.5)
    ages = {key_of(row): row for row in clusters.lake.read(HISTORY, "open").to_pylist()}
    said = [render_fleet_drift(as_of(clusters, hour), ages) for hour in (2, 4)]
    since = [
        {line.split()[0]: line.split()[-1] for line in text.splitlines() if "orders-0" in line}
        for text in said
    ]
    assert since == [
        {"eu": "-", "us": "2026-11-21T01:00:00Z"},
        {"eu": "2026-11-21T04:00:00Z", "us": "2026-11-21T01:00:00Z"},
    ]


def test_the_past_is_judged_by_todays_placements_and_stays_the_past(clusters: Clusters) -> None:
    clusters.run(2)
    clusters.arrive(5, GOOD)
    clusters.run(6)
    clusters.declare(BAD)
    found = as_of(clusters, 4)
    hours = {row["cluster"]: row["hour"] for row in found.rows["judged"].to_pylist()}
    assert hours == {"eu": 1, "us": 1}
    assert found.drifted.num_rows == 0
    assert clusters.judged() == [("eu", 1, 0), ("eu", 5, 0), ("us", 1, 0)]
    declared = {r["cluster"]: r["replicas"] for r in clusters.lake.read(DECLARED).to_pylist()}
    assert declared == {"eu": GOOD, "us": BAD}, "that of eu is of its newest snapshot"
    assert not clusters.lake.read(DRIFT, "hour = 1").num_rows
    assert not clusters.lake.read(DIFFERENCES, "hour = 1").num_rows


def test_of_a_time_before_all_snapshots_nothing_is_known(clusters: Clusters) -> None:
    found = as_of(clusters, 0.5)
    assert found.rows["judged"].num_rows == 0
    messages = found.errors.column("message").to_pylist()
    none = "there is no snapshot of it in the lake from 2026-11-21T00:30:00+00:00 or before"
    assert messages == [f"{none}; give --as-of a later time"] * 2


def test_a_day_means_its_end() -> None:
    assert str(moment("2026-11-21")) == "2026-11-21 23:59:59.999999+00:00"
    assert str(moment("9999-12-31")) == "9999-12-31 23:59:59.999999+00:00"
    assert str(moment("2026-11-21T03:00:00Z")) == "2026-11-21 03:00:00+00:00"
    for wrong in ("yesterday", "2026-11-21T03:00:00"):
        with pytest.raises(Exception, match=r"is no time; write e\.g\."):
            moment(wrong)


def test_each_table_that_is_written_has_one_commit_in_a_run(clusters: Clusters) -> None:
    clusters.run(2)
    before = versions(clusters.lake)
    for name in ("eu", "us"):
        clusters.arrive(3, GOOD, name)
    clusters.run(4)
    after = versions(clusters.lake)
    more = {name: after[name] - before[name] for name in after if name != "snapshots"}
    written = {name for name, commits in more.items() if commits}
    assert written == {"declared", "judged", "plans", "history"}
    assert all(more[name] == 1 for name in written)
