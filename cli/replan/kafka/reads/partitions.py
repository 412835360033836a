"""Partitions as brokers show them, in columns: the whole cluster, or those that are wanted.

The whole cluster comes in pages of DescribeTopicPartitions (KIP-966). Pages are no snapshot: each is read from what the
broker knows just then. Wanted partitions come with all of their topic in one Metadata request; of a topic that has many
more than are wanted, only their rows, by a cursor and a limit.
"""

import base64
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct, field

from replan.kafka.failures import (
    DESCRIBE_PARTITIONS,
    METADATA,
    raise_for,
)
from replan.kafka.messages import DescribeTopicPartitions, Metadata
from replan.kafka.reads.patience import Reads
from replan.kafka.wire.frames import LONGEST_ONE_BYTE, Cursor, Question
from replan.model.columns import Ints, list_column, number_column
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition, by_topic
from replan.model.partition import PartitionState, Reassignment

# What brokers tell, as values: rows of one shape stand together in numpy arrays.

Ids = npt.NDArray[np.int32]


REPLICAS, ISR, ELR, LAST_KNOWN_ELR, OFFLINE = range(5)


class PageTopic(Struct):
    """A topic of a page, and which rows of the page are its partitions."""

    name: str
    id: TopicId
    first: int
    count: int
    operations: int = 0
    """What this user may do with it, where that was asked: bits by the number of the operation (KIP-430)."""
    hidden: bool = False
    """It was named, and this user may not describe it: nobody says whether it exists."""


class RowRun(Struct, frozen=True):
    """Partitions of the same shape: numpy rows with the fields p(artition), l(eader), e(poch) and lists 0, 1, 2 ..."""

    rows: Any
    lengths: tuple[int, ...]
    """Of the lists, in the order of the schema."""


class ListColumn:
    """One of the lists of each row."""

    def __init__(self, ids: Ids, counts: Ints) -> None:
        self._ids, self._counts, self._ends = ids, counts, np.cumsum(counts)

    def of(self, row: int) -> list[int]:
        """The list of one row."""
        end = self._ends[row]
        members: list[int] = self._ids[end - self._counts[row] : end].tolist()
        return members


class Columns(Struct, frozen=True):
    """What is needed of single rows of a page."""

    numbers: Ints
    leaders: Ints
    epochs: Ints
    replicas: ListColumn
    isr: ListColumn


class Page(Struct):
    """Topics with their partitions, as a broker tells them."""

    topics: list[PageTopic] = field(default_factory=list)
    runs: list[RowRun] = field(default_factory=list)
    next: tuple[str, int] | None = None
    """Where the next page begins, if there is one."""
    rows: int = 0
    _columns: Columns | None = None

    def columns(self) -> Columns:
        """The rows one by one; made once, as the same page may be read in many ticks."""
        if self._columns is None:
            replicas, isr = ListColumn(*self.lists(REPLICAS)), ListColumn(*self.lists(ISR))
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


# What is asked, and single partitions of what is read.

PAGE = 2000
"""Brokers cut larger pages down to this, or to their own max.request.partition.size.limit."""
ROWS_INSTEAD_OF_A_REQUEST = 1000
"""So many rows that nobody wants cost what one more request costs."""
_METADATA_VERSION = 12
RunningReassignments = Mapping[TopicPartition, Reassignment]


def pages(reads: Reads, topics: Collection[str] | None, *, page: int = PAGE) -> Iterator[Page]:
    """Topics with their partitions, by name, a page at a time; None asks for all of them.

    A topic that does not exist comes with its error code and no partitions.
    """
    if topics is not None and not topics:
        return
    wanted, cursor = sorted(topics or ()), None
    while True:
        told = reads.ask(_rows_question(wanted, cursor, page))
        yield told
        if told.next is None:
            return
        cursor = told.next
        wanted = [name for name in wanted if name >= cursor[0]]  # must contain the cursor's


