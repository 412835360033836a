"""How an application ended, as text: first what went wrong, by partition, then the line that sums it up."""

from replan.applying.outcome import Outcome, Result
from replan.planning.plan import Refusal
from replan.reporting.note_text import note_text
from replan.reporting.plan_notes import refusal_text
from replan.wording import capped


def render_outcome(outcome: Outcome) -> str:
    """Plain text; ends with a newline."""
    stopped = [
        r for r in outcome.results if r.result in (Result.STALE, Result.REJECTED, Result.FOREIGN)
    ]
    lines = capped(stopped, lambda r: f"{r.result}: {r.message}")
    lines += capped(outcome.refusals, refused_line)
    lines += [f"note: {note_text(note)}" for note in outcome.notes]
    return "\n".join([*lines, outcome.text]) + "\n"


def refused_line(refusal: Refusal) -> str:
    """A partition that the plan leaves out, with why and the way out."""
    return f"{'held' if refusal.held else 'refused'}: {refusal_text(refusal)}  [{refusal.rule}]"
