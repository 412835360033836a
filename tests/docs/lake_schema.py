"""The tables of the lake as one JSON Schema: a row of each, for readers of other tools."""

import json
from typing import Any

import pyarrow as pa

from replan.fleet.api import LAKE_VERSION, TABLES, LakeTable

_TYPES: dict[pa.DataType, dict[str, Any]] = {
    pa.string(): {"type": "string"},
    pa.bool_(): {"type": "boolean"},
    pa.date32(): {"type": "string", "format": "date"},
    pa.float64(): {"type": "number"},
    pa.int8(): {"type": "integer", "minimum": -(2**7), "maximum": 2**7 - 1},
    pa.int32(): {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
    pa.int64(): {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
}


def lake_schema() -> str:
    """The document."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://replan.dev/schema/lake.v{LAKE_VERSION}.json",
        "title": f"The Delta tables of a replan lake, version {LAKE_VERSION}",
        "description": "A row of any table is one of the definitions. Columns are only added, and an added one "
        "may be null; `x-dividedBy` are the partition columns.",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in TABLES],
        "$defs": {name: _row(table) for name, table in TABLES.items()},
    }
    return json.dumps(document, indent=2) + "\n"


def _row(table: LakeTable) -> dict[str, Any]:
    return {
        "description": table.about,
        "x-dividedBy": table.divided_by,
        **_object(list(table.schema)),
    }


def _object(columns: list[pa.Field]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [field.name for field in columns if not field.nullable],
        "properties": {field.name: _type(field) for field in columns},
    }


def _type(field: pa.Field) -> dict[str, Any]:
    if pa.types.is_list(field.type):
        found = {"type": "array", "items": _type(field.type.value_field)}
    elif pa.types.is_struct(field.type):
        found = _object(list(field.type))
    else:
        found = dict(_TYPES[field.type])
    return {**found, "type": [found["type"], "null"]} if field.nullable else found
