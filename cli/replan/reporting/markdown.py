"""The writer of Markdown: blocks, shown as they are written, and as much of them as a comment has room for.

The title, paragraphs and headings stand whole. Lists and tables share the room that is left, the smallest first; what
is folded stands as a whole or is counted.

GitHub's flavour: <https://github.github.com/gfm/>.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape as escape_html

from replan.reporting.blocks import (
    Bar,
    Block,
    Chart,
    Folded,
    Heading,
    Items,
    Listing,
    OnPage,
    Small,
    Table,
    Title,
    cell_text,
    shown_cells,
)
from replan.reporting.lines import Line, Tone
from replan.wording import count, left_out

LIMIT = 60_000
"""Bytes of UTF-8; a comment on a large forge may have 65,536 characters."""
SMALLEST = 8_000
"""The least that a document may be asked to fit."""
LEAST = 200
"""Bytes that a block may take however little room there is: enough to count what it leaves out."""
PARAGRAPH_CHARACTERS = 1_500
"""Characters of a paragraph or a heading."""
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_MEANT = str.maketrans(
    {"&": "&amp;", "<": "&lt;", "@": "@&#8203;", **{mark: f"\\{mark}" for mark in "\\|*[]~$"}}
)
"""What markdown, and GitHub above it, gives a meaning: links, formulas, and `@` with a name, which notifies a person;
nothing keeps that from happening but a character without width behind it."""
_OUTSIDE_WORDS = re.compile(r"(?<![A-Za-z0-9_])_+|_+(?![A-Za-z0-9_])")
"""Only these may begin or end emphasis."""


def code(text: str) -> str:
    """A code span: its fence is longer than any run of backticks inside; a pipe does not end a table's cell."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{_on_one_line(text)}{space}{fence}".replace("|", "\\|")


def marker_of(report: str, cluster_id: str) -> str:
    """The line by which a document of an earlier run is found: which report, of which cluster."""
    return f"<!-- {report} {escape_html(cluster_id[:200].replace('--', '-_'))} -->"


def escape(text: str) -> str:
    """Text that is shown as it is written, in a table's cell too; code spans inside stay what they are."""
    escaped, end = "", 0
    line = _on_one_line(text)
    for span in _CODE.finditer(line):
        escaped += _meant(line[end : span.start()]) + span.group().replace("|", "\\|")
        end = span.end()
    return escaped + _meant(line[end:])


def _meant(text: str) -> str:
    return _OUTSIDE_WORDS.sub(lambda match: "\\_" * len(match[0]), text.translate(_MEANT))


def _on_one_line(text: str) -> str:
    return " ".join(text.splitlines())


def table_row(cells: Sequence[str]) -> str:
    """One row of a table, of cells that are markdown already."""
    return f"| {' | '.join(cells)} |"


def table_head(*names: str) -> str:
    """The two lines that begin a table."""
    return f"{table_row(names)}\n{table_row(['---'] * len(names))}"


