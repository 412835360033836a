"""Requests and responses as bytes: a length, a header, a message of kafka-python's; and what is no Kafka at all.

kafka-python's message classes know Kafka's schemas; its networking is not used: it decodes where it reads, remembers
failures instead of telling them, and cannot be given a deadline per broker.

`Abilities` is what a broker says of itself (ApiVersions): the requests it knows, what the cluster can do, how much it
has read.
"""

import struct
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from kafka.errors import (
    BrokerResponseError,
    KafkaConnectionError,
    KafkaProtocolError,
    UnsupportedVersionError,
)
from msgspec import Struct, field

from replan.kafka.failures import API_VERSIONS, Operation, raise_for
from replan.kafka.messages import RESPONSES, ApiVersions

LARGEST_FRAME = 1_000_000_000
LARGEST_FIRST_FRAME = 100_000_000
"""Until a broker has told its versions, it may be anything."""
_API_VERSIONS = 18

Decode = Callable[[memoryview, int], Any]
"""A response's body and its version -> what it says; raises a BrokerResponseError where it says no as a whole."""


class Question(Struct, frozen=True, eq=False, dict=True):
    """One of Kafka's requests, and how its response is read; by default as kafka-python's message.

    It may be asked again and again.
    """

    operation: Operation
    """What it is called where it fails."""
    message: Any
    decode: Decode | None = None
    forwarded: bool = False
    """The broker passes it on to the active controller, and may wait for that one."""
    repeated: bool = False
    """It is asked so often that its last answer is kept: one that is byte for byte the same is not read again."""

    @cached_property
    def _last(self) -> list[tuple[bytes, Any]]:
        """The last answer and what it says, if it is kept."""
        return []

    @cached_property
    def _bodies(self) -> dict[int, bytes]:
        """What follows the header, by version."""
        return {}

    def frame(self, version: int, correlation: int, client_id: bytes) -> bytes:
        """The request with its length and header; what follows the header is encoded once for each version."""
        if version not in self._bodies:
            self._bodies[version] = self.message.encode(version=version)
        tags = b"\0" if self.message.flexible_version_q(version) else b""
        key = self.message.API_KEY
        header = struct.pack(">hhih", key, version, correlation, len(client_id)) + client_id + tags
        return (
            struct.pack(">i", len(header) + len(self._bodies[version]))
            + header
            + self._bodies[version]
        )


def version_for(message: Any, versions: dict[int, tuple[int, int]]) -> int:
    """The version to speak: the highest that both know, within the message's own limits.

    Raises:
        UnsupportedVersionError: there is none.
    """
    lowest, highest = versions.get(message.API_KEY, (0, -1))
    most = message.max_version if message._max_version is None else message._max_version
    chosen = int(min(highest, most))
    if chosen < max(lowest, message._min_version or 0):  # kafka-python has no other way to ask
        raise UnsupportedVersionError(
            f"the broker knows versions {lowest} to {highest}"
            if highest >= 0
            else "no version of it"
        )
    return chosen


def answer_in(body: bytes, question: Question, version: int, correlation: int) -> Any:
    """Read a response frame (without its length); one that says no as a whole is a BrokerResponseError.

    Raises:
        KafkaProtocolError: it answers another request, or cannot be read.
    """
    message = question.message
    answered = struct.unpack_from(">i", body)[0] if len(body) >= 4 else None
    if answered != correlation:
        raise KafkaProtocolError(f"an answer to request {answered} instead of {correlation}")
    # A header with tags: Kafka sends none. ApiVersions has a plain header always (KIP-511).
    flexible = message.flexible_version_q(version) and message.API_KEY != _API_VERSIONS
    content = memoryview(body)[5 if flexible else 4 :]
    decode = _checked(message) if question.decode is None else question.decode
    if question.repeated and question._last and question._last[0][0] == content:
        return question._last[0][1]
    try:
        decoded = decode(content, version)
    except BrokerResponseError as failure:
        return failure
    except (ValueError, IndexError, struct.error) as problem:
        raise KafkaProtocolError(
            f"{message.name} was answered with what cannot be read"
        ) from problem
    if question.repeated:
        question._last[:] = [(bytes(content), decoded)]
    return decoded


def unchecked(message: Any) -> Decode:
    """Reads a response as kafka-python's message, whatever its error code."""
    return lambda body, version: RESPONSES[message.API_KEY][version].decode(body)


def _checked(message: Any) -> Decode:
    read = unchecked(message)

    def decode(body: memoryview, version: int) -> Any:
        told = read(body, version)
        raise_for(getattr(told, "error_code", 0), getattr(told, "error_message", None))
        return told

    return decode


