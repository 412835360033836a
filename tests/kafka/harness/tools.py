"""Kafka's own command lines, run from the jars: a second opinion on what a cluster looks like.

`run_tool` starts a JVM each time, as a person does. `run_tool_warm` runs the same main in a JVM
that stays, one for each version: some hundredths of a second instead of one and a half.
"""

import atexit
import subprocess
import threading
from functools import cache
from urllib.parse import quote_plus, unquote_plus

from tests.kafka.harness.archive import class_data_archive
from tests.kafka.harness.distribution import DEFAULT_VERSION, Distribution, distribution
from tests.kafka.harness.home import Home
from tests.kafka.harness.jvm import JavaOptions, JavaProcess, java_command

LIMIT_SECONDS = 120
HEAP_MEGABYTES = 256
MAINS = {
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
}


class ToolFailure(Exception):
    """One of Kafka's command lines ended with an error; carries all it said."""


def run_tool(kafka: Distribution, tool: str, *arguments: str) -> str:
    """What the tool (named as its script, without .sh) printed on standard output.

    A version whose tools are not published lends those of the default version.

    Raises:
        ToolFailure: the tool's exit code was not 0.
    """
    done = subprocess.run(
        _command(_with_tools(kafka), MAINS[tool], *arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    return _printed(tool, arguments, done.returncode, done.stdout, done.stderr)


def run_tool_warm(kafka: Distribution, tool: str, *arguments: str) -> str:
    """The same as `run_tool`, in the JVM that stays."""
    code, out, err = _running_tools(_with_tools(kafka)).run(MAINS[tool], *arguments)
    return _printed(tool, arguments, code, out, err)


class _Tools:
    """A running Tools.java."""

    def __init__(self, kafka: Distribution) -> None:
        self._home = Home()
        self._one_at_a_time = threading.Lock()
        self._jvm = JavaProcess(self._home, _command(kafka, "Tools"), self._home.path / "tools.log")

    def run(self, main: str, *arguments: str) -> tuple[int, str, str]:
        """The exit code of a main, and both of its outputs."""
        with self._one_at_a_time:
            self._jvm.tell(" ".join(map(quote_plus, (main, *arguments))))
            answer = self._jvm.await_line(
                lambda line: line.startswith("exited "), main, limit_seconds=LIMIT_SECONDS
            )
        _, code, out, err = answer.split(" ")
        return int(code), unquote_plus(out), unquote_plus(err)

    def close(self) -> None:
        """End the JVM."""
        self._home.close()


@cache
def _running_tools(kafka: Distribution) -> _Tools:
    tools = _Tools(kafka)
    atexit.register(tools.close)
    return tools


def _with_tools(kafka: Distribution) -> Distribution:
    return kafka if kafka.has_tools else distribution(DEFAULT_VERSION)


def _command(kafka: Distribution, main: str, *arguments: str) -> list[str]:
    options = JavaOptions(HEAP_MEGABYTES, class_data_archive(kafka))
    return java_command(kafka, options, main, arguments)


def _printed(tool: str, arguments: tuple[str, ...], code: int, out: str, err: str) -> str:
    if code != 0:
        raise ToolFailure(f"{tool} {' '.join(arguments)}: exit {code}\n{out}{err}")
    return out
