"""Pages that need nothing from elsewhere: the frame and the style sheet that all of them share, light or dark.

A page opens from a file, sends nothing and loads nothing: its policy forbids the network.
"""

from collections.abc import Iterable
from html import escape

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6577; --paper: #ffffff; --band: #f1f3f7;
  --grid: #d9dee7; --copy: #3b7dd8; --on-copy: #ffffff; --away: #d6404026; --fault: #c23030; --good: #1f7a45; }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) {
  color-scheme: dark; --ink: #e4e8f0; --soft: #98a3b5; --paper: #14171d; --band: #1e232c;
  --grid: #333b48; --copy: #5a97ea; --on-copy: #0c1017; --away: #e0606033; --fault: #ef7d7d; --good: #6fcf97; } }
:root[data-theme=dark] { color-scheme: dark; --ink: #e4e8f0; --soft: #98a3b5; --paper: #14171d; --band: #1e232c;
  --grid: #333b48; --copy: #5a97ea; --on-copy: #0c1017; --away: #e0606033; --fault: #ef7d7d; --good: #6fcf97; }
:root[data-theme=light] { color-scheme: light; }
@media print { body { margin: 0; max-width: none; } .screen { display: none; } .wide { overflow: visible; }
  thead { display: table-header-group; } tr { break-inside: avoid; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 72rem; padding: 0 1.25rem; }
h1 { font-size: 1.3rem; margin: 0 0 .25rem; } h2 { font-size: 1rem; margin: 1.75rem 0 .5rem; }
p { margin: .35rem 0; overflow-wrap: anywhere; }
.verdict { font-size: 1.05rem; font-weight: 600; } .good { color: var(--good); } .bad { color: var(--fault); }
.soft { color: var(--soft); } ul, ol { padding-left: 1.3rem; margin: .25rem 0; } li { overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .2rem .75rem; border-bottom: 1px solid var(--grid); white-space: nowrap;
  vertical-align: top; }
th { font-weight: 600; color: var(--soft); } th:first-child, td:first-child { padding-left: 0; }
td.prose, th.prose { text-align: left; white-space: normal; min-width: 12rem; overflow-wrap: anywhere; }
p.assumed { margin-top: 1.75rem; }
summary { cursor: pointer; color: var(--soft); margin: .5rem 0; }
svg { width: 100%; min-width: 58rem; height: auto; display: block; font: 11px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .time { fill: var(--soft); text-anchor: middle; }
svg .broker { text-anchor: end; font-size: 12px; } svg .band { fill: var(--band); }
svg .grid { stroke: var(--grid); } svg .copy { fill: var(--copy); stroke: var(--band); stroke-width: .6; }
svg .unfinished { fill: none; stroke: var(--copy); stroke-dasharray: 4 3; }
svg .name { fill: var(--on-copy); font-size: 10px; pointer-events: none; } svg .unfinished + .name { fill: var(--ink); }
svg .away { fill: var(--away); stroke: var(--fault); stroke-width: .7; }
svg .fault { stroke: var(--fault); stroke-dasharray: 3 3; } svg .lasts { stroke: var(--fault); stroke-width: 2; }
svg .fault-number { fill: var(--fault); font-weight: 600; }
"""


def page(title: str, body: Iterable[str], *, style: str = "", script: str = "") -> str:
    """A whole document; ends with a newline. `body` is HTML, `style` and `script` are added to what all pages have."""
    scripts = f"<script>{script}</script>\n" if script else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head>\n<body>\n"
        + "\n".join(body)
        + f"\n{scripts}</body></html>\n"
    )
