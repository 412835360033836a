"""How an application ended, as text: first what went wrong, by partition, then the line that sums it up."""

from replan.applying.outcome import Outcome, Result

SHOWN = 100


def render_outcome(outcome: Outcome) -> str:
    """Plain text; ends with a newline."""
    stopped = [
        r for r in outcome.results if r.result in (Result.STALE, Result.REJECTED, Result.FOREIGN)
    ]
    lines = [f"{r.result}: {r.message}" for r in stopped[:SHOWN]]
    if len(stopped) > SHOWN:
        lines.append(f"and {len(stopped) - SHOWN:,} more")
    lines += [f"note: {note}" for note in outcome.notes]
    return "\n".join([*lines, outcome.text]) + "\n"
