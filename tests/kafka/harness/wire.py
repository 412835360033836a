"""One connection to one node, on which requests are asked and answered one after the other.

It knows framing and headers, nothing of routing or retrying: the harness speaks to exactly the
node it means. No client library takes part, so that tests of code which uses one have a second
opinion.
"""

import socket
import struct
from typing import Any

from tests.kafka.harness.closing import Closing
from tests.kafka.harness.codec import Message, Reader, Schemas, decode, encode

CLIENT = b"harness"
PATIENCE_SECONDS = 60.0


class Wire(Closing):
    """A connection to a node's listener."""

    def __init__(self, address: str, schemas: Schemas) -> None:
        host, _, port = address.rpartition(":")
        self._schemas = schemas
        self._asked = 0
        self._socket = socket.create_connection((host, int(port)), PATIENCE_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, api: str, **fields: Any) -> Message:
        """The node's answer to a request, both in the newest version that the schema has."""
        self._asked += 1
        request = self._schemas.schema(f"{api}Request")
        header = struct.pack(">hhih", request.key, request.version, self._asked, len(CLIENT))
        body = header + CLIENT + b"\x00" + encode(request.fields, fields)
        self._socket.sendall(struct.pack(">i", len(body)) + body)
        answer = Reader(self._receive(struct.unpack(">i", self._receive(4))[0]))
        if answer.number(">i") != self._asked:
            raise ConnectionError(f"the answer to another request than the last {api}")
        answer.unsigned_varint()  # the header's tags
        return decode(self._schemas.schema(f"{api}Response").fields, answer)

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _receive(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count:
            part = self._socket.recv(count)
            if not part:
                raise ConnectionError("the node closed the connection")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
