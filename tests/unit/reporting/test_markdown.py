"""Markdown that shows text as it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.reporting.api import code, escape, fitted


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("orders-1", "`orders-1`"),
        ("a`b", "``a`b``"),
        ("`a", "`` `a ``"),
        ("a``b`", "``` a``b` ```"),
        ("a|b", "`a\\|b`"),
        ("a\nb", "`a b`"),
        ("a < b*", "`a < b*`"),
    ],
)
def test_code_spans(text: str, span: str) -> None:
    assert code(text) == span


@given(st.text("ab` ", min_size=1).filter(str.strip))
def test_a_code_span_ends_where_its_fence_ends(text: str) -> None:
    span = code(text)
    fence = span[: len(span) - len(span.lstrip("`"))]
    assert span.endswith(fence)
    assert fence not in span[len(fence) : -len(fence)]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b <c> *d* \\", "a\\|b &lt;c> \\*d\\* \\\\"),
        ("`payments-*` and *", "`payments-*` and \\*"),
        ("``a`*`` *", "``a`*`` \\*"),
        ("`a|b`", "`a\\|b`"),
        ("an odd ` and *", "an odd ` and \\*"),
        ("two\nlines", "two lines"),
        ("[here](https://x) ![](y)", "\\[here\\](https://x) !\\[\\](y)"),
        ("ask @team", "ask @&#8203;team"),
        ("&lt; is <", "&amp;lt; is &lt;"),
        ("_a_ b_c __d", "\\_a\\_ b_c \\_\\_d"),
        ("~~no~~ $x$", "\\~\\~no\\~\\~ \\$x\\$"),
    ],
)
def test_text_is_escaped_outside_code_spans(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_lines_beyond_the_room_are_counted() -> None:
    assert fitted(iter(["one", "two", "three"]), 3, 8, "more line") == (
        "one\ntwo\n\n… and 1 more line, left out to fit a comment.\n"
    )
