"""Where text goes: results to stdout or a file, everything else to stderr; and how it is made safe to show.

All text of the commands passes here. Control characters become visible, since names and reasons come from clusters and
files of other people, and a terminal obeys them. What an output cannot encode is written as an escape of JSON, so that
JSON stays JSON.
"""

import codecs
import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from replan.errors import BadFile, BadUsage

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_PASSING = "\r\x1b[K"


def prepare_streams() -> None:
    """Let stdout and stderr write any character, whatever the locale."""
    codecs.register_error("replan.escape", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replan.escape")


def abandon_streams() -> None:
    """Send what is still buffered to nowhere, after an output has failed; Python would complain of it at the exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        with suppress(OSError):
            os.dup2(nowhere, descriptor)


def visible(text: str) -> str:
    r"""The text with its control characters, but line feeds and tabs, as `\u001b`; those that reverse a line, too."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def result(text: str) -> None:
    """Print what the command was asked for. Raises BadFile, or BrokenPipeError where nobody reads it any more."""
    if sys.stdout is None:
        raise BadFile("stdout is closed, so the result cannot be written")
    try:
        _print(sys.stdout, visible(text))
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise BadFile(f"stdout: cannot write the result: {problem.strerror}") from problem


def note(text: str) -> None:
    """Say something beside the result to the person who runs the command."""
    if sys.stderr is not None:
        _print(sys.stderr, visible(text).rstrip("\n") + "\n")


def is_live(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal that can overwrite lines; one that calls itself dumb cannot."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") not in {"dumb", ""}


def passing(text: str) -> None:
    """Show on a live terminal what is under way, in a line that the next one overwrites; an empty one ends it."""
    if is_live(sys.stderr):
        _print(sys.stderr, _PASSING + visible(text))


def save(text: str, path: Path) -> None:
    """Write a file whole or not at all. Raises BadFile."""
    from replan.documents.atomic import write_file

    write_file(path, text)


def write(text: str, path: Path | None, *, force: bool = True) -> None:
    """Print a result, or write it to the file of `-o`. Raises BadFile, and BadUsage where that is there already."""
    if path is None:
        result(text)
        return
    if path.is_file() and not force:
        raise BadUsage(
            f"{path} exists already; pass --force to overwrite it, or choose another name"
        )
    save(text, path)
    note(f"wrote {path}")


def keep_inputs(output: Path | None, inputs: Iterable[Path | None]) -> None:
    """Raise BadUsage where -o names a file that the command reads, before anything is done."""
    read = [file for file in inputs if file is not None and file.exists()]
    if output is not None and output.exists() and any(map(output.samefile, read)):
        raise BadUsage(f"-o {output} would overwrite what is read; choose another name")


def _print(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in pairs), error.end
