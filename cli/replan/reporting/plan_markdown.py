"""A plan as markdown for a pull request: the summary first, then as much as fits the limit of a comment."""

from collections.abc import Sequence

from replan.applying.standing import OpenApplication
from replan.planning.moves import Move
from replan.planning.plan import Plan, Refusal
from replan.planning.preview import planned_requests
from replan.reporting.markdown import LIMIT, code, escape, fitted, head, row
from replan.reporting.move_reasons import reason_text
from replan.reporting.plan_notes import refusal_text, warning_text
from replan.reporting.plan_text import change, summary
from replan.reporting.quantities import brokers, size

FOR_WORDS = 20_000
"""Characters of the limit that warnings may take, and refusals."""


def render_plan_markdown(
    plan: Plan, *, rehearsed: Sequence[str] = (), own: OpenApplication | None = None
) -> str:
    """The whole document, of at most LIMIT characters and a few lines; ends with a newline.

    `rehearsed`: what a rehearsal found. `own`: replan's own open application, so that it is not called another party.
    """
    text = "\n".join(
        ["## replan plan", "", *(f"{escape(line)}  " for line in summary(plan, rehearsed)), ""]
    )
    if plan.warnings:
        warnings = (f"> **Warning** {escape(warning_text(w))}\n>" for w in plan.warnings)
        text += "\n" + fitted(warnings, len(plan.warnings), FOR_WORDS, "more warning")
    if plan.refusals:
        refusals = (_refusal(r, own) for r in plan.refusals)
        text += "\n### Not planned\n\n"
        text += fitted(refusals, len(plan.refusals), FOR_WORDS, "more refusal")
    if plan.creates:
        created = [
            row((code(str(name)), code(brokers(listed))))
            for create in plan.creates
            for name, listed in create.partitions.items()
        ]
        text += f"\n{head('new partition', 'replicas')}\n"
        text += fitted(iter(created), len(created), FOR_WORDS, "more new partition")
    if plan.moves:
        rows = (_row(move) for move in plan.moves)
        text += f"\n{head('partition', 'change', 'copy', 'why', 'steps')}\n"
        text += fitted(rows, len(plan.moves), LIMIT - len(text), "more move")
    return text


def _refusal(refused: Refusal, own: OpenApplication | None) -> str:
    held = " (held by another party)" if refused.held else ""
    if refused.held and own is not None and refused.partition in own.targets:
        held = f" (being moved by replan's own application {escape(own.id)})"
    return f"- {code(refused.rule)}{held} {escape(refusal_text(refused))}"


def _row(move: Move) -> str:
    steps = " · ".join(request.kind for request in planned_requests(move))
    copied = "–"
    if move.new:
        copied = size(move.copies_bytes) if move.bytes else "size unknown, or empty"
    return row(
        (
            code(str(move.partition)),
            code(change(move)),
            copied,
            escape(reason_text(move.reason)),
            steps,
        )
    )
