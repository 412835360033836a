"""Record batches as they lie in logs: told apart, and made fit to be produced again."""

import struct

import pytest
from kafka.record import MemoryRecords, MemoryRecordsBuilder

from replan.kafka.record_batches import anonymous, batches


def batch(base: int, *values: bytes, producer: int = 7, transactional: bool = True) -> bytes:
    """A batch as a producer with a transaction writes it."""
    builder = MemoryRecordsBuilder(
        magic=2,
        compression_type=1,
        batch_size=100_000,
        transactional=transactional,
        producer_id=producer,
        producer_epoch=3,
        base_sequence=11,
    )
    for value in values:
        builder.append(timestamp=1_700_000_000_000, key=b"k", value=value, headers=[])
    builder.close()
    content = bytearray(builder.buffer())
    struct.pack_into(">q", content, 0, base)
    return bytes(content)


def test_batches_are_read_one_after_another_and_a_cut_one_is_left_out() -> None:
    content = batch(10, b"a", b"b", b"c") + batch(13, b"d")

    found = list(batches(content + batch(14, b"e")[:-3]))

    assert [(b.base, b.last, b.records) for b in found] == [(10, 12, 3), (13, 13, 1)]
    assert b"".join(b.content for b in found) == content


def test_a_batch_that_is_produced_again_has_no_producer_and_the_same_records() -> None:
    [found] = batches(batch(10, b"a", b"b"))
    assert found.transactional

    again = MemoryRecords(anonymous(found)).next_batch()

    assert again.validate_crc()
    assert (again.producer_id, again.is_transactional) == (-1, False)
    assert [(r.offset, r.key, r.value, r.timestamp) for r in again] == [
        (0, b"k", b"a", 1_700_000_000_000),
        (1, b"k", b"b", 1_700_000_000_000),
    ]


def test_an_older_format_is_refused() -> None:
    content = bytearray(batch(0, b"a"))
    content[16] = 1
    with pytest.raises(ValueError, match="format 1"):
        list(batches(bytes(content)))
