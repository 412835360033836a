"""Kafka's messages to bytes and back, by the schemas that Kafka itself is generated from.

A message is a dict whose keys are the schema's own field names; a field that is left out has
its default. Only flexible versions are spoken (KIP-482), and always the newest one that the
schema knows. Which messages mean what is not here.
"""

import json
import re
import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Message = dict[str, Any]

NUMBERS = {"bool": "?", "int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "int64": ">q"}
NOTHING = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message in one version; `fields` if it is a structure or a list of them."""

    name: str
    kind: str
    listed: bool
    nullable: bool
    tag: int | None
    default: Any
    fields: tuple["Field", ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """A message type: its key, and its fields in one version."""

    name: str
    key: int
    version: int
    fields: tuple[Field, ...]


class Schemas:
    """The schemas of one Kafka version, read from its folder as they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.schema = cache(self._schema)

    def record_names(self) -> dict[int, str]:
        """The metadata records by their key."""
        documents = (_document(path) for path in self._folder.glob("*Record.json"))
        return {each["apiKey"]: each["name"] for each in documents if each["type"] == "metadata"}

    def _schema(self, name: str, version: int | None = None) -> Schema:
        file = "ZkMigrationRecord" if name == "ZkMigrationStateRecord" else name
        document = _document(self._folder / f"{file}.json")
        chosen = _span(document["validVersions"])[1] if version is None else version
        shared = {each["name"]: each["fields"] for each in document.get("commonStructs", [])}
        return Schema(
            name, document.get("apiKey", -1), chosen, _fields(document["fields"], chosen, shared)
        )


def _document(path: Path) -> Message:
    text = re.sub(r"(?m)^\s*//.*$", "", path.read_text())
    document: Message = json.loads(text)
    return document


def _span(versions: str) -> tuple[int, int]:
    if versions == "none":
        return (1, 0)
    first, dash, last = versions.rstrip("+").partition("-")
    if versions.endswith("+"):
        return (int(first), 32767)
    return (int(first), int(last if dash else first))


def _within(version: int, versions: str) -> bool:
    first, last = _span(versions)
    return first <= version <= last


def _fields(
    described: Sequence[Message], version: int, shared: Mapping[str, Sequence[Message]]
) -> tuple[Field, ...]:
    present = [each for each in described if _within(version, each["versions"])]
    return tuple(_field(each, version, shared) for each in present)


def _field(each: Message, version: int, shared: Mapping[str, Sequence[Message]]) -> Field:
    kind = each["type"].removeprefix("[]")
    listed = each["type"].startswith("[]")
    inner = each.get("fields") or shared.get(kind, ())
    tagged = "tag" in each and _within(version, each.get("taggedVersions", "none"))
    return Field(
        each["name"],
        kind,
        listed,
        _within(version, each.get("nullableVersions", "none")),
        int(each["tag"]) if tagged else None,
        _default(each.get("default"), kind, listed=listed),
        _fields(inner, version, shared),
    )


def _default(written: Any, kind: str, *, listed: bool) -> Any:
    if written == "null":
        return None
    if listed:
        return []
    if kind in NUMBERS:
        return written in {True, "true"} if kind == "bool" else int(str(written or 0), 0)
    empty: Message = {"string": "", "uuid": NOTHING, "bytes": b"", "records": b""}
    return written or empty.get(kind, {})


def unsigned_varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(fields: Sequence[Field], message: Mapping[str, Any]) -> bytes:
    """The message's bytes.

    Raises:
        ValueError: it has a field that the schema does not know in this version.
    """
    unknown = message.keys() - {field.name for field in fields}
    if unknown:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    plain = b"".join(
        _encode_field(field, message.get(field.name, field.default))
        for field in fields
        if field.tag is None
    )
    tagged = [
        (field.tag, _encode_field(field, message[field.name]))
        for field in fields
        if field.tag is not None and field.name in message
    ]
    tags = b"".join(
        unsigned_varint(tag) + unsigned_varint(len(body)) + body for tag, body in sorted(tagged)
    )
    return plain + unsigned_varint(len(tagged)) + tags


def _encode_field(field: Field, value: Any) -> bytes:
    if not field.listed:
        return _encode_one(field, value)
    if value is None:
        return b"\x00"
    return unsigned_varint(len(value) + 1) + b"".join(_encode_one(field, one) for one in value)


def _encode_one(field: Field, value: Any) -> bytes:
    match field.kind:
        case number if number in NUMBERS:
            return struct.pack(NUMBERS[number], value)
        case "uuid":
            return bytes(value.bytes)
        case "string" | "bytes" | "records":
            if value is None:
                return b"\x00"
            body = value.encode() if field.kind == "string" else value
            return unsigned_varint(len(body) + 1) + bytes(body)
        case _ if field.nullable and not field.listed:
            return b"\xff" if value is None else b"\x01" + encode(field.fields, value)
        case _:
            return encode(field.fields, value)


class Reader:
    """A position in some bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def take(self, count: int) -> bytes:
        """The next bytes."""
        taken = self._content[self._at : self._at + count]
        if len(taken) < count:
            raise ValueError(f"{count} bytes wanted at {self._at}, {len(taken)} there")
        self._at += count
        return taken

    def number(self, layout: str) -> Any:
        """The next number, in `struct`'s spelling."""
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def unsigned_varint(self) -> int:
        """The next variable-length number."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def varint(self) -> int:
        """The next signed variable-length number (zig-zag)."""
        value = self.unsigned_varint()
        return (value >> 1) ^ -(value & 1)


def decode(fields: Sequence[Field], reader: Reader) -> Message:
    """The message at the reader's position."""
    message = {field.name: _decode_field(field, reader) for field in fields if field.tag is None}
    tagged = {field.tag: field for field in fields if field.tag is not None}
    message |= {field.name: field.default for field in tagged.values()}
    for _ in range(reader.unsigned_varint()):
        tag, size = reader.unsigned_varint(), reader.unsigned_varint()
        body = reader.take(size)
        if tag in tagged:
            message[tagged[tag].name] = _decode_field(tagged[tag], Reader(body))
    return message


def _decode_field(field: Field, reader: Reader) -> Any:
    if not field.listed:
        return _decode_one(field, reader)
    count = reader.unsigned_varint() - 1
    return None if count < 0 else [_decode_one(field, reader) for _ in range(count)]


def _decode_one(field: Field, reader: Reader) -> Any:
    match field.kind:
        case number if number in NUMBERS:
            return reader.number(NUMBERS[number])
        case "uuid":
            return uuid.UUID(bytes=reader.take(16))
        case "string" | "bytes" | "records":
            size = reader.unsigned_varint() - 1
            body = reader.take(size) if size >= 0 else None
            return body.decode() if field.kind == "string" and body is not None else body
        case _ if field.nullable and not field.listed and reader.number(">b") < 0:
            return None
        case _:
            return decode(field.fields, reader)
