"""Opening a connection to one broker: its name, TCP, TLS, the versions that it knows, SASL."""

import errno
import socket
import ssl
import time
from datetime import UTC, datetime
from typing import Any

from kafka.errors import KafkaConnectionError

from replan.kafka.certificates import (
    CertificateProblem,
    CertificateRefused,
    refused_certificate,
)
from replan.kafka.properties.client_properties import Address, ClientProperties
from replan.kafka.properties.own_certificate import is_given, valid_until
from replan.kafka.wire.connection import Connection, event_of, text_of
from replan.kafka.wire.conversations import READ, WRITE, Conversation, Wait, in_background
from replan.kafka.wire.sasl import authenticate


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
