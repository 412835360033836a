"""Names and patterns of topics, as a placement may spell them; what a pattern matches is in `model.topic_patterns`.

A name follows Kafka's `Topic.validate` (org.apache.kafka.common.internals.Topic, the same from 2.x to 4.x).
"""

import re

from replan.model.declared.topic_patterns import is_pattern

LONGEST = 249
"""Characters; Kafka's Topic.MAX_NAME_LENGTH."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_LEGAL_PATTERN = re.compile(r"[a-zA-Z0-9._*?\[\]!-]+")


def check_topic(name: str) -> None:
    """Raise ValueError, as Kafka would refuse it, where this cannot be a topic's name."""
    if not name:
        raise ValueError("a topic's name is not empty; write one")
    if name in {".", ".."}:
        raise ValueError(f'"{name}" is no legal topic name (it would be a folder); write another')
    if len(name) > LONGEST:
        raise ValueError(f"this name has {len(name)} characters; Kafka allows a topic {LONGEST}")
    if not _LEGAL.fullmatch(name):
        raise ValueError(
            f"{name!a} is no legal topic name; Kafka allows ASCII letters, digits, '.', '_' and '-'"
        )


def check_topic_or_pattern(text: str) -> None:
    """Raise ValueError where this is neither a topic's name nor a pattern that could match one."""
    if not is_pattern(text):
        check_topic(text)
    elif not _LEGAL_PATTERN.fullmatch(text):
        raise ValueError(
            f"{text!a} can match no topic; a pattern has ASCII letters, digits, '.', '_', '-', "
            "and the wild *, ? and [...]"
        )
