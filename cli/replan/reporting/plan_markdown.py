"""A plan as markdown for a pull request: the summary first, then as much as fits the limit of a comment."""

from collections.abc import Iterator, Sequence

from replan.planning.moves import Move
from replan.planning.plan import Plan, Refusal
from replan.planning.steps import steps_of
from replan.reporting.plan_text import change, summary
from replan.reporting.quantities import count, size

LIMIT = 60_000
"""Characters; a comment on a large forge may have 65,536."""
FOR_WORDS = 20_000
"""Characters of the limit that warnings may take, and refusals."""


def render_plan_markdown(plan: Plan, *, rehearsed: Sequence[str] = ()) -> str:
    """The whole document, of at most LIMIT characters and a few lines; ends with a newline.

    `rehearsed`: what a rehearsal told of the plan.
    """
    text = "\n".join(
        ["## replan plan", "", *(f"{escape(line)}  " for line in summary(plan, rehearsed)), ""]
    )
    if plan.warnings:
        warnings = (f"> **Warning** {escape(line)}\n>" for line in plan.warnings)
        text += "\n" + fitted(warnings, len(plan.warnings), FOR_WORDS, "more warning")
    if plan.refusals:
        refusals = (_refusal(r) for r in plan.refusals)
        text += "\n### Not planned\n\n"
        text += fitted(refusals, len(plan.refusals), FOR_WORDS, "more refusal")
    if plan.moves:
        rows = (_row(move, throttled=plan.throttle is not None) for move in plan.moves)
        text += "\n| partition | change | copy | why | steps |\n| --- | --- | --- | --- | --- |\n"
        text += fitted(rows, len(plan.moves), LIMIT - len(text), "more move")
    return text


def fitted(lines: Iterator[str], total: int, room: int, noun: str) -> str:
    """As many lines as have room, then how many were left out; ends with a newline."""
    taken: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            more = count(total - len(taken), noun)
            return "\n".join([*taken, "", f"… and {more}, left out to fit a comment.", ""])
        taken.append(line)
    return "\n".join(taken) + "\n"


def _refusal(refused: Refusal) -> str:
    held = " (held by another party)" if refused.held else ""
    return f"- `{refused.rule}`{held} {escape(refused.message)}"


def _row(move: Move, *, throttled: bool) -> str:
    phases = " · ".join(step.phase for step in steps_of(move, throttled=throttled))
    copied = size(move.copies_bytes) if move.new else "–"
    return (
        f"| `{move.partition}` | `{change(move)}` | {copied} | {escape(move.reason)} | {phases} |"
    )


def escape(text: str) -> str:
    """Text that stands in a table cell as it is written."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
