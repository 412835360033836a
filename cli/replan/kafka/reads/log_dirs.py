"""Log directories: space, number of logs, cordons, and the sizes of replicas, asked of every live broker at once.

A broker tells only of itself (DescribeLogDirs). One that stays silent is left out of the answers, and its
sizes are unknown; it never holds up the others beyond the limit.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from replan.kafka.failures import DESCRIBE_LOG_DIRS, name_of, raise_for
from replan.kafka.messages import RESPONSES, DescribeLogDirs
from replan.kafka.reads.partitions import TopicRows
from replan.kafka.reads.patience import Reads
from replan.kafka.wire.frames import LONGEST_ONE_BYTE, Cursor, Question
from replan.kafka.wire.wire import Wire
from replan.model.broker import LogDir
from replan.model.columns import Ints
from replan.model.control_plane import LogPlace
from replan.model.names import BrokerId, TopicPartition, by_topic


class Directory(Struct, frozen=True):
    """A log directory as its broker tells it."""

    error_code: int
    path: str
    total_bytes: int
    usable_bytes: int
    cordoned: bool
    logs: int
    replicas: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Of a broker with several directories, where that was read."""


class Logs(Struct, frozen=True):
    """A broker's directories, and the logs in them as three columns."""

    directories: tuple[Directory, ...]
    bases: Ints
    """What the reader's `base_of` says of the topic of each log."""
    partitions: Ints
    sizes: Ints
    dirs: Ints
    """In which of the directories each lies."""

    def without_logs(self, lying: Sequence[Mapping[str, tuple[int, ...]]] = ()) -> "Logs":
        """The directories alone, with the replicas that lie in each where they are given."""
        nothing: Ints = np.zeros(0, np.int64)
        directories = self.directories
        if lying:
            pairs = zip(directories, lying, strict=True)
            directories = tuple(replace(directory, replicas=of) for directory, of in pairs)
        return Logs(directories, nothing, nothing, nothing, nothing)


# What is asked.

_TELLS_CORDONED = 5
_EVERYTHING_SECONDS = 10.0
_DIRECTORIES_SECONDS = 5.0
"""Less than half of the settle time, since ticks wait for it."""
_TELLS_BYTES = 4


def tells_cordoned(wire: Wire) -> bool:
    """Whether this cluster knows cordoned directories (KIP-1066, Kafka 4.3)."""
    return wire.knows(DescribeLogDirs, _TELLS_CORDONED)


def directories_of(
    reads: Reads, live: Collection[BrokerId]
) -> dict[BrokerId, tuple[Directory, ...]]:
    """The directories of the brokers that answer, each with how many logs it has."""
    question = Question(DESCRIBE_LOG_DIRS, _request(None), logs_told(lambda _: -1))
    questions = dict.fromkeys(live, question)
    answers = reads.ask_each(questions, limit_seconds=_DIRECTORIES_SECONDS)
    return {broker: told.directories for broker, told in answers.items()}


def directories_and_sizes(
    reads: Reads, live: Collection[BrokerId], topics: Sequence[TopicRows], rows: int
) -> tuple[dict[BrokerId, tuple[Directory, ...]], Ints, frozenset[str]]:
    """The directories of the brokers that answer, the bytes of the largest replica of each row (0: unknown), and the
    topics that have logs and are none of these."""
    largest: Ints = np.zeros(rows, dtype=np.int64)
    firsts = np.array([topic.first for topic in topics], dtype=np.int64)
    counts = np.array([topic.count for topic in topics], dtype=np.int64)
    base_of, others = (
        topic_bases({topic.name: code for code, topic in enumerate(topics)}),
        set[bytes](),
    )

    def noting_others(name: bytes) -> int:
        base = base_of(name)
        if base < 0:
            others.add(name)
        return base

    read = logs_told(noting_others)

    def reduced(body: memoryview, version: int) -> Logs:
        """Answers are taken in as they come, so that only one of them is ever held."""
        told = read(body, version)
        listed = told.partitions < counts[told.bases]
        at = firsts[told.bases[listed]] + told.partitions[listed]
        largest[at] = np.maximum(largest[at], told.sizes[listed])
        return told.without_logs(_lying(told, topics))

    question = Question(DESCRIBE_LOG_DIRS, _request(None), reduced)
    questions = dict.fromkeys(live, question)
    answers = reads.ask_each(questions, limit_seconds=_EVERYTHING_SECONDS)
    held = {broker: told.directories for broker, told in answers.items()}
    return held, largest, frozenset(name.decode() for name in others)