def weight(text: str) -> int:
    """How much of a limit the text takes: its bytes in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def fitted(lines: Iterator[str], total: int, room: int, noun: str) -> str:
    """As many of `total` lines as have room, in bytes, then how many were left out; ends with a newline."""
    taken: list[str] = []
    for line in lines:
        room -= weight(line) + 1
        if room < 0:
            more = count(total - len(taken), noun)
            return "\n".join([*taken, "", f"… and {more}, left out to fit a comment.", ""])
        taken.append(line)
    return "\n".join(taken) + "\n"


def markdown_document(blocks: Iterable[Block], *, limit: int | None = None) -> str:
    """A whole document of at most `limit` bytes (SMALLEST or more; None: LIMIT); ends with a newline."""
    limit = LIMIT if limit is None else limit
    every_block = [part for block in blocks for part in _written(block)]
    parts = [
        _fixed(block, first=_is_verdict(every_block, at)) for at, block in enumerate(every_block)
    ]
    elastic = [at for at, part in enumerate(parts) if part is None]
    room = limit - sum(weight(part) for part in parts if part) - LEAST * len(elastic)
    rooms = _shares({at: weight(_fitted(every_block[at], limit)) for at in elastic}, max(0, room))
    dropped = 0
    for at in elastic:
        part = _fitted(every_block[at], LEAST + rooms[at])
        if isinstance(every_block[at], Folded):
            dropped += not part
            last = at + 1 == len(every_block) or not isinstance(every_block[at + 1], Folded)
            if dropped and last:
                part += f"\n… and {dropped:,} more, left out to fit a comment.\n"
        parts[at] = part
    written = (part.strip("\n") for part in parts if part)
    return "\n".join(f"{part}\n" for part in written if part)


def _written(block: Block) -> Sequence[Block]:
    return block.instead if isinstance(block, Listing) and block.instead else (block,)


def _shares(wanted: dict[int, int], room: int) -> dict[int, int]:
    """Room for each: what it wants where that is less than an equal share of what the smaller ones leave."""
    shares: dict[int, int] = {}
    for parts, at in zip(
        range(len(wanted), 0, -1), sorted(wanted, key=wanted.__getitem__), strict=True
    ):
        shares[at] = min(wanted[at], room // parts)
        room -= shares[at]
    return shares


def _is_verdict(written: Sequence[Block], at: int) -> bool:
    return isinstance(written[at], Line) and not any(isinstance(b, Line) for b in written[:at])


def _fixed(block: Block, *, first: bool) -> str | None:
    """What stands whole; None where a block takes what room there is."""
    match block:
        case Title():
            name = f": {escape(block.cluster[:200])}" if block.cluster else ""
            marker = marker_of(block.report, block.cluster_id) if block.cluster_id else ""
            return f"{marker}\n## {block.report}{name}\n\n"
        case Heading():
            number = "" if block.number is None else f" ({block.number:,})"
            return f"\n### {escape(block.text[:PARAGRAPH_CHARACTERS])}{number}\n\n"
        case Line():
            text = escape("".join(span.text for span in block.spans)[:PARAGRAPH_CHARACTERS])
            bold = first or any(span.tone is Tone.GOES for span in block.spans)
            return f"\n**{text}**\n" if bold else f"\n{text}\n"
        case Small():
            return f"\n<sub>{escape(block.line)}</sub>\n" if block.line else ""
        case Chart() | OnPage():
            return ""
        case _:
            return None


def _fitted(block: Block, room: int) -> str:
    match block:
        case Items():
            lines = (_item(of.line, of.under, urgent=block.urgent) for of in block.items)
            return fitted(lines, len(block.items), room - 100, f"more {block.noun}".strip())
        case Table():
            return _table(block, room)
        case Folded():
            text = _folded(block)
            return text if weight(text) <= room else ""
        case Listing():
            return _listing(block, room)
        case _:
            return ""


def _item(text_line: Line, under: Sequence[str], *, urgent: bool) -> str:
    text = escape("".join(span.text for span in text_line.spans))
    text = f"- **{text}**" if urgent else f"- {text}"
    if not under:
        return text
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", "\n".join(under))), default=0))
    return "\n".join([text, f"  {fence}", *(f"  {line}" for line in under), f"  {fence}"])


def _table(block: Table, room: int) -> str:
    rows = [[cell_text(cell) for cell in row] for row in shown_cells(block)]
    kept = [
        at
        for at in range(len(block.columns))
        if any(row[at] for row in rows) and not any(isinstance(row[at], Bar) for row in block.rows)
    ]
    columns = [block.columns[at] for at in kept]
    lines = (
        table_row(
            [
                "" if not cells[at] else code(cells[at]) if column.code else escape(cells[at])
                for at, column in zip(kept, columns, strict=True)
            ]
        )
        for cells in rows
    )
    sides = ["---:" if column.right else "---" for column in columns]
    top = f"{table_row([column.head for column in columns])}\n{table_row(sides)}\n"
    more = [*left_out(len(block.rows) - len(rows), block.noun), *block.more]
    end = "".join(f"\n{escape(text)}\n" for text in more)
    body = fitted(lines, len(rows), room - weight(top + end) - 100, f"more {block.noun}".strip())
    return top + body + end


def _folded(block: Folded) -> str:
    inner = "\n".join(_fixed(of, first=False) or _fitted(of, LIMIT) for of in block.blocks)
    title = code_html(escape_html(block.title))
    return f"\n<details><summary>{title}</summary>\n\n{inner}\n</details>\n"


def code_html(text: str) -> str:
    """Text for HTML inside Markdown: nobody is notified by it, and code stays code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", text.replace("@", "@&#8203;"))


def _listing(block: Listing, room: int) -> str:
    """Its parts while they fit, then how many do not."""
    parts, shown, unshown = "", True, [0, 0, 0]
    room -= weight(block.folded_title) + LEAST - 40
    for folded, changes, amount in block.folded():
        text = _folded(folded) if shown else ""
        shown = shown and weight(text) <= room
        if shown:
            parts, room = parts + text, room - weight(text)
        else:
            unshown = [unshown[0] + 1, unshown[1] + changes, unshown[2] + amount]
    if not parts and not unshown[0]:
        return ""
    more = f"\n… and {block.left_out(*unshown)}\n" if unshown[0] else ""
    return f"\n### {block.folded_title}\n{parts}{more}"
