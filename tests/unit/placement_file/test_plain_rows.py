"""Rows read without the parser mean what the parser says, at the same places, with the same complaints."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.placement_file.api import (
    EventParser,
    Problems,
    Source,
    YamlList,
    YamlMapping,
    fastest_parser,
    plain_rows,
    python_parser,
    read_events,
    read_yaml_document,
)

PARSERS = [fastest_parser(), python_parser]
HEAD = "version: 1\nassignments:\n  ordérs:\n    partitions:\n"
LISTED = HEAD + "      - [1, 2, 3]  # 0\n\n  # of the second\n      - [2,3]\n"
NUMBERED = HEAD + "        0: [1, 2, 3]\n        7: [4]\n    belowMinIsr: true\n"

LINES = (
    "version: 1",
    "assignments:",
    "  orders:",
    "  clicks:  # a topic",
    "    partitions:",
    "    partitions:  # rows",
    "    partitions: &rows",
    "   partitions:",
    "    ? partitions",
    "    belowMinIsr: true",
    "      - [1, 2, 3]  # 0",
    "      - [1, 2, 3]",
    "      - [2,3 , 4]   ",
    "      0: [1, 2]",
    "      1: [1, 2]  # one",
    "      - [1, 1]",
    "      - [01]",
    "      - [1 2]",
    "      - [1, 2,]",
    "      - [ , ]",
    "      - [ ]",
    "      - [99999999999]",
    "      - [1, 2]# no comment",
    "      - [1, 2]  # Ä",
    "      - [1,",
    "        2]",
    "      - 1",
    "      00: [1]",
    "        - [4, 5]",
    "        3: [4, 5]",
    "    - [7]",
    "  - [7]",
    "       junk",
    "      # a comment",
    "# another",
    "",
    "   ",
    "blacklists:",
    "  reason: |",
    '  reason: "',
    '    "',
    "  {orders: {",
    "    }}",
    "---",
    "...",
    "\t- [1]",
    "      - [1]\r",
)


def places(value: object) -> Iterator[Any]:
    """All places, less those of the numbers in a row."""
    if isinstance(value, YamlMapping):
        yield (value.key_at, value.value_at)
        for below in value.values():
            yield from places(below)
    elif isinstance(value, YamlList) and not all(type(item) is int for item in value):
        yield value.at
        for item in value:
            yield from places(item)


def read(
    reader: Callable[[Source, Problems, Callable[[str], EventParser]], YamlMapping | None],
    text: str,
    parser_of: Callable[[str], EventParser],
) -> tuple[object, ...]:
    problems = Problems()
    root = reader(Source("a.yaml", text), problems, parser_of)
    return root, list(places(root)), problems.by_place


@pytest.mark.parametrize("parser_of", PARSERS)
@pytest.mark.parametrize("text", [LISTED, NUMBERED])
def test_plain_rows_are_read_without_the_parser(
    text: str, parser_of: Callable[[str], EventParser]
) -> None:
    found = plain_rows(text)
    assert list(found.blocks) == [text.index("partitions")]
    assert len(found.text) == len(text)
    assert "[" not in found.text
    assert read(read_yaml_document, text, parser_of) == read(read_events, text, parser_of)
    root = read_yaml_document(Source("a.yaml", text), Problems(), parser_of)
    assert root is not None
    rows: Any = root["assignments"]["ordérs"]["partitions"]  # type: ignore[call-overload, index]
    assert {type(row) for row in (rows.values() if isinstance(rows, dict) else rows)} == {list}


@pytest.mark.parametrize(
    "row",
    [
        "- [ ]",
        "- [1, 1]",
        "- [01]",
        "- [2147483648]",
        "- [1, ]",
        "- [a]",
        "- 1",
        "0: [1]\n      0: [2]",
    ],
)
def test_a_row_with_something_to_explain_is_the_parsers(row: str) -> None:
    assert plain_rows(f"{HEAD}      {row}\n").blocks == {}


@pytest.mark.parametrize(
    "text",
    [
        "assignments:\n  orders: {a: 1,\n    partitions:\n      - [1]\n  }\n",
        "cluster:\n  orders:\n    partitions:\n      - [1]\n",
        "assignments:\n  orders: |\n    partitions:\n      - [1]\n",
        "assignments:\n  orders:\n    partitions:\n      - [1]\n    - [2]\n",
    ],
)
def test_what_only_looks_like_rows_is_read_as_yaml_says(text: str) -> None:
    assert plain_rows(text).blocks
    for parser_of in PARSERS:
        assert read(read_yaml_document, text, parser_of) == read(read_events, text, parser_of)


@given(
    st.lists(st.sampled_from(LINES), max_size=12),
    st.lists(st.sampled_from(LINES), max_size=6),
    st.booleans(),
)
def test_no_text_is_read_differently(before: list[str], after: list[str], headed: bool) -> None:
    text = "\n".join([*before, *([HEAD.rstrip()] if headed else []), *after, ""])
    for parser_of in PARSERS:
        assert read(read_yaml_document, text, parser_of) == read(read_events, text, parser_of)
