"""Kafka's error codes that the control plane answers with, each with its name and Kafka's standard text.

Here belongs the translation code -> Rejected, so that no other module repeats a name
(org.apache.kafka.common.protocol.Errors).
"""

from enum import IntEnum
from types import MappingProxyType

from replan.model.control_plane import Rejected


class Code(IntEnum):
    """The codes by name."""

    UNKNOWN_SERVER_ERROR = -1
    UNKNOWN_TOPIC_OR_PARTITION = 3
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    REPLICA_NOT_AVAILABLE = 9
    INVALID_TOPIC_EXCEPTION = 17
    TOPIC_AUTHORIZATION_FAILED = 29
    CLUSTER_AUTHORIZATION_FAILED = 31
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    POLICY_VIOLATION = 44
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    FENCED_LEADER_EPOCH = 74
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    INVALID_UPDATE_VERSION = 95
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108


_STANDARD_TEXTS = MappingProxyType(
    {
        Code.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
        Code.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
        Code.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
        Code.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
        Code.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
        Code.NO_REASSIGNMENT_IN_PROGRESS: "No partition reassignment is in progress.",
    }
)
"""What Kafka says where the controller adds nothing of its own."""


def rejected(code: Code, message: str | None = None) -> Rejected:
    """An answer with this code."""
    standard = _STANDARD_TEXTS.get(code, code.name)
    return Rejected(int(code), code.name, standard if message is None else message)
