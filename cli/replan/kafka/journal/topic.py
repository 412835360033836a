"""The journal topic of one cluster: how it is made, whether it keeps what is written, and what commands do with it.

Its writer is imported by those that write.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka.errors import AuthorizationError, KafkaError
from msgspec import Struct

from replan.applying.journal.records import (
    Command,
    Forget,
    Lease,
    LoopChunk,
    LoopCommand,
    Record,
)
from replan.errors import BadFile, ClusterRefused, ClusterUnreachable
from replan.kafka.client_properties import ClientProperties
from replan.kafka.failures import Operation, answer, explained_refusal, reason, retriable
from replan.kafka.journal.read import TopicReader
from replan.kafka.messages import request_class
from replan.kafka.reads.configs import topic_values
from replan.kafka.reads.patience import Reads
from replan.kafka.wire.frames import Question
from replan.kafka.wire.wire import Wire
from replan.model.configs import MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION
from replan.model.control_plane import Rejected
from replan.model.error_codes import ErrorCode
from replan.model.names import JOURNAL_REPLICAS, JOURNAL_TOPIC, BrokerId, Replicas
from replan.wording import count

if TYPE_CHECKING:
    from replan.applying.journal.records import Application
    from replan.kafka.journal.write import PlainProducer, Transactions


CreateTopics = request_class("CreateTopics")
CREATE = Operation("CreateTopics for the journal", "Create on Topic")
_TIMEOUT_MS = 15_000
_ANSWER_SECONDS = 20.0
_PAUSE_SECONDS = 0.1
_POLICY = "cleanup.policy"
_SETTINGS = {
    _POLICY: "compact",
    "message.timestamp.type": "LogAppendTime",
    UNCLEAN_ELECTION: "false",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.bytes": str(16 * 1024 * 1024),
    "segment.ms": str(3_600_000),
}
"""Compacted soon and in small segments, so that reading all of it stays cheap.

