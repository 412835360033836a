"""What both producers of the journal topic have in common: the transactional one of the owner, and the inbox's."""

import logging
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Producer

_SILENT = logging.getLogger(__name__)
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def producer_of(settings: Mapping[str, str], own: Mapping[str, Any]) -> Producer:
    """A producer that makes no topic, waits for no batch, and writes no log of its own."""
    common = {"allow.auto.create.topics": "false", "linger.ms": 0}
    return Producer({**settings, **common, **own}, logger=_SILENT)


def forbidden_text(topic: str, why: str, transactional_id: str = "") -> str:
    """That the topic may not be written, and the ACLs that are missing."""
    more = (
        f", and Write and Describe on TransactionalId {transactional_id}"
        if transactional_id
        else ""
    )
    return (
        f"the journal topic {topic} may not be written: {why}\n"
        f"  this user needs the ACLs Read, Write and Describe on Topic {topic}{more}"
    )


def refused_time_text(topic: str, why: str) -> str:
    """That brokers refuse the time of the records, which is that of this machine's clock, and what to do."""
    return (
        f"the journal topic {topic} does not take records with the time of this machine's clock: {why}\n"
        "  set the clock right (`replan doctor` compares it), or let brokers give the time: kafka-configs.sh --alter "
        f"--entity-type topics --entity-name {topic} --add-config message.timestamp.type=LogAppendTime"
    )
