"""Log directories as `kafka-storage format` leaves them, without starting Java each time.

A broker's directory needs only meta.properties. A controller's holds the first metadata records
too (the metadata version and features); StorageTool writes them once per version and feature
set into the cache, and each cluster gets a copy under its own cluster id.
"""

import base64
import shutil
import subprocess
import uuid
from pathlib import Path

from tests.kafka.harness.cache import fingerprint, made_once
from tests.kafka.harness.distribution import BadDistribution, Distribution
from tests.kafka.harness.jvm import JavaOptions, java_command
from tests.kafka.harness.layout import (
    Addresses,
    Layout,
    broker_file,
    controller_file,
    log_directories,
)


def new_kafka_uuid() -> str:
    """A random id as Kafka writes it: 22 characters of url-safe base64, no dash in front."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def write_node_files(
    kafka: Distribution, layout: Layout, addresses: Addresses, root: Path
) -> dict[int, Path]:
    """Format the directories of every node under `root`; returns their properties files."""
    cluster_id = new_kafka_uuid()
    files = {}
    for node in (*layout.controller_ids, *layout.racks):
        for directory in log_directories(layout, root, node):
            directory.parent.mkdir(exist_ok=True)
            if node in layout.racks:
                directory.mkdir()
            else:
                shutil.copytree(_first_records(kafka, layout), directory)
            write_meta_properties(directory, node, cluster_id)
        text = broker_file if node in layout.racks else controller_file
        files[node] = root / f"node-{node}.properties"
        files[node].write_text(text(layout, addresses, root, node))
    return files


def write_meta_properties(directory: Path, node: int, cluster_id: str) -> None:
    """Say whose directory this is, as Kafka checks at every start (MetaProperties)."""
    (directory / "meta.properties").write_text(
        f"version=1\ncluster.id={cluster_id}\nnode.id={node}\ndirectory.id={new_kafka_uuid()}\n"
    )


def _first_records(kafka: Distribution, layout: Layout) -> Path:
    # Kafka 3.9 knows the feature only among its unstable ones, and leaves it off.
    named = not (layout.eligible_leader_replicas or kafka.version.startswith("3."))
    return format_once(kafka, ["eligible.leader.replicas.version=0"] if named else [])


def format_once(kafka: Distribution, features: list[str]) -> Path:
    """A controller's formatted directory with these `--feature` settings, from the cache."""
    name = f"format-{fingerprint(kafka.jars.name.encode(), ' '.join(features).encode())}"
    return made_once(kafka.home / name, lambda draft: _format(kafka, features, draft))


def _format(kafka: Distribution, features: list[str], draft: Path) -> None:
    layout = Layout(version=kafka.version, racks={})
    node = layout.controller_ids[0]
    file = draft.with_suffix(".properties")
    text = controller_file(layout, Addresses({node: 9093}), draft.parent, node)
    file.write_text(text + f"log.dirs={draft}\n")
    arguments = ["format", "--cluster-id", new_kafka_uuid(), "--config", str(file)]
    for feature in features:
        arguments += ["--feature", feature]
    command = java_command(kafka, JavaOptions(128, None), "kafka.tools.StorageTool", arguments)
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BadDistribution(f"kafka-storage format failed\n{done.stdout}{done.stderr}")
