"""Tables of a lake on this disk: replaced by hour, read by SQL, older and newer ones, looked after."""

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from threading import Barrier
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from replan.errors import BadFile, BadUsage
from replan.fleet.api import ERRORS, HISTORY, TABLES, Hour, Lake, hours_condition, replace_rows
from replan.placement_file.api import read_schema

pytestmark = pytest.mark.slow

EU = Hour.of("eu", "2026-11-21T03:59:59.5Z")
US = Hour.of("it's us", "2026-11-21T03:00:00Z")


def errors(hour: Hour, *messages: str) -> pa.Table:
    keys = {"cluster": hour.cluster, "day": hour.day, "hour": hour.hour}
    rows = [{**keys, "stage": "collect", "file": "f", "message": m} for m in messages]
    return pa.Table.from_pylist(rows, schema=ERRORS.schema)


def messages(lake: Lake, where: str = "true") -> list[str]:
    return sorted(lake.read(ERRORS, where, ["message"]).column(0).to_pylist())


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


def test_what_is_written_again_replaces_the_hour_of_its_cluster_and_nothing_else(
    lake: Lake,
) -> None:
    later = Hour.of("eu", "2026-11-21T04:00:00Z")
    both = pa.concat_tables([errors(EU, "one", "two"), errors(US, "three")])
    replace_rows(lake, ERRORS, both, [EU, US])
    replace_rows(lake, ERRORS, errors(later, "four"), [later])
    replace_rows(lake, ERRORS, errors(EU, "five"), [EU])
    assert messages(lake) == ["five", "four", "three"]
    assert messages(lake, hours_condition(ERRORS, [US])) == ["three"]
    replace_rows(lake, ERRORS, errors(EU), [EU, US])
    assert messages(lake) == ["four"]


def test_a_table_that_was_opened_shows_what_another_process_has_written_since(lake: Lake) -> None:
    replace_rows(lake, ERRORS, errors(EU, "one"), [EU])
    assert messages(lake) == ["one"]
    other = Lake(lake.address)
    replace_rows(other, ERRORS, errors(US, "two"), [US])
    assert messages(lake) == ["one", "two"]
    replace_rows(lake, ERRORS, errors(EU, "three"), [EU])
    assert messages(other) == ["three", "two"]


def test_a_table_without_days_is_replaced_by_cluster(lake: Lake) -> None:
    def row(cluster: str, topic: str) -> dict[str, Any]:
        seen = {"first_seen": "a", "since": "a", "last_seen": "b", "spells": 1, "open": True}
        what = {"cluster_id": "id", "topic": topic, "class": "operator", "kind": "order"}
        return {"cluster": cluster, **what, **seen, "flapping": False, "began": []}

    for rows in ([row("eu", "orders"), row("us", "clicks")], [row("eu", "payments")]):
        hours = [Hour.of(r["cluster"], "2026-11-21T03:00:00Z") for r in rows]
        replace_rows(lake, HISTORY, pa.Table.from_pylist(rows, schema=HISTORY.schema), hours)
    topics = lake.read(HISTORY, columns=["topic"])["topic"].to_pylist()
    assert sorted(topics) == ["clicks", "payments"]


def test_what_is_not_there_has_no_rows(lake: Lake) -> None:
    assert [lake.read(table).num_rows for table in TABLES.values()] == [0] * len(TABLES)
    assert list(lake.maintain(1, date(2026, 11, 22))) == []


def test_each_table_names_itself_and_its_version(lake: Lake) -> None:
    replace_rows(lake, ERRORS, errors(EU, "one"), [EU])
    known = DeltaTable(lake.place(ERRORS)).metadata()
    assert (known.name, known.partition_columns) == ("replan.errors", ["cluster", "day"])
    assert known.description.endswith(" version 1")


def test_a_table_of_a_newer_version_is_refused_by_name(lake: Lake) -> None:
    DeltaTable.create(lake.place(ERRORS), ERRORS.schema, description="Errors. version 2")
    with pytest.raises(BadFile) as refused:
        lake.read(ERRORS)
    assert str(refused.value) == (
        f"{lake.place(ERRORS)}: this table is of version 2, newer than this program reads (1); use a newer replan"
    )


def test_a_table_with_fewer_columns_is_read_and_gets_the_others(lake: Lake) -> None:
    older = errors(US, "one").drop_columns(["stage"])
    write_deltalake(lake.place(ERRORS), older, partition_by=["cluster", "day"])
    assert lake.read(ERRORS).column("stage").to_pylist() == [None]
    replace_rows(lake, ERRORS, errors(EU, "two"), [EU])
    assert lake.read(ERRORS).sort_by("message").column("stage").to_pylist() == [None, "collect"]


