"""Pictures of a number that changes in steps."""

import re

from replan.reporting.api import CHART_LEFT, CHART_WIDTH, Mark, across_axis, column_chart, steps


def points(svg: str, kind: str) -> list[tuple[float, float]]:
    """The corners of a shape."""
    (found,) = re.findall(rf'class="{kind}" points="([^"]*)"', svg)
    corners = (corner.split(",") for corner in found.split())
    return [(float(x), float(y)) for x, y in corners]


def test_a_value_holds_until_the_next_and_the_last_to_the_end() -> None:
    svg = steps([(0.0, 2.0), (0.5, 1.0)], [], "of <a>")
    line = points(svg, "line")
    assert [x for x, _ in line] == [
        across_axis(0),
        across_axis(0.5),
        across_axis(0.5),
        across_axis(1),
    ]
    top, half = line[0][1], line[-1][1]
    assert (line[1][1], line[2][1]) == (top, half)
    assert top < half
    assert "of &lt;a&gt;" in svg
    assert 'class="under"' not in svg


def test_what_is_below_zero_is_a_shape_of_its_own() -> None:
    svg = steps([(0.0, 1.0), (0.3, -1.0), (0.6, 0.0)], [], "headroom")
    zero = points(svg, "area")[0][1]
    assert max(y for _, y in points(svg, "area")) == zero
    assert min(y for _, y in points(svg, "under")) == zero
    assert re.findall(r">(-?\d+)</text>", svg) == ["1", "0", "-1"]


def test_a_number_of_zero_throughout_is_a_line_at_zero() -> None:
    assert {y for _, y in points(steps([(0.0, 0.0)], [], "nothing"), "line")} == {92.0}


def test_columns_stay_within_the_axis_and_say_what_they_are() -> None:
    svg = column_chart([1, 0, 3], ["a & b", "b", "c"], [Mark(across_axis(1), "end")], "runs")
    found = re.findall(r'x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg)
    assert min(float(x) for x, _ in found) >= CHART_LEFT
    assert max(float(x) + float(width) for x, width in found) <= CHART_WIDTH
    assert "<title>a &amp; b</title>" in svg
    assert '<text class="time last"' in svg
