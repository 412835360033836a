"""The rates of a large cluster are found in parts, by topic; together they are those of the whole."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from tests.builders import snapshot, state
from tests.fleet.fleets import keep_snapshot

from replan.fleet.fleet_file import Fleet, FleetCluster
from replan.fleet.in_process import Here
from replan.fleet.lake.delta import Hour, Lake
from replan.fleet.lake.tables import RATES, SNAPSHOTS
from replan.fleet.perform import RATES_AT_ONCE, Stage, in_parts, stages_of
from replan.fleet.run import FleetRun, judge
from replan.fleet.tasks.todo import Todo, from_lake, unchanged
from replan.model.names import BrokerId, TopicId

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
TOPICS = ("clicks", "orders", "payments", "search", "stock")
MANY = 4 * RATES_AT_ONCE


class Clusters:
    """One cluster at three hours; a topic is created again, one comes late, a broker is silent."""

    def __init__(self, home: Path, name: str) -> None:
        self.lake = Lake(str(home / name))
        (home / "eu.yaml").write_text(
            "version: 1\nassignments: {orders: {partitions: [[1, 2, 4]]}}\n", encoding="utf-8"
        )
        cluster = FleetCluster("eu", placement=home / "eu.yaml")
        self.fleet = Fleet({"eu": cluster}, self.lake.address)
        chance = Random(1)  # noqa: S311 - the same sizes every time
        for hour in (3, 4, 5):
            states = [
                state(
                    [1, 2, 3] if partition else [2, 3, 4],
                    topic=topic,
                    partition=partition,
                    topic_id=TopicId(f"{topic}-{hour if topic == 'search' else 0}"),
                    size=hour * chance.randint(10**6, 2 * 10**6),
                )
                for topic in TOPICS[: 4 if hour == 3 else 5]
                for partition in range(4)
            ]
            seen = snapshot(states, observed_at=f"2026-11-21T0{hour}:00:00Z")
            silent = (BrokerId(4),) if hour == 4 else ()
            keep_snapshot(self.lake, replace(seen, silent=silent), "eu")

    def regroup(self, rows: int) -> None:
        """Write the files of the snapshots in groups of so many rows, as those of large ones are."""
        for file in self.lake.files(SNAPSHOTS)["eu"]:
            path = Path(self.lake.place(SNAPSHOTS), file.path)
            pq.write_table(pq.ParquetFile(path).read(), path, row_group_size=rows)

    def todo(self, partitions: int) -> Todo:
        """With one task, of a cluster of so many partitions by what the lake says."""
        todo = from_lake(self.fleet, self.lake, NOW)
        return replace(todo, tasks=tuple(replace(t, partitions=partitions) for t in todo.tasks))

    def judged(self, partitions: int) -> FleetRun:
        hour = Hour.of("", NOW.isoformat())
        return judge(self.lake, self.todo(partitions), list(Stage), Here(), hour)


@pytest.mark.parametrize("rows_together", [1000, pytest.param(7, marks=pytest.mark.nightly), 1])
def test_rates_that_are_found_in_parts_are_those_of_the_whole(
    tmp_path: Path, rows_together: int
) -> None:
    whole, divided = Clusters(tmp_path, "whole"), Clusters(tmp_path, "divided")
    divided.regroup(rows_together)
    found = [whole.judged(0), divided.judged(MANY)]
    assert dict(found[0].rows) == dict(found[1].rows)
    assert found[0].counts == found[1].counts
    rates = found[1].rows["rates"]
    assert rates.num_rows == 4 * len(TOPICS)
    assert pc.sum(pc.is_valid(rates["bytes_per_second"])).as_py() > 0
    assert rates["left_out"].null_count < rates.num_rows
    files = divided.lake.files(RATES)["eu"]
    assert len(files) == MANY // RATES_AT_ONCE


@pytest.mark.parametrize("stages", [list(Stage), [Stage.RATES], [Stage.DIFF]])
def test_each_stage_of_each_partition_is_done_once(tmp_path: Path, stages: Sequence[Stage]) -> None:
    (task,) = Clusters(tmp_path, "lake").todo(MANY).tasks
    done = [stages_of(part, stages) for part in in_parts(task, stages)]
    others = [stage for some in done for stage in some if stage is not Stage.RATES]
    assert others == [stage for stage in stages if stage is not Stage.RATES]
    assert sum(Stage.RATES in some for some in done) == (4 if Stage.RATES in stages else 0)
    assert all(done)


def test_groups_of_rows_without_the_topics_that_are_asked_for_are_not_read(tmp_path: Path) -> None:
    clusters = Clusters(tmp_path, "lake")
    clusters.regroup(1)
    file = clusters.lake.files(SNAPSHOTS)["eu"][0]
    columns, orders = ("part", "partitions.topic"), pa.array(["orders"])
    every = clusters.lake.read_file(SNAPSHOTS, file, columns)
    some = clusters.lake.read_file(SNAPSHOTS, file, columns, ("partitions.topic", orders))
    parts = [Counter(rows["part"].to_pylist()) for rows in (every, some)]
    assert (parts[0]["partitions"], parts[1]["partitions"]) == (16, 4)
    assert all(parts[0][name] == parts[1][name] for name in parts[0].keys() - {"partitions"})


def test_rates_that_cannot_be_found_are_one_error_and_are_tried_again(tmp_path: Path) -> None:
    clusters = Clusters(tmp_path, "lake")
    oldest = clusters.lake.files(SNAPSHOTS)["eu"][0]
    Path(clusters.lake.place(SNAPSHOTS), oldest.path).write_bytes(b"torn")
    found = clusters.judged(MANY)
    assert [row["stage"] for row in found.errors.to_pylist()] == ["rates"]
    assert (found.rows["rates"].num_rows, found.rows["judged"].num_rows) == (0, 1)
    again = unchanged(clusters.lake, clusters.todo(MANY), [stage.value for stage in Stage])
    assert (len(again.tasks), again.done) == (1, ())
    less = unchanged(clusters.lake, clusters.todo(MANY), [Stage.DIFF.value])
    assert (less.tasks, len(less.done)) == ((), 1), "what failed was not asked for"
