"""A rehearsal as Markdown for a pull request."""

from replan.rehearsal.outcome import Report
from replan.rehearsal.report.sections import FAULTS, Section, footer, heading, sections
from replan.reporting.markdown import code, escape, head, row
from replan.wording import left_out

ROWS_SHOWN = 100


def render_rehearsal_markdown(report: Report) -> str:
    """The whole document; ends with a newline."""
    first, *rest = heading(report)
    lines = ["## replan rehearse", "", f"**{first}**", *(["", *rest] if rest else [])]
    lines += [line for section in sections(report) for line in _section(section)]
    return "\n".join([*lines, "", *footer(report)]) + "\n"


def _section(section: Section) -> list[str]:
    lines = ["", f"### {section.title}", "", *(f"- {escape(line)}" for line in section.lines)]
    if section.table is None:
        return lines
    shown = section.table.rows[:ROWS_SHOWN]
    if section.title == FAULTS:  # words that a person typed
        rows = [row([number, at, code(what)]) for number, at, what in shown]
    else:
        rows = [row([*map(escape, cells)]) for cells in shown]
    more = left_out(len(section.table.rows) - ROWS_SHOWN, section.noun)
    table = [head(*section.table.head, right=section.table.prose > 1), *rows]
    return [*lines, *([""] if section.lines else []), *table, *(["", *more] if more else [])]
