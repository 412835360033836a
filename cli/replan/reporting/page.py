"""The writer of pages that need nothing from elsewhere: one frame, one style sheet, one script, light or dark.

A page opens from a file, sends nothing and loads nothing: its policy forbids the network. `assets` has the style sheet
(`page.css`), the script that each page has (`page.js`: `$`, and the button for dark or light), the list that is
filtered by name and broker (`listing.js`), and what a report does beside it.

A list is data: the page embeds its rows as JSON, and its script calls `listing` with what it read. Rows are written as
text and never as markup, some hundred at a time, since there may be a hundred thousand.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape as escape_html
from importlib.resources import files

from replan.reporting.blocks import (
    Bar,
    Block,
    Chart,
    Column,
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
from replan.reporting.lines import Cell, Line, Span, Tone
from replan.wording import left_out, one_line

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_THEME = '<div class="screen"><button id="theme" type="button">dark or light</button></div>'
_CODE = re.compile("`([^`]+)`")
ROWS_ON_PAGE = 1_000
"""Items and rows that stand on a page; the rest is counted."""
_CONTROLS = """<h2>{title}</h2>
<form class="screen" id="filter"><label>topic <input id="topic" type="search" placeholder="part of a name" \
autocomplete="off" spellcheck="false"></label> <label>broker <input id="broker" inputmode="numeric" size="6"></label> \
<button type="button" id="all">all</button> <span class="soft">/ to type a topic, Esc for all</span></form>
<p id="shown" role="status" aria-live="polite"></p>
<div class="wide"><table id="{table}" class="listing filtered"><thead><tr>{heads}</tr></thead>
<tbody></tbody></table></div>
<p><button type="button" id="more">more</button></p>
<noscript><p>{otherwise}</p></noscript>"""
_READY = """
if ($("data")) main(JSON.parse($("data").textContent));
document.documentElement.dataset.ready = "true";
"""


@cache
def asset(name: str) -> str:
    """A file of `assets` as text."""
    return (files("replan.reporting") / "assets" / name).read_text(encoding="utf-8")


def style_of(more: str = "") -> str:
    """The style sheet of a page that adds `more` to what all pages have."""
    return asset("page.css") + more


def script_of(more: str = "") -> str:
    """The script of a page that adds `more` to what all pages have."""
    return asset("page.js") + more


def listing_script(name: str) -> str:
    """A script that has `main`, which calls `listing` with the rows that it reads from the page's data."""
    return asset("listing.js") + asset(name) + _READY


