"""Tier 2: real brokers and their controller, all in one JVM, ready in about a second and a half.

Good for client code, configs, throttles, the journal and moves. A broker can be stopped cleanly
and started again; for SIGKILL and freezing take `cluster.Cluster`.
"""

from tests.kafka.harness.clients import await_brokers
from tests.kafka.harness.closing import Closing
from tests.kafka.harness.ground import prepare_ground
from tests.kafka.harness.jvm import STARTUP_SECONDS, NodesJvm, tail
from tests.kafka.harness.layout import Layout, choose_addresses

HEAP_MEGABYTES = 768


class OneJvmCluster(Closing):
    """A running cluster in one JVM; close it, or use it as a context manager."""

    def __init__(self, layout: Layout) -> None:
        self.ground = prepare_ground(layout, choose_addresses(layout))
        self.down: set[int] = set()
        """The brokers that were stopped and not started again."""
        try:
            self._jvm = self._start()
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap(self) -> str:
        """The brokers' addresses, as clients take them."""
        return self.ground.bootstrap

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of this cluster."""
        return (self._jvm.process.pid,)

    def stop(self, broker: int) -> None:
        """Stop a broker cleanly (controlled shutdown) and wait until it is down."""
        self.down.add(broker)
        self._jvm.tell(f"stop {broker}")
        self._jvm.await_answer(f"stopped {broker}", limit_seconds=STARTUP_SECONDS)

    def start(self, broker: int) -> None:
        """Start a stopped broker and wait until it is unfenced.

        From Kafka 4.0 on that takes as long as the broker's session (`Layout`).
        """
        self._jvm.tell(f"start {broker}")
        self._jvm.await_answer(f"started {broker}", limit_seconds=STARTUP_SECONDS)
        self.down.discard(broker)

    def log_tails(self) -> str:
        """The end of what the nodes logged."""
        return tail(self._jvm.log)

    def close(self) -> None:
        """End the JVM and remove its data."""
        self.ground.home.close()

    def _start(self) -> NodesJvm:
        layout = self.ground.layout
        jvm = self.ground.start_jvm(*self.ground.files, heap_megabytes=HEAP_MEGABYTES)
        for node in self.ground.files:
            jvm.await_answer(f"started {node}", limit_seconds=STARTUP_SECONDS)
        await_brokers(self.bootstrap, tuple(layout.racks))
        return jvm
