"""Tier 3: one JVM per node, for what only a process can suffer: SIGKILL, SIGSTOP, a restart.

Five brokers and a controller are ready in some four seconds on two cores; nodes that a test leaves
alone can share a JVM, which is quicker. Nodes are named by their ids: brokers as the layout says,
controllers from 101. Where no process has to die, take `one_jvm`.
"""

import os
import signal
from collections.abc import Collection

from tests.kafka.harness.clients import await_brokers
from tests.kafka.harness.closing import Closing
from tests.kafka.harness.formatting import write_meta_properties
from tests.kafka.harness.ground import prepare_ground
from tests.kafka.harness.jvm import STARTUP_SECONDS, NodesJvm, tail
from tests.kafka.harness.layout import Layout, choose_addresses

HEAP_MEGABYTES = 256
SHARED_HEAP_MEGABYTES = 768


class Cluster(Closing):
    """A running cluster of processes; close it, or use it as a context manager.

    The nodes `in_one_jvm` share a JVM: they run until the cluster is closed, and only the others
    can be stopped, killed and frozen.
    """

    def __init__(self, layout: Layout, *, in_one_jvm: Collection[int] = ()) -> None:
        self.ground = prepare_ground(layout, choose_addresses(layout))
        self._jvms: dict[int, NodesJvm] = {}
        self._shared: NodesJvm | None = None
        try:
            if in_one_jvm:
                self._shared = self.ground.start_jvm(
                    *in_one_jvm, heap_megabytes=SHARED_HEAP_MEGABYTES
                )
            self.start(*(node for node in self.ground.files if node not in in_one_jvm))
            if self._shared:
                _await_started(self._shared, in_one_jvm)
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
        shared = [self._shared] if self._shared else []
        return tuple(jvm.process.pid for jvm in (*shared, *self._jvms.values()))

    def start(self, *nodes: int) -> None:
        """Start nodes that are down, together, and wait until brokers among them are unfenced.

        From Kafka 4.0 on a broker is let in again only when its last session has expired.
        """
        self.begin(*nodes)
        for node in nodes:
            _await_started(self._jvms[node], [node])

    def begin(self, *nodes: int) -> None:
        """Start nodes that are down, and wait for nothing."""
        for node in nodes:
            if node in self._jvms:
                raise ValueError(f"node {node} runs already")
            self._jvms[node] = self.ground.start_jvm(node, heap_megabytes=HEAP_MEGABYTES)

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


def _await_started(jvm: NodesJvm, nodes: Collection[int]) -> None:
    for node in nodes:
        jvm.await_answer(f"started {node}", limit_seconds=STARTUP_SECONDS)
