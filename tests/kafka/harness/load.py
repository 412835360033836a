"""Steady acks=all producing beside a test, and an account of every record of it.

A move is safe for its users when no record fails and none waits long while it runs; this is
how a test sees that. Each record has a number, so that `reading` can say whether a consumer gets
all of them, once. One-off writing (filling partitions) is in `clients`.
"""

import itertools
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from confluent_kafka import Producer
from tests.kafka.harness.clients import admin, partition_metadata
from tests.kafka.harness.closing import Closing

NO_SETTINGS: Mapping[str, str | int] = MappingProxyType({})
ANSWER_SECONDS = 60.0
KEY = b"load"
DIGITS = 12
EXACTLY_ONCE: Mapping[str, str | int] = MappingProxyType({"enable.idempotence": "true"})
"""Settings of a producer that repeats what failed, and no record of which is there twice."""


@dataclass(frozen=True, slots=True)
class ProduceError:
    """A record that was not acknowledged: when that was known, seconds from the start, and why."""

    at_seconds: float
    partition: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class LoadAccount:
    """What became of the records sent so far; `last_offsets` of the acknowledged, by partition.

    `numbers` are those of the acknowledged records, in the order of the answers.
    """

    sent: int
    acknowledged: int
    errors: tuple[ProduceError, ...]
    longest_wait_seconds: float
    last_offsets: Mapping[int, int]
    numbers: tuple[int, ...]

    @property
    def unanswered(self) -> int:
        """Records that are neither acknowledged nor failed."""
        return self.sent - self.acknowledged - len(self.errors)


@dataclass(slots=True)
class _Tally:
    sent: int = 0
    acknowledged: int = 0
    errors: list[ProduceError] = field(default_factory=list)
    longest_wait_seconds: float = 0.0
    last_offsets: dict[int, int] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)


class ProducerLoad(Closing):
    """Small records in turn to every partition of a topic, until closed.

    The client retries as an application's would: librdkafka's defaults hold unless `settings`
    says otherwise, so an error counted here is one that an application would have seen.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        records_per_second: float = 200,
        record_bytes: int = 100,
        settings: Mapping[str, str | int] = NO_SETTINGS,
        key: bytes = KEY,
    ) -> None:
        self._topic = topic
        self._key = key
        self._partitions = sorted(partition_metadata(admin(bootstrap), topic))
        if not self._partitions:
            raise ValueError(f"topic {topic} is not there; create it before the load")
        self._pause_seconds = 1 / records_per_second
        self._record_bytes = record_bytes
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "log_level": 0, "acks": "all", "linger.ms": 0}
            | dict(settings)
        )
        self._tally = _Tally()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._produce, name=f"load-{topic}", daemon=True)
        self._thread.start()

    def account(self) -> LoadAccount:
        """The account as of now."""
        with self._lock:
            tally = self._tally
            return LoadAccount(
                tally.sent,
                tally.acknowledged,
                tuple(tally.errors),
                tally.longest_wait_seconds,
                dict(tally.last_offsets),
                tuple(tally.numbers),
            )

    def close(self) -> LoadAccount:
        """Stop sending, wait until every record is answered, and give the final account."""
        self._closing.set()
        self._thread.join()
        self._producer.flush(ANSWER_SECONDS)
        return self.account()

    def _produce(self) -> None:
        due = time.monotonic()
        for number, partition in enumerate(itertools.cycle(self._partitions)):
            if self._closing.is_set():
                return
            self._send(number, partition)
            due += self._pause_seconds
            while (early := due - time.monotonic()) > 0:  # poll returns with the first answer
                self._producer.poll(early)
            if early < -1:
                due = time.monotonic()  # do not make up for a long stall with a burst

    def _send(self, number: int, partition: int) -> None:
        sent_at = time.monotonic()

        def answered(error: Any, message: Any) -> None:
            self._count(number, error, message, time.monotonic() - sent_at)

        value = b"%0*d" % (DIGITS, number)
        try:
            self._producer.produce(
                self._topic,
                value.ljust(self._record_bytes, b"x"),
                self._key,
                partition=partition,
                on_delivery=answered,
            )
        except BufferError:  # the cluster has not answered for long: nothing more is sent
            self._producer.poll(0.1)
            return
        with self._lock:
            self._tally.sent += 1

    def _count(self, number: int, error: Any, message: Any, waited_seconds: float) -> None:
        with self._lock:
            tally = self._tally
            tally.longest_wait_seconds = max(tally.longest_wait_seconds, waited_seconds)
            if error is None:
                tally.acknowledged += 1
                tally.last_offsets[message.partition()] = message.offset()
                tally.numbers.append(number)
            else:
                at_seconds = time.monotonic() - self._began
                tally.errors.append(
                    ProduceError(at_seconds, message.partition(), error.name(), error.str())
                )
