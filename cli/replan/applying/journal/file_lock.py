"""The file of a journal on disk: opened under its lock, replaced whole, read and written in full.

The lock is on the journal itself (flock), so that there is no other file whose removal would free it.
"""

import errno
import fcntl
import os
from pathlib import Path

from replan.applying.journal import lines
from replan.applying.journal.moment import moment
from replan.documents.atomic import sync
from replan.errors import BadFile, Held

OWNER_ONLY = 0o600
"""The permissions of a journal: it names topics, brokers and people."""


def opened(path: Path, cluster_id: str) -> int:
    """The journal, locked; made where there is none. Raises Held, BadFile."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError:
            text = lines.head(cluster_id, (), at=moment())
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
                raise cannot("write", path, problem) from problem
        except IsADirectoryError as problem:
            raise cannot("read", path, problem) from problem
        except OSError as problem:
            raise cannot("lock", path, problem) from problem
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


def put(path: Path, journal: Path, text: bytes) -> int:
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
            "the same command then goes on where it stopped."
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
        raise cannot("read", path, problem) from problem


def write_all(file: int, text: bytes) -> None:
    """Write all of it; the system may take less at once. Raises OSError."""
    written = 0
    while written < len(text):
        written += os.write(file, text[written:])


def cannot(verb: str, path: Path, problem: OSError) -> BadFile:
    """Make the error of what the system did not do."""
    return BadFile(f"{path}: cannot {verb} the journal: {problem.strerror or problem}")
