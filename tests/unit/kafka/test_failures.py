"""Codes and exceptions as answers, refusals, or something to ask again."""

from pathlib import Path

import pytest
from kafka.errors import (
    ClusterAuthorizationFailedError,
    IncompatibleBrokerVersion,
    KafkaConnectionError,
    KafkaError,
    KafkaProtocolError,
    KafkaTimeoutError,
    NodeNotReadyError,
    RequestTimedOutError,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
    UnknownBrokerIdError,
    for_code,
)
from tests.goldens import check_cases

from replan.kafka.api import (
    ALTER_REASSIGNMENTS,
    DESCRIBE_PARTITIONS,
    LIST_REASSIGNMENTS,
    answer,
    explained_refusal,
    raise_for,
    reason,
    retriable,
)
from replan.model.api import Accepted, Answer, OutcomeUnknown, Rejected


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        (0, None, Accepted()),
        (-1, None, OutcomeUnknown("UNKNOWN_SERVER_ERROR (-1)")),
        (7, "too late", OutcomeUnknown("REQUEST_TIMED_OUT (7): too late")),
        (41, None, OutcomeUnknown("NOT_CONTROLLER (41)")),
        (39, "broker 99", Rejected(39, "INVALID_REPLICA_ASSIGNMENT", "broker 99")),
        (38, "3 to 4", Rejected(38, "INVALID_REPLICATION_FACTOR", "3 to 4")),
        (
            84,
            None,
            Rejected(84, "ELECTION_NOT_NEEDED", "Leader election not needed for topic partition."),
        ),
        (32000, None, Rejected(32000, "CODE_32000", "CODE_32000")),
    ],
)
def test_a_code_becomes_an_answer(code: int, message: str | None, expected: Answer) -> None:
    assert answer(code, message) == expected


@pytest.mark.parametrize(
    ("failure", "again"),
    [
        (KafkaConnectionError("gone"), True),
        (KafkaTimeoutError(), True),
        (RequestTimedOutError("slow"), True),
        (NodeNotReadyError(3), True),
        (UnknownBrokerIdError(3), True),
        (for_code(41)(), True),
        (for_code(-1)(), True),
        (for_code(100)(), True),  # a topic that was created a moment ago
        (ClusterAuthorizationFailedError(), False),
        (SaslAuthenticationFailedError("no"), False),
        (IncompatibleBrokerVersion("old"), False),
        (KafkaProtocolError("garbage"), False),
        (for_code(42)(), False),
        (ValueError("ours"), False),
    ],
)
def test_only_what_passes_by_itself_is_asked_again(failure: Exception, again: bool) -> None:
    assert retriable(failure) is again


REFUSED = [
    (LIST_REASSIGNMENTS, ClusterAuthorizationFailedError("Cluster not authorized.")),
    (DESCRIBE_PARTITIONS, TopicAuthorizationFailedError("orders")),
    (ALTER_REASSIGNMENTS, SaslAuthenticationFailedError("bad password")),
    (DESCRIBE_PARTITIONS, IncompatibleBrokerVersion("no such api")),
    (ALTER_REASSIGNMENTS, for_code(42)("odd")),
    (LIST_REASSIGNMENTS, for_code(114)("not a broker")),
]


def test_a_refusal_says_what_would_help() -> None:
    """In `goldens/failures.txt`."""
    told = [(reason(why), str(explained_refusal(what, why))) for what, why in REFUSED]
    check_cases(Path(__file__).parent / "goldens" / "failures.txt", told)


def test_a_whole_request_with_a_code_raises_and_one_without_does_not() -> None:
    raise_for(0, None)
    with pytest.raises(KafkaError) as raised:
        raise_for(31, "Cluster authorization failed.")
    assert (
        reason(raised.value) == "CLUSTER_AUTHORIZATION_FAILED (31): Cluster authorization failed."
    )


def test_a_failure_without_words_is_called_by_its_name() -> None:
    assert reason(KafkaTimeoutError()) == "KafkaTimeoutError"
    assert reason(KafkaConnectionError("111 ECONNREFUSED")) == "111 ECONNREFUSED"


def test_what_a_broker_says_of_its_own_objects_is_left_out() -> None:
    """KafkaApis puts the whole request into its words, with connection, session and listener."""
    told = (
        "Request Request(processor=1, connectionId=127.0.0.1:9092-127.0.0.1:1-0, session=Session(User:ann,/127.0.0.1), "
        "listenerName=ListenerName(CLIENT), securityProtocol=SASL_SSL, buffer=null, envelope=None) is not authorized."
    )
    failure = ClusterAuthorizationFailedError(told)

    said = "CLUSTER_AUTHORIZATION_FAILED (31): the request is not authorized."
    assert reason(failure) == said
    assert str(explained_refusal(LIST_REASSIGNMENTS, failure)).startswith(
        f"ListPartitionReassignments is not permitted: {said}\n"
    )
    assert answer(31, told) == Rejected(
        31, "CLUSTER_AUTHORIZATION_FAILED", "the request is not authorized."
    )
