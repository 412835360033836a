"""The figures of `make bench` as a picture: each row at each size on one scale, from a tenth of a millisecond up.

    python -m benchmarks.plots benchmarks/last.json > docs/pictures/benchmarks.svg

A dot is the median of CPU seconds, a line from the quickest run to the slowest; sizes of a row stand together.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from math import ceil, floor, log10
from pathlib import Path
from statistics import median

from benchmarks.run import Measured, kept

WIDTH, LEFT, RIGHT = 1_000.0, 420.0, 110.0
LINE, GAP, TOP = 20.0, 8.0, 40.0
STYLE = """\
svg { --ink: #1c2330; --soft: #5b6577; --grid: #d9dee7; --dot: #3b7dd8; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e4e8f0; --soft: #98a3b5; --grid: #333b48; --dot: #5a97ea; --paper: #14171d; } }
rect { fill: var(--paper); } text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.soft { fill: var(--soft); } .end { text-anchor: end; } .middle { text-anchor: middle; }
.grid { stroke: var(--grid); } .range { stroke: var(--dot); stroke-width: 3; stroke-opacity: .45; }
circle { fill: var(--dot); }"""


def drawn(rows: Sequence[Measured]) -> str:
    """The picture; ends with a newline."""
    seconds = [s for row in rows for s in row.cpu]
    first, last = floor(log10(min(seconds))), ceil(log10(max(seconds)))

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (log10(value) - first) / (last - first)

    lines: list[str] = []
    y = TOP
    for name, group in groupby(rows, lambda row: row.row):
        for at, row in enumerate(group):
            lines += _row(
                row, name if not at else "", x(min(row.cpu)), x(max(row.cpu)), x(median(row.cpu)), y
            )
            y += LINE
        y += GAP
    scale = list(_scale(((x(10.0**power), power) for power in range(first, last + 1)), y))
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {y:.0f}" role="img" '
        'aria-label="CPU seconds of each row at each size">'
    )
    paper = f'<rect width="{WIDTH:.0f}" height="{y:.0f}"/>'
    return "\n".join([begin, f"<style>\n{STYLE}\n</style>", paper, *scale, *lines, "</svg>\n"])


def _row(
    row: Measured, name: str, least: float, most: float, middle: float, y: float
) -> Iterator[str]:
    base = y + 4
    if name:
        yield f'<text x="12" y="{base:.0f}">{escape(name)}</text>'
    yield f'<text class="soft end" x="{LEFT - 14}" y="{base:.0f}">{row.size:,} {escape(row.unit)}</text>'
    yield f'<line class="range" x1="{least:.1f}" x2="{most:.1f}" y1="{y:.0f}" y2="{y:.0f}"/>'
    yield f'<circle cx="{middle:.1f}" cy="{y:.0f}" r="4"/>'
    shown = f"{median(row.cpu):.3f} s, {row.peak:,.0f} MB"
    yield f'<text class="soft end" x="{WIDTH - 6}" y="{base:.0f}">{shown}</text>'


def _scale(powers: Iterable[tuple[float, int]], bottom: float) -> Iterator[str]:
    for x, power in powers:
        label = f"{10**power} s" if power >= 0 else f"{10 ** (power + 3):g} ms"
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="26" y2="{bottom - GAP:.0f}"/>'
        yield f'<text class="soft middle" x="{x:.1f}" y="18">{label}</text>'


if __name__ == "__main__":
    sys.stdout.write(drawn(list(kept(Path(sys.argv[1])).values())))
