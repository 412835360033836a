"""A Java process, and the few words we exchange with it: a command on a line, an answer on a line.

What runs Kafka nodes is here too, with the words of Nodes.java; Kafka's command lines are in
`tools`. Which nodes there are, and what is in their properties files, is not here.
"""

import os
import selectors
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from tests.kafka.harness.distribution import Distribution
from tests.kafka.harness.home import Home

STARTUP_SECONDS = 60.0


class NodeFailure(Exception):
    """A node did not do what it was asked; carries the end of its log."""


@dataclass(frozen=True, slots=True)
class JavaOptions:
    """How a JVM is started: its heap, and the class-data archive that it reads or writes."""

    heap_megabytes: int
    archive: Path | None
    archive_written_at_exit: Path | None = None

    def arguments(self) -> list[str]:
        """The JVM's own arguments: cheap to start rather than fast in the long run."""
        sharing = ["-Xshare:auto", f"-XX:SharedArchiveFile={self.archive}"] if self.archive else []
        if self.archive_written_at_exit:
            sharing = [f"-XX:ArchiveClassesAtExit={self.archive_written_at_exit}"]
        return [
            *(f"-Xmx{self.heap_megabytes}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *("-XX:-UsePerfData", "-Xlog:disable", "-Xlog:all=error:stderr", *sharing),
        ]


def java_command(
    kafka: Distribution, options: JavaOptions, main: str, arguments: Sequence[str]
) -> list[str]:
    """The whole command line of a Java main from the distribution's class path."""
    level = os.environ.get("REPLAN_KAFKA_LOG_LEVEL", "WARN")
    return [
        *("java", *options.arguments(), kafka.logging_option, f"-Dharness.log.level={level}"),
        *("-cp", kafka.classpath, main, *arguments),
    ]


class JavaProcess:
    """A running Java main that takes a line and answers a line, and its log file."""

    def __init__(self, home: Home, command: Sequence[str], log: Path) -> None:
        self.log = log
        self._unclaimed: list[str] = []
        self._unfinished = b""
        self.process: Popen[bytes] = home.run(command, log)
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)

    def tell(self, command: str) -> None:
        """Send one command, without waiting for its answer."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(command.encode() + b"\n")
        except BrokenPipeError:
            raise self.failure(f"the JVM is gone, and cannot {command}") from None

    def await_line(
        self, answers: Callable[[str], bool], awaited: str, *, limit_seconds: float
    ) -> str:
        """Wait for a line that answers, and take it.

        Raises:
            NodeFailure: the JVM ended, or did not say it within the limit.
        """
        deadline = time.monotonic() + limit_seconds
        while not (found := [line for line in self._unclaimed if answers(line)]):
            if time.monotonic() > deadline:
                raise self.failure(f"not {awaited!r} within {limit_seconds:g} s")
            self._listen(min(1.0, max(0.0, deadline - time.monotonic())), awaited)
        self._unclaimed.remove(found[0])
        return found[0]

    def failure(self, reason: str) -> NodeFailure:
        """The reason together with the end of the log."""
        return NodeFailure(f"{reason}\n--- end of {self.log.name}\n{tail(self.log)}")

    def _listen(self, patience_seconds: float, awaited: str) -> None:
        output = self.process.stdout
        assert output is not None
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            if not selector.select(patience_seconds):
                return
        said = os.read(output.fileno(), 65536)
        if not said:
            code = self.process.wait(10)
            raise self.failure(f"the JVM ended with code {code} before it was {awaited!r}")
        *lines, self._unfinished = (self._unfinished + said).split(b"\n")
        self._unclaimed.extend(line.decode() for line in lines)


class NodesJvm(JavaProcess):
    """A running Nodes.java."""

    def __init__(
        self, home: Home, kafka: Distribution, options: JavaOptions, files: Sequence[Path]
    ) -> None:
        command = java_command(kafka, options, "Nodes", [str(file) for file in files])
        super().__init__(home, command, home.path / f"{files[0].stem}.log")

    def await_answer(self, awaited: str, *, limit_seconds: float) -> None:
        """Wait until the JVM has said the line.

        Raises:
            NodeFailure: it said that it failed, ended, or did not say it within the limit.
        """
        failed = f"failed {awaited.rsplit(maxsplit=1)[-1]} "
        answer = self.await_line(
            lambda line: line == awaited or line.startswith(failed),
            awaited,
            limit_seconds=limit_seconds,
        )
        if answer != awaited:
            raise self.failure(answer)


def tail(log: Path, lines: int = 40) -> str:
    """The last lines of a log file."""
    if not log.exists():
        return "(no log)"
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
