"""Names and patterns of topics, as the manifest may spell them.

A name follows Kafka's `Topic.validate` (org.apache.kafka.common.internals.Topic, the same from 2.x to 4.x).
A pattern is a name with `*`, `?` or `[...]`; those three occur in no legal name.
"""

import re
from fnmatch import fnmatchcase

LONGEST = 249
"""Characters; Kafka's Topic.MAX_NAME_LENGTH."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_LEGAL_PATTERN = re.compile(r"[a-zA-Z0-9._*?\[\]!-]+")
_WILD = re.compile(r"[*?\[]")


def is_pattern(text: str) -> bool:
    """Whether this is meant for many topics."""
    return _WILD.search(text) is not None


def literal_prefix(pattern: str) -> str:
    """What comes before the first wild character; the whole of a plain name."""
    return _WILD.split(pattern, maxsplit=1)[0]


def matches(pattern: str, topic: str) -> bool:
    """Whether a pattern means a topic; one that begins with `__` is meant only where the prefix says so."""
    if topic.startswith("__") and not literal_prefix(pattern).startswith("__"):
        return False
    return fnmatchcase(topic, pattern)


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
