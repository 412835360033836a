"""The journal: what is written is read again, torn ends are dropped, damage is reported, one process at a time."""

import json
import os
import resource
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.builders import TOPIC_ID

from replan.applying.journal.file import FileJournal, holder, peek
from replan.applying.journal.ledger import fold
from replan.applying.journal.protocol import Journal, MemoryJournal
from replan.applying.journal.record_json import decode, encode
from replan.applying.journal.records import (
    Application,
    ApplicationStatus,
    Asked,
    Forget,
    MoveRecord,
    Order,
    PlanChunk,
    Reached,
    Record,
    SavedRate,
    SavedReplicaList,
    Status,
)
from replan.errors import BadFile, Exit, Held
from replan.model.configs import FOLLOWER_REPLICAS, LEADER_RATE
from replan.model.names import BrokerId, TopicPartition, replicas
from replan.model.snapshot import RememberedOrder
from replan.planning.requests import RequestKind

P0 = TopicPartition("orders", 0)
APP = Application("a-1", ApplicationStatus.OPEN, "d" * 64, "m" * 64, "cluster", "ann@ops-1")
OWN = MoveRecord(
    "a-1",
    P0,
    TOPIC_ID,
    replicas(1, 2, 3),
    replicas(4, 2, 5),
    asked=Asked(RequestKind.EXPAND, replicas(1, 2, 3, 4, 5)),
    past=(replicas(1, 2, 3, 4, 5),),
    reached=Reached.EXPANDED,
)
RECORDS: tuple[Record, ...] = (
    APP,
    PlanChunk("a-1", 0, '{"kind": "é"}\n'),
    PlanChunk("a-1", 1, "rest"),
    OWN,
    MoveRecord(
        "a-1",
        P0._replace(partition=1),
        TOPIC_ID,
        replicas(1),
        replicas(2),
        Status.STALE,
        message="why",
    ),
    SavedReplicaList("orders", FOLLOWER_REPLICAS, False, ("0:4", "0:5")),
    SavedRate(BrokerId(4), LEADER_RATE, None, ("1000",)),
    SavedRate(BrokerId(5), LEADER_RATE, "7", ("1000", "2000")),
    Order(P0, TOPIC_ID, replicas(3, 1, 2)),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replan.journal"


def schema() -> dict[str, Any]:
    text = (Path(__file__).parents[4] / "schema" / "journal.v1.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize("record", [*RECORDS, Forget("own/a-1/x-0")], ids=lambda r: r.key)
def test_a_record_is_read_as_it_was_written_and_fits_the_schema(record: Record) -> None:
    key, value = encode(record)
    jsonschema.Draft202012Validator(schema()).validate({"key": key, "value": value})
    assert decode(key, json.loads(json.dumps(value))) == record


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("app/1", {}, "record app/1: KeyError('id')"),
        ("beat", {}, "record beat: no record begins with 'beat'"),
        (
            "plan/b/000000",
            encode(RECORDS[1])[1],
            "record plan/b/000000 holds the value of plan/a-1/000000",
        ),
        (
            "own/1",
            [],
            "record own/1: TypeError('list indices must be integers or slices, not str')",
        ),
    ],
)
def test_what_is_no_record_is_refused(key: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match="record") as refused:
        decode(key, value)
    assert str(refused.value) == message


def test_a_journal_outlives_its_process_with_the_latest_of_every_key(path: Path) -> None:
    with FileJournal(path) as journal:
        journal.append(RECORDS)
        journal.append([Forget(OWN.key), SavedRate(BrokerId(4), LEADER_RATE, None, ("5",))])
        journal.append([])
        kept = list(journal.read())
    with FileJournal(path) as again:
        assert list(again.read()) == kept
    assert OWN not in kept
    assert len(kept) == len(RECORDS) - 1


def test_opening_compacts_to_one_line(path: Path) -> None:
    with FileJournal(path) as journal:
        for number in range(5):
            journal.append([SavedRate(BrokerId(4), LEADER_RATE, None, (str(number),))])
        assert len(path.read_text().splitlines()) == 5
    with FileJournal(path):
        assert len(path.read_text().splitlines()) == 1


@pytest.mark.parametrize("cut", [1, 2, 20, 100])
def test_a_torn_last_line_is_dropped_and_the_rest_holds(path: Path, cut: int) -> None:
    with FileJournal(path) as journal:
        journal.append([APP])
        journal.append([OWN])
    path.write_bytes(path.read_bytes()[:-cut])
    with FileJournal(path) as again:
        assert list(again.read()) == [APP]
        again.append([OWN])
    with FileJournal(path) as third:
        assert list(third.read()) == [APP, OWN]


def test_a_last_line_whose_middle_was_lost_is_dropped(path: Path) -> None:
    with FileJournal(path) as journal:
        journal.append([APP])
        journal.append([OWN])
    whole = path.read_bytes()
    path.write_bytes(whole[:-40] + b"\0" * 39 + b"\n")
    with FileJournal(path) as again:
        assert list(again.read()) == [APP]


