"""The rates of a large cluster are found in parts, by topic; together they are those of the whole."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml
from msgspec.structs import replace
from tests.builders import snapshot, state
from tests.fleet.drawn import Drawn
from tests.fleet.fleets import ORDERS, keep_snapshot, sized

from replan.fleet.api import (
    COMPARED_AT_ONCE,
    COMPARING,
    JUDGED,
    RATES,
    RATES_AT_ONCE,
    SNAPSHOTS,
    Fleet,
    FleetCluster,
    FleetRun,
    Here,
    Hour,
    Lake,
    Stage,
    Task,
    TaskDone,
    Todo,
    do_and_commit,
    do_task,
    from_lake,
    in_parts,
    stages_of,
    summed,
    unchanged,
)
from replan.model.api import BrokerId, Snapshot, TopicId
from replan.snapshots.api import from_document

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
TOPICS = ("clicks", "orders", "payments", "search", "stock")
MANY = 4 * RATES_AT_ONCE


class Clusters:
    """One cluster at three hours; a topic is created again, one comes late, a broker is silent."""

    def __init__(self, home: Path, name: str) -> None:
        self.lake = Lake(str(home / name))
        (home / "eu.yaml").write_text(ORDERS)
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
        return sized(from_lake(self.fleet, self.lake, NOW), partitions)

    def judged(self, partitions: int) -> FleetRun:
        hour = Hour.at(NOW)
        return do_and_commit(self.lake, self.todo(partitions), list(Stage), Here(), hour)


@pytest.mark.parametrize(
    "rows_together", [1, *(pytest.param(n, marks=pytest.mark.nightly) for n in (7, 1000))]
)
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


def test_parts_of_a_file_are_the_whole_file(tmp_path: Path) -> None:
    clusters = Clusters(tmp_path, "lake")
    clusters.regroup(3)
    file = clusters.lake.files(SNAPSHOTS)["eu"][0]
    whole = clusters.lake.read_file(SNAPSHOTS, file)
    shares = [clusters.lake.read_file(SNAPSHOTS, file, share=(n, 4)) for n in range(4)]
    assert all(0 < share.num_rows < whole.num_rows / 2 for share in shares)
    assert pa.concat_tables(shares) == whole


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


GIANT = 4 * COMPARED_AT_ONCE
CHOOSES: Mapping[str, Sequence[str]] = {
    "assignments": ("ruled-*",),
    "blacklists": ("replicas", "logDirs"),
    "throttles": ("standing",),
}
"""What needs the whole cluster."""


class InOrder:
    """One task after the other, in this process; and how many had to be compared in parts."""

    def __init__(self) -> None:
        self.divided = 0

    def do_tasks(
        self, tasks: Sequence[Task], stages: Sequence[Stage], lake: Lake, run: str
    ) -> Iterator[TaskDone]:
        for task in tasks:
            done = do_task(task, stages, lake, run)
            self.divided += bool(done.parts)
            yield done
            yield from self.do_tasks(done.parts, stages, lake, run)

    def histories(self, *_: object) -> Sequence[Any]:
        return ()


def drawn_home(seed: int) -> list[tuple[Snapshot, str]]:
    """The snapshots of a drawn cluster, and its placements, half of them without what needs the whole cluster."""
    one, found = Drawn(seed), []
    for document, text in zip(one.snapshots, one.placements, strict=True):
        declared = yaml.safe_load(text)
        if seed % 2:
            for section, keys in CHOOSES.items():
                kept = {k: v for k, v in declared.get(section, {}).items() if k not in keys}
                declared[section] = kept
            for entry in declared["blacklists"].get("leaders", ()):
                entry.pop("until", None)
            declared["throttles"].get("moves", {}).pop("brokers", None)
            for broker in document["brokers"]:
                broker["configs"] = {}
        kept = {name: of for name, of in declared.items() if of}
        found.append((from_document(document, "drawn"), yaml.safe_dump(kept)))
    return found


def compared_in(
    lake: Lake, seen: Snapshot, placement: Path, partitions: int
) -> tuple[FleetRun, bool]:
    """What is found of a snapshot, and whether it was found in parts."""
    keep_snapshot(lake, seen, "eu")
    cluster = FleetCluster("eu", owners={"*": "platform"}, placement=placement)
    todo = from_lake(Fleet({"eu": cluster}, lake.address), lake, datetime(2026, 12, 1, tzinfo=UTC))
    workers = InOrder()
    found = do_and_commit(lake, sized(todo, partitions), COMPARING, workers, Hour.at(NOW))
    return found, workers.divided > 0


@pytest.mark.parametrize(
    ("seeds", "step"),
    [
        (range(2), 2),
        *(pytest.param(range(n, n + 6), 1, marks=pytest.mark.nightly) for n in (0, 6, 12)),
    ],
    ids=str,
)
def test_comparing_in_parts_finds_what_comparing_the_whole_finds(
    tmp_path: Path, seeds: range, step: int
) -> None:
    """By day of every other moment."""
    divided = 0
    for seed in seeds:
        lakes = [Lake(str(tmp_path / f"{seed}-{name}")) for name in ("whole", "parts")]
        for seen, text in drawn_home(seed)[::step]:
            (tmp_path / "eu.yaml").write_text(text)
            (whole, _), (parts, in_parts) = (
                compared_in(lake, seen, tmp_path / "eu.yaml", partitions)
                for lake, partitions in zip(lakes, (0, GIANT), strict=True)
            )
            assert dict(whole.rows) == dict(parts.rows), (seed, seen.observed_at)
            assert whole.counts == parts.counts
            divided += in_parts
    assert divided > len(seeds)
    assert not list(tmp_path.rglob("*.part"))


LISTS = "version: 1\nassignments:\n" + "".join(
    f"  {topic}: {{partitions: [[1, 2, 3], [3, 2, 1]]}}\n" for topic in TOPICS
)
ACKNOWLEDGED = "acknowledged: [{topic: stock, reason: x, expires: 2027-01-01}]\n"
REVIEWED = "blacklists: {leaders: [{broker: 1, reviewBy: 2026-01-01}]}\n"


@pytest.mark.parametrize(
    ("placement", "divides", "found"),
    [
        (LISTS, True, "10 drifted"),
        (LISTS.replace("search: {partitions: [[1", "search: {partitions: [[9"), True, "11 drifted"),
        (LISTS.replace("stock", "nowhere"), True, "11 drifted"),
        (LISTS + "cluster: {id: other}\n", True, "1 error"),
        (LISTS + ACKNOWLEDGED, True, "8 drifted"),
        (LISTS + "throttles: {moves: {rate: 1MB/s, brokers: {9: 1MB/s}}}\n", False, "11 drifted"),
        (LISTS + "  'new-*': {replicationFactor: 2}\n", False, "10 drifted"),
        (LISTS + "blacklists: {replicas: [{broker: 4}]}\n", False, "10 drifted"),
        (LISTS + REVIEWED, True, "11 drifted"),
        (LISTS.replace("[3, 2, 1]]", "[3, 2, 1], [1, 2, 3]]", 1), False, "11 drifted"),
        (LISTS + "assignment: 3\n", False, "1 error"),
    ],
)
def test_what_needs_the_whole_cluster_takes_it_and_what_is_said_once_is_said_once(
    tmp_path: Path, placement: str, *, divides: bool, found: str
) -> None:
    (tmp_path / "eu.yaml").write_text(placement)
    states = [
        state(
            [1, 2, 3] if partition else [1, 2, 4],
            topic=topic,
            partition=partition,
            topic_id=TopicId(topic),
        )
        for topic in TOPICS
        for partition in range(2)
    ]
    whole, parts = (
        compared_in(Lake(str(tmp_path / name)), snapshot(states), tmp_path / "eu.yaml", partitions)
        for name, partitions in (("whole", 0), ("parts", GIANT))
    )
    assert dict(whole[0].rows) == dict(parts[0].rows)
    assert (whole[1], parts[1]) == (False, divides)
    rows = parts[0]
    errors = f"{rows.errors.num_rows} error"
    assert (errors if rows.errors.num_rows else f"{rows.drifted.num_rows} drifted") == found


def test_a_cluster_of_which_one_part_failed_is_not_said_to_be_judged() -> None:
    """Its errors are committed after that, and a run may be killed in between."""
    said = {
        "cluster": "eu",
        "day": NOW.date(),
        "hour": 9,
        "cluster_id": "id",
        "observed_at": "",
        "digest": "",
    }
    numbers = dict.fromkeys(("partitions", "drifted", "converging", "acknowledged"), 1)
    parts = [{**said, **numbers, "inputs": inputs} for inputs in ("sha", None)]
    (row,) = summed(pa.Table.from_pylist(parts, JUDGED.schema)).to_pylist()
    assert (row["partitions"], row["inputs"]) == (2, None)
