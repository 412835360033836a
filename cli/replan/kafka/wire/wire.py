"""A cluster that can be asked: one connection to each broker, and one to `home`, all of them in rounds with a deadline.

A request without a broker goes to `home`, the one broker that answers until it fails: any broker forwards to the active
controller (KIP-590), and successive views of the metadata should come from one place. A request is sent once; asking
again is the caller's business. A broker that has not answered is asked again with back-off (`silence`).
"""

import random
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError

from replan.kafka.failures import passes, reason
from replan.kafka.properties.client_properties import Address, ClientProperties
from replan.kafka.wire.connection import Connection
from replan.kafka.wire.conversations import Conversation, converse, pause
from replan.kafka.wire.frames import Question
from replan.kafka.wire.interrupt import Interrupt
from replan.kafka.wire.open_files import room_for_connections
from replan.kafka.wire.opening import opened
from replan.kafka.wire.silence import Silence
from replan.model.names import BrokerId

CONNECT_SECONDS = 5.0
"""To open a connection to one broker, security handshakes included."""
_STARTING_SECONDS = 1.0
_PAUSE_SECONDS = 0.05
_MISSES = 4
_RACING = 3
"""Brokers that are tried at the same time where any of them will do."""


class Wire:
    """Connections to one cluster; made by `bootstrap.connect`. Threads may share it, and take turns."""

    def __init__(
        self,
        properties: ClientProperties,
        addresses: Mapping[BrokerId, Address],
        interrupt: Interrupt,
    ) -> None:
        self.interrupt = interrupt
        self.addresses = dict(addresses)
        """Where live brokers listen, as the cluster says."""
        self._properties = properties
        self._connections: dict[BrokerId, Connection] = {}
        self._home: tuple[BrokerId, Connection] | None = None
        self._failed: BrokerId | None = None
        self._misses = 0
        self._silence = Silence()
        self._room = room_for_connections(len(addresses))
        self._turn = threading.RLock()

    @property
    def features(self) -> Mapping[str, int]:
        """The finalized features of the cluster, as the home broker knows them."""
        return {} if self._home is None else self._home[1].features

    def knows(self, request: Any, version: int) -> bool:
        """Whether the home broker takes this version of a request class."""
        versions = {} if self._home is None else self._home[1].versions
        return bool(versions.get(request.API_KEY, (0, -1))[1] >= version)

    def ask(self, question: Question, *, limit_seconds: float) -> Any:
        """Ask the home broker one thing.

        Raises:
            KafkaError: not delivered, not answered in time, or not understood.
        """
        (answer,), _ = self.round([question], {}, home_seconds=limit_seconds, broker_seconds=0)
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    def round(
        self,
        of_home: Sequence[Question],
        of_brokers: Mapping[BrokerId, Sequence[Question]],
        *,
        home_seconds: float,
        broker_seconds: float,
    ) -> tuple[list[Any], dict[BrokerId, list[Any]]]:
        """Ask the home broker its questions, in this order, and meanwhile each broker its own, once.

        A KafkaError stands for what was not answered.
        """
        with self._turn:
            began = time.monotonic()
            asking: dict[BrokerId | None, Conversation[list[Any]]] = {
                broker: self._ask_broker(broker, questions, began + broker_seconds)
                for broker, questions in of_brokers.items()
            }
            if of_home:
                asking[None] = self._ask_home(of_home, began + home_seconds)
            found = converse(
                asking,
                until=began + max(home_seconds, broker_seconds),
                interrupt=self.interrupt,
                at_once=self._room.at_once,
            )
            not_asked = KafkaTimeoutError("not asked: too many others did not answer")
            of_all = {b: found.get(b, not_asked) for b in of_brokers}
            return _each(found.get(None, not_asked), of_home), {
                b: _each(answer, of_brokers[b]) for b, answer in of_all.items()
            }

    def close(self) -> None:
        """Close every connection; a second call does nothing."""
        with self._turn:
            for connection in self._connections.values():
                connection.close()
            self._connections.clear()
            if self._home is not None:
                self._home[1].close()

    def settle_at(self, broker: BrokerId, connection: Connection) -> tuple[BrokerId, Connection]:
        """Take this open connection for home."""
        if self._home is not None:
            self._home[1].close()
        self._home, self._misses = (broker, connection), 0
        return self._home

    def _ask_home(self, questions: Sequence[Question], until: float) -> Conversation[list[Any]]:
        """Ask the home broker; leaves it for others where it should have answered and did not.

        One whose controller is frozen closes it 30 s after it began to wait (controller.socket.timeout.ms), while
        any other broker would begin only now: it is left only after several misses.
        """
        answers: list[Any] = []
        try:
            broker, connection = yield from self._connected_home(until)
        except KafkaError as failure:
            return [failure] * len(questions)
        try:
            yield from connection.ask(questions, until, answers)
        except KafkaError as failure:
            self._misses += 1
            if not questions[len(answers)].forwarded or self._misses >= _MISSES:
                self._home, self._failed, self._misses = None, broker, 0
            return [*answers, *[failure] * (len(questions) - len(answers))]
        self._misses = 0
        return answers

    def _ask_broker(
        self, broker: BrokerId, questions: Sequence[Question], until: float
    ) -> Conversation[list[Any]]:
        """Ask one broker; one that takes no connection may be just starting, so it is tried for a second."""
        skipped = self._silence.why_not(broker)
        if skipped is not None:
            return [skipped] * len(questions)
        began = time.monotonic()
        answers: list[Any] = []
        while True:
            try:
                connection = yield from self._connected(broker, until)
                yield from connection.ask(questions, until, answers)
            except KafkaError as problem:
                failure, now = problem, time.monotonic()
                refused = isinstance(problem, KafkaConnectionError) and not answers
                if not refused or now - began > _STARTING_SECONDS or self._silence.knows(broker):
                    break
                yield from pause(_PAUSE_SECONDS)
            else:
                self._silence.heard(broker)
                return answers
        if passes(failure):
            self._silence.missed(broker, time.monotonic() - began, reason(failure))
        return [*answers, *[failure] * (len(questions) - len(answers))]

    def _connected(self, broker: BrokerId, until: float) -> Conversation[Connection]:
        known = self._connections.pop(broker, None)
        if known is not None and known.usable():
            self._connections[broker] = known  # the last one used stands last
            return known
        if known is not None:
            known.close()
        self._room.make(self._connections)
        connection = yield from self._open(broker, until)
        self._connections[broker] = connection
        return connection

    def _open(self, broker: BrokerId, until: float) -> Conversation[Connection]:
        address = self.addresses.get(broker)
        if address is None:
            raise KafkaConnectionError(f"broker {broker} is not live")
        until = min(until, time.monotonic() + CONNECT_SECONDS)
        try:
            return (yield from opened(address, self._properties, until))
        except KafkaConnectionError as failure:
            raise KafkaConnectionError(
                f"broker {broker} at {address}: {reason(failure)}"
            ) from failure
        except KafkaTimeoutError as failure:
            raise KafkaTimeoutError(
                f"broker {broker} at {address} did not answer in time"
            ) from failure

    def _connected_home(self, until: float) -> Conversation[tuple[BrokerId, Connection]]:
        """The home broker, or the first other one that takes a connection.

        Raises:
            KafkaError: none does; the failure of the last that was tried.
        """
        if self._home is not None and self._home[1].usable():
            return self._home
        last: KafkaError = KafkaConnectionError("no broker is known")
        for broker in self._candidates():
            try:
                connection = yield from self._open(broker, until)
            except KafkaError as failure:
                last = failure
            else:
                return self.settle_at(broker, connection)
        raise last

    def _candidates(self) -> list[BrokerId]:
        """All live brokers: home first, the one that failed last at the end, the rest in any order."""
        former = None if self._home is None else self._home[0]
        known = list(self.addresses)
        random.shuffle(known)
        return sorted(known, key=lambda b: (b != former, b == self._failed))

    def find_home(self, until: float) -> None:
        """Open a connection to some broker, several tried at the same time.

        Raises:
            KafkaError: none takes one; the failure of the last that was tried.
        """
        candidates, failures = self._candidates(), list[KafkaError]()
        while candidates and time.monotonic() < until:
            racing, candidates = candidates[:_RACING], candidates[_RACING:]
            found = converse(
                {broker: self._open(broker, until) for broker in racing},
                until=until,
                interrupt=self.interrupt,
                first_suffices=True,
            )
            for broker, result in found.items():
                if not isinstance(result, KafkaError):
                    self.settle_at(broker, result)
                    return
                failures.append(result)
        raise failures[-1] if failures else KafkaConnectionError("no broker is known")


def _each(answers: Any, questions: Sequence[Question]) -> list[Any]:
    """An answer for each question, where one failure may stand for all."""
    return [answers] * len(questions) if isinstance(answers, KafkaError) else list(answers)
