"""Batches as brokers store them: what was aborted, and the markers themselves, are left out."""

import struct

import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder

from replan.kafka.api import CommittedEntries

TRANSACTIONAL, CONTROL = 0x10, 0x20
ATTRIBUTES = struct.calcsize(">qiibI")
COMMIT, ABORT = 1, 0
ANN, BOB = 7, 8


def batch(offset: int, producer: int, *keys: str, control: bool = False) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=producer >= 0,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        base_sequence=0 if producer >= 0 else -1,
        batch_size=100_000,
    )
    for number, key in enumerate(keys):
        builder.append(number, timestamp=0, key=key.encode("latin1"), value=b"v", headers=[])
    found = bytearray(builder.build())
    struct.pack_into(">q", found, 0, offset)
    if control:
        struct.pack_into(">h", found, ATTRIBUTES, TRANSACTIONAL | CONTROL)
    return bytes(found)


def marker(offset: int, producer: int, kind: int) -> bytes:
    return batch(offset, producer, struct.pack(">hh", 0, kind).decode("latin1"), control=True)


def keys_of(entries: CommittedEntries) -> list[str]:
    return [(entry.key or b"").decode() for entry in entries]


def test_records_of_committed_transactions_and_of_plain_producers_are_read() -> None:
    log = batch(0, ANN, "a", "b") + marker(2, ANN, COMMIT) + batch(3, -1, "c")
    entries = CommittedEntries(log, [])
    assert keys_of(entries) == ["a", "b", "c"]
    assert entries.next_offset == 4


def test_an_aborted_transaction_is_left_out_and_the_next_of_its_producer_is_not() -> None:
    log = (
        batch(0, ANN, "lost")
        + batch(1, BOB, "kept")
        + batch(2, ANN, "lost too")
        + marker(3, ANN, ABORT)
        + marker(4, BOB, COMMIT)
        + batch(5, ANN, "again")
        + marker(6, ANN, COMMIT)
    )
    assert keys_of(CommittedEntries(log, [(ANN, 0)])) == ["kept", "again"]


def test_two_aborted_transactions_of_one_producer() -> None:
    log = (
        batch(0, ANN, "lost")
        + marker(1, ANN, ABORT)
        + batch(2, ANN, "kept")
        + marker(3, ANN, COMMIT)
        + batch(4, ANN, "lost")
        + marker(5, ANN, ABORT)
    )
    assert keys_of(CommittedEntries(log, [(ANN, 4), (ANN, 0)])) == ["kept"]


@pytest.mark.parametrize("cut", [1, 30, 70])
def test_a_batch_that_is_cut_off_is_left_for_the_next_answer(cut: int) -> None:
    whole = batch(0, ANN, "a")
    entries = CommittedEntries(whole + batch(1, ANN, "b")[:-cut], [])
    assert keys_of(entries) == ["a"]
    assert entries.next_offset == 1


def test_an_answer_without_batches() -> None:
    entries = CommittedEntries(b"", [])
    assert keys_of(entries) == []
    assert entries.next_offset == -1
