"""Doors between clients and brokers: shut, a broker lives and is silent to clients, while brokers talk to each other.

Each broker gets a listener CLIENT, and says of it the address of its door, which passes requests in and bytes out. One
request can be held back, as a network may. A thread of its own serves all doors.
"""

import asyncio
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from tests.kafka.harness.closing import Closing
from tests.kafka.harness.layout import free_ports

SECURITY = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENT:PLAINTEXT"
_AT_ONCE = 65536


class Doors(Closing):
    """A door for each of these brokers, open at first."""

    def __init__(self, brokers: Mapping[int, object]) -> None:
        ports = free_ports(2 * len(brokers))
        self._behind = dict(zip(brokers, ports[::2], strict=True))
        self.ports = dict(zip(brokers, ports[1::2], strict=True))
        self._loop = asyncio.new_event_loop()
        self._open = {broker: asyncio.Event() for broker in brokers}
        self._held_kind: int | None = None
        self._held = threading.Event()
        self._released = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name="doors", daemon=True)
        self._thread.start()

    def of(self, broker: int) -> str:
        """The address of a door."""
        return f"127.0.0.1:{self.ports[broker]}"

    def properties(self, broker: int, address: str) -> dict[str, str]:
        """What the broker that listens at this address for its peers needs in its properties file."""
        return {
            "listeners": f"PLAINTEXT://{address},CLIENT://127.0.0.1:{self._behind[broker]}",
            "advertised.listeners": f"PLAINTEXT://{address},CLIENT://{self.of(broker)}",
            "listener.security.protocol.map": SECURITY,
        }

    def shut(self, broker: int) -> None:
        """Let nothing through any more; connections stay open, and new ones are taken."""
        self._loop.call_soon_threadsafe(self._open[broker].clear)

    def open(self, broker: int) -> None:
        """Let everything through, also what was held back."""
        self._loop.call_soon_threadsafe(self._open[broker].set)

    def hold(self, kind: int) -> threading.Event:
        """Hold back the next request of a kind (Kafka's key), with all that follows on its connection, until `release`.

        Returns what is set as soon as it is there; it arrives even where its sender is gone by then.
        """
        self._held_kind = kind
        return self._held

    def release(self) -> None:
        """Let the request arrive that is held back."""
        self._loop.call_soon_threadsafe(self._released.set)

    def close(self) -> None:
        """End the thread and what it serves."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        listening = []
        for broker, port in self.ports.items():
            self._open[broker].set()
            door = asyncio.start_server(partial(self._enter, broker), "127.0.0.1", port)
            listening.append(self._loop.run_until_complete(door))
        self._loop.run_forever()
        for server in listening:
            server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _enter(
        self, broker: int, client: asyncio.StreamReader, to_client: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError, asyncio.CancelledError):
            await self._open[broker].wait()
            inside, to_inside = await asyncio.open_connection("127.0.0.1", self._behind[broker])
            await asyncio.gather(
                self._ask(broker, client, to_inside), self._pass(broker, inside, to_client)
            )
        to_client.close()

    async def _ask(
        self, broker: int, client: asyncio.StreamReader, to_inside: asyncio.StreamWriter
    ) -> None:
        """Pass requests; each begins with its size and its kind."""
        try:
            while True:
                size = await client.readexactly(4)
                request = await client.readexactly(int.from_bytes(size, "big"))
                if int.from_bytes(request[:2], "big") == self._held_kind:
                    self._held_kind = None
                    self._held.set()
                    await self._released.wait()
                await self._open[broker].wait()
                to_inside.write(size + request)
                await to_inside.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            to_inside.close()

    async def _pass(
        self, broker: int, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> None:
        try:
            while content := await source.read(_AT_ONCE):
                await self._open[broker].wait()
                sink.write(content)
                await sink.drain()
        except ConnectionError:
            pass
        finally:
            sink.close()
