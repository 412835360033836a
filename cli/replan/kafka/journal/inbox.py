"""Commands to the process at work, as records of the journal topic. Which are obeyed is in `applying.steering`.

They are written by a plain producer: one with the transactional id of the topic would fence the owner.
"""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException

from replan.applying.journal.records import Command, Forget
from replan.errors import ClusterRefused, ClusterUnreachable
from replan.kafka.journal.entries import entry
from replan.kafka.journal.producer import forbidden_text, producer_of, refused_time_text

SEND_SECONDS = 20.0


def send(settings: Mapping[str, str], topic: str, record: Command | Forget) -> None:
    """Write one record of the inbox, and wait until all in-sync replicas of the topic have it.

    Raises:
        ClusterUnreachable: not within 20 s.
        ClusterRefused: an ACL is missing, or brokers refuse the time of the record.
    """
    failures: list[Any] = []
    producer = producer_of(
        settings,
        {
            "acks": "all",
            "message.timeout.ms": int(SEND_SECONDS * 1000),
            "error_cb": lambda _error: None,
        },
    )
    key, value = entry(record)
    try:
        producer.produce(
            topic,
            value,
            key,
            partition=0,
            on_delivery=lambda error, _message: failures.append(error),
        )
    except KafkaException as failure:
        failures.append(failure.args[0])
    left = producer.flush(SEND_SECONDS + 1)
    error = failures[0] if failures else None
    if error is not None and error.code() == error.TOPIC_AUTHORIZATION_FAILED:
        raise ClusterRefused(forbidden_text(topic, error.str()))
    if error is not None and error.code() == error.INVALID_TIMESTAMP:
        raise ClusterRefused(refused_time_text(topic, error.str()))
    if error is not None or left:
        why = f": {error.str()}" if error is not None else ""
        raise ClusterUnreachable(f"the journal topic {topic} cannot be written now{why}")
