"""IncrementalAlterConfigs: SET, DELETE, APPEND, SUBTRACT, resource by resource.

Here belong the operations on stored values and what the controller refuses (ConfigurationControlManager), with each
resource taken as sent to where it belongs: a broker's values are checked by that broker (ConfigAdminManager). What
the stored values mean is in `config_view`.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from replan.model.configs import (
    MIN_INSYNC_REPLICAS,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
)
from replan.model.control_plane import Accepted, Answer, Rejected
from replan.simulator.controller.commands import AlterConfigs, Decision
from replan.simulator.controller.config_keys import LISTS, broker_problem, topic_problem
from replan.simulator.controller.error_codes import Code, rejected
from replan.simulator.controller.events import ConfigChanged, ElrCleared, Event
from replan.simulator.controller.state import CLUSTER_DEFAULT, ClusterState, Resource


def alter_configs(state: ClusterState, command: AlterConfigs) -> Decision:
    """Decide resource by resource: each fails or succeeds as a whole, what succeeds is applied together."""
    by_resource: dict[Resource, list[ConfigChange]] = {}
    for change in command.changes:
        by_resource.setdefault((change.scope, change.name), []).append(change)
    events: list[Event] = []
    answers: list[tuple[Resource, Answer]] = []
    for resource, changes in by_resource.items():
        outcome = _altered(state, resource, changes)
        if isinstance(outcome, Rejected):
            answers.append((resource, outcome))
        else:
            events.extend(outcome)
            answers.append((resource, Accepted()))
    return Decision(tuple(events), each=tuple(answers))


def _altered(
    state: ClusterState, resource: Resource, changes: Sequence[ConfigChange]
) -> Rejected | list[Event]:
    keys = [change.key for change in changes]
    if len(set(keys)) < len(keys):
        return rejected(Code.INVALID_REQUEST, "Error due to duplicate config keys")
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
            if change.key not in LISTS:
                return rejected(
                    Code.INVALID_CONFIG,
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
    state: ClusterState, resource: Resource, changes: Sequence[ConfigChange]
) -> Rejected | None:
    """With ELR on, min.insync.replicas has one value for the cluster, which cannot be taken away."""
    touching = [c for c in changes if c.key == MIN_INSYNC_REPLICAS]
    if not state.elr_enabled or not touching or resource[0] is ConfigScope.TOPIC:
        return None
    if resource != CLUSTER_DEFAULT:
        return rejected(
            Code.INVALID_CONFIG,
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
        )
    if touching[0].operation is ConfigOperation.DELETE:
        return rejected(
            Code.INVALID_CONFIG,
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        )
    return None


def _invalid_value(
    state: ClusterState, resource: Resource, stored: Mapping[str, str]
) -> Rejected | None:
    """A topic's values are checked by the controller (40), a broker's by the broker (42)."""
    of_topic = resource[0] is ConfigScope.TOPIC
    further = state.rules.further_topic_keys
    for key, value in stored.items():
        problem = topic_problem(key, value, further) if of_topic else broker_problem(key, value)
        if problem is not None:
            return rejected(Code.INVALID_CONFIG if of_topic else Code.INVALID_REQUEST, problem)
    return None


def _missing(state: ClusterState, resource: Resource) -> Rejected | None:
    scope, name = resource
    if scope is ConfigScope.TOPIC:
        if name in state.topics:
            return None
        return rejected(Code.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if resource == CLUSTER_DEFAULT or any(str(b) == name for b in state.brokers):
        return None
    return rejected(Code.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")


def _cleared(state: ClusterState, resource: Resource, events: Sequence[Event]) -> list[Event]:
    """Writing min.insync.replicas forgets the ELR of the topic, or of all topics."""
    writes = any(isinstance(e, ConfigChanged) and e.key == MIN_INSYNC_REPLICAS for e in events)
    if not (writes and state.elr_enabled):
        return []
    return [ElrCleared(resource[1] if resource[0] is ConfigScope.TOPIC else None)]
