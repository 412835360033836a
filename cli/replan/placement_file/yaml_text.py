"""YAML text into plain values that remember their places; an unquoted word whose meaning is in doubt is refused.

Replica lists in the plain shape that `export` writes are read without YAML's events: a million of them in seconds.
"""

import logging
import re
from collections.abc import Callable
from typing import Annotated, Any, Protocol, cast

import yaml
from msgspec import DecodeError, Meta, Struct
from msgspec.json import Decoder
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from replan.model.names import LARGEST_ID
from replan.placement_file.scalars import Scalar, read_plain, read_plain_key
from replan.placement_file.sources import KeyPath, Problems, Source


class YamlMapping(dict[str, "YamlValue"]):
    """A mapping; `key_at` and `value_at` hold the places of its keys and values, in the dict's order."""

    __slots__ = ("key_at", "value_at")

    key_at: list[int]
    value_at: list[int]


class YamlList(list["YamlValue"]):
    """A list; `at` holds the places of its items."""

    __slots__ = ("at",)

    at: list[int]


YamlValue = Scalar | YamlMapping | YamlList


def place_of(root: YamlMapping, path: KeyPath) -> int:
    """Where the value at a path is written; the nearest one above it where the path leads on."""
    at = 0
    here: YamlValue = root
    for key in path:
        match here:
            case YamlMapping() if key in here:
                at = here.value_at[list(here).index(cast("str", key))]
                here = here[cast("str", key)]
            case YamlList() if isinstance(key, int) and key < len(here):
                at = here.at[key]
                here = here[key]
            case _:
                return at
    return at


def key_place_of(root: YamlMapping, path: KeyPath) -> int:
    """Where the key at the end of a path is written; an item of a list is its own key."""
    holder: YamlValue = root
    for key in path[:-1]:
        holder = holder[key]  # type: ignore[index]  # the path was walked before
    if isinstance(holder, YamlMapping) and path and path[-1] in holder:
        return holder.key_at[list(holder).index(cast("str", path[-1]))]
    return place_of(root, path)


_END = r"(?: +#[ -~]*)? *\n"
_BETWEEN = r"(?: *(?:#[ -~]*)?\n)*"
"""Empty lines and comments. A possessive repeat within another one matches nothing in Python 3.11.0 to 3.11.2."""
_LIST = r"\[[0-9, ]+\]" + _END
_NUMBER = r"(?:0|[1-9][0-9]{0,9})"
_LISTED = rf"(\1 +)- {_LIST}(?:{_BETWEEN}\4- {_LIST})*+"
_NUMBERED = rf"(\1 +){_NUMBER}: {_LIST}(?:{_BETWEEN}\5{_NUMBER}: {_LIST})*+"
_BLOCK = re.compile(rf"^( +)(partitions):{_END}({_BETWEEN}(?:{_LISTED}|{_NUMBERED}))", re.MULTILINE)
_ROW = re.compile(r"^ +(?:-|([0-9]+):) (\[[^\]]+\])", re.MULTILINE)
_ROWS: Decoder[list[Any]] = Decoder(
    list[Annotated[list[Annotated[int, Meta(ge=0, le=LARGEST_ID)]], Meta(min_length=1)]]
)
_NEXT = re.compile(r"(?: *(?:#[^\n]*)?\n)*( *)")


class PlainRows(Struct, frozen=True):
    """A text without these rows, and the rows by the place of their key `partitions`."""

    text: str
    blocks: dict[int, YamlList | YamlMapping]


def plain_rows(text: str) -> PlainRows:
    """Find the blocks of a text."""
    parts: list[str] = []
    blocks: dict[int, YamlList | YamlMapping] = {}
    at = 0
    for block in _BLOCK.finditer(text):
        start, end = block.span(3)
        after = _NEXT.match(text, end)
        if after is not None and len(after[1]) > len(block[1]):
            continue
        rows = _read(text, start, end)
        if rows is not None:
            blocks[block.start(2)] = rows
            parts += (text[at:start], " " * (end - start - 1), "\n")
            at = end
    return PlainRows("".join((*parts, text[at:])), blocks)


def first_place(rows: YamlList | YamlMapping) -> int:
    """Where the rows of a block begin."""
    return rows.at[0] - len("- ") if isinstance(rows, YamlList) else rows.key_at[0]


def _read(text: str, start: int, end: int) -> YamlList | YamlMapping | None:
    """The rows of one block; None where something is wrong with one, so that the parser shall say what."""
    row_matches = list(_ROW.finditer(text, start, end))
    try:
        rows = _ROWS.decode("[" + ",".join([row[2] for row in row_matches]) + "]")
    except DecodeError:
        return None
    if any(len({*row}) != len(row) for row in rows):
        return None
    places = [row.start(2) for row in row_matches]
    if row_matches[0][1] is None:
        listed = YamlList(rows)
        listed.at = places
        return listed
    mapping = YamlMapping(zip([row[1] for row in row_matches], rows, strict=True))
    if len(mapping) < len(rows):
        return None
    mapping.key_at, mapping.value_at = [row.start(1) for row in row_matches], places
    return mapping


