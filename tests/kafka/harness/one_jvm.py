"""Tier 2: real brokers and their controller, all in one JVM, ready in about a second and a half.

Good for client code, configs, throttles, the journal and moves. A broker can be stopped cleanly
and started again; for SIGKILL and freezing take `cluster.Cluster`.
"""

from pathlib import Path
from types import TracebackType
from typing import Self

from tests.kafka.harness.archive import class_data_archive
from tests.kafka.harness.clients import await_brokers
from tests.kafka.harness.distribution import Distribution, distribution
from tests.kafka.harness.formatting import write_node_files
from tests.kafka.harness.home import Home
from tests.kafka.harness.jvm import STARTUP_SECONDS, JavaOptions, NodesJvm, tail
from tests.kafka.harness.layout import Layout, choose_addresses, log_directories

HEAP_MEGABYTES = 768


class OneJvmCluster:
    """A running cluster in one JVM; close it, or use it as a context manager."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.kafka: Distribution = distribution(layout.version)
        self.addresses = choose_addresses(layout)
        self._home = Home()
        try:
            self._jvm = self._start_jvm()
        except BaseException:
            self._home.close()
            raise

    @property
    def bootstrap(self) -> str:
        """The brokers' addresses, as clients take them."""
        return ",".join(map(self.addresses.of, self.layout.racks))

    @property
    def controller_bootstrap(self) -> str:
        """The controllers' addresses, for requests that only the controller listener takes."""
        return ",".join(map(self.addresses.of, self.layout.controller_ids))

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of this cluster."""
        return (self._jvm.process.pid,)

    @property
    def directory(self) -> Path:
        """Where everything of this cluster lies on disk."""
        return self._home.path

    def log_directories(self, broker: int) -> list[Path]:
        """Where the broker keeps its logs."""
        return log_directories(self.layout, self._home.path, broker)

    def stop(self, broker: int) -> None:
        """Stop a broker cleanly (controlled shutdown) and wait until it is down."""
        self._jvm.tell(f"stop {broker}")
        self._jvm.await_answer(f"stopped {broker}", limit_seconds=STARTUP_SECONDS)

    def start(self, broker: int) -> None:
        """Start a stopped broker and wait until it is unfenced."""
        self._jvm.tell(f"start {broker}")
        self._jvm.await_answer(f"started {broker}", limit_seconds=STARTUP_SECONDS)

    def log_tails(self) -> str:
        """The end of what the nodes logged."""
        return tail(self._jvm.log)

    def close(self) -> None:
        """End the JVM and remove its data."""
        self._home.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start_jvm(self) -> NodesJvm:
        files = write_node_files(self.kafka, self.layout, self.addresses, self._home.path)
        options = JavaOptions(HEAP_MEGABYTES, class_data_archive(self.kafka))
        jvm = NodesJvm(self._home, self.kafka, options, list(files.values()))
        for node in files:
            jvm.await_answer(f"started {node}", limit_seconds=STARTUP_SECONDS)
        await_brokers(self.bootstrap, tuple(self.layout.racks))
        return jvm
