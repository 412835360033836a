"""The way into a cluster: the first of the given addresses that answers tells of all brokers, and one becomes home.

All addresses are tried at the same time, so that dead ones among living ones cost nothing.
"""

import time
from collections.abc import Mapping
from typing import Any

from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError

from replan.errors import ClusterUnreachable
from replan.kafka.failures import DESCRIBE_CLUSTER, passes, reason, refusal
from replan.kafka.messages import DescribeCluster
from replan.kafka.properties.client_properties import Address, ClientProperties
from replan.kafka.wire.connection import Connection, opened
from replan.kafka.wire.conversations import Conversation, Interrupt, converse
from replan.kafka.wire.frames import Question
from replan.kafka.wire.wire import CONNECT_SECONDS, Wire
from replan.model.names import BrokerId

_SHORTEST_SECONDS = 1.0
_ROUND_SECONDS = 0.25


def describe_cluster(*, operations: bool = False) -> Question:
    """The question for the cluster's id and its brokers, with the fenced ones from Kafka 4.1 on (KIP-1073).

    `operations`: and for what this user may do on the cluster (KIP-430).
    """
    return Question(
        DescribeCluster(
            include_fenced_brokers=True, include_cluster_authorized_operations=operations
        )
    )


def addresses_in(described: Any) -> dict[BrokerId, Address]:
    """Where live brokers listen, out of an answer to `describe_cluster`."""
    return {
        BrokerId(b.broker_id): Address(b.host, b.port) for b in described.brokers if not b.is_fenced
    }


def connect(properties: ClientProperties, interrupt: Interrupt, *, limit_seconds: float) -> Wire:
    """Connect to the first address that answers, and from there to a broker by the address that it advertises.

    Raises:
        ClusterUnreachable: none answers within the limit; says what each address did.
        ClusterRefused: the credentials are not accepted, or the cluster is too old.
    """
    connection, described = _first_answering(properties, limit_seconds, interrupt)
    return _at_home(properties, connection, addresses_in(described), interrupt)


def _first_answering(
    properties: ClientProperties, limit_seconds: float, interrupt: Interrupt
) -> tuple[Connection, Any]:
    deadline, calls = time.monotonic() + limit_seconds, interrupt.calls
    failures: dict[str, KafkaError] = {}
    while True:
        until = max(deadline, time.monotonic() + min(_SHORTEST_SECONDS, limit_seconds))
        until = min(until, time.monotonic() + CONNECT_SECONDS)
        asking = {a: _introduced(a, properties, until) for a in properties.addresses}
        found = converse(asking, until=until, interrupt=interrupt, first_suffices=True)
        for address, result in found.items():
            if not isinstance(result, KafkaError):
                return result
            failures[str(address)] = result
        # One that will not do is no reason to refuse while another may.
        final = [f for f in failures.values() if not passes(f)]
        if len(final) == len(properties.addresses):
            raise refusal(DESCRIBE_CLUSTER, final[0]) from final[0]
        late = time.monotonic() + _ROUND_SECONDS > deadline
        if not late:
            interrupt.sleep(_ROUND_SECONDS)
        if late or interrupt.calls > calls:
            raise _unreachable({a: reason(f) for a, f in failures.items()}, limit_seconds)


def _introduced(
    address: Address, properties: ClientProperties, until: float
) -> Conversation[tuple[Connection, Any]]:
    """Connect and ask who is there."""
    try:
        connection = yield from opened(address, properties, until)
        try:
            (described,) = yield from connection.ask([describe_cluster()], until)
        except KafkaConnectionError as failure:
            wants = "it closed the connection at the first request, as listeners do that want SASL"
            raise KafkaConnectionError(wants) from failure
    except KafkaTimeoutError as failure:
        raise KafkaTimeoutError("no answer in time") from failure
    if isinstance(described, KafkaError):
        connection.close()
        raise described
    return connection, described


def _at_home(
    properties: ClientProperties,
    connection: Connection,
    addresses: Mapping[BrokerId, Address],
    interrupt: Interrupt,
) -> Wire:
    wire = Wire(properties, addresses, interrupt)
    for broker, address in addresses.items():
        if address == connection.address:
            wire.settle_at(broker, connection)
            return wire
    connection.close()
    try:
        wire.find_home(time.monotonic() + CONNECT_SECONDS)
    except KafkaError as failure:
        wire.close()
        if not passes(failure):
            raise refusal(DESCRIBE_CLUSTER, failure) from failure
        raise ClusterUnreachable(
            f"{connection.address} answers, but the brokers cannot be reached where it says that they are:\n"
            f"  advertised.listeners: {reason(failure)}\n"
            "  check that this machine can resolve and reach what advertised.listeners of the brokers says,"
            " or give the address of another listener"
        ) from failure
    return wire


def _unreachable(failures: Mapping[str, str], seconds: float) -> ClusterUnreachable:
    """Explain that nobody answers: who was tried, for how long, what each did, and what to check."""
    tried = "".join(f"\n  {address}: {text}" for address, text in sorted(failures.items()))
    return ClusterUnreachable(
        f"no broker answers; tried for {round(seconds, 1):g} s:{tried}\n"
        "  check the addresses, that this machine may connect to them,"
        " and that security.protocol is the one of that listener"
    )
