"""Reassignments: asking for lists, and cancelling.

AlterPartitionReassignments (KIP-455) is sent once per chunk; the controller bounds one request to 10,000
records, so a chunk has at most 5,000 partitions. Nothing is sent again here: brokers do that already.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from replan.kafka.failures import ALTER_REASSIGNMENTS
from replan.kafka.messages import AlterPartitionReassignments
from replan.kafka.wire.wire import Wire
from replan.kafka.writes.send_once import TIMEOUT_MS, Row, chunks, send_once
from replan.model.control_plane import Answer
from replan.model.names import Replicas, TopicPartition

PARTITIONS_PER_REQUEST = 5000
_GUARD_VERSION = 1


def reassign(
    wire: Wire,
    lists: Mapping[TopicPartition, Replicas | None],
    *,
    allow_replication_factor_change: bool,
) -> dict[TopicPartition, Answer]:
    """Ask for new lists, None cancels; forbids another length where the cluster can (KIP-860)."""
    guarded = not allow_replication_factor_change and wire.knows(
        AlterPartitionReassignments, _GUARD_VERSION
    )
    answers: dict[TopicPartition, Answer] = {}
    for chunk in chunks(lists, PARTITIONS_PER_REQUEST):
        request = _alter_request({name: lists[name] for name in chunk}, guarded=guarded)
        answers |= send_once(wire, ALTER_REASSIGNMENTS, request, chunk, _rows)
    return answers


def _alter_request(lists: Mapping[TopicPartition, Replicas | None], *, guarded: bool) -> Any:
    topic = AlterPartitionReassignments.ReassignableTopic
    rows: dict[str, list[Any]] = {}
    for name, replicas in lists.items():
        row = topic.ReassignablePartition(
            partition_index=name.partition, replicas=None if replicas is None else list(replicas)
        )
        rows.setdefault(name.topic, []).append(row)
    topics = [topic(name=name, partitions=of) for name, of in rows.items()]
    # min_version: a broker that is too old must not drop the field silently.
    guard = {"allow_replication_factor_change": False, "min_version": 1} if guarded else {}
    return AlterPartitionReassignments(timeout_ms=TIMEOUT_MS, topics=topics, **guard)


def _rows(response: Any) -> Iterator[Row]:
    for topic in response.responses:
        for row in topic.partitions:
            yield TopicPartition(topic.name, row.partition_index), row.error_code, row.error_message
