"""The one reader of JSON: what it refuses, with its place, whatever the text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.documents.api import NotJson, decoded, parse_document, parse_json
from replan.errors import BadFile

WRONG_TEXTS = [
    ('{"a": 1,\n "b" 2}', "f:2:6: this is not JSON: Expecting ':' delimiter"),
    ("", "f:1:1: this is not JSON: Expecting value"),
    ("[1]", "f: expected a JSON object, found list"),
    ('{"a": {"b": 1, "b": 2}}', 'f: the key "b" is given twice in one object; keep one'),
    ('{"a": NaN}', "f: NaN is no number in JSON"),
    ('{"a": ' + "[" * 100_000, "f: this is nested too deeply for a document of replan's"),
    ('{\n "a": ' + "9" * 4301 + "}", "f:2:7: a number has more than 4,300 digits"),
    (
        '{"a": "\\\\ud800 \\ud83d\\ude00",\n "\\uDEAD": 1}',
        "f:2:3: \\uDEAD is half of a character; its other half is missing",
    ),
    ('["\\ud800"]', "f:1:3: \\ud800 is half of a character; its other half is missing"),
]


@pytest.mark.parametrize(("text", "message"), WRONG_TEXTS, ids=[m for _, m in WRONG_TEXTS])
def test_text_that_is_no_document_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(BadFile) as refused:
        parse_document(text, "f")
    assert str(refused.value) == message


def test_keys_are_compared_in_time_that_grows_with_their_number() -> None:
    keys = [f"k{number}" for number in range(60_000)]
    text = "{" + ", ".join(f'"{key}": 1' for key in (*keys, keys[-1])) + "}"
    with pytest.raises(NotJson, match='the key "k59999" is given twice'):
        parse_json(text)


def test_of_a_key_twice_there_are_more_colons_than_in_what_is_read() -> None:
    assert decoded(b'{"a": 1, "a": 2, "b": ":"}', dict[str, object]) == ({"a": 2, "b": ":"}, 4)


@pytest.mark.parametrize("colon", ["\\u003a", "\\u003A"])
def test_a_colon_that_cannot_be_counted_is_refused(colon: str) -> None:
    with pytest.raises(NotJson):
        decoded(f'{{"a": "{colon}"}}'.encode(), dict[str, object])


@given(st.text(), st.text())
def test_any_text_is_json_or_is_not(before: str, after: str) -> None:
    for text in (before, json.dumps({before: after}), f'{{"{before}": "{after}"}}'):
        try:
            found = parse_json(text)
        except NotJson:
            continue
        assert json.loads(json.dumps(found)) == found
