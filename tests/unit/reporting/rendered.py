"""The documents of the product in its other forms, as the commands print them."""

from replan.planning.api import DriftReport, Plan
from replan.rehearsal.api import Report, rehearsal_report
from replan.reporting.api import (
    LIMIT,
    NOTHING_BESIDE,
    PlanContext,
    drawn,
    drift_blocks,
    html_document,
    markdown_document,
    plan_report,
    text_lines,
)


def plan_markdown(plan: Plan, context: PlanContext = NOTHING_BESIDE, *, limit: int = LIMIT) -> str:
    """`plan --format markdown`."""
    return markdown_document(plan_report(plan, context), limit=limit)


def plan_page(plan: Plan, context: PlanContext = NOTHING_BESIDE) -> str:
    """`plan --format html`."""
    return html_document(plan_report(plan, context))


def drift_markdown(report: DriftReport, *, unmanaged: bool = False, limit: int = LIMIT) -> str:
    """`drift --format markdown`."""
    return markdown_document(drift_blocks(report, unmanaged=unmanaged), limit=limit)


def drift_page(report: DriftReport, *, unmanaged: bool = False) -> str:
    """`drift --format html`."""
    return html_document(drift_blocks(report, unmanaged=unmanaged))


def rehearsal_text(report: Report) -> str:
    """`rehearse`."""
    return drawn(text_lines(rehearsal_report(report)))


def rehearsal_markdown(report: Report) -> str:
    """`rehearse --format markdown`."""
    return markdown_document(rehearsal_report(report))


def rehearsal_page(report: Report) -> str:
    """`rehearse --format html`."""
    return html_document(rehearsal_report(report))
