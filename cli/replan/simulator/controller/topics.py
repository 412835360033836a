"""Creating and deleting topics and partitions, with explicit replicas (ReplicationControlManager).

CreateTopics with manual assignments, CreatePartitions and DeleteTopics. Placement that Kafka chooses itself is not
imitated: replan always names the replicas.

Here are also the checks of lists that reassignments, new topics and new partitions share
(ReplicationControlManager.validateManualPartitionAssignment). Only registration counts: brokers that are fenced, dead
or shutting down are accepted.
"""

import re

from replan.model.configs import ConfigScope
from replan.model.control_plane import Accepted, Rejected
from replan.model.error_codes import ErrorCode
from replan.model.names import Replicas, TopicPartition
from replan.simulator.controller.commands import (
    ControllerResult,
    CreatePartitions,
    CreateTopic,
    DeleteTopic,
    rejection,
)
from replan.simulator.controller.configs import topic_problem
from replan.simulator.controller.events import (
    ConfigChanged,
    Event,
    PartitionCreated,
    TopicCreated,
    TopicDeleted,
)
from replan.simulator.controller.state import ClusterState, Partition


def list_refusal(
    state: ClusterState, replicas: Replicas, expected: int | None = None
) -> Rejected | None:
    """Why a list is refused, brokers looked at in ascending order; None where it is taken.

    `expected` is the replication factor that the topic's earlier partitions have, where that is required.
    """
    if not replicas:
        return _bad("The manual partition assignment includes an empty replica list.")
    previous: int | None = None
    for broker in sorted(replicas):
        registration = state.brokers.get(broker)
        if registration is None:
            return _bad(
                f"The manual partition assignment includes broker {broker}, "
                "but no such broker is registered."
            )
        if broker == previous:
            return _bad(
                f"The manual partition assignment includes the broker {broker} more than once."
            )
        if registration.cordoned and state.rules.refuses_cordoned:
            return _bad(
                f"The manual partition assignment includes broker {broker}, "
                "but all its log directories are cordoned."
            )
        previous = broker
    if expected is not None and len(replicas) != expected:
        return _bad(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), "
            f"but this is not consistent with previous partitions, which have {expected} replica(s)."
        )
    return None


def _bad(message: str) -> Rejected:
    return rejection(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


def create_topic(state: ClusterState, command: CreateTopic) -> ControllerResult:
    """Create a topic; all of its partitions have the replication factor of the first."""
    problem = _name_problem(state, command.name) or _config_problem(state, command)
    if problem is not None:
        return ControllerResult(whole=problem)
    created = _created(state, command.name, 0, command.assignments, factor=None)
    if isinstance(created, Rejected):
        return ControllerResult(whole=created)
    configs = tuple(
        ConfigChanged((ConfigScope.TOPIC, command.name), key, value)
        for key, value in command.configs.items()
    )
    return ControllerResult((TopicCreated(command.name, command.id), *configs, *created))


def create_partitions(state: ClusterState, command: CreatePartitions) -> ControllerResult:
    """Add partitions; the replication factor asked for is that of the partition that comes first (`Topic.first`)."""
    topic = state.topics.get(command.topic)
    if topic is None:
        return ControllerResult(whole=rejection(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    present = len(topic.partitions)
    if command.count <= present:
        return ControllerResult(whole=_no_increase(command, present))
    if len(command.assignments) != command.count - present:
        return ControllerResult(
            whole=rejection(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {command.count - present} additional partition(s), but only "
                f"{len(command.assignments)} assignment(s) were specified.",
            )
        )
    factor = len(topic.first.replicas)
    created = _created(state, command.topic, present, command.assignments, factor=factor)
    if isinstance(created, Rejected):
        return ControllerResult(whole=created)
    return ControllerResult(created, each=((command.topic, Accepted()),))


def delete_topic(state: ClusterState, command: DeleteTopic) -> ControllerResult:
    """Delete a topic with its configuration."""
    if command.name not in state.topics:
        return ControllerResult(whole=rejection(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    return ControllerResult((TopicDeleted(command.name),))


def _created(
    state: ClusterState,
    topic: str,
    start: int,
    assignments: tuple[Replicas, ...],
    *,
    factor: int | None,
) -> tuple[Event, ...] | Rejected:
    """New partitions; those of their replicas that are active now form the first ISR."""
    created: list[Event] = []
    for index, replicas in enumerate(assignments, start):
        problem = list_refusal(state, replicas, factor)
        if problem is not None:
            return problem
        factor = len(replicas)
        isr = tuple(b for b in replicas if state.active(b))
        if not isr:
            return rejection(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "All brokers specified in the manual partition assignment for partition "
                f"{index} are fenced or in controlled shutdown.",
            )
        directories = tuple(map(state.default_dir, replicas))
        created.append(
            PartitionCreated(
                TopicPartition(topic, index),
                Partition(replicas, isr, isr[0], directories=directories),
            )
        )
    return tuple(created)


def _name_problem(state: ClusterState, name: str) -> Rejected | None:
    if name in state.topics:
        return rejection(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if name in {".", ".."}:
        return rejection(
            ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: '.' or '..' is not allowed"
        )
    if not _LEGAL_NAME.fullmatch(name):
        return rejection(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'",
        )
    collided = name.replace(".", "_")
    for other in sorted(state.topics):
        if other.replace(".", "_") == collided:
            return rejection(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{name}' collides with existing topic: {other}",
            )
    return None


def _config_problem(state: ClusterState, command: CreateTopic) -> Rejected | None:
    for key, value in command.configs.items():
        problem = topic_problem(key, value, state.rules.further_topic_keys)
        if problem is not None:
            return rejection(ErrorCode.INVALID_CONFIG, problem)
    return None


def _no_increase(command: CreatePartitions, present: int) -> Rejected:
    if command.count == present:
        return rejection(ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
    return rejection(
        ErrorCode.INVALID_PARTITIONS,
        f"The topic {command.topic} currently has {present} partition(s); {command.count} would not be "
        "an increase.",
    )
