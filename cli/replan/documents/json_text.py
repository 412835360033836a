"""The text of JSON documents: laid out so that a line is a partition, parsed so that an error has a place.

Snapshots, plans and journals have this one reader of JSON. What has no declared form (`typed`) is read value by value:
a `Node` knows its file and its JSON path, and says what is wrong there. What the keys of a document mean is with that
document: a snapshot's are in `snapshots.json_form`, a plan's in `planning.plans.plan_file`.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from json import JSONDecodeError
from typing import TypeVar

import msgspec
from msgspec import Struct

from replan.errors import BadFile
from replan.model.names import Replicas

_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
_LONG_NUMBER = re.compile(r"[0-9]{4301}")
"""Python refuses to read longer ones, since that takes quadratic time (sys.get_int_max_str_digits)."""
_T = TypeVar("_T")


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
        long_number = _LONG_NUMBER.search(text)
        place = "" if long_number is None else _place(text, long_number.start())
        raise NotJson("a number has more than 4,300 digits", place) from problem
    if "\\ud" in text or "\\uD" in text:
        _check_surrogates(text)
    return parsed


def decoded(content: bytes, kind: type[_T]) -> tuple[_T, int]:
    """The JSON in a file as a `kind`, and how many colons the file has: many times faster than `parse_json`.

    Of a key given twice msgspec takes the last. What it read, written again, then has fewer colons than the file, if
    `kind` keeps which keys an object has (UNSET); that is for the caller to see. Raises NotJson where it is, or may
    be, none, and where a colon is written as an escape: such a file cannot be counted so.
    """
    if b"\\" in content and b"\\u003a" in content.lower():
        raise NotJson("a colon is escaped in it")
    try:
        return msgspec.json.decode(content, type=kind), content.count(b":")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise NotJson(str(problem)) from problem


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
    members = dict(pairs)
    if len(members) != len(pairs):
        twice = next(key for key, number in Counter(key for key, _ in pairs).items() if number > 1)
        raise NotJson(f'the key "{twice}" is given twice in one object; keep one')
    return members


def _no_number(word: str) -> object:
    raise NotJson(f"{word} is no number in JSON")


def _check_surrogates(text: str) -> None:
    for escape in _ESCAPES.finditer(text):
        if escape["half"]:
            raise NotJson(
                f"{escape['half']} is half of a character; its other half is missing",
                _place(text, escape.start()),
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


INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
MOST_REPLICAS = 2**15 - 1
"""Kafka's replication factor has 16 bits (CreateTopicsRequest)."""


class Node(Struct, eq=False):
    """One value of a document; its path is spelled out only for an error."""

    value: object
    source: str
    """The file, as the user named it."""
    parent: "Node | None" = None
    key: str | int = ""

    def path(self) -> str:
        """Its path, as `$.topics[2].partitions[0]`."""
        if self.parent is None:
            return "$"
        mark = f"[{self.key}]" if isinstance(self.key, int) else f".{self.key}"
        return self.parent.path() + mark

    def wrong(self, what: str) -> BadFile:
        """Make the error that says what is wrong with this value."""
        return BadFile(f"{self.source}: {self.path()}: {what}")

    def mapping(self, keys: Collection[str]) -> Mapping[str, object]:
        """This value as an object that has no other keys than the known ones."""
        if not isinstance(self.value, dict):
            raise self.wrong(f"expected an object, found {shown(self.value)}")
        for key in self.value:
            if key not in keys:
                raise self.wrong(f"unknown key {shown(key)}; {advice(key, keys)}")
        return self.value

    def child(self, key: str) -> "Node":
        """The value under a key of this object; it must be there."""
        if not isinstance(self.value, dict) or key not in self.value:
            raise self.wrong(f'"{key}" is missing')
        return Node(self.value[key], self.source, self, key)

    def get(self, key: str) -> "Node | None":
        """The value under a key of this object, or None where there is no such key."""
        if isinstance(self.value, dict) and key in self.value:
            return Node(self.value[key], self.source, self, key)
        return None

    def elements(self, key: str) -> "Iterator[Node]":
        """The elements of the list under a key; none where there is no such key."""
        node = self.get(key)
        if node is None:
            return
        if not isinstance(node.value, list):
            raise node.wrong(f"expected a list, found {shown(node.value)}")
        for position, element in enumerate(node.value):
            yield Node(element, self.source, node, position)

    def members(self, key: str) -> "Iterator[tuple[str, Node]]":
        """The keys and values of the object under a key; none where there is no such key."""
        node = self.get(key)
        if node is None:
            return
        if not isinstance(node.value, dict):
            raise node.wrong(f"expected an object, found {shown(node.value)}")
        for name, value in node.value.items():
            yield name, Node(value, self.source, node, name)

    def text(self) -> str:
        """This value as a string that is not empty."""
        if not isinstance(self.value, str) or not self.value:
            raise self.wrong(f"expected a string that is not empty, found {shown(self.value)}")
        return self.value

    def any_text(self) -> str:
        """This value as a string, which may be empty."""
        if not isinstance(self.value, str):
            raise self.wrong(f"expected a string, found {shown(self.value)}")
        return self.value

    def flag(self) -> bool:
        """This value as true or false."""
        if not isinstance(self.value, bool):
            raise self.wrong(f"expected true or false, found {shown(self.value)}")
        return self.value

    def int32(self, least: int = 0) -> int:
        """This value as a whole number of 32 bits (ids, epochs, counts)."""
        return self._whole(least, INT32_MAX)

    def int64(self) -> int:
        """This value as a whole number of 64 bits, at least 0 (bytes)."""
        return self._whole(0, INT64_MAX)

    def broker_list(self) -> Replicas:
        """This value as a list of broker ids, each at most once."""
        if not isinstance(self.value, list):
            raise self.wrong(f"expected a list of broker ids, found {shown(self.value)}")
        for position, broker in enumerate(self.value):
            if type(broker) is not int or not 0 <= broker <= INT32_MAX:
                Node(broker, self.source, self, position).int32()
        if len(self.value) > MOST_REPLICAS:
            raise self.wrong(
                f"expected at most {MOST_REPLICAS:,} brokers, found {len(self.value):,}"
            )
        if len(set(self.value)) != len(self.value):
            twice = next(b for b, number in Counter(self.value).items() if number > 1)
            raise self.wrong(f"broker {twice} is listed twice; name it once")
        return tuple(self.value)

    def _whole(self, least: int, most: int) -> int:
        if type(self.value) is not int:
            raise self.wrong(f"expected a whole number, found {shown(self.value)}")
        if not least <= self.value <= most:
            raise self.wrong(f"expected a number from {least} to {most}, found {shown(self.value)}")
        return self.value


def optional(node: Node | None, read: Callable[[Node], _T], default: _T) -> _T:
    """What `read` makes of a value, or the default where there is none."""
    return default if node is None else read(node)


def shown(value: object, limit: int = 60) -> str:
    """A value as the file has it, cut where it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except RecursionError:
        return "something nested deeply"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def advice(key: object, keys: Collection[str]) -> str:
    """What may be meant by an unknown key."""
    from difflib import get_close_matches

    close = get_close_matches(str(key)[:60], keys, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    return "known keys: " + ", ".join(sorted(keys))
