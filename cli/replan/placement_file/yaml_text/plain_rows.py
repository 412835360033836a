"""Replica lists in the plain shape that `export` writes, read without YAML's events: a million of them in seconds.

Only this is taken, with nothing else on its lines but a comment, and only of rows in which nothing is wrong:

    TOPIC:
      partitions:
        - [1, 2, 3]        or        0: [1, 2, 3]

Such a block is blanked out, so every other character keeps its place: the parser sees a `partitions:` with nothing
behind it, and the reader puts the rows there. What only looks like a block, in a text between quotes for one, is not
asked for by the reader, which then reads the file without this module. So the meaning of a file, and what is wrong
with it and where, is always the parser's.
"""

import json
import re
from dataclasses import dataclass

from replan.placement_file.yaml_text.values import YamlList, YamlMapping

LARGEST_ID = 2**31 - 1
"""Broker ids and partition numbers are INT32 in Kafka's protocol."""

_END = r"(?: +#[ -~]*)? *\n"
_BETWEEN = r"(?: *(?:#[ -~]*)?\n)*"
"""Empty lines and comments. A possessive repeat within another one matches nothing in Python 3.11.0 to 3.11.2."""
_LIST = r"\[[0-9, ]+\]" + _END
_NUMBER = r"(?:0|[1-9][0-9]{0,9})"
_LISTED = rf"(\1 +)- {_LIST}(?:{_BETWEEN}\4- {_LIST})*+"
_NUMBERED = rf"(\1 +){_NUMBER}: {_LIST}(?:{_BETWEEN}\5{_NUMBER}: {_LIST})*+"
_BLOCK = re.compile(rf"^( +)(partitions):{_END}({_BETWEEN}(?:{_LISTED}|{_NUMBERED}))", re.MULTILINE)
_ROW = re.compile(r"^ +(?:-|([0-9]+):) (\[[^\]]+\])", re.MULTILINE)
_NEXT = re.compile(r"(?: *(?:#[^\n]*)?\n)*( *)")


@dataclass(frozen=True, slots=True)
class PlainRows:
    """A text without these rows, and the rows by the place of their key `partitions`."""

    text: str
    blocks: dict[int, YamlList | YamlMapping]


def plain_rows(text: str) -> PlainRows:
    """Find the blocks of a text."""
    parts: list[str] = []
    blocks: dict[int, YamlList | YamlMapping] = {}
    at = 0
    for found in _BLOCK.finditer(text):
        start, end = found.span(3)
        after = _NEXT.match(text, end)
        if after is not None and len(after[1]) > len(found[1]):
            continue
        rows = _read(text, start, end)
        if rows is not None:
            blocks[found.start(2)] = rows
            parts += (text[at:start], " " * (end - start - 1), "\n")
            at = end
    return PlainRows("".join((*parts, text[at:])), blocks)


def first_place(rows: YamlList | YamlMapping) -> int:
    """Where the rows of a block begin."""
    return rows.at[0] - len("- ") if isinstance(rows, YamlList) else rows.key_at[0]


def _read(text: str, start: int, end: int) -> YamlList | YamlMapping | None:
    """The rows of one block; None where something is wrong with one, so that the parser shall say what."""
    found = list(_ROW.finditer(text, start, end))
    try:
        rows = json.loads("[" + ",".join([row[2] for row in found]) + "]")
    except ValueError:
        return None
    for row in rows:
        if len({*row}) != len(row) or max(row) > LARGEST_ID:
            return None
    places = [row.start(2) for row in found]
    if found[0][1] is None:
        listed = YamlList(rows)
        listed.at = places
        return listed
    mapping = YamlMapping(zip([row[1] for row in found], rows, strict=True))
    if len(mapping) < len(rows):
        return None
    mapping.key_at, mapping.value_at = [row.start(1) for row in found], places
    return mapping
