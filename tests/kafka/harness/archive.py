"""The class-data archive: Kafka's classes parsed once, so that every JVM after starts quicker.

Made by running a small cluster and letting its JVM write the archive at its exit; kept per
Kafka version, Java main and Java installation. Without it everything works, more slowly.
"""

import shutil
from pathlib import Path

from tests.kafka.harness.cache import fingerprint, made_once
from tests.kafka.harness.clients import await_brokers, create_topic, fill
from tests.kafka.harness.distribution import Distribution
from tests.kafka.harness.formatting import write_node_files
from tests.kafka.harness.home import Home
from tests.kafka.harness.jvm import STARTUP_SECONDS, JavaOptions, NodesJvm
from tests.kafka.harness.layout import Layout, choose_addresses


def class_data_archive(kafka: Distribution) -> Path:
    """The archive's path; it takes some seconds when it is not in the cache."""
    ingredients = fingerprint(kafka.classpath.encode(), _java_identity())
    return made_once(
        kafka.home / f"classes-{ingredients}.jsa", lambda draft: _make_archive(kafka, draft)
    )


def _java_identity() -> bytes:
    # An archive of another Java is not used; its `release` file names the exact build.
    java = Path(shutil.which("java") or "java").resolve()
    release = java.parent.parent / "release"
    return str(java).encode() + (release.read_bytes() if release.is_file() else b"")


def _make_archive(kafka: Distribution, draft: Path) -> None:
    layout = Layout(version=kafka.version, racks={1: "a", 2: "b"}, min_insync_replicas=1)
    home = Home()
    try:
        addresses = choose_addresses(layout)
        files = write_node_files(kafka, layout, addresses, home.path)
        options = JavaOptions(256, archive=None, archive_written_at_exit=draft)
        jvm = NodesJvm(home, kafka, options, list(files.values()))
        for node in files:
            jvm.await_answer(f"started {node}", limit_seconds=STARTUP_SECONDS)
        await_brokers(addresses.of(1), [1, 2])
        create_topic(addresses.of(1), "warm-up", [[1, 2]])
        fill(addresses.of(1), "warm-up", 1_000_000)
        jvm.tell("exit")
        home.buried(jvm.process, limit_seconds=STARTUP_SECONDS)
    finally:
        home.close()
