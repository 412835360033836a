"""What writes the journal topic: the transactional producer of the owner, and the plain one of the inbox.

confluent-kafka's calls block for as long as a broker is silent, so those of transactions are made in a thread, never
in the caller's. At most one runs. Whoever stops waiting for it leaves it running, and the next call waits for its end
first. A producer with an `on_delivery` callback raises SystemError where it is fenced; the transactional one has none.

Commands to the process at work are written by a plain producer: one with the transactional id would fence the owner.
Which are obeyed is in `applying.steering`.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from replan.applying.journal.record_json import encode_record
from replan.applying.journal.records import Record
from replan.errors import BadFile, ClusterRefused, ClusterUnreachable, Held, ReplanError
from replan.kafka.journal.lock import TRANSACTIONAL_ID

_SILENT = logging.getLogger(__name__)
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def producer_of(settings: Mapping[str, str], own: Mapping[str, Any]) -> Producer:
    """A producer that makes no topic, waits for no batch, and writes no log of its own.

    Raises BadFile where librdkafka cannot do what the client properties ask for: its wheels come without GSSAPI.
    """
    common = {"allow.auto.create.topics": "false", "linger.ms": 0}
    try:
        return Producer({**settings, **common, **own}, logger=_SILENT)
    except KafkaException as failure:
        raise BadFile(
            f"the client properties do not serve to write the journal topic: {failure.args[0].str()}"
        ) from failure


def write_refusal(topic: str, error: Any, transactional_id: str = "") -> ClusterRefused | None:
    """Why writing the topic is of no use again: missing ACLs, or the time of the records; None where it may succeed."""
    if error.code() in _FORBIDDEN:
        more = f", and Write and Describe on TransactionalId {transactional_id}"
        return ClusterRefused(
            f"the journal topic {topic} may not be written: {error.str()}\n"
            f"  this user needs the ACLs Read, Write and Describe on Topic {topic}"
            f"{more if transactional_id else ''}"
        )
    if error.code() == KafkaError.INVALID_TIMESTAMP:
        return ClusterRefused(
            f"the journal topic {topic} does not take records with the time of this machine's clock: {error.str()}\n"
            "  set the clock right (`replan doctor` compares it), or let brokers give the time: kafka-configs.sh "
            f"--alter --entity-type topics --entity-name {topic} --add-config message.timestamp.type=LogAppendTime"
        )
    return None


LONGEST_TRANSACTION_SECONDS = 840.0
"""Brokers allow no transaction longer than a quarter of an hour (transaction.max.timeout.ms)."""
_MARGIN_SECONDS = 10.0
"""The applier gives up sooner than the producer, and that sooner than the coordinator, which aborts a transaction that
nobody ends: one that timed out leaves a producer that can do no more (INVALID_TXN_STATE, with KIP-890). A taker ends it
at once."""
_REQUEST_SECONDS = 5
"""For one request of the producer (socket.timeout.ms). A frozen broker keeps its connections, and nothing is sent
to the next leader before a request to the former one has timed out; by default that takes a minute."""
_METADATA_SECONDS = 2
"""How soon it learns of another leader."""
_CALL_SECONDS = 10.0
_FENCED = frozenset(
    {KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED}
)
_FORBIDDEN = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
JournalEntries = Sequence[tuple[str, bytes, bytes | None]]
"""Topic, key and value; without a value a tombstone."""


def entry(record: Record) -> tuple[bytes, bytes | None]:
    """Key and value of a record; a tombstone has no value."""
    key, value = encode_record(record)
    return key.encode(), value


class Fenced(Held):
    """Another process writes the journal now."""


class Transactions:
    """Commits entries to partition 0 of the topic of a journal, and to that of the lock."""

    def __init__(self, settings: Mapping[str, str], topic: str, patience_seconds: float) -> None:
        self._topic = topic
        message_seconds = min(patience_seconds, LONGEST_TRANSACTION_SECONDS) + _MARGIN_SECONDS
        self._last_error = ""
        self._producer = producer_of(
            settings,
            {
                "transactional.id": TRANSACTIONAL_ID,
                "transaction.timeout.ms": int(1000 * (message_seconds + _MARGIN_SECONDS)),
                "message.timeout.ms": int(1000 * message_seconds),
                "socket.timeout.ms": _REQUEST_SECONDS * 1000,
                "topic.metadata.refresh.interval.ms": _METADATA_SECONDS * 1000,
                "reconnect.backoff.max.ms": 1000,
                "compression.type": "gzip",
                "error_cb": self._note,
            },
        )
        self._running: _Call | None = None
        self._dead: ReplanError | None = None

    def begin(self, limit_seconds: float) -> None:
        """Become the only writer: whoever was it before can commit no more.

        Raises:
            ClusterUnreachable: not within the limit.
            ClusterRefused: an ACL is missing.
        """
        self._call(lambda: self._until_definite(self._producer.init_transactions), limit_seconds)

    def commit(self, entries: JournalEntries, limit_seconds: float) -> None:
        """Write entries in one transaction.

        Raises:
            ClusterUnreachable: aborted, or not known within the limit.
            Fenced: another process has begun.
            ClusterRefused: an ACL is missing, or brokers refuse the time of the records.
        """
        self._call(lambda: self._transaction(entries), limit_seconds)

    def _call(self, work: Callable[[], None], limit_seconds: float) -> None:
        if self._dead is not None:
            raise self._dead
        if self._running is not None:
            if not self._running.ended.wait(limit_seconds):
                raise ClusterUnreachable(self._silent(limit_seconds))
            self._finish(self._running, raises=False)
        self._last_error = ""
        self._running = call = _Call(work)
        if not call.ended.wait(limit_seconds):
            raise ClusterUnreachable(self._silent(limit_seconds))
        self._finish(call, raises=True)

    def _finish(self, call: "_Call", *, raises: bool) -> None:
        """Take in how a call ended; what ended one for good ends every later one as well."""
        self._running = None
        if call.failure is None:
            return
        if not isinstance(call.failure, KafkaException):
            raise call.failure
        error = call.failure.args[0]
        failure = self._meaning(error)
        if error.fatal() or not isinstance(failure, ClusterUnreachable):
            self._dead = failure
        if raises or self._dead is not None:
            raise failure from call.failure

    def _transaction(self, entries: JournalEntries) -> None:
        self._producer.begin_transaction()
        try:
            for topic, key, value in entries:
                self._produce(topic, key, value)
        except KafkaException:
            self._abort()
            raise
        self._until_definite(self._producer.commit_transaction)

    def _produce(self, topic: str, key: bytes, value: bytes | None) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, partition=0)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def _until_definite(self, call: Callable[[float], None]) -> None:
        """Repeat a call until it has succeeded, or has failed for certain; then the transaction is aborted."""
        while True:
            try:
                call(_CALL_SECONDS)
            except KafkaException as failure:
                error = failure.args[0]
                if error.fatal() or not (error.retriable() or error.txn_requires_abort()):
                    raise
                if error.txn_requires_abort():
                    self._abort()
                    raise
            else:
                return

    def _abort(self) -> None:
        """Abort the transaction; where even that fails, the next one says so, and this one why it came to it.

        From Kafka 4.0 on (KIP-890) a broker knows nothing of a transaction of which no record was accepted, and answers
        INVALID_TXN_STATE; the producer can do no more after that.
        """
        with suppress(KafkaException):
            self._until_definite(self._producer.abort_transaction)

    def _meaning(self, error: Any) -> ReplanError:
        if error.code() in _FENCED:
            return Fenced("another process has taken over the journal")
        return write_refusal(self._topic, error, TRANSACTIONAL_ID) or ClusterUnreachable(
            f"the journal topic {self._topic} cannot be written now: {self._last_error or error.str()}"
        )

    def _silent(self, seconds: float) -> str:
        more = f"; the last error: {self._last_error}" if self._last_error else ""
        return f"the journal topic {self._topic}: no outcome of a transaction within {seconds:g} s{more}"

    def _note(self, error: Any) -> None:
        self._last_error = error.str()


class _Call:
    """A call that may block, in a thread that ends with the process."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.failure: BaseException | None = None
        self.ended = threading.Event()
        self._work = work
        threading.Thread(target=self._run, daemon=True, name="journal").start()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as failure:  # noqa: BLE001  # raised where it is waited for
            self.failure = failure
        finally:
            self.ended.set()


