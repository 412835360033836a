"""Where partitions were before an application touched them, and where it was to lead them."""

from msgspec import Struct

from replan.model.names import Replicas, TopicId, TopicPartition
from replan.model.partition import PartitionState


class Origin(Struct, frozen=True):
    """A partition that an application has touched."""

    partition: TopicPartition
    topic_id: TopicId
    original: Replicas
    target: Replicas
    done: bool = False
    """It was finished."""
    led: bool = True
    """The first of the original led it, so that it shall again."""

    def leads_to(self, state: PartitionState) -> bool:
        """Whether the move itself can have led to what is found."""
        listed, both = set(state.replicas), set(self.original) | set(self.target)
        return set(self.original) & set(self.target) <= listed <= both


class Grown(Struct, frozen=True):
    """A topic that got partitions."""

    topic: str
    before: int
    count: int
