"""Small files of a cluster's day become one as hours come: how many are left, what is in them, who is in the way."""

from datetime import date, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from msgspec.structs import replace
from tests.builders import snapshot, state
from tests.fleet.fleets import (
    BEGIN,
    BROKEN,
    ORDERS,
    at_hour,
    keep_snapshot,
    kept_snapshots,
    rows_of,
)
from tests.fleet.lake.test_lake_files import DAYS, MOMENT, NAMES, judged

from replan.fleet.api import (
    ERRORS,
    FEW_FILES,
    JUDGED,
    RATES,
    READ_FOR_ONE,
    SNAPSHOTS,
    Fleet,
    FleetCluster,
    Here,
    Hour,
    Lake,
    LakeTable,
    RowFile,
    Stage,
    commit_files,
    do_and_commit,
    files_to_merge,
    from_lake,
    merged_file,
    newest_version,
    put_rows,
    read_kept,
    replace_rows,
    run_in,
    touched_between,
)

pytestmark = pytest.mark.slow


def count(lake: Lake, table: LakeTable, cluster: str = "eu") -> int:
    return len(lake.files(table).get(cluster, ()))


def write(lake: Lake, hour: Hour, number: int) -> None:
    replace_rows(lake, JUDGED, judged(hour, number), [hour])


def in_store(lake: Lake) -> int:
    """How many files of the table there are, whether or not its log names them."""
    return sum(1 for _ in Path(lake.place(JUDGED)).rglob("*.parquet"))


