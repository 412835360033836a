"""Plans and the records of a journal as JSON Schemas, for readers of other tools: what types and docstrings say."""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterable
from typing import Any

import msgspec

from replan.applying import api as applying
from replan.applying.api import JOURNAL_FORMAT_VERSION, RECORD_KINDS
from replan.model import api as model
from replan.planning import api as planning
from replan.planning.api import BESIDE_MOVES, PlanForm

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
JOURNAL = (
    "The latest record of a key is the whole truth about it; a null value forgets the key. In the compacted topic key "
    "and value are those of the Kafka record; in the file journal a line holds `crc` (CRC-32 of the bytes of the line "
    "behind it), `line` (its number), `left` (how many lines of the same append follow), `at` (when it was written, "
    "for people), `key` and `value`; the lines `journal` (format and cluster) and `beat` (which process has it) belong "
    "to the file. One append, or one transaction, is there whole or not at all. A key that is left out has its default."
)
PLAN = (
    "Written by `replan plan -o`, performed by `replan apply`, shown by `replan show`. Not written or edited by hand: "
    "it is read back byte by byte, and a changed plan is refused. The order of `moves` is the order in which they are "
    "admitted; the steps of a move are derived from it. What has its default is left out."
)


def journal_schema() -> str:
    """The document; a property of a record stands on a line."""
    named = [
        {"properties": {"key": {"pattern": f"^{begins}/"}, "value": _ref(kind)}}
        for begins, kind in RECORD_KINDS.items()
    ]
    whole = {
        "$schema": DIALECT,
        "$id": f"https://replan.dev/schema/journal.v{JOURNAL_FORMAT_VERSION}.json",
        "title": "One record of replan's journal",
        "description": JOURNAL,
        "type": "object",
        "additionalProperties": False,
        "required": ["key", "value"],
        "properties": {
            "key": {"type": "string", "pattern": f"^({'|'.join(RECORD_KINDS)})/."},
            "value": True,
        },
        "oneOf": [{"properties": {"value": {"type": "null"}}}, *named],
        "$defs": _definitions(RECORD_KINDS.values()),
    }
    return _lines(whole, deep=4) + "\n"


def plan_schema() -> str:
    """The document; a key stands on a line."""
    forms = _definitions([PlanForm])
    plan = forms.pop(PlanForm.__name__)
    keys = plan["properties"]
    beside = {key: keys.pop(key) for key in BESIDE_MOVES.values()}
    last = {key: keys.pop(key) for key in ("moves", "digest")}
    plan["properties"] = keys | beside | last
    whole = {
        "$schema": DIALECT,
        "$id": "plan.v1.json",
        "title": "A plan of replan",
        **plan,
        "description": PLAN,
        "$defs": forms,
    }
    return _lines(whole, deep=4) + "\n"


def _ref(kind: type) -> dict[str, str]:
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _definitions(kinds: Iterable[type]) -> dict[str, Schema]:
    """What some types are made of, by name, with what stands below their fields."""
    _, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return {name: _described(of, _type(name)) for name, of in sorted(components.items())}


def _type(name: str) -> type:
    found: type = next(vars(of)[name] for of in (applying, planning, model) if name in vars(of))
    return found


def _described(component: Schema, kind: type) -> Schema:
    del component["title"]
    component["description"] = _as_json(component["description"])
    if issubclass(kind, msgspec.Struct):
        said = _said(kind)
        keys = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
        for field, key in keys:
            component["properties"][key] |= (
                {"description": _as_json(said[field])} if field in said else {}
            )
    return component


def _as_json(text: str) -> str:
    """A docstring in one line, with JSON's word for nothing."""
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))


def _said(kind: type) -> dict[str, str]:
    """The docstring of each field of a type and of those that it is made of."""
    found: dict[str, str] = {}
    for of in reversed(kind.__mro__):
        if not of.__module__.startswith("replan."):
            continue
        [body] = ast.parse(textwrap.dedent(inspect.getsource(of))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(said))):
                    found[name] = said
                case _:
                    pass
    return found


def _lines(value: Any, deep: int, indent: str = "") -> str:
    """JSON, laid out to a depth and in one line below it, as lists of plain values are."""
    inner = indent + "  "
    if deep and isinstance(value, dict):
        parts = [f"{inner}{json.dumps(k)}: {_lines(v, deep - 1, inner)}" for k, v in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if deep and isinstance(value, list) and value and isinstance(value[0], dict):
        parts = [inner + json.dumps(of, ensure_ascii=False) for of in value]
        return "[\n" + ",\n".join(parts) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)
