"""Laws of loading: what is right loads and means the same however it is written; nothing else crashes."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from tests.docs.placement_reference import resolved
from tests.schema.strategies import (
    PARTITIONS,
    SCALARS,
    YAML_TEXTS,
    Document,
    block_style,
    broken_placements,
    mixed_style,
    placements,
    whole_placements,
)

from replan.errors import BadPlacement
from replan.model.api import Placement, Where
from replan.placement_file.api import (
    PLACEMENT,
    EventParser,
    Source,
    directory,
    fastest_parser,
    load_sources,
    python_parser,
    read_schema,
)

SCHEMAS = sorted(p.name for p in directory().iterdir() if p.name.endswith(".json"))


def load(*texts: str, parser_of: Callable[[str], EventParser] | None = None) -> Placement:
    sources = [Source(f"{i}.yaml", text) for i, text in enumerate(texts)]
    return load_sources(sources, parser_of or fastest_parser())


def refusal(text: str, parser_of: Callable[[str], EventParser] | None = None) -> str | None:
    try:
        load(text, parser_of=parser_of)
    except BadPlacement as refused:
        return str(refused)
    return None


def meaning(placement: Placement) -> tuple[object, ...]:
    """A placement without its places."""
    lists = placement.explicit.drop_columns(["line", "column"]).to_pylist()
    others = (name for name in placement.__struct_fields__ if name not in {"explicit", "digest"})
    return lists, *(without_places(getattr(placement, name)) for name in others)


def without_places(value: Any) -> Any:
    """A value of the placement without any Where in it."""
    match value:
        case Where():
            return None
        case Mapping():
            return {key: without_places(found) for key, found in value.items()}
        case tuple() if not hasattr(value, "_fields"):
            return tuple(map(without_places, value))
        case Struct():
            return [without_places(getattr(value, name)) for name in value.__struct_fields__]
        case _:
            return value


def schema_errors(document: object) -> list[str]:
    validator = jsonschema.Draft202012Validator(read_schema(PLACEMENT))
    return [e.message for e in validator.iter_errors(document)]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_itself_valid_and_named_after_its_file(name: str) -> None:
    schema = json.loads((directory() / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].endswith(name)


def test_every_key_of_the_placement_schema_has_a_description_and_an_example() -> None:
    """No example where the values are listed."""
    schema = read_schema(PLACEMENT)
    lacking = [
        f"{path}: {part}"
        for path, key in keys(schema, schema, "")
        for part in ("description", "examples")
        if part not in key and (part == "description" or not {"const", "enum"} & key.keys())
    ]
    assert lacking == []


def keys(schema: dict[str, Any], part: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key of every mapping, with what its own place and its reference say together."""
    if isinstance(part, list):
        for inner in part:
            yield from keys(schema, inner, path)
    if not isinstance(part, dict):
        return
    for name, found in part.get("properties", {}).items():
        if isinstance(found, dict):
            yield f"{path}.{name}", resolved(schema, found)
    for name, inner in part.items():
        if name not in {"examples", "default"}:
            yield from keys(schema, inner, f"{path}.{name}")


@given(placements())
def test_what_the_schema_and_this_release_allow_loads(document: Document) -> None:
    assert schema_errors(document) == []
    assert load(block_style(document)).digest


@given(whole_placements())
def test_of_what_the_schema_allows_only_the_required_is_refused(document: Document) -> None:
    assert schema_errors(document) == []
    said = (refusal(json.dumps(document)) or "").splitlines()
    assert all("`require` at" in line for line in said)


@given(placements(), st.randoms(use_true_random=False))
def test_layout_and_order_of_keys_change_neither_meaning_nor_digest(
    document: Document, chance: Any
) -> None:
    def shuffled(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key]) for key in keys}

    first = load(block_style(document))
    for text in (
        json.dumps(shuffled(document)),
        json.dumps(document, indent=3),
        "# a comment\n" + block_style(shuffled(document)),
        mixed_style(shuffled(document)) + "# another\n",
    ):
        again = load(text)
        assert meaning(again) == meaning(first)
        assert again.digest == first.digest


@given(placements(), st.booleans())
def test_one_file_or_one_for_each_section_mean_the_same(document: Document, forward: bool) -> None:
    parts = [
        block_style({"version": 1, key: value})
        for key, value in document.items()
        if key != "version"
    ]
    split = load(*(parts if forward else parts[::-1]))
    whole = load(block_style(document))
    assert meaning(split) == meaning(whole)
    assert split.digest == whole.digest


@given(placements(), placements())
def test_different_meanings_have_different_digests(one: Document, other: Document) -> None:
    first, second = load(json.dumps(one)), load(json.dumps(other))
    assert (meaning(first) == meaning(second)) == (first.digest == second.digest)


@given(broken_placements())
def test_a_broken_placement_is_refused_or_loads_and_never_crashes(document: Document) -> None:
    told = refusal(mixed_style(document))
    if schema_errors(document):
        assert told is not None


@given(YAML_TEXTS)
def test_no_text_at_all_crashes_either_parser(text: str) -> None:
    fast, slow = refusal(text), refusal(text, python_parser)
    assert (fast is None) == (slow is None)


@given(
    st.dictionaries(st.sampled_from(["0", "1", "-1", "01", "x"]), PARTITIONS | SCALARS, max_size=3)
    | st.lists(st.lists(SCALARS, max_size=3) | SCALARS, max_size=3)
    | SCALARS
)
def test_rows_are_judged_as_the_schema_would_judge_them(partitions: object) -> None:
    document = {"version": 1, "assignments": {"orders": {"partitions": partitions}}}
    told = refusal(json.dumps(document))
    assert (told is not None) == bool(schema_errors(document)), told


@given(st.dictionaries(st.sampled_from(["0", "7", "-1", "01", "x"]), SCALARS, max_size=3))
def test_preferred_leaders_are_judged_as_the_schema_would_judge_them(leaders: Document) -> None:
    document = {"version": 1, "preferredLeaders": {"orders": leaders}}
    told = refusal(json.dumps(document))
    assert (told is not None) == bool(schema_errors(document)), told


def test_the_schema_is_found_from_a_checkout() -> None:
    found = directory() / PLACEMENT
    assert found.is_file()
    assert isinstance(found, Path)
