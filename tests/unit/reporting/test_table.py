"""Aligned columns."""

from hypothesis import given
from hypothesis import strategies as st

from replan.reporting.api import aligned_lines

CELL = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=8)


def test_cells_are_two_spaces_apart_and_lines_end_without_spaces() -> None:
    assert aligned_lines([("topic", "size", ""), ("a", "1 kB", "")]) == [
        "topic  size",
        "a      1 kB",
    ]


def test_numbers_are_aligned_to_the_right() -> None:
    assert aligned_lines([("broker", "sent"), ("1", "20 MB")], right=(0, 1)) == [
        "broker   sent",
        "     1  20 MB",
    ]


def test_no_rows_are_no_lines() -> None:
    assert aligned_lines([]) == []


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=5))
def test_every_cell_begins_where_the_one_above_begins(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for row, line in zip(rows, aligned_lines(rows), strict=True):
        start = 0
        for cell, width in zip(row, widths, strict=True):
            assert line[start : start + len(cell)] == cell
            start += width + 2
