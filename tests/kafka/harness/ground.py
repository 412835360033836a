"""The ground a cluster stands on: its folder, its formatted directories, its addresses.

Prepared before any node starts and the same for every tier; starting nodes is not here.
"""

from dataclasses import dataclass
from pathlib import Path

from tests.kafka.harness.archive import class_data_archive
from tests.kafka.harness.distribution import Distribution, distribution
from tests.kafka.harness.formatting import write_node_files
from tests.kafka.harness.home import Home
from tests.kafka.harness.jvm import JavaOptions, NodesJvm
from tests.kafka.harness.layout import Addresses, Layout, log_directories


@dataclass(frozen=True, slots=True)
class Ground:
    """Everything that is decided before a cluster's nodes start."""

    layout: Layout
    kafka: Distribution
    archive: Path
    addresses: Addresses
    home: Home
    files: dict[int, Path]

    @property
    def bootstrap(self) -> str:
        """The brokers' addresses, as clients take them."""
        return ",".join(map(self.addresses.of, self.layout.racks))

    @property
    def controller_bootstrap(self) -> str:
        """The controllers' addresses, for requests that only the controller listener takes."""
        return ",".join(map(self.addresses.of, self.layout.controller_ids))

    def log_directories(self, node: int) -> list[Path]:
        """Where the node keeps its logs."""
        return log_directories(self.layout, self.home.path, node)

    def start_jvm(self, *nodes: int, heap_megabytes: int) -> NodesJvm:
        """Start one JVM with these nodes in it, without waiting for them."""
        files = [self.files[node] for node in nodes]
        return NodesJvm(self.home, self.kafka, JavaOptions(heap_megabytes, self.archive), files)


def prepare_ground(layout: Layout, addresses: Addresses) -> Ground:
    """Find the jars and format every node's directories."""
    kafka = distribution(layout.version)
    archive = class_data_archive(kafka)
    home = Home()
    try:
        files = write_node_files(kafka, layout, addresses, home.path)
    except BaseException:
        home.close()
        raise
    return Ground(layout, kafka, archive, addresses, home, files)
