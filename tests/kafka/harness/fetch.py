"""Prepare everything that clusters of the given Kafka versions need, before tests want it.

    python -m tests.kafka.harness.fetch [VERSION...]

Without versions it prepares all that the tests use. A second call is quick: all is in the cache.
"""

import sys
import time

from tests.kafka.harness.archive import class_data_archive
from tests.kafka.harness.distribution import (
    VERSIONS,
    BadDistribution,
    distribution,
    schema_folder,
)
from tests.kafka.harness.formatting import format_once
from tests.kafka.harness.jvm import NodeFailure


def prepare(version: str) -> None:
    """Fetch, compile, format and archive for one version.

    Raises:
        BadDistribution, NodeFailure: something could not be had; says what and why.
    """
    kafka = distribution(version)
    schema_folder(kafka)
    format_once(kafka, [])
    class_data_archive(kafka)


def main() -> None:
    """Prepare the versions named on the command line."""
    for version in sys.argv[1:] or VERSIONS:
        started = time.monotonic()
        try:
            prepare(version)
        except (BadDistribution, NodeFailure) as failure:
            sys.exit(f"Kafka {version}: {failure}")
        took = time.monotonic() - started
        print(f"Kafka {version} is ready ({took:.1f} s)")  # noqa: T201 - its one output


if __name__ == "__main__":
    main()
