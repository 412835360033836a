"""Commands to the process at work, as records of the journal topic. Which are obeyed is in `applying.steering`.

They are written by a plain producer: one with the transactional id of the topic would fence the owner.
"""

import logging
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException, Producer

from replan.applying.journal.records import Command, Forget
from replan.errors import ClusterRefused, ClusterUnreachable
from replan.kafka.journal.entries import entry

SEND_SECONDS = 20.0
_SILENT = logging.getLogger(__name__)
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def send(settings: Mapping[str, str], topic: str, record: Command | Forget) -> None:
    """Write one record of the inbox, and wait until all in-sync replicas of the topic have it.

    Raises:
        ClusterUnreachable: not within 20 s.
        ClusterRefused: an ACL is missing.
    """
    failures: list[Any] = []
    producer = Producer(
        {
            **settings,
            "acks": "all",
            "message.timeout.ms": int(SEND_SECONDS * 1000),
            "allow.auto.create.topics": "false",
            "linger.ms": 0,
            "error_cb": lambda _error: None,
        },
        logger=_SILENT,
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
        raise ClusterRefused(
            f"the journal topic {topic} may not be written: {error.str()}\n"
            f"  this user needs the ACLs Read, Write and Describe on Topic {topic}"
        )
    if error is not None or left:
        why = f": {error.str()}" if error is not None else ""
        raise ClusterUnreachable(f"the journal topic {topic} cannot be written now{why}")
