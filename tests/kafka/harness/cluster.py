"""Tier 3: one JVM per node, for what only a process can suffer: SIGKILL, SIGSTOP, a restart.

Five brokers and a controller are ready in some four seconds on two cores. Nodes are named by
their ids: brokers as the layout says, controllers from 101. Where no process has to die, the
one JVM of `one_jvm` is quicker.
"""

import os
import signal
from types import TracebackType
from typing import Self

from tests.kafka.harness.clients import await_brokers
from tests.kafka.harness.formatting import write_meta_properties
from tests.kafka.harness.ground import prepare_ground
from tests.kafka.harness.jvm import STARTUP_SECONDS, NodesJvm, tail
from tests.kafka.harness.layout import Layout, choose_addresses

HEAP_MEGABYTES = 256


class Cluster:
    """A running cluster of processes; close it, or use it as a context manager."""

    def __init__(self, layout: Layout) -> None:
        self.ground = prepare_ground(layout, choose_addresses(layout))
        self._jvms: dict[int, NodesJvm] = {}
        try:
            self.start(*self.ground.files)
            await_brokers(self.bootstrap, tuple(layout.racks))
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap(self) -> str:
        """The brokers' addresses, as clients take them."""
        return self.ground.bootstrap

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that run now."""
        return tuple(jvm.process.pid for jvm in self._jvms.values())

    def start(self, *nodes: int) -> None:
        """Start nodes that are down, together, and wait until brokers among them are unfenced.

        From Kafka 4.0 on a broker is let in again only when its last session has expired.
        """
        for node in nodes:
            if node in self._jvms:
                raise ValueError(f"node {node} runs already")
            self._jvms[node] = self.ground.start_jvm(node, heap_megabytes=HEAP_MEGABYTES)
        for node in nodes:
            self._jvms[node].await_answer(f"started {node}", limit_seconds=STARTUP_SECONDS)

    def stop(self, *nodes: int) -> None:
        """Stop nodes cleanly (SIGTERM: a broker hands over its leaderships) and wait."""
        for node in nodes:
            self._jvms[node].process.send_signal(signal.SIGTERM)
        for node in nodes:
            stopped = self._jvms.pop(node)
            self.ground.home.buried(stopped.process, limit_seconds=STARTUP_SECONDS)

    def kill(self, *nodes: int) -> None:
        """Kill nodes (SIGKILL), frozen ones too."""
        for node in nodes:
            self.ground.home.kill(self._jvms.pop(node).process)

    def freeze(self, *nodes: int) -> None:
        """Stop the clocks of nodes (SIGSTOP): connections stay open, nothing is answered."""
        for node in nodes:
            process = self._jvms[node].process
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self, *nodes: int) -> None:
        """Let frozen nodes go on (SIGCONT)."""
        for node in nodes:
            self._jvms[node].process.send_signal(signal.SIGCONT)

    def lose_disk(self, node: int, number: int) -> None:
        """Let a log directory fail: a file takes its place, which the broker finds at its next checkpoint."""
        directory = self.ground.log_directories(node)[number]
        directory.rename(directory.with_suffix(".gone"))
        directory.touch()

    def replace_disk(self, node: int, number: int) -> None:
        """Put an empty formatted directory where one was lost; the broker has to start for it."""
        directory = self.ground.log_directories(node)[number]
        directory.unlink()
        directory.mkdir()
        kept = directory.with_suffix(".gone") / "meta.properties"
        lines = kept.read_text().splitlines()
        known = dict(line.split("=") for line in lines if "=" in line)
        write_meta_properties(directory, node, known["cluster.id"])

    def runs(self, node: int) -> bool:
        """Whether a node's process has not ended by itself."""
        return self._jvms[node].process.poll() is None

    def log_tails(self) -> str:
        """The end of what each node logged, also of those that are down."""
        logs = sorted(self.ground.home.path.glob("node-*.log"))
        return "\n".join(f"--- {log.stem}\n{tail(log)}" for log in logs)

    def close(self) -> None:
        """Kill every node and remove its data."""
        self.ground.home.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
