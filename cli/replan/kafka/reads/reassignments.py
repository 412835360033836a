"""What runs, as the active controller lists it: ListPartitionReassignments (KIP-455)."""

from collections.abc import Collection

from replan.kafka.failures import LIST_REASSIGNMENTS, raise_for
from replan.kafka.messages import RESPONSES, ListPartitionReassignments
from replan.kafka.reads.patience import Reading, Reads
from replan.kafka.wire.frames import Question
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import Reassignment

TIMEOUT_MS = 15_000


def listing(reads: Reads) -> Reading:
    """The question for everything that runs on the cluster; the answer is a mapping by partition."""

    def make() -> Reading:
        message = ListPartitionReassignments(timeout_ms=TIMEOUT_MS, topics=None)
        return Reading(
            LIST_REASSIGNMENTS, Question(message, _running, forwarded=True, repeated=True)
        )

    return reads.kept("reassignments", None, make)


def _running(body: memoryview, version: int) -> dict[TopicPartition, Reassignment]:
    told = RESPONSES[ListPartitionReassignments.API_KEY][version].decode(body)
    raise_for(told.error_code, told.error_message)
    return {
        TopicPartition(topic.name, row.partition_index): Reassignment(
            _ids(row.replicas), _ids(row.adding_replicas), _ids(row.removing_replicas)
        )
        for topic in told.topics or ()
        for row in topic.partitions
    }


def _ids(told: Collection[int]) -> Replicas:
    return tuple(map(BrokerId, told))
