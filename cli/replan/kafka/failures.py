"""What a Kafka code or a client's exception means: an answer, a refusal, or something to ask again.

Which request needs which permission stands here too, so that a refusal can name the ACL.
Nothing here talks to a cluster.
"""

import re

from kafka.errors import (
    AuthorizationError,
    BrokerResponseError,
    IllegalSaslStateError,
    KafkaError,
    KafkaProtocolError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
    UnsupportedVersionError,
    for_code,
    kafka_errors,
)
from msgspec import Struct

from replan.errors import ClusterRefused
from replan.kafka.certificates import PROBLEM_WORDS, CertificateRefused
from replan.model.control_plane import Accepted, Answer, OutcomeUnknown, Rejected
from replan.model.error_codes import UNKNOWN_OUTCOMES, ErrorCode

PASSING = UNKNOWN_OUTCOMES | {
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.LISTENER_NOT_FOUND,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
}
"""What goes away by itself: controller changes, brokers that start or stop, quotas, topic ids not known to a broker."""


class ControllerSilent(KafkaTimeoutError):  # type: ignore[misc]  # kafka-python has no types
    """A broker answers, and waits for the active controller."""


_CREDENTIALS = (
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
    IllegalSaslStateError,
)


class Operation(Struct, frozen=True):
    """One of Kafka's requests, and the ACL that it needs (KafkaApis, ControllerApis)."""

    name: str
    permission: str | None = None
    """None: everybody may."""


API_VERSIONS = Operation("ApiVersions")
SASL_HANDSHAKE = Operation("SaslHandshake")
SASL_AUTHENTICATE = Operation("SaslAuthenticate")
DESCRIBE_CLUSTER = Operation("DescribeCluster")
DESCRIBE_PARTITIONS = Operation("DescribeTopicPartitions", "Describe on Topic")
METADATA = Operation("Metadata", "Describe on Topic")
LIST_REASSIGNMENTS = Operation("ListPartitionReassignments", "Describe on Cluster")
ALTER_REASSIGNMENTS = Operation("AlterPartitionReassignments", "Alter on Cluster")
CREATE_PARTITIONS = Operation("CreatePartitions", "Alter on Topic")
ELECT_LEADERS = Operation("ElectLeaders", "Alter on Cluster")
ALTER_LOG_DIRS = Operation("AlterReplicaLogDirs", "Alter on Cluster")
DESCRIBE_LOG_DIRS = Operation("DescribeLogDirs", "Describe on Cluster")
DESCRIBE_TOPIC_CONFIGS = Operation("DescribeConfigs of topics", "DescribeConfigs on Topic")
DESCRIBE_BROKER_CONFIGS = Operation("DescribeConfigs of brokers", "DescribeConfigs on Cluster")
ALTER_CONFIGS = Operation("IncrementalAlterConfigs", "AlterConfigs on Topic or Cluster")
LIST_OFFSETS = Operation("ListOffsets", "Describe on Topic")
FETCH = Operation("Fetch", "Read on Topic")
PRODUCE = Operation("Produce", "Write on Topic")


_UNAUTHORIZED_REQUEST = re.compile(r"Request Request\(.*\) is not authorized", re.DOTALL)
"""What a broker says of a whole request: in the parentheses hundreds of characters on its own objects (KafkaApis)."""
_OTHER_LISTENERS = frozenset(
    {ErrorCode.MISMATCHED_ENDPOINT_TYPE, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE}
)
"""A controller was asked what brokers answer (KIP-919)."""


def answer(code: int, message: str | None) -> Answer:
    """Translate the code of one partition or one resource."""
    if code == 0:
        return Accepted()
    if code in UNKNOWN_OUTCOMES:
        return OutcomeUnknown(_sentence(code, message))
    return Rejected(code, name_of(code), _without_objects(message or standard_text(code)))


def raise_for(code: int, message: str | None) -> None:
    """Raise kafka-python's exception where a whole request has an error code."""
    if code:
        raise for_code(code)(message or standard_text(code))


def retriable(failure: Exception) -> bool:
    """Whether a reading may succeed if it is asked again."""
    if isinstance(failure, BrokerResponseError):
        return failure.errno in PASSING
    return isinstance(failure, KafkaError) and not isinstance(
        failure, KafkaProtocolError | CertificateRefused
    )


def explained_refusal(operation: Operation, failure: Exception) -> ClusterRefused:
    """Explain why a whole request cannot succeed, and what would help."""
    if isinstance(failure, _CREDENTIALS):
        return ClusterRefused(
            f"the cluster does not accept these credentials: {reason(failure)}\n"
            "  check security.protocol and the sasl.* keys of the client properties"
        )
    if isinstance(failure, CertificateRefused):
        what, way_out = PROBLEM_WORDS[failure.problem]
        return ClusterRefused(f"{what}: {reason(failure)}\n  {way_out}")
    if isinstance(failure, AuthorizationError):
        return ClusterRefused(
            f"{operation.name} is not permitted: {reason(failure)}\n"
            + (
                "  check the ACLs of this user"
                if operation.permission is None
                else f"  this user needs the ACL {operation.permission}; ask for it, or use another user"
            )
        )
    if isinstance(failure, UnsupportedVersionError):
        return ClusterRefused(
            f"this cluster does not know {operation.name}: {reason(failure)}\n"
            "  replan needs Kafka 3.9 or newer in KRaft mode"
        )
    if isinstance(failure, BrokerResponseError) and failure.errno in _OTHER_LISTENERS:
        return ClusterRefused(
            f"a controller listens there, no broker: {reason(failure)}\n"
            "  name a broker's listener in --bootstrap-server"
        )
    return ClusterRefused(f"{operation.name} failed: {reason(failure)}")


def reason(failure: Exception) -> str:
    """One line on a failure, in Kafka's words where it has any."""
    text = _without_objects(str(failure.args[0])) if failure.args and failure.args[0] else ""
    if isinstance(failure, BrokerResponseError):
        return _sentence(int(failure.errno), text or None)
    return text.removeprefix("KafkaConnectionError: ") or type(failure).__name__


def name_of(code: int) -> str:
    """Kafka's own name of a code (org.apache.kafka.common.protocol.Errors)."""
    try:
        return ErrorCode(code).name  # kafka-python spells some of them differently
    except ValueError:
        error_class = kafka_errors.get(code)
        return f"CODE_{code}" if error_class is None else str(error_class.message)


def standard_text(code: int) -> str:
    """What Kafka says of a code where the broker adds nothing of its own."""
    error_class = kafka_errors.get(code)
    return name_of(code) if error_class is None else str(error_class.description)


def _without_objects(message: str) -> str:
    return _UNAUTHORIZED_REQUEST.sub("the request is not authorized", message)


def _sentence(code: int, message: str | None) -> str:
    return f"{name_of(code)} ({code}): {message}" if message else f"{name_of(code)} ({code})"
