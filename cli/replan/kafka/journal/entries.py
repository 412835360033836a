"""Records of the journal as keys and values of the topic."""

import json
from typing import Any

from replan.applying.journal.record_json import decode, encode
from replan.applying.journal.records import Record
from replan.documents.json_text import parse_json


def entry(record: Record) -> tuple[bytes, bytes | None]:
    """Key and value of a record; a tombstone has no value."""
    key, value = encode(record)
    text = None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return key.encode(), None if text is None else text.encode()


def record_of(key: bytes, value: bytes) -> Record:
    """Read it again; raises ValueError where it is no record."""
    found: Any = parse_json(value.decode())
    return decode(key.decode(), found)
