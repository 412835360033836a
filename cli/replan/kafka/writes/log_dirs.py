"""Replicas to other log directories of their brokers: AlterReplicaLogDirs (KIP-113), sent once to each broker.

A broker acts on its own replicas alone, so it is asked directly, and one that does not answer holds up nobody.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kafka.errors import AuthorizationError, BrokerResponseError, KafkaError

from replan.kafka.failures import (
    ALTER_LOG_DIRS,
    answer,
    reason,
    refusal,
    unknown_after,
)
from replan.kafka.messages import AlterReplicaLogDirs
from replan.kafka.wire.frames import Question
from replan.kafka.wire.wire import Wire
from replan.model.control_plane import Answer, OutcomeUnknown, ReplicaName
from replan.model.names import BrokerId, TopicPartition

BROKER_SECONDS = 5.0


def move_logs(wire: Wire, paths: Mapping[ReplicaName, str]) -> dict[ReplicaName, Answer]:
    """Ask each broker for its replicas; one answer for each replica.

    Raises:
        ClusterRefused: the user may not do this.
    """
    silent = OutcomeUnknown("its broker is not live")
    answers: dict[ReplicaName, Answer] = dict.fromkeys(paths, silent)
    by_broker: dict[BrokerId, dict[TopicPartition, str]] = {}
    for (name, broker), path in paths.items():
        if broker in wire.addresses:
            by_broker.setdefault(broker, {})[name] = path
    questions = {broker: [Question(_request(of))] for broker, of in by_broker.items()}
    _, told = wire.round([], questions, home_seconds=0, broker_seconds=BROKER_SECONDS)
    for broker, found in told.items():
        answers |= _answers([(name, broker) for name in by_broker[broker]], found[0])
    return answers


def _request(paths: Mapping[TopicPartition, str]) -> Any:
    grouped: dict[str, dict[str, list[int]]] = {}
    for name, path in sorted(paths.items()):
        grouped.setdefault(path, {}).setdefault(name.topic, []).append(name.partition)
    directory = AlterReplicaLogDirs.AlterReplicaLogDir
    return AlterReplicaLogDirs(
        dirs=[
            directory(
                path=path,
                topics=[
                    directory.AlterReplicaLogDirTopic(name=topic, partitions=of)
                    for topic, of in topics.items()
                ],
            )
            for path, topics in grouped.items()
        ]
    )


def _answers(asked: Sequence[ReplicaName], told: Any) -> dict[ReplicaName, Answer]:
    if isinstance(told, AuthorizationError):
        raise refusal(ALTER_LOG_DIRS, told) from told
    if isinstance(told, BrokerResponseError):
        return dict.fromkeys(asked, answer(int(told.errno), reason(told)))
    if isinstance(told, KafkaError):
        return dict.fromkeys(asked, unknown_after(told))
    found = {
        TopicPartition(topic.topic_name, row.partition_index): answer(row.error_code, None)
        for topic in told.results
        for row in topic.partitions
    }
    missing = OutcomeUnknown(f"the answer to {ALTER_LOG_DIRS.name} leaves it out")
    return {(name, broker): found.get(name, missing) for name, broker in asked}
