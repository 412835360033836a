"""Files and folders that are there whole or not at all, and stay there after a power cut.

Belongs here: temporary names, fsync, rename. Does not belong here: what is written.
A crash leaves at most a sibling named `.NAME.XXXXXXXX.partial`, which nothing reads.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from replan.documents.files import cannot
from replan.errors import BadFile


def write_file(path: Path, content: str) -> None:
    """Write a text file in one go; a device or a pipe is written as it is. Raises BadFile."""
    try:
        if path.exists() and not path.is_file():
            path.write_text(content, encoding="utf-8")
            return
        target = path.resolve()
        replace_file(target, lambda partial: _write(partial, content))
        sync(target.parent)
    except OSError as problem:
        raise cannot("write", path, problem) from problem


def _write(path: Path, content: str) -> None:
    with path.open("x", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(target: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` write a file, then put it at `target`; it outlives a power cut if `fill` sees to that.

    Raises OSError.
    """
    partial = _partial(target)
    try:
        fill(partial)
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
    for found in folder.rglob("*"):
        sync(found)
    sync(folder)


def sync(path: Path) -> None:
    """Make a file, or the entries of a folder, durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
