"""A plan as markdown for a pull request: the summary first, then as many moves as fit the limit of a comment."""

from replan.planning.moves import Move
from replan.planning.plan import Plan
from replan.planning.steps import steps_of
from replan.reporting.plan_text import describe, summary
from replan.reporting.quantities import brokers, count, size

LIMIT = 60_000
"""Characters; the comment limits of the large forges are 65,536 and more."""


def render_plan_markdown(plan: Plan) -> str:
    """The whole document; ends with a newline and never exceeds LIMIT by more than its closing line."""
    head = ["## replan plan", "", *(f"{line}  " for line in summary(plan)), ""]
    head += [f"> **Warning** {_escape(line)}" for line in plan.warnings[:50]]
    if plan.refusals:
        head += ["", "### Refused", ""]
        head += [f"- `{r.rule}` {_escape(r.message)}" for r in plan.refusals[:50]]
        if len(plan.refusals) > 50:
            head.append(f"- and {len(plan.refusals) - 50:,} more")
    text = "\n".join(head).rstrip() + "\n"
    return text + _moves(plan, LIMIT - len(text)) if plan.moves else text


def _moves(plan: Plan, room: int) -> str:
    lines = [
        "",
        "| partition | from | to | copy | why | steps |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    used = sum(len(line) + 1 for line in lines)
    for at, move in enumerate(plan.moves):
        line = _row(move, throttled=plan.throttle is not None)
        if used + len(line) > room:
            more = count(len(plan.moves) - at, "more move")
            lines += ["", f"… and {more}, left out to fit a comment: see the plan file."]
            break
        lines.append(line)
        used += len(line) + 1
    return "\n".join(lines) + "\n"


def _row(move: Move, *, throttled: bool) -> str:
    phases = " · ".join(
        describe(s, move).split("  ")[0].strip() for s in steps_of(move, throttled=throttled)
    )
    copied = size(move.copies_bytes) if move.new else "–"
    change = f"`{brokers(move.original)}` | `{brokers(move.target)}`"
    return f"| `{move.partition}` | {change} | {copied} | {_escape(move.reason)} | {phases} |"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
