"""Where text goes: results to stdout or a file, everything else to stderr."""

import sys
from pathlib import Path


def result(text: str) -> None:
    """Print what the command was asked for."""
    sys.stdout.write(text)
    sys.stdout.flush()


def note(text: str) -> None:
    """Tell the person in front of it something beside the result."""
    sys.stderr.write(text.rstrip("\n") + "\n")
    sys.stderr.flush()


def at_terminal() -> bool:
    """Whether a person at a terminal reads what is noted."""
    return sys.stderr.isatty()


def passing(text: str) -> None:
    """Show a person at a terminal what is under way, in a line that the next one overwrites; an empty one ends it."""
    if at_terminal():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def save(text: str, path: Path) -> None:
    """Write a file whole or not at all. Raises BadFile."""
    from replan.documents.atomic import write_file

    write_file(path, text)


def write(text: str, path: Path | None) -> None:
    """Print a result, or write it into the file that `-o` names. Raises BadFile."""
    if path is None:
        result(text)
    else:
        save(text, path)
        note(f"wrote {path}")
