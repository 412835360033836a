"""Find the JSON Schemas, wherever this program runs from, and read them."""

import json
import re
from functools import cache
from importlib.resources.abc import Traversable
from typing import Any

from replan.documents.files import shipped

PLACEMENT = "placement.v1.json"

Schema = dict[str, Any]
_END = re.compile(r"(\\.|\[(?:\\.|[^\]\\])*\])|\$")
"""A `$` outside of a class; whatever is escaped or in one is taken first."""


def directory() -> Traversable:
    """Where the schemas live: inside an installed package, at the top of a checkout."""
    return shipped("schema", in_checkout="schema")


def find_schema(name: str) -> Traversable:
    """One schema by its file name, such as `placement.v1.json`."""
    return directory() / name


@cache
def read_schema(name: str) -> Schema:
    """One schema, read once; its patterns mean in Python what they mean in JSON Schema. Nobody changes it."""
    text = find_schema(name).read_text(encoding="utf-8")
    schema: Schema = json.loads(text, object_hook=_with_ends)
    return schema


def _with_ends(part: dict[str, Any]) -> dict[str, Any]:
    """A part of a schema whose `$` is the very end, as in ECMA-262; Python's is also there before a last line feed."""
    if isinstance(pattern := part.get("pattern"), str):
        part["pattern"] = _with_end(pattern)
    if isinstance(by_key := part.get("patternProperties"), dict):
        part["patternProperties"] = {_with_end(p): of for p, of in by_key.items()}
    return part


def _with_end(pattern: str) -> str:
    return _END.sub(lambda match: match[1] or r"\Z", pattern)
