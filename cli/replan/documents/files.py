"""Files read whole, within limits: a document that is too large, endless or never written is an error, not a stop.

Pipes work (`<(command)`); devices such as /dev/zero end at the first zero byte or at the limit.
"""

import errno
import os
import select
import stat
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from replan.errors import BadFile

MOST_BYTES = 2**30
"""A snapshot of a million partitions as JSON has 150 MB; what is larger belongs into the Parquet form."""
PIPE_SECONDS = 60.0
"""How long a pipe may give nothing before it counts as one that nobody writes to."""
_CHUNK = 2**20


def shipped(folder: str, *, in_checkout: str) -> Traversable:
    """A folder of files that belong to the program: inside an installed package, or in a checkout, from its top."""
    installed = files("replan") / folder
    return installed if installed.is_dir() else Path(__file__).parents[3] / in_checkout


def read_text(path: Path, *, limit: int = MOST_BYTES) -> str:
    """A file as text; raises BadFile where it cannot be read, is larger than the limit, or is not UTF-8."""
    try:
        return read_bytes(path, limit=limit).decode()
    except UnicodeDecodeError as problem:
        raise BadFile(f"{path}: this is not text: byte {problem.start} is not UTF-8") from problem
    except OSError as problem:
        raise cannot("read", path, problem) from problem


def read_bytes(path: Path, *, limit: int = MOST_BYTES, pipe_seconds: float = PIPE_SECONDS) -> bytes:
    """A file's bytes, up to and with the first chunk that has a zero byte; raises OSError, whose text says why."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(file)
        if stat.S_ISREG(found.st_mode) and found.st_size > limit:
            raise _too_large(limit)
        waits = stat.S_ISFIFO(found.st_mode) or stat.S_ISCHR(found.st_mode)
        chunks: list[bytes] = []
        size = 0
        while chunk := _next(file, pipe_seconds if waits else None):
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


def _next(file: int, pipe_seconds: float | None) -> bytes:
    if pipe_seconds is not None and not select.select([file], [], [], pipe_seconds)[0]:
        raise OSError(
            errno.ETIMEDOUT, f"this is no file, and nothing came through it for {pipe_seconds:g} s"
        )
    return os.read(file, _CHUNK)


def _too_large(limit: int) -> OSError:
    return OSError(
        errno.EFBIG, f"it has more than {limit:,} bytes, the most that such a file may have"
    )
