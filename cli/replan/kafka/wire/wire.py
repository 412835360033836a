"""The connection that carries kafka-python's message objects; the only module that knows its networking.

kafka-python's admin client answers with dictionaries that lose codes and messages, and remembers a
"controller" for ever; its message classes do neither. So this module drives the connection manager below
the admin client: one IO thread, one connection per broker. A request without a broker goes to `home`, the one
broker that answers until it fails: any broker forwards to the active controller (KIP-590), and successive
views of the metadata should come from one place.

A request is sent once, over a connection that is known to work. Asking again is the caller's business.
"""

import logging
import random
import time
from collections.abc import Mapping
from typing import Any

from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError
from kafka.net.inet import KafkaNetSocket
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from replan.errors import ClusterUnreachable
from replan.kafka.failures import API_VERSIONS, passes, reason, refusal
from replan.kafka.properties.client_properties import ClientProperties
from replan.model.names import BrokerId

CONNECT_SECONDS = 5.0
"""To open a connection to one broker, security handshakes included."""
_PAUSE_SECONDS = 0.05
_STARTING_SECONDS = 1.0
_ROUND_SECONDS = 0.25
_MISSES = 4


class Wire:
    """An open connection to a cluster; made by `connect`."""

    def __init__(self, net: Any, manager: Any) -> None:
        self._net = net
        self._manager = manager
        self._home: int | None = None
        self._failed: int | None = None
        self._misses = 0

    def ask(self, request: Any, *, limit_seconds: float) -> Any:
        """Send one request to the home broker and return the decoded response.

        Raises:
            KafkaError: not delivered, not answered in time, or refused by the client itself.
        """
        return self._net.run(self._ask_home, request, limit_seconds)

    def ask_each(
        self, requests: Mapping[BrokerId, Any], *, limit_seconds: float
    ) -> dict[BrokerId, Any]:
        """Send each broker its request, all at once; the answer of a broker may be a KafkaError."""
        found: dict[BrokerId, Any] = self._net.run(self._ask_all, requests, limit_seconds)
        return found

    def knows(self, request: Any, version: int) -> bool:
        """Whether the cluster takes this version of a request class."""
        ranges = self._manager.broker_version_data.api_versions
        return bool(ranges.get(request.API_KEY, (0, -1))[1] >= version)

    def close(self) -> None:
        """Close every connection and end the IO thread; a second call does nothing."""
        if self._manager.closed:
            return
        self._net.run(self._manager.close)
        self._net.close()

    async def _ask_home(self, request: Any, limit_seconds: float) -> Any:
        deadline = time.monotonic() + limit_seconds
        connection = await self._home_connection(min(deadline, time.monotonic() + CONNECT_SECONDS))
        try:
            response = await self._exchange(connection, request, deadline - time.monotonic())
        except KafkaError:
            self._missed()
            raise
        self._misses = 0
        return response

    def _missed(self) -> None:
        """Leave the home broker only after several misses in a row.

        One whose controller is frozen lets go of it 30 s after it began to wait (controller.socket.timeout.ms),
        while any other broker would begin only now. One that is dead or frozen itself takes no new
        connection, and is left for that.
        """
        self._misses += 1
        if self._misses >= _MISSES:
            self._failed, self._home, self._misses = self._home, None, 0

    async def _ask_all(
        self, requests: Mapping[BrokerId, Any], limit_seconds: float
    ) -> dict[BrokerId, Any]:
        deadline = time.monotonic() + limit_seconds
        exchanges = {
            broker: self._manager.call_soon(self._ask_one, broker, request, deadline)
            for broker, request in requests.items()
        }
        return {broker: await exchange for broker, exchange in exchanges.items()}

    async def _ask_one(self, broker: BrokerId, request: Any, deadline: float) -> Any:
        """Ask one broker; one that takes no connection may be just starting, so it is tried for a second."""
        give_up = min(deadline, time.monotonic() + _STARTING_SECONDS)
        while True:
            try:
                connection = await self._connection(broker, deadline)
                return await self._exchange(connection, request, deadline - time.monotonic())
            except KafkaError as failure:
                if time.monotonic() > give_up or not passes(failure):
                    return failure
            await self._net.sleep(_PAUSE_SECONDS)

    async def _home_connection(self, deadline: float) -> Any:
        """Connect to the home broker, or to the first other one that takes a connection."""
        while True:
            last: KafkaError = KafkaConnectionError("no broker is known")
            for broker in self._candidates():
                try:
                    connection = await self._connection(broker, deadline)
                except KafkaError as failure:
                    last = failure
                else:
                    self._home = broker
                    return connection
            if time.monotonic() > deadline or not passes(last):
                raise last
            await self._net.sleep(_PAUSE_SECONDS)

    def _candidates(self) -> list[int]:
        """All live brokers: home first, the one that failed last at the end, the rest in any order."""
        known = [int(broker.node_id) for broker in self._manager.cluster.brokers()]
        random.shuffle(known)
        return sorted(known, key=lambda b: (b != self._home, b == self._failed))

    async def _connection(self, broker: int, deadline: float) -> Any:
        if self._manager.cluster.broker_metadata(broker) is None:
            await self._manager.cluster.refresh_metadata()  # it may have joined since
        connection = self._manager.get_connection(broker)
        limit_seconds = min(CONNECT_SECONDS, deadline - time.monotonic())
        await self._until_ready(connection, max(0.0, limit_seconds))
        return connection

    async def _until_ready(self, connection: Any, limit_seconds: float) -> None:
        """Wait for a connection; one that is not ready in time is given up (a TLS handshake has no limit)."""
        try:
            await self._manager.wait_for(connection.init_future, limit_seconds * 1000)
        except KafkaTimeoutError:
            failure = KafkaConnectionError(f"no connection within {limit_seconds:.0f} s")
            connection.close(failure)
            raise failure from None

    async def _exchange(self, connection: Any, request: Any, limit_seconds: float) -> Any:
        while connection.paused and limit_seconds > 0:  # a quota, or a full buffer
            await self._net.sleep(_PAUSE_SECONDS)
            limit_seconds -= _PAUSE_SECONDS
        milliseconds = max(1.0, limit_seconds * 1000)
        return await connection.send_request(request, request_timeout_ms=milliseconds)


