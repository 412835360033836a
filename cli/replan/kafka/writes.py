"""The requests that change a cluster, each sent once. Nothing is read or asked again here.

| what                        | request                     | by whom                              |
| --------------------------- | --------------------------- | ------------------------------------ |
| replica lists               | AlterPartitionReassignments | the active controller                |
| leaders                     | ElectLeaders                | the active controller                |
| new partitions              | CreatePartitions            | the active controller                |
| configurations of topics    | IncrementalAlterConfigs     | the active controller                |
| a broker's own              | IncrementalAlterConfigs     | that broker                          |
| replicas' log directories   | AlterReplicaLogDirs         | the broker of each replica           |
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from kafka.errors import (
    AuthorizationError,
    BrokerResponseError,
    ClusterAuthorizationFailedError,
    KafkaError,
    UnsupportedVersionError,
)
from msgspec.structs import replace

from replan.kafka.failures import (
    ALTER_CONFIGS,
    ALTER_LOG_DIRS,
    ALTER_REASSIGNMENTS,
    CREATE_PARTITIONS,
    ELECT_LEADERS,
    Operation,
    answer,
    explained_refusal,
    reason,
    standard_text,
)
from replan.kafka.messages import (
    RESOURCE_TYPES,
    AlterPartitionReassignments,
    AlterReplicaLogDirs,
    CreatePartitions,
    ElectLeaders,
    IncrementalAlterConfigs,
    chunks,
)
from replan.kafka.wire.frames import Question
from replan.kafka.wire.wire import Wire
from replan.model.configs import ConfigChange, ConfigOperation, ConfigResource, ConfigScope
from replan.model.control_plane import (
    ELECTIONS_PER_REQUEST,
    Answer,
    ElectionType,
    NewPartitions,
    OutcomeUnknown,
    Rejected,
    ReplicaName,
)
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId, Replicas, TopicPartition, by_topic

# One write, sent once, and what is known of it afterwards: an answer for everything that it asked.
#
# A write is never sent again here. The broker that forwards it may do so for a minute, so whoever asks must
# look at the cluster before asking for anything else.

WRITE_TIMEOUT_MS = 10_000
"""How long the controller may take; later it drops the request unseen (7 is not always proof of that). Whoever takes
over waits for so much longer (`quarantine_seconds`)."""
WRITE_ANSWER_SECONDS = 20.0
_Subject = TypeVar("_Subject", bound=Hashable)
RowsOf = Callable[[Any], Iterable[tuple[_Subject, int, str | None]]]
"""A response -> what it says of each partition, topic or broker: a code, and words where there are any."""


def _send_once(
    wire: Wire,
    question: Question,
    subjects: Collection[_Subject],
    rows: RowsOf[_Subject],
    *,
    was_known: bool = False,
) -> dict[_Subject, Answer]:
    """Send a request to the active controller and answer for every partition or topic that it asks for.

    `was_known`: the home broker knew this version a moment ago. Where another one has become home, or another
    controller active, that is older, nothing is sent, and the caller looks again at what the cluster can do.

    Raises:
        ClusterRefused: the user may not do this, or the cluster does not know the request.
    """
    try:
        told = wire.ask(question, limit_seconds=WRITE_ANSWER_SECONDS)
    except (AuthorizationError, UnsupportedVersionError) as failure:
        if was_known and isinstance(failure, UnsupportedVersionError):
            return dict.fromkeys(subjects, OutcomeUnknown(reason(failure)))
        raise explained_refusal(question.operation, failure) from failure
    except KafkaError as failure:
        told = failure
    answers = _answers(question.operation, told, subjects, rows)
    if isinstance(told, BrokerResponseError):
        return {
            subject: replace(said, whole=True) if isinstance(said, Rejected) else said
            for subject, said in answers.items()
        }
    return answers


def _answers(
    operation: Operation, told: Any, subjects: Collection[_Subject], rows: RowsOf[_Subject]
) -> dict[_Subject, Answer]:
    """What a response, or the KafkaError in its place, says of each that was asked for."""
    if isinstance(told, BrokerResponseError):
        return dict.fromkeys(subjects, answer(int(told.errno), reason(told)))
    if isinstance(told, KafkaError):
        return dict.fromkeys(subjects, OutcomeUnknown(reason(told)))
    said = {subject: answer(code, message) for subject, code, message in rows(told)}
    missing = OutcomeUnknown(f"the answer to {operation.name} leaves it out")
    return {subject: said.get(subject, missing) for subject in subjects}


# Reassignments: asking for lists, and cancelling.
#
# AlterPartitionReassignments (KIP-455) is sent once per chunk; the controller bounds one request to 10,000
# records, so a chunk has at most 5,000 partitions. Nothing is sent again here: brokers do that already.

LISTS_PER_REQUEST = 5000
_GUARD_VERSION = 1


def reassign(
    wire: Wire,
    lists: Mapping[TopicPartition, Replicas | None],
    *,
    allow_replication_factor_change: bool,
) -> dict[TopicPartition, Answer]:
    """Ask for new lists, None cancels; forbids another length where the cluster can (KIP-860)."""
    guarded = not allow_replication_factor_change and wire.knows(
        AlterPartitionReassignments, _GUARD_VERSION
    )
    answers: dict[TopicPartition, Answer] = {}
    for chunk in chunks(lists, LISTS_PER_REQUEST):
        message = _alter_request({name: lists[name] for name in chunk}, guarded=guarded)
        question = Question(ALTER_REASSIGNMENTS, message, forwarded=True)
        answers |= _send_once(wire, question, chunk, _reassignment_rows, was_known=guarded)
    return answers


def _alter_request(lists: Mapping[TopicPartition, Replicas | None], *, guarded: bool) -> Any:
    topic = AlterPartitionReassignments.ReassignableTopic
    rows: dict[str, list[Any]] = {}
    for name, replicas in lists.items():
        row = topic.ReassignablePartition(
            partition_index=name.partition, replicas=None if replicas is None else list(replicas)
        )
        rows.setdefault(name.topic, []).append(row)
    topics = [topic(name=name, partitions=of) for name, of in rows.items()]
    # min_version: a broker that is too old must not drop the field silently.
    guard = {"allow_replication_factor_change": False, "min_version": 1} if guarded else {}
    return AlterPartitionReassignments(timeout_ms=WRITE_TIMEOUT_MS, topics=topics, **guard)


def _reassignment_rows(response: Any) -> Iterator[tuple[TopicPartition, int, str | None]]:
    for topic in response.responses:
        for row in topic.partitions:
            yield TopicPartition(topic.name, row.partition_index), row.error_code, row.error_message


# Elections: ElectLeaders (KIP-460), sent once per chunk.
#
# One request with exactly 10,000 elections makes the active controller resign (seen on 3.9 to 4.4), so chunks
# are far below that.


def send_elections(
    wire: Wire, partitions: Collection[TopicPartition], kind: ElectionType
) -> dict[TopicPartition, Answer]:
    """Ask for elections; an election that is not needed is answered with 84."""
    answers: dict[TopicPartition, Answer] = {}
    for chunk in chunks(dict.fromkeys(partitions), ELECTIONS_PER_REQUEST):
        question = Question(ELECT_LEADERS, _election_request(chunk, kind), forwarded=True)
        answers |= _send_once(wire, question, chunk, _election_rows)
    return answers


def _election_request(partitions: Collection[TopicPartition], kind: ElectionType) -> Any:
    topic = ElectLeaders.TopicPartitions
    return ElectLeaders(
        election_type=int(kind),
        topic_partitions=[
            topic(topic=name, partitions=of) for name, of in by_topic(partitions).items()
        ],
        timeout_ms=WRITE_TIMEOUT_MS,
        min_version=1,  # version 0 knows only preferred elections
    )


def _election_rows(response: Any) -> Iterator[tuple[TopicPartition, int, str | None]]:
    for topic in response.replica_election_results:
        for row in topic.partition_result:
            yield TopicPartition(topic.topic, row.partition_id), row.error_code, row.error_message


# New partitions of topics that exist: CreatePartitions (KIP-195) with the replicas of each, sent once.


def send_create_partitions(
    wire: Wire, added: Mapping[str, NewPartitions], *, validate_only: bool = False
) -> dict[str, Answer]:
    """Add partitions, or let the controller say whether it would; one answer for each topic."""
    question = Question(CREATE_PARTITIONS, _create_request(added, validate_only), forwarded=True)
    return _send_once(wire, question, added.keys(), _create_rows)


def _create_request(added: Mapping[str, NewPartitions], validate_only: bool) -> Any:
    topic = CreatePartitions.CreatePartitionsTopic
    return CreatePartitions(
        topics=[
            topic(
                name=name,
                count=new.count,
                assignments=[
                    topic.CreatePartitionsAssignment(broker_ids=list(replicas))
                    for replicas in new.lists
                ],
            )
            for name, new in added.items()
        ],
        timeout_ms=WRITE_TIMEOUT_MS,
        validate_only=validate_only,
    )


def _create_rows(response: Any) -> Iterator[tuple[str, int, str | None]]:
    for row in response.results:
        yield row.name, row.error_code, row.error_message


# Configurations, changed: IncrementalAlterConfigs (KIP-339).
#
# All changes of one topic or broker travel together and succeed or fail together. A broker's own configuration can be
# changed only through that broker, so one that is fenced is answered here at once, and one that does not answer holds
# up nobody: all requests of a call are one round.

RESOURCES_PER_REQUEST = 1000
BROKER_CHANGE_SECONDS = 3.0
"""For a broker that changes its own configuration."""
_SCOPES = {number: scope for scope, number in RESOURCE_TYPES.items()}


def alter(
    wire: Wire, changes: Sequence[ConfigChange], *, validate_only: bool = False
) -> dict[ConfigResource, Answer]:
    """Apply the changes, or only ask whether Kafka would; one answer for each topic and broker among them."""

    def question(part: Collection[ConfigResource], *, forwarded: bool) -> Question:
        message = _configs_request({r: to_send[r] for r in part}, validate_only=validate_only)
        return Question(ALTER_CONFIGS, message, forwarded=forwarded)

    answers = refused_unasked(changes, wire.addresses.keys())
    to_send = {r: of for r, of in _by_resource(changes).items() if r not in answers}
    topics = [r for r in to_send if r[0] is ConfigScope.TOPIC]
    parts = list(chunks(topics, RESOURCES_PER_REQUEST))
    own = {BrokerId(int(r[1])): r for r in to_send if r[0] is ConfigScope.BROKER}
    of_home, of_brokers = wire.round(
        [question(part, forwarded=True) for part in parts],
        {b: [question([r], forwarded=False)] for b, r in own.items()},
        home_seconds=WRITE_ANSWER_SECONDS,
        broker_seconds=BROKER_CHANGE_SECONDS,
    )
    for part, told in zip(parts, of_home, strict=True):
        answers |= _answers(ALTER_CONFIGS, told, part, _config_rows)
    for broker, answers_of in of_brokers.items():
        answers |= _answers(ALTER_CONFIGS, answers_of[0], [own[broker]], _config_rows)
    return answers


def _by_resource(changes: Sequence[ConfigChange]) -> dict[ConfigResource, list[ConfigChange]]:
    grouped: dict[ConfigResource, list[ConfigChange]] = {}
    for change in changes:
        grouped.setdefault((change.scope, change.name), []).append(change)
    return grouped


def _configs_request(
    grouped: Mapping[ConfigResource, Sequence[ConfigChange]], *, validate_only: bool
) -> Any:
    resource = IncrementalAlterConfigs.AlterConfigsResource
    return IncrementalAlterConfigs(
        resources=[
            resource(
                resource_type=RESOURCE_TYPES[scope],
                resource_name=name,
                configs=[
                    resource.AlterableConfig(
                        name=change.key,
                        config_operation=int(change.operation),
                        value=None if change.operation is ConfigOperation.DELETE else change.value,
                    )
                    for change in of
                ],
            )
            for (scope, name), of in grouped.items()
        ],
        validate_only=validate_only,
    )


def refused_unasked(
    changes: Sequence[ConfigChange], live: Collection[BrokerId]
) -> dict[ConfigResource, Answer]:
    """The topics and brokers whose answer is known without asking."""
    answers: dict[ConfigResource, Answer] = {}
    for (scope, name), of in _by_resource(changes).items():
        if scope is ConfigScope.BROKER and not (name.isdecimal() and BrokerId(int(name)) in live):
            answers[scope, name] = _invalid(
                f"broker {name} is not live, and only a broker itself can change its configuration;"
                " ask again when it is back"
            )
        elif len({change.key for change in of}) < len(of):
            answers[scope, name] = _invalid("Error due to duplicate config keys")  # as Kafka says
    return answers


def _invalid(message: str) -> Rejected:
    return Rejected(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST.name, message)


def _config_rows(response: Any) -> Iterator[tuple[ConfigResource, int, str | None]]:
    for row in response.responses:
        yield (_SCOPES[row.resource_type], row.resource_name), row.error_code, row.error_message


# Replicas to other log directories of their brokers: AlterReplicaLogDirs (KIP-113), sent once to each broker.
#
# A broker acts on its own replicas alone, so it is asked directly, and one that does not answer holds up nobody.

LOG_DIRS_SECONDS = 5.0


def move_logs(wire: Wire, paths: Mapping[ReplicaName, str]) -> dict[ReplicaName, Answer]:
    """Ask each broker for its replicas; one answer for each replica.

    Raises:
        ClusterRefused: the user may not do this, which Kafka says of each replica.
    """
    silent = OutcomeUnknown("its broker is not live")
    answers: dict[ReplicaName, Answer] = dict.fromkeys(paths, silent)
    by_broker: dict[BrokerId, dict[TopicPartition, str]] = {}
    for (name, broker), path in paths.items():
        if broker in wire.addresses:
            by_broker.setdefault(broker, {})[name] = path
    questions = {
        broker: [Question(ALTER_LOG_DIRS, _log_dirs_request(of))]
        for broker, of in by_broker.items()
    }
    _, told = wire.round([], questions, home_seconds=0, broker_seconds=LOG_DIRS_SECONDS)
    for broker, answers_of in told.items():
        answers |= _log_dirs_answers(broker, answers_of[0], by_broker[broker])
    return answers


def _log_dirs_request(paths: Mapping[TopicPartition, str]) -> Any:
    grouped: dict[str, list[TopicPartition]] = {}
    for name, path in sorted(paths.items()):
        grouped.setdefault(path, []).append(name)
    directory = AlterReplicaLogDirs.AlterReplicaLogDir
    return AlterReplicaLogDirs(
        dirs=[
            directory(
                path=path,
                topics=[
                    directory.AlterReplicaLogDirTopic(name=topic, partitions=of)
                    for topic, of in by_topic(names).items()
                ],
            )
            for path, names in grouped.items()
        ]
    )


def _log_dirs_answers(
    broker: BrokerId, told: Any, names: Collection[TopicPartition]
) -> dict[ReplicaName, Answer]:
    def rows(response: Any) -> Iterator[tuple[TopicPartition, int, str | None]]:
        for topic in response.results:
            for row in topic.partitions:
                if row.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                    failure = ClusterAuthorizationFailedError(standard_text(row.error_code))
                    raise explained_refusal(ALTER_LOG_DIRS, failure)
                yield TopicPartition(topic.topic_name, row.partition_index), row.error_code, None

    answers = _answers(ALTER_LOG_DIRS, told, names, rows)
    return {(name, broker): said for name, said in answers.items()}
