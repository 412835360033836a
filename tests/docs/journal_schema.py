"""The records of a journal as one JSON Schema, for readers of other tools: what their types and docstrings say."""

import ast
import inspect
import json
import textwrap
from typing import Any

import msgspec

from replan.applying.api import FORMAT_VERSION, RECORD_KINDS, Kept

ABOUT = (
    "The latest record of a key is the whole truth about it; a null value forgets the key. In the compacted topic key "
    "and value are those of the Kafka record; in the file journal a line holds `crc` (CRC-32 of the bytes of the line "
    "behind it), `line` (its number), `left` (how many lines of the same append follow), `at` (when it was written, "
    "for people), `key` and `value`; the lines `journal` (format and cluster) and `beat` (which process has it) belong "
    "to the file. One append, or one transaction, is there whole or not at all. A key that is left out has its default."
)


def journal_schema() -> str:
    """The document; a property of a record stands on a line."""
    _, components = msgspec.json.schema_components(
        RECORD_KINDS.values(), ref_template="#/$defs/{name}"
    )
    forms = {kind.__name__: kind for kind in RECORD_KINDS.values()}
    named = [
        {"properties": {"key": {"pattern": f"^{begins}/"}, "value": _ref(kind)}}
        for begins, kind in RECORD_KINDS.items()
    ]
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://replan.dev/schema/journal.v{FORMAT_VERSION}.json",
        "title": "One record of replan's journal",
        "description": ABOUT,
        "type": "object",
        "additionalProperties": False,
        "required": ["key", "value"],
        "properties": {
            "key": {"type": "string", "pattern": f"^({'|'.join(RECORD_KINDS)})/."},
            "value": True,
        },
        "oneOf": [{"properties": {"value": {"type": "null"}}}, *named],
        "$defs": {n: _described(of, forms.get(n)) for n, of in sorted(components.items())},
    }
    return _lines(whole, deep=4) + "\n"


def _ref(kind: type) -> dict[str, str]:
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _described(component: dict[str, Any], kind: type[Kept] | None) -> dict[str, Any]:
    """A definition, with what stands below the fields of its type."""
    del component["title"]
    if kind is not None:
        said = _said(kind)
        keys = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
        for field, key in keys:
            component["properties"][key] |= {"description": said[field]} if field in said else {}
    return component


def _said(kind: type) -> dict[str, str]:
    """The docstring of each field of a type and of those that it is made of."""
    found: dict[str, str] = {}
    for of in reversed(kind.__mro__):
        if of.__module__ != kind.__module__:
            continue
        [body] = ast.parse(textwrap.dedent(inspect.getsource(of))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(said))):
                    found[name] = " ".join(said.split())
                case _:
                    pass
    return found


def _lines(value: Any, deep: int, indent: str = "") -> str:
    """JSON, laid out to a depth and in one line below it, as lists of plain values are."""
    inner = indent + "  "
    if deep and isinstance(value, dict):
        parts = [f"{inner}{json.dumps(k)}: {_lines(v, deep - 1, inner)}" for k, v in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if deep and isinstance(value, list) and isinstance(value[0], dict):
        parts = [inner + json.dumps(of, ensure_ascii=False) for of in value]
        return "[\n" + ",\n".join(parts) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)
