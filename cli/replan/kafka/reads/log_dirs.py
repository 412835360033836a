"""Log directories: space, number of logs, cordons, and the sizes of replicas, asked of every live broker at once.

A broker tells only of itself (DescribeLogDirs). One that stays silent is left out of the answers, and its
sizes are unknown; it never holds up the others beyond the limit.
"""

from array import array
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
from kafka.protocol.admin import DescribeLogDirsRequest

from replan.kafka.failures import DESCRIBE_LOG_DIRS, name_of
from replan.kafka.reads.patience import Reads
from replan.model.broker import LogDir
from replan.model.columns import Ints
from replan.model.names import BrokerId, TopicPartition

_TELLS_CORDONED = 5
_EVERYTHING = None


class TopicRows:
    """Where the partitions of each topic stand in a table: topic -> first row and count."""

    def __init__(self, places: Mapping[str, tuple[int, int]], rows: int) -> None:
        self._places = places
        self.rows = rows

    def row(self, topic: str, partition: int) -> int:
        """The row of a partition, -1 where the table has none."""
        first, count = self._places.get(topic, (0, 0))
        return first + partition if partition < count else -1


def ask_everything(
    reads: Reads, live: Collection[BrokerId], *, limit_seconds: float
) -> dict[BrokerId, Any]:
    """Ask each broker for its directories and for every replica in them."""
    return _ask(reads, live, _EVERYTHING, limit_seconds)


def ask_directories(
    reads: Reads, live: Collection[BrokerId], *, limit_seconds: float
) -> dict[BrokerId, Any]:
    """Ask each broker for its directories alone."""
    return _ask(reads, live, [], limit_seconds)


def tells_cordoned(reads: Reads) -> bool:
    """Whether this cluster knows cordoned directories (KIP-1066, Kafka 4.3)."""
    return reads.wire.knows(DescribeLogDirsRequest, _TELLS_CORDONED)


def ask_partitions(
    reads: Reads,
    live: Collection[BrokerId],
    wanted: Collection[TopicPartition],
    *,
    limit_seconds: float,
) -> dict[tuple[TopicPartition, BrokerId], int]:
    """Sizes of the replicas of some partitions, in bytes, on the brokers that answer."""
    numbers: dict[str, list[int]] = {}
    for topic, partition in wanted:
        numbers.setdefault(topic, []).append(partition)
    topic = DescribeLogDirsRequest.DescribableLogDirTopic
    topics = [topic(topic=name, partitions=sorted(of)) for name, of in sorted(numbers.items())]
    if not topics:
        return {}
    return {
        (TopicPartition(name, told.partition_index), broker): told.partition_size
        for broker, answer in _ask(reads, live, topics, limit_seconds).items()
        for name, told in _current_logs(answer)
    }


def directories(answers: Mapping[BrokerId, Any]) -> Iterator[LogDir]:
    """The directories of the answers, by broker and path; an offline one carries its error."""
    for broker, answer in sorted(answers.items()):
        for told in sorted(answer.results, key=lambda told: str(told.log_dir)):
            yield LogDir(
                broker,
                told.log_dir,
                _known(told.total_bytes),
                _known(told.usable_bytes),
                # Future logs count: LogManager.nextLogDirs counts them when it places a new replica.
                logs=sum(len(topic.partitions) for topic in told.topics),
                cordoned=bool(told.is_cordoned),
                error=name_of(told.error_code) if told.error_code else None,
            )


def cordoned(found: Collection[LogDir]) -> frozenset[BrokerId]:
    """The brokers whose directories are all cordoned."""
    return frozenset(d.broker for d in found) - {d.broker for d in found if not d.cordoned}


def largest_replicas(answers: Mapping[BrokerId, Any], rows: TopicRows) -> Ints:
    """The size of the largest replica of each row, in bytes; 0 where nobody told."""
    at, sizes = array("q"), array("q")
    for answer in answers.values():
        for topic, told in _current_logs(answer):
            row = rows.row(topic, told.partition_index)
            if row >= 0:
                at.append(row)
                sizes.append(told.partition_size)
    largest: Ints = np.zeros(rows.rows, dtype=np.int64)
    np.maximum.at(largest, np.asarray(at, dtype=np.int64), np.asarray(sizes, dtype=np.int64))
    return largest


def _ask(
    reads: Reads, live: Collection[BrokerId], topics: Any, limit_seconds: float
) -> dict[BrokerId, Any]:
    requests = {broker: DescribeLogDirsRequest(topics=topics) for broker in live}
    return reads.ask_each(DESCRIBE_LOG_DIRS, requests, limit_seconds=limit_seconds)


def _current_logs(answer: Any) -> Iterator[tuple[str, Any]]:
    """Topic and row of each log that serves; not the copies that AlterReplicaLogDirs builds."""
    for told in answer.results:
        for topic in told.topics:
            for log in topic.partitions:
                if not log.is_future_key:
                    yield topic.name, log


def _known(size: int) -> int | None:
    return None if size < 0 else size