def _rows_question(
    topics: Sequence[str], cursor: tuple[str, int] | None, most_rows: int
) -> Question:
    request = DescribeTopicPartitions
    message = request(
        topics=[request.TopicRequest(name=name) for name in topics],
        response_partition_limit=most_rows,
        cursor=cursor and request.Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    return Question(DESCRIBE_PARTITIONS, message, partitions_described)


def partitions_questions(reads: Reads, wanted: Collection[TopicPartition]) -> list[Question]:
    """The questions for some partitions, by how large their topics and the pages of brokers were so far."""
    counts, page = reads.earlier.partitions, reads.earlier.page or PAGE
    whole, questions = [], []
    for topic, of in by_topic(sorted(wanted)).items():
        runs = _runs(of, page)
        if counts.get(topic, 0) - len(of) > ROWS_INSTEAD_OF_A_REQUEST * len(runs):
            for first, last in runs:
                questions.append(_rows_question([topic], (topic, first), last - first + 1))
        else:
            whole.append(topic)
    if whole:
        questions.insert(0, reads.kept("metadata", whole, lambda: _metadata_question(whole)))
    return questions


def _metadata_question(topics: Sequence[str]) -> Question:
    topic_of = Metadata.MetadataRequestTopic
    message = Metadata(
        topics=[topic_of(name=name) for name in topics],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
        min_version=_METADATA_VERSION,
    )
    return Question(METADATA, message, metadata, repeated=True)


def was_cut(question: Question, told: Page) -> bool:
    """Whether a broker gives fewer rows at once than it was asked for by one of `partitions_questions`."""
    return told.next is not None and 0 < told.rows < question.message.response_partition_limit


def _runs(numbers: Sequence[int], page: int) -> list[tuple[int, int]]:
    """First and last of what is asked for together; a page is the most that a broker gives at once."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if (
            runs
            and number - runs[-1][1] < ROWS_INSTEAD_OF_A_REQUEST
            and number - runs[-1][0] < page
        ):
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs


def states(
    read_pages: Sequence[Page], wanted: Collection[TopicPartition]
) -> dict[TopicPartition, PartitionState]:
    """The named partitions as objects, with the lists of the pages; those that do not exist are left out."""
    wanted_numbers = by_topic(wanted)
    states: dict[TopicPartition, PartitionState] = {}
    for page in read_pages:
        columns = page.columns()
        for topic in page.topics:
            numbers = columns.numbers[topic.first : topic.first + topic.count]
            for number in wanted_numbers.get(topic.name, ()):
                # A broker gives a topic's partitions in whatever order it has them.
                for place in np.flatnonzero(numbers == number):
                    name = TopicPartition(topic.name, number)
                    states[name] = _state(columns, topic.first + int(place), name, topic.id)
    return states


def _state(columns: Columns, row: int, name: TopicPartition, topic_id: TopicId) -> PartitionState:
    leader = int(columns.leaders[row])
    return PartitionState(
        partition=name,
        topic_id=topic_id,
        replicas=tuple(map(BrokerId, columns.replicas.of(row))),
        isr=tuple(map(BrokerId, columns.isr.of(row))),
        leader=None if leader < 0 else BrokerId(leader),
        leader_epoch=int(columns.epochs[row]),
    )


# All partitions of a cluster.


class TopicRows(Struct, frozen=True):
    """A topic of the whole cluster, and which rows are its partitions: Kafka numbers them from 0 without gaps."""

    name: str
    id: TopicId
    first: int
    count: int


class PartitionColumns:
    """All partitions of a cluster as columns, filled page by page.

    For a partition with a running reassignment, the list, its adding and its removing replicas come from the
    controller's list (ListPartitionReassignments), which is asked first; everything else comes from the pages. So the
    three always fit each other, although metadata may be a moment behind or ahead.
    """

    def __init__(self, running: RunningReassignments) -> None:
        self.topics: list[TopicRows] = []
        self.torn: set[str] = set()
        """Topics that were deleted between two of their pages, made again or not: no page shows the rest of one."""
        self._running = running
        self._pages: list[Page] = []
        self._rows = 0

    def add(self, page: Page) -> None:
        """Take in a page; it may begin with the next part of the topic that came last."""
        self._note_torn(page)
        for topic in page.topics:
            if not topic.count:
                continue
            last = self.topics[-1] if self.topics else None
            if last is not None and last.name == topic.name:
                self.topics[-1] = TopicRows(
                    last.name, last.id, last.first, last.count + topic.count
                )
            else:
                first = self._rows + topic.first
                self.topics.append(TopicRows(topic.name, topic.id, first, topic.count))
        self._pages.append(page)
        self._rows += page.rows

    def _note_torn(self, page: Page) -> None:
        going_on = self._pages[-1].next if self._pages else None
        if going_on is None or not going_on[1]:
            return
        ids = {topic.id for topic in page.topics[:1] if topic.name == going_on[0]}
        if ids != {self.topics[-1].id}:
            self.torn.add(going_on[0])

    @property
    def names(self) -> list[str]:
        """The topics' names."""
        return [topic.name for topic in self.topics]

    @property
    def rows(self) -> int:
        """How many partitions there are."""
        return self._rows

    def members(self) -> frozenset[int]:
        """Every broker that some replica list names."""
        brokers = {b for lists in self._running.values() for b in lists.replicas}
        for page in self._pages:
            brokers.update(np.unique(page.lists(REPLICAS)[0]).tolist())
        return frozenset(brokers)

    def offline(self, live: Collection[int]) -> dict[TopicPartition, Replicas]:
        """The replicas that are offline although their broker is live: their log directory has failed."""
        by_row, begun = dict[int, tuple[int, Replicas]](), 0
        for page in self._pages:
            ids, counts = page.lists(OFFLINE)
            ends, numbers = np.cumsum(counts), page.numbers("p")
            for row in np.flatnonzero(counts):
                listed = ids[ends[row] - counts[row] : ends[row]].tolist()
                dead_disks = tuple(BrokerId(b) for b in listed if b in live)
                if dead_disks:
                    by_row[begun + int(row)] = int(numbers[row]), dead_disks
            begun += page.rows
        firsts = [topic.first for topic in self.topics]
        return {
            TopicPartition(self.topics[bisect_right(firsts, row) - 1].name, number): listed
            for row, (number, listed) in by_row.items()
        }

    def codes(self) -> pa.Array:
        """The topic of each row, by its place in `topics`."""
        counts = [topic.count for topic in self.topics]
        return number_column(np.repeat(np.arange(len(counts)), counts))

    def columns(self) -> dict[str, pa.Array]:
        """Everything but the topic and the sizes, by the names of PARTITIONS_SCHEMA."""
        running = self._running_rows()
        lists = {"isr": ISR, "elr": ELR, "last_known_elr": LAST_KNOWN_ELR}
        return {
            "partition": self._numbers("p"),
            "leader": self._numbers("l"),
            "leader_epoch": self._numbers("e"),
            "replicas": self._column(REPLICAS, {r: of.replicas for r, of in running.items()}),
            "adding": _few(self._rows, {r: of.adding for r, of in running.items()}),
            "removing": _few(self._rows, {r: of.removing for r, of in running.items()}),
            **{name: self._column(place, {}) for name, place in lists.items()},
        }

    def _numbers(self, column: str) -> pa.Array:
        parts = [page.numbers(column) for page in self._pages]
        return number_column(np.concatenate([np.zeros(0, np.int32), *parts]))

    def _running_rows(self) -> dict[int, Reassignment]:
        places = {topic.name: topic for topic in self.topics}
        by_row = {
            places[name.topic].first + name.partition: lists
            for name, lists in self._running.items()
            if name.topic in places and name.partition < places[name.topic].count
        }
        return dict(sorted(by_row.items()))

    def _column(self, place: int, others: Mapping[int, Replicas]) -> pa.ListArray:
        """A list of all rows, with other lists in some of them."""
        parts = [page.lists(place) for page in self._pages]
        ids = np.concatenate([np.zeros(0, np.int32), *(part[0] for part in parts)])
        counts = np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)])
        if others:
            ends = np.cumsum(counts)
            kept = []
            for before, row in pairwise((-1, *others)):
                begin = 0 if before < 0 else int(ends[before])
                kept += [ids[begin : int(ends[row] - counts[row])], np.array(others[row], np.int32)]
            ids = np.concatenate([*kept, ids[int(ends[max(others)]) :]])
            for row, replicas in others.items():
                counts[row] = len(replicas)
        return list_column(ids.astype(np.int32), counts)


