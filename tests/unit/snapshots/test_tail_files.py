"""Saved ends of logs: what the index names is there as it was saved, and nothing else is read."""

from pathlib import Path

import pytest

from replan.errors import BadFile
from replan.model.api import BrokerId, TopicId, TopicPartition
from replan.snapshots.api import (
    INDEX,
    TailForm,
    file_name,
    read_index,
    read_tail_batches,
    saved_topic_ids,
    write_content,
    write_index,
)

NAME = TopicPartition("orders", 0)


def saved(folder: Path, begin: int = 1000, content: bytes = b"batches") -> TailForm:
    file = file_name(NAME, 1, 7, begin)
    return TailForm(
        topic=NAME.topic,
        partition=NAME.partition,
        topic_id=TopicId("t"),
        broker=BrokerId(1),
        leader=BrokerId(2),
        begin=begin,
        end=begin + 5,
        records=5,
        file=file,
        sha256=write_content(folder, file, [content]),
    )


def test_what_was_saved_is_read_back_and_more_is_added(tmp_path: Path) -> None:
    folder = tmp_path / "lost"
    first = saved(folder)
    write_index(folder, "cluster", [first])
    second = saved(folder, 2000, b"others")
    write_index(folder, "cluster", [second])

    index = read_index(folder)

    assert index.tails == (first, second)
    assert [read_tail_batches(folder, tail) for tail in index.tails] == [b"batches", b"others"]
    assert saved_topic_ids(folder, "cluster") == dict.fromkeys((first.file, second.file), "t")


def test_a_file_that_is_not_what_was_saved_is_refused(tmp_path: Path) -> None:
    tail = saved(tmp_path)
    (tmp_path / tail.file).write_bytes(b"other")
    with pytest.raises(BadFile, match="sha256"):
        read_tail_batches(tmp_path, tail)


def test_a_file_elsewhere_is_refused(tmp_path: Path) -> None:
    tail = saved(tmp_path)
    outside = TailForm(**{f: getattr(tail, f) for f in tail.__struct_fields__} | {"file": "../x"})
    with pytest.raises(BadFile, match="not in this folder"):
        read_tail_batches(tmp_path, outside)


def test_another_clusters_folder_is_not_added_to(tmp_path: Path) -> None:
    write_index(tmp_path, "one", [saved(tmp_path)])
    with pytest.raises(BadFile, match="cluster one"):
        write_index(tmp_path, "other", [])
    with pytest.raises(BadFile, match="cluster one"):
        saved_topic_ids(tmp_path, "other")


def test_a_log_that_is_cut_at_the_same_place_twice_has_two_files() -> None:
    assert len({file_name(NAME, 1, epoch, 1000) for epoch in (3, 5)}) == 2


def test_a_folder_without_an_index_says_what_makes_one(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="--save-tails"):
        read_index(tmp_path)
    (tmp_path / INDEX).write_text("{}")
    with pytest.raises(BadFile):
        read_index(tmp_path)
