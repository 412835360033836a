"""The ends of logs that a recovery truncates: read from the replica that has them, and produced again.

A fetch as the future log of a replica (id -3) reads up to the end of any replica's log, beyond its high watermark and
without a leader; a consumer would not.
"""

from collections.abc import Iterator
from typing import Any

from kafka.errors import KafkaError

from replan.errors import ClusterRefused, ClusterUnreachable, UnsafePlan
from replan.kafka.failures import PRODUCE, answer, name_of, reason
from replan.kafka.messages import Produce
from replan.kafka.reads.logs import fetch_question, local_starts_question
from replan.kafka.record_batches import RecordBatch, anonymous, batches
from replan.kafka.wire.frames import Question, unchecked
from replan.kafka.wire.wire import Wire
from replan.model.control_plane import Answer, OutcomeUnknown, Rejected
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId, TopicPartition

FUTURE_REPLICA = -3
READ_SECONDS = 30.0
PRODUCE_SECONDS = 30.0
_PARTITION_BYTES = 4_000_000
_ALL_IN_SYNC = -1
_PRODUCE_BY_NAME = 12


class Tails:
    """The records at the ends of the logs of one cluster."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def held_from(self, broker: BrokerId, name: TopicPartition, begin: int) -> int:
        """From which offset on, at `begin` or behind it, a replica itself has the log.

        What lies before is in remote storage only (KIP-405), and no replica hands it out but the leader.

        Raises:
            ClusterUnreachable: the broker does not answer.
            ClusterRefused: the user may not read the topic.
        """
        if self._row(broker, name, begin, 1).error_code != ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE:
            return begin
        told = self._response(broker, local_starts_question([name]))
        [row] = [row for topic in told.topics for row in topic.partitions]
        if row.error_code:
            raise ClusterUnreachable(
                f"broker {broker} does not say where its log of {name} begins: {name_of(int(row.error_code))}"
            )
        return max(begin, int(row.offset))

    def read(
        self, broker: BrokerId, name: TopicPartition, begin: int, end: int
    ) -> Iterator[RecordBatch]:
        """The batches of a replica from one offset up to another, in their order.

        Raises:
            ClusterUnreachable: the broker does not answer, or its log ends before that.
            ClusterRefused: the user may not read the topic.
            UnsafePlan: they are of a message format before Kafka 0.11.
        """
        at = begin
        while at < end:
            content = self._fetched(broker, name, at)
            try:
                fetched = [b for b in batches(content) if at <= b.last]
            except ValueError as problem:
                raise UnsafePlan(
                    f"nothing was elected: --save-tails cannot save what broker {broker} has of {name} from offset "
                    f"{at:,} on: {problem}\n"
                    "  to elect without it, leave out --save-tails"
                ) from problem
            if not fetched:
                raise ClusterUnreachable(
                    f"the log of {name} on broker {broker} gave nothing at offset {at}, before its end {end}"
                )
            for batch in fetched:
                if batch.base < end:
                    yield batch
            at = fetched[-1].last + 1

    def _row(self, broker: BrokerId, name: TopicPartition, offset: int, most_bytes: int) -> Any:
        told = self._response(
            broker,
            fetch_question(
                {name: (offset, -1)}, replica_id=FUTURE_REPLICA, partition_bytes=most_bytes
            ),
        )
        [row] = [row for topic in told.responses for row in topic.partitions]
        if row.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise ClusterRefused(
                f"the records of {name} may not be read: {name_of(int(row.error_code))}\n"
                f"  this user needs the ACL Read on Topic {name.topic}"
            )
        return row

    def _fetched(self, broker: BrokerId, name: TopicPartition, offset: int) -> bytes:
        row = self._row(broker, name, offset, _PARTITION_BYTES)
        if row.error_code:
            raise ClusterUnreachable(
                f"the log of {name} on broker {broker} cannot be read: {name_of(int(row.error_code))}"
            )
        return bytes(row.records or b"")

    def _response(self, broker: BrokerId, question: Question) -> Any:
        try:
            return self._wire.ask_broker(broker, question, limit_seconds=READ_SECONDS)
        except KafkaError as failure:
            raise ClusterUnreachable(
                f"broker {broker} does not answer: {reason(failure)}"
            ) from failure

    def produce(self, leader: BrokerId, name: TopicPartition, batch: RecordBatch) -> Answer:
        """Append a batch to a partition again, once; it gets offsets, and belongs to no producer and no transaction."""
        topic_of = Produce.TopicProduceData
        partition = topic_of.PartitionProduceData(index=name.partition, records=anonymous(batch))
        message = Produce(
            acks=_ALL_IN_SYNC,
            timeout_ms=int(PRODUCE_SECONDS * 1000),
            topic_data=[topic_of(name=name.topic, partition_data=[partition])],
            max_version=_PRODUCE_BY_NAME,
        )
        question = Question(PRODUCE, message, unchecked(message))
        try:
            told = self._wire.ask_broker(leader, question, limit_seconds=PRODUCE_SECONDS)
        except KafkaError as failure:
            return OutcomeUnknown(reason(failure))
        for topic in told.responses:
            for row in topic.partition_responses:
                outcome = answer(int(row.error_code), row.error_message)
                # the leader has them; whether they stay depends on who leads next
                after = row.error_code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
                if after and isinstance(outcome, Rejected):
                    return OutcomeUnknown(f"{outcome.name} ({outcome.code}): {outcome.message}")
                return outcome
        return OutcomeUnknown("the answer leaves it out")
