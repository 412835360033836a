"""The text of JSON documents: laid out so that a line is a partition, parsed so that an error has a place.

Belongs here: layout and parsing of any JSON document. Does not belong here: what is in it.
"""

import json
from collections.abc import Iterator, Mapping
from json import JSONDecodeError

from replan.errors import BadFile


def render_document(document: Mapping[str, object]) -> str:
    """The document as text: one line for whatever holds no list of objects, otherwise a line for each of them."""
    return "".join(_laid_out(dict(document), "")) + "\n"


def parse_document(text: str, source: str) -> dict[str, object]:
    """Parse one JSON object; raises BadFile with line and column, or with the key that stands twice."""

    def without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise BadFile(f'{source}: the key "{twice}" stands twice in one object; keep one')
        return found

    def no_number(word: str) -> object:
        raise BadFile(f"{source}: {word} is no number in JSON")

    try:
        parsed = json.loads(text, object_pairs_hook=without_repetition, parse_constant=no_number)
    except JSONDecodeError as problem:
        where = f"{source}:{problem.lineno}:{problem.colno}"
        raise BadFile(f"{where}: this is not JSON: {problem.msg}") from problem
    except RecursionError as problem:
        raise BadFile(
            f"{source}: this is nested too deeply for a document of replan's"
        ) from problem
    if not isinstance(parsed, dict):
        raise BadFile(f"{source}: expected a JSON object, found {type(parsed).__name__}")
    return parsed


def _laid_out(value: object, indent: str) -> Iterator[str]:
    if not _holds_objects(value):
        yield json.dumps(value, ensure_ascii=False)
        return
    inner = indent + "  "
    if isinstance(value, dict):
        start = "{\n"
        for key, child in value.items():
            yield f"{start}{inner}{json.dumps(key, ensure_ascii=False)}: "
            yield from _laid_out(child, inner)
            start = ",\n"
        yield f"\n{indent}}}"
    elif isinstance(value, list):
        start = "[\n"
        for child in value:
            yield start + inner
            yield from _laid_out(child, inner)
            start = ",\n"
        yield f"\n{indent}]"


def _holds_objects(value: object) -> bool:
    """Whether there is a list of objects in it, at any depth."""
    if isinstance(value, dict):
        return any(_holds_objects(child) for child in value.values())
    if isinstance(value, list):
        return any(
            isinstance(child, dict) or (isinstance(child, list) and _holds_objects(child))
            for child in value
        )
    return False
