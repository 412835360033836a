"""A create: partitions that a topic gets beyond those that it has, with the replicas of each."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from replan.documents.typed import Form, Positive, ReplicaList, Text, once_each
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.planning.change import PlannedStep, Rank
from replan.wording import brokers as listing


class Create(Form, PlannedStep, frozen=True):
    """Partitions that one topic is to get (KIP-195); they cannot be taken away again."""

    rank = Rank.GROWN

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
    def partitions(self) -> dict[TopicPartition, Replicas]:
        """The new partitions with their replicas."""
        return {
            TopicPartition(self.topic, number): listed
            for number, listed in enumerate(self.lists, self.present)
        }

    @property
    def needs(self) -> tuple[str, str | None]:
        """CreatePartitions asks for it on the topic."""
        return "Alter", self.topic

    def __str__(self) -> str:
        """What becomes of the number of partitions: `3 -> 6 partitions`."""
        return f"{self.present} -> {self.count} partitions"

    @property
    def twice(self) -> str:
        """A topic has one."""
        return f"{self.topic} gets partitions twice"

    @property
    def compared(self) -> Mapping[str, str]:
        """The number, and the list of each of the new ones."""
        lists = {str(name): listing(listed) for name, listed in self.partitions.items()}
        return {f"partitions.{self.topic}": f"{self.present} -> {self.count}", **lists}
