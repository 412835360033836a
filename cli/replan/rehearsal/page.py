"""A rehearsal as one self-contained HTML page: no script, nothing from elsewhere, light or dark as it is read."""

from collections.abc import Iterable, Sequence
from html import escape

from replan.rehearsal.gantt import COPIES_SHOWN, gantt
from replan.rehearsal.report import Report
from replan.rehearsal.result import Rehearsal
from replan.rehearsal.sentences import (
    assumptions,
    harm,
    margin,
    spreads,
    stopped,
    verdict,
    waits,
)
from replan.rehearsal.text import HEAD, load_row

STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6577; --paper: #ffffff; --band: #f1f3f7;
  --grid: #d9dee7; --copy: #3b7dd8; --on-copy: #ffffff; --away: #d6404033; --away-edge: #c23030; --fault: #c23030;
  --good: #1f7a45; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8f0; --soft: #98a3b5; --paper: #14171d; --band: #1e232c;
  --grid: #333b48; --copy: #5a97ea; --on-copy: #0c1017; --away: #e0606040; --away-edge: #ef7d7d; --fault: #ef7d7d;
  --good: #6fcf97; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 68rem; padding: 0 1.25rem; }
h1 { font-size: 1.3rem; margin: 0 0 .25rem; } h2 { font-size: 1rem; margin: 1.75rem 0 .5rem; }
.verdict { font-size: 1.05rem; font-weight: 600; } .good { color: var(--good); } .bad { color: var(--fault); }
.soft { color: var(--soft); } ul, ol { padding-left: 1.3rem; margin: .25rem 0; } li { overflow-wrap: anywhere; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
th, td { text-align: right; padding: .2rem .75rem; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); }
svg { width: 100%; height: auto; display: block; font: 11px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .time { fill: var(--soft); text-anchor: middle; }
svg .broker { text-anchor: end; font-size: 12px; } svg .band { fill: var(--band); }
svg .grid { stroke: var(--grid); } svg .copy { fill: var(--copy); }
svg .unfinished { fill: none; stroke: var(--copy); stroke-dasharray: 4 3; }
svg .name { fill: var(--on-copy); font-size: 10px; } svg .unfinished + .name { fill: var(--ink); }
svg .away { fill: var(--away); stroke: var(--away-edge); stroke-width: .7; }
svg .fault { stroke: var(--fault); stroke-dasharray: 3 3; } svg .fault-number { fill: var(--fault); }
"""


def render_rehearsal_page(report: Report) -> str:
    """The whole page; ends with a newline."""
    rehearsal = report.rehearsal
    tone = "good" if rehearsal.arrived else "bad"
    body = [
        "<h1>replan rehearse</h1>",
        f'<p class="soft">plan {escape(report.plan_digest[:16])}, cluster {escape(report.cluster_id)}</p>',
        f'<p class="verdict {tone}">{escape(verdict(rehearsal))}</p>',
        *_paragraphs([] if rehearsal.lowest is None else [margin(rehearsal.lowest)]),
        *_list("Not arrived", stopped(rehearsal)),
        *_picture(rehearsal),
        *_faults(rehearsal),
        *_loads(rehearsal),
        *_list("Waited longest for", waits(rehearsal)),
        *_list("Notes", rehearsal.notes),
        *_list(
            "Broken laws (a bug of replan or of its simulator; please report it)",
            (f"{b.message} [{b.law}]" for b in rehearsal.broken),
        ),
        *_list("By chance", spreads(report)),
        f'<p class="soft">{escape(assumptions(report.options))}</p>',
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>replan rehearse {escape(report.plan_digest[:16])}</title>"
        f"<style>{STYLE}</style></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _picture(rehearsal: Rehearsal) -> list[str]:
    if not rehearsal.copies and not rehearsal.absent:
        return []
    more = len(rehearsal.copies) - COPIES_SHOWN
    left_out = (
        f'<p class="soft">The first {COPIES_SHOWN:,} are drawn, {more:,} more are not.</p>'
        if more > 0
        else ""
    )
    key = '<p class="soft">Framed in red: the broker is away. Dashed: a fault, by its number below.</p>'
    shown = key if rehearsal.faults or rehearsal.absent else ""
    return ["<h2>Copies, by the broker that receives them</h2>", gantt(rehearsal), shown, left_out]


def _faults(rehearsal: Rehearsal) -> list[str]:
    if not rehearsal.faults:
        return []
    items = "".join(
        f"<li>{escape(f.what)}{' (after the end)' if f.at_seconds > rehearsal.seconds else ''}</li>"
        for f in rehearsal.faults
    )
    return ["<h2>Faults</h2>", f"<ol>{items}</ol>", *_paragraphs([harm(rehearsal)])]


def _loads(rehearsal: Rehearsal) -> list[str]:
    if not rehearsal.brokers:
        return []
    head = "".join(f"<th>{escape(h)}</th>" for h in HEAD)
    rows = "".join(f"<tr>{_cells(load_row(b))}</tr>" for b in rehearsal.brokers)
    return ["<h2>Loads</h2>", f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>']


def _cells(row: Sequence[str]) -> str:
    return "".join(f"<td>{escape(cell)}</td>" for cell in row)


def _list(title: str, items: Iterable[str]) -> list[str]:
    found = "".join(f"<li>{escape(line)}</li>" for line in items)
    return [f"<h2>{escape(title)}</h2>", f"<ul>{found}</ul>"] if found else []


def _paragraphs(lines: Iterable[str]) -> list[str]:
    return [f"<p>{escape(line)}</p>" for line in lines]