def connect(properties: ClientProperties, *, limit_seconds: float) -> Wire:
    """Connect to the first address that answers; dead ones among living ones cost a few seconds at most.

    Raises:
        ClusterUnreachable: none answers within the limit; says what each address did.
        ClusterRefused: the credentials are not accepted.
    """
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # its news go into our errors instead
    net = NetworkSelector(client_id=properties.client_id)
    net.start()
    try:
        return Wire(net, _first_answering(net, properties, limit_seconds))
    except BaseException:
        net.close()
        raise


def _first_answering(net: Any, properties: ClientProperties, limit_seconds: float) -> Any:
    addresses = list(properties.addresses)
    random.shuffle(addresses)
    deadline = time.monotonic() + limit_seconds
    slice_seconds = min(3.0, max(1.0, limit_seconds / len(addresses)))
    failures: dict[str, str] = {}
    while True:
        for address in addresses:
            try:
                return _bootstrap(net, properties, address, slice_seconds)
            except KafkaError as failure:
                if not passes(failure):
                    raise refusal(API_VERSIONS, failure) from failure
                failures[address] = reason(failure)
            if time.monotonic() > deadline:
                raise unreachable(failures, limit_seconds)
        time.sleep(_ROUND_SECONDS)


class _ClosedOnFailure(KafkaNetSocket):  # type: ignore[misc]  # kafka-python has no types
    """Sockets that are closed where connecting fails; kafka-python leaves that to the garbage collection."""

    SCHEMES = ("replan",)

    async def sock_connect(self, net: Any, sock: Any, sockaddr: Any, timeout_at: Any = None) -> Any:
        try:
            return await super().sock_connect(net, sock, sockaddr, timeout_at=timeout_at)
        except BaseException:
            sock.close()
            raise


def _bootstrap(net: Any, properties: ClientProperties, address: str, limit_seconds: float) -> Any:
    """Learn of all brokers from one address."""
    manager = KafkaConnectionManager(
        net,
        bootstrap_servers=[address],
        client_id=properties.client_id,
        max_in_flight_requests_per_connection=1000,  # more are refused, not queued
        receive_message_max_bytes=1_000_000_000,
        reconnect_backoff_max_ms=1000,
        proxy_url="replan://no-proxy",  # chooses _ClosedOnFailure
        socket_connection_setup_timeout_ms=CONNECT_SECONDS * 1000,
        **properties.kafka_python,
    )
    try:
        net.run(_probe, manager, limit_seconds)
        manager.bootstrap(limit_seconds * 1000)
    except BaseException:
        net.run(manager.close)
        raise
    return manager


async def _probe(manager: Any, limit_seconds: float) -> None:
    """Connect to the bootstrap address, so that a failure tells its reason: `bootstrap` keeps it to itself."""
    node = manager.cluster.bootstrap_brokers()[0].node_id
    connection = manager.get_connection(
        node,
        timeout_ms=limit_seconds * 1000,
        pop_on_close=False,
        refresh_metadata_on_err=False,
        reset_backoff_on_connect=False,
    )
    try:
        await manager.wait_for(connection.init_future, limit_seconds * 1000)
    except KafkaTimeoutError:
        failure = KafkaConnectionError(f"no answer within {limit_seconds:.0f} s")
        connection.close(failure)
        raise failure from None


def unreachable(failures: Mapping[str, str], seconds: float) -> ClusterUnreachable:
    """Explain that nobody answers: who was tried, for how long, what each did, and what to check."""
    tried = "".join(f"\n  {address}: {text}" for address, text in sorted(failures.items()))
    return ClusterUnreachable(
        f"no broker answers; tried for {seconds:.0f} s:{tried}\n"
        "  check the addresses, that this machine may connect to them,"
        " and that security.protocol is the one of that listener"
    )
