"""How an application ended, as text: first what went wrong, by partition, then the line that sums it up."""

from replan.applying.outcome import Outcome, Result
from replan.reporting.note_text import note_text
from replan.wording import capped


def render_outcome(outcome: Outcome) -> str:
    """Plain text; ends with a newline."""
    stopped = [
        r for r in outcome.results if r.result in (Result.STALE, Result.REJECTED, Result.FOREIGN)
    ]
    lines = capped(stopped, lambda r: f"{r.result}: {r.message}")
    lines += [f"note: {note_text(note)}" for note in outcome.notes]
    return "\n".join([*lines, outcome.text]) + "\n"
