"""Topics of a fake cluster with records in them, and the transactions that write them: what a journal needs.

A batch of a transaction is kept aside until that is committed, so no log has markers or aborted records; who has begun
later with the same transactional id fences the one before (KIP-98). Every broker leads every partition, and
coordinates everything.
"""

import struct
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol import admin, consumer, metadata, producer

NOT_THERE, EXISTS, FENCED, UNKNOWN_ID, NO_LEADER = 3, 36, 90, 100, 6
FORBIDDEN, INVALID_REPLICAS = 29, 39
REQUESTS: dict[int, Any] = {
    request.API_KEY: request
    for request in (
        producer.ProduceRequest,
        consumer.FetchRequest,
        metadata.FindCoordinatorRequest,
        admin.CreateTopicsRequest,
        producer.InitProducerIdRequest,
        producer.AddPartitionsToTxnRequest,
        producer.EndTxnRequest,
    )
}
HIGHEST = {0: 7, 1: 13, 10: 2, 19: 5, 22: 4, 24: 3, 26: 3}
_HEADER = struct.Struct(">qiibIhiqqqhii")
"""Of a record batch (org.apache.kafka.common.record.DefaultRecordBatch)."""
_MAGIC_AT = 16


@dataclass
class FakeTopic:
    """A topic; all its records are in one log, as only partition 0 is written."""

    name: str
    replicas: list[int]
    partitions: int = 1
    settings: dict[str, str] = field(default_factory=dict)
    id: uuid.UUID = field(default_factory=uuid.uuid4)
    log: list[bytes] = field(default_factory=list)
    end: int = 0
    leaderless: bool = False

    def append(self, batch: bytes) -> None:
        """Give the batch its offset, and keep it."""
        size = _HEADER.unpack_from(batch)[6] + 1
        self.log.append(struct.pack(">q", self.end) + batch[8:])
        self.end += size


