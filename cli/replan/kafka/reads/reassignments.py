"""What runs, as the active controller lists it: ListPartitionReassignments (KIP-455)."""

from collections.abc import Collection
from typing import Any

from kafka.protocol.admin import ListPartitionReassignmentsRequest

from replan.kafka.failures import LIST_REASSIGNMENTS
from replan.kafka.reads.patience import Reads
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import Reassignment

TIMEOUT_MS = 15_000


def running(
    reads: Reads, wanted: Collection[TopicPartition] | None
) -> dict[TopicPartition, Reassignment]:
    """What runs on the named partitions, or anywhere (None), as the active controller knows it."""
    if wanted is not None and not wanted:
        return {}
    told = reads.ask(LIST_REASSIGNMENTS, lambda: _list_request(wanted))
    return {
        TopicPartition(topic.name, row.partition_index): Reassignment(
            _ids(row.replicas), _ids(row.adding_replicas), _ids(row.removing_replicas)
        )
        for topic in told.topics or ()
        for row in topic.partitions
    }


def _list_request(wanted: Collection[TopicPartition] | None) -> Any:
    topic = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
    numbers: dict[str, list[int]] = {}
    for name in wanted or ():
        numbers.setdefault(name.topic, []).append(name.partition)
    topics = [topic(name=name, partition_indexes=of) for name, of in numbers.items()]
    return ListPartitionReassignmentsRequest(
        timeout_ms=TIMEOUT_MS, topics=None if wanted is None else topics
    )


def _ids(told: Collection[int]) -> Replicas:
    return tuple(map(BrokerId, told))