def frame_length(header: bytes, *, first: bool) -> int:
    """How long the frame is that begins so.

    Raises:
        KafkaConnectionError: no Kafka broker begins so; says what does.
    """
    if first:
        if header.startswith(b"\x15\x03"):
            raise KafkaConnectionError(
                "it speaks TLS, and was asked without; security.protocol is not the listener's"
            )
        if header == b"HTTP":
            raise KafkaConnectionError("an HTTP server answers there, no Kafka broker")
        if header == b"SSH-":
            raise KafkaConnectionError("an SSH server answers there, no Kafka broker")
    length = int(struct.unpack(">i", header)[0])
    if not 4 <= length <= (LARGEST_FIRST_FRAME if first else LARGEST_FRAME):
        raise KafkaConnectionError(
            f"what answers there is no Kafka broker (it began with {header!r})"
        )
    return length


# The parts of Kafka's flexible encoding (KIP-482), read from a place in a response's body.

LONGEST_ONE_BYTE = 0x7F


class Cursor:
    """A place in a body, which moves on with each part that is read."""

    __slots__ = ("at", "content")

    def __init__(self, content: bytes, at: int = 0) -> None:
        self.content, self.at = content, at

    def skip(self, count: int) -> None:
        """Pass over so many bytes."""
        self.at += count

    def integer(self, width: int) -> int:
        """A signed number of so many bytes."""
        self.at += width
        return int.from_bytes(self.content[self.at - width : self.at], "big", signed=True)

    def boolean(self) -> bool:
        """A byte that is 0 or not."""
        self.at += 1
        return self.content[self.at - 1] != 0

    def varint(self) -> int:
        """An unsigned number in seven bits a byte, the lowest first."""
        value = shift = 0
        while True:
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & LONGEST_ONE_BYTE) << shift
            if byte <= LONGEST_ONE_BYTE:
                return value
            shift += 7

    def length(self) -> int:
        """How many elements or bytes follow; none for null."""
        return max(0, self.varint() - 1)

    def octets(self) -> bytes:
        """A string as it is encoded; empty for null."""
        length = self.length()
        self.at += length
        return self.content[self.at - length : self.at]

    def text(self) -> str:
        """A string; empty for null."""
        return self.octets().decode()

    def skip_tags(self) -> None:
        """Pass over tagged fields, which nobody here knows."""
        for _ in range(self.varint()):
            self.varint()
            self.skip(self.varint())


FIRST_VERSION = 3
"""Of Kafka 2.4."""
_OFFSET, _FINALIZED = 1, 2


class Abilities(Struct):
    """A broker's answer."""

    versions: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The lowest and highest version of each request that it knows, by API key."""
    features: Mapping[str, int] = field(default_factory=dict)
    """The finalized level of each feature."""
    metadata_offset: int = -1
    """How far it has read the log of the controllers, whose end is the cluster's present state: all that it shows is as
    of then (KRaftMetadataCache.features)."""


NOT_ASKED = Abilities({ApiVersions.API_KEY: (0, FIRST_VERSION)})
"""Of a broker that was not asked yet."""


def _read(body: memoryview, _version: int) -> Abilities:
    cursor = Cursor(bytes(body))
    if cursor.integer(2):  # in the oldest form, which has nothing else here
        raise UnsupportedVersionError("the broker is older than Kafka 2.4")
    abilities = Abilities()
    for _ in range(cursor.length()):
        key, lowest, highest = cursor.integer(2), cursor.integer(2), cursor.integer(2)
        abilities.versions[key] = lowest, highest
        cursor.skip_tags()
    cursor.skip(4)
    for _ in range(cursor.varint()):
        tag, length = cursor.varint(), cursor.varint()
        after = cursor.at + length
        if tag == _OFFSET:
            abilities.metadata_offset = cursor.integer(8)
        elif tag == _FINALIZED:
            abilities.features = _levels(cursor)
        cursor.at = after
    return abilities


def _levels(cursor: Cursor) -> dict[str, int]:
    levels = {}
    for _ in range(cursor.length()):
        name = cursor.text()
        levels[name] = cursor.integer(2)
        cursor.skip(2)
        cursor.skip_tags()
    return levels


# Brokers refuse empty software names (KIP-511).
ASKING = Question(
    API_VERSIONS, ApiVersions(client_software_name="replan", client_software_version="1"), _read
)
"""The question, which a broker answers by itself and at once: it shows also that a connection is alive."""
