"""The configuration keys that matter to replication: their types, defaults and what values Kafka takes.

Here belong facts about single keys (LogConfig, QuotaConfig, ThrottledReplicaListValidator). Not here: requests
(`configs`) and effective values (`config_view`).
"""

import re
from collections.abc import Collection
from types import MappingProxyType

from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
)

RATES = (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)
DESCRIBED_RATES = (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)
THROTTLED_LISTS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
LISTS = (*THROTTLED_LISTS, "cleanup.policy")
DEFAULTS = (
    (MIN_INSYNC_REPLICAS, "1"),
    (UNCLEAN_ELECTION, "false"),
    (LEADER_REPLICAS, ""),
    (FOLLOWER_REPLICAS, ""),
)
"""Of the topic keys that are always described."""

TOPIC_KEYS = frozenset(
    [
        "cleanup.policy",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "delete.retention.ms",
        "file.delete.delay.ms",
        "flush.messages",
        "flush.ms",
        "follower.replication.throttled.replicas",
        "index.interval.bytes",
        "leader.replication.throttled.replicas",
        "local.retention.bytes",
        "local.retention.ms",
        "max.compaction.lag.ms",
        "max.message.bytes",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.type",
        "min.cleanable.dirty.ratio",
        "min.compaction.lag.ms",
        "min.insync.replicas",
        "preallocate",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
        "retention.bytes",
        "retention.ms",
        "segment.bytes",
        "segment.index.bytes",
        "segment.jitter.ms",
        "segment.ms",
        "unclean.leader.election.enable",
    ]
)
"""What a topic can have in every version; the values of those not named here elsewhere are taken as they are."""

_ENTRY = re.compile(r"([0-9]+:[0-9]+)?", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)
_LARGEST = MappingProxyType({"INT": 2**31 - 1, "LONG": 2**63 - 1})


def as_described(key: str, value: str) -> str:
    """The value as DescribeConfigs answers: lists are parsed and joined again, which takes spaces away.

    What is stored keeps them, so that a later SUBTRACT of the element as described removes nothing.
    """
    if key not in LISTS:
        return value
    return ",".join(element.strip() for element in value.strip().split(","))


def topic_problem(key: str, value: str, further: Collection[str]) -> str | None:
    """Why a topic's value is refused, in Kafka's words; None where it is taken. `further`: keys of this version."""
    if key not in TOPIC_KEYS and key not in further:
        return f"Unknown topic config name: {key}"
    if key in THROTTLED_LISTS:
        return _throttled_list_problem(key, value)
    if key == MIN_INSYNC_REPLICAS:
        return _number_problem(key, value, "INT", at_least=1)
    if key == UNCLEAN_ELECTION and value.strip().lower() not in {"true", "false"}:
        return _invalid(key, value, "Expected value to be either true or false")
    return None


def broker_problem(key: str, value: str) -> str | None:
    """Why a broker's value is refused, in Kafka's words; None where it is taken."""
    if key in RATES:
        return _number_problem(key, value, "LONG", at_least=0)
    if key == MIN_INSYNC_REPLICAS:
        return _number_problem(key, value, "INT", at_least=1)
    return None


def _throttled_list_problem(key: str, value: str) -> str | None:
    elements = [element.strip() for element in value.split(",")]
    if "".join(elements) == "*" or all(_ENTRY.fullmatch(e) for e in elements):
        return None
    wanted = (
        f"{key} must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
    )
    return _invalid(key, f"[{', '.join(elements)}]", wanted)


def _number_problem(key: str, value: str, kind: str, *, at_least: int) -> str | None:
    if not _NUMBER.fullmatch(value) or int(value) > _LARGEST[kind]:
        return _invalid(key, value, f"Not a number of type {kind}")
    if int(value) < at_least:
        return _invalid(key, value, f"Value must be at least {at_least}")
    return None


def _invalid(key: str, value: str, reason: str) -> str:
    return f"Invalid value {value} for configuration {key}: {reason}"
