"""The text of JSON documents: laid out so that a line is a partition, parsed so that an error has a place.

Belongs here: layout and parsing of any JSON: snapshots, plans and journals have this one reader, with its errors.
Does not belong here: what is in it, and files.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from json import JSONDecodeError

from replan.errors import BadFile

_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
_LONG_NUMBER = re.compile(r"[0-9]{4301}")
"""Python refuses to read longer ones, since that takes quadratic time (sys.get_int_max_str_digits)."""


class NotJson(ValueError):
    """Text that is not JSON as we write it; `place` is `:LINE:COLUMN`, or empty where it is not known."""

    def __init__(self, problem: str, place: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.place = place


def render_document(document: Mapping[str, object]) -> str:
    """The document as text: one line for whatever holds no list of objects, otherwise a line for each of them."""
    return "".join(_laid_out(dict(document), "")) + "\n"


def parse_json(text: str) -> object:
    """The value of a JSON text; raises NotJson, whatever the text is.

    Refused beyond what JSON itself refuses: a key twice in one object, NaN and infinities, half a surrogate pair,
    numbers of more than 4,300 digits, nesting that Python's parser does not take.
    """
    try:
        parsed: object = json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_number)
    except JSONDecodeError as problem:
        raise NotJson(
            f"this is not JSON: {problem.msg}", f":{problem.lineno}:{problem.colno}"
        ) from problem
    except RecursionError as problem:
        raise NotJson("this is nested too deeply for a document of replan's") from problem
    except NotJson:
        raise
    except ValueError as problem:
        found = _LONG_NUMBER.search(text)
        place = "" if found is None else _place(text, found.start())
        raise NotJson("a number has more than 4,300 digits", place) from problem
    if "\\ud" in text or "\\uD" in text:
        _check_surrogates(text)
    return parsed


def parse_document(text: str, source: str) -> dict[str, object]:
    """Parse one JSON object; raises BadFile with the source, and with line and column where they are known."""
    try:
        parsed = parse_json(text)
    except NotJson as problem:
        raise BadFile(f"{source}{problem.place}: {problem.problem}") from problem
    if not isinstance(parsed, dict):
        raise BadFile(f"{source}: expected a JSON object, found {type(parsed).__name__}")
    return parsed


def _once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, number in Counter(key for key, _ in pairs).items() if number > 1)
        raise NotJson(f'the key "{twice}" is given twice in one object; keep one')
    return found


def _no_number(word: str) -> object:
    raise NotJson(f"{word} is no number in JSON")


def _check_surrogates(text: str) -> None:
    for found in _ESCAPES.finditer(text):
        if found["half"]:
            raise NotJson(
                f"{found['half']} is half of a character; its other half is missing",
                _place(text, found.start()),
            )


def _place(text: str, index: int) -> str:
    return f":{text.count(chr(10), 0, index) + 1}:{index - text.rfind(chr(10), 0, index)}"


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
