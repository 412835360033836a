"""Long answers about partitions, read without an object for each (`log_rows` has those about logs).

A cluster may have a million partitions. kafka-python makes an object of each, at 10 µs and 600 bytes; here rows of
the same shape are read together by numpy. The decoders know Kafka's schemas of DescribeTopicPartitionsResponse
(version 0) and MetadataResponse (12, 13), and nothing else.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from replan.kafka.failures import NOT_THERE, TOPIC_AUTHORIZATION_FAILED, raise_for
from replan.kafka.wire.flexible import LONGEST_ONE_BYTE, Cursor
from replan.model.columns import Ints
from replan.model.names import TopicId

_TOGETHER = 4096
Ids = npt.NDArray[np.int32]


REPLICAS, ISR, ELR, LAST_KNOWN_ELR, OFFLINE = range(5)


@dataclass(slots=True)
class Topic:
    """A topic of a page, and which rows of the page are its partitions."""

    name: str
    id: TopicId
    first: int
    count: int
    operations: int = 0
    """What this user may do with it, where that was asked: bits by the number of the operation (KIP-430)."""
    hidden: bool = False
    """It was named, and this user may not describe it: nobody says whether it exists."""


@dataclass(frozen=True, slots=True)
class Run:
    """Partitions of the same shape: numpy rows with the fields p(artition), l(eader), e(poch) and lists 0, 1, 2 ..."""

    rows: Any
    lengths: tuple[int, ...]
    """Of the lists, in the order of the schema."""


class Lists:
    """One of the lists of each row."""

    def __init__(self, ids: Ids, counts: Ints) -> None:
        self._ids, self._counts, self._ends = ids, counts, np.cumsum(counts)

    def of(self, row: int) -> list[int]:
        """The list of one row."""
        end = self._ends[row]
        found: list[int] = self._ids[end - self._counts[row] : end].tolist()
        return found


@dataclass(frozen=True, slots=True)
class Columns:
    """What is needed of single rows of a page."""

    numbers: Ints
    leaders: Ints
    epochs: Ints
    replicas: Lists
    isr: Lists


@dataclass(slots=True)
class Page:
    """Topics with their partitions, as a broker tells them."""

    topics: list[Topic] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    next: tuple[str, int] | None = None
    """Where the next page begins, if there is one."""
    rows: int = 0
    _columns: Columns | None = None

    def columns(self) -> Columns:
        """The rows one by one; made once, as the same page may be read in many ticks."""
        if self._columns is None:
            replicas, isr = Lists(*self.lists(REPLICAS)), Lists(*self.lists(ISR))
            numbers, leaders, epochs = map(self.numbers, ("p", "l", "e"))
            self._columns = Columns(numbers, leaders, epochs, replicas, isr)
        return self._columns

    def numbers(self, column: str) -> Ints:
        """The partitions' numbers (p), leaders (l) or leader epochs (e)."""
        return np.concatenate([np.zeros(0, np.int64), *(run.rows[column] for run in self.runs)])

    def lists(self, place: int) -> tuple[Ids, Ints]:
        """All brokers of one of the lists in a row, and how many of them belong to each partition."""
        column = str(place)
        parts = [run.rows[column].ravel() for run in self.runs if run.lengths[place]]
        ids = np.concatenate([np.zeros(0, np.int32), *parts]).astype(np.int32, copy=False)
        lengths = np.array([max(0, run.lengths[place]) for run in self.runs], np.int64)
        return ids, np.repeat(lengths, [len(run.rows) for run in self.runs])


_DESCRIBED_LISTS = 5
_METADATA_LISTS = 3


def partitions_described(body: memoryview, _version: int) -> Page:
    """Read a response to DescribeTopicPartitions."""
    cursor = Cursor(bytes(body), 4)
    page = _topics(cursor, _DESCRIBED_LISTS)
    if cursor.content[cursor.at] != 0xFF:
        cursor.skip(1)
        page.next = cursor.text(), cursor.integer(4)
    return page


def metadata(body: memoryview, _version: int) -> Page:
    """Read the topics of a response to Metadata."""
    cursor = Cursor(bytes(body), 4)
    for _ in range(cursor.length()):
        cursor.skip(4)
        cursor.octets()
        cursor.skip(4)
        cursor.octets()
        cursor.skip_tags()
    cursor.octets()
    cursor.skip(4)
    return _topics(cursor, _METADATA_LISTS)


def _topics(cursor: Cursor, lists: int) -> Page:
    page = Page()
    for _ in range(cursor.length()):
        error, name = cursor.integer(2), cursor.text()
        hidden = error == TOPIC_AUTHORIZATION_FAILED
        raise_for(0 if hidden or error == NOT_THERE else error, f"topic {name}")
        topic_id = base64.urlsafe_b64encode(cursor.content[cursor.at : cursor.at + 16])
        cursor.skip(17)
        count = cursor.length()
        readable = TopicId(topic_id.decode().rstrip("="))
        page.topics.append(Topic(name, readable, page.rows, count, hidden=hidden))
        for run in _runs(cursor, count, lists):
            page.runs.append(run)
        page.rows += count
        page.topics[-1].operations = cursor.integer(4)
        cursor.skip_tags()
    return page


def _runs(cursor: Cursor, count: int, lists: int) -> Iterator[Run]:
    """The rows of one topic, as many together as have lists of the same lengths."""
    together = _TOGETHER
    while count:
        lengths = _lengths(cursor.content, cursor.at, lists)
        layout, fixed = _layout(lengths)
        fitting = min(count, together, (len(cursor.content) - cursor.at) // layout.itemsize)
        rows = np.frombuffer(cursor.content, layout, fitting, cursor.at)
        same = np.ones(fitting, dtype=bool)
        for name, expected in fixed:
            same &= rows[name] == expected
        found = fitting if same.all() else int(same.argmin())
        if not found:
            raise ValueError("a row of partitions with tags")
        yield Run(rows[:found], lengths)
        cursor.skip(found * layout.itemsize)
        count -= found
        together = min(_TOGETHER, 2 * found + 8)


def _lengths(content: bytes, at: int, lists: int) -> tuple[int, ...]:
    cursor, found = Cursor(content, at + 14), []
    for _ in range(lists):
        length = cursor.length()
        cursor.skip(4 * length)
        found.append(length if length or content[cursor.at - 1] else -1)
    return tuple(found)


@cache
def _layout(lengths: tuple[int, ...]) -> tuple[Any, tuple[tuple[str, int], ...]]:
    """Where the parts of a row are where its lists are so long (-1: null), and what its bytes between them must be."""
    fields: list[Any] = [("error", ">i2"), ("p", ">i4"), ("l", ">i4"), ("e", ">i4")]
    fixed: list[tuple[str, int]] = []
    for place, length in enumerate(lengths):
        for number, byte in enumerate(_varint(length + 1)):
            fields.append((f"length {place} {number}", "u1"))
            fixed.append((f"length {place} {number}", byte))
        fields.append((str(place), ">i4", (max(0, length),)))
    fields.append(("tags", "u1"))
    return np.dtype(fields), (*fixed, ("tags", 0))


def _varint(value: int) -> list[int]:
    found = []
    while value > LONGEST_ONE_BYTE:
        found.append(value & LONGEST_ONE_BYTE | 0x80)
        value >>= 7
    return [*found, value]
