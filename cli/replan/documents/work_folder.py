"""A folder for the work of one process, which the next one removes where this one was killed.

Whoever has such a folder holds a lock on a file in it, which ends with the process, however that ends. Where the file
system knows no locks nothing is ever taken for left behind.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from tempfile import mkdtemp

LOCK = "lock"


@contextmanager
def work_folder(
    parent: Path, prefix: str, remove: Callable[[Path], None] = lambda _: None
) -> Iterator[Path]:
    """A new folder in `parent`, removed at the end; those of its name that killed processes left are removed first.

    `remove`: what else is removed with each of these. Raises OSError.
    """
    for left in parent.glob(f"{prefix}*"):
        _remove_if_left(left, remove)
    folder, lock = _locked_folder(parent, prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        folder = Path(mkdtemp(prefix=prefix, dir=parent))
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        if _taken(lock) is not True and (folder / LOCK).exists():
            return folder, lock
        os.close(lock)  # another process has just taken it for left behind


def _remove_if_left(folder: Path, remove: Callable[[Path], None]) -> None:
    try:
        lock = os.open(folder / LOCK, os.O_RDWR)
    except OSError:  # it has none yet, is gone meanwhile, or is not ours
        return
    try:
        if _taken(lock) is False:
            remove(folder)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _taken(lock: int) -> bool | None:
    """Whether another process has the lock; None where that cannot be known."""
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False
