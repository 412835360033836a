"""The fenced blocks of the pages: what language each is in, and why one is not run.

The language says what the tests do with a block: `console` is a session, run in order, whose output is as shown; `sh`
are commands that are run; `yaml` is a placement, a fleet or a pre-commit file, and is read as one; `mermaid` is drawn.
Whatever else there is says why it is not run, in a comment right above: `<!-- not run: WHY -->`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import DOCS, TOP

PAGES = sorted([*TOP.glob("*.md"), *DOCS.glob("*.md"), *TOP.glob("benchmarks/*.md")])
MADE = "<!-- Made from "
"""Begins the comment of a page that is made from the code by another test."""
_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<why>[^\n]+) -->\n+)?^(?P<indent> *)```(?P<language>[a-z]*)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    text: str
    not_run: str | None
    """Why, where a comment above says so."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    """All blocks in these languages that are to be run; in reading order."""
    return [b for b in every() if b.language in languages and b.not_run is None]


def every() -> Iterator[Block]:
    """All blocks of all pages."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        name = str(page.relative_to(TOP))
        made = "made from the code" if MADE in text else None
        for found in _BLOCK.finditer(text):
            line = text.count("\n", 0, found.start("language")) + 1
            why = found["why"] or (made if not found["language"] else None)
            yield Block(name, line, found["language"], found["text"], why)


def fences(page: Path) -> int:
    """How many lines of a page begin or end a block."""
    return len(re.findall(r"^ *```", page.read_text(encoding="utf-8"), re.MULTILINE))
