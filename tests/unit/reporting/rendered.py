"""The documents of the product in its other forms, as the commands print them."""

from replan.planning.findings.drift_report import DriftReport
from replan.planning.plans.plan import Plan
from replan.rehearsal.outcome import Report
from replan.rehearsal.report.sections import rehearsal_report
from replan.reporting import markdown, page
from replan.reporting.blocks import text_lines
from replan.reporting.drift.drift_text import drift_blocks
from replan.reporting.lines import drawn
from replan.reporting.plans.plan_context import NOTHING_BESIDE, PlanContext
from replan.reporting.plans.plan_report import plan_report


def plan_markdown(
    plan: Plan, context: PlanContext = NOTHING_BESIDE, *, limit: int = markdown.LIMIT
) -> str:
    """`plan --format markdown`."""
    return markdown.markdown_document(plan_report(plan, context), limit=limit)


def plan_page(plan: Plan, context: PlanContext = NOTHING_BESIDE) -> str:
    """`plan --format html`."""
    return page.html_document(plan_report(plan, context))


def drift_markdown(
    report: DriftReport, *, unmanaged: bool = False, limit: int = markdown.LIMIT
) -> str:
    """`drift --format markdown`."""
    return markdown.markdown_document(drift_blocks(report, unmanaged=unmanaged), limit=limit)


def drift_page(report: DriftReport, *, unmanaged: bool = False) -> str:
    """`drift --format html`."""
    return page.html_document(drift_blocks(report, unmanaged=unmanaged))


def rehearsal_text(report: Report) -> str:
    """`rehearse`."""
    return drawn(text_lines(rehearsal_report(report)))


def rehearsal_markdown(report: Report) -> str:
    """`rehearse --format markdown`."""
    return markdown.markdown_document(rehearsal_report(report))


def rehearsal_page(report: Report) -> str:
    """`rehearse --format html`."""
    return page.html_document(rehearsal_report(report))
