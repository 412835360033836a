"""The journal in a file: one line per record, one process at a time; the text is in `lines`.

The lock is on the journal itself, so that there is no other file whose removal would free it. Whoever removes or
replaces the journal takes it away from the process that has it: that one notices at its next append and stops.
Compaction writes a new file, locked before it takes the place of the old one, whose bytes stay as `NAME.previous`.

The lock reaches as far as flock: processes on one machine, or on one shared disk that supports it.
"""

import errno
import fcntl
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from replan.applying.journal import file_inbox, lines
from replan.applying.journal.protocol import latest
from replan.applying.journal.record_json import encode_record
from replan.applying.journal.records import Application, Command, Record, timestamp_now
from replan.documents.files import sync
from replan.errors import BadFile, Held, WrongCluster

OWNER_ONLY = 0o600
"""The permissions of a journal: it names topics, brokers and people."""


def open_journal(path: Path, cluster_id: str) -> int:
    """The journal, locked; made where there is none. Raises Held, BadFile."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError:
            text = lines.journal_head(cluster_id, (), at=timestamp_now())
            try:
                return _created(path, path, text)
            except FileExistsError as problem:
                if path.is_symlink():
                    raise BadFile(
                        f"{path}: a link to {path.readlink()}, where nothing is; remove the link, "
                        "or name another file with --journal"
                    ) from problem
                continue  # another process was quicker
            except OSError as problem:
                raise journal_inaccessible("write", path, problem) from problem
        except IsADirectoryError as problem:
            raise journal_inaccessible("read", path, problem) from problem
        except OSError as problem:
            raise journal_inaccessible("lock", path, problem) from problem
        try:
            _lock(file, path)
        except BaseException:
            os.close(file)
            raise
        if is_at(file, path):
            return file
        os.close(file)  # replaced between opening and locking


def _created(path: Path, journal: Path, text: bytes) -> int:
    """A new file with this text, locked and on disk; what cannot be finished is removed. Raises OSError, Held."""
    file = os.open(
        path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL, OWNER_ONLY
    )
    try:
        _lock(file, journal)
        write_all(file, text)
        os.fsync(file)
        sync(path.parent)
    except BaseException:
        path.unlink(missing_ok=True)
        os.close(file)
        raise
    return file


def replace_journal(path: Path, journal: Path, text: bytes) -> int:
    """Put a new file in the place of what is there; it is locked before it is seen. Raises OSError."""
    path = path.resolve()  # a link stays one
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    file = _created(partial, journal, text)
    partial.replace(path)
    sync(path.parent)
    return file


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        raise not_locked(path, problem, beat(read_all(file, path), path)) from problem


def not_locked(path: Path, problem: OSError, who: str) -> Held | BadFile:
    """Make the error of a lock that was not given: another process has it, or the file system has no locks."""
    if problem.errno in {errno.EWOULDBLOCK, errno.EACCES}:
        return Held(
            f"{path}: held by {who}\n"
            "Another replan is applying with this journal. Wait until it has ended, or stop it with ^C: "
            "`replan resume` then goes on where it stopped."
        )
    return BadFile(
        f"{path}: cannot lock the journal: {problem.strerror}\n"
        "This file system has no locks (flock), so two processes could apply at once; "
        "name a file on a local disk with --journal."
    )


def is_at(file: int, path: Path) -> bool:
    """Whether an open file is the one at this path."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def beat(text: bytes, path: Path) -> str:
    """Who wrote last, as a file says, for people."""
    try:
        return lines.parse(text, str(path), "").beat or "an unknown process"
    except BadFile:
        return "an unknown process"


def read_all(file: int, path: Path) -> bytes:
    """All that a file holds. Raises BadFile."""
    try:
        return os.pread(file, os.fstat(file).st_size, 0)
    except OSError as problem:
        raise journal_inaccessible("read", path, problem) from problem


def write_all(file: int, text: bytes) -> None:
    """Write all of it; the system may take less at once. Raises OSError."""
    written = 0
    while written < len(text):
        written += os.write(file, text[written:])


def journal_inaccessible(verb: str, path: Path, problem: OSError) -> BadFile:
    """Make the error of what the system did not do."""
    return BadFile(f"{path}: cannot {verb} the journal: {problem.strerror or problem}")


