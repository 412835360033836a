"""Files that executors write into the stores of a lake's tables: what their commits replace, and what runs leave."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from random import Random
from threading import Barrier

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.commandline import python
from tests.fleet.fleets import rows_of
from tests.forks import TREE

from replan.fleet.api import (
    DECLARED,
    JUDGED,
    RUN,
    Hour,
    Lake,
    LakeTable,
    commit_files,
    put_rows,
    replace_rows,
    run_in,
)

pytestmark = pytest.mark.slow

NAMES = ("eu", "us-2", "US_3.x")
DAYS = ("2026-11-20", "2026-11-21")
MOMENT = Hour.of("eu", "2026-11-21T03:00:00Z")


def judged(hour: Hour, *numbers: int) -> pa.Table:
    same = {"cluster": hour.cluster, "day": hour.day, "hour": hour.hour}
    seen = {"cluster_id": "id", "observed_at": "then", "digest": "d"}
    rest = dict.fromkeys(("drifted", "converging", "acknowledged"), 0)
    rows = [{**same, **seen, "partitions": n, **rest} for n in numbers]
    return pa.Table.from_pylist(rows, schema=JUDGED.schema)


def declared(hour: Hour, *numbers: int) -> pa.Table:
    seen = {"cluster_id": "id", "observed_at": str(hour.hour), "digest": "d", "topic": "orders"}
    rows = [{"cluster": hour.cluster, **seen, "partition": n, "replicas": [1, n]} for n in numbers]
    return pa.Table.from_pylist(rows, schema=DECLARED.schema)


def committed(lake: Lake, table: LakeTable, found: dict[Hour, pa.Table]) -> None:
    """What a run of Spark does for one table."""
    with run_in(lake) as run:
        lake.begun(table)
        files = {
            hour: [put_rows(lake, table, rows, hour, run)] if rows.num_rows else []
            for hour, rows in found.items()
        }
        commit_files(lake, table, files, run)


@pytest.mark.parametrize("seed", range(4))
def test_a_commit_of_files_replaces_what_a_commit_of_rows_replaces(
    tmp_path: Path, seed: int
) -> None:
    """Whatever came before: either of them, files of several hours that were merged, late hours, nothing found."""
    chance = Random(seed)  # noqa: S311 - the same lakes every time
    by_rows, by_files = Lake(str(tmp_path / "rows")), Lake(str(tmp_path / "files"))
    for step in range(12):
        table, make = chance.choice([(JUDGED, judged), (DECLARED, declared)])
        found = {}
        for name in chance.sample(NAMES, chance.randint(1, 3)):
            for hour in chance.sample(range(5), chance.randint(1, 2) if table.keeps_days else 1):
                at = Hour(name, date.fromisoformat(chance.choice(DAYS)), hour)
                found[at] = make(at, *range(step, step + chance.randint(0, 3)))
        together = pa.concat_tables(found.values())
        replace_rows(by_rows, table, together, found)
        if chance.random() < 0.3:
            replace_rows(by_files, table, together, found)
        else:
            committed(by_files, table, found)
        if chance.random() < 0.3:
            list(by_files.maintain(9999, MOMENT.day))
        assert rows_of(by_files, table) == rows_of(by_rows, table), step


def test_of_runs_that_commit_the_same_hour_at_once_one_is_left(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    lake.begun(JUDGED)
    writers = 4
    for hour in range(5):
        at, together = Hour("eu", MOMENT.day, hour), Barrier(writers)

        def write(number: int, at: Hour = at, together: Barrier = together) -> None:
            with run_in(lake) as run:
                file = put_rows(lake, JUDGED, judged(at, number, number), at, run)
                together.wait()
                commit_files(lake, JUDGED, {at: [file]}, run)

        with ThreadPoolExecutor(writers) as pool:
            list(pool.map(write, range(writers)))
        found = lake.read(JUDGED, f"hour = {hour}").column("partitions").to_pylist()
        assert len(found) == 2, found
        assert len(set(found)) == 1


KILLED = """
import os, sys
from tests.fleet.lake.test_lake_files import JUDGED, MOMENT, Lake, Hour, commit_files, judged, put_rows, run_in
lake = Lake(sys.argv[1])
with run_in(lake) as run:
    lake.begun(JUDGED)
    later = Hour("eu", MOMENT.day, 4)
    commit_files(lake, JUDGED, {MOMENT: [put_rows(lake, JUDGED, judged(MOMENT, 1), MOMENT, run)]}, run)
    put_rows(lake, JUDGED, judged(later, 2), later, run)
    os._exit(9)
"""


def files_of(lake: Lake) -> list[Path]:
    return sorted(Path(lake.place(JUDGED)).rglob("*.parquet"))


def test_what_a_killed_run_has_not_committed_is_removed_by_the_next(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    assert python("-c", KILLED, lake.address, folder=TREE).returncode == 9
    assert len(files_of(lake)) == 2
    partial = files_of(lake)[0].with_name(f"{files_of(lake)[0].name}#1")  # a write that was cut
    partial.touch()
    with run_in(lake):
        left = files_of(lake)
    assert [str(file) for file in left] == DeltaTable(lake.place(JUDGED)).file_uris()
    assert lake.read(JUDGED).column("partitions").to_pylist() == [1]
    assert not partial.exists()
    assert not list(Path(lake.address).glob(f"{RUN}*"))


def test_a_run_that_fails_leaves_nothing(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    lake.begun(JUDGED)

    def fail() -> None:
        with run_in(lake) as run:
            put_rows(lake, JUDGED, judged(MOMENT, 1), MOMENT, run)
            assert files_of(lake)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not files_of(lake)


def test_a_cluster_may_have_a_name_that_no_folder_has(tmp_path: Path) -> None:
    """As its placement calls it, where two folders are compared."""
    lake, odd = Lake(str(tmp_path)), Hour("it's us/../%41", MOMENT.day, 3)
    committed(lake, JUDGED, {odd: judged(odd, 1)})
    assert lake.read(JUDGED).column("cluster").to_pylist() == [odd.cluster]
