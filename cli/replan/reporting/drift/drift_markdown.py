"""Drift as markdown, the body of an issue: who must act first, then each class as a table, within a declared size."""

from html import escape as escape_html

from replan.planning.findings.drift_report import DriftReport
from replan.planning.safety.placing_refusals import balance_text
from replan.reporting.drift.drift_words import (
    CLASSES,
    MEANINGS,
    acknowledged,
    by_class,
    compared,
    differences,
    electable,
    since,
    subject,
    summary,
    warnings,
)
from replan.reporting.markdown import LIMIT, code, escape, fitted, head, row, weight
from replan.wording import count


def marker(cluster_id: str) -> str:
    """The line by which the issue of an earlier run for the same cluster is found."""
    return f"<!-- replan drift {escape_html(cluster_id.replace('--', '-_'))} -->"


def render_drift_markdown(
    report: DriftReport, *, unmanaged: bool = False, limit: int = LIMIT
) -> str:
    """The whole document, of at most `limit` bytes; ends with a newline."""
    drift = report.drift
    name = f": {escape(report.cluster_name[:200])}" if report.cluster_name else ""
    tally = by_class(report)
    lines = [
        marker(drift.cluster_id[:200]),
        f"## replan drift{name}",
        "",
        f"**{summary(report)}**" + (f" {tally}." if tally else ""),
        *(f"\n{escape(line)}" for line in [*electable(report), *acknowledged(report)]),
        *(f"\n**Warning:** {escape(line)}" for line in warnings(report)),
        *(f"\n{escape(balance_text(reason.facts))}." for reason in drift.unbalanced),
        "",
    ]
    text = "\n".join(lines)
    ages = () if report.spells is None else ("since",)
    classes = [differences(report, drift_class) for drift_class in CLASSES]
    beside = [bool(drift.standing), unmanaged and bool(report.unmanaged)]
    share = (limit - weight(text)) // max(1, sum(map(bool, classes)) + sum(beside))
    for drift_class, (title, way_out) in CLASSES.items():
        found = differences(report, drift_class)
        if not found:
            continue
        rows = (
            row(
                (
                    code(subject(c)),
                    MEANINGS[c.kind],
                    *(code(text) if text else "–" for text in compared(c)),
                    *(since(report, c) for _ in ages),
                )
            )
            for c in found
        )
        table = f"{head('what', 'how', 'declared', 'has', *ages)}\n"
        text += f"\n### {title} ({len(found):,})\n\nWhat to do: {way_out}.\n\n{table}"
        text += fitted(rows, len(found), share - 500, "more difference")
    if drift.standing:
        settings = (
            row((code(str(s.setting)), code(s.after or "none"), code(s.before or "none")))
            for s in drift.standing
        )
        text += (
            f"\n### Throttles that are not as declared\n\n{head('throttle', 'declared', 'has')}\n"
        )
        text += fitted(settings, len(drift.standing), share - 500, "more throttle setting")
    if unmanaged and report.unmanaged:
        topics = (row((code(t), f"{n:,}")) for t, n in report.unmanaged.items())
        text += f"\n<details><summary>{count(len(report.unmanaged), 'topic')} that no entry names</summary>\n\n"
        text += f"{head('topic', 'partitions')}\n"
        text += fitted(topics, len(report.unmanaged), share - 500, "more topic")
        text += "\n</details>\n"
    return text