class FakeTopics:
    """All of them, and the producers of transactions."""

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self.topics: dict[str, FakeTopic] = {}
        self.creatable = True
        """Whether this user may create topics."""
        self.unregistered: set[int] = set()
        """Brokers that no list of a new topic may name."""
        self._epochs: dict[str, tuple[int, int]] = {}
        """By transactional id, the producer's id and its epoch."""
        self._pending: dict[int, list[tuple[uuid.UUID, bytes]]] = {}

    def make(
        self, name: str, *replicas: int, partitions: int = 1, policy: str = "compact"
    ) -> FakeTopic:
        """A topic; one of the same name is deleted."""
        own = {"cleanup.policy": policy}
        with self._turn:
            self.topics[name] = FakeTopic(name, list(replicas or (1, 2, 3)), partitions, own)
            return self.topics[name]

    def delete(self, name: str) -> None:
        """Delete one, where it exists."""
        with self._turn:
            self.topics.pop(name, None)

    def answer(self, key: int, asked: Any, broker: tuple[int, str, int]) -> Any:
        """The response to one of `REQUESTS`; `broker`: who answers, and its address."""
        answers = {
            0: self._produced,
            1: self._fetched,
            19: self._created,
            22: self._begun,
            24: self._added,
            26: self._ended,
        }
        with self._turn:
            return _coordinator(broker) if key == 10 else answers[key](asked)

    def _named(self, name: str) -> FakeTopic | None:
        found = self.topics.get(name)
        return None if found is None or found.leaderless else found

    def _created(self, asked: Any) -> Any:
        response = admin.CreateTopicsResponse
        results = []
        for wanted in asked.topics:
            lists = [list(a.broker_ids) for a in wanted.assignments]
            code = EXISTS if wanted.name in self.topics else 0
            if not self.unregistered.isdisjoint(broker for of in lists for broker in of):
                code = INVALID_REPLICAS
            code = code if self.creatable else FORBIDDEN
            if not code and not asked.validate_only:
                replicas = lists[0] if lists else range(1, wanted.replication_factor + 1)
                made = self.make(wanted.name, *replicas)
                made.settings |= {c.name: c.value for c in wanted.configs}
            results.append(
                response.CreatableTopicResult(name=wanted.name, error_code=code, error_message=None)
            )
        return response(throttle_time_ms=0, topics=results)

    def _begun(self, asked: Any) -> Any:
        of = producer.InitProducerIdResponse
        id_, epoch = self._epochs.get(asked.transactional_id, (len(self._epochs) + 1000, -1))
        if 0 <= asked.producer_epoch < epoch:
            return of(throttle_time_ms=0, error_code=FENCED, producer_id=-1, producer_epoch=-1)
        self._epochs[asked.transactional_id] = id_, epoch + 1
        self._pending[id_] = []
        return of(throttle_time_ms=0, error_code=0, producer_id=id_, producer_epoch=epoch + 1)

    def _is_fenced(self, producer_id: int, epoch: int) -> bool:
        return (producer_id, epoch) not in self._epochs.values()

    def _added(self, asked: Any) -> Any:
        of = producer.AddPartitionsToTxnResponse
        topic_of = of.AddPartitionsToTxnTopicResult
        fenced = self._is_fenced(asked.v3_and_below_producer_id, asked.v3_and_below_producer_epoch)
        results = [
            topic_of(
                name=topic.name,
                results_by_partition=[
                    topic_of.AddPartitionsToTxnPartitionResult(
                        partition_index=partition,
                        partition_error_code=FENCED
                        if fenced
                        else 0
                        if topic.name in self.topics
                        else NOT_THERE,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in asked.v3_and_below_topics
        ]
        return of(throttle_time_ms=0, results_by_topic_v3_and_below=results)

    def _ended(self, asked: Any) -> Any:
        of = producer.EndTxnResponse
        if self._is_fenced(asked.producer_id, asked.producer_epoch):
            return of(throttle_time_ms=0, error_code=FENCED)
        written, self._pending[asked.producer_id] = self._pending[asked.producer_id], []
        by_id = {topic.id: topic for topic in self.topics.values()}
        for id_, batch in written if asked.committed else ():
            if id_ in by_id:
                by_id[id_].append(batch)
        return of(throttle_time_ms=0, error_code=0)

    def _produced(self, asked: Any) -> Any:
        of = producer.ProduceResponse
        topic_of = of.TopicProduceResponse
        responses = []
        for topic in asked.topic_data:
            parts = [
                topic_of.PartitionProduceResponse(
                    index=part.index,
                    error_code=self._stored(topic.name, bytes(part.records)),
                    base_offset=0,
                    log_append_time_ms=-1,
                    log_start_offset=0,
                )
                for part in topic.partition_data
            ]
            responses.append(topic_of(name=topic.name, partition_responses=parts))
        return of(responses=responses, throttle_time_ms=0)

    def _stored(self, name: str, batch: bytes) -> int:
        topic = self._named(name)
        if topic is None:
            return NO_LEADER if name in self.topics else NOT_THERE
        _, _, _, _, _, _, _, _, _, id_, epoch, _, _ = _HEADER.unpack_from(batch)
        if id_ < 0:
            topic.append(batch)
        elif self._is_fenced(id_, epoch):
            return FENCED
        else:
            self._pending[id_].append((topic.id, batch))
        return 0

    def _fetched(self, asked: Any) -> Any:
        of = consumer.FetchResponse
        topic_of = of.FetchableTopicResponse
        by_id = {topic.id: topic for topic in self.topics.values()}
        responses = []
        for wanted in asked.topics:
            by_name = self.topics.get(wanted.topic)
            topic = by_name if wanted.topic else by_id.get(uuid.UUID(str(wanted.topic_id)))
            error = UNKNOWN_ID if topic is None else NO_LEADER if topic.leaderless else 0
            end = topic.end if topic is not None else -1
            parts = [
                topic_of.PartitionData(
                    partition_index=part.partition,
                    error_code=error,
                    high_watermark=end,
                    last_stable_offset=end,
                    log_start_offset=0,
                    aborted_transactions=[],
                    preferred_read_replica=-1,
                    records=b"" if topic is None else _from(topic, part.fetch_offset),
                )
                for part in wanted.partitions
            ]
            responses.append(
                topic_of(topic=wanted.topic, topic_id=wanted.topic_id, partitions=parts)
            )
        return of(throttle_time_ms=0, error_code=0, session_id=0, responses=responses)


def _from(topic: FakeTopic, offset: int) -> bytes:
    """The batches from the one on that holds the offset."""
    return b"".join(batch for batch in topic.log if _last(batch) >= offset)


def _last(batch: bytes) -> int:
    """The offset of its last record; a batch of before Kafka 0.11 has one, where it is not compressed."""
    base: int = struct.unpack_from(">q", batch)[0]
    return base + (_HEADER.unpack_from(batch)[6] if batch[_MAGIC_AT] >= 2 else 0)


def _coordinator(broker: tuple[int, str, int]) -> Any:
    number, host, port = broker
    return metadata.FindCoordinatorResponse(
        throttle_time_ms=0, error_code=0, error_message=None, node_id=number, host=host, port=port
    )
