"""Names of Kafka's things, each with a type of its own."""

from collections.abc import Iterable
from typing import Final, NamedTuple, NewType

BrokerId = NewType("BrokerId", int)
TopicId = NewType("TopicId", str)
"""A topic's id as Kafka prints it: 22 characters of url-safe base64. Deleted and recreated topics differ in it."""

Replicas = tuple[BrokerId, ...]
"""An ordered list of replicas; the first is the preferred leader."""


class TopicPartition(NamedTuple):
    """One partition, printed as `orders-7`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def by_topic(names: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The numbers of these partitions by their topic, both in the order in which they come."""
    numbers: dict[str, list[int]] = {}
    for topic, number in names:
        numbers.setdefault(topic, []).append(number)
    return numbers


def replicas(*ids: int) -> Replicas:
    """Make a list of replicas out of plain numbers."""
    return tuple(BrokerId(i) for i in ids)


def led_by(broker: BrokerId, order: Iterable[BrokerId]) -> Replicas:
    """The list with this broker first, whether or not it is one of them; the others in their order."""
    return (broker, *(b for b in order if b != broker))


def parse_topic_partition(text: str) -> TopicPartition:
    """Read `orders-7`; raises ValueError where there is no partition number behind the last dash."""
    topic, dash, digits = text.rpartition("-")
    number = parse_number(digits)
    if not dash or not topic or number is None:
        raise ValueError(f"{text!r} is not TOPIC-PARTITION")
    return TopicPartition(topic, number)


LARGEST_ID = 2**31 - 1
"""Broker ids and partition numbers are INT32 in Kafka's protocol."""


def parse_number(text: str) -> int | None:
    """Read the number of a broker or of a partition, as Kafka writes it; None where it is none."""
    is_short = text.isascii() and text.isdecimal() and len(text) <= len(str(LARGEST_ID))
    number = int(text) if is_short else LARGEST_ID + 1
    return number if number <= LARGEST_ID and str(number) == text else None


def is_internal(topic: str) -> bool:
    """Whether a topic belongs to Kafka itself or to its like: names that start with two underscores."""
    return topic.startswith("__")


JOURNAL_TOPIC: Final = "__replan_journal"
"""Holds the lock of the cluster, and its journal unless `--journal` names another place."""
JOURNAL_REPLICAS: Final = 3
"""Of the journal topic, where so many brokers are live."""
FIXED_COUNT = (
    "__consumer_offsets",
    "__transaction_state",
    "__share_group_state",
    "__remote_log_metadata",
    JOURNAL_TOPIC,
)
"""The topics that `has_fixed_count` is about."""


def has_fixed_count(topic: str) -> bool:
    """Whether who uses a topic finds its records by the number of its partitions, so that it must never change.

    Kafka takes hash % partitions of a group, a transactional id, a share-group key or a topic's id
    (GroupCoordinatorService.partitionFor, TransactionStateManager.partitionFor), with the number that a broker reads
    when it starts: after the next restart what was written under another number is found no more. replan's journal is
    its partition 0.
    """
    return topic in FIXED_COUNT
