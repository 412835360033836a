"""Rates by the sums that the hour before has kept are those by all snapshots of the window."""

import shutil
from datetime import date, datetime
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace
from tests.builders import snapshot, state
from tests.fleet.fleets import keep_snapshot, rows_of, sized

from replan.fleet.api import (
    RATES,
    RATES_AT_ONCE,
    SNAPSHOTS,
    SUMS,
    Fleet,
    FleetCluster,
    Here,
    Hour,
    Lake,
    Stage,
    do_and_commit,
    from_lake,
)
from replan.model.api import BrokerId, Snapshot, TopicId

MOMENTS = tuple(
    f"2026-11-{day}T{hour:02}:{minute:02}:00Z"
    for day, hour, minute in (
        *((20, 3, 0), (20, 9, 5), (20, 9, 50), (20, 22, 0)),
        *((21, 2, 0), (21, 7, 30), (21, 8, 0), (22, 1, 0), (24, 6, 0), (24, 7, 0)),
    )
)
LATER = "2026-11-24T09:00:00+00:00"
IN_PARTS = 3 * RATES_AT_ONCE
"""A cluster of so many partitions is cut into parts, each judged by a process that is started for it."""


def drawn(chance: Random, moment: str) -> Snapshot:
    """A cluster whose topics come and go, shrink, and are created again."""
    topics = [name for name in ("clicks", "orders", "payments", "stock") if chance.random() < 0.9]
    ids = {name: TopicId(f"{name}-{chance.random() < 0.2}") for name in topics}
    states = [
        state(
            [1, 2, 3] if partition else [2, 3, 4],
            topic=topic,
            partition=partition,
            topic_id=ids[topic],
            size=chance.randint(10**6, 2 * 10**6),
        )
        for topic in topics
        for partition in range(3)
    ]
    silent = (BrokerId(4),) if chance.random() < 0.2 else ()
    return replace(snapshot(states, observed_at=moment), silent=silent)


class Cluster:
    """A cluster in a lake, whose rates are found as its snapshots come."""

    def __init__(self, home: Path, partitions: int = 0) -> None:
        home.mkdir()
        self.address, self.partitions = str(home / "lake"), partitions
        declared = FleetCluster("eu", placement=home / "eu.yaml")
        self.fleet = Fleet({"eu": declared}, self.address)

    @property
    def lake(self) -> Lake:
        """As whoever comes next sees it."""
        return Lake(self.address)

    def arrive(self, seen: Snapshot) -> None:
        keep_snapshot(self.lake, seen, "eu")

    def find(self, at: str = LATER) -> list[str]:
        """Find the rates of the newest snapshot; what could not be done."""
        todo = from_lake(self.fleet, self.lake, datetime.fromisoformat(at))
        tasks = sized(todo, self.partitions)
        found = do_and_commit(self.lake, tasks, [Stage.RATES], Here(), Hour.of("", at))
        return [str(message) for message in found.errors["message"].to_pylist()]

    def rows(self) -> dict[str, list[str]]:
        return rows_of(self.lake, RATES, SUMS)

    def tear(self) -> None:
        """Make what has come so far unreadable, and nothing that comes."""
        for file in self.lake.files(SNAPSHOTS)["eu"]:
            Path(self.lake.place(SNAPSHOTS), file.path).write_bytes(b"torn")


@pytest.mark.parametrize(
    ("seed", "partitions"),
    [
        pytest.param(seed, partitions, marks=pytest.mark.nightly)
        for seed in range(2)
        for partitions in (0, IN_PARTS)
    ],
)
def test_rates_by_sums_are_those_by_all_snapshots(
    tmp_path: Path, seed: int, partitions: int
) -> None:
    chance = Random(seed)  # noqa: S311 - the same clusters every time
    summed, again = Cluster(tmp_path / "summed", partitions), Cluster(tmp_path / "again")
    for moment in MOMENTS:
        seen = drawn(chance, moment)
        for cluster in (summed, again):
            cluster.arrive(seen)
        shutil.rmtree(again.lake.place(SUMS), ignore_errors=True)
        assert summed.find() == again.find() == []
        assert summed.rows() == again.rows(), moment
    rates = summed.lake.read(RATES).to_pylist()
    assert {row["left_out"] for row in rates} == {None, "shrank", "no-earlier-snapshot"}
    assert max(row["intervals"] for row in rates) > 1


def test_rates_are_found_of_the_first_day_that_a_clock_can_say(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "eu")
    cluster.arrive(drawn(Random(0), "0001-01-01T00:00:00Z"))  # noqa: S311 - the same draws each time
    assert cluster.find() == []


def test_no_earlier_snapshot_is_read_but_after_a_late_one(tmp_path: Path) -> None:
    cluster, chance = Cluster(tmp_path / "eu"), Random(0)  # noqa: S311 - the same draws each time
    for moment in MOMENTS[:4]:
        cluster.arrive(drawn(chance, moment))
        assert cluster.find() == []
    for day in (MOMENTS[4:7], MOMENTS[7:8]):
        cluster.tear()
        for moment in day:
            cluster.arrive(drawn(chance, moment))
            assert cluster.find() == [], "the sums have it all"
    cluster.arrive(drawn(chance, "2026-11-21T05:00:00Z"))
    assert [SNAPSHOTS.name in message for message in cluster.find()] == [True]


def test_one_that_takes_the_place_of_another_in_the_middle_is_read(tmp_path: Path) -> None:
    """By the log of the snapshots the sums would still be made of as many, from the first to the last."""
    chance = Random(0)  # noqa: S311 - the same draws each time
    seen = [drawn(chance, moment) for moment in (MOMENTS[0], MOMENTS[1], MOMENTS[3])]
    instead, newest = drawn(chance, MOMENTS[2]), drawn(chance, MOMENTS[4])
    replaced, right = Cluster(tmp_path / "replaced"), Cluster(tmp_path / "right")
    for one in seen:
        replaced.arrive(one)
        assert replaced.find() == []
    for one in (instead, newest):
        replaced.arrive(one)
    for one in (seen[0], instead, seen[2], newest):
        right.arrive(one)
    assert replaced.find() == right.find() == []
    day = f"day = '{MOMENTS[4][:10]}'"
    mine, theirs = (c.lake.read(RATES, day).to_pylist() for c in (replaced, right))
    assert sorted(mine, key=str) == sorted(theirs, key=str)
    assert replaced.rows()[SUMS.name] == right.rows()[SUMS.name]


def test_the_sums_count_when_the_snapshots_were_merged(tmp_path: Path) -> None:
    cluster, chance = Cluster(tmp_path / "eu"), Random(0)  # noqa: S311 - the same draws each time
    for moment in MOMENTS[:4]:
        cluster.arrive(drawn(chance, moment))
    assert cluster.find() == []
    merged = {one.table: one.files_merged for one in cluster.lake.maintain(90, date(2026, 11, 21))}
    assert merged[SNAPSHOTS.name] == 3
    cluster.tear()
    cluster.arrive(drawn(chance, MOMENTS[4]))
    assert cluster.find() == []
    rates = cluster.lake.read(RATES, "day = '2026-11-21'").to_pylist()
    assert max(row["intervals"] for row in rates) > 1
