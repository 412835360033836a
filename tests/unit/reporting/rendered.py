"""The documents of the product in its other forms, as the commands print them."""

from replan.planning.plans.plan import Plan
from replan.reporting import markdown, page
from replan.reporting.plans.plan_context import NOTHING_BESIDE, PlanContext
from replan.reporting.plans.plan_report import plan_report


def plan_markdown(
    plan: Plan, context: PlanContext = NOTHING_BESIDE, *, limit: int = markdown.LIMIT
) -> str:
    """`plan --format markdown`."""
    return markdown.document(plan_report(plan, context), limit=limit)


def plan_page(plan: Plan, context: PlanContext = NOTHING_BESIDE) -> str:
    """`plan --format html`."""
    return page.document(plan_report(plan, context))
