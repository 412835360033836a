"""What is published of `make bench`: the table of benchmarks/README.md and its picture, of benchmarks/last.json."""

import os
import re
from pathlib import Path

import pytest
from benchmarks.plots import drawn
from benchmarks.run import Measured, kept, table
from tests.docs.pages import check_page

FOLDER = Path(__file__).parents[2] / "benchmarks"
TABLE = re.compile(r"\| row \| size \|.*?\n(?=\n)", re.DOTALL)


@pytest.fixture
def figures() -> list[Measured]:
    return list(kept(FOLDER / "last.json").values())


def test_the_table_has_the_figures_that_are_kept(figures: list[Measured]) -> None:
    page = FOLDER / "README.md"
    text = page.read_text(encoding="utf-8")
    made = "".join(f"{line}\n" for line in table(figures))
    if "REPLAN_REWRITE" in os.environ:
        text = TABLE.sub(made, text, count=1)
        page.write_text(text, encoding="utf-8")
    (found,) = TABLE.findall(text)
    assert found == made, "run REPLAN_REWRITE=1 pytest tests/benchmarks, and read the diff"


def test_the_picture_has_the_figures_that_are_kept(figures: list[Measured]) -> None:
    svg = drawn(figures)
    assert svg.count("<circle") == len(figures)
    check_page("pictures/benchmarks.svg", svg)


def test_a_slower_row_is_further_to_the_right() -> None:
    rows = [Measured("a <b>", n, "moves", [s], [0.1], 9.0) for n, s in ((1, 0.02), (10, 3.0))]
    svg = drawn(rows)
    quick, slow = (float(x) for x in re.findall(r'<circle cx="([\d.]+)"', svg))
    assert quick < slow
    assert svg.count(">a &lt;b&gt;<") == 1
