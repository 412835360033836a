"""What tests ask of a running cluster through confluent-kafka: is it there, topics, filling.

Small functions over a bootstrap address. Producer load that runs beside a test is in `load`.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

POLL_SECONDS, LONGEST_POLL_SECONDS = 0.02, 0.5
RECORD_BYTES = 100_000


def admin(bootstrap: str) -> AdminClient:
    """An admin client that keeps its connection errors to itself: brokers die in these tests."""
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def until(holds: Callable[[], bool], awaited: str, *, limit_seconds: float) -> None:
    """Poll until the condition holds, ever less often: most conditions ask brokers, which others wait for, too.

    Raises:
        TimeoutError: it does not within the limit; names what was awaited.
    """
    began = time.monotonic()
    while not holds():
        waited = time.monotonic() - began
        if waited > limit_seconds:
            raise TimeoutError(f"not within {limit_seconds:g} s: {awaited}")
        time.sleep(min(POLL_SECONDS + waited / 10, LONGEST_POLL_SECONDS))


def seconds(act: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.monotonic()
    act()
    return time.monotonic() - began


def live_brokers(client: AdminClient) -> frozenset[int]:
    """The brokers that some broker's metadata lists (the fenced are not in it)."""
    try:
        return frozenset(client.list_topics(timeout=2).brokers)
    except KafkaException:
        return frozenset()


def await_brokers(bootstrap: str, brokers: Sequence[int], *, limit_seconds: float = 30) -> None:
    """Wait until exactly these brokers are in the metadata."""
    client = admin(bootstrap)
    wanted = frozenset(brokers)
    until(
        lambda: live_brokers(client) == wanted,
        f"brokers {sorted(wanted)} in the metadata of {bootstrap}",
        limit_seconds=limit_seconds,
    )


def create_topic(
    bootstrap: str,
    topic: str,
    assignments: Sequence[Sequence[int]],
    configs: Mapping[str, str] | None = None,
    *,
    limit_seconds: float = 30,
) -> None:
    """Create a topic, partition i on the replicas `assignments[i]`, and wait until all in sync."""
    client = admin(bootstrap)
    wanted = NewTopic(
        topic,
        len(assignments),
        replica_assignment=[list(replicas) for replicas in assignments],
        config=dict(configs or {}),
    )
    client.create_topics([wanted])[topic].result(limit_seconds)
    await_in_sync(bootstrap, topic, len(assignments), limit_seconds=limit_seconds)


def await_in_sync(
    bootstrap: str, topic: str, partitions: int, *, limit_seconds: float = 30
) -> None:
    """Wait until every partition of the topic has a leader and its whole list in the ISR."""
    client = admin(bootstrap)

    def in_sync() -> bool:
        found = partition_metadata(client, topic)
        return len(found) == partitions and all(
            each.leader >= 0 and sorted(each.isrs) == sorted(each.replicas)
            for each in found.values()
        )

    until(in_sync, f"all of {topic} in sync", limit_seconds=limit_seconds)


def delete_topics(bootstrap: str, *topics: str, limit_seconds: float = 60) -> None:
    """Delete those of them that there are, and wait until no broker knows them."""
    client = admin(bootstrap)
    for gone in client.delete_topics([*topics]).values():
        with suppress(KafkaException):  # it is not there
            gone.result(limit_seconds)
    until(
        lambda: not any(partition_metadata(client, topic) for topic in topics),
        f"the end of {topics}",
        limit_seconds=limit_seconds,
    )


def partition_metadata(client: AdminClient, topic: str) -> dict[int, Any]:
    """The topic's partitions (leader, replicas, isrs) as some broker sees them; {} if unknown."""
    try:
        found = client.list_topics(topic, timeout=5).topics[topic]
    except KafkaException:
        return {}
    return {} if found.error else dict(found.partitions)


def fill(
    bootstrap: str,
    topic: str,
    bytes_per_partition: int,
    *,
    record_bytes: int = RECORD_BYTES,
    batch_bytes: int = 1_000_000,
    acks: str = "all",
) -> None:
    """Write at least so many incompressible bytes to each partition, and wait for all acks.

    Raises:
        KafkaException: a record was not acknowledged by all in-sync replicas.
    """
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            "acks": acks,
            "linger.ms": 5,
            "batch.size": batch_bytes,
            "queue.buffering.max.kbytes": 64_000,
        }
    )
    failed: list[Any] = []
    payload = os.urandom(record_bytes)
    partitions = partition_metadata(admin(bootstrap), topic)
    for _ in range(-(-bytes_per_partition // record_bytes)):
        for partition in partitions:
            _produce(producer, topic, partition, payload, failed)
    producer.flush(120)
    if failed:
        raise KafkaException(failed[0])


def _produce(
    producer: Producer, topic: str, partition: int, payload: bytes, failed: list[Any]
) -> None:
    def delivered(error: Any, _message: Any) -> None:
        if error is not None:
            failed.append(error)

    while True:
        try:
            producer.produce(topic, payload, partition=partition, on_delivery=delivered)
        except BufferError:
            producer.poll(0.05)
        else:
            producer.poll(0)
            return
