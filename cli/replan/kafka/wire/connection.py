"""One connection to one broker: how it is opened, and its requests with their responses in order.

A broker works on one request of a connection after another, so requests that are sent together are answered in the
order in which they were sent, each by a broker that knows at least what it knew before.
"""

import errno
import itertools
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kafka.errors import (
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
    for_code,
)

from replan.kafka.certificates import (
    CertificateProblem,
    CertificateRefused,
    refused_certificate,
)
from replan.kafka.client_properties import Address, ClientProperties
from replan.kafka.failures import SASL_AUTHENTICATE, SASL_HANDSHAKE, Operation
from replan.kafka.messages import SaslAuthenticate, SaslHandshake
from replan.kafka.security import is_given, valid_until
from replan.kafka.wire.conversations import (
    READ,
    WRITE,
    Conversation,
    SocketWait,
    in_background,
)
from replan.kafka.wire.frames import (
    ASKING,
    NOT_ASKED,
    Question,
    answer_in,
    frame_length,
    unchecked,
    version_for,
)

_RECEIVED_AT_ONCE = 1_000_000
_SENT_AT_ONCE = 64 * 1024
"""Bytes that fit into the buffers on the way. A broker reads no request before the response to the last one is taken:
whoever sends more than that and takes none waits for ever."""
_Frame = tuple[bytes, Question, int, int]


