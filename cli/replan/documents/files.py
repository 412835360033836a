"""Files and folders: read whole within limits, written whole or not at all, and folders for the work of one process.

A document that is too large, endless or never written is an error, not a stop. What is written is there whole or not at
all, and stays there after a power cut. A folder for work is removed by the next process where this one was killed.
"""

import errno
import os
import select
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from tempfile import mkdtemp

from replan.errors import BadFile

MOST_FILE_BYTES = 2**30
"""A snapshot of a million partitions as JSON has 150 MB; what is larger belongs into the Parquet form."""
PIPE_SECONDS = 60.0
"""How long a pipe may give nothing before it counts as one that nobody writes to."""
_CHUNK = 2**20


def shipped(folder: str, *, in_checkout: str) -> Traversable:
    """A folder of files that belong to the program: inside an installed package, or in a checkout, from its top."""
    installed = files("replan") / folder
    return installed if installed.is_dir() else Path(__file__).parents[3] / in_checkout


def read_text(path: Path, *, limit: int = MOST_FILE_BYTES) -> str:
    """A file as text; raises BadFile where it cannot be read, is larger than the limit, or is not UTF-8."""
    return decoded_text(read_content(path, limit=limit), str(path))


def read_content(path: Path, *, limit: int = MOST_FILE_BYTES) -> bytes:
    """A file's bytes; raises BadFile where it cannot be read or is larger than the limit."""
    try:
        return read_bytes(path, limit=limit)
    except OSError as problem:
        raise cannot("read", path, problem) from problem


def decoded_text(content: bytes, source: str) -> str:
    """The bytes of a file as text, less a byte order mark; raises BadFile where they are not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise BadFile(f"{source}: this is not text: byte {problem.start} is not UTF-8") from problem


def read_bytes(
    path: Path, *, limit: int = MOST_FILE_BYTES, pipe_seconds: float = PIPE_SECONDS
) -> bytes:
    """A file's bytes, up to and with the first chunk that has a zero byte; raises OSError, whose text says why."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(file)
        if stat.S_ISREG(status.st_mode) and status.st_size > limit:
            raise _too_large(limit)
        waits = stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode)
        # A file comes in one piece: joining takes longer than reading.
        whole = max(_CHUNK, status.st_size)
        chunks: list[bytes] = []
        size = 0
        while chunk := _next(file, whole, pipe_seconds if waits else None):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                raise _too_large(limit)
            if b"\0" in chunk:
                break  # no text: whoever decodes it says so, without reading an endless device
        return b"".join(chunks)
    finally:
        os.close(file)


def cannot(verb: str, path: Path, problem: OSError) -> BadFile:
    """Make the error of a file that the operating system denies us, in its own words."""
    reason = problem.strerror or str(problem)
    return BadFile(f"{path}: cannot {verb}: {reason}")


def _next(file: int, size: int, pipe_seconds: float | None) -> bytes:
    if pipe_seconds is not None and not select.select([file], [], [], pipe_seconds)[0]:
        raise OSError(
            errno.ETIMEDOUT, f"this is no file, and nothing came through it for {pipe_seconds:g} s"
        )
    return os.read(file, size)


def _too_large(limit: int) -> OSError:
    return OSError(
        errno.EFBIG, f"it has more than {limit:,} bytes, the most that such a file may have"
    )


def write_file(path: Path, content: str) -> None:
    """Write a text file in one go; a device or a pipe is written as it is. Raises BadFile."""
    write_files({path: content})


def write_files(contents: Mapping[Path, str]) -> None:
    """The same of several, whose folders are synced once. Raises BadFile."""
    folders: dict[Path, Path] = {}
    path = Path()
    try:
        for path, content in contents.items():
            if path.exists() and not path.is_file():
                path.write_text(content, encoding="utf-8")
            else:
                folders[_replaced(path.resolve(), content)] = path
        for folder, path in folders.items():  # noqa: B007 - a failure names it
            sync(folder)
    except OSError as problem:
        raise cannot("write", path, problem) from problem


def _replaced(target: Path, content: str) -> Path:
    """Write one of them; its folder."""
    replace_file(target, lambda partial: _write(partial, content))
    return target.parent


def _write(path: Path, content: str) -> None:
    with path.open("x", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(target: Path, fill: Callable[[Path], object]) -> None:
    """Let `fill` write a file, then put it at `target`; it outlives a power cut if `fill` sees to that.

    It has the mode, and the owner if this user may give it away, of the file that it replaces. Raises OSError.
    """
    partial = _partial(target)
    try:
        fill(partial)
        with suppress(OSError):  # nothing is there, or it is of another user
            there = target.stat()
            partial.chmod(stat.S_IMODE(there.st_mode))
            os.chown(partial, there.st_uid, there.st_gid)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def publish_folder(path: Path, fill: Callable[[Path], None], mine: Callable[[Path], bool]) -> None:
    """Let `fill` write a folder, then put it at `path`; raises BadFile.

    A folder that is there is replaced if it is empty or `mine` says so; nothing else is ever removed.
    While one replaces another there is an instant without either.
    """
    try:
        target = path.resolve()
        if target.exists() and not _replaceable(target, mine):
            raise BadFile(
                f"{path}: something else is there already; remove it or choose another name"
            )
        partial = _partial(target)
        partial.mkdir()
        try:
            fill(partial)
            _sync_all(partial)
            _exchange(partial, target)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        sync(target.parent)
    except OSError as problem:
        raise cannot("write", path, problem) from problem


def _replaceable(target: Path, mine: Callable[[Path], bool]) -> bool:
    return target.is_dir() and (mine(target) or not any(target.iterdir()))


def _exchange(partial: Path, target: Path) -> None:
    if not target.exists():
        partial.rename(target)
        return
    before = _partial(target)
    target.rename(before)
    try:
        partial.rename(target)
    except OSError:
        before.rename(target)
        raise
    shutil.rmtree(before)


def _partial(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.urandom(4).hex()}.partial")


def _sync_all(folder: Path) -> None:
    for path in folder.rglob("*"):
        sync(path)
    sync(folder)


def sync(path: Path) -> None:
    """Make a file, or the entries of a folder, durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


LOCK = "lock"


@contextmanager
def work_folder(
    parent: Path, prefix: str, remove: Callable[[Path], None] = lambda _: None
) -> Iterator[Path]:
    """A new folder in `parent`, removed at the end; those of its name that killed processes left are removed first.

    `remove`: what else is removed with each of these. Raises OSError.
    """
    for folder_left in parent.glob(f"{prefix}*"):
        _remove_if_left(folder_left, remove)
    folder, lock = _locked_folder(parent, prefix)
    try:
        yield folder
    finally:
        _remove(folder)
        os.close(lock)


def _locked_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        folder = Path(mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:  # another process has taken the empty folder for left behind
            continue
        if _taken(lock) is not True and (folder / LOCK).exists():
            return folder, lock
        os.close(lock)  # likewise


def _remove_if_left(folder: Path, remove: Callable[[Path], None]) -> None:
    try:
        lock = os.open(folder / LOCK, os.O_RDWR)
    except OSError:  # its process was killed, or has it not yet; it is gone meanwhile, or not ours
        with suppress(OSError):
            folder.rmdir()  # where it is empty
        return
    try:
        if _taken(lock) is False:
            remove(folder)
            _remove(folder)
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a folder, its lock after all else: killed in between, it is an empty one, or one that was left."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LOCK:
                path.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _taken(lock: int) -> bool | None:
    """Whether another process has the lock; None where that cannot be known."""
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False