With the time of its broker, since with CreateTime a broker refuses what a clock that is an hour ahead writes
(message.timestamp.after.max.ms, KIP-937; an hour since KIP-1030).
"""


class Created(Struct, frozen=True):
    """How the topic was made."""

    topic: str
    replicas: int
    min_insync_replicas: int
    placed: Replicas = ()
    """Where its replicas are; empty where Kafka chooses."""

    @classmethod
    def on(cls, topic: str, live: Collection[BrokerId], placed: Replicas) -> "Created":
        """On as many brokers as is usual; on those that were chosen, as far as all of them are live."""
        placed = placed if set(placed) <= set(live) else ()
        replicas = len(placed) or min(JOURNAL_REPLICAS, len(live))
        return cls(topic, replicas, max(1, replicas - 1), placed)

    def __str__(self) -> str:
        where = f" on {list(self.placed)}" if self.placed else ""
        return (
            f"created the journal topic {self.topic}{where}: replication factor {self.replicas}, "
            f"min.insync.replicas {self.min_insync_replicas}, compacted"
            " (brokers make __transaction_state with it where there is none)"
        )


class Flaw(Struct, frozen=True):
    """What is wrong with a topic that is to hold a journal, and what to do about it."""

    text: str
    loses: bool = False
    """Whether it would lose the journal, so that nothing is written there."""


class Shape(Struct, frozen=True):
    """What a topic that exists is like."""

    topic: str
    partitions: int
    replicas: int
    brokers: int
    """That are live."""
    settings: Mapping[str, str] | None
    """By key; None where this user may not read them."""
    is_own: bool
    """Whether a lock of replan is in it."""

    def flaws(self) -> Iterator[Flaw]:
        """What would lose a journal, and what weakens one."""
        if self.partitions > 1:
            yield Flaw(
                f"it has {self.partitions} partitions, and a journal has one"
                + ("; the others stay empty" if self.is_own else ""),
                loses=not self.is_own,
            )
        most = min(JOURNAL_REPLICAS, self.brokers)
        if self.replicas < most:
            yield Flaw(
                f"it has {count(self.replicas, 'replica')}, and the cluster brokers for {most}; declare more in the "
                "placement"
            )
        if self.settings is None:
            yield Flaw("its settings are not known: this user needs the ACL DescribeConfigs on it")
        else:
            yield from self._settings(self.settings)

    def _settings(self, settings: Mapping[str, str]) -> Iterator[Flaw]:
        policy, enough = settings.get(_POLICY, ""), max(1, self.replicas - 1)
        if set(policy.split(",")) != {"compact"}:
            why = (
                "Kafka deletes its records after a while" if "delete" in policy else "it only grows"
            )
            yield Flaw(
                f"{_POLICY} is {policy or 'empty'}: {why}; for a journal: {self._alter(f'{_POLICY}=compact')}",
                loses=True,
            )
        minimum = int(settings.get(MIN_INSYNC_REPLICAS, enough))
        if minimum < enough:
            yield Flaw(
                f"{MIN_INSYNC_REPLICAS} is {minimum}: what was written can be lost with one broker; raise it: "
                f"{self._alter(f'{MIN_INSYNC_REPLICAS}={enough}')}"
            )
        if settings.get(UNCLEAN_ELECTION) == "true":
            yield Flaw(
                f"{UNCLEAN_ELECTION} is on: Kafka may elect a replica that lost records; turn it off: "
                f"{self._alter(f'{UNCLEAN_ELECTION}=false')}"
            )

    def _alter(self, setting: str) -> str:
        return (
            "kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type topics "
            f"--entity-name {self.topic} --add-config {setting}"
        )


def _requested(wire: Wire, made: Created) -> str:
    """Ask for it; what is not known of the outcome, for a message."""
    topic = CreateTopics.CreatableTopic
    settings = {**_SETTINGS, MIN_INSYNC_REPLICAS: str(made.min_insync_replicas)}
    request = CreateTopics(
        topics=[
            topic(
                name=made.topic,
                num_partitions=-1 if made.placed else 1,
                replication_factor=-1 if made.placed else made.replicas,
                assignments=[
                    topic.CreatableReplicaAssignment(partition_index=0, broker_ids=list(of))
                    for of in [made.placed]
                    if of
                ],
                configs=[topic.CreatableTopicConfig(name=k, value=v) for k, v in settings.items()],
            )
        ],
        timeout_ms=_TIMEOUT_MS,
        validate_only=False,
    )
    try:
        told = wire.ask(Question(CREATE, request, forwarded=True), limit_seconds=_ANSWER_SECONDS)
    except AuthorizationError as failure:
        raise explained_refusal(CREATE, failure) from failure
    except KafkaError as failure:
        if not retriable(failure):
            raise explained_refusal(CREATE, failure) from failure
        return f": {reason(failure)}"
    (result,) = told.topics
    said = answer(result.error_code, result.error_message)
    if isinstance(said, Rejected) and said.code != ErrorCode.TOPIC_ALREADY_EXISTS:
        forbidden = said.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        needs = f"this user needs the ACL Create on Topic {made.topic}; or " if forbidden else ""
        raise ClusterRefused(
            f"the journal topic {made.topic} cannot be created: {said.name} ({said.code}): {said.message}\n"
            f"  {needs}create it: one partition, cleanup.policy=compact, message.timestamp.type=LogAppendTime, "
            "three replicas, min.insync.replicas=2"
        )
    return ""


class JournalTopic:
    """One topic, read through the connections of the control plane and written by a producer of its own.

    The lock is in `JOURNAL_TOPIC`, which holds the journal, too, unless that was given another name.
    """

    def __init__(self, reads: Reads, properties: ClientProperties, topic: str) -> None:
        self.reader = TopicReader(reads, topic)
        self.locks = self.reader if topic == JOURNAL_TOPIC else TopicReader(reads, JOURNAL_TOPIC)
        """What the topic of the lock says."""
        self.clock, self._reads, self._properties = reads.clock, reads, properties

    @property
    def readers(self) -> Sequence[TopicReader]:
        """Of the topics that are written: that of the lock, and that of the journal."""
        return list(dict.fromkeys([self.locks, self.reader]))

    def create(self, reader: TopicReader, placed: Replicas = ()) -> Created:
        """Make one of the topics on as many of the live brokers as is usual, and wait until it can be read.

        `placed`: where its replicas shall be. The broker that is asked first for a transaction makes
        `__transaction_state` as well, where there is none.

        Raises:
            ClusterRefused: the cluster says no.
            ClusterUnreachable: it cannot be read within the patience.
        """
        made = Created.on(reader.topic, self._reads.wire.addresses, placed)
        began, calls = self.clock.now(), self.clock.interrupt.calls
        problem = _requested(self._reads.wire, made)
        while not reader.refresh():
            waited = self.clock.now() - began
            if waited >= self._reads.patience_seconds or self.clock.interrupt.calls > calls:
                raise ClusterUnreachable(
                    f"the journal topic {made.topic} was not there {waited:.0f} s after it was asked for{problem}"
                )
            self.clock.sleep(_PAUSE_SECONDS)
        return made

    def open_elsewhere(self, besides: str | None) -> "tuple[str, Application] | None":
        """The application that is open in another topic of this cluster than `besides`, and which that is.

        What the lock says of it is believed where that topic still holds it. `locks` was read before. Raises as
        `TopicReader.refresh` and `records`.
        """
        from replan.applying.journal.ledger import open_applications

        lock = self.locks.lock
        names = [JOURNAL_TOPIC, *([lock.journal] if lock is not None and lock.application else [])]
        for name in dict.fromkeys(names):
            if name == besides:
                continue
            reader = self.locks if name == JOURNAL_TOPIC else TopicReader(self._reads, name)
            if reader is not self.locks and not reader.refresh():
                continue
            opened = open_applications(reader.records())
            if opened:
                return name, opened[0]
        return None

    def flaws(self, reader: TopicReader) -> Sequence[Flaw]:
        """What is wrong with one of the topics, which was read before. Raises ClusterRefused, ClusterUnreachable."""
        shape = Shape(
            reader.topic,
            reader.partitions,
            len(reader.replicas),
            len(self._reads.wire.addresses),
            topic_values(
                self._reads, reader.topic, (_POLICY, MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION)
            ),
            is_own=reader.lock is not None,
        )
        return list(shape.flaws())

    def check(self, reader: TopicReader) -> Sequence[str]:
        """Refuse a topic of another program, or one that would lose the journal, before anything is written there.

        It was read before. Returns what weakens it.

        Raises:
            BadFile: it is not to be written.
            ClusterRefused, ClusterUnreachable: its settings cannot be read.
        """
        reader.records()
        flaws = self.flaws(reader)
        losing = [flaw.text for flaw in flaws if flaw.loses]
        if losing:
            whose = "" if reader.lock is not None else ", and no lock of replan is in it"
            raise BadFile(
                f"topic {reader.topic} cannot hold the journal{whose}; nothing was written there\n"
                + "".join(f"  {text}\n" for text in losing)
                + "Where it is not the journal of this cluster, leave --journal out, or name another topic."
            )
        return [f"the journal topic {reader.topic}: {flaw.text}" for flaw in flaws]

    def send(self, record: Command | Forget) -> None:
        """Write a record of the inbox. Raises as `PlainProducer.send`."""
        from replan.kafka.journal.write import PlainProducer

        PlainProducer(self._properties.librdkafka, self.reader.topic).send([record])

    def loop_records(self) -> "LoopRecords":
        """The records of a loop that reconciles."""
        return LoopRecords(self, self._properties.librdkafka)

    def writer(self) -> "Transactions":
        """A producer with the transactional id of the cluster's journal; it changes nothing until it begins."""
        from replan.applying.settings import Settings
        from replan.kafka.journal.write import Transactions

        patience = max(self._reads.patience_seconds, Settings().journal_patience_seconds)
        return Transactions(self._properties.librdkafka, self.reader.topic, patience)


