"""How one partition, setting or replica stands in the end, with why."""

from replan.applying.views.outcome import AnyResult, Result


def result_text(result: AnyResult) -> str:
    """How it stands: a sentence without a full stop, or what the journal keeps of its end."""
    if result.result not in {Result.RUNNING, Result.WAITING}:
        return result.message
    if result.hold is not None:
        return f"{result.subject}: {result.hold}"
    return f"{result.subject}: {'started' if result.result is Result.RUNNING else 'not started'}"
