"""Reassignments: asking for lists, cancelling, and the controller's own list of what runs.

AlterPartitionReassignments (KIP-455) is sent once per chunk; the controller bounds one request to 10,000
records, so a chunk has at most 5,000 partitions. Nothing is sent again here: brokers do that already.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
)

from replan.kafka.failures import ALTER_REASSIGNMENTS, LIST_REASSIGNMENTS
from replan.kafka.reads import Reads
from replan.kafka.wire import Wire
from replan.kafka.writes import TIMEOUT_MS, Row, chunks, send_once
from replan.model.control_plane import Answer
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import Reassignment

PARTITIONS_PER_REQUEST = 5000
_GUARD_VERSION = 1


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


def reassign(
    wire: Wire,
    lists: Mapping[TopicPartition, Replicas | None],
    *,
    allow_replication_factor_change: bool,
) -> dict[TopicPartition, Answer]:
    """Ask for new lists, None cancels; forbids another length where the cluster can (KIP-860)."""
    guarded = not allow_replication_factor_change and wire.knows(
        AlterPartitionReassignmentsRequest, _GUARD_VERSION
    )
    answers: dict[TopicPartition, Answer] = {}
    for chunk in chunks(lists, PARTITIONS_PER_REQUEST):
        request = _alter_request({name: lists[name] for name in chunk}, guarded=guarded)
        answers |= send_once(wire, ALTER_REASSIGNMENTS, request, chunk, _rows)
    return answers


def _alter_request(lists: Mapping[TopicPartition, Replicas | None], *, guarded: bool) -> Any:
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    rows: dict[str, list[Any]] = {}
    for name, replicas in lists.items():
        row = topic.ReassignablePartition(
            partition_index=name.partition, replicas=None if replicas is None else list(replicas)
        )
        rows.setdefault(name.topic, []).append(row)
    topics = [topic(name=name, partitions=of) for name, of in rows.items()]
    # min_version: a broker that is too old must not drop the field silently.
    guard = {"allow_replication_factor_change": False, "min_version": 1} if guarded else {}
    return AlterPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=topics, **guard)


def _list_request(wanted: Collection[TopicPartition] | None) -> Any:
    topic = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
    numbers: dict[str, list[int]] = {}
    for name in wanted or ():
        numbers.setdefault(name.topic, []).append(name.partition)
    topics = [topic(name=name, partition_indexes=of) for name, of in numbers.items()]
    return ListPartitionReassignmentsRequest(
        timeout_ms=TIMEOUT_MS, topics=None if wanted is None else topics
    )


def _rows(response: Any) -> Iterator[Row]:
    for topic in response.responses:
        for row in topic.partitions:
            yield TopicPartition(topic.name, row.partition_index), row.error_code, row.error_message


def _ids(told: Collection[int]) -> Replicas:
    return tuple(map(BrokerId, told))