class FileJournal:
    """A journal in one file; open it with `with`, or close it."""

    def __init__(self, path: Path, cluster_id: str) -> None:
        """Take the lock and read. Raises Held where another process has it, BadFile where it is damaged or cannot be
        written, WrongCluster where it is another cluster's.
        """
        self._path = path
        _check_kind(path)
        self._file = open_journal(path, cluster_id)
        try:
            self._begin(cluster_id)
        except BaseException:
            os.close(self._file)
            raise

    def _begin(self, cluster_id: str) -> None:
        text = read_all(self._file, self._path)
        content = _checked(text, self._path, cluster_id)
        self._latest = latest({}, content.records)
        self._lines, self._size, self._torn = content.lines, content.size, False
        if content.size < len(text) or content.lines > 2 * len(self._latest) + 20:
            self._compact(text, cluster_id)
        self._write([(lines.BEAT, msgspec.json.encode(f"{_process()} since {timestamp_now()}"))])
        for command in file_inbox.inbox_commands(self._path):
            file_inbox.remove_command(self._path, command.key)

    def read(self) -> Sequence[Record]:
        """The latest record of every key."""
        return list(self._latest.values())

    def append(self, records: Sequence[Record]) -> None:
        """Write them, all or none, and wait for the disk.

        Raises BadFile where it cannot be written, Held where the file was taken away.
        """
        if not records:
            return
        self._write([encode_record(record) for record in records])
        self._latest = latest(self._latest, records)
        for record in records:
            file_inbox.remove_command(self._path, record.key)

    @property
    def silent_since(self) -> float | None:
        """Not known: the lock of a file goes with its process, and nobody watched that."""
        return None

    def arrived(self) -> Sequence[Command]:
        """The commands that no append has answered."""
        return [c for c in file_inbox.inbox_commands(self._path) if c.key not in self._latest]

    def close(self) -> None:
        """Release the file and its lock."""
        os.close(self._file)

    def __enter__(self) -> "FileJournal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, pairs: Sequence[tuple[str, bytes | None]]) -> None:
        text = lines.render(pairs, after=self._lines, at=timestamp_now())
        try:
            if self._torn:
                os.ftruncate(self._file, self._size)
            self._torn = True
            write_all(self._file, text)
            os.fsync(self._file)
        except OSError as problem:
            raise journal_inaccessible("write", self._path, problem) from problem
        if not is_at(self._file, self._path):
            raise Held(
                f"{self._path}: the journal was removed or replaced while this process used it\n"
                "Another replan may be applying now, so this one does nothing more. Find out who removed it; what was "
                "set on the cluster stays until then."
            )
        self._torn, self._size = False, self._size + len(text)
        self._lines += len(pairs)

    def _compact(self, before: bytes, cluster_id: str) -> None:
        """Replace the file by one that holds the latest records only, and keep what it was."""
        text = lines.journal_head(cluster_id, self.read(), at=timestamp_now())
        try:
            os.close(replace_journal(_previous(self._path), self._path, before))
            fresh = replace_journal(self._path, self._path, text)
        except OSError as problem:
            raise journal_inaccessible("write", self._path, problem) from problem
        os.close(self._file)
        self._file, self._lines, self._size = fresh, len(self._latest) + 1, len(text)


def peek(path: Path, cluster_id: str) -> Sequence[Record]:
    """What a journal holds now, without its lock: for those who only show it. Empty where there is none."""
    _check_kind(path)
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise journal_inaccessible("read", path, problem) from problem
    return list(latest({}, _checked(text, path, cluster_id).records).values())


def holder(path: Path) -> str | None:
    """The process that has a journal now, as `pid 12 on host since …`; None where there is none. Raises BadFile."""
    _check_kind(path)
    try:
        with path.open("rb") as file:
            text = file.read()
            return beat(text, path) if _is_locked(file) else None
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise journal_inaccessible("read", path, problem) from problem


def _is_locked(file: BinaryIO) -> bool:
    """Whether a process has it; not so where the file system has no locks, as nobody applies with a journal there."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _checked(text: bytes, path: Path, cluster_id: str) -> lines.Content:
    """What a journal says, which belongs to this cluster. Raises BadFile, WrongCluster."""
    content = lines.parse(text, str(path), _previous(path).name)
    whose = {r.cluster_id for r in content.records if isinstance(r, Application)}
    for other in sorted((whose | {content.head.cluster_id}) - {cluster_id}):
        raise WrongCluster(
            f"{path}: this is the journal of cluster {other}, not of cluster {cluster_id}\n"
            "Check --bootstrap-server, or name the journal of this cluster with --journal."
        )
    return content


def _check_kind(path: Path) -> None:
    """A journal replaces its file from time to time, which a device or a pipe would not survive."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise BadFile(f"{path}: is no regular file; a journal needs one")


def _previous(path: Path) -> Path:
    return path.with_name(path.name + ".previous")


def _process() -> str:
    return f"pid {os.getpid()} on {socket.gethostname()}"
