"""A rehearsal as plain text for a terminal."""

from replan.rehearsal.outcome import Report
from replan.rehearsal.report.sections import Section, footer, heading, sections
from replan.reporting.table import columns


def render_rehearsal(report: Report) -> str:
    """The whole report; ends with a newline."""
    parts = [line for section in sections(report) for line in _section(section)]
    return "\n".join([*heading(report), *parts, "", *footer(report)]) + "\n"


def _section(section: Section) -> list[str]:
    lines, table = list(section.lines), section.table
    if table is not None:
        lines += columns([table.head, *table.rows], right=range(table.prose))
    return ["", f"{section.title}:", *(f"  {line}" for line in lines)]
