"""Record batches as they lie in logs: told apart, and made fit to be produced again."""

import struct

import pyarrow as pa
import pytest
from kafka.record import MemoryRecords, MemoryRecordsBuilder
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from replan.kafka.api import anonymous, batches


def batch(
    base: int, *values: bytes, producer: int = 7, transactional: bool = True, codec: int = 1
) -> bytes:
    """A batch as a producer with a transaction writes it."""
    builder = MemoryRecordsBuilder(
        magic=2,
        compression_type=codec,
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


@pytest.mark.parametrize("magic", [0, 1])
def test_an_older_format_is_refused_however_short_it_is(magic: int) -> None:
    builder = MemoryRecordsBuilder(magic=magic, compression_type=0, batch_size=1000)
    builder.append(timestamp=1_700_000_000_000 if magic else None, key=None, value=b"a")
    builder.close()
    content = bytes(builder.buffer())
    assert len(content) < len(batch(0))

    with pytest.raises(ValueError, match=f"format {magic}"):
        list(batches(content))


LENGTH_AT, ATTRIBUTES_AT, LAST_DELTA_AT, RECORDS_AT = 8, 21, 23, 61
CODECS = (0, 1, 2, 3, 4, 7)
LOG_APPEND_TIME, DELETE_HORIZON = 0x08, 0x40


def compacted(codec: int) -> bytes:
    """A batch of 200 records of which compaction has kept the first and the last."""
    few = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1_000_000)
    few.append(0, 0, b"k", b"a" * 500, [("h", b"1")])
    few.append(199, 199, None, b"a" * 500, [])
    content = bytes(few.build())
    found = bytearray(content[:RECORDS_AT] + packed(codec, content[RECORDS_AT:]))
    struct.pack_into(">i", found, LENGTH_AT, len(found) - LENGTH_AT - 4)
    struct.pack_into(">h", found, ATTRIBUTES_AT, 2 if codec == 7 else codec)
    struct.pack_into(">i", found, LAST_DELTA_AT, 199)
    return bytes(found)


def packed(codec: int, content: bytes) -> bytes:
    """Compressed as by a producer; 7 is snappy as librdkafka writes it, without blocks."""
    match codec:
        case 0:
            return content
        case 1 | 3 | 4:
            name = {1: "gzip", 3: "lz4", 4: "zstd"}[codec]
            return bytes(pa.compress(content, codec=name, asbytes=True))
        case 2:
            halves = [packed(7, content[:400]), packed(7, content[400:])]
            blocks = b"".join(struct.pack(">i", len(half)) + half for half in halves)
            return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + blocks
        case _:
            return bytes(pa.compress(content, codec="snappy", asbytes=True))


@pytest.mark.parametrize("codec", CODECS)
def test_gaps_that_compaction_left_are_closed(codec: int) -> None:
    [found] = batches(compacted(codec))
    assert (found.base, found.last, found.records) == (0, 199, 2)

    [sent] = batches(anonymous(found))

    assert (sent.last, sent.records) == (1, 2)
    again = DefaultRecordBatch(sent.content)
    assert again.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in again] == [
        (0, 0, b"k", b"a" * 500, [("h", b"1")]),
        (1, 199, None, b"a" * 500, []),
    ]


def of_the_log() -> bytes:
    """A batch with all that only a log may say of one."""
    content = bytearray(batch(0, b"a", transactional=False, codec=0))
    struct.pack_into(">h", content, ATTRIBUTES_AT, LOG_APPEND_TIME | DELETE_HORIZON)
    return bytes(content)


def test_what_only_a_log_may_say_of_a_batch_is_left_out() -> None:
    [found] = batches(of_the_log())
    assert struct.unpack_from(">h", anonymous(found), ATTRIBUTES_AT) == (0,)
