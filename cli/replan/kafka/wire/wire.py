"""A cluster that can be asked: one connection to each broker, and one to `home`, all of them in rounds with a deadline.

A request without a broker goes to `home`, the one broker that answers until it fails: any broker forwards to the active
controller (KIP-590), and successive views of the metadata should come from one place. A request is sent once; asking
again is the caller's business. A broker that has not answered is asked again with back-off (`Silence`).

To get in, all given addresses are tried at the same time, so that dead ones among living ones cost nothing. The first
that answers tells of all brokers, and one of them becomes home.
"""

import contextlib
import random
import resource
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError
from msgspec import Struct

from replan.errors import ClusterUnreachable
from replan.kafka.client_properties import Address, ClientProperties
from replan.kafka.failures import (
    DESCRIBE_CLUSTER,
    ControllerSilent,
    explained_refusal,
    reason,
    retriable,
)
from replan.kafka.messages import DescribeCluster
from replan.kafka.wire.connection import BrokerConnection, open_connection
from replan.kafka.wire.conversations import (
    HURRY_SECONDS,
    Conversation,
    CutShort,
    Interrupt,
    converse,
    pause_for,
)
from replan.kafka.wire.frames import ASKING, NOT_ASKED, Abilities, Question
from replan.model.names import BrokerId

CONNECT_SECONDS = 5.0
"""To open a connection to one broker, security handshakes included."""
_SHORTEST_SECONDS = 1.0
_ROUND_SECONDS = 0.25


def cluster_question(*, operations: bool = False) -> Question:
    """The question for the cluster's id and its brokers, with the fenced ones from Kafka 4.1 on (KIP-1073).

    `operations`: and for what this user may do on the cluster (KIP-430).
    """
    return Question(
        DESCRIBE_CLUSTER,
        DescribeCluster(
            include_fenced_brokers=True, include_cluster_authorized_operations=operations
        ),
    )


def addresses_in(described: Any) -> dict[BrokerId, Address]:
    """Where live brokers listen, out of an answer to `cluster_question`."""
    return {
        BrokerId(b.broker_id): Address(b.host, b.port) for b in described.brokers if not b.is_fenced
    }


def connect(properties: ClientProperties, interrupt: Interrupt, *, limit_seconds: float) -> "Wire":
    """Connect to the first address that answers, and from there to a broker by the address that it advertises.

    Raises:
        ClusterUnreachable: none answers within the limit; says what each address did.
        ClusterRefused: the credentials are not accepted, or the cluster is too old.
    """
    connection, described = _first_answering(properties, limit_seconds, interrupt)
    return _at_home(properties, connection, addresses_in(described), interrupt)


def _first_answering(
    properties: ClientProperties, limit_seconds: float, interrupt: Interrupt
) -> tuple[BrokerConnection, Any]:
    deadline, calls = time.monotonic() + limit_seconds, interrupt.calls
    failures: dict[str, KafkaError] = {}
    while True:
        until = max(deadline, time.monotonic() + min(_SHORTEST_SECONDS, limit_seconds))
        until = min(until, time.monotonic() + CONNECT_SECONDS)
        asking = {a: _introduced(a, properties, until) for a in properties.addresses}
        results = converse(asking, until=until, interrupt=interrupt, first_suffices=True)
        for address, result in results.items():
            if not isinstance(result, KafkaError):
                return result
            failures[str(address)] = result
        # One that will not do is no reason to refuse while another may.
        final = [f for f in failures.values() if not retriable(f)]
        if len(final) == len(properties.addresses):
            raise explained_refusal(DESCRIBE_CLUSTER, final[0]) from final[0]
        late = time.monotonic() + _ROUND_SECONDS > deadline
        if not late:
            interrupt.sleep(_ROUND_SECONDS)
        if late or interrupt.calls > calls:
            raise _unreachable({a: reason(f) for a, f in failures.items()}, limit_seconds)


def _introduced(
    address: Address, properties: ClientProperties, until: float
) -> Conversation[tuple[BrokerConnection, Any]]:
    """Connect and ask who is there."""
    try:
        connection = yield from open_connection(address, properties, until)
        try:
            (described,) = yield from connection.ask([cluster_question()], until)
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
    connection: BrokerConnection,
    addresses: Mapping[BrokerId, Address],
    interrupt: Interrupt,
) -> "Wire":
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
        if not retriable(failure):
            raise explained_refusal(DESCRIBE_CLUSTER, failure) from failure
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


