"""A temporary folder, and the processes that live in it: gone together, whatever happens.

Every cluster of the harness has one `Home`. Closing it ends its processes and removes the
folder; if Python itself is killed first, the warden does the same. What the processes are is
not known here.
"""

import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

from tests.kafka.harness import warden


class Home:
    """A folder under the system's temporary directory, and the processes started in it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="replan-kafka-"))
        self._living: dict[int, Popen[bytes]] = {}
        self._warden = Popen(
            [sys.executable, "-I", "-S", warden.__file__, str(self.path)],
            stdin=PIPE,
            bufsize=0,
            stdout=DEVNULL,
            process_group=0,  # an interrupt at the terminal must reach Python first
        )

    def run(self, command: Sequence[str], log: Path) -> Popen[bytes]:
        """Start a process with piped input and output, its errors appended to the log file."""
        with log.open("ab") as errors:
            process = Popen(
                command, bufsize=0, stdin=PIPE, stdout=PIPE, stderr=errors, process_group=0
            )
        self._living[process.pid] = process
        self._tell(f"+{process.pid}")
        return process

    def kill(self, process: Popen[bytes]) -> None:
        """End the process at once (SIGKILL), also when it is frozen or gone already."""
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        self.buried(process, limit_seconds=30)

    def buried(self, process: Popen[bytes], *, limit_seconds: float) -> None:
        """Wait for the end of a process, and forget it.

        Raises:
            TimeoutExpired: it still runs after the limit.
        """
        process.wait(limit_seconds)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        if self._living.pop(process.pid, None) is not None:
            self._tell(f"-{process.pid}")

    def close(self) -> None:
        """Kill what still runs and remove the folder; a second call does nothing."""
        if self._warden.stdin is None or self._warden.stdin.closed:
            return
        for process in list(self._living.values()):
            self.kill(process)
        self._warden.stdin.close()
        self._warden.wait(180)  # thousands of logs take their time on a busy disk

    def _tell(self, line: str) -> None:
        pipe = self._warden.stdin
        if pipe is None or pipe.closed:
            raise RuntimeError("this cluster is closed; start another one")
        pipe.write(line.encode() + b"\n")
