"""Snapshots in the lake: what is read is what was written, and an older lake is read by this program."""

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given
from hypothesis import strategies as st
from tests.commandline import replan
from tests.fleet.fleets import drawn_snapshot, keep_snapshot, kept_snapshots
from tests.unit.snapshots.strategies import snapshots

from replan.errors import BadFile
from replan.fleet.api import SNAPSHOTS, Hour, Lake, read_kept, rows_of_snapshot
from replan.model.api import Snapshot
from replan.snapshots.api import read_snapshot, write_snapshot

pytestmark = pytest.mark.slow

STORED = Path(__file__).parent / "stored-v1"
"""A lake as the first release wrote it; `REPLAN_REWRITE=1` writes another, which only a new VERSION allows."""


@given(snapshots(), st.sampled_from(["eu", "it's", "a/b=c", "%41"]))
def test_any_snapshot_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, snapshot: Snapshot, cluster: str
) -> None:
    lake = Lake(str(tmp_path_factory.mktemp("lake")))
    hour = keep_snapshot(lake, snapshot, cluster)
    assert hour == Hour.of(cluster, snapshot.observed_at)
    assert read_kept(lake, hour) == snapshot


def test_the_snapshots_of_a_lake_are_listed_by_their_headers(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    hours = [keep_snapshot(lake, drawn_snapshot(seed), f"c{seed % 2}") for seed in (4, 1, 4)]
    assert [(k.at, k.cluster_id) for k in kept_snapshots(lake)] == [
        (hours[0], "cluster-4"),
        (hours[1], "cluster-1"),
    ]
    assert kept_snapshots(lake, {"c1"})[0].observed_at == "2026-11-21T03:00:00Z"


def test_a_snapshot_without_all_its_rows_is_refused(tmp_path: Path) -> None:
    lake, snapshot = Lake(str(tmp_path)), drawn_snapshot(1)
    hour = keep_snapshot(lake, snapshot, "eu")
    DeltaTable(lake.place(SNAPSHOTS)).delete("part = 'partitions' AND partitions['partition'] = 0")
    with pytest.raises(BadFile, match=r"has 3 rows where .* says 6"):
        read_kept(lake, hour)


def test_a_snapshot_that_lacks_a_column_of_lists_has_empty_ones(tmp_path: Path) -> None:
    lake, snapshot = Lake(str(tmp_path)), drawn_snapshot(1)
    hour = Hour.of("eu", snapshot.observed_at)
    rows = rows_of_snapshot(snapshot, hour)
    at = rows.schema.get_field_index("partitions")
    kind = pa.struct([f for f in rows.schema.field(at).type if f.name != "last_known_elr"])
    older = pa.chunked_array(
        [
            pa.StructArray.from_arrays(
                [c.field(f.name) for f in kind], fields=list(kind), mask=c.is_null()
            )
            for c in rows.column(at).chunks
        ]
    )
    write_deltalake(
        lake.place(SNAPSHOTS),
        rows.set_column(at, pa.field("partitions", kind), older),
        partition_by=["cluster", "day"],
    )
    assert read_kept(lake, hour) == snapshot
    keep_snapshot(lake, snapshot, "us")
    assert [read_kept(lake, k.at) for k in kept_snapshots(lake)] == [snapshot, snapshot]


def test_the_stored_lake_of_the_first_release_is_read_and_written(tmp_path: Path) -> None:
    if "REPLAN_REWRITE" in os.environ:
        shutil.rmtree(STORED, ignore_errors=True)
        for seed in (1, 2):
            keep_snapshot(Lake(str(STORED)), drawn_snapshot(seed), f"c{seed}")
            write_snapshot(drawn_snapshot(seed), STORED / f"c{seed}.json")
    shutil.copytree(STORED, tmp_path / "lake")
    lake = Lake(str(tmp_path / "lake"))
    first, second = (read_kept(lake, kept.at) for kept in kept_snapshots(lake))
    assert first == read_snapshot(STORED / "c1.json")
    assert second == read_snapshot(STORED / "c2.json")
    hour = keep_snapshot(lake, drawn_snapshot(3), "c3")
    assert read_kept(lake, hour) == drawn_snapshot(3)


@pytest.mark.command
def test_the_command_keeps_a_snapshot_in_a_lake_again_and_again(tmp_path: Path) -> None:
    write_snapshot(drawn_snapshot(1), tmp_path / "one.json")
    keep = ("snapshot", "--snapshot", "one.json", "--lake", "lake", "--as", "eu")
    for _ in range(2):
        run = replan(*keep, folder=tmp_path)
        assert (run.stdout, run.returncode) == ("", 0)
        assert run.stderr == "wrote lake, eu 2026-11-21 03h: 6 partitions, 5 brokers\n"
    (kept,) = kept_snapshots(Lake(str(tmp_path / "lake")))
    assert read_kept(Lake(str(tmp_path / "lake")), kept.at) == drawn_snapshot(1)
    fleet = "version: 1\nclusters: {us: {snapshot: one.json}}\n"
    (tmp_path / "fleet.yaml").write_text(fleet, encoding="utf-8")
    run = replan("snapshot", "--cluster", "us", "--lake", "lake", folder=tmp_path)
    assert run.stderr.startswith("wrote lake, us 2026-11-21 03h: ")
    run = replan("fleet", "maintain", "--lake", "lake", "--keep", "1", folder=tmp_path)
    assert run.returncode == 0


@pytest.mark.command
@pytest.mark.parametrize(
    "words",
    [("maintain", "--lake", "nowhere"), ("report", "-o", "report"), ("history",)],
    ids=lambda words: str(words[0]),
)
def test_what_only_reads_a_lake_begins_none(words: tuple[str, ...], tmp_path: Path) -> None:
    text = "version: 1\nlake: nowhere\nclusters: {us: {}}\n"
    (tmp_path / "fleet.yaml").write_text(text, encoding="utf-8")
    run = replan("fleet", *words, folder=tmp_path)
    assert run.returncode == 1
    assert "nowhere: there is no table of replan's here; check `lake:`" in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["fleet.yaml"]


@pytest.mark.command
def test_a_snapshot_goes_somewhere(tmp_path: Path) -> None:
    write_snapshot(drawn_snapshot(1), tmp_path / "one.json")
    run = replan("snapshot", "--snapshot", "one.json", folder=tmp_path)
    assert (run.stderr, run.returncode) == (
        "replan: say where to: -o PATH, --lake URI, or both\n",
        1,
    )
