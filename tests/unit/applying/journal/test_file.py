"""The journal in a file: torn ends are dropped, all other damage is reported, one process at a time."""

import errno
import json
import os
import re
import resource
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.unit.applying.journal.records import APP, OWN, RECORDS

from replan.applying.api import (
    FileJournal,
    Record,
    SavedRate,
    holder,
    journal_head,
    not_locked,
    peek,
    render,
)
from replan.errors import BadFile, Exit, Held
from replan.model.api import LEADER_RATE, BrokerId

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replan.journal"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def filled(path: Path, *appends: Sequence[Record]) -> None:
    with FileJournal(path, "cluster") as journal:
        for records in appends:
            journal.append(records)


def read(path: Path) -> Sequence[Record]:
    """As the next process that opens it finds it."""
    with FileJournal(path, "cluster") as journal:
        return journal.read()


def test_a_record_is_a_line_whose_every_byte_is_under_its_checksum(path: Path) -> None:
    filled(path, RECORDS)
    assert [line["key"] for line in lines(path)] == ["journal", "beat", *(r.key for r in RECORDS)]
    assert [line["line"] for line in lines(path)] == list(range(1, len(RECORDS) + 3))
    assert [line["left"] for line in lines(path)] == [0, 0, *reversed(range(len(RECORDS)))]
    for line in path.read_bytes().splitlines():
        assert int(line[8:16], 16) == zlib.crc32(line[17:])


def test_compaction_keeps_the_latest_records_and_the_bytes_that_were_there(path: Path) -> None:
    filled(path, *([SavedRate(BrokerId(4), LEADER_RATE, None, (str(n),))] for n in range(40)))
    before = path.read_bytes()
    filled(path)
    assert [line["key"] for line in lines(path)] == [
        "journal",
        f"prior/broker/4/{LEADER_RATE}",
        "beat",
    ]
    assert path.with_name("replan.journal.previous").read_bytes() == before
    assert list(read(path)) == [SavedRate(BrokerId(4), LEADER_RATE, None, ("39",))]


def test_an_append_that_is_cut_off_anywhere_is_dropped_whole_and_the_rest_holds(path: Path) -> None:
    filled(path, [APP])
    kept = path.stat().st_size
    filled(path, RECORDS[1:4])
    whole = path.read_bytes()
    kept = whole.index(b'"key":"plan/')
    kept = whole.rindex(b"\n", 0, kept) + 1
    for size in range(kept, len(whole)):
        path.write_bytes(whole[:size])
        assert list(peek(path, "cluster")) == [APP]
    with FileJournal(path, "cluster") as again:
        assert list(again.read()) == [APP]
        again.append([OWN])
    assert list(read(path)) == [APP, OWN]


@pytest.mark.parametrize("written", [0, 1, 30])
def test_bytes_at_the_end_that_were_never_written_are_dropped(path: Path, written: int) -> None:
    filled(path, [APP], [OWN])
    whole = path.read_bytes()
    begin = whole.rindex(b"\n", 0, -1) + 1 + written
    for tail in (b"\0" * (len(whole) - begin), b"\0" * (len(whole) - begin - 1) + b"\n"):
        path.write_bytes(whole[:begin] + tail)
        assert list(peek(path, "cluster")) == [APP]


def test_one_changed_byte_anywhere_is_an_error_and_the_file_stays(path: Path) -> None:
    filled(path, [APP], [OWN], [RECORDS[8]])
    whole = path.read_bytes()
    for place in range(0, len(whole) - 1, 3):
        damaged = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        path.write_bytes(damaged)
        number = whole.count(b"\n", 0, place) + 1
        with pytest.raises(BadFile) as error:
            FileJournal(path, "cluster")
        assert str(error.value).startswith(f"{path}:{number}: damaged journal (")
        assert path.read_bytes() == damaged
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("missing", range(4))
def test_a_line_that_is_missing_or_repeated_is_an_error(path: Path, missing: int) -> None:
    filled(path, [APP], [OWN], [RECORDS[8]])
    whole = path.read_bytes().splitlines(keepends=True)
    for changed in (whole[missing], b""):
        path.write_bytes(b"".join([*whole[:missing], changed, changed, *whole[missing + 1 :]]))
        with pytest.raises(BadFile, match=r":[1-5]: damaged journal \(it was written as line"):
            peek(path, "cluster")


def test_zeros_before_a_sound_line_are_damage(path: Path) -> None:
    filled(path, [APP], [OWN])
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*whole[:2], b"\0" * (len(whole[2]) - 1) + b"\n", whole[3]]))
    with pytest.raises(BadFile, match=":3: damaged journal"):
        peek(path, "cluster")


