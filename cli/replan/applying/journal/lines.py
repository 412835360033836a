"""The text of a file journal: one record a line, each with a checksum over every byte that follows it.

    {"crc":"1b2c3d4e","line":7,"left":0,"at":"2026-11-22T06:00:00Z","key":"order/…","value":{…}}

`line` counts from 1, so that a line that is missing is noticed; `left` is the number of lines of the same append that
follow, so that an append is read whole or not at all. The first append is the state at the last compaction, beginning
with the head; it was put in place whole and is never torn. Only the last append may be: cut off, or with bytes that
were never written (zero), and with nothing behind that. Everything else is damage.
"""

import re
import zlib
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from replan.applying.journal.record_json import NewerRecord, decode_record, encode_record
from replan.applying.journal.records import Record
from replan.documents.typed import Form, Int32, Positive
from replan.errors import BadFile

JOURNAL_FORMAT_VERSION = 1
HEAD, BEAT = "journal", "beat"
"""Keys that belong to the file and not to an application."""
LINE_BEGINNING = b'{"crc":"'
"""Of each line."""
ANOTHER = re.compile(rb'"kind": *"replan\.([a-z]+)"')
"""What other documents of replan say of themselves, at their beginning."""
FIRST_BYTES = 1000


class JournalHead(Form, frozen=True):
    """What the file is, and whose."""

    format_version: Positive
    cluster_id: str


class _Line(Form, frozen=True):
    crc: str
    line: Positive
    left: Int32
    at: str
    key: str
    value: msgspec.Raw


class Content(Struct, frozen=True):
    """What a journal says."""

    records: Sequence[Record]
    head: JournalHead
    beat: str
    """Who opened it last, and when; empty where nobody says."""
    lines: int
    """How many of them are sound."""
    size: int
    """Of these, in bytes; what follows is a torn append."""


def render(pairs: Sequence[tuple[str, bytes | None]], *, after: int, at: str) -> bytes:
    """The lines of one append; `after` is the number of the last line that is there."""
    total = len(pairs)
    lines = (
        _Line("-" * 8, after + i, total - i, at, key, msgspec.Raw(value or b"null"))
        for i, (key, value) in enumerate(pairs, 1)
    )
    return b"".join(_sealed(msgspec.json.encode(line)) + b"\n" for line in lines)


def journal_head(cluster_id: str, records: Sequence[Record], *, at: str) -> bytes:
    """The text of a journal that begins."""
    head = msgspec.json.encode(JournalHead(JOURNAL_FORMAT_VERSION, cluster_id))
    return render([(HEAD, head), *map(encode_record, records)], after=0, at=at)


def _sealed(text: bytes) -> bytes:
    """A line with the checksum that it should have."""
    body = text[len(LINE_BEGINNING) + len('--------"') :]
    return LINE_BEGINNING + b'%08x"' % zlib.crc32(body) + body


def _sound(text: bytes) -> _Line:
    """One line; raises ValueError where a byte of it is not as it was written."""
    if text != _sealed(text):
        raise ValueError("its checksum does not fit")
    try:
        return msgspec.json.decode(text, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"it is no line of a journal: {error}") from error


def parse(text: bytes, source: str, previous: str) -> Content:
    """What the text of a journal says; raises BadFile with the line that is damaged.

    `previous` is the name of the file with the state before the last compaction.
    """
    if not text:
        raise _damaged(source, 1, "the file is empty, which no journal ever is", previous)
    another = ANOTHER.search(text[:FIRST_BYTES])
    if another is not None and not text.startswith(LINE_BEGINNING):
        raise BadFile(
            f"{source}: this is no journal but a document of replan, {another[1].decode()}; it is left as it is\n"
            "--journal names the file in which `apply` keeps what it does: leave it out, or name another file."
        )
    if LINE_BEGINNING not in text:
        raise _damaged(source, 1, "not one line is a journal's: is it another file?", previous)
    return _Reader(text, source, previous).content()


class _Reader:
    def __init__(self, text: bytes, source: str, previous: str) -> None:
        self._source, self._previous = source, previous
        *self._lines, _ = text.split(b"\n")

    def content(self) -> Content:
        """Read append by append: what is kept ends with the last that is whole."""
        records: list[Record] = []
        head, beat, kept, size = None, "", 0, 0
        append: list[tuple[int, _Line]] = []
        bytes_read = 0
        for number, text in enumerate(self._lines, 1):
            try:
                line = self._next(number, text, append)
            except ValueError as error:
                self._check_torn(number, text, error, first_append=not kept)
                break
            append.append((number, line))
            bytes_read += len(text) + 1
            if line.left:
                continue
            for at, one in append:
                if one.key == HEAD:
                    head = self._head(at, one.value)
                elif one.key == BEAT:
                    beat = str(msgspec.json.decode(one.value))
                else:
                    records.append(self._record(at, one))
            append, kept, size = [], number, bytes_read
        if head is None:
            raise self._damaged(len(self._lines) + 1, "it is cut off")
        return Content(records, head, beat, kept, size)

    def _next(self, number: int, text: bytes, append: Sequence[tuple[int, _Line]]) -> _Line:
        line = _sound(text)
        if line.line != number:
            raise ValueError(f"it was written as line {line.line}; lines are missing or repeated")
        if append and line.left != append[-1][1].left - 1:
            raise ValueError("it does not continue the line before")
        return line

    def _head(self, number: int, value: msgspec.Raw) -> JournalHead:
        document = msgspec.json.decode(value)
        version = document.get("formatVersion") if isinstance(document, dict) else None
        if isinstance(version, int) and version != JOURNAL_FORMAT_VERSION:
            raise BadFile(
                f"{self._source}:{number}: journal format {version}, this replan reads {JOURNAL_FORMAT_VERSION}; "
                "go on with the version of replan that wrote it"
            )
        try:
            return msgspec.convert(document, JournalHead)
        except msgspec.ValidationError as error:
            raise self._damaged(number, str(error)) from error

    def _record(self, number: int, line: _Line) -> Record:
        value = bytes(line.value)
        try:
            return decode_record(line.key, None if value == b"null" else value)
        except NewerRecord as error:
            raise BadFile(
                f"{self._source}:{number}: {error}\nA newer replan wrote this journal; go on with that version."
            ) from error
        except ValueError as error:
            raise self._damaged(number, str(error)) from error

    def _check_torn(
        self, number: int, text: bytes, error: Exception, *, first_append: bool
    ) -> None:
        """Raise BadFile unless bytes of the last append were never written, which are zero, and nothing follows."""
        follows = any(map(_is_sound, self._lines[number:]))
        if first_append or b"\0" not in text or follows:
            raise self._damaged(number, str(error)) from error

    def _damaged(self, number: int, what: str) -> BadFile:
        return _damaged(self._source, number, what, self._previous)


def _is_sound(text: bytes) -> bool:
    try:
        _sound(text)
    except ValueError:
        return False
    return True


def _damaged(source: str, number: int, what: str, previous: str) -> BadFile:
    return BadFile(
        f"{source}:{number}: damaged journal ({what})\n"
        "Only the end of the last append may be unfinished; something else has changed this file. It is left as it is. "
        f"Restore it ({previous} is the state before the last compaction, if it is there), or look at the cluster's "
        "throttles by hand before removing it."
    )
