"""The way into a cluster: the first of the given addresses that answers tells of all brokers, and one becomes home.

All addresses are tried at the same time, so that dead ones among living ones cost nothing.

Opening a connection to one broker: its name, TCP, TLS, the versions that it knows, SASL.
"""

import errno
import socket
import ssl
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError

from replan.errors import ClusterUnreachable
from replan.kafka.certificates import (
    CertificateProblem,
    CertificateRefused,
    refused_certificate,
)
from replan.kafka.failures import DESCRIBE_CLUSTER, passes, reason, refusal
from replan.kafka.messages import DescribeCluster
from replan.kafka.properties.client_properties import Address, ClientProperties
from replan.kafka.properties.own_certificate import is_given, valid_until
from replan.kafka.wire.conversations import (
    READ,
    WRITE,
    Connection,
    Conversation,
    Wait,
    converse,
    event_of,
    in_background,
    text_of,
)
from replan.kafka.wire.flexible import Question
from replan.kafka.wire.sasl import authenticate
from replan.kafka.wire.wire import CONNECT_SECONDS, Interrupt, Wire
from replan.model.names import BrokerId


def opened(
    address: Address, properties: ClientProperties, until: float
) -> Conversation[Connection]:
    """Connect to an address and get ready to ask.

    Raises:
        KafkaConnectionError: nobody listens there, or what listens is no Kafka broker.
        CertificateRefused: its certificate is not accepted here, or ours not there.
        SaslAuthenticationFailedError: it does not accept the credentials.
    """
    sock = yield from _connected(address, until)
    try:
        if properties.tls is not None:
            sock = yield from _secured(sock, address, properties.tls, until)
        connection = Connection(address, properties, sock)
        try:
            yield from connection.ask_abilities(until)
            if properties.sasl is not None:
                yield from authenticate(connection, properties.sasl, until)
        except BaseException:
            connection.close()
            raise
    except CertificateRefused as refused:
        raise _explained(refused, properties) from refused
    return connection


def _explained(refused: CertificateRefused, properties: ClientProperties) -> CertificateRefused:
    """The same, where a broker does not say that the client's certificate is missing or has expired."""
    if refused.problem is CertificateProblem.OWN_NOT_TRUSTED:
        if not is_given(properties.librdkafka):
            return CertificateRefused(CertificateProblem.OWN_MISSING, str(refused.args[0]))
        end = valid_until(properties.librdkafka)
        if end is not None and end < time.time():
            when = datetime.fromtimestamp(end, UTC).isoformat(timespec="seconds")
            return CertificateRefused(CertificateProblem.OWN_EXPIRED, f"it was valid until {when}")
    return refused


def _connected(address: Address, until: float) -> Conversation[socket.socket]:
    failure = KafkaConnectionError("the name does not resolve")
    for family, kind, protocol, _, where in (yield from _resolved(address, until)):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if sock.connect_ex(where) == errno.EINPROGRESS:
                yield Wait(until, sock, WRITE)
            problem = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or sock.connect_ex(where)
            if problem in (0, errno.EISCONN):
                return sock
            failure = KafkaConnectionError(text_of(OSError(problem, "")))
        except BaseException:
            sock.close()
            raise
        sock.close()
    raise failure


def _resolved(address: Address, until: float) -> Conversation[list[Any]]:
    """The socket addresses; a name is looked up in the background, since a name server may be silent for long."""
    try:
        return _look_up(address, socket.AI_NUMERICHOST)
    except socket.gaierror:
        pass
    try:
        return (yield from in_background(lambda: _look_up(address, 0), until))
    except (OSError, UnicodeError):
        raise KafkaConnectionError("the name does not resolve") from None


def _look_up(address: Address, flags: int) -> list[Any]:
    return socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=flags)


def _secured(
    sock: socket.socket, address: Address, context: ssl.SSLContext, until: float
) -> Conversation[ssl.SSLSocket]:
    try:
        secured = context.wrap_socket(
            sock, server_hostname=address.host, do_handshake_on_connect=False
        )
    except BaseException:
        sock.close()
        raise
    try:
        while True:
            try:
                secured.do_handshake()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as wanted:
                yield Wait(until, secured, event_of(wanted, READ))
            else:
                return secured
    except OSError as problem:
        secured.close()
        failed = KafkaConnectionError(f"TLS handshake failed: {text_of(problem)}")
        raise refused_certificate(problem) or failed from problem
    except BaseException:
        secured.close()
        raise


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
