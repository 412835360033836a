"""The moment that a journal writes down, for people who read it: nothing is decided by it."""

from datetime import UTC, datetime

from replan.applying.journal.records import Application


def moment() -> str:
    """Now, as RFC 3339 writes it: UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment_of(seconds: float) -> str:
    """The same of a moment in seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(application: Application) -> int | None:
    """How long an application was open; None while it is, or where its moments are not known.

    By the clocks of whoever opened and whoever ended it: two machines may not agree.
    """
    try:
        opened = datetime.fromisoformat(application.opened_at)
        ended = datetime.fromisoformat(application.ended_at)
    except ValueError:
        return None
    return max(0, round((ended - opened).total_seconds()))