@pytest.mark.parametrize("size", [0, 1, 40])
def test_the_first_append_was_put_in_place_whole_and_is_never_torn(path: Path, size: int) -> None:
    filled(path, [APP], *([OWN] for _ in range(60)))
    filled(path)  # compacted: the first append has all of it
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(BadFile, match=":1: damaged journal") as error:
        FileJournal(path, "cluster")
    assert "replan.journal.previous is the state before" in str(error.value)
    assert path.stat().st_size == size


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("future/1", b"{}", 'record "future/1": no record of this version begins so'),
        ("journal", b'{"formatVersion":3,"clusterId":"cluster","x":1}', "journal format 3"),
        ("app/1", b"{}", '"id" is missing'),
        ("journal", b"7", "damaged journal"),
    ],
)
def test_a_sound_line_that_means_nothing_here_is_refused(
    path: Path, key: str, value: bytes, says: str
) -> None:
    path.write_bytes(journal_head("cluster", [], at="") + render([(key, value)], after=1, at=""))
    before = path.read_bytes()
    for opened in (FileJournal, peek):
        with pytest.raises(BadFile, match=f":2: .*{re.escape(says)}"):
            opened(path, "cluster")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '{\n"formatVersion": 1,\n"kind": "replan.plan",\n"moves": []\n}\n',
            "a document of replan, plan",
        ),
        ('{"formatVersion": 1, "kind": "replan.snapshot"}', "a document of replan, snapshot"),
        ("version: 1\nassignments: {}\n", "not one line is a journal's"),
    ],
)
def test_another_file_is_said_to_be_one_and_left_as_it_is(path: Path, text: str, says: str) -> None:
    path.write_text(text)
    for opened in (FileJournal, peek):
        with pytest.raises(BadFile, match=re.escape(says)):
            opened(path, "cluster")
    assert path.read_text() == text
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_link_to_nothing_is_refused_by_name_and_a_link_to_a_journal_is_followed(
    path: Path,
) -> None:
    link, elsewhere = path.with_name("link"), path.with_name("elsewhere")
    link.symlink_to(elsewhere)
    with pytest.raises(BadFile, match=r"a link to .*elsewhere, where nothing is"):
        FileJournal(link, "cluster")
    filled(elsewhere, [APP])
    with FileJournal(link, "cluster") as journal:
        journal.append([OWN])
    filled(link, *([OWN] for _ in range(60)))
    filled(link)  # compacted
    assert link.is_symlink()
    assert list(peek(elsewhere, "cluster")) == [APP, OWN]


HOLD = """
import sys
from pathlib import Path
from replan.applying.journal.file import FileJournal, holder
journal = FileJournal(Path(sys.argv[1]), "cluster")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_process_learns_who_has_it_and_since_when(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4] / "cli")}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Held) as held:
            FileJournal(path, "cluster")
        assert held.value.exit_code is Exit.HELD
        first, _, rest = str(held.value).partition("\n")
        assert first.startswith(f"{path}: held by pid {holder.pid} on ")
        assert " since 20" in first
        assert rest.startswith("Another replan is applying with this journal.")
        holder.communicate(b"")
    FileJournal(path, "cluster").close()


def test_a_full_disk_is_reported_and_half_a_line_does_not_stay(path: Path) -> None:
    with FileJournal(path, "cluster") as journal:
        journal.append([APP])
        with largest_file(path.stat().st_size + 50), pytest.raises(BadFile) as full:
            journal.append([OWN])
        assert str(full.value) == f"{path}: cannot write the journal: File too large"
        assert path.read_bytes().count(b"\n") == 3
        assert list(journal.read()) == [APP]
        journal.append([OWN])
    with FileJournal(path, "cluster") as again:
        assert list(again.read()) == [APP, OWN]


@contextmanager
def largest_file(limit: int) -> Iterator[None]:
    """As on a full disk: no file of this process may grow beyond so many bytes."""
    before, writes_none = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # or Python leaves half a .pyc for all others
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = writes_none


def test_a_folder_in_the_place_of_the_journal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="cannot read the journal: Is a directory"):
        FileJournal(tmp_path, "cluster")


def test_a_file_in_the_place_of_its_folder_is_refused(path: Path) -> None:
    path.touch()
    with pytest.raises(BadFile, match="cannot lock the journal"):
        FileJournal(path / "journal", "cluster")


def test_only_its_owner_reads_a_journal_and_what_it_was(path: Path) -> None:
    filled(path, *([OWN] for _ in range(60)))
    filled(path)
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == {path.name: 0o600, f"{path.name}.previous": 0o600}


def test_the_process_that_has_the_lock_is_named_while_it_has_it(path: Path) -> None:
    assert holder(path) is None
    with FileJournal(path, "cluster"):
        assert (holder(path) or "").startswith(f"pid {os.getpid()} on ")
    assert holder(path) is None


def test_a_journal_is_a_regular_file_and_replaces_nothing_else(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for opened in (FileJournal, peek):
        with pytest.raises(BadFile, match="is no regular file"):
            opened(pipe, "cluster")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_journal_that_is_removed_stops_the_process_that_has_it_before_it_asks_for_anything(
    path: Path,
) -> None:
    with FileJournal(path, "cluster") as first:
        first.append([APP])
        path.unlink()
        with FileJournal(path, "cluster") as second:
            with pytest.raises(Held, match="was removed or replaced while this process used it"):
                first.append([OWN])
            second.append([RECORDS[8]])
        assert list(first.read()) == [APP]
    assert list(read(path)) == [RECORDS[8]]


def test_a_lock_that_the_file_system_does_not_have_is_not_one_that_another_process_has() -> None:
    path = Path("j")
    held = not_locked(path, OSError(errno.EWOULDBLOCK, "Resource temporarily unavailable"), "pid 1")
    assert isinstance(held, Held)
    for number in (errno.ENOTSUP, errno.ENOLCK, errno.EINVAL, errno.ENOSYS):
        refused = not_locked(path, OSError(number, os.strerror(number)), "pid 1")
        assert isinstance(refused, BadFile)
        assert str(refused).startswith(f"j: cannot lock the journal: {os.strerror(number)}\n")