def test_a_damaged_table_is_an_error_with_its_place(lake: Lake) -> None:
    replace_rows(lake, ERRORS, errors(EU, "one"), [EU])
    for file in Path(lake.place(ERRORS)).rglob("*.parquet"):
        file.write_bytes(b"cut")
    with pytest.raises(BadFile) as refused:
        lake.read(ERRORS)
    assert str(refused.value).startswith(f"{lake.place(ERRORS)}: ")


def test_a_store_that_cannot_be_reached_is_an_error_with_its_causes_on_one_line() -> None:
    with pytest.raises(BadFile) as refused:
        Lake("hdfs://127.0.0.1:1/replan").read(ERRORS)
    said = str(refused.value)
    assert said.startswith("hdfs://127.0.0.1:1/replan/errors: Generic HdfsObjectStore error: ")
    assert "refused" in said
    assert "credentials" in said
    assert "\n" not in said
    assert "\x1b" not in said


def test_maintenance_removes_old_days_merges_files_and_keeps_the_rest(lake: Lake) -> None:
    hours = [
        Hour.of("eu", f"2026-11-{day}T{hour:02}:00:00Z") for day in (20, 21) for hour in (1, 2, 3)
    ]
    for hour in hours:
        replace_rows(lake, ERRORS, errors(hour, f"{hour.day} {hour.hour}"), [hour])
    (done,) = lake.maintain(keep_days=1, today=date(2026, 11, 22))
    assert (done.table, done.rows_removed, done.files_merged) == ("errors", 3, 3)
    assert messages(lake) == ["2026-11-21 1", "2026-11-21 2", "2026-11-21 3"]
    (done,) = lake.maintain(keep_days=9_999_999, today=date(2026, 11, 22))
    assert done.rows_removed == 0
    assert len(DeltaTable(lake.place(ERRORS)).file_uris()) == 1
    replace_rows(lake, ERRORS, errors(hours[-1]), [hours[-1]])  # its file is merged with others now
    assert messages(lake) == ["2026-11-21 1", "2026-11-21 2"]


def test_maintenance_deletes_what_a_killed_writer_left_once_no_reader_can_have_begun_with_it(
    lake: Lake,
) -> None:
    replace_rows(lake, ERRORS, errors(EU, "one"), [EU])
    (file,) = Path(lake.place(ERRORS)).rglob("*.parquet")
    week = 8 * 24 * 3600
    for name, age in (("left", week), ("begun", 0)):
        copy = Path(shutil.copy(file, file.with_name(f"{name}.parquet")))
        os.utime(copy, (copy.stat().st_mtime - age,) * 2)
    os.utime(file, (file.stat().st_mtime - week,) * 2)
    list(lake.maintain(90, EU.day))
    assert {f.name for f in file.parent.iterdir()} == {file.name, "begun.parquet"}
    assert messages(lake) == ["one"]


def test_rows_are_what_the_schema_says(lake: Lake) -> None:
    replace_rows(lake, ERRORS, errors(EU, "one"), [EU])
    (row,) = lake.read(ERRORS).to_pylist()
    schema = {**read_schema("lake.v1.json"), "anyOf": [{"$ref": "#/$defs/errors"}]}
    jsonschema.validate(json.loads(json.dumps(row, default=str)), schema)


def test_a_table_that_several_writers_create_at_the_same_time_has_all_their_rows(
    tmp_path: Path,
) -> None:
    hours = [Hour.of(f"c{n}", "2026-11-21T03:00:00Z") for n in range(8)]
    for attempt in range(5):
        lake, together = Lake(str(tmp_path / str(attempt))), Barrier(len(hours))

        def feed(hour: Hour, lake: Lake = lake, together: Barrier = together) -> None:
            together.wait()
            replace_rows(lake, ERRORS, errors(hour, hour.cluster), [hour])

        with ThreadPoolExecutor(len(hours)) as pool:
            list(pool.map(feed, hours))
        assert messages(lake) == [hour.cluster for hour in hours]


def test_the_address_of_a_lake_has_no_password(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="environment variables of the store") as refused:
        Lake("s3a://KEY:hunter2@ops/replan")
    assert "hunter2" not in str(refused.value)
    assert Lake("abfss://ops@account.dfs.core.windows.net/replan").address
    for folder in ("feature%2Flake", "lake[1]"):
        with pytest.raises(BadUsage, match="choose another"):
            Lake(str(tmp_path / folder))
