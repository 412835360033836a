"""A rehearsal as markdown for a pull request."""

from collections.abc import Iterable

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

BROKERS_SHOWN = 100


def render_rehearsal_markdown(report: Report) -> str:
    """The whole document; ends with a newline."""
    rehearsal = report.rehearsal
    lines = ["## replan rehearse", "", f"**{verdict(rehearsal)}**"]
    if rehearsal.lowest is not None:
        lines += ["", margin(rehearsal.lowest)]
    lines += _list("Not arrived", stopped(rehearsal))
    if rehearsal.faults:
        lines += _list("Faults", (f"`{f.what}`" for f in rehearsal.faults))
        lines += ["", harm(rehearsal)]
    lines += _loads(rehearsal)
    lines += _list("Waited longest for", waits(rehearsal))
    lines += _list("Notes", rehearsal.notes)
    broken = (f"`{b.law}` {b.message}" for b in rehearsal.broken)
    lines += _list("Broken laws (a bug of replan or of its simulator; please report it)", broken)
    lines += _list("By chance", spreads(report))
    lines += ["", assumptions(report.options)]
    lines += [f"Plan digest `{report.plan_digest[:16]}`, for cluster `{report.cluster_id}`."]
    return "\n".join(lines) + "\n"


def _list(title: str, items: Iterable[str]) -> list[str]:
    found = [f"- {_escaped(line)}" for line in items]
    return ["", f"### {title}", "", *found] if found else []


def _loads(rehearsal: Rehearsal) -> list[str]:
    if not rehearsal.brokers:
        return []
    rows = [f"| {' | '.join(load_row(b))} |" for b in rehearsal.brokers[:BROKERS_SHOWN]]
    head = [f"| {' | '.join(HEAD)} |", "|" + " ---: |" * len(HEAD)]
    return ["", "### Loads", "", *head, *rows]


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
