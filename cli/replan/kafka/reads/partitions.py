"""Partitions as brokers show them: pages of DescribeTopicPartitions (KIP-966), straight into columns.

A cluster may have a million partitions, so none becomes an object of ours here, and garbage collection
rests while messages are decoded. Pages are no snapshot: each is read from what the broker knows just then.

For a partition with a running reassignment, the list, its adding and its removing replicas come from the
controller's list (ListPartitionReassignments), which is asked first; everything else comes from the pages.
So the three always fit each other, although metadata may be a moment behind or ahead.
"""

import base64
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from kafka.errors import TopicAuthorizationFailedError
from kafka.protocol.admin import DescribeTopicPartitionsRequest

from replan.kafka.failures import DESCRIBE_PARTITIONS, TOPIC_FORBIDDEN, refusal
from replan.kafka.reads.log_dirs import TopicRows
from replan.kafka.reads.patience import Reads
from replan.model.names import BrokerId, TopicId, TopicPartition
from replan.model.partition import PartitionState, Reassignment

PAGE = 2000
"""Brokers cut larger pages down to this (max.request.partition.size.limit)."""
Running = Mapping[TopicPartition, Reassignment]
_IDLE: Mapping[int, Reassignment] = {}
_NO_BROKERS: tuple[int, ...] = ()


def pages(reads: Reads, topics: Collection[str] | None, *, page: int = PAGE) -> Iterator[Any]:
    """Topics with their partitions, by name, a page at a time; None asks for all of them.

    A topic that does not exist comes with its error code and no partitions.
    """
    if topics is not None and not topics:
        return
    request, cursor = DescribeTopicPartitionsRequest, None
    wanted = sorted(topics or ())
    while True:
        told = reads.ask(DESCRIBE_PARTITIONS, partial(_request, wanted, cursor, page))
        for topic in told.topics:
            if topic.error_code == TOPIC_FORBIDDEN:
                raise refusal(DESCRIBE_PARTITIONS, TopicAuthorizationFailedError(topic.name))
            yield topic
        if told.next_cursor is None:
            return
        at = told.next_cursor
        cursor = request.Cursor(topic_name=at.topic_name, partition_index=at.partition_index)
        wanted = [name for name in wanted if name >= at.topic_name]  # must contain the cursor's


def _request(wanted: Sequence[str], cursor: Any, page: int) -> Any:
    request = DescribeTopicPartitionsRequest
    return request(
        topics=[request.TopicRequest(name=name) for name in wanted],
        response_partition_limit=page,
        cursor=cursor,
    )


def states(
    reads: Reads, wanted: Collection[TopicPartition], running: Running
) -> dict[TopicPartition, PartitionState]:
    """The named partitions as objects; those that do not exist are left out."""
    found: dict[TopicPartition, PartitionState] = {}
    asked = frozenset(wanted)
    for topic in pages(reads, {each.topic for each in asked}):
        for told in topic.partitions:
            name = TopicPartition(topic.name, told.partition_index)
            if name in asked:
                found[name] = _state(name, topic_id(topic), told, running.get(name))
    return found


def topic_id(topic: Any) -> TopicId:
    """A topic's id as Kafka prints it (org.apache.kafka.common.Uuid)."""
    return TopicId(base64.urlsafe_b64encode(topic.topic_id.bytes).decode().rstrip("="))


def _state(
    name: TopicPartition, of: TopicId, told: Any, running: Reassignment | None
) -> PartitionState:
    return PartitionState(
        partition=name,
        topic_id=of,
        replicas=_ids(told.replica_nodes) if running is None else running.replicas,
        isr=_ids(told.isr_nodes),
        leader=None if told.leader_id < 0 else BrokerId(told.leader_id),
        leader_epoch=told.leader_epoch,
        adding=() if running is None else running.adding,
        removing=() if running is None else running.removing,
        elr=_ids(told.eligible_leader_replicas),
        last_known_elr=_ids(told.last_known_elr),
    )


