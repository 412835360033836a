"""What replicas say of their own logs: ListOffsets and Fetch as a debugging consumer, which followers answer too.

Neither needs a leader. The epoch in an answer of ListOffsets is the partition's, never the log's. OffsetForLeaderEpoch
would be the request for epochs, and only leaders answer it; a fetch from beyond the end that names the epoch of its
last record is answered with where that epoch ends (KIP-595, Partition.readRecords), by any replica.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

from kafka.errors import BrokerResponseError, KafkaError
from msgspec.structs import replace

from replan.kafka.failures import FETCH, LIST_OFFSETS, name_of, reason
from replan.kafka.messages import Fetch, ListOffsets
from replan.kafka.wire.frames import Question, unchecked
from replan.kafka.wire.wire import Wire
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId, TopicPartition, by_topic
from replan.model.replica_logs import NO_LEADER_EPOCH, EpochEnd, LogEnd, ProbeFailure, ProbeProblem

PROBE_SECONDS = 5.0
"""For one round; a broker that takes longer counts as silent."""
DEBUGGING_CONSUMER = -2
_BEYOND = 1 << 40
"""An offset that no log reaches."""
_LATEST = -1
_FETCH_BY_NAME = 12
"""The first version with the epoch of the last record, and the last one that names topics."""
_LIST_OFFSETS = 4
"""The first version that answers with an epoch."""
_EARLIEST_LOCAL = -4
_LIST_LOCAL_OFFSETS = 8
"""The first version that takes EARLIEST_LOCAL."""
_PROBLEMS: Mapping[int, ProbeProblem] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ProbeProblem.NO_REPLICA,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ProbeProblem.NO_REPLICA,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: ProbeProblem.NOT_PERMITTED,
    ErrorCode.KAFKA_STORAGE_ERROR: ProbeProblem.OFFLINE,
}
_Found = TypeVar("_Found")
_Answers = Mapping[BrokerId, Mapping[TopicPartition, _Found | ProbeFailure]]


def log_ends(wire: Wire, wanted: Mapping[BrokerId, Collection[TopicPartition]]) -> _Answers[LogEnd]:
    """Where replicas end, and where what they have themselves begins; both are asked for at once."""
    questions = {
        b: [
            _offsets_question(of, _LATEST, _LIST_OFFSETS),
            local_starts_question(of),
        ]
        for b, of in wanted.items()
        if of
    }
    _, answers = wire.round([], questions, home_seconds=0, broker_seconds=PROBE_SECONDS)
    ends = {b: _answer(answers.get(b, [None, None])[0], of, _ends) for b, of in wanted.items()}
    starts = {b: _answer(answers.get(b, [None, None])[1], of, _ends) for b, of in wanted.items()}
    return {
        broker: {name: _with_start(end, starts[broker][name]) for name, end in of.items()}
        for broker, of in ends.items()
    }


def _with_start(end: LogEnd | ProbeFailure, start: LogEnd | ProbeFailure) -> LogEnd | ProbeFailure:
    if isinstance(end, LogEnd) and isinstance(start, LogEnd) and start.end >= 0:
        return replace(end, start=start.end)
    return end


def epoch_ends(
    wire: Wire, wanted: Mapping[BrokerId, Mapping[TopicPartition, int]]
) -> _Answers[EpochEnd]:
    """The largest epoch up to a given one in each replica, and its end."""
    questions = {}
    for broker, of in wanted.items():
        if of:
            questions[broker] = [_epochs_question(of)]
    _, answers = wire.round([], questions, home_seconds=0, broker_seconds=PROBE_SECONDS)
    return {b: _answer(answers.get(b, [None])[0], of, _epochs) for b, of in wanted.items()}


def _answer(
    answer: Any,
    names: Collection[TopicPartition],
    read: Callable[[Any], Iterator[tuple[TopicPartition, _Found | ProbeFailure]]],
) -> dict[TopicPartition, _Found | ProbeFailure]:
    """What one broker says, for each that was asked for."""
    if isinstance(answer, KafkaError):
        return dict.fromkeys(names, _failed(answer))
    by_name = {} if answer is None else dict(read(answer))
    missing = ProbeFailure(ProbeProblem.REFUSED, reason="the answer leaves it out")
    return {name: by_name.get(name, missing) for name in names}


def _failed(failure: KafkaError) -> ProbeFailure:
    if isinstance(failure, BrokerResponseError):
        return _refused(int(failure.errno))
    return ProbeFailure(ProbeProblem.SILENT, reason=reason(failure))


def _refused(code: int) -> ProbeFailure:
    return ProbeFailure(_PROBLEMS.get(code, ProbeProblem.REFUSED), code, name_of(code))


def local_starts_question(names: Collection[TopicPartition]) -> Question:
    """The question to a broker where its own logs begin; what lies before may be in remote storage."""
    return _offsets_question(names, _EARLIEST_LOCAL, _LIST_LOCAL_OFFSETS)


def _offsets_question(names: Collection[TopicPartition], timestamp: int, version: int) -> Question:
    topic_of = ListOffsets.ListOffsetsTopic
    partition_of = topic_of.ListOffsetsPartition
    message = ListOffsets(
        replica_id=DEBUGGING_CONSUMER,
        isolation_level=0,
        topics=[
            topic_of(
                name=topic,
                partitions=[partition_of(partition_index=p, timestamp=timestamp) for p in numbers],
            )
            for topic, numbers in by_topic(sorted(names)).items()
        ],
        min_version=version,
    )
    return Question(LIST_OFFSETS, message)


def _epochs_question(wanted: Mapping[TopicPartition, int]) -> Question:
    return fetch_question(
        {name: (_BEYOND, epoch) for name, epoch in wanted.items()},
        replica_id=DEBUGGING_CONSUMER,
        partition_bytes=1,
    )


def fetch_question(
    wanted: Mapping[TopicPartition, tuple[int, int]], *, replica_id: int, partition_bytes: int
) -> Question:
    """A fetch from an offset of each partition, with the epoch of the record before it; answered at once."""
    topic_of = Fetch.FetchTopic
    partition_of = topic_of.FetchPartition
    message = Fetch(
        replica_id=replica_id,
        max_wait_ms=0,
        min_bytes=0,
        topics=[
            topic_of(
                topic=topic,
                partitions=[
                    partition_of(
                        partition=number,
                        fetch_offset=wanted[TopicPartition(topic, number)][0],
                        last_fetched_epoch=wanted[TopicPartition(topic, number)][1],
                        partition_max_bytes=partition_bytes,
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(sorted(wanted)).items()
        ],
        min_version=_FETCH_BY_NAME,
        max_version=_FETCH_BY_NAME,
    )
    return Question(FETCH, message, unchecked(message))


def _ends(answer: Any) -> Iterator[tuple[TopicPartition, LogEnd | ProbeFailure]]:
    for topic in answer.topics:
        for row in topic.partitions:
            code = int(row.error_code)
            end = _refused(code) if code else LogEnd(int(row.offset), int(row.leader_epoch))
            yield TopicPartition(topic.name, row.partition_index), end


def _epochs(answer: Any) -> Iterator[tuple[TopicPartition, EpochEnd | ProbeFailure]]:
    for topic in answer.responses:
        for row in topic.partitions:
            name = TopicPartition(topic.topic, row.partition_index)
            code, parts = int(row.error_code), row.diverging_epoch
            if code == ErrorCode.OFFSET_OUT_OF_RANGE:
                yield name, EpochEnd(NO_LEADER_EPOCH)
            elif code:
                yield name, _refused(code)
            else:
                yield (
                    name,
                    EpochEnd(
                        int(parts.epoch),
                        int(parts.end_offset),
                        max(0, int(row.log_start_offset)),
                        max(0, int(row.high_watermark)),
                    ),
                )
