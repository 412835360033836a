"""A record is read as it was written; what is no record of this version is refused by its path."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.unit.applying.journal.records import RECORDS

from replan.applying.api import (
    RECORD_KINDS,
    Forget,
    NewerRecord,
    Record,
    decode_record,
    encode_record,
)

SCHEMA = json.loads((Path(__file__).parents[4] / "schema" / "journal.v1.json").read_text())


@pytest.mark.parametrize("record", [*RECORDS, Forget("own/a-1/x-0")], ids=lambda r: r.key)
def test_a_record_is_read_as_it_was_written_and_fits_the_schema(record: Record) -> None:
    key, value = encode_record(record)
    document = {"key": key, "value": None if value is None else json.loads(value)}
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert decode_record(key, value) == record


def test_every_kind_has_an_example() -> None:
    assert {type(r) for r in RECORDS} == set(RECORD_KINDS.values())


OWN: dict[str, Any] = json.loads(encode_record(RECORDS[3])[1] or b"")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("app/1", {}, 'record app/1: $: "id" is missing'),
        ("own/1", [], "record own/1: $: expected an object, found []"),
        (
            RECORDS[3].key,
            {**OWN, "original": [1, 2, 1]},
            f"record {RECORDS[3].key}: $.original: broker 1 is listed twice; name it once",
        ),
        (
            RECORDS[3].key,
            {**OWN, "partition": ["orders", -1]},
            f"record {RECORDS[3].key}: $.partition: expected a topic and the number of a partition",
        ),
        (
            "plan/b/000000",
            json.loads(encode_record(RECORDS[1])[1] or b""),
            "record plan/b/000000 holds the value of plan/a-1/000000",
        ),
    ],
)
def test_what_is_no_record_is_refused(key: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match="record") as refused:
        decode_record(key, json.dumps(value).encode())
    assert str(refused.value) == message
    assert not isinstance(refused.value, NewerRecord)


@pytest.mark.parametrize("text", [b"", b"{", b'{"a":\xff}', b"[" * 100_000])
def test_what_is_no_json_is_no_record(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"^record app/1: "):
        decode_record("app/1", text)


@pytest.mark.parametrize(
    ("key", "value"), [("future/1", {}), (RECORDS[3].key, {**OWN, "colour": "green"})]
)
def test_what_only_a_newer_version_knows_is_refused_and_not_dropped(key: str, value: Any) -> None:
    with pytest.raises(NewerRecord, match=f"^record .*{key}"):
        decode_record(key, json.dumps(value).encode())