class LoopRecords:
    """What a loop keeps in the topic of the journal, read and written without its lock; makes the topic if need be."""

    def __init__(self, topic: JournalTopic, settings: Mapping[str, str]) -> None:
        self._topic, self._settings = topic, settings
        self._sender: PlainProducer | None = None
        self._lost: list[Record] = []
        """What the loop had there when the topic was deleted: it comes first into the next one."""

    def read(self) -> Sequence[Record]:
        """The latest record of every key. Raises as `TopicReader.refresh`.

        A topic that was deleted under it is an error once: then it is made, or read from its beginning.
        """
        try:
            there = self._topic.reader.refresh()
        except BadFile:
            records = self._topic.reader.records()
            self._lost = [r for r in records if isinstance(r, Lease | LoopChunk | LoopCommand)]
            for reader in self._topic.readers:
                reader.begin_again()
            raise
        return self._topic.reader.records() if there else ()

    def write(self, records: Sequence[Record]) -> None:
        """Write them. Raises as `PlainProducer.send` and `JournalTopic.create`."""
        from replan.kafka.journal.write import PlainProducer

        reader = self._topic.reader
        if not reader.refresh():
            self._topic.create(reader)
        if self._sender is None:
            self._sender = PlainProducer(self._settings, reader.topic)
        self._sender.send([*self._lost, *records])
        self._lost = []