SEND_SECONDS = 20.0


class PlainProducer:
    """A producer without the transactional id, for the inbox and for a loop that reconciles; it connects when it first
    sends."""

    def __init__(self, settings: Mapping[str, str], topic: str) -> None:
        self._settings, self._topic = settings, topic
        self._producer: Producer | None = None

    def send(self, records: Sequence[Record]) -> None:
        """Write records, and wait until all in-sync replicas of the topic have them.

        Where it fails, some may have been written, and the next call begins with a new producer.

        Raises:
            ClusterUnreachable: not within 20 s.
            ClusterRefused: an ACL is missing, or brokers refuse the time of a record.
        """
        failures: list[Any] = []
        producer, self._producer = self._producer or self._connected(), None
        for record in records:
            key, value = entry(record)
            try:
                producer.produce(
                    self._topic,
                    value,
                    key,
                    partition=0,
                    on_delivery=lambda error, _message: failures.append(error),
                )
            except KafkaException as failure:
                failures.append(failure.args[0])
        unsent = producer.flush(SEND_SECONDS + 1)
        error = next((e for e in failures if e is not None), None)
        if error is not None and (refused := write_refusal(self._topic, error)) is not None:
            raise refused
        if error is not None or unsent:
            why = f": {error.str()}" if error is not None else ""
            raise ClusterUnreachable(f"the journal topic {self._topic} cannot be written now{why}")
        self._producer = producer

    def _connected(self) -> Producer:
        return producer_of(
            self._settings,
            {
                "acks": "all",
                "message.timeout.ms": int(SEND_SECONDS * 1000),
                "error_cb": lambda _error: None,
            },
        )
