"""Names of Kafka's things, each with a type of its own."""

from typing import NamedTuple, NewType

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


def replicas(*ids: int) -> Replicas:
    """Make a list of replicas out of plain numbers."""
    return tuple(BrokerId(i) for i in ids)


def parse_topic_partition(text: str) -> TopicPartition:
    """Read `orders-7`; raises ValueError where there is no partition number behind the last dash."""
    topic, dash, number = text.rpartition("-")
    if not dash or not topic or not number.isdecimal():
        raise ValueError(f"{text!r} is not TOPIC-PARTITION")
    return TopicPartition(topic, int(number))


def is_internal(topic: str) -> bool:
    """Whether a topic belongs to Kafka itself or to its like: names that start with two underscores."""
    return topic.startswith("__")
