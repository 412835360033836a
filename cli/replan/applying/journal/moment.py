"""The moment that a journal writes down, for people who read it: nothing is decided by it."""

from datetime import UTC, datetime


def moment() -> str:
    """Now, as RFC 3339 writes it: UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
