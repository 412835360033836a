"""Long answers about log directories, read without an object for each log (`rows` has those about partitions).

The decoder knows Kafka's schema of DescribeLogDirsResponse (versions 4 and 5), and nothing else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from replan.kafka.failures import raise_for
from replan.kafka.wire.flexible import LONGEST_ONE_BYTE, Cursor
from replan.model.columns import Ints


@dataclass(frozen=True, slots=True)
class Directory:
    """A log directory as its broker tells it."""

    error_code: int
    path: str
    total_bytes: int
    usable_bytes: int
    cordoned: bool
    logs: int
    replicas: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Of a broker with several directories, where that was read."""


@dataclass(frozen=True, slots=True)
class Logs:
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
            directories = tuple(replace(found, replicas=of) for found, of in pairs)
        return Logs(directories, nothing, nothing, nothing, nothing)


_LOG = 22
"""Partition (4), size (8), offset lag (8), whether AlterReplicaLogDirs builds it (1), no tags (1)."""


def logs_told(base_of: Callable[[bytes], int]) -> Callable[[memoryview, int], Logs]:
    """A reader of responses to DescribeLogDirs; `base_of` gives what stands for a topic, -1 to leave its logs out."""
    return lambda body, version: _logs(bytes(body), version, base_of)


def _logs(content: bytes, version: int, base_of: Callable[[bytes], int]) -> Logs:
    cursor = Cursor(content, 4)
    raise_for(cursor.integer(2), None)
    found: list[Directory] = []
    groups: list[tuple[int, int, int, int]] = []
    for number in range(cursor.length()):
        code, path = cursor.integer(2), cursor.text()
        logs = _groups(cursor, base_of, groups, number)
        total, usable = cursor.integer(8), cursor.integer(8)
        cordoned = version >= 5 and cursor.boolean()
        cursor.skip_tags()
        found.append(Directory(code, path, total, usable, cordoned, logs))
    return Logs(tuple(found), *_columns(content, groups))


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
