"""Snapshots on disk: both forms, whole or not at all, and what is said about broken ones."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import TOPIC_ID, snapshot, state
from tests.unit.snapshots.strategies import snapshots

from replan.documents.api import publish_folder, write_file
from replan.errors import BadFile
from replan.model.api import LEADER_RATE, Snapshot
from replan.snapshots.api import BROKERS_SCHEMA, read_snapshot, write_snapshot


@pytest.fixture
def orders() -> Snapshot:
    return snapshot([state([1, 2, 3]), state([2, 3, 1], [2, 3], partition=1, size=7)])


@pytest.fixture
def folder(tmp_path: Path, orders: Snapshot) -> Path:
    write_snapshot(orders, tmp_path / "orders")
    return tmp_path / "orders"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that stays for many examples."""
    home = tmp_path_factory.mktemp("kept") / "orders"
    write_snapshot(snapshot([state([1, 2, 3]), state([1], topic="ä")]), home)
    return home


def refusal(path: Path) -> str:
    """Why nothing can be read there."""
    with pytest.raises(BadFile) as refused:
        read_snapshot(path)
    return str(refused.value)


TABLES = ("brokers", "topics", "partitions", "log_dirs", "remembered")
FLIPS = st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=4)


@settings(max_examples=settings().max_examples // 4)  # each writes six files and waits for the disk
@given(snapshots())
def test_a_snapshot_survives_both_forms(found: Snapshot) -> None:
    with TemporaryDirectory() as home:
        for name in ("snapshot.json", "snapshot"):
            write_snapshot(found, Path(home, name))
            assert read_snapshot(Path(home, name)) == found
        assert sorted(p.name for p in Path(home).iterdir()) == ["snapshot", "snapshot.json"]


def test_the_name_says_which_form_is_written(tmp_path: Path, orders: Snapshot) -> None:
    write_snapshot(orders, tmp_path / "a.json")
    write_snapshot(orders, tmp_path / "a")
    assert (tmp_path / "a.json").is_file()
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == [
        "brokers.parquet",
        "header.json",
        "log_dirs.parquet",
        "partitions.parquet",
        "remembered.parquet",
        "topics.parquet",
    ]


def test_a_later_snapshot_takes_the_place_of_an_earlier_one(
    tmp_path: Path, orders: Snapshot
) -> None:
    later = snapshot([state([4, 5])])
    for name in ("a.json", "a"):
        write_snapshot(orders, tmp_path / name)
        write_snapshot(later, tmp_path / name)
        assert read_snapshot(tmp_path / name) == later
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "a.json"]


def test_an_empty_folder_is_filled_and_another_one_is_left_alone(
    tmp_path: Path, orders: Snapshot
) -> None:
    (tmp_path / "empty").mkdir()
    write_snapshot(orders, tmp_path / "empty")
    assert read_snapshot(tmp_path / "empty") == orders

    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.jpg").touch()
    with pytest.raises(BadFile) as refused:
        write_snapshot(orders, other)
    assert str(refused.value) == (
        f"{other}: something else is there already; remove it or choose another name"
    )
    assert [p.name for p in other.iterdir()] == ["cat.jpg"]


def test_a_file_of_another_name_is_left_alone(tmp_path: Path, orders: Snapshot) -> None:
    placement = tmp_path / "placement.yaml"
    placement.write_text("version: 1\n")
    with pytest.raises(BadFile, match=r"placement\.yaml: something else is there already"):
        write_snapshot(orders, placement)
    assert placement.read_text() == "version: 1\n"


def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, folder: Path, orders: Snapshot
) -> None:
    def fill(partial: Path) -> None:
        (partial / "half.parquet").touch()
        raise OSError(28, "No space left on device")

    with pytest.raises(BadFile) as refused:
        publish_folder(folder, fill, lambda _: True)
    assert str(refused.value) == f"{folder}: cannot write: No space left on device"
    assert read_snapshot(folder) == orders
    assert [p.name for p in tmp_path.iterdir()] == ["orders"]


