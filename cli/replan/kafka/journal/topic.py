"""The journal topic of one cluster: how it is made, and what commands do with it.

Its writer is imported by those that write.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka.errors import AuthorizationError, KafkaError

from replan.applying.journal.records import Command, Forget
from replan.errors import ClusterRefused, ClusterUnreachable
from replan.kafka.clock import SystemClock
from replan.kafka.failures import Operation, answer, passes, reason, refusal
from replan.kafka.journal.entries import Lock
from replan.kafka.journal.read import TopicReader
from replan.kafka.messages import request_class
from replan.kafka.properties.client_properties import ClientProperties
from replan.kafka.reads.patience import Reads
from replan.kafka.wire.frames import Question
from replan.kafka.wire.wire import Wire
from replan.model.control_plane import Rejected

if TYPE_CHECKING:
    from replan.kafka.journal.owner import Note, TopicJournal
    from replan.kafka.journal.write import Transactions


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


class JournalTopic:
    """One topic, read through the connections of the control plane and written by a producer of its own."""

    def __init__(
        self, reads: Reads, properties: ClientProperties, topic: str, clock: SystemClock
    ) -> None:
        self.reader = TopicReader(reads, topic)
        self._reads, self._properties, self._clock = reads, properties, clock

    def take(self, owner: str, *, lock_timeout: float, note: "Note") -> "TopicJournal":
        """Become its writer; makes the topic where there is none. Raises as `takeover.take`."""
        from replan.kafka.journal.owner import take

        if not self.reader.refresh():
            limit = self._reads.patience_seconds
            made = create_topic(self._reads.wire, self.reader, limit_seconds=limit)
            note(
                f"created the journal topic {made.topic}: replication factor {made.replicas}, "
                f"min.insync.replicas {made.min_insync_replicas}, compacted"
                " (brokers make __transaction_state with it where there is none)"
            )
        return take(
            self.reader, self.writer, owner, self._clock, lock_timeout=lock_timeout, note=note
        )

    def send(self, record: Command | Forget) -> None:
        """Write a record of the inbox. Raises as `inbox.send`."""
        from replan.kafka.journal.write import send

        send(self._properties.librdkafka, self.reader.topic, record)

    def release(self, lock_id: str, reason: str, owner: str) -> Lock:
        """Take the lock away from the process that has it. Raises as `takeover.release`."""
        from replan.kafka.journal.owner import release

        return release(self.reader, self.writer, lock_id, reason, owner)

    def writer(self) -> "Transactions":
        """A producer with the transactional id of this topic; it changes nothing until it begins."""
        from replan.kafka.journal.write import Transactions

        return Transactions(self._properties.librdkafka, self.reader.topic)