def _few(rows: int, lists: Mapping[int, Replicas]) -> pa.ListArray:
    """A column of lists that are empty but for a few."""
    counts = np.zeros(rows, np.int64)
    counts[list(lists)] = [len(of) for of in lists.values()]
    ids = np.array([b for of in lists.values() for b in of], np.int32)
    return list_column(ids, counts)


# The answers, read without an object for each partition (`log_dirs` does so for logs).
#
# A cluster may have a million partitions. kafka-python makes an object of each, at 10 µs and 600 bytes; here rows of
# the same shape are read together by numpy. The decoders know Kafka's schemas of DescribeTopicPartitionsResponse
# (version 0) and MetadataResponse (12, 13), and nothing else.

_TOGETHER = 4096
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
        hidden = error == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        raise_for(
            0 if hidden or error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else error, f"topic {name}"
        )
        topic_id = base64.urlsafe_b64encode(cursor.content[cursor.at : cursor.at + 16])
        cursor.skip(17)
        count = cursor.length()
        readable = TopicId(topic_id.decode().rstrip("="))
        page.topics.append(PageTopic(name, readable, page.rows, count, hidden=hidden))
        for run in _runs_of_page(cursor, count, lists):
            page.runs.append(run)
        page.rows += count
        page.topics[-1].operations = cursor.integer(4)
        cursor.skip_tags()
    return page


def _runs_of_page(cursor: Cursor, count: int, lists: int) -> Iterator[RowRun]:
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
        alike = fitting if same.all() else int(same.argmin())
        if not alike:
            raise ValueError("a row of partitions with tags")
        yield RowRun(rows[:alike], lengths)
        cursor.skip(alike * layout.itemsize)
        count -= alike
        together = min(_TOGETHER, 2 * alike + 8)


def _lengths(content: bytes, at: int, lists: int) -> tuple[int, ...]:
    cursor, lengths = Cursor(content, at + 14), []
    for _ in range(lists):
        length = cursor.length()
        cursor.skip(4 * length)
        lengths.append(length if length or content[cursor.at - 1] else -1)
    return tuple(lengths)


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
    encoded = []
    while value > LONGEST_ONE_BYTE:
        encoded.append(value & LONGEST_ONE_BYTE | 0x80)
        value >>= 7
    return [*encoded, value]
