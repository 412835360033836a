"""Texts that are kept in files: `REPLAN_REWRITE=1 pytest FILE` writes them again; the diff is the review."""

import os
from collections.abc import Iterable
from pathlib import Path


def check(path: Path, text: str) -> None:
    """Compare with the text that is kept there."""
    if "REPLAN_REWRITE" in os.environ:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    kept = path.read_text(encoding="utf-8")
    assert text == kept, f"{path.name}: rewrite with REPLAN_REWRITE=1, and look"


def check_cases(path: Path, cases: Iterable[tuple[str, str]]) -> None:
    """The same of a file with a text for each title, indented below it."""
    blocks: list[str] = []
    for title, text in cases:
        lines = [f"    {line}".rstrip() for line in text.splitlines()]
        blocks.append("\n".join([title, *lines]))
    check(path, "\n\n".join(blocks) + "\n")
