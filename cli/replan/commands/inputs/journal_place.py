"""Where the journal of a cluster is: a topic on the cluster itself, or a file. What `--journal` says."""

import re
from dataclasses import dataclass
from pathlib import Path

import typer

from replan.model.names import JOURNAL_TOPIC

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""Kafka's rule for the names of topics (org.apache.kafka.common.internals.Topic)."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file on this machine, or else a topic on the cluster."""

    topic: str = JOURNAL_TOPIC
    path: Path | None = None

    @property
    def topics(self) -> tuple[str, ...]:
        """Those that are written: that of the lock, which is the same for all journals of a cluster, and its own."""
        return () if self.path is not None else tuple(dict.fromkeys([JOURNAL_TOPIC, self.topic]))

    def __str__(self) -> str:
        return f"topic:{self.topic}" if self.path is None else f"file:{self.path}"


def place(text: str | Place) -> Place:
    """Read what `--journal` says. Raises BadParameter."""
    if isinstance(text, Place):
        return text
    kind, colon, name = text.partition(":")
    if kind == "topic" and _TOPIC.fullmatch(name) and name not in {".", ".."}:
        return Place(name)
    if kind == "file" and name:
        return Place(path=Path(name))
    raise typer.BadParameter(
        f"{text!r} is no place of a journal; write topic:NAME or file:PATH"
        + ("" if colon else f", e.g. file:{text}")
    )
