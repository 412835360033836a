"""Where text goes: results to stdout or a file, everything else to stderr; and how it is made safe to show.

All text of the commands passes here. Control characters become visible, since names and reasons come from clusters and
files of other people, and a terminal obeys them. What an output cannot encode is written as an escape of JSON, so that
JSON stays JSON.
"""

import codecs
import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from shutil import get_terminal_size
from threading import Event, Thread
from typing import Literal, TextIO

from replan.errors import BadFile, BadUsage
from replan.reporting.lines import Line, drawn
from replan.wording import visible

Color = Literal["auto", "always", "never"]
_PASSING = "\r\x1b[K"
USUAL_COLUMNS = 80
"""Of a terminal that does not say how many it has."""
FIRST_SECONDS = 10.0
REMINDER_SECONDS = 60.0
"""When it is said for the first time that something takes long, and how often afterwards."""


class _Forgiving(TextIOWrapper):
    """A stderr whose failures change nothing: silent for good where nobody reads it, else until there is room again."""

    def write(self, text: str, /) -> int:
        """Write, if that is possible."""
        try:
            return super().write(text)
        except OSError as problem:
            _failed(problem)
            return len(text)

    def flush(self) -> None:
        """Flush, if that is possible."""
        try:
            super().flush()
        except OSError as problem:
            _failed(problem)


def _failed(problem: OSError) -> None:
    if isinstance(problem, BrokenPipeError):
        silence(2)


def prepare_streams() -> None:
    """Let stdout and stderr write any character, whatever the locale, and let no file become stdin, stdout or stderr.

    A stream that is closed when the program starts has a descriptor that the next file would get, such as the journal,
    and a library that writes to stderr would write into that file.
    """
    codecs.register_error("replan.escape", _escaped)
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
    raw = FileIO(2, "w", closefd=False)
    sys.stderr = _Forgiving(
        BufferedWriter(raw), encoding, "replan.escape", line_buffering=True, write_through=True
    )
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replan.escape")


_SILENCED = set[int]()
"""The outputs that have failed, by descriptor: what is written there goes nowhere."""


def silence(descriptor: int) -> None:
    """Send what is still buffered to nowhere, after an output has failed; Python would complain of it at the exit."""
    _SILENCED.add(descriptor)
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def result(text: str) -> None:
    """Print what the command was asked for. Raises BadFile; a reader that left before the end had what it wanted."""
    _result(visible(text))


def _result(text: str) -> None:
    if sys.stdout is None:
        raise BadFile("stdout is closed, so the result cannot be written")
    try:
        _print(sys.stdout, text)
    except OSError as problem:
        silence(1)
        if not isinstance(problem, BrokenPipeError):
            raise BadFile(f"stdout: cannot write the result: {problem.strerror}") from problem


def is_read() -> bool:
    """Whether anybody may still read stdout: the reader of a pipe may have left."""
    if sys.stdout is None or 1 in _SILENCED or sys.platform == "win32":
        return sys.stdout is not None and 1 not in _SILENCED
    poll = select.poll()
    poll.register(1, 0)
    return not poll.poll(0)


def result_lines(lines: Iterable[Line], color: Color = "auto") -> None:
    """Print the same as lines with tones: in colours and as wide as the terminal, where it is one."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    width = get_terminal_size().columns if terminal else None
    _result(drawn(lines, width=width, colours=coloured(color, terminal=terminal)))


def coloured(color: Color, *, terminal: bool) -> bool:
    """Whether to colour: as asked for, or as https://no-color.org and https://force-color.org say."""
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return terminal and os.environ.get("TERM") not in {"dumb", ""}


def report_outcome(text: str) -> None:
    """Print how something ended that has been done, and that does not depend on whether it can be printed."""
    try:
        result(text)
    except BadFile as problem:
        note(f"{problem}\n{text}")


def note(text: str) -> None:
    """Say something beside the result to the person who runs the command."""
    if sys.stderr is None:
        return
    text = visible(text).rstrip("\n")
    _print(sys.stderr, (_event_line("note", text, {}) if _notes.as_json else text) + "\n")


def event(name: str, text: str, fields: Mapping[str, object]) -> None:
    """Note something that programs read, too: in a log of JSON with these fields, else as its text alone."""
    if sys.stderr is not None and _notes.as_json:
        _print(sys.stderr, _event_line(name, visible(text), fields) + "\n")
    else:
        note(text)


def notes_as_json(*, to: bool = True) -> None:
    """From now on each note is a line of JSON: `time`, `event`, `text`, and the event's own fields."""
    _notes.as_json = to


class _Notes:
    as_json = False


_notes = _Notes()


def _event_line(name: str, text: str, fields: Mapping[str, object]) -> str:
    import json
    from datetime import UTC, datetime

    time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"time": time, "event": name, "text": text, **fields})


def is_live(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal that can overwrite lines; one that calls itself dumb cannot."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") not in {"dumb", ""}


def note_passing(text: str) -> None:
    """Show on a live terminal what is under way, in one row that the next one overwrites; an empty one ends it."""
    if is_live(sys.stderr):
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or USUAL_COLUMNS
        _print(sys.stderr, _PASSING + visible(text)[: columns - 1])


def save(text: str, path: Path) -> None:
    """Write a file whole or not at all. Raises BadFile."""
    from replan.documents.files import write_file

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
    """Raise BadUsage where -o names a file that the command reads, before anything is done.

    Of a folder that are its placement files.
    """
    read = [file for file in inputs if file is not None and file.exists()]
    if output is not None and output.exists() and any(_is_of(file, output) for file in read):
        raise BadUsage(f"-o {output} would overwrite what is read; choose another name")


def _is_of(read: Path, output: Path) -> bool:
    """Whether a file is the one that is read, or one of those that are read of a folder."""
    from replan.placement_file.sources import is_placement_name

    if not read.is_dir():
        return output.samefile(read)
    names = (output, output.resolve())
    return any(is_placement_name(of.name) and of.parent.samefile(read) for of in names)


def _print(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in pairs), error.end


@contextmanager
def said_while_long(
    what: str, say: Callable[[str], None] = note, first_seconds: float = FIRST_SECONDS
) -> Iterator[None]:
    """Say after some seconds, and then each minute, that something goes on which changes nothing."""
    ended = Event()
    speaker = Thread(target=_speak, args=(what, say, first_seconds, ended), daemon=True)
    speaker.start()
    try:
        yield
    finally:
        ended.set()
        speaker.join()


def _speak(what: str, say: Callable[[str], None], seconds: float, ended: Event) -> None:
    while not ended.wait(seconds):
        say(f"{what} goes on; ^C ends it, and nothing has changed")
        seconds = REMINDER_SECONDS
