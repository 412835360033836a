"""Record batches as they lie in logs (message format 2, KIP-98): told apart, and made fit to be produced again. Pure.

Records are not looked into, so compressed ones stay as they are, unless compaction has left gaps between them.
"""

import struct
from collections.abc import Iterator
from types import MappingProxyType

from kafka.record.util import calc_crc32c, decode_varint, encode_varint
from msgspec import Struct

_HEADER = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length of the rest, leader epoch, magic, CRC, attributes, last offset delta, two times, producer id and
epoch, base sequence, number of records."""
_BEFORE_LENGTH, _CRC_AT, _CHECKED_FROM = 12, 17, 21
_MAGIC, _MAGIC_AT = 2, 16
_COMPRESSION, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL, _DELETE_HORIZON = (
    0x07,
    0x08,
    0x10,
    0x20,
    0x40,
)
_OF_THE_LOG = _LOG_APPEND_TIME | _TRANSACTIONAL | _DELETE_HORIZON
"""Attributes that a log gives a batch, or a transaction: a producer that sets the first is rejected (LogValidator)."""
_LAST_DELTA, _LAST_DELTA_AT = struct.Struct(">i"), 23
_LENGTH, _LENGTH_AT = struct.Struct(">i"), 8
_PRODUCER = struct.Struct(">qhi")
_PRODUCER_AT = 43
_ATTRIBUTES = struct.Struct(">h")
_BASE_OFFSET, _LEADER_EPOCH = struct.Struct(">q"), struct.Struct(">i")
_CODECS = MappingProxyType({1: "gzip", 3: "lz4", 4: "zstd"})
_SNAPPY, _BLOCKS, _FIRST_BLOCK = 2, b"\x82SNAPPY\0", 16
NO_PRODUCER = (-1, -1, -1)


class RecordBatch(Struct, frozen=True):
    """One batch."""

    base: int
    """The offset of its first record."""
    last: int
    records: int
    transactional: bool
    control: bool
    """A marker of a transaction, which no client may produce."""
    content: bytes


def batches(content: bytes) -> Iterator[RecordBatch]:
    """The whole batches in some bytes of a log; one that is cut at the end is left out.

    Raises ValueError where they are of an older format (before Kafka 0.11).
    """
    at = 0
    while at + _MAGIC_AT < len(
        content
    ):  # where every format has it; a whole older one may be short
        if content[at + _MAGIC_AT] != _MAGIC:
            magic = content[at + _MAGIC_AT]
            raise ValueError(f"a batch of message format {magic}; only format 2 can be read")
        if at + _HEADER.size > len(content):
            return
        base, length, _, _, _, attributes, delta, *_, records = _HEADER.unpack_from(content, at)
        end = at + _BEFORE_LENGTH + length
        if end > len(content) or length < _HEADER.size - _BEFORE_LENGTH:
            return
        yield RecordBatch(
            base,
            base + delta,
            records,
            bool(attributes & _TRANSACTIONAL),
            bool(attributes & _CONTROL),
            bytes(content[at:end]),
        )
        at = end


def anonymous(batch: RecordBatch) -> bytes:
    """The batch as a client sends it (LogValidator): from offset 0 on and without gaps, in no leader's epoch, of no
    producer and no transaction, which the log may know already; with a CRC that fits.

    Gaps are what compaction leaves; brokers take none, and fail where they would have to close them. What has gaps is
    sent without its compression.
    """
    content = bytearray(batch.content)
    if batch.last - batch.base + 1 != batch.records:
        content = _without_gaps(content, batch.records)
    _BASE_OFFSET.pack_into(content, 0, 0)
    _LEADER_EPOCH.pack_into(content, _BEFORE_LENGTH, -1)
    (attributes,) = _ATTRIBUTES.unpack_from(content, _CHECKED_FROM)
    _ATTRIBUTES.pack_into(content, _CHECKED_FROM, attributes & ~_OF_THE_LOG)
    _PRODUCER.pack_into(content, _PRODUCER_AT, *NO_PRODUCER)
    struct.pack_into(">I", content, _CRC_AT, calc_crc32c(bytes(content[_CHECKED_FROM:])))
    return bytes(content)


def _without_gaps(content: bytearray, records: int) -> bytearray:
    (attributes,) = _ATTRIBUTES.unpack_from(content, _CHECKED_FROM)
    packed, at = content[_HEADER.size :], 0
    codec = attributes & _COMPRESSION
    plain = _unpacked(codec, bytes(packed)) if codec else packed
    batch = content[: _HEADER.size]
    for number in range(records):
        length, begin = decode_varint(plain, at)
        at = begin + length
        _, times = decode_varint(plain, begin + 1)
        _, rest = decode_varint(plain, times)
        record = bytearray(plain[begin:times])
        encode_varint(number, record.append)
        record += plain[rest:at]
        encode_varint(len(record), batch.append)
        batch += record
    _ATTRIBUTES.pack_into(batch, _CHECKED_FROM, attributes & ~_COMPRESSION)
    _LAST_DELTA.pack_into(batch, _LAST_DELTA_AT, records - 1)
    _LENGTH.pack_into(batch, _LENGTH_AT, len(batch) - _BEFORE_LENGTH)
    return batch


def _unpacked(codec: int, content: bytes) -> bytes:
    """The records of a compressed batch; Java clients write snappy in blocks (SnappyOutputStream)."""
    import pyarrow as pa

    if codec != _SNAPPY:
        with pa.CompressedInputStream(pa.BufferReader(content), _CODECS[codec]) as stream:
            return bytes(stream.read())
    if not content.startswith(_BLOCKS):
        return _unpacked_block(content)
    unpacked, at = b"", _FIRST_BLOCK
    while at < len(content):
        (length,) = _LENGTH.unpack_from(content, at)
        at += _LENGTH.size + length
        unpacked += _unpacked_block(content[at - length : at])
    return unpacked


def _unpacked_block(block: bytes) -> bytes:
    """A block of snappy, which begins with its size, seven bits a byte."""
    import pyarrow as pa

    size = 0
    for number, byte in enumerate(block):
        size |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            break
    return bytes(pa.decompress(block, decompressed_size=size, codec="snappy"))
