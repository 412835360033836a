"""Makes the journal topic where there is none: one partition, compacted, as safe as the cluster allows."""

from dataclasses import dataclass

from kafka.errors import AuthorizationError, KafkaError

from replan.errors import ClusterRefused, ClusterUnreachable
from replan.kafka.failures import Operation, answer, passes, reason, refusal
from replan.kafka.journal.read import TopicReader
from replan.kafka.messages import request_class
from replan.kafka.wire.frames import Question
from replan.kafka.wire.wire import Wire
from replan.model.control_plane import Rejected

CreateTopics = request_class("CreateTopics")
CREATE = Operation("CreateTopics for the journal", "Create on Topic")
REPLICAS = 3
_TIMEOUT_MS = 15_000
_ANSWER_SECONDS = 20.0
_PAUSE_SECONDS = 0.1
_EXISTS = 36
_SETTINGS = {
    "cleanup.policy": "compact",
    "message.timestamp.type": "LogAppendTime",
    "unclean.leader.election.enable": "false",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.bytes": str(16 * 1024 * 1024),
    "segment.ms": str(3_600_000),
}
"""Compacted soon and in small segments, so that reading all of it stays cheap.

With the time of its broker, since with CreateTime a broker refuses what a clock that is an hour ahead writes
(message.timestamp.after.max.ms, KIP-937; an hour since KIP-1030).
"""


@dataclass(frozen=True, slots=True)
class Created:
    """How the topic was made."""

    topic: str
    replicas: int
    min_insync_replicas: int


def create_topic(wire: Wire, reader: TopicReader, *, limit_seconds: float) -> Created:
    """Make the topic on as many of the live brokers as is usual, and wait until it can be read.

    The broker that is asked first for a transaction makes `__transaction_state` as well, where there is none.

    Raises:
        ClusterRefused: the cluster says no.
        ClusterUnreachable: it cannot be read within the limit.
    """
    replicas = min(REPLICAS, len(wire.addresses))
    made = Created(reader.topic, replicas, max(1, replicas - 1))
    clock = reader.clock
    asked, calls = clock.now(), clock.interrupt.calls
    problem = _requested(wire, made)
    while not reader.refresh():
        if clock.now() >= asked + limit_seconds or clock.interrupt.calls > calls:
            raise ClusterUnreachable(
                f"the journal topic {made.topic} was not there {clock.now() - asked:.0f} s after it was asked for"
                f"{problem}"
            )
        clock.sleep(_PAUSE_SECONDS)
    return made


def _requested(wire: Wire, made: Created) -> str:
    """Ask for it; what is not known of the outcome, for a message."""
    topic = CreateTopics.CreatableTopic
    settings = {**_SETTINGS, "min.insync.replicas": str(made.min_insync_replicas)}
    request = CreateTopics(
        topics=[
            topic(
                name=made.topic,
                num_partitions=1,
                replication_factor=made.replicas,
                assignments=[],
                configs=[topic.CreatableTopicConfig(name=k, value=v) for k, v in settings.items()],
            )
        ],
        timeout_ms=_TIMEOUT_MS,
        validate_only=False,
    )
    try:
        told = wire.ask(Question(request, forwarded=True), limit_seconds=_ANSWER_SECONDS)
    except AuthorizationError as failure:
        raise refusal(CREATE, failure) from failure
    except KafkaError as failure:
        if not passes(failure):
            raise refusal(CREATE, failure) from failure
        return f": {reason(failure)}"
    (result,) = told.topics
    said = answer(result.error_code, result.error_message)
    if isinstance(said, Rejected) and said.code != _EXISTS:
        raise ClusterRefused(
            f"the journal topic {made.topic} cannot be created: {said.name} ({said.code}): {said.message}\n"
            f"  this user needs the ACL Create on Topic {made.topic}; or create it: one partition, "
            "cleanup.policy=compact, message.timestamp.type=LogAppendTime, three replicas, min.insync.replicas=2"
        )
    return ""
