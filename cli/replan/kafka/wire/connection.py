"""One connection to one broker: TCP, TLS, versions, SASL, then requests and their responses in order.

A broker works on one request of a connection after another, so requests that are sent together are answered in the
order in which they were sent, each by a broker that knows at least what it knew before.
"""

import errno
import itertools
import select
import socket
import ssl
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

from kafka.errors import KafkaConnectionError, UnsupportedVersionError
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse

from replan.kafka.failures import NotTrusted
from replan.kafka.properties.client_properties import Address, ClientProperties
from replan.kafka.wire.conversations import READ, WRITE, Conversation, Wait, in_background
from replan.kafka.wire.frames import Question, answer_in, frame_length, version_for
from replan.kafka.wire.sasl import authenticate

_RECEIVED_AT_ONCE = 1_000_000
_UNKNOWN = {ApiVersionsRequest.API_KEY: (0, 3)}  # version 3: Kafka 2.4 and newer


class Connection:
    """An open connection; made by `opened`."""

    def __init__(self, address: Address, properties: ClientProperties, sock: Any) -> None:
        self.address = address
        self.versions: dict[int, tuple[int, int]] = _UNKNOWN
        """The lowest and highest version of each request that the broker knows, by API key."""
        self.features: dict[str, int] = {}
        """The finalized level of each feature."""
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
        """Send the requests and read their responses, into `answers`.

        A failure closes the connection, as later answers would be taken for those to other requests.

        Raises:
            KafkaError: not sent, not answered in time, or not understood.
        """
        if self._socket is None:
            raise KafkaConnectionError("the connection was closed")
        sent = [(q, version_for(q.message, self.versions), next(self._numbers)) for q in questions]
        self.busy = True
        try:
            yield from self._send(
                b"".join(q.frame(v, n, self._client_id) for q, v, n in sent), until
            )
            answers = [] if answers is None else answers
            for question, version, number in sent:
                body = yield from self._receive(until)
                answers.append(answer_in(body, question, version, number))
        except BaseException:
            self.close()
            raise
        finally:
            self.busy = False
        return answers

    def _send(self, content: bytes, until: float) -> Conversation[None]:
        left = memoryview(content)
        while left:
            sent = yield from self._when_ready(self._socket.send, left, WRITE, until)
            left = left[sent:]

    def _receive(self, until: float) -> Conversation[bytes]:
        header = yield from self._receive_exactly(4, until)
        length = frame_length(bytes(header), first=self.versions is _UNKNOWN)
        return (yield from self._receive_exactly(length, until))

    def _receive_exactly(self, length: int, until: float) -> Conversation[bytes]:
        content = bytearray(length)
        left = memoryview(content)
        while left:
            part = left[:_RECEIVED_AT_ONCE]
            count = yield from self._when_ready(self._socket.recv_into, part, READ, until)
            if not count:
                raise KafkaConnectionError("it closed the connection")
            left = left[count:]
        return bytes(content)

    def _when_ready(
        self, act: Callable[[memoryview], int], part: memoryview, event: int, until: float
    ) -> Conversation[int]:
        """Do what may have to wait for the socket; TLS may have to read before it can write."""
        while True:
            try:
                return act(part)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError) as wanted:
                yield Wait(until, self._socket, _event_of(wanted, event))
            except OSError as problem:
                raise KafkaConnectionError(_text(problem)) from problem


def opened(
    address: Address, properties: ClientProperties, until: float
) -> Conversation[Connection]:
    """Connect to an address and get ready to ask.

    Raises:
        KafkaConnectionError: nobody listens there, or what listens is no Kafka broker.
        NotTrusted: its certificate is not.
        SaslAuthenticationFailedError: it does not accept the credentials.
    """
    sock = yield from _connected(address, until)
    if properties.tls is not None:
        sock = yield from _secured(sock, address, properties.tls, until)
    connection = Connection(address, properties, sock)
    try:
        yield from _learn_versions(connection, until)
        if properties.sasl is not None:
            yield from authenticate(connection, properties.sasl, until)
    except BaseException:
        connection.close()
        raise
    return connection


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
            failure = KafkaConnectionError(_text(OSError(problem, "")))
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
                yield Wait(until, secured, _event_of(wanted, READ))
            else:
                return secured
    except ssl.SSLCertVerificationError as problem:
        secured.close()
        raise NotTrusted(problem.verify_message or str(problem)) from problem
    except OSError as problem:
        secured.close()
        raise KafkaConnectionError(f"TLS handshake failed: {_text(problem)}") from problem
    except BaseException:
        secured.close()
        raise


def _learn_versions(connection: Connection, until: float) -> Conversation[None]:
    # Brokers refuse empty software names (KIP-511).
    message = ApiVersionsRequest(client_software_name="replan", client_software_version="1")
    (found,) = yield from connection.ask([Question(message, _versions)], until)
    connection.versions = {
        api.api_key: (api.min_version, api.max_version) for api in found.api_keys
    }
    connection.features = {f.name: f.max_version_level for f in found.finalized_features or ()}


def _versions(body: memoryview, version: int) -> Any:
    if struct.unpack_from(">h", body)[0]:  # in the oldest form, which has nothing else here
        raise UnsupportedVersionError("the broker is older than Kafka 2.4")
    return ApiVersionsResponse[version].decode(body)


def _event_of(wanted: OSError, event: int) -> int:
    if isinstance(wanted, ssl.SSLWantReadError):
        return READ
    return WRITE if isinstance(wanted, ssl.SSLWantWriteError) else event


def _text(problem: OSError) -> str:
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
