"""The journal in a file: JSON lines, a checksum each, one process at a time.

One append is one line, so it is there whole or not at all. A line that the last process could not finish is torn: only
the very last line may be, and it is dropped. Any other damage is refused, because something else wrote to the file.
The lock is a file of its own beside the journal (`NAME.lock`), since compaction replaces the journal itself.

The lock reaches as far as the file: processes on one machine, or on one shared disk that supports flock.
"""

import fcntl
import json
import os
import socket
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import Any

from replan.applying.journal.protocol import latest
from replan.applying.journal.record_json import decode, encode
from replan.applying.journal.records import Kept, Record
from replan.documents.json_text import parse_json
from replan.errors import BadFile, Held

OWNER_ONLY = 0o600
"""The permissions of a journal and its lock: they name topics, brokers and people."""


class FileJournal:
    """A journal in one file; open it with `with`, or close it."""

    def __init__(self, path: Path) -> None:
        """Take the lock, read, compact. Raises Held where another process has it, BadFile where it is damaged."""
        self._path = path
        _check_kind(path)
        self._lock = _locked(path)
        try:
            self._latest = _read(path)
            self._file = _compacted(path, self._latest)
            self._torn = False
        except BaseException:
            self._lock.close()
            raise

    def read(self) -> Sequence[Record]:
        """The latest record of every key."""
        return list(self._latest.values())

    def append(self, records: Sequence[Record]) -> None:
        """Write one line and wait for the disk; raises BadFile where it cannot be written."""
        if not records:
            return
        if self._torn:
            fresh = _compacted(self._path, self._latest)
            os.close(self._file)
            self._file, self._torn = fresh, False
        try:
            _write_all(self._file, _line(records).encode())
            os.fsync(self._file)
        except OSError as problem:
            self._torn = True
            raise _cannot("write", self._path, problem) from problem
        self._latest = latest(self._latest, records)

    def close(self) -> None:
        """Release file and lock."""
        os.close(self._file)
        self._lock.close()

    def __enter__(self) -> "FileJournal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _locked(path: Path) -> TextIOWrapper:
    lock = _lock_of(path)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch(OWNER_ONLY)
        held = lock.open("a+", encoding="utf-8")
    except OSError as problem:
        raise _cannot("lock", path, problem) from problem
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        held.seek(0)
        holder = held.read().strip() or "an unknown process"
        held.close()
        raise Held(
            f"{path}: held by {holder}\n"
            "Another replan is applying with this journal. Wait until it has ended, or stop it with ^C: "
            "the same command then goes on where it stopped."
        ) from problem
    held.truncate(0)
    held.write(f"pid {os.getpid()} on {socket.gethostname()} since {_now()}\n")
    held.flush()
    return held


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def holder(path: Path) -> str | None:
    """The process that has the lock of a journal now, as `pid 12 on host since …`; None where there is none."""
    try:
        with _lock_of(path).open(encoding="utf-8") as lock:
            said = lock.read().strip()
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return said or "an unknown process"
    except OSError:
        return None
    return None


def peek(path: Path) -> Sequence[Record]:
    """What a journal holds now, without its lock: for those who only tell of it. Empty where there is none."""
    _check_kind(path)
    return list(_read(path).values())


def _check_kind(path: Path) -> None:
    """A journal replaces its file from time to time, which a device or a pipe would not survive."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise BadFile(f"{path}: is no regular file; a journal needs one")


def _read(path: Path) -> dict[str, Kept]:
    try:
        written = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as problem:
        raise _cannot("read", path, problem) from problem
    found: list[Record] = []
    lines = written.split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        found += _records(path, number, line, ends_here=number == len(lines) - 1)
    return latest({}, found)  # what follows the last newline is torn, or nothing


def _records(path: Path, number: int, line: bytes, *, ends_here: bool) -> list[Record]:
    """The records of one line; none where it is torn, which only the last may be."""
    try:
        document = _sound(line)
        return [decode(r["key"], r["value"]) for r in document["records"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if ends_here and not _is_sound(line):
            return []
        raise BadFile(
            f"{path}:{number}: damaged journal line ({error})\n"
            "Only the last line of a journal may be unfinished; something else has written here. "
            "Restore the file, or look at the cluster's throttles by hand before removing it."
        ) from error


def _sound(line: bytes) -> dict[str, Any]:
    """A line's document; raises ValueError where it is not as it was written."""
    document = parse_json(line.decode())
    if not isinstance(document, dict) or document.get("crc") != _checksum(document):
        raise ValueError("its checksum does not fit")
    return document


def _is_sound(line: bytes) -> bool:
    try:
        _sound(line)
    except ValueError:
        return False
    return True


def _compacted(path: Path, records: Mapping[str, Kept]) -> int:
    """Replace the file by one line that holds the latest records; open it for appending."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        partial.touch(OWNER_ONLY)
        with partial.open("w", encoding="utf-8") as file:
            if records:
                file.write(_line(list(records.values())))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
        return os.open(path, os.O_WRONLY | os.O_APPEND)
    except OSError as problem:
        raise _cannot("write", path, problem) from problem


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(file: int, line: bytes) -> None:
    written = 0
    while written < len(line):
        written += os.write(file, line[written:])


def _line(records: Sequence[Record]) -> str:
    pairs = [encode(r) for r in records]
    document: dict[str, Any] = {
        "at": _now(),
        "records": [{"key": key, "value": value} for key, value in pairs],
    }
    return _json({"crc": _checksum(document), **document}) + "\n"


def _checksum(document: Mapping[str, Any]) -> str:
    """CRC-32 of the line's canonical JSON without the checksum itself."""
    rest = {key: value for key, value in document.items() if key != "crc"}
    return f"{zlib.crc32(_json(rest).encode()):08x}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _cannot(verb: str, path: Path, problem: OSError) -> BadFile:
    return BadFile(f"{path}: cannot {verb} the journal: {problem.strerror or problem}")
