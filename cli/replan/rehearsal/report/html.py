"""A rehearsal as one self-contained HTML page: no script, nothing from elsewhere, light or dark as it is read."""

from collections.abc import Sequence
from html import escape

from replan.rehearsal.outcome import Report
from replan.rehearsal.report.gantt import COPIES_SHOWN, gantt
from replan.rehearsal.report.sections import Section, Table, footer, heading, sections
from replan.rehearsal.result import Rehearsal
from replan.reporting.page import page
from replan.reporting.quantities import duration

RUNS_SHOWN = 500


def render_rehearsal_page(report: Report) -> str:
    """The whole page; ends with a newline."""
    first, *rest = heading(report)
    tone = "good" if report.rehearsal.completed else "bad"
    body = [
        "<h1>replan rehearse</h1>",
        f'<p class="verdict {tone}">{escape(first)}</p>',
        *(f"<p>{escape(line)}</p>" for line in rest),
        *_chart(report.rehearsal),
        *(part for section in sections(report) for part in _section(section)),
        *_runs(report),
        *(f'<p class="soft">{escape(line)}</p>' for line in footer(report)),
    ]
    return page(f"replan rehearse {report.plan_digest[:16]}", body)


def _chart(rehearsal: Rehearsal) -> list[str]:
    if not rehearsal.copies and not rehearsal.absent:
        return []
    unfinished = any(copy.in_sync is None for copy in rehearsal.copies)
    more = len(rehearsal.copies) - COPIES_SHOWN
    legend = ["Dashed: not in sync when the rehearsal ended."] if unfinished else []
    legend += ["Framed in red: the broker is away."] if rehearsal.absent else []
    legend += ["Red lines: the faults, by their numbers below."] if rehearsal.faults else []
    legend += (
        [f"The first {COPIES_SHOWN:,} copies are drawn, {more:,} are not."] if more > 0 else []
    )
    return [
        "<h2>Copies, by the broker that receives them</h2>",
        f'<div class="wide">{gantt(rehearsal)}</div>',
        *([f'<p class="soft">{" ".join(legend)}</p>'] if legend else []),
    ]


def _section(section: Section) -> list[str]:
    items = "".join(f"<li>{escape(line)}</li>" for line in section.lines)
    lines = [f"<ul>{items}</ul>"] if items else []
    table = [] if section.table is None else [_table(section.table)]
    return [f"<h2>{escape(section.title)}</h2>", *lines, *table]


def _runs(report: Report) -> list[str]:
    rows = [
        (
            str(run.seed),
            duration(run.rehearsal.seconds) if run.rehearsal.completed else "does not complete",
            "" if (least := run.rehearsal.smallest_headroom) is None else str(least.replicas),
            ", ".join(f.what for f in run.rehearsal.faults),
        )
        for run in report.runs[:RUNS_SHOWN]
    ]
    each = _table(Table(("seed", "duration", "smallest headroom", "faults"), rows, 3))
    return [f"<details><summary>Every run</summary>{each}</details>"] if rows else []


def _table(table: Table) -> str:
    rows = [_row("th", table.head, table.prose), *(_row("td", r, table.prose) for r in table.rows)]
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def _row(tag: str, cells: Sequence[str], prose: int) -> str:
    kinds = (' class="prose"' if at >= prose else "" for at in range(len(cells)))
    found = (
        f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True)
    )
    return f"<tr>{''.join(found)}</tr>"
