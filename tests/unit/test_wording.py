"""Counts with their noun, and lists that stop at a limit."""

import pytest

from replan.wording import capped, count, left_out, plural


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "move", "0 moves"),
        (1, "move", "1 move"),
        (1204, "move", "1,204 moves"),
        (1, "copy", "1 copy"),
        (2, "copy", "2 copies"),
        (3, "more copy", "3 more copies"),
        (2, "day", "2 days"),
    ],
)
def test_a_count_has_its_noun_in_the_right_number(number: int, noun: str, text: str) -> None:
    assert count(number, noun) == text


def test_the_plural_alone() -> None:
    assert plural("boundary") == "boundaries"


def test_a_list_within_its_limit_is_complete() -> None:
    assert capped([1, 2], limit=2) == ["1", "2"]
    assert capped([1, 2], limit=None) == ["1", "2"]


def test_a_list_beyond_its_limit_counts_the_rest() -> None:
    assert capped(["a", "b", "c"], limit=1, noun="move", way_out="--all lists them") == [
        "a",
        "and 2 more moves; --all lists them",
    ]


def test_only_the_lines_that_are_shown_are_made() -> None:
    made: list[int] = []

    def line(number: int) -> str:
        made.append(number)
        return str(number)

    capped(range(1_000_000), line, limit=2)
    assert made == [0, 1]


def test_nothing_left_out_is_no_line() -> None:
    assert left_out(0) == []
    assert left_out(-3, "move") == []
    assert left_out(1) == ["and 1 more"]