def page(
    title: str, body: Iterable[str], *, style: str = "", script: str = "", policy: str = POLICY
) -> str:
    """A whole document; ends with a newline. `body` is HTML, `style` and `script` are added to what all pages have."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape_html(title)}</title><style>{style_of(style)}</style></head>\n<body>\n{_THEME}\n"
        + "\n".join(body)
        + f"\n<script>{script_of(script)}</script>\n</body></html>\n"
    )


def listing(
    title: str, table: str, heads: Mapping[str, str], data: object, otherwise: str
) -> Iterator[str]:
    """The filter, an empty table with these heads (name: CSS class), and its rows as data.

    `otherwise` is said where no script runs. No `<` is in the data, so that nothing ends its element.
    """
    cells = "".join(f'<th class="{style}">{name}</th>' for name, style in heads.items())
    yield _CONTROLS.format(title=title, table=table, heads=cells, otherwise=otherwise)
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    yield f'<script type="application/json" id="data">{text}</script>'


def html_document(blocks: Iterable[Block]) -> str:
    """The blocks as a page; ends with a newline."""
    every_block = list(blocks)
    titles = [
        f"{block.report} {block.cluster}" for block in every_block if isinstance(block, Title)
    ]
    scripts = [listing_script(block.script) for block in every_block if isinstance(block, Listing)]
    return page("".join(titles[:1]), html_of(every_block), script="".join(scripts[:1]))


def html_of(blocks: Iterable[Block]) -> Iterator[str]:
    """The blocks as elements; the first paragraph is the verdict."""
    verdict = ' class="verdict"'
    for block in blocks:
        if isinstance(block, Line):
            yield f"<p{verdict}>{_spans(block.spans)}</p>"
            verdict = ""
        else:
            yield from _html(block)


def _html(block: Block) -> Iterator[str]:
    match block:
        case Title():
            yield f'<p class="soft">{_text(block.report)}</p><h1>{_text(block.cluster)}</h1>'
        case Heading():
            number = "" if block.number is None else f" ({block.number:,})"
            yield f"<h2>{_prose(block.text)}{number}</h2>"
        case Small():
            yield _legend(block.line)
        case Items():
            yield _items(block)
        case Table():
            yield from _table(block)
        case Folded() | OnPage():
            begin, end = _fold(block) if isinstance(block, Folded) else ("", "")
            yield begin
            yield from (part for of in block.blocks for part in _html(of))
            yield end
        case Chart():
            yield f'<div class="wide">{block.svg}</div>{_legend(block.legend)}'
        case Listing():
            yield from listing(block.title, block.name, block.heads, block.data(), block.otherwise)
        case Line():
            yield f"<p>{_spans(block.spans)}</p>"


def _fold(block: Folded) -> tuple[str, str]:
    state = " open" if block.open else ""
    return f"<details{state}><summary>{_prose(block.title)}</summary>", "</details>"


def _text(text: str) -> str:
    return escape_html(one_line(text))


def _prose(text: str) -> str:
    """A text whose commands and names of files are between backticks."""
    return _CODE.sub(r"<code>\1</code>", _text(text))


def _spans(cell: Cell) -> str:
    match cell:
        case str():
            return _prose(cell)
        case Span(text, tone):
            plain = tone in (Tone.PLAIN, Tone.HEAD)
            return _prose(text) if plain else f'<span class="{tone.value}">{_prose(text)}</span>'
        case _:
            return "".join(map(_spans, cell))


def _legend(text: str) -> str:
    return f'<p class="soft">{_prose(text)}</p>' if text else ""


def _items(block: Items) -> str:
    items = [
        f"<li>{_spans(of.line.spans)}"
        + (f"<pre>{escape_html(chr(10).join(map(one_line, of.under)))}</pre>" if of.under else "")
        + "</li>"
        for of in block.items[:ROWS_ON_PAGE]
    ]
    items += [f"<li>{more}</li>" for more in left_out(len(block.items) - ROWS_ON_PAGE, block.noun)]
    return f"<ul{' class=bad' if block.urgent else ''}>{''.join(items)}</ul>"


def _table(block: Table) -> Iterator[str]:
    rows = list(shown_cells(block))[:ROWS_ON_PAGE]
    kept = [at for at in range(len(block.columns)) if any(row[at] for row in rows)]
    heads = "".join(f"<th{_kind(block.columns[at])}>{block.columns[at].head}</th>" for at in kept)
    body = "".join(
        f"<tr>{''.join(_cell(row[at], block.columns[at]) for at in kept)}</tr>" for row in rows
    )
    name = f' id="{block.name}"' if block.name else ""
    yield (
        f'<div class="wide"><table{name} class="listing"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
    more = [*left_out(len(block.rows) - len(rows), block.noun), *block.more]
    yield from map(_legend, more)
    yield _legend(block.legend)


def _kind(column: Column) -> str:
    kinds = [*([] if column.right else ["left"]), *(["prose"] if column.prose else [])]
    return f' class="{" ".join(kinds)}"' if kinds else ""


def _cell(cell: Cell | Bar, column: Column) -> str:
    if isinstance(cell, Bar):
        shares = (("stays", cell.stays), ("goes", cell.goes), ("comes", cell.comes))
        parts = "".join(
            f'<i class="{name}" style="width:{100 * of:.1f}%"></i>' for name, of in shares
        )
        return f'<td class="bars">{parts}</td>'
    text = _spans(cell)
    if column.pick and text:
        named = _text(cell_text(cell))
        text = f'<button type="button" class="pick" data-{column.pick}="{named}">{named}</button>'
    return f'<td data-head="{escape_html(_head(cell, column))}"{_kind(column)}>{text}</td>'


def _head(cell: Cell, column: Column) -> str:
    """What stands before the cell where there is no room for a table; nothing where it says that: `2 leaders`."""
    stem = re.escape(column.head.removesuffix("s"))
    return "" if re.search(rf"\b{stem}s?\b", cell_text(cell)) else column.head