DEEPEST_NESTING = 20
"""Levels of nesting; the deepest thing of a placement file is on the sixth."""


_Path = tuple["_Path", str | int] | None


class EventParser(Protocol):
    """What PyYAML's parsers have in common."""

    def get_event(self) -> Event | None:
        """The next event."""
        ...


class _Unreadable(Exception):
    """Nothing behind this place can be read; the problem is noted already."""


def fastest_parser() -> Callable[[str], EventParser]:
    """libyaml's parser; where PyYAML came without it the same in Python, some twenty times as slow."""
    try:
        from yaml.cyaml import CSafeLoader  # noqa: PLC0415 - PyYAML may have been built without it
    except ImportError:
        logging.getLogger(__name__).warning(
            "PyYAML was built without libyaml: reading large placement files is slow; "
            "install a PyYAML wheel, or libyaml's headers before building it"
        )
        return python_parser
    return cast("Callable[[str], EventParser]", CSafeLoader)


def python_parser(text: str) -> EventParser:
    """PyYAML's own parser, which needs no libyaml."""
    return cast("EventParser", yaml.SafeLoader(text))


def read_yaml_document(
    source: Source, problems: Problems, parser_of: Callable[[str], EventParser]
) -> YamlMapping | None:
    """Read the one document of a file; None, with the reason among the problems, where it cannot be read."""
    plain = plain_rows(source.text)
    if plain.blocks:
        document = _with_rows(source, plain, parser_of)
        if document is not None:
            return document
    return read_events(source, problems, parser_of)


def read_events(
    source: Source, problems: Problems, parser_of: Callable[[str], EventParser]
) -> YamlMapping | None:
    """The same, all of it by the parser."""
    try:
        return _Reader(source, problems, parser_of(source.text)).document()
    except _Unreadable:
        return None
    except yaml.YAMLError as problem:
        at, text = _not_yaml(problem, source.text)
        problems.add(source.where(at), (), text)
    return None


def _with_rows(
    source: Source, plain: PlainRows, parser_of: Callable[[str], EventParser]
) -> YamlMapping | None:
    """The document with its plain rows; None where anything is wrong, or one of them is not where rows belong."""
    problems, unplaced = Problems(), plain.blocks.copy()
    try:
        document = _Reader(source, problems, parser_of(plain.text), unplaced).document()
    except (_Unreadable, yaml.YAMLError):
        return None
    return None if unplaced or problems.by_place else document


_NO_CHARACTER = "found invalid Unicode character escape code"
"""What libyaml says of `\\ud800`: it is about what is written, not about how the file is encoded."""


def _not_yaml(problem: yaml.YAMLError, text: str) -> tuple[int, str]:
    """Where reading ended, and why."""
    if not isinstance(problem, yaml.MarkedYAMLError):
        match = yaml.reader.Reader.NON_PRINTABLE.search(text)
        at = match.start() if match else 0
        return at, f"character {text[at : at + 1]!a} is not allowed in YAML; remove it"
    mark = problem.problem_mark or problem.context_mark
    at = mark.index if mark else 0
    if text[at : at + 1] == "\t":
        return at, "a tab cannot indent YAML; use spaces"
    if problem.problem == _NO_CHARACTER:
        return (
            at,
            "this escape is no character of Unicode, or half of one; write the character itself",
        )
    around = f" ({problem.context})" if problem.context else ""
    return at, (
        f"this is not YAML: {problem.problem}{around}; check indentation, brackets and quotes here"
    )


