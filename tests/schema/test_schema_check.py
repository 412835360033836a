"""The quick check of a placement file says yes exactly where jsonschema does: on right, broken and odd documents."""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.schema.strategies import ANYTHING, KEYS, broken_placements, placements, whole_placements

from replan.placement_file.api import FORMATS, PLACEMENT, Schema, accepts, checker_of, read_schema

SCHEMA = read_schema(PLACEMENT)
TYPES = {
    "array": st.lists(st.integers(-1, 3) | st.text("ab", max_size=1), max_size=3),
    "boolean": st.booleans(),
    "integer": st.integers(-2, 3) | st.integers(2**31 - 2, 2**31 + 1),
    "number": st.floats(-2, 3) | st.sampled_from([0.0, 1.0, 2.0]),
    "object": st.dictionaries(KEYS, ANYTHING, max_size=3),
    "string": st.text(max_size=3),
}
MISPLACED: st.SearchStrategy[Any] = (
    st.sampled_from(
        ["", "\n", "1", "1\n", "a" * 250, "é", "*", "unlimited\n", "0MB/s", "2026-13-01"]
    )
    | st.sampled_from([True, False, None, 0, 1, 1.0, -1, 1.5, 2**31, [], {}, [1, 1], [1, True]])
    | ANYTHING
)


def definitions() -> dict[str, Schema]:
    """Every part of the schema that is a schema of its own, by the place where it stands."""
    found: dict[str, Schema] = {}

    def walk(place: str, node: Any) -> None:
        if isinstance(node, dict):
            if isinstance(node.get("$ref", node.get("type", "")), str | list) and place:
                found[place] = node
            for key, below in node.items():
                if key not in {"examples", "default", "enum", "const", "type", "required"}:
                    walk(f"{place}/{key}", below)

    walk("", SCHEMA)
    return {
        place: part
        for place, part in found.items()
        if part.keys() & {"type", "enum", "const", "$ref", "pattern", "anyOf"}
    }


PARTS = definitions()


def jsonschema_accepts(schema: Schema, document: Any) -> bool:
    return bool(checker_of({**schema, "$defs": SCHEMA["$defs"]}).is_valid(document))


def strings_of(schema: Schema) -> Iterator[st.SearchStrategy[str]]:
    """Texts that nearly fit the patterns of a part, and its examples."""
    pattern = {**schema, **SCHEMA["$defs"].get(str(schema.get("$ref")).rpartition("/")[2], {})}
    if "pattern" in pattern:
        yield st.from_regex(pattern["pattern"])
    if "examples" in pattern:
        yield st.sampled_from(pattern["examples"])


@st.composite
def changed(draw: st.DrawFn) -> object:
    """A whole placement with something else in one place, at any depth."""
    document: Any = deepcopy(draw(whole_placements()))
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys = node if isinstance(node, dict) else range(len(node))
        for key in keys:
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    walk(document)
    holder, key = draw(st.sampled_from(places))
    match draw(st.sampled_from(["value", "key", "away"])):
        case "value":
            holder[key] = draw(MISPLACED)
        case "key" if isinstance(holder, dict):
            holder[draw(KEYS | st.text(max_size=3))] = holder.pop(key)
        case _:
            del holder[key]
    return document


@given(placements() | whole_placements())
def test_it_accepts_what_is_right(document: object) -> None:
    assert accepts(SCHEMA, document, SCHEMA)


@given(changed() | broken_placements())
def test_it_agrees_with_jsonschema_on_broken_placements(document: object) -> None:
    assert accepts(SCHEMA, document, SCHEMA) == jsonschema_accepts(SCHEMA, document)


@given(st.sampled_from(sorted(PARTS)), st.data())
def test_it_agrees_with_jsonschema_on_every_part_of_the_schema(
    place: str, data: st.DataObject
) -> None:
    part = PARTS[place]
    kind = part.get("type", [])
    near = [TYPES[k] for k in ([kind] if isinstance(kind, str) else kind)]
    value = data.draw(st.one_of(MISPLACED, *near, *strings_of(part)))
    assert accepts(part, value, SCHEMA) == jsonschema_accepts(part, value)


def test_a_keyword_that_it_does_not_know_makes_it_say_no() -> None:
    assert not accepts({"type": "integer", "multipleOf": 2}, 4, SCHEMA)
    assert not accepts({"$ref": "https://example.org/other.json"}, 4, SCHEMA)


def test_a_note_does_not() -> None:
    assert accepts({"type": "integer", "x-since": "1"}, 4, SCHEMA)


def test_every_format_of_the_schema_is_known() -> None:
    used = set(re.findall(r'"format": "([^"]+)"', str(SCHEMA).replace("'", '"')))
    assert used == FORMATS.keys()


AS_EDITORS_KNOW = {
    "topicOrPattern": st.text("aZ09._-*?[]!é ", max_size=8)
    | st.integers(247, 251).map(lambda n: "a" * n),
    "brokerKey": st.integers(-2, 2**40).map(str)
    | st.integers(2**31 - 3, 2**31 + 2).map(str)
    | st.text("0129-+ ", max_size=11),
}


@pytest.mark.parametrize("name", AS_EDITORS_KNOW)
def test_an_editor_that_knows_no_format_takes_what_is_read(name: str) -> None:
    part = SCHEMA["$defs"][name]
    plain = {key: value for key, value in part.items() if key != "format"}

    @given(AS_EDITORS_KNOW[name])
    @example("a[")
    @example("a[]b]-[!c]")
    @example("..")
    def compare(text: str) -> None:
        assert jsonschema_accepts(plain, text) == accepts(part, text, SCHEMA)

    compare()