def _lying(told: Logs, topics: Sequence[TopicRows]) -> tuple[Mapping[str, tuple[int, ...]], ...]:
    """The replicas in each directory of a broker that has several, by topic."""
    if len(told.directories) < 2:
        return ()
    by_directory: list[dict[str, list[int]]] = [{} for _ in told.directories]
    columns = (told.dirs.tolist(), told.bases.tolist(), told.partitions.tolist())
    for directory, base, number in zip(*columns, strict=True):
        by_directory[directory].setdefault(topics[base].name, []).append(number)
    return tuple({t: tuple(sorted(of)) for t, of in sorted(by.items())} for by in by_directory)


def cordons_question() -> Question:
    """The question to a broker whether all its directories are cordoned."""

    def decode(body: memoryview, version: int) -> bool:
        return all_cordoned(logs_told(lambda _: -1)(body, version).directories)

    return Question(DESCRIBE_LOG_DIRS, _request([]), decode)


def sizes_question(wanted: Collection[TopicPartition]) -> Question:
    """The question to a broker for the sizes of some replicas; its answer has those that it has, in bytes."""
    names = sorted({name.topic for name in wanted})
    read = logs_told(topic_bases({name: place for place, name in enumerate(names)}))

    def decode(body: memoryview, version: int) -> dict[TopicPartition, int]:
        told = read(body, version)
        columns = told.bases.tolist(), told.partitions.tolist(), told.sizes.tolist()
        return {TopicPartition(names[t], n): size for t, n, size in zip(*columns, strict=True)}

    return Question(DESCRIBE_LOG_DIRS, _request(_topics(wanted)), decode)


def places_question(wanted: Collection[TopicPartition]) -> Question:
    """The question to a broker where some replicas lie, and where they are being copied to."""
    names = sorted(wanted)

    def decode(body: memoryview, version: int) -> dict[TopicPartition, LogPlace]:
        serving: dict[TopicPartition, tuple[str, int]] = {}
        future: dict[TopicPartition, tuple[str, int]] = {}
        answer = RESPONSES[DescribeLogDirs.API_KEY][version].decode(body)
        raise_for(answer.error_code, None)
        for told in answer.results:
            for topic in told.topics:
                for log in topic.partitions:
                    places = future if log.is_future_key else serving
                    name = TopicPartition(topic.name, log.partition_index)
                    places[name] = told.log_dir, log.partition_size
        return {
            name: LogPlace(*serving.get(name, (None, 0)), *future.get(name, (None, 0)))
            for name in names
        }

    return Question(DESCRIBE_LOG_DIRS, _request(_topics(names)), decode)


def _topics(names: Collection[TopicPartition]) -> Any:
    topic_of = DescribeLogDirs.DescribableLogDirTopic
    numbers = by_topic(sorted(names))
    return [topic_of(topic=topic, partitions=of) for topic, of in numbers.items()]


def log_dirs_in(answers: Mapping[BrokerId, Sequence[Directory]]) -> Iterator[LogDir]:
    """The directories of the answers, by broker and path; an offline one carries its error."""
    for broker, of_broker in sorted(answers.items()):
        for told in sorted(of_broker, key=lambda told: told.path):
            yield LogDir(
                broker,
                told.path,
                _unless_unknown(told.total_bytes),
                _unless_unknown(told.usable_bytes),
                # Future logs count: LogManager.nextLogDirs counts them when it places a new replica.
                logs=told.logs,
                cordoned=told.cordoned,
                error=name_of(told.error_code) if told.error_code else None,
                replicas=told.replicas,
            )


