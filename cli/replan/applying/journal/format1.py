"""Journals of format 1, read only: one line per append, with the checksum of its canonical JSON.

Opening such a journal writes it again in today's format. Kept so that an application that an earlier version opened can
be resumed, or at least abandoned.
"""

import json
import zlib
from typing import Any

from replan.applying.journal.record_json import of_value
from replan.applying.journal.records import Forget, Record
from replan.applying.journal.steps import Reached
from replan.documents.json_text import parse_json

BEGINNING = b'{"at":'


def records_of(line: bytes) -> list[Record]:
    """The records of one line; raises ValueError where it is not as it was written."""
    document: Any = parse_json(line.decode())
    if not isinstance(document, dict) or document.get("crc") != _checksum(document):
        raise ValueError("its checksum does not fit")
    return [_record(r["key"], r["value"]) for r in document["records"]]


def _checksum(document: dict[str, Any]) -> str:
    rest = {key: value for key, value in document.items() if key != "crc"}
    text = json.dumps(rest, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return f"{zlib.crc32(text.encode()):08x}"


def _record(key: str, value: dict[str, Any] | None) -> Record:
    if value is None:
        return Forget(key)
    if "topicId" in value:
        value = {**value, "partition": [value["topic"], value["partition"]]}
        del value["topic"]
    if "reached" in value:
        value = {**value, "reached": Reached[value["reached"].upper()].value}
    return of_value(key, value)
