"""One open connection to one broker: requests, and their responses in order. How it is opened: `opening`.

A broker works on one request of a connection after another, so requests that are sent together are answered in the
order in which they were sent, each by a broker that knows at least what it knew before.
"""

import errno
import itertools
import select
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Any

from kafka.errors import KafkaConnectionError, KafkaError

from replan.kafka.certificates import refused_certificate
from replan.kafka.properties.client_properties import Address, ClientProperties
from replan.kafka.wire.abilities import ASKING, UNKNOWN
from replan.kafka.wire.conversations import READ, WRITE, Conversation, Wait
from replan.kafka.wire.frames import Question, answer_in, frame_length, version_for

_RECEIVED_AT_ONCE = 1_000_000


class Connection:
    """An open connection; made by `opening.opened`."""

    def __init__(self, address: Address, properties: ClientProperties, sock: Any) -> None:
        self.address = address
        self.abilities = UNKNOWN
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
        sent = [
            (q, version_for(q.message, self.abilities.versions), next(self._numbers))
            for q in questions
        ]
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

    def ask_abilities(self, until: float) -> Conversation[None]:
        """Let the broker say what it can, and how far it has read.

        Raises:
            KafkaError: it does not.
        """
        (found,) = yield from self.ask([ASKING], until)
        if isinstance(found, KafkaError):
            raise found
        self.abilities = found

    def _send(self, content: bytes, until: float) -> Conversation[None]:
        left = memoryview(content)
        while left:
            sent = yield from self._when_ready(self._socket.send, left, WRITE, until)
            left = left[sent:]

    def _receive(self, until: float) -> Conversation[bytes]:
        header = yield from self._receive_exactly(4, until)
        length = frame_length(bytes(header), first=self.abilities is UNKNOWN)
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
                yield Wait(until, self._socket, event_of(wanted, event))
            except OSError as problem:
                refused = refused_certificate(problem)
                raise refused or KafkaConnectionError(text_of(problem)) from problem


def event_of(wanted: OSError, event: int) -> int:
    """What to wait for: TLS says it itself, a plain socket waits for `event`."""
    if isinstance(wanted, ssl.SSLWantReadError):
        return READ
    return WRITE if isinstance(wanted, ssl.SSLWantWriteError) else event


def text_of(problem: OSError) -> str:
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
