"""What of saved ends of logs was produced again: a file beside their index, which a replay writes as it goes on.

One line for each thing that happens, in order; `FILE` is that of the end of a log:

    sending FILE FROM TO     a batch is about to be sent: written, and on disk, before the request
    produced FILE TO         everything up to this offset is produced, or was left out on purpose
    refused FILE             the cluster has rejected it: it is not in the log
    again FILE               a person asks for all of it once more

A `sending` without one of the others behind it is unknown: the batch may be in the log or not. A line that is cut off
was never acted on.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path

from replan.documents.files import cannot
from replan.errors import BadFile
from replan.snapshots.tail_files import TailForm

REPLAYED = "replayed.txt"
_WORDS = {"sending": 3, "produced": 2, "refused": 1, "again": 1}
"""How many follow each."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """How far one end of a log is."""

    to: int
    """Everything before this offset is produced."""
    unknown_to: int | None = None
    """Up to where a batch may be produced or not."""


class Replays:
    """How far all ends of logs of a folder are; `note` writes down what happens."""

    def __init__(self, text: str, out: FileIO | None = None) -> None:
        self._found: dict[str, Replayed] = {}
        self._out = out
        for line in text.splitlines():
            what, *words = line.split(" ")
            if len(words) != _WORDS.get(what):
                raise ValueError(line)
            self._take(what, *words)

    def of(self, tail: TailForm) -> Replayed:
        """How far one is."""
        return self._found.get(tail.file, Replayed(tail.begin))

    def sending(self, tail: TailForm, begin: int, end: int) -> None:
        """A batch is about to be sent."""
        self._note("sending", tail.file, str(begin), str(end))

    def produced(self, tail: TailForm, to: int) -> None:
        """Everything up to this offset is produced."""
        self._note("produced", tail.file, str(to))

    def refused(self, tail: TailForm) -> None:
        """What was sent last is not in the log."""
        self._note("refused", tail.file)

    def again(self, tail: TailForm) -> None:
        """All of it is to be produced once more."""
        self._note("again", tail.file)

    def _note(self, *words: str) -> None:
        if self._out is not None:
            line = (" ".join(words) + "\n").encode()
            try:
                while line:
                    line = line[self._out.write(line) :]
                os.fsync(self._out.fileno())
            except OSError as problem:
                raise cannot("write", Path(self._out.name), problem) from problem
        self._take(*words)

    def _take(self, what: str, file: str, *offsets: str) -> None:
        match what:
            case "sending":
                self._found[file] = Replayed(int(offsets[0]), int(offsets[1]))
            case "produced":
                self._found[file] = Replayed(int(offsets[0]))
            case "again":
                self._found.pop(file, None)
            case "refused" if file in self._found:
                self._found[file] = replace(self._found[file], unknown_to=None)


def read_replays(folder: Path) -> Replays:
    """What was produced again so far; raises BadFile."""
    path = folder / REPLAYED
    try:
        return _parsed(path, path.read_bytes() if path.exists() else b"")
    except OSError as problem:
        raise cannot("read", path, problem) from problem


@contextmanager
def open_replays(folder: Path) -> Iterator[Replays]:
    """The same, to go on with: one process at a time. Raises BadFile."""
    path = folder / REPLAYED
    try:
        out = path.open("a+b", buffering=0)
    except OSError as problem:
        raise cannot("write", path, problem) from problem
    with out:
        try:
            fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
            out.seek(0)
            content = out.read()
            found = _parsed(path, content, out)
            out.truncate(len(_whole(content)))
        except BlockingIOError as problem:
            raise BadFile(f"{path}: another process replays this folder") from problem
        except OSError as problem:
            raise cannot("read", path, problem) from problem
        yield found


def _whole(content: bytes) -> bytes:
    """The lines that are whole."""
    return content[: content.rfind(b"\n") + 1]


def _parsed(path: Path, content: bytes, out: FileIO | None = None) -> Replays:
    try:
        return Replays(_whole(content).decode(), out)
    except ValueError as problem:
        raise BadFile(
            f"{path}: it is not what `replan tails replay` writes: {problem}"
        ) from problem
