"""Whether a document is right by a schema, yes or no; what is wrong, and in which words, `schema_messages` finds out.

Nearly every placement file is right, and importing jsonschema takes as long as reading it. So this walk answers first,
with the same yes as jsonschema for the keywords that our schemas use. A keyword that it does not know makes it say no,
and then jsonschema decides.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from replan.model.names import LARGEST_ID, parse_number
from replan.placement_file.schemas import Schema
from replan.placement_file.sources import quoted_value
from replan.placement_file.units import (
    check_topic_or_pattern,
    check_zone,
    parse_broker_range,
    parse_day,
    parse_days,
    parse_percentage,
    parse_rate,
    parse_size,
)

_NOTES = frozenset(
    {"$schema", "$id", "$defs", "title", "description", "default", "examples", "errorMessage"}
    | {"then", "else"}
)
"""Keywords that forbid nothing, or nothing by themselves."""

_CLASSES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "null": type(None),
}


def check_broker_key(key: str) -> None:
    """Raise ValueError where a key is not a broker's id."""
    if parse_number(key) is None:
        raise ValueError(
            f"{quoted_value(key)} is not a broker id; write a whole number from 0 to {LARGEST_ID}"
        )


FORMATS: Mapping[str, Callable[[str], object]] = {
    "replan-rate": parse_rate,
    "replan-expiry": parse_day,
    "replan-topic": check_topic_or_pattern,
    "replan-broker": check_broker_key,
    "replan-brokers": parse_broker_range,
    "replan-size": parse_size,
    "replan-percentage": parse_percentage,
    "replan-days": parse_days,
    "replan-zone": check_zone,
}
"""The formats of the schema; each raises ValueError with what is wrong."""


def accepts(schema: Schema | bool, value: Any, root: Schema) -> bool:
    """Whether `value` is right by `schema`, a part of `root`."""
    if isinstance(schema, bool):
        return schema
    for keyword, wanted in schema.items():
        if keyword not in _NOTES and not keyword.startswith("x-"):
            rule = _RULES.get(keyword)
            if rule is None or not rule(wanted, value, schema, root):
                return False
    return True


def _is(kind: str, value: Any) -> bool:
    if kind == "number" or (kind == "integer" and isinstance(value, float)):
        return is_number(value) and (kind == "number" or value.is_integer())
    return isinstance(value, _CLASSES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def is_number(value: Any) -> bool:
    """Whether it is a number; a boolean is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON is: true is not 1, and 1.0 is."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _type(wanted: Any, value: Any, _schema: Schema, _root: Schema) -> bool:
    return any(_is(kind, value) for kind in ([wanted] if isinstance(wanted, str) else wanted))


def _properties(wanted: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(
        accepts(part, value[key], root) for key, part in wanted.items() if key in value
    )


def _other_properties(wanted: Any, value: Any, schema: Schema, root: Schema) -> bool:
    if not isinstance(value, dict):
        return True
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    return all(
        accepts(wanted, item, root)
        for key, item in value.items()
        if key not in properties and not any(re.search(p, key) for p in patterns)
    )


def _conditional(wanted: Any, value: Any, schema: Schema, root: Schema) -> bool:
    branch = "then" if accepts(wanted, value, root) else "else"
    return accepts(schema.get(branch, True), value, root)


def _format(wanted: Any, value: Any, _schema: Schema, _root: Schema) -> bool:
    if wanted in FORMATS and isinstance(value, str):
        try:
            FORMATS[wanted](value)
        except ValueError:
            return False
    return True


def _reference(wanted: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    """`$ref` to a definition of the same schema; no other is known here."""
    place, _, name = wanted.rpartition("/")
    return (
        place == "#/$defs" and name in root["$defs"] and accepts(root["$defs"][name], value, root)
    )


def _unique(wanted: Any, value: Any, _schema: Schema, _root: Schema) -> bool:
    """`uniqueItems`; of lists in a list it says no, without looking."""
    if not wanted or not isinstance(value, list):
        return True
    plain = all(isinstance(item, str | int | float) for item in value)
    return plain and len({(isinstance(item, bool), item) for item in value}) == len(value)


_Rule = Callable[[Any, Any, Schema, Schema], bool]
_RULES: dict[str, _Rule] = {
    "type": _type,
    "const": lambda wanted, value, *_: _same(wanted, value),
    "enum": lambda wanted, value, *_: any(_same(one, value) for one in wanted),
    "minimum": lambda wanted, value, *_: not is_number(value) or value >= wanted,
    "maximum": lambda wanted, value, *_: not is_number(value) or value <= wanted,
    "minLength": lambda wanted, value, *_: not isinstance(value, str) or len(value) >= wanted,
    "maxLength": lambda wanted, value, *_: not isinstance(value, str) or len(value) <= wanted,
    "pattern": lambda wanted, value, *_: (
        not isinstance(value, str) or re.search(wanted, value) is not None
    ),
    "format": _format,
    "minItems": lambda wanted, value, *_: not isinstance(value, list) or len(value) >= wanted,
    "uniqueItems": _unique,
    "items": lambda wanted, value, _, root: (
        not isinstance(value, list) or all(accepts(wanted, item, root) for item in value)
    ),
    "required": lambda wanted, value, *_: (
        not isinstance(value, dict) or all(key in value for key in wanted)
    ),
    "properties": _properties,
    "patternProperties": lambda wanted, value, _, root: (
        not isinstance(value, dict)
        or all(
            accepts(part, item, root)
            for pattern, part in wanted.items()
            for key, item in value.items()
            if re.search(pattern, key)
        )
    ),
    "additionalProperties": _other_properties,
    "propertyNames": lambda wanted, value, _, root: (
        not isinstance(value, dict) or all(accepts(wanted, key, root) for key in value)
    ),
    "minProperties": lambda wanted, value, *_: not isinstance(value, dict) or len(value) >= wanted,
    "maxProperties": lambda wanted, value, *_: not isinstance(value, dict) or len(value) <= wanted,
    "anyOf": lambda wanted, value, _, root: any(accepts(part, value, root) for part in wanted),
    "if": _conditional,
    "$ref": _reference,
}
"""What each keyword of JSON Schema asks: of its own value, the document's, the schema around it, the whole schema."""
