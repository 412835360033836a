"""Lines of text whose parts have a tone, and the one writer that draws them: colours, and the width of a terminal.

A report says what a part is (what comes, what goes), not which colour that has. What names and reasons have of control
characters becomes visible here, before any colour is put in, so that nothing that others wrote is obeyed by a terminal.

Rows as aligned columns of plain text: the one table of every report.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from replan.wording import one_line


class Tone(Enum):
    """What a part of a line is."""

    PLAIN = "plain"
    HEAD = "head"
    COMES = "comes"
    GOES = "goes"
    CHANGES = "changes"
    """It stays, and changes place; or it is something to look at."""


TONE_CODES: Mapping[Tone, str] = {
    Tone.HEAD: "\x1b[1m",
    Tone.COMES: "\x1b[32m",
    Tone.GOES: "\x1b[31m",
    Tone.CHANGES: "\x1b[33m",
}
RESET = "\x1b[0m"


class Span(NamedTuple):
    """A part of a line with its tone."""

    text: str
    tone: Tone = Tone.PLAIN


Cell = str | Span | Sequence[Span]


class Line(Struct, frozen=True):
    """One line; where a terminal is narrower, it goes on in the next one, `hang` columns from the left."""

    spans: tuple[Span, ...] = ()
    hang: int = 0
    beside: tuple[tuple[Span, ...], ...] = ()
    """What follows on the same line, each part only where the line has room for it."""


EMPTY_LINE = Line()


def line(*cells: Cell, hang: int = 0) -> Line:
    """A line of these parts."""
    return Line(tuple(span for cell in cells for span in _spans(cell)), hang)


def heading(text: str) -> Line:
    """What stands above a part of a report."""
    return line(Span(text, Tone.HEAD), hang=4)


def plain(texts: Iterable[str], indent: int = 0) -> list[Line]:
    """Lines without a tone."""
    return [line(" " * indent + text, hang=indent + 4) for text in texts]


def table(
    rows: Sequence[Sequence[Cell]],
    *,
    indent: int = 0,
    right: Container[int] = (),
    beside: int = 0,
) -> list[Line]:
    """One line a row, its cells two spaces apart, the columns in `right` aligned to the right.

    Columns that are empty in every row are left out, and the last `beside` ones where a terminal has no room for them.
    """
    cells = [[_spans(cell) for cell in row] for row in rows]
    widths = [max(map(_length, column)) for column in zip(*cells, strict=True)]
    return [_row(row, widths, indent, right, beside) for row in cells]


def _row(
    row: Sequence[tuple[Span, ...]],
    widths: Sequence[int],
    indent: int,
    right: Container[int],
    beside: int,
) -> Line:
    parts, gap = list[tuple[Span, ...]](), " " * indent
    for i, (cell, width) in enumerate(zip(row, widths, strict=True)):
        pad = Span(" " * (width - _length(cell)))
        if width:
            parts.append((Span(gap), *((pad, *cell) if i in right else (*cell, pad))))
            gap = "  "
        elif i >= len(row) - beside:
            parts.append(())
    whole = len(parts) - beside
    spans = tuple(span for part in parts[:whole] for span in part)
    return Line(spans, indent + 4, tuple(parts[whole:]))


def drawn(lines: Iterable[Line], *, width: int | None = None, colours: bool = False) -> str:
    """The text of the lines, each with its line feed. `width`: of the terminal; None where nothing is wrapped."""
    return "".join(
        f"{_coloured(part) if colours else ''.join(character for character, _ in part)}\n"
        for whole in lines
        for part in _wrapped(_characters(whole, width), whole.hang, width)
    )


def rows_of(lines: Iterable[Line], width: int) -> int:
    """How many rows of a terminal of this width they take, which goes on in the next row in a word that is longer."""
    return sum(max(1, -(-len(row) // width)) for row in drawn(lines, width=width).splitlines())


Characters = list[tuple[str, Tone]]


def _characters(whole: Line, width: int | None) -> Characters:
    spans = whole.spans
    for part in whole.beside:
        if width is not None and _length((*spans, *part)) > width:
            break
        spans += part
    return _without_end([(c, tone) for text, tone in spans for c in one_line(text)])


def _without_end(characters: Characters) -> Characters:
    """Without the blanks at the end."""
    while characters and characters[-1][0] == " ":
        characters.pop()
    return characters


def _wrapped(characters: Characters, hang: int, width: int | None) -> Iterator[Characters]:
    """Parts of at most `width` characters that end where a space is; a longer word stays whole."""
    while width is not None and len(characters) > width:
        begun = next((i for i, (c, _) in enumerate(characters) if c != " "), 0)
        spaces = [i for i, (c, _) in enumerate(characters) if c == " " and i > begun]
        at = max((i for i in spaces if i <= width), default=min(spaces, default=None))
        if at is None:
            break
        yield _without_end(characters[:at])
        rest = characters[at:]
        first = next(i for i, (c, _) in enumerate(rest) if c != " ")
        characters = [(" ", Tone.PLAIN)] * min(hang, width // 2) + rest[first:]
    yield characters


def _coloured(part: Characters) -> str:
    def written(tone: Tone, text: str) -> str:
        return f"{TONE_CODES[tone]}{text}{RESET}" if tone in TONE_CODES and text.strip() else text

    runs = groupby(part, key=lambda character: character[1])
    return "".join(written(tone, "".join(c for c, _ in run)) for tone, run in runs)


def _spans(cell: Cell) -> tuple[Span, ...]:
    if isinstance(cell, str):
        return (Span(cell),)
    return (cell,) if isinstance(cell, Span) else tuple(cell)


def _length(cell: Sequence[Span]) -> int:
    return sum(len(one_line(text)) for text, _ in cell)


def aligned_lines(rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> list[str]:
    """One line a row, its cells two spaces apart; the columns in `right` are aligned to the right.

    Every row has as many cells as the first. What a cell has of line feeds becomes visible.
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
