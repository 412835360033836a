"""What the pictures of pages share: one horizontal axis, its labels, and a number that changes in steps.

Inline SVG, whose colours come from the style sheet of the page.
"""

from collections.abc import Callable, Iterable, Sequence
from html import escape as escape_html
from typing import NamedTuple

CHART_WIDTH = 1_000.0
CHART_LEFT = 92.0
ACROSS = CHART_WIDTH - CHART_LEFT - 12
"""How wide the axis is, beside what is named on the left."""
EDGE = 35.0
"""A label whose mark is nearer to the right edge ends there, so as not to be cut."""
_TOP, _BASE = 16.0, 92.0
_LABELS, _HEIGHT = 112.0, 120.0


class Mark(NamedTuple):
    """A label of the axis."""

    x: float
    text: str


def across_axis(part: float) -> float:
    """Where a part of the whole is, 0 to 1, from left to right."""
    return CHART_LEFT + ACROSS * min(max(part, 0.0), 1.0)


def axis(marks: Iterable[Mark], y: float = _LABELS, *, share: bool = False) -> str:
    """The labels below or above a picture; `share`: placed by their share of its width."""
    return "".join(
        f'<text class="time{" last" if x > CHART_WIDTH - EDGE else ""}" x="{_share(x) if share else f"{x:.1f}"}" '
        f'y="{y:.0f}">{escape_html(text)}</text>'
        for x, text in marks
    )


def steps(
    points: Sequence[tuple[float, float]], marks: Iterable[Mark], label: str, *, most: float = 1.0
) -> str:
    """A number that holds until the next point: each a part of the axis, 0 to 1 and rising, with its value.

    The scale reaches to `most` at the least. `label` says to who does not see it what it is. What is below 0 is drawn
    as a fault.
    """
    values = [value for _, value in points]
    most, least = max([most, *values]), min([0.0, *values])
    names = [(most, f"{most:,.0f}"), (0.0, "0"), *([(least, f"{least:,.0f}")] if least else [])]

    def height(value: float) -> float:
        return _BASE - (_BASE - _TOP) * (value - least) / (most - least)

    zero = height(0.0)

    def outline(kept: Callable[[float], float]) -> str:
        """From point to point, with what is `kept` of each value."""
        ends = [*points[1:], (1.0, 0.0)]
        corners = [
            f"{across_axis(x):.1f},{height(kept(value)):.1f}"
            for (at, value), (until, _) in zip(points, ends, strict=True)
            for x in (at, until)
        ]
        return " ".join(corners)

    def area(kind: str, kept: Callable[[float], float]) -> str:
        begin, end = (
            f"{across_axis(points[0][0]):.1f},{zero:.1f}",
            f"{across_axis(1.0):.1f},{zero:.1f}",
        )
        return f'<polygon class="{kind}" points="{begin} {outline(kept)} {end}"/>'

    drawn = area("area", lambda value: max(value, 0.0))
    drawn += area("under", lambda value: min(value, 0.0)) if least < 0 else ""
    drawn += f'<polyline class="line" points="{outline(float)}"/>'
    drawn += f'<line class="grid" x1="{CHART_LEFT}" x2="{CHART_LEFT + ACROSS}" y1="{zero:.1f}" y2="{zero:.1f}"/>'
    return _plot(label, drawn, ((height(value), text) for value, text in names), marks)


def column_chart(
    counts: Sequence[int], titles: Sequence[str], marks: Iterable[Mark], label: str
) -> str:
    """How many of each kind, side by side, each with what it says under the pointer."""
    most, across = max(counts), ACROSS / len(counts)
    bars = "".join(
        f'<rect class="copy" x="{CHART_LEFT + at * across + 1:.1f}" y="{_BASE - (_BASE - _TOP) * number / most:.1f}" '
        f'width="{across - 2:.1f}" height="{(_BASE - _TOP) * number / most:.1f}">'
        f"<title>{escape_html(title)}</title></rect>"
        for at, (number, title) in enumerate(zip(counts, titles, strict=True))
    )
    return _plot(label, bars, [(_TOP, f"{most:,}")], marks)


def _plot(
    label: str, drawn: str, values: Iterable[tuple[float, str]], marks: Iterable[Mark]
) -> str:
    """A picture as wide as the page is: what is drawn is stretched, its words are not; `values` by their height."""
    named = "".join(
        f'<text class="broker" x="{_share(CHART_LEFT - 10)}" y="{y + 4:.0f}">{text}</text>'
        for y, text in values
    )
    return (
        f'<svg class="plot" role="img" aria-label="{escape_html(label)}">'
        f'<svg viewBox="0 0 {CHART_WIDTH:.0f} {_HEIGHT:.0f}" preserveAspectRatio="none">{drawn}</svg>'
        f"{named}{axis(marks, share=True)}</svg>"
    )


def _share(x: float) -> str:
    return f"{100 * x / CHART_WIDTH:.1f}%"
