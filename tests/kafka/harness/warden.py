"""A process that outlives whoever started it, to end what they left running.

A test run may be killed so that no `finally` of its own runs. The warden reads its standard
input: `+PID` puts a process in its charge, `-PID` takes it out. When the input ends, whatever
the reason, it kills its charges by their ids and removes the folder named on its command line.
It uses the standard library alone, and is a script: `python warden.py FOLDER`.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def main() -> None:
    """Keep watch until standard input ends, then clean up."""
    folder = Path(sys.argv[1])
    for pid in _charges(sys.stdin):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _remove(folder)


def _charges(lines: Iterable[str]) -> set[int]:
    charges: set[int] = set()
    for line in lines:
        pid = int(line[1:])
        if line.startswith("+"):
            charges.add(pid)
        else:
            charges.discard(pid)
    return charges


def _remove(folder: Path) -> None:
    # A killed process may still be creating files for a moment: try until the folder is gone.
    for _ in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.05)


if __name__ == "__main__":
    main()
