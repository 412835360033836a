"""Pages that need nothing from elsewhere: one frame, one style sheet and one script for all of them, light or dark.

A page opens from a file, sends nothing and loads nothing: its policy forbids the network. `assets` has the style sheet
(`page.css`), the script that each page has (`page.js`: `$`, and the button for dark or light), the list that is
filtered by name and broker (`listing.js`), and what a report does beside it.

A list is data: the page embeds its rows as JSON, and its script calls `listing` with what it read. Rows are written as
text and never as markup, some hundred at a time, since there may be a hundred thousand.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape
from importlib.resources import files

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_THEME = '<div class="screen"><button id="theme" type="button">dark or light</button></div>'
_CONTROLS = """<h2>{title}</h2>
<form class="screen" id="filter"><label>topic <input id="topic" type="search" placeholder="part of a name" \
autocomplete="off" spellcheck="false"></label> <label>broker <input id="broker" inputmode="numeric" size="6"></label> \
<button type="button" id="all">all</button> <span class="soft">/ to type a topic, Esc for all</span></form>
<p id="shown" role="status" aria-live="polite"></p>
<div class="wide"><table id="{table}" class="listing"><thead><tr>{heads}</tr></thead>
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
        f"<title>{escape(title)}</title><style>{style_of(style)}</style></head>\n<body>\n{_THEME}\n"
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