# What is connected: whom is asked, and in which rounds.

HOME_SECONDS = 3.0
"""For what the home broker answers by itself and at once; it is frozen otherwise."""
_LONGEST_LAG_SECONDS = 30.0
"""How far metadata may be behind those of another broker; up to 8 s have been seen under load."""
_STARTING_SECONDS = 1.0
_PAUSE_SECONDS = 0.05
_MISSES = 4
_RACING = 3
"""Brokers that are tried at the same time where any of them will do."""
_SLOW_SECONDS = 0.5
"""After this, others are tried beside them: a connection takes a few round trips."""


class Wire:
    """Connections to one cluster; made by `connect`. Threads may share it, and take turns."""

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
        self._connections: dict[BrokerId, BrokerConnection] = {}
        self._home: tuple[BrokerId, BrokerConnection] | None = None
        self._misses = 0
        self._abilities = NOT_ASKED
        """Of the home broker, as of its last answer."""
        self._read_at = time.monotonic()
        self._silence = Silence()
        self._room = room_for_connections(len(addresses))
        self._turn = threading.RLock()

    @property
    def features(self) -> Mapping[str, int]:
        """The finalized features of the cluster, as the home broker knows them."""
        return self._abilities.features

    def knows(self, request: Any, version: int) -> bool:
        """Whether the home broker takes this version of a request class."""
        return bool(self._abilities.versions.get(request.API_KEY, (0, -1))[1] >= version)

    def listens(self, addresses: Mapping[BrokerId, Address]) -> None:
        """The cluster says where its live brokers listen; who has come back is asked at once."""
        for broker in addresses.keys() - self.addresses.keys():
            self._silence.heard(broker)
        self.addresses = dict(addresses)

    def ask(self, question: Question, *, limit_seconds: float) -> Any:
        """Ask the home broker one thing.

        Raises:
            KafkaError: not delivered, not answered in time, or not understood.
        """
        (answer,), _ = self.round([question], {}, home_seconds=limit_seconds, broker_seconds=0)
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    def ask_broker(self, broker: BrokerId, question: Question, *, limit_seconds: float) -> Any:
        """Ask one broker one thing, once. Raises as `ask`."""
        asked = {broker: [question]}
        _, answers = self.round([], asked, home_seconds=0, broker_seconds=limit_seconds)
        (answer,) = answers[broker]
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
            began, calls = time.monotonic(), self.interrupt.calls
            not_asked: KafkaError = KafkaTimeoutError("not asked: too many others did not answer")
            asking: dict[BrokerId | None, Conversation[list[Any]]] = {}
            if of_home:
                forwarded = any(question.forwarded for question in of_home)
                try:
                    home = self._home_that_answers(began + home_seconds, sure=forwarded)
                    asking[None] = self._ask_home(home, of_home, began + home_seconds)
                except KafkaError as failure:
                    not_asked = failure
            now = time.monotonic()
            until = max(began + home_seconds, now + broker_seconds)
            if self.interrupt.calls > calls:
                until = min(until, now + HURRY_SECONDS)
            for broker, questions in of_brokers.items():
                asking[broker] = self._ask_broker(broker, questions, now + broker_seconds)
            results = converse(
                asking, until=until, interrupt=self.interrupt, at_once=self._room.at_once
            )
            of_all = {b: results.get(b, not_asked) for b in of_brokers}
            return _each(results.get(None, not_asked), of_home), {
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

    def settle_at(self, broker: BrokerId, connection: BrokerConnection) -> BrokerConnection:
        """Take this open connection for home."""
        self._leave_home()
        self._home, self._misses = (broker, connection), 0
        self._abilities, self._read_at = connection.abilities, time.monotonic()
        return connection

    def _leave_home(self, why: KafkaError | None = None) -> None:
        if self._home is not None:
            broker, connection = self._home
            connection.close()
            if why is not None:
                self._silence.missed(broker, why)
        self._home = None

    def _home_that_answers(self, until: float, *, sure: bool) -> BrokerConnection:
        """The home broker; where `sure`, it has just answered what it answers by itself.

        So a request that may wait for the active controller is never given to a broker that is frozen.

        Raises:
            KafkaError: none answers.
        """
        if self._home is None or not self._home[1].usable():
            return self.find_home(until)
        connection = self._home[1]
        if sure:
            soon = min(until, time.monotonic() + HOME_SECONDS)
            asking = {None: connection.ask_abilities(soon)}
            late = KafkaTimeoutError("no answer in time")
            failure = converse(asking, until=soon, interrupt=self.interrupt).get(None, late)
            if failure is not None:
                self._leave_home(failure)
                return self.find_home(until)
        return connection

    def _ask_home(
        self, connection: BrokerConnection, questions: Sequence[Question], until: float
    ) -> Conversation[list[Any]]:
        """Ask the home broker; leaves it for others where it should have answered and did not.

        One whose controller is frozen closes it 30 s after it began to wait (controller.socket.timeout.ms), while
        any other broker would begin only now: it is left only after several misses.
        """
        answers: list[Any] = []
        try:
            yield from connection.ask([*questions, ASKING], until, answers)
        except KafkaError as failure:
            self._misses += 1
            waits = len(answers) < len(questions) and questions[len(answers)].forwarded
            if not waits or self._misses >= _MISSES:
                self._leave_home(failure)
            error = failure
            if waits and isinstance(failure, KafkaTimeoutError):
                error = ControllerSilent("a broker answers, and waits for the active controller")
            return [*answers, *[error] * len(questions)][: len(questions)]
        abilities = answers.pop()
        if isinstance(abilities, Abilities):
            self._abilities, self._read_at = abilities, time.monotonic()
        self._misses = 0
        return answers

    def _ask_broker(
        self, broker: BrokerId, questions: Sequence[Question], until: float
    ) -> Conversation[list[Any]]:
        """Ask one broker, once."""
        skipped = self._silence.why_not(broker)
        if skipped is not None:
            return [skipped] * len(questions)
        answers: list[Any] = []
        try:
            connection = yield from self._connected(broker, until)
            yield from connection.ask(questions, until, answers)
        except KafkaError as failure:
            if retriable(failure):
                self._silence.missed(broker, failure)
            return [*answers, *[failure] * (len(questions) - len(answers))]
        self._silence.heard(broker)
        return answers

    def _connected(self, broker: BrokerId, until: float) -> Conversation[BrokerConnection]:
        """A connection to a broker; one that takes none may be just starting, so it is tried for a second."""
        pooled = self._connections.pop(broker, None)
        if pooled is not None and pooled.usable():
            self._connections[broker] = pooled  # the last one used stands last
            return pooled
        if pooled is not None:
            pooled.close()
        self._room.make(self._connections)
        began = time.monotonic()
        while True:
            try:
                connection = yield from self._open(broker, until)
            except KafkaConnectionError:
                if time.monotonic() - began > _STARTING_SECONDS or self._silence.knows(broker):
                    raise
                yield from pause_for(_PAUSE_SECONDS)
            else:
                self._connections[broker] = connection
                return connection

    def _open(self, broker: BrokerId, until: float) -> Conversation[BrokerConnection]:
        address = self.addresses.get(broker)
        if address is None:
            raise KafkaConnectionError(f"broker {broker} is not live")
        until = min(until, time.monotonic() + CONNECT_SECONDS)
        try:
            return (yield from open_connection(address, self._properties, until))
        except KafkaConnectionError as failure:
            raise KafkaConnectionError(
                f"broker {broker} at {address}: {reason(failure)}"
            ) from failure
        except KafkaTimeoutError as failure:
            raise type(failure)(f"broker {broker} at {address} did not answer in time") from failure

    def find_home(self, until: float) -> BrokerConnection:
        """Open a connection to some broker: to the one that was home, else several tried at the same time.

        Where many have just died, and nothing refuses, others are tried beside those that are waited for.

        Raises:
            KafkaError: none takes one; the failure of the last that was tried.
        """
        former = None if self._home is None else self._home[0]
        others = [broker for broker in self.addresses if broker != former]
        random.shuffle(others)
        others.sort(key=self._silence.knows)
        failure: KafkaError = KafkaConnectionError("no broker is known")
        calls = self.interrupt.calls
        for group in [others] if former not in self.addresses else [[former], others]:
            if time.monotonic() >= until or self.interrupt.calls > calls:
                break
            results = converse(
                {broker: self._opened_home(broker, until) for broker in group},
                until=until,
                interrupt=self.interrupt,
                first_suffices=True,
                at_once=_RACING,
                slow_seconds=_SLOW_SECONDS,
            )
            for broker, result in results.items():
                if not isinstance(result, KafkaError):
                    return self.settle_at(broker, result)
                failure = result
        raise failure

    def _opened_home(self, broker: BrokerId, until: float) -> Conversation[BrokerConnection]:
        """A connection to a broker that has read what another one showed before, so that no view goes back.

        A cluster that was restored has less to read; after a while nobody waits for it.
        """
        connection = yield from self._open(broker, until)
        try:
            yield from self._caught_up(connection, until)
        except BaseException:
            connection.close()
            raise
        return connection

    def _caught_up(self, connection: BrokerConnection, until: float) -> Conversation[None]:
        least = self._abilities.metadata_offset
        enough = self._read_at + _LONGEST_LAG_SECONDS
        while connection.abilities.metadata_offset < least and time.monotonic() < enough:
            if time.monotonic() >= until:
                raise KafkaTimeoutError("its metadata are behind those of the broker before")
            yield from pause_for(_PAUSE_SECONDS)
            yield from connection.ask_abilities(until)


def _each(answers: Any, questions: Sequence[Question]) -> list[Any]:
    """An answer for each question, where one failure may stand for all."""
    return [answers] * len(questions) if isinstance(answers, KafkaError) else list(answers)


# Which brokers have not answered, and when to ask them again: nobody waits long for the same one twice in a minute.

LONGEST_BACK_OFF_SECONDS = 60.0


class _Silent(Struct, frozen=True):
    since: float
    failures: int
    ask_again_at: float
    reason: str


class Silence:
    """The memory of one process; times are monotonic seconds."""

    def __init__(self) -> None:
        self._silent: dict[BrokerId, _Silent] = {}

    def heard(self, broker: BrokerId) -> None:
        """It answers, or there is reason to think so."""
        self._silent.pop(broker, None)

    def missed(self, broker: BrokerId, failure: KafkaError) -> None:
        """It does not: ask again in a minute, or after 1, 2, 4 ... seconds where it refuses a connection at once.

        That nobody waited for it says nothing of a broker.
        """
        if isinstance(failure, CutShort):
            return
        now = time.monotonic()
        before = self._silent.get(broker)
        failures = 1 if before is None else before.failures + 1
        back_off = LONGEST_BACK_OFF_SECONDS
        if isinstance(failure, KafkaConnectionError):
            back_off = min(back_off, 2.0 ** (failures - 1))
        since = now if before is None else before.since
        self._silent[broker] = _Silent(since, failures, now + back_off, reason(failure))

    def knows(self, broker: BrokerId) -> bool:
        """Whether it did not answer when it was asked last."""
        return broker in self._silent

    def why_not(self, broker: BrokerId) -> KafkaConnectionError | None:
        """Why a broker is not asked now, if so."""
        silence, now = self._silent.get(broker), time.monotonic()
        if silence is None or silence.ask_again_at <= now:
            return None
        return KafkaConnectionError(
            f"broker {broker} has not answered for {now - silence.since:.0f} s ({silence.reason});"
            f" it is asked again in {silence.ask_again_at - now:.0f} s"
        )


# How many connections this process may hold: a broker of a large cluster may need a file that is not there.

_OTHERS = 64
"""Files that are open for something else."""
_EACH = 3
"""Files that a broker may need while its connection is made: the name is looked up beside it."""
_AT_ONCE = 250


class ConnectionRoom(Struct, frozen=True):
    """How many connections there may be."""

    connections: int

    @property
    def at_once(self) -> int:
        """How many brokers may be asked at the same time."""
        return max(1, min(_AT_ONCE, self.connections // _EACH))

    def make(self, held: dict[BrokerId, BrokerConnection]) -> None:
        """Close those that have rested longest where there are as many as there may be."""
        resting = [broker for broker, connection in held.items() if not connection.busy]
        for broker in resting[: max(0, len(held) + _EACH * self.at_once - self.connections)]:
            held.pop(broker).close()


def room_for_connections(brokers: int) -> ConnectionRoom:
    """Raise the soft limit of open files as far as these brokers need and the hard limit lets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = brokers + _EACH * _AT_ONCE + _OTHERS
    most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    limit = wanted if soft == resource.RLIM_INFINITY else soft
    return ConnectionRoom(max(_EACH, limit - _OTHERS))
