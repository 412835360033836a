"""What JSON Schema finds wrong with a placement file, said so that its author can correct it.

The schema carries the words: `errorMessage` completes "must be ...", editors show it too. Keys of many
equal rows (explicit assignments, preferred leaders by partition) are left out before jsonschema sees the
document, since it would take seconds for them: `assignments` and `sections` check those by themselves.
"""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any, cast

import jsonschema
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

from replan.placement_file.schema import FORMATS, is_number
from replan.placement_file.schemas import Schema
from replan.placement_file.sources import KeyPath, Problems, Source, quoted_value
from replan.placement_file.units import missing_unit
from replan.placement_file.yaml_text import YamlMapping, YamlValue, key_place_of, place_of

_KINDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping",
    "string": "text",
}


def checker_of(schema: Schema) -> Validator:
    """jsonschema's checker of a schema, with replan's formats."""
    formats = jsonschema.FormatChecker(formats=())
    for name, check in FORMATS.items():
        formats.checks(name, raises=ValueError)(_for_text(check))
    return jsonschema.Draft202012Validator(schema, format_checker=formats)


def note_schema_problems(
    document: Any,
    root: YamlMapping,
    source: Source,
    schema: Schema,
    problems: Problems,
) -> None:
    """Note what the schema refuses in `document`, with places from `root`."""
    errors = sorted(checker_of(schema).iter_errors(document), key=_says_little)
    misspelled = {tuple(e.absolute_path) for e in errors if e.validator == "additionalProperties"}
    for error in errors:
        if error.validator in {"required", "anyOf"} and tuple(error.absolute_path) in misspelled:
            continue  # what is missing is what was misspelled
        for path, text, at_key in _told(error):
            at = key_place_of(root, path) if at_key else place_of(root, path)
            problems.add(source.where(at), path, text)


def _says_little(error: ValidationError) -> bool:
    """A format says more than the pattern beside it, an unknown key more than a set of keys."""
    return error.validator not in {"format", "additionalProperties"}


def _told(error: ValidationError) -> Iterator[tuple[KeyPath, str, bool]]:
    """Path, sentence, and whether the key rather than its value is meant."""
    path = tuple(error.absolute_path)
    schema = cast("Schema", error.schema)
    match error.validator:
        case "additionalProperties" | "unevaluatedProperties":
            for key in _unknown_keys(error):
                yield (*path, key), _unknown_key(key, schema), True
        case "required":
            missing = _missing(error)
            yield path, f"`{missing}` is missing; {_example_of(missing, schema)}", True
        case _ if "propertyNames" in error.absolute_schema_path:
            yield (*path, str(error.instance)), _wrong_value(error, schema), True
        case _:
            yield path, _wrong_value(error, schema), False


def _unknown_keys(error: ValidationError) -> list[str]:
    schema = cast("Schema", error.schema)
    properties = schema.get("properties", {})
    patterns = jsonschema.Draft202012Validator
    return [
        key
        for key in cast("dict[str, Any]", error.instance)
        if key not in properties
        and not any(
            patterns({"pattern": p}).is_valid(key) for p in schema.get("patternProperties", {})
        )
    ]


def _unknown_key(key: str, schema: Schema) -> str:
    keys = list(schema.get("properties", {}))
    renamed = schema.get("x-renamed", {}).get(key)
    if renamed is not None:
        return f"unknown key; write {renamed}"
    near = get_close_matches(key, keys, n=1, cutoff=0.6) or [
        k for k in keys if k.lower() == key.lower().replace("_", "").replace("-", "")
    ]
    meant = f'did you mean "{near[0]}"? ' if near else ""
    numbers = "partition numbers, " if "patternProperties" in schema else ""
    return f"unknown key; {meant}known here: {numbers}{', '.join(keys)}"


def _missing(error: ValidationError) -> str:
    present = cast("dict[str, Any]", error.instance)
    # jsonschema yields one error a missing key, each naming its own in the message's quotes.
    return next(
        k
        for k in cast("list[str]", error.validator_value)
        if k not in present and repr(k) in error.message
    )


def _example_of(key: str, schema: Schema) -> str:
    declared = schema.get("properties", {}).get(key, {})
    return f"add {key}: {declared['const']}" if "const" in declared else f"add {key}:"


def _wrong_value(error: ValidationError, schema: Schema) -> str:
    value = cast("YamlValue", error.instance)
    right = schema.get("errorMessage", error.message)
    if value is None:
        return f"nothing is written here; write {right}, or remove the key"
    if error.validator == "format" and error.cause is not None:
        return str(error.cause)
    if error.validator == "type":
        if schema.get("format") == "replan-rate" and is_number(value):
            return f"{quoted_value(value)} is a bare number; {missing_unit(quoted_value(value))}"
        return f"{quoted_value(value)} is {_kind_of(value)}; it must be {right}"
    if error.validator in {"minItems", "minProperties"} and not value:
        return f"this is empty; it must be {right}, or remove the key"
    return f"{quoted_value(value)} is not right here; it must be {right}"


def _kind_of(value: YamlValue) -> str:
    match value:
        case bool():
            return _KINDS["boolean"]
        case int():
            return _KINDS["integer"]
        case float():
            return _KINDS["number"]
        case str():
            return _KINDS["string"]
        case list():
            return _KINDS["array"]
        case _:
            return _KINDS["object"]


def _for_text(check: Callable[[str], object]) -> Callable[[object], bool]:
    def checked(value: object) -> bool:
        if isinstance(value, str):
            check(value)
        return True

    return checked
