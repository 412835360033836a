"""A rehearsal as one self-contained HTML page: no script, nothing from elsewhere, light or dark as it is read."""

from collections.abc import Iterable, Sequence
from html import escape

from replan.rehearsal.outcome import Report
from replan.rehearsal.report.gantt import COPIES_SHOWN, gantt
from replan.rehearsal.report.sentences import (
    SPREAD_HEAD,
    assumptions,
    chances,
    happened,
    harm,
    margin,
    spread_row,
    stopped,
    verdict,
    waits,
)
from replan.rehearsal.report.style import STYLE
from replan.rehearsal.report.text import HEAD, load_row
from replan.rehearsal.result import Rehearsal
from replan.reporting.quantities import duration

RUNS_SHOWN = 500


def render_rehearsal_page(report: Report) -> str:
    """The whole page; ends with a newline."""
    rehearsal = report.rehearsal
    tone = "good" if rehearsal.arrived else "bad"
    body = [
        "<h1>replan rehearse</h1>",
        f'<p class="soft">plan {escape(report.plan_digest[:16])}, cluster {escape(report.cluster_id)}</p>',
        f'<p class="verdict {tone}">{escape(verdict(rehearsal))}</p>',
        *_paragraphs(
            [] if rehearsal.lowest is None else [margin(rehearsal.lowest), harm(rehearsal)]
        ),
        *_list("Not arrived", stopped(rehearsal)),
        *_picture(rehearsal),
        *_faults(rehearsal),
        *_loads(rehearsal),
        *_waits(rehearsal),
        *_list("Notes", rehearsal.notes),
        *_list(
            "Broken laws (a bug of replan or of its simulator; please report it)",
            (f"{b.message} [{b.law}]" for b in rehearsal.broken),
        ),
        *_list("By chance", chances(report)),
        *_runs(report),
        f'<p class="soft assumed">{escape(assumptions(report.options))}</p>',
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
    told = ["Dashed: not in sync when the rehearsal ended."] if _unfinished(rehearsal) else []
    told += ["Framed in red: the broker is away."] if rehearsal.absent else []
    told += ["Red lines: the faults, by their numbers below."] if rehearsal.faults else []
    return [
        "<h2>Copies, by the broker that receives them</h2>",
        f'<div class="wide">{gantt(rehearsal)}</div>',
        *([f'<p class="soft">{" ".join(told)}</p>'] if told else []),
        left_out,
    ]


def _unfinished(rehearsal: Rehearsal) -> bool:
    return any(copy.in_sync is None for copy in rehearsal.copies)


def _faults(rehearsal: Rehearsal) -> list[str]:
    items = "".join(f"<li>{escape(happened(rehearsal, f))}</li>" for f in rehearsal.faults)
    return ["<h2>Faults</h2>", f"<ol>{items}</ol>"] if items else []


def _loads(rehearsal: Rehearsal) -> list[str]:
    if not rehearsal.brokers:
        return []
    return ["<h2>Loads</h2>", _table(HEAD, [load_row(b) for b in rehearsal.brokers])]


def _waits(rehearsal: Rehearsal) -> list[str]:
    rows = list(waits(rehearsal))
    head = ("longest", "who", "for what")
    return ["<h2>Waited longest</h2>", _table(head, rows, prose=1)] if rows else []


def _runs(report: Report) -> list[str]:
    if not report.runs:
        return []
    rows = [
        (
            str(c.seed),
            duration(c.rehearsal.seconds) if c.rehearsal.arrived else "does not arrive",
            "" if c.rehearsal.lowest is None else str(c.rehearsal.lowest.margin),
            ", ".join(f.what for f in c.rehearsal.faults),
        )
        for c in report.runs[:RUNS_SHOWN]
    ]
    each = _table(("seed", "duration", "lowest margin", "faults"), rows, prose=3)
    return [
        _table(SPREAD_HEAD, [spread_row(report)]),
        f"<details><summary>Every run</summary>{each}</details>",
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, prose: int = 1_000) -> str:
    """A table whose columns hold numbers, from `prose` on text."""
    lines = [_row("th", head, prose), *(_row("td", row, prose) for row in rows)]
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _row(tag: str, cells: Sequence[str], prose: int) -> str:
    kinds = (' class="prose"' if at >= prose else "" for at in range(len(cells)))
    told = (f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))
    return f"<tr>{''.join(told)}</tr>"


def _list(title: str, items: Iterable[str]) -> list[str]:
    found = "".join(f"<li>{escape(line)}</li>" for line in items)
    return [f"<h2>{escape(title)}</h2>", f"<ul>{found}</ul>"] if found else []


def _paragraphs(lines: Iterable[str]) -> list[str]:
    return [f"<p>{escape(line)}</p>" for line in lines]
