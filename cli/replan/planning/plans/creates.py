"""A create: partitions that a topic gets beyond those that it has, with the replicas of each."""

from typing import Annotated

import msgspec

from replan.documents.typed import Form, Positive, ReplicaList, Text, once_each
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition


class Create(Form, frozen=True):
    """Partitions that one topic is to get (KIP-195); they cannot be taken away again."""

    topic: Text
    topic_id: TopicId
    present: Positive
    """How many partitions it had when planned."""
    lists: Annotated[tuple[ReplicaList, ...], msgspec.Meta(min_length=1)]
    """Of the partitions `present`, `present` + 1, …; each as long as the lists that the topic had when planned, since
    Kafka takes no others (ReplicationControlManager.createPartitions)."""

    def __post_init__(self) -> None:
        for number, listed in enumerate(self.lists):
            once_each(**{f"lists[{number}]": listed})

    @property
    def count(self) -> int:
        """How many partitions it has afterwards."""
        return self.present + len(self.lists)

    @property
    def factor(self) -> int:
        """The replication factor that the topic had when planned."""
        return len(self.lists[0])

    @property
    def brokers(self) -> list[BrokerId]:
        """All brokers of its lists."""
        return sorted({b for listed in self.lists for b in listed})

    @property
    def first(self) -> TopicPartition:
        """The first of the new partitions: it stands for all of them where one has to."""
        return TopicPartition(self.topic, self.present)

    @property
    def partitions(self) -> dict[TopicPartition, Replicas]:
        """The new partitions with their replicas."""
        return {
            TopicPartition(self.topic, number): listed
            for number, listed in enumerate(self.lists, self.present)
        }
