"""Records as JSON, and back; the form is schema/journal.v1.json.

Both journals write the same values: lines of a file, or records of a compacted topic. A value is None for a tombstone.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

import msgspec

from replan.applying.journal.records import Forget, Kept, Record
from replan.documents.typed import complaint

_T = TypeVar("_T")
RECORD_KINDS: Mapping[str, type[Kept]] = {
    kind.begins: kind for of in get_args(Kept) for kind in (of.__subclasses__() or (of,))
}
"""What a record is, by what its key begins with."""


_DECODERS: Mapping[str, msgspec.json.Decoder[Kept]] = {
    begin: msgspec.json.Decoder(kind) for begin, kind in RECORD_KINDS.items()
}
"""A journal may hold tens of thousands of remembered orders, which every `plan` reads."""


class NewerRecord(ValueError):
    """A record that this version does not know: a newer one wrote it, and knows what it is for."""


def _begins(key: str, of: Mapping[str, _T]) -> _T | None:
    """What a key's first word, or its first two, stand for."""
    first, _, rest = key.partition("/")
    if not rest:
        return None
    return of.get(first) or of.get(f"{first}/{rest.partition('/')[0]}")


def encode_record(record: Record) -> tuple[str, bytes | None]:
    """A record as key and JSON text."""
    return record.key, None if isinstance(record, Forget) else msgspec.json.encode(record)


def decode_record(key: str, text: bytes | None) -> Record:
    """A record out of key and JSON text; raises NewerRecord, and ValueError where it is none or not this key's."""
    if text is None:
        return Forget(key)
    decoder = _begins(key, _DECODERS)
    if decoder is not None:
        try:
            record = decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass  # read again below, where what is wrong gets its place
        else:
            if record.key == key:
                return record
    try:
        return of_value(key, msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"record {key}: {error}") from error


class _Entry(msgspec.Struct, frozen=True):
    """A record in a file of its own."""

    key: str
    value: msgspec.Raw


def encode_entry(record: Record) -> str:
    """Key and value together, as a file holds one record."""
    key, value = encode_record(record)
    return msgspec.json.encode(_Entry(key, msgspec.Raw(value or b"null"))).decode()


def decode_entry(text: bytes) -> Record:
    """A record out of such a file; raises ValueError where it is none."""
    try:
        entry = msgspec.json.decode(text, type=_Entry)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
    return decode_record(entry.key, bytes(entry.value))


def of_value(key: str, value: Any) -> Record:
    """A record out of its key and its parsed value; raises as `decode_record` does."""
    kind = _begins(key, RECORD_KINDS)
    if kind is None:
        raise NewerRecord(f"record {json.dumps(key)}: no record of this version begins so")
    try:
        record: Kept = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        place, problem = complaint(error, value, kind)
        unknown = problem.startswith("unknown key")
        raise (NewerRecord if unknown else ValueError)(
            f"record {key}: ${place}: {problem}"
        ) from error
    if record.key != key:
        raise ValueError(f"record {key} holds the value of {record.key}")
    return record