def test_damage_before_the_end_is_refused_with_its_line(path: Path) -> None:
    with FileJournal(path) as journal:
        journal.append([APP])
        journal.append([OWN])
    path.write_text(path.read_text().replace("ann@ops-1", "bob@ops-1"))
    with pytest.raises(BadFile) as damaged:
        FileJournal(path)
    assert str(damaged.value) == (
        f"{path}:1: damaged journal line (its checksum does not fit)\n"
        "Only the last line of a journal may be unfinished; something else has written here. "
        "Restore the file, or look at the cluster's throttles by hand before removing it."
    )
    with pytest.raises(BadFile):  # the lock was given back: the same complaint, not Held
        FileJournal(path)


def test_a_sound_line_with_an_unknown_record_is_refused_also_at_the_end(path: Path) -> None:
    body = {"at": "now", "records": [{"key": "future/1", "value": {}}]}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    path.write_text(json.dumps({"crc": f"{zlib.crc32(text.encode()):08x}", **body}) + "\n")
    with pytest.raises(BadFile, match="no record begins with 'future'"):
        FileJournal(path)


HOLD = """
import sys
from pathlib import Path
from replan.applying.journal.file import FileJournal, holder
journal = FileJournal(Path(sys.argv[1]))
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
            FileJournal(path)
        assert held.value.exit_code is Exit.HELD
        first, _, rest = str(held.value).partition("\n")
        assert first.startswith(f"{path}: held by pid {holder.pid} on ")
        assert " since 20" in first
        assert rest.startswith("Another replan is applying with this journal.")
        holder.communicate(b"")
    FileJournal(path).close()


def test_a_full_disk_is_reported_and_half_a_line_does_not_stay(path: Path) -> None:
    with FileJournal(path) as journal:
        journal.append([APP])
        with largest_file(path.stat().st_size + 50), pytest.raises(BadFile) as full:
            journal.append([OWN])
        assert str(full.value) == f"{path}: cannot write the journal: File too large"
        assert path.read_bytes().count(b"\n") == 1
        assert list(journal.read()) == [APP]
        journal.append([OWN])
    with FileJournal(path) as again:
        assert list(again.read()) == [APP, OWN]


@contextmanager
def largest_file(limit: int) -> Iterator[None]:
    """As on a full disk: no file of this process may grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_folder_in_the_place_of_the_journal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="cannot read the journal: Is a directory"):
        FileJournal(tmp_path)


def test_a_file_in_the_place_of_its_folder_is_refused(path: Path) -> None:
    path.touch()
    with pytest.raises(BadFile, match="cannot lock the journal"):
        FileJournal(path / "journal")


def test_only_its_owner_reads_a_journal_and_its_lock(path: Path) -> None:
    with FileJournal(path) as journal:
        journal.append(RECORDS)
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == {path.name: 0o600, f"{path.name}.lock": 0o600}


def test_the_process_that_has_the_lock_is_named_while_it_has_it(path: Path) -> None:
    assert holder(path) is None
    with FileJournal(path):
        assert (holder(path) or "").startswith(f"pid {os.getpid()} on ")
    assert holder(path) is None


def filled() -> Journal:
    journal = MemoryJournal()
    journal.append(RECORDS)
    return journal


def test_the_fold_finds_the_open_application_and_what_is_its() -> None:
    ledger = fold(filled().read())
    assert ledger.application == APP
    assert set(ledger.owned) == {P0, P0._replace(partition=1)}
    assert set(ledger.open) == {P0}
    assert ledger.plan_text("a-1") == '{"kind": "é"}\nrest'
    assert ledger.applications("d" * 64) == [APP]
    assert set(ledger.entries) == {("orders", FOLLOWER_REPLICAS)}
    assert set(ledger.rates) == {(4, LEADER_RATE), (5, LEADER_RATE)}
    assert ledger.remembered() == {P0: RememberedOrder(replicas(3, 1, 2), TOPIC_ID)}
    assert [o.partition.partition for o in ledger.ended(Status.STALE)] == [1]


def test_folding_step_by_step_is_folding_at_once() -> None:
    more: tuple[Record, ...] = (
        MoveRecord("a-1", P0, TOPIC_ID, replicas(1, 2, 3), replicas(4, 2, 5), Status.DONE),
        MoveRecord("b-1", P0, TOPIC_ID, replicas(1), replicas(2)),
        Forget("prior/broker/4/leader.replication.throttled.rate"),
        Application("a-1", ApplicationStatus.CLOSED, "d", "m", "cluster", "ann"),
    )
    ledger = fold([])
    for record in (*RECORDS, *more):
        ledger = ledger.after([record])
    assert ledger == fold([*RECORDS, *more])
    assert ledger.application is None
    assert ledger.owned == {}
    assert ledger.after([]) is ledger


def test_two_open_applications_are_refused_with_the_command_that_ends_both() -> None:
    other = Application("b-1", ApplicationStatus.OPEN, "e", "m", "cluster", "bob@ops-2")
    with pytest.raises(Held) as held:
        fold([APP, other])
    assert str(held.value) == (
        "the journal holds 2 open applications: a-1 of ann@ops-1, b-1 of bob@ops-2\n"
        "Two processes wrote to it at once. `replan abandon` ends them all: their moves stay as they are, and "
        "throttles set by replan are restored."
    )


def test_a_journal_is_a_regular_file_and_replaces_nothing_else(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for opened in (FileJournal, peek):
        with pytest.raises(BadFile, match="is no regular file"):
            opened(pipe)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