def all_cordoned(of_broker: Sequence[Directory]) -> bool:
    """Whether all directories of a broker are cordoned."""
    return bool(of_broker) and all(told.cordoned for told in of_broker)


def _request(topics: Any) -> Any:
    return DescribeLogDirs(topics=topics, min_version=_TELLS_BYTES)


def _unless_unknown(size: int) -> int | None:
    return None if size < 0 else size


# The answers, read without an object for each log (`partitions` does so for partitions).
#
# The decoder knows Kafka's schema of DescribeLogDirsResponse (versions 4 and 5), and nothing else.

_LOG = 22
"""Partition (4), size (8), offset lag (8), whether AlterReplicaLogDirs builds it (1), no tags (1)."""


def logs_told(base_of: Callable[[bytes], int]) -> Callable[[memoryview, int], Logs]:
    """A reader of responses to DescribeLogDirs; `base_of` gives what stands for a topic, -1 to leave its logs out."""
    return lambda body, version: _logs(bytes(body), version, base_of)


def _logs(content: bytes, version: int, base_of: Callable[[bytes], int]) -> Logs:
    cursor = Cursor(content, 4)
    raise_for(cursor.integer(2), None)
    read_directories: list[Directory] = []
    groups: list[tuple[int, int, int, int]] = []
    for number in range(cursor.length()):
        code, path = cursor.integer(2), cursor.text()
        logs = _groups(cursor, base_of, groups, number)
        total, usable = cursor.integer(8), cursor.integer(8)
        cordoned = version >= 5 and cursor.boolean()
        cursor.skip_tags()
        read_directories.append(Directory(code, path, total, usable, cordoned, logs))
    return Logs(tuple(read_directories), *_columns(content, groups))


def _groups(
    cursor: Cursor,
    base_of: Callable[[bytes], int],
    groups: list[tuple[int, int, int, int]],
    directory: int,
) -> int:
    """Pass over the topics of a directory, noting where the logs of each are; returns how many logs there are.

    The loop that is run most often: two million times for a million partitions on a hundred brokers.
    """
    logs, content = 0, cursor.content
    for _ in range(cursor.length()):
        at = cursor.at
        end = at + content[at]
        if content[at] > LONGEST_ONE_BYTE or content[end] > LONGEST_ONE_BYTE:
            name, count = cursor.octets(), cursor.length()
            start = cursor.at
        else:
            name, count, start = content[at + 1 : end], content[end] - 1, end + 1
        base = base_of(name)
        if base >= 0:
            groups.append((start, count, base, directory))
        logs += count
        cursor.at = start + _LOG * count
        cursor.skip_tags()
    return logs


def _columns(
    content: bytes, groups: Sequence[tuple[int, int, int, int]]
) -> tuple[Ints, Ints, Ints, Ints]:
    table = np.array(groups, dtype=np.int64).reshape(-1, 4)
    starts, counts, bases, dirs = table.T
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    within = np.arange(total) - np.repeat(ends - counts, counts)
    at = np.repeat(starts, counts) + _LOG * within
    octets = np.frombuffer(content, np.uint8)
    if np.any(octets[at + _LOG - 1]):
        raise ValueError("a log with tags")
    serving = octets[at + _LOG - 2] == 0
    at = at[serving]
    numbers = _overlapping(content, ">i4")[at].astype(np.int64)
    sizes = _overlapping(content, ">i8")[at + 4].astype(np.int64)
    return (
        np.repeat(bases, counts)[serving],
        numbers,
        sizes,
        np.repeat(dirs, counts)[serving],
    )


def _overlapping(content: bytes, kind: str) -> Any:
    """The number that begins at each byte."""
    width = np.dtype(kind).itemsize
    count = max(0, len(content) - width + 1)
    return np.ndarray((count,), kind, content, strides=(1,))


def topic_bases(rows: Mapping[str, int]) -> Callable[[bytes], int]:
    """`base_of` for these topics."""
    bases = {name.encode(): base for name, base in rows.items()}
    return lambda name: bases.get(name, -1)
