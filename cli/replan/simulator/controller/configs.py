"""IncrementalAlterConfigs: SET, DELETE, APPEND, SUBTRACT, resource by resource (ConfigurationControlManager).

Here are the operations on stored values, what is refused, and the keys that matter to replication: their types,
defaults and the values that Kafka takes (LogConfig, QuotaConfig, ThrottledReplicaListValidator). A broker's values are
checked by that broker (ConfigAdminManager). Not here: effective values (`client_view`).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import assert_never

from replan.model.configs import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    THROTTLE_RATES,
    THROTTLED_LISTS,
    UNCLEAN_ELECTION,
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigScope,
)
from replan.model.control_plane import Accepted, Answer, Rejected
from replan.model.error_codes import ErrorCode
from replan.simulator.controller.commands import AlterConfigs, ControllerResult, rejection
from replan.simulator.controller.events import ConfigChanged, ElrCleared, Event
from replan.simulator.controller.state import CLUSTER_DEFAULT, ClusterState

LIST_KEYS = (*THROTTLED_LISTS, "cleanup.policy")
DEFAULTS = (
    (MIN_INSYNC_REPLICAS, "1"),
    (UNCLEAN_ELECTION, "false"),
    (LEADER_REPLICAS, ""),
    (FOLLOWER_REPLICAS, ""),
)
"""Of the topic keys that are always described."""

KNOWN_TOPIC_KEYS = frozenset(
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
    if key not in LIST_KEYS:
        return value
    return ",".join(element.strip() for element in value.strip().split(","))


def topic_problem(key: str, value: str, further: Collection[str]) -> str | None:
    """Why a topic's value is refused, in Kafka's words; None where it is taken. `further`: keys of this version."""
    if key not in KNOWN_TOPIC_KEYS and key not in further:
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
    if key in THROTTLE_RATES:
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


def alter_configs(state: ClusterState, command: AlterConfigs) -> ControllerResult:
    """Decide resource by resource: each fails or succeeds as a whole, what succeeds is applied together."""
    by_resource: dict[ConfigResource, list[ConfigChange]] = {}
    for change in command.changes:
        by_resource.setdefault((change.scope, change.name), []).append(change)
    events: list[Event] = []
    answers: list[tuple[ConfigResource, Answer]] = []
    for resource, changes in by_resource.items():
        outcome = _altered(state, resource, changes)
        if isinstance(outcome, Rejected):
            answers.append((resource, outcome))
        else:
            events.extend(outcome)
            answers.append((resource, Accepted()))
    return ControllerResult(tuple(events), each=tuple(answers))


def _altered(
    state: ClusterState, resource: ConfigResource, changes: Sequence[ConfigChange]
) -> Rejected | list[Event]:
    keys = [change.key for change in changes]
    if len(set(keys)) < len(keys):
        return rejection(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    refusal = _elr_refusal(state, resource, changes)
    stored = dict(state.configs.get(resource, {}))
    events: list[Event] = []
    for change in changes:
        outcome = _operated(stored.get(change.key), change)
        if isinstance(outcome, Rejected):
            return outcome
        # A broker's value is written also where it stays the same, so that the broker loads it again (KAFKA-14136).
        if outcome != stored.get(change.key) or resource[0] is ConfigScope.BROKER:
            events.append(ConfigChanged(resource, change.key, outcome))
        stored[change.key] = "" if outcome is None else outcome
        if outcome is None:
            del stored[change.key]
    refusal = refusal or _invalid_value(state, resource, stored) or _missing(state, resource)
    return refusal if refusal is not None else events + _cleared(state, resource, events)


def _operated(stored: str | None, change: ConfigChange) -> str | Rejected | None:
    """The value after one operation; None where there is none any more."""
    match change.operation:
        case ConfigOperation.SET:
            return change.value
        case ConfigOperation.DELETE:
            return None
        case ConfigOperation.APPEND | ConfigOperation.SUBTRACT:
            if change.key not in LIST_KEYS:
                return rejection(
                    ErrorCode.INVALID_CONFIG,
                    f"Can't {change.operation.name} to key {change.key} because its type is not LIST.",
                )
            return _list_operated(stored, change)
        case _:
            assert_never(change.operation)


def _list_operated(stored: str | None, change: ConfigChange) -> str:
    """APPEND skips what is there, SUBTRACT takes away the first equal element.

    An empty string is one empty element, and SUBTRACT leaves an empty override behind, also where there was none.
    """
    elements = [e for e in (stored or "").split(",") if e]
    for element in _java_split(change.value):
        if change.operation is ConfigOperation.SUBTRACT:
            if element in elements:
                elements.remove(element)
        elif element not in elements:
            elements.append(element)
    return ",".join(elements)


def _java_split(text: str) -> list[str]:
    """Java's split: empty elements at the end are dropped, but the empty text is one empty element."""
    elements = text.split(",")
    while len(elements) > 1 and not elements[-1]:
        elements.pop()
    return [] if elements == [""] and text else elements


def _elr_refusal(
    state: ClusterState, resource: ConfigResource, changes: Sequence[ConfigChange]
) -> Rejected | None:
    """With ELR on, min.insync.replicas has one value for the cluster, which cannot be taken away."""
    touching = [c for c in changes if c.key == MIN_INSYNC_REPLICAS]
    if not state.elr_enabled or not touching or resource[0] is ConfigScope.TOPIC:
        return None
    if resource != CLUSTER_DEFAULT:
        return rejection(
            ErrorCode.INVALID_CONFIG,
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
        )
    if touching[0].operation is ConfigOperation.DELETE:
        return rejection(
            ErrorCode.INVALID_CONFIG,
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        )
    return None


def _invalid_value(
    state: ClusterState, resource: ConfigResource, stored: Mapping[str, str]
) -> Rejected | None:
    """A topic's values are checked by the controller (40), a broker's by the broker (42)."""
    of_topic = resource[0] is ConfigScope.TOPIC
    further = state.rules.further_topic_keys
    for key, value in stored.items():
        problem = topic_problem(key, value, further) if of_topic else broker_problem(key, value)
        if problem is not None:
            return rejection(
                ErrorCode.INVALID_CONFIG if of_topic else ErrorCode.INVALID_REQUEST, problem
            )
    return None


def _missing(state: ClusterState, resource: ConfigResource) -> Rejected | None:
    scope, name = resource
    if scope is ConfigScope.TOPIC:
        if name in state.topics:
            return None
        return rejection(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
        )
    if resource == CLUSTER_DEFAULT or any(str(b) == name for b in state.brokers):
        return None
    return rejection(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")


def _cleared(state: ClusterState, resource: ConfigResource, events: Sequence[Event]) -> list[Event]:
    """Writing min.insync.replicas forgets the ELR of the topic, or of all topics."""
    writes = any(isinstance(e, ConfigChanged) and e.key == MIN_INSYNC_REPLICAS for e in events)
    if not (writes and state.elr_enabled):
        return []
    return [ElrCleared(resource[1] if resource[0] is ConfigScope.TOPIC else None)]
