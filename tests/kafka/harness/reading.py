"""A consumer beside a test that reads a topic as it grows, and counts how often it got each record of a `load`.

It follows leaders as an application's would; from what it got and what was acknowledged a test sees what was lost and
what is there twice. Records without the load's key (`clients.fill`) are read over.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from tests.kafka.harness.clients import admin, partition_metadata, until
from tests.kafka.harness.closing import Closing
from tests.kafka.harness.load import DIGITS, KEY, LoadAccount

POLL_SECONDS = 0.2
FETCH_BYTES = 4_000_000


class Reading(Closing):
    """Reads all partitions of a topic from their beginning until it is closed."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        partitions = partition_metadata(admin(bootstrap), topic)
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"reading-{topic}",
                "enable.auto.commit": "false",
                "auto.offset.reset": "error",
                "queued.max.messages.kbytes": FETCH_BYTES // 1000,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
        self._seen: Counter[int] = Counter()
        self._read_to: dict[int, int] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._read, name=f"reading-{topic}", daemon=True)
        self._thread.start()

    def once_each(self, account: LoadAccount, *, limit_seconds: float = 60) -> None:
        """Wait until all that was acknowledged is read.

        Raises:
            AssertionError: an acknowledged record is not there, or a record is there twice.
        """
        until(
            lambda: self._is_past(account.last_offsets),
            f"{account.last_offsets} read, at {self._read_to}",
            limit_seconds=limit_seconds,
        )
        lost, repeated = self.lost(account.numbers), self.repeated()
        assert (lost, repeated) == ([], []), f"lost: {lost}; there twice: {repeated}"

    def lost(self, acknowledged: Iterable[int]) -> list[int]:
        """Those of the acknowledged records that it has not got."""
        return sorted(set(acknowledged) - set(self._seen))

    def repeated(self) -> list[int]:
        """Those that it got more than once."""
        return sorted(number for number, times in self._seen.items() if times > 1)

    def close(self) -> None:
        """Stop reading."""
        if not self._closing.is_set():
            self._closing.set()
            self._thread.join()
            self._consumer.close()

    def _is_past(self, offsets: Mapping[int, int]) -> bool:
        return all(self._read_to.get(p, -1) >= offset for p, offset in offsets.items())

    def _read(self) -> None:
        while not self._closing.is_set():
            for message in self._consumer.consume(500, POLL_SECONDS):
                if message.error():
                    continue  # a leader is away: the client goes on where it was
                partition, offset, value = message.partition(), message.offset(), message.value()
                if partition is None or offset is None or not isinstance(value, bytes):
                    continue
                self._read_to[partition] = offset
                if message.key() == KEY:
                    self._seen[int(value[:DIGITS])] += 1