class BrokerConnection:
    """An open connection; made by `open_connection`."""

    def __init__(self, address: Address, properties: ClientProperties, sock: Any) -> None:
        self.address = address
        self.abilities = NOT_ASKED
        """As the broker said last."""
        self.busy = False
        """Whether somebody waits for its answers."""
        self._ends_at = float("inf")
        self._client_id = properties.client_id.encode()
        self._socket = sock
        self._numbers = itertools.count(1)

    def usable(self) -> bool:
        """Whether it is open, and its session goes on (KIP-368: a broker ends it when its lifetime is over)."""
        if self._socket is None or time.monotonic() >= self._ends_at:
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)  # nothing was asked, so only an end can come

    def ends_in(self, seconds: float) -> None:
        """The broker ends this session after so long."""
        self._ends_at = time.monotonic() + seconds

    def close(self) -> None:
        """Close it; a second call does nothing."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def ask(
        self, questions: Sequence[Question], until: float, answers: list[Any] | None = None
    ) -> Conversation[list[Any]]:
        """Send the requests and read their responses, into `answers`; one that says no is a BrokerResponseError there.

        A failure closes the connection, as later answers would be taken for those to other requests.

        Raises:
            KafkaError: not sent, not answered in time, or not understood.
        """
        if self._socket is None:
            raise KafkaConnectionError("the connection was closed")
        frames = []
        for question, number in zip(questions, self._numbers, strict=False):
            version = version_for(question.message, self.abilities.versions)
            frame = question.frame(version, number, self._client_id)
            frames.append((frame, question, version, number))
        answers = [] if answers is None else answers
        self.busy = True
        try:
            for group in _at_once(frames):
                yield from self._send(b"".join(frame for frame, *_ in group), until)
                for _, question, version, number in group:
                    body = yield from self._receive(until)
                    answers.append(answer_in(body, question, version, number))
        except BaseException:
            self.close()
            raise
        finally:
            self.busy = False
        return answers

    def ask_abilities(self, until: float) -> Conversation[None]:
        """Let the broker say what it can, and how far it has read.

        Raises:
            KafkaError: it does not.
        """
        (abilities,) = yield from self.ask([ASKING], until)
        if isinstance(abilities, KafkaError):
            raise abilities
        self.abilities = abilities

    def _send(self, content: bytes, until: float) -> Conversation[None]:
        unsent = memoryview(content)
        while unsent:
            sent = yield from self._when_ready(self._socket.send, unsent, WRITE, until)
            unsent = unsent[sent:]

    def _receive(self, until: float) -> Conversation[bytes]:
        header = yield from self._receive_exactly(4, until)
        length = frame_length(bytes(header), first=self.abilities is NOT_ASKED)
        return (yield from self._receive_exactly(length, until))

    def _receive_exactly(self, length: int, until: float) -> Conversation[bytes]:
        content = bytearray(length)
        unfilled = memoryview(content)
        while unfilled:
            part = unfilled[:_RECEIVED_AT_ONCE]
            count = yield from self._when_ready(self._socket.recv_into, part, READ, until)
            if not count:
                raise KafkaConnectionError("it closed the connection")
            unfilled = unfilled[count:]
        return bytes(content)

    def _when_ready(
        self, act: Callable[[memoryview], int], part: memoryview, event: int, until: float
    ) -> Conversation[int]:
        """Do what may have to wait for the socket; TLS may have to read before it can write."""
        while True:
            try:
                return act(part)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError) as wanted:
                yield SocketWait(until, self._socket, event_of(wanted, event))
            except OSError as problem:
                refused = refused_certificate(problem)
                raise refused or KafkaConnectionError(socket_error_text(problem)) from problem


def _at_once(frames: Sequence[_Frame]) -> Iterator[list[_Frame]]:
    """The frames in order, as many together as are sent before a response is taken."""
    group, size = list[_Frame](), 0
    for frame in frames:
        if group and size + len(frame[0]) > _SENT_AT_ONCE:
            yield group
            group, size = [], 0
        group.append(frame)
        size += len(frame[0])
    if group:
        yield group


def event_of(wanted: OSError, event: int) -> int:
    """What to wait for: TLS says it itself, a plain socket waits for `event`."""
    if isinstance(wanted, ssl.SSLWantReadError):
        return READ
    return WRITE if isinstance(wanted, ssl.SSLWantWriteError) else event


def socket_error_text(problem: OSError) -> str:
    """A failure of a socket, with the name of its number."""
    if (
        problem.errno is not None
        and problem.errno in errno.errorcode
        and not isinstance(problem, ssl.SSLError)
    ):
        return f"{problem.errno} {errno.errorcode[problem.errno]}"
    return (
        str(problem.reason)
        if isinstance(problem, ssl.SSLError) and problem.reason
        else str(problem)
    )


# Opening a connection to one broker: its name, TCP, TLS, the versions that it knows, SASL.


def open_connection(
    address: Address, properties: ClientProperties, until: float
) -> Conversation[BrokerConnection]:
    """Connect to an address and get ready to ask.

    Raises:
        KafkaConnectionError: nobody listens there, or what listens is no Kafka broker.
        CertificateRefused: its certificate is not accepted here, or ours not there.
        SaslAuthenticationFailedError: it does not accept the credentials.
    """
    addresses = yield from _resolved(address, until)
    sock = yield from first_reached(addresses, until)
    try:
        if properties.tls is not None:
            sock = yield from _secured(sock, address, properties.tls, until)
        connection = BrokerConnection(address, properties, sock)
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


def first_reached(addresses: Sequence[Any], until: float) -> Conversation[socket.socket]:
    """Connect to the first of some addresses, as `getaddrinfo` has them, that takes it; each may take its share of the
    time, so that one that swallows everything does not hide those after it.

    Raises:
        KafkaError: none does; what the last one did.
    """
    failure: KafkaError = KafkaConnectionError("the name does not resolve")
    for number, one in enumerate(addresses):
        now = time.monotonic()
        try:
            return (yield from _reached(one, now + (until - now) / (len(addresses) - number)))
        except KafkaError as problem:
            failure = problem
    raise failure


def _reached(one: Any, until: float) -> Conversation[socket.socket]:
    family, kind, protocol, _, where = one
    try:
        sock = socket.socket(family, kind, protocol)
    except OSError as failure:  # no IPv6 on this machine, or too many open files
        raise KafkaConnectionError(socket_error_text(failure)) from failure
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if sock.connect_ex(where) == errno.EINPROGRESS:
            yield SocketWait(until, sock, WRITE)
        problem = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or sock.connect_ex(where)
    except BaseException:
        sock.close()
        raise
    if problem in {0, errno.EISCONN}:
        return sock
    sock.close()
    raise KafkaConnectionError(socket_error_text(OSError(problem, "")))


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
    held = sock
    try:
        held = secured = context.wrap_socket(
            sock, server_hostname=address.host, do_handshake_on_connect=False
        )
        while True:
            try:
                secured.do_handshake()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as wanted:
                yield SocketWait(until, secured, event_of(wanted, READ))
            else:
                return secured
    except OSError as problem:
        held.close()
        failed = KafkaConnectionError(f"TLS handshake failed: {socket_error_text(problem)}")
        raise refused_certificate(problem) or failed from problem
    except BaseException:
        held.close()
        raise


# SASL on an open connection: the handshake and kafka-python's mechanisms (KIP-43, KIP-152, KIP-368).
#
# A mechanism may look up hosts, ask a ticket server or a token endpoint, so each of its steps runs in the background.

_USED_SHARE = 0.85
"""A session is left after this share of its life, before the broker ends it."""


def authenticate(
    connection: BrokerConnection, sasl: Mapping[str, object], until: float
) -> Conversation[None]:
    """Prove who asks.

    Raises:
        SaslAuthenticationFailedError, UnsupportedSaslMechanismError: the broker does not accept it.
    """
    from kafka.net.sasl import get_sasl_mechanism

    name = str(sasl["sasl_mechanism"])
    yield from _shake_hands(connection, name, until)
    host = connection.address.host
    make = get_sasl_mechanism(name)
    mechanism = yield from _step(lambda: make(host=host, **sasl), until)
    lifetime_milliseconds = 0
    while not mechanism.is_done():
        proof = yield from _step(mechanism.auth_bytes, until)
        reply = yield from _ask(
            connection, SASL_AUTHENTICATE, SaslAuthenticate(auth_bytes=proof), until
        )
        if reply.error_code:
            raise SaslAuthenticationFailedError(reply.error_message or "no reason given")
        lifetime_milliseconds = reply.session_lifetime_ms
        yield from _step(lambda: mechanism.receive(reply.auth_bytes), until)  # noqa: B023  # at once
    if not mechanism.is_authenticated():
        raise SaslAuthenticationFailedError(f"{name} did not come to its end")
    if lifetime_milliseconds > 0:
        connection.ends_in(_USED_SHARE * lifetime_milliseconds / 1000)


def _shake_hands(connection: BrokerConnection, name: str, until: float) -> Conversation[None]:
    reply = yield from _ask(connection, SASL_HANDSHAKE, SaslHandshake(mechanism=name), until)
    if reply.error_code == UnsupportedSaslMechanismError.errno:
        raise UnsupportedSaslMechanismError(
            f"the broker does not take {name}; it takes {', '.join(reply.mechanisms)}"
        )
    if reply.error_code:
        raise for_code(reply.error_code)


def _ask(
    connection: BrokerConnection, operation: Operation, message: Any, until: float
) -> Conversation[Any]:
    (reply,) = yield from connection.ask([Question(operation, message, unchecked(message))], until)
    return reply


def _step(work: Callable[[], Any], until: float) -> Conversation[Any]:
    """One step of a mechanism; libraries raise what they like, so it is reported as a failure of the proof."""
    try:
        return (yield from in_background(work, until))
    except (KafkaError, GeneratorExit):
        raise
    except OSError as problem:
        raise KafkaConnectionError(str(problem)) from problem
    except Exception as problem:
        raise SaslAuthenticationFailedError(f"{type(problem).__name__}: {problem}") from problem
