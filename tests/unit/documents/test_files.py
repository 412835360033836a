"""Files that are too large, endless, or never written: an error, in words, and no stop."""

import os
import sys
import threading
from pathlib import Path
from types import FrameType

import pytest

from replan.documents.api import read_bytes, read_text, write_files
from replan.errors import BadFile


def refusal(path: Path, limit: int = 100) -> str:
    with pytest.raises(BadFile) as refused:
        read_text(path, limit=limit)
    return str(refused.value).removeprefix(f"{path}: ")


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("ä" * 10, encoding="utf-8")
    assert read_text(tmp_path / "a", limit=20) == "ä" * 10


def test_a_sparse_file_is_refused_by_its_size(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(5 * 2**30)
    assert refusal(tmp_path / "a", limit=2**30) == (
        "cannot read: it has more than 1,073,741,824 bytes, the most that such a file may have"
    )


def test_a_device_without_an_end_is_left_at_its_first_zero_byte() -> None:
    assert set(read_bytes(Path("/dev/zero"))) == {0}


def test_a_device_that_gives_anything_ends_at_the_limit() -> None:
    with pytest.raises(OSError, match="it has more than 0 bytes"):
        read_bytes(Path("/dev/urandom"), limit=0)


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("x" * 200_000,))
    writer.start()
    found = read_text(tmp_path / "pipe", limit=2**20)
    writer.join()
    assert found == "x" * 200_000


def test_a_pipe_that_nobody_writes_to_is_given_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="this is no file, and nothing came through it for 0 s"):
        read_bytes(tmp_path / "pipe", pipe_seconds=0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "cannot read: No such file or directory"),
        ("folder", "cannot read: Is a directory"),
        ("bytes", "this is not text: byte 1 is not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_said_in_the_systems_words(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes").write_bytes(b"a\xff")
    assert refusal(tmp_path / name) == message


def test_of_several_files_each_is_synced_and_their_folder_once(tmp_path: Path) -> None:
    synced = 0

    def calls(_frame: FrameType, event: str, called: object) -> None:
        nonlocal synced
        synced += event == "c_call" and called is os.fsync

    contents = {tmp_path / f"{n}.json": str(n) for n in range(5)}
    sys.setprofile(calls)  # sees calls, and changes nothing
    try:
        write_files(contents)
    finally:
        sys.setprofile(None)
    assert {file: file.read_text() for file in tmp_path.iterdir()} == contents
    assert synced == 6
