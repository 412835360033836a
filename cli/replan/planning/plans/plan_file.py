"""The written form of a plan: canonical JSON, one move a line, with a digest over all of it.

The same plan gives the same bytes. Its digest is the sha256 of the document without the digest itself. Reading
writes it again and compares every byte, so a plan that was edited after the review, be it by a space, is refused.
"""

import hashlib
import json
from typing import Any

import msgspec

from replan.documents.json_text import NotJson, parse_json
from replan.documents.typed import typed
from replan.errors import BadFile
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_conversion import form_of, plan_of
from replan.planning.plans.plan_forms import FORMAT_VERSION, KIND, PlanForm


def dumps(plan: Plan) -> str:
    """Write a plan; ends with a newline."""
    body = _body(plan)
    return body[: -len("\n}\n")] + f',\n"digest": {_json(_sha256(body))}\n}}\n'


def digest(plan: Plan) -> str:
    """sha256 of the plan, in hex: what an application and a reviewer know it by."""
    return _sha256(_body(plan))


def loads(text: str, source: str) -> Plan:
    """Read a plan; raises BadFile where the text is no plan, is damaged, or was changed after it was written."""
    try:
        document = parse_json(text)
    except NotJson as error:
        raise BadFile(
            f"{source}{error.place}: not a plan: {error.problem}; make a new one with `replan plan -o`"
        ) from error
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise BadFile(f"{source}: not a plan (no `kind: {KIND}`); make one with `replan plan -o`")
    version = document.get("formatVersion")
    if version != FORMAT_VERSION:
        raise BadFile(
            f"{source}: plan format {version}, this replan reads {FORMAT_VERSION}; plan again with this version"
        )
    try:
        plan = plan_of(typed(document, PlanForm, source))
    except BadFile as error:
        raise BadFile(f"{error}; make a new plan with `replan plan -o`") from error
    if dumps(plan) != text:
        raise BadFile(
            f"{source}: the plan was changed after it was written (it does not fit its digest); "
            "what runs is only what was reviewed: make a new plan"
        )
    return plan


def _body(plan: Plan) -> str:
    """The document without its digest, and without the comma before it."""
    found = msgspec.to_builtins(form_of(plan))
    del found["digest"]
    return "{\n" + ",\n".join(_part(key, value) for key, value in found.items()) + "\n}\n"


def _part(key: str, value: Any) -> str:
    if key not in {"topics", "standing", "creates", "recoveries", "logMoves", "moves"}:
        return f"{_json(key)}: {_json(value)}"
    rows = ",".join("\n  " + _json(row) for row in value)
    return f"{_json(key)}: [{rows}" + ("\n]" if rows else "]")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