def _ids(told: Sequence[int] | None) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, told or ()))


class _Lists:
    """A column of broker lists on its way into Arrow: all ids in one row, and where each list ends."""

    def __init__(self) -> None:
        self.ids, self.ends = array("i"), array("i", [0])

    def add(self, brokers: Sequence[int] | None) -> None:
        if brokers:
            self.ids.extend(brokers)
        self.ends.append(len(self.ids))

    def column(self) -> pa.ListArray:
        ends = pa.array(np.asarray(self.ends, dtype=np.int32))
        return pa.ListArray.from_arrays(ends, pa.array(np.asarray(self.ids, dtype=np.int32)))

    def distinct(self) -> frozenset[int]:
        return frozenset(np.unique(np.asarray(self.ids, dtype=np.int32)).tolist())


class PartitionColumns:
    """All partitions of a cluster as columns, filled topic by topic as pages come in."""

    def __init__(self, running: Running) -> None:
        self.names: list[str] = []
        self.ids: list[TopicId] = []
        self._first_rows: list[int] = []
        self._running: dict[str, dict[int, Reassignment]] = {}
        for name, reassignment in running.items():
            self._running.setdefault(name.topic, {})[name.partition] = reassignment
        self._numbers, self._codes = array("i"), array("i")
        self._leaders, self._epochs = array("i"), array("i")
        self._lists = {
            column: _Lists()
            for column in ("replicas", "isr", "adding", "removing", "elr", "last_known_elr")
        }

    def add(self, topic: Any) -> None:
        """Take in a topic, or the next part of the one that came last."""
        if not topic.partitions:
            return
        if not self.names or self.names[-1] != topic.name:
            self.names.append(topic.name)
            self.ids.append(topic_id(topic))
            self._first_rows.append(len(self._numbers))
        running = self._running.get(topic.name, _IDLE)
        for told in topic.partitions:
            self._add(told, running.get(told.partition_index))

    def _add(self, told: Any, running: Reassignment | None) -> None:
        self._numbers.append(told.partition_index)
        self._codes.append(len(self.names) - 1)
        self._leaders.append(told.leader_id)
        self._epochs.append(told.leader_epoch)
        lists = self._lists
        lists["isr"].add(told.isr_nodes)
        lists["elr"].add(told.eligible_leader_replicas)
        lists["last_known_elr"].add(told.last_known_elr)
        if running is None:
            lists["replicas"].add(told.replica_nodes)
            lists["adding"].add(_NO_BROKERS)
            lists["removing"].add(_NO_BROKERS)
        else:
            lists["replicas"].add(running.replicas)
            lists["adding"].add(running.adding)
            lists["removing"].add(running.removing)

    def members(self) -> frozenset[int]:
        """Every broker that some replica list names."""
        return self._lists["replicas"].distinct()

    def rows(self) -> TopicRows:
        """Where each topic's partitions stand (Kafka numbers them from 0 without gaps)."""
        bounds = pairwise((*self._first_rows, len(self._numbers)))
        places = {
            name: (first, end - first)
            for name, (first, end) in zip(self.names, bounds, strict=True)
        }
        return TopicRows(places, len(self._numbers))

    def codes(self) -> pa.Array:
        """The topic of each row, by its place in `names`."""
        return pa.array(np.asarray(self._codes, dtype=np.int32))

    def columns(self) -> dict[str, pa.Array]:
        """Everything but the topic and the sizes, by the names of PARTITIONS_SCHEMA."""
        return {
            "partition": pa.array(np.asarray(self._numbers, dtype=np.int32)),
            "leader": pa.array(np.asarray(self._leaders, dtype=np.int32)),
            "leader_epoch": pa.array(np.asarray(self._epochs, dtype=np.int32)),
            **{name: lists.column() for name, lists in self._lists.items()},
        }