def test_a_file_behind_a_link_is_exchanged_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("before", encoding="utf-8")
    (tmp_path / "link").symlink_to("real")
    write_file(tmp_path / "link", "after")
    assert (tmp_path / "real").read_text(encoding="utf-8") == "after"
    assert (tmp_path / "link").is_symlink()


def test_a_file_is_readable_by_whom_the_umask_allows(tmp_path: Path, orders: Snapshot) -> None:
    (tmp_path / "plain").touch()
    write_snapshot(orders, tmp_path / "a.json")
    write_snapshot(orders, tmp_path / "a")
    (tmp_path / "plain_folder").mkdir()
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain_folder").stat().st_mode


def test_what_is_no_regular_file_is_written_as_it_is() -> None:
    write_file(Path("/dev/null"), "gone")
    assert Path("/dev/null").is_char_device()


def test_the_folder_of_a_snapshot_may_look_like_a_partition_column(
    tmp_path: Path, orders: Snapshot
) -> None:
    write_snapshot(orders, tmp_path / "cluster=eu" / ".." / "topic=x")
    assert read_snapshot(tmp_path / "topic=x") == orders


def cut(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def first_row_only(file: Path) -> None:
    pq.write_table(pq.read_table(file).slice(0, 1), file)


def upside_down(file: Path) -> None:
    table = pq.read_table(file)
    pq.write_table(table.take(pa.array(range(table.num_rows))[::-1]), file)


def no_leader_column(file: Path) -> None:
    pq.write_table(pq.read_table(file).drop_columns(["leader"]), file)


def with_column(name: str, values: pa.Array) -> Callable[[Path], None]:
    """A column in the place of that of the same name."""

    def exchange(file: Path) -> None:
        table = pq.read_table(file)
        at = table.column_names.index(name)
        pq.write_table(table.set_column(at, name, values), file)

    return exchange


LISTS = pa.list_(pa.int32())


def topics_instead(file: Path) -> None:
    file.write_bytes((file.parent / "topics.parquet").read_bytes())


BROKEN_TABLES: list[tuple[Callable[[Path], None], str]] = [
    (Path.unlink, "this table of the snapshot is missing"),
    (
        cut,
        (
            "this is no whole Parquet file: Parquet magic bytes not found in footer. "
            "Either the file is corrupted or this is not a parquet file."
        ),
    ),
    (
        with_column("isr", pa.array([[1, None]] * 2, LISTS)),
        "its columns are not those of a snapshot: a list in isr holds a null",
    ),
    (first_row_only, "has 1 rows where header.json says 2"),
    (upside_down, "not sorted by topic and partition, or one occurs twice"),
    (
        with_column("topic", pa.array(["clicks"] * 2).dictionary_encode()),
        "names topics that topics.parquet does not have",
    ),
    (no_leader_column, "has no column leader"),
    (topics_instead, "has no column topic"),
    (
        with_column("leader", pa.array(["one"] * 2)),
        (
            "its columns are not those of a snapshot: Failed to parse string: 'one' as a "
            "scalar of type int32"
        ),
    ),
    (
        with_column("isr", pa.nulls(2, LISTS)),
        "its columns are not those of a snapshot: Casting field 'isr' with null values to non-nullable",
    ),
]


def test_two_topics_with_one_id_are_refused_with_both_names(tmp_path: Path) -> None:
    written = snapshot([state([1, 2], topic=topic, topic_id=TOPIC_ID) for topic in ("a", "b")])
    write_snapshot(written, tmp_path / "seen")
    with pytest.raises(BadFile, match="topics a and b have the same id, b3JkZXJzLW9yZGVycy0wMA"):
        read_snapshot(tmp_path / "seen")


@pytest.mark.parametrize(("damage", "message"), BROKEN_TABLES, ids=[m for _, m in BROKEN_TABLES])
def test_a_broken_table_is_refused_by_name(
    folder: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(folder / "partitions.parquet")
    assert refusal(folder) == f"{folder / 'partitions.parquet'}: {message}"


def test_a_folder_without_a_header_is_no_snapshot(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path}: this folder is no snapshot: it has no header.json"


def test_a_folder_of_a_newer_format_is_refused(folder: Path) -> None:
    header = json.loads((folder / "header.json").read_text())
    (folder / "header.json").write_text(json.dumps({**header, "formatVersion": 2, "new": 1}))
    assert refusal(folder) == (
        f"{folder / 'header.json'}: $.formatVersion: format version 2 is newer than this program "
        "reads (1); use a newer replan"
    )


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert (
        refusal(tmp_path / "gone.json")
        == f"{tmp_path / 'gone.json'}: cannot read: No such file or directory"
    )


def test_a_byte_order_mark_says_nothing(tmp_path: Path, orders: Snapshot) -> None:
    write_snapshot(orders, tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text()
    (tmp_path / "b.json").write_text("\ufeff" + text)
    assert read_snapshot(tmp_path / "b.json").partitions == orders.partitions


def test_who_comes_twice_in_a_list_of_the_head_is_refused(tmp_path: Path, orders: Snapshot) -> None:
    write_snapshot(orders, tmp_path / "a.json")
    target = {"topic": "orders", "partition": 0, "replicas": [1, 1]}
    heads: dict[str, object] = {
        "application": {"id": "x", "owner": "", "atWork": False, "targets": [target]},
        "offline": [{"topic": "orders", "partition": 0, "brokers": [1, 1]}],
    }
    for key, of in heads.items():
        document = json.loads((tmp_path / "a.json").read_text()) | {key: of}
        (tmp_path / "b.json").write_text(json.dumps(document))
        with pytest.raises(BadFile, match=rf"\$\.{key}.*: broker 1 is listed twice"):
            read_snapshot(tmp_path / "b.json")


def test_a_file_of_other_bytes_is_not_json(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"a": \xff}')
    assert (
        refusal(tmp_path / "a.json")
        == f"{tmp_path / 'a.json'}: this is not text: byte 6 is not UTF-8"
    )


@given(table=st.sampled_from(TABLES), flips=FLIPS)
def test_a_damaged_folder_is_a_bad_file_or_a_snapshot_and_nothing_else_happens(
    kept: Path, table: str, flips: list[tuple[int, int]]
) -> None:
    file = kept / f"{table}.parquet"
    whole = file.read_bytes()
    damaged = bytearray(whole)
    for place, byte in flips:
        damaged[place % len(whole)] = byte
    file.write_bytes(damaged)
    with suppress(BadFile):
        read_snapshot(kept)
    file.write_bytes(whole)


def test_numbers_that_no_snapshot_has_are_refused_in_a_folder_too(folder: Path) -> None:
    file = folder / "topics.parquet"
    with_column("min_insync_source", pa.array([9], pa.int8()))(file)
    assert refusal(folder) == (
        f"{file}: its columns are not those of a snapshot: min_insync_source goes from 9 to 9, "
        "where 0 to 5 is possible"
    )


def test_a_rate_that_is_no_number_is_refused_in_a_folder_too(folder: Path) -> None:
    file = folder / "brokers.parquet"
    config = [{"key": LEADER_RATE, "value": "1.5", "source": 2}]
    configs = pa.array([config, *[[]] * 4], BROKERS_SCHEMA.field("configs").type)
    with_column("configs", configs)(file)
    assert refusal(folder) == (
        f"{file}: broker 1: leader.replication.throttled.rate is a whole number of bytes per second, found '1.5'"
    )


def test_a_folder_below_a_file_cannot_be_written(tmp_path: Path, orders: Snapshot) -> None:
    (tmp_path / "file").touch()
    for name in ("a.json", "a"):
        target = tmp_path / "file" / name
        with pytest.raises(BadFile) as refused:
            write_snapshot(orders, target)
        assert str(refused.value) == f"{target}: cannot write: Not a directory"