def test_a_day_has_few_files_whatever_came_and_the_day_before_it_one(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    for hour in range(50):
        at = BEGIN + timedelta(hours=hour)
        write(lake, Hour("eu", at.date(), at.hour), hour)
        days = [file.day for file in lake.files(JUDGED)["eu"]]
        assert days.count(at.date()) <= FEW_FILES + 1
        assert len(days) <= at.day - BEGIN.day + 1 + FEW_FILES
    found = sorted(lake.read(JUDGED)["partitions"].to_pylist())
    assert found == list(range(50))


@pytest.mark.parametrize("seed", range(3))
def test_hours_in_any_order_are_the_rows_that_came_last(tmp_path: Path, seed: int) -> None:
    chance, lake = Random(seed), Lake(str(tmp_path))  # noqa: S311 - the same every time
    last: dict[Hour, int] = {}
    for step in range(40):
        day = date.fromisoformat(chance.choice(DAYS))
        hours = [Hour(name, day, chance.randrange(12)) for name in chance.sample(NAMES, 2)]
        found = pa.concat_tables(judged(hour, step) for hour in hours)
        replace_rows(lake, JUDGED, found, hours)
        last |= dict.fromkeys(hours, step)
    expected = pa.concat_tables(judged(hour, step) for hour, step in last.items())
    assert rows_of(lake, JUDGED)[JUDGED.name] == sorted(map(str, expected.to_pylist()))


def test_a_merged_file_whose_rows_another_has_replaced_is_left_out(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    for hour in range(FEW_FILES + 1):
        write(lake, replace(MOMENT, hour=hour), hour)
    newest = replace(MOMENT, hour=10)
    with run_in(lake) as run:
        ((_, small),) = files_to_merge(lake, JUDGED, [newest]).items()
        files = [put_rows(lake, JUDGED, judged(newest, 10), newest, run)]
        files += merged_file(lake, JUDGED, small, run)
        write(lake, replace(MOMENT, hour=2), 200)
        commit_files(lake, JUDGED, {newest: files}, run)
    found = lake.read(JUDGED).sort_by("hour")
    assert found["partitions"].to_pylist() == [0, 1, 200, 3, 4, 10]
    assert in_store(lake) == len(small) + 2, "the file that was merged in vain is gone"


def test_of_two_that_merge_the_same_files_one_does(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    for hour in range(FEW_FILES + 1):
        write(lake, replace(MOMENT, hour=hour), hour)
    files: dict[Hour, list[RowFile]] = {}
    with run_in(lake) as run:
        for hour in (10, 11):
            at = replace(MOMENT, hour=hour)
            (small,) = files_to_merge(lake, JUDGED, [at]).values()
            files[at] = [put_rows(lake, JUDGED, judged(at, hour), at, run)]
            files[at] += merged_file(lake, JUDGED, small, run)
        commit_files(lake, JUDGED, files, run)
    assert sorted(lake.read(JUDGED)["partitions"].to_pylist()) == [0, 1, 2, 3, 4, 10, 11]
    assert count(lake, JUDGED) == 3


def test_no_commit_merges_the_files_of_all_clusters(tmp_path: Path) -> None:
    lake, names = Lake(str(tmp_path)), [f"c{number}" for number in range(8)]
    for hour in range(FEW_FILES + 1):
        hours = [Hour(name, MOMENT.day, hour) for name in names]
        replace_rows(lake, JUDGED, pa.concat_tables(judged(at, hour) for at in hours), hours)
    due = files_to_merge(lake, JUDGED, [Hour(name, MOMENT.day, 10) for name in names])
    read = sum(map(len, due.values()))
    assert 0 < read <= READ_FOR_ONE * len(names)
    assert len(due) < len(names)


def test_a_file_that_cannot_be_read_stays_as_it_is(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    for hour in range(FEW_FILES + 1):
        write(lake, replace(MOMENT, hour=hour), hour)
    torn = Path(lake.place(JUDGED), lake.files(JUDGED)["eu"][0].path)
    torn.write_bytes(torn.read_bytes()[:-7])
    write(lake, replace(MOMENT, hour=10), 10)
    assert count(lake, JUDGED) == FEW_FILES + 2


def test_snapshots_are_what_they_were_and_no_merged_one_arrives(tmp_path: Path) -> None:
    lake, kept = Lake(str(tmp_path)), {}
    for hour in range(FEW_FILES + 2):
        seen = snapshot([state([1, 2, 3], size=hour)], observed_at=at_hour(hour))
        before = newest_version(lake)
        kept[keep_snapshot(lake, seen, "eu")] = seen
    assert count(lake, SNAPSHOTS) == 2
    assert [one.at for one in kept_snapshots(lake)] == list(kept)
    for at, seen in kept.items():
        assert read_kept(lake, at).partitions.equals(seen.partitions)
    keep_snapshot(lake, snapshot([state([1, 2])], observed_at="2026-11-24T00:00:00Z"), "eu")
    assert [file.day.day for file in lake.files(SNAPSHOTS)["eu"]] == [21, 24]
    assert touched_between(lake, before, newest_version(lake)) == [
        ("eu", "2026-11-21"),
        ("eu", "2026-11-24"),
    ]
    newest = newest_version(lake)
    assert touched_between(lake, newest - 1, newest) == [("eu", "2026-11-24")]
    again = touched_between(
        lake, newest + 9, newest
    )  # the table was made again, and has fewer versions
    assert again == touched_between(lake, -1, newest) != []


def test_whoever_does_a_task_merges_the_files_of_its_cluster(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    named = {"eu": ORDERS, "us": BROKEN}
    for name, text in named.items():
        (tmp_path / name).write_text(text)
    clusters = {name: FleetCluster(name, placement=tmp_path / name) for name in named}
    fleet = Fleet(clusters, lake.address)
    for hour in range(FEW_FILES + 3):
        now = BEGIN + timedelta(hours=hour)
        seen = snapshot([state([1, 2, 3], size=hour * 3600)], observed_at=at_hour(hour))
        for name in named:
            keep_snapshot(lake, seen, name)
        found = do_and_commit(lake, from_lake(fleet, lake, now), list(Stage), Here(), Hour.at(now))
        assert found.counts["judged"] == 1
        assert count(lake, JUDGED) <= FEW_FILES + 1
        assert count(lake, RATES) <= FEW_FILES + len(named)
        assert count(lake, ERRORS, "us") <= FEW_FILES + 1
    known = lake.read(RATES, "cluster = 'eu'").sort_by("hour")
    assert known["bytes_per_second"].to_pylist() == [None, *[1.0] * (FEW_FILES + 2)]
