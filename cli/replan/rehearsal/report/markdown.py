"""A rehearsal as markdown for a pull request."""

from collections.abc import Iterable, Sequence

from replan.rehearsal.outcome import Report
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
from replan.rehearsal.report.text import HEAD, load_row
from replan.rehearsal.result import Rehearsal
from replan.reporting.markdown import code, escape, head, row
from replan.wording import left_out

BROKERS_SHOWN = 100


def render_rehearsal_markdown(report: Report) -> str:
    """The whole document; ends with a newline."""
    rehearsal = report.rehearsal
    lines = ["## replan rehearse", "", f"**{verdict(rehearsal)}**"]
    if rehearsal.lowest is not None:
        lines += ["", margin(rehearsal.lowest), harm(rehearsal)]
    lines += _list("Not arrived", stopped(rehearsal))
    lines += _list("Faults", (code(happened(rehearsal, f)) for f in rehearsal.faults))
    lines += _loads(rehearsal)
    lines += _waits(rehearsal)
    lines += _list("Notes", rehearsal.notes)
    broken = (f"{code(b.law)} {b.message}" for b in rehearsal.broken)
    lines += _list("Broken laws (a bug of replan or of its simulator; please report it)", broken)
    lines += _list("By chance", chances(report))
    lines += _table(SPREAD_HEAD, [spread_row(report)]) if report.runs else []
    lines += ["", assumptions(report.options)]
    lines += [
        f"Plan digest {code(report.plan_digest[:16])}, for cluster {code(report.cluster_id)}."
    ]
    return "\n".join(lines) + "\n"


def _list(title: str, items: Iterable[str]) -> list[str]:
    found = [f"- {escape(line)}" for line in items]
    return ["", f"### {title}", "", *found] if found else []


def _loads(rehearsal: Rehearsal) -> list[str]:
    if not rehearsal.brokers:
        return []
    rows = [load_row(b) for b in rehearsal.brokers[:BROKERS_SHOWN]]
    more = left_out(len(rehearsal.brokers) - BROKERS_SHOWN, "broker")
    return ["", "### Loads", *_table(HEAD, rows), *(["", *more] if more else [])]


def _waits(rehearsal: Rehearsal) -> list[str]:
    found = [f"- {': '.join(filter(None, told))}" for told in waits(rehearsal)]
    return ["", "### Waited longest", "", *map(escape, found)] if found else []


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["", head(*names, right=True), *(row([*map(escape, cells)]) for cells in rows)]
