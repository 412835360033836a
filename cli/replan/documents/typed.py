"""A parsed document as typed values, by msgspec; every complaint names the file, the JSON path and what was found.

The written form of a document is declared and not parsed by hand: a type of the base `Form`, whose fields have the
types that are here for all documents, with their ranges. What the types cannot say, a form checks in `__post_init__`:
it raises ValueError, whose text begins with `.KEY: ` where the value of one key is wrong. The forms themselves are
where their documents are read and written.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, TypeVar

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.inspect import (
    DictType,
    EnumType,
    ListType,
    LiteralType,
    StructType,
    Type,
    UnionType,
    VarTupleType,
    type_info,
)

from replan.documents.json_text import INT32_MAX, INT64_MAX, MOST_REPLICAS, advice, shown
from replan.errors import BadFile
from replan.model.names import BrokerId

_T = TypeVar("_T")


class Form(Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """An object of a document: its fields are the keys, spelled in camelCase; no other key is allowed.

    Subclasses say `frozen=True` again: mypy asks for it.
    """


Int32 = Annotated[int, Meta(ge=0, le=INT32_MAX)]
"""Ids, epochs, counts."""
Positive = Annotated[int, Meta(ge=1, le=INT32_MAX)]
Int64 = Annotated[int, Meta(ge=0, le=INT64_MAX)]
"""Bytes, and bytes per second."""
Text = Annotated[str, Meta(min_length=1)]
ValidBrokerId = Annotated[BrokerId, Meta(ge=0, le=INT32_MAX)]
_ONCE_EACH = Meta(max_length=MOST_REPLICAS, extra_json_schema={"uniqueItems": True})
BrokerIds = Annotated[tuple[ValidBrokerId, ...], _ONCE_EACH]
"""Possibly none; that none is listed twice is checked by `once_each`."""
ReplicaList = Annotated[tuple[ValidBrokerId, ...], Meta(min_length=1), _ONCE_EACH]
"""At least one."""


def once_each(**lists: Sequence[int]) -> None:
    """Raise ValueError where one of these lists of brokers has one twice; their names are those of the keys."""
    for key, brokers in lists.items():
        if len(set(brokers)) != len(brokers):
            raise ValueError(f".{key}: broker {twice(brokers)} is listed twice; name it once")


def twice(names: Iterable[_T]) -> _T | None:
    """The first of those that come more than once."""
    return next((name for name, number in Counter(names).items() if number > 1), None)


_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_KINDS: dict[str, type] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
_LIMITS = {
    " of length >=": " of length at least",
    " of length <=": " of length at most",
    " >=": " of at least",
    " <=": " of at most",
    " >": " above",
}
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def typed(value: object, kind: type[_T], source: str, root: str = "$") -> _T:
    """A parsed value as a `kind`; raises BadFile with the path of the first thing that does not fit.

    `root` is the path of the value itself. Nothing is converted: a text is no number, and a number no text.
    """
    try:
        return convert(value, kind)
    except ValidationError as problem:
        place, what = complaint(problem, value, kind)
        raise BadFile(f"{source}: {root}{place}: {what}") from problem


def complaint(problem: ValidationError, value: object, kind: type) -> tuple[str, str]:
    """The place of the first thing that does not fit, as a path below the value, and what is wrong there."""
    message, _, path = str(problem).rpartition(" - at `$")
    if not message:
        message, path = path, ""
    path = _with_keys(path.removesuffix("`"), value, message)
    if message.startswith("."):  # out of a form's own check, which knows the key
        key, _, what = message.partition(": ")
        return path + key, what
    return path, _complaint(message, value, kind, _STEP.findall(path))


def _complaint(message: str, value: object, kind: type, path: list[tuple[str, str]]) -> str:
    if match := re.fullmatch(r"Object missing required field `(.+)`", message):
        return f'"{match[1]}" is missing'
    if match := re.fullmatch(r"Object contains unknown field `(.+)`", message):
        return f"unknown key {shown(match[1])}; {advice(match[1], [str(key) for key in _allowed(kind, path)])}"
    if not message.startswith(("Expected ", "Invalid ", "Integer ")):
        return message
    at = _value_at(value, path)
    if message.startswith("Invalid enum value"):
        wanted = " or ".join(shown(one) for one in _allowed(kind, path))
    else:
        wanted = re.sub(r"^Expected `(.+?)`(?:, got .*)?", lambda m: _kinds(m[1]), message)
        for symbol, words in _LIMITS.items():
            wanted = wanted.replace(symbol, words)
        wanted = re.sub(r"-?\d[\d.]*$", lambda m: f"{_number(m[0]):,}", wanted)
    return f"expected {wanted}" + ("" if at is _UNKNOWN else f", found {shown(at)}")


def _number(text: str) -> int | float:
    return float(text) if float(text) % 1 else int(text.partition(".")[0])


def _with_keys(path: str, value: object, message: str) -> str:
    """The path with a key wherever msgspec writes `[...]`: the first whose value is one that it complains of."""
    head, *rests = path.split("[...]")
    places = [(head, _value_at(value, _STEP.findall(head)))]
    for rest in rests:
        places = [
            (f"{before}.{key}{rest}", _value_at(member, _STEP.findall(rest)))
            for before, members in places
            if isinstance(members, dict)
            for key, member in members.items()
        ]
    return next((place for place, found in places if _is_meant(found, message)), path)


def _is_meant(value: object, message: str) -> bool:
    """Whether a complaint may be about a value: by the kind that it names, or by the bound."""
    if got := re.search(r", got `(.+)`$", message):
        return type(value) is _KINDS.get(got[1])
    bound = re.search(r" ([<>])= (-?\d+)$", message)
    if bound is None or type(value) is not int:
        return False
    return value < int(bound[2]) if bound[1] == ">" else value > int(bound[2])


def _kinds(text: str) -> str:
    return " or ".join(_WORDS.get(name, name) for name in text.split(" | "))


_UNKNOWN = object()


def _value_at(value: object, path: list[tuple[str, str]]) -> object:
    """What stands at a path; unknown below an object whose keys are free, since msgspec does not name them."""
    for key, position in path:
        if key and isinstance(value, dict):
            value = value.get(key, _UNKNOWN)
        elif position.isdecimal() and isinstance(value, list):
            value = value[int(position)]
        else:
            return _UNKNOWN
    return value


def _allowed(kind: type, path: list[tuple[str, str]]) -> Iterator[object]:
    """The keys, or the words, that may stand at a path."""
    kinds: list[Type] = [type_info(kind)]
    for key, _ in path:
        kinds = [below for one in kinds for below in _below(one, key)]
    for one in itertools.chain.from_iterable(map(_alternatives, kinds)):
        if isinstance(one, StructType):
            yield from (field.encode_name for field in one.fields)
        elif isinstance(one, EnumType):
            yield from (member.value for member in one.cls)
        elif isinstance(one, LiteralType):
            yield from one.values


def _alternatives(kind: Type) -> tuple[Type, ...]:
    return kind.types if isinstance(kind, UnionType) else (kind,)


def _below(kind: Type, key: str) -> Iterator[Type]:
    for one in _alternatives(kind):
        if isinstance(one, StructType):
            yield from (field.type for field in one.fields if field.encode_name == key)
        elif isinstance(one, ListType | VarTupleType):
            yield one.item_type
        elif isinstance(one, DictType):
            yield one.value_type