class _Reader:
    """One pass over the events of one file."""

    __slots__ = ("good_keys", "next", "plain", "problems", "rows", "source")

    def __init__(
        self,
        source: Source,
        problems: Problems,
        parser: EventParser,
        rows: dict[int, YamlList | YamlMapping] | None = None,
    ) -> None:
        """Read `source`; `rows`: what is blanked out of its text, each taken as it is met."""
        self.source = source
        self.problems = problems
        # Any, since the loops below tell the kinds of events apart by their class.
        self.next = cast("Callable[[], Any]", parser.get_event)
        self.rows = {} if rows is None else rows
        self.plain: dict[str, Scalar] = {}
        self.good_keys: set[str] = set()

    def document(self) -> YamlMapping | None:
        self.next()  # the stream starts
        start = self.next()
        if isinstance(start, StreamEndEvent):
            self.refuse_empty()
            return None
        if isinstance(start, DocumentStartEvent) and (start.version or start.tags):
            self.refuse(start, None, "directives (%YAML, %TAG) are not supported; remove the line")
        root = self.next()
        value = self.value(root, None, 0)
        self.next()  # the document ends
        after = self.next()
        if isinstance(after, DocumentStartEvent):
            self.refuse(after, None, "a second document starts here; write one document a file")
        if isinstance(value, YamlMapping):
            return value
        if value is None and isinstance(root, ScalarEvent):
            self.refuse_empty()
            return None
        self.refuse(
            root,
            None,
            "a placement file is a mapping of keys; begin with version: 1 and assignments:",
        )
        return None

    def refuse_empty(self) -> None:
        self.problems.add(self.source.where(0), (), "this file is empty; it begins with version: 1")

    def value(self, event: Any, path: _Path, depth: int) -> YamlValue:
        kind = event.__class__
        if kind is AliasEvent:
            self.refuse(event, path, f"*{event.anchor} is an alias; write the value out")
            return None
        if event.anchor is not None or event.tag is not None:
            self.refuse_properties(event, path)
        if kind is ScalarEvent:
            return self.scalar(event, path)
        if depth >= DEEPEST_NESTING:
            self.refuse(
                event, path, f"nested deeper than {DEEPEST_NESTING} levels; no placement needs that"
            )
            raise _Unreadable
        if kind is SequenceStartEvent:
            return self.sequence(path, depth)
        return self.mapping(path, depth, flow=event.flow_style)

    def scalar(self, event: Any, path: _Path) -> Scalar:
        text: str = event.value
        if event.style:
            return text
        try:
            return self.plain[text]
        except KeyError:
            pass
        try:
            value = read_plain(text)
        except ValueError as doubt:
            where = self.source.where(event.start_mark.index)
            self.problems.add_doubt(where, _flat(path), str(doubt))
            return None if text == "~" else text
        self.plain[text] = value
        return value

    def sequence(self, path: _Path, depth: int) -> YamlList:
        items = YamlList()
        at: list[int] = []
        items.at = at
        following, plain, place, put = self.next, self.plain, at.append, items.append
        while True:
            event = following()
            kind = event.__class__
            if kind is SequenceEndEvent:
                return items
            place(event.start_mark.index)
            if (
                kind is ScalarEvent
                and not event.style
                and event.value in plain
                and event.anchor is None
                and event.tag is None
            ):
                put(plain[event.value])
            else:
                put(self.value(event, (path, len(items)), depth + 1))

    def mapping(self, path: _Path, depth: int, *, flow: bool) -> YamlMapping:
        entries = YamlMapping()
        key_at: list[int] = []
        value_at: list[int] = []
        entries.key_at, entries.value_at = key_at, value_at
        following = self.next
        while True:
            event = following()
            if event.__class__ is MappingEndEvent:
                return entries
            key = self.key(event, path, depth)
            value_event = following()
            value = self.value(value_event, (path, key or ""), depth + 1)
            if key is None:
                continue
            at = value_event.start_mark.index
            if value is None and self.rows and not flow and _is_topic(path):
                value = self.rows.pop(event.start_mark.index, None)
                at = at if value is None else first_place(value)
            if key in entries:
                first = self.source.where(key_at[list(entries).index(key)])
                self.refuse(
                    event, (path, key), f"this key is given twice, first at {first}; keep one"
                )
                continue
            entries[key] = value
            key_at.append(event.start_mark.index)
            value_at.append(at)

    def key(self, event: Any, path: _Path, depth: int) -> str | None:
        if event.__class__ is not ScalarEvent:
            self.refuse(event, path, "this key is not a single word or number; write a plain key")
            self.value(event, path, depth + 1)
            return None
        text: str = event.value
        if event.anchor is not None or event.tag is not None:
            self.refuse_properties(event, (path, text))
        if event.style or text in self.good_keys:
            return text
        try:
            self.good_keys.add(read_plain_key(text))
        except ValueError as doubt:
            self.refuse(event, (path, text), str(doubt))
        return text

    def refuse_properties(self, event: Any, path: _Path) -> None:
        if event.anchor is not None:
            self.refuse(
                event, path, f"&{event.anchor} is an anchor; write the value out where it is needed"
            )
        else:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.refuse(event, path, f"{tag} is a tag; remove it")

    def refuse(self, event: Any, path: _Path, text: str) -> None:
        self.problems.add(self.source.where(event.start_mark.index), _flat(path), text)


def _is_topic(path: _Path) -> bool:
    return path is not None and path[0] == (None, "assignments")


def _flat(path: _Path) -> KeyPath:
    keys: list[str | int] = []
    while path is not None:
        path, key = path
        keys.append(key)
    return tuple(reversed(keys))
