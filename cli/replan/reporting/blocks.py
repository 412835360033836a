"""What every report is made of, whatever its form: blocks in the order in which they are read; and the writer of text.

A report says what it has to say once, as blocks. Text is written here, Markdown by `markdown`, a page by `page`. A form
leaves out what it has no place for: text has no charts, a listing of everything is no text.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from replan.reporting.lines import EMPTY_LINE, Cell, Line, Span, Tone, heading, line, plain, table
from replan.wording import left_out

BAR_COLUMNS = 30
"""Columns of the longest bar in text."""


class Title(Struct, frozen=True):
    """What the report is, and of which cluster."""

    report: str
    """The command: `replan plan`."""
    cluster: str
    """Its name; its id where it has none."""
    cluster_id: str = ""
    """By which a later run finds this document; empty where none looks for it."""
    text: str = ""
    """The first line of the text; none where it is empty."""


class Heading(Struct, frozen=True):
    """What stands above the blocks that follow."""

    text: str
    number: int | None = None
    """How many there are, where the heading does not say so already."""
    in_text: bool = True
    """Whether text has it; else what follows is apart from what stands before, and says itself what it is."""


class Small(Struct, frozen=True):
    """What a document is known by: small print, or in text what is said instead."""

    line: str
    text: str = ""


class Item(Struct, frozen=True):
    """One of a list, with lines below it whose columns stay as they are."""

    line: Line
    under: Sequence[str] = ()


class Items(Struct, frozen=True):
    """A list."""

    items: Sequence[Item]
    noun: str = ""
    """What is left out, in the singular."""
    limit: int | None = None
    """How many the text shows."""
    way_out: str = ""
    urgent: bool = False
    label: Span | None = None
    """What text says before each, where it has no heading."""
    indent: int = 2


class Bar(Struct, frozen=True):
    """What stays, goes and comes, as shares of the longest bar of the table."""

    stays: float
    goes: float
    comes: float

    def spans(self) -> tuple[Span, ...]:
        """The bar in letters."""
        ends = [round(BAR_COLUMNS * of) for of in (0, self.stays, self.stays + self.goes)]
        ends.append(round(BAR_COLUMNS * (self.stays + self.goes + self.comes)))
        signs = (("=", Tone.PLAIN), ("-", Tone.GOES), ("+", Tone.COMES))
        parts = zip(signs, ends, ends[1:], strict=False)
        return tuple(Span(sign * (to - begin), tone) for (sign, tone), begin, to in parts)


class Column(Struct, frozen=True):
    """A column of a table."""

    head: str
    right: bool = False
    code: bool = False
    """Names of others, which Markdown writes as code."""
    prose: bool = False
    once: bool = False
    """What is as in the row above is not said again."""
    pick: str = ""
    """By what a click on a cell filters the listing of the page: `broker`, `kind` or `cluster`."""


class Table(Struct, frozen=True):
    """Rows under heads."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | Bar]]
    noun: str = ""
    limit: int | None = None
    more: Sequence[str] = ()
    """Lines below: what is not in the table."""
    heads: bool = True
    """Whether text has the heads, too."""
    beside: int = 0
    """How many of the last columns text leaves out where a terminal is too narrow."""
    name: str = ""
    """The id of the table on a page."""
    legend: str = ""
    """What its marks and bars mean, on a page."""
    indent: int = 2


class Folded(Struct, frozen=True):
    """A heading with what a reader opens only where it is of interest."""

    title: str
    blocks: Sequence["Block"]
    open: bool = True
    """Whether a page shows it at first."""


class Chart(Struct, frozen=True):
    """A picture."""

    svg: str
    legend: str = ""


class OnPage(Struct, frozen=True):
    """What only a page has."""

    blocks: Sequence["Block"]


class Listing(Struct, frozen=True):
    """Everything by itself: a page lists and filters its data, Markdown folds what has room, text says it elsewhere."""

    title: str
    name: str
    heads: dict[str, str]
    """Name: CSS class."""
    data: Callable[[], object]
    script: str
    """The asset whose `main` lists the data."""
    otherwise: str
    """What is said where no script runs."""
    instead: Sequence["Block"] = ()
    """What Markdown has instead, where it is no parts."""
    folded_title: str = ""
    folded: Callable[[], Iterator[tuple[Folded, int, int]]] = lambda: iter(())
    """Parts, each with how many changes and how many bytes it has."""
    left_out: Callable[[int, int, int], str] = "{} {} {}".format
    """What is said of parts that have no room: how many, with how many changes and bytes."""


Block = Title | Heading | Line | Small | Items | Table | Folded | Chart | OnPage | Listing
"""A `Line` is a paragraph."""


def shown_cells(of: Table) -> Iterator[list[Cell | Bar]]:
    """Its rows without what a row repeats."""
    before: Sequence[Cell | Bar] = ()
    for row in of.rows[: of.limit]:
        yield [
            "" if column.once and before and before[at] == cell else cell
            for at, (column, cell) in enumerate(zip(of.columns, row, strict=True))
        ]
        before = row


def text_lines(blocks: Iterable[Block]) -> list[Line]:
    """The report as lines, with an empty one before each heading and after each list or table."""
    lines: list[Line] = []
    before: Block | None = None
    for block in blocks:
        of_block = _text(block)
        if not of_block and not isinstance(block, Heading):
            continue
        begins = isinstance(block, Heading | Folded)
        ends = isinstance(block, Line | Small) and not isinstance(before, Line | Small | Title)
        if lines and (begins or ends):
            lines.append(EMPTY_LINE)
        lines += of_block
        before = block
    return lines


def _text(block: Block) -> list[Line]:
    lines: list[Line] = []
    match block:
        case Title() | Small():
            lines = [heading(block.text)] if isinstance(block, Title) else plain([block.text])
            lines = lines if block.text else []
        case Heading() if block.in_text:
            number = "" if block.number is None else f" ({block.number:,})"
            lines = [heading(f"{block.text}{number}:")]
        case Line():
            lines = [block]
        case Items():
            lines = _items(block)
        case Table():
            lines = _table(block)
        case Folded():
            lines = [heading(block.title), *text_lines(block.blocks)]
        case _:
            pass
    return lines


def _items(block: Items) -> list[Line]:
    lines: list[Line] = []
    begin: list[Cell] = [" " * block.indent, *([block.label] if block.label else [])]
    for item in block.items[: block.limit]:
        lines.append(line(*begin, *item.line.spans, hang=block.indent + 2 + 2 * (not block.indent)))
        lines += plain(item.under, block.indent + 4)
    more = left_out(len(block.items) - len(block.items[: block.limit]), block.noun, block.way_out)
    return [*lines, *plain(more, block.indent)]


def _table(block: Table) -> list[Line]:
    heads: list[list[Cell | Bar]] = [[c.head for c in block.columns]] if block.heads else []
    rows = [[_cell(cell) for cell in row] for row in [*heads, *shown_cells(block)]]
    right = {at for at, column in enumerate(block.columns) if column.right}
    more = left_out(len(block.rows) - len(block.rows[: block.limit]), block.noun)
    return [
        *(table(rows, indent=block.indent, right=right, beside=block.beside) if rows else []),
        *plain([*more, *block.more], block.indent),
    ]


def _cell(cell: Cell | Bar) -> Cell:
    return cell.spans() if isinstance(cell, Bar) else cell


def cell_text(cell: Cell | Bar) -> str:
    """A cell without its tones; a bar is a picture, and has no text."""
    match cell:
        case Bar():
            return ""
        case str():
            return cell
        case Span():
            return cell.text
        case _:
            return "".join(span.text for span in cell)
