"""Kafka's own command lines, run from the jars: a second opinion on what a cluster looks like."""

import subprocess

from tests.kafka.harness.archive import class_data_archive
from tests.kafka.harness.distribution import DEFAULT_VERSION, Distribution, distribution
from tests.kafka.harness.jvm import JavaOptions, java_command

LIMIT_SECONDS = 120
MAINS = {
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
}


class ToolFailure(Exception):
    """One of Kafka's command lines ended with an error; carries all it said."""


def run_tool(kafka: Distribution, tool: str, *arguments: str) -> str:
    """What the tool (named as its script, without .sh) printed on standard output.

    A version whose tools are not published lends those of the default version.

    Raises:
        ToolFailure: the tool's exit code was not 0.
    """
    if not list(kafka.jars.glob("kafka-tools-[0-9]*.jar")):
        kafka = distribution(DEFAULT_VERSION)
    options = JavaOptions(256, class_data_archive(kafka))
    done = subprocess.run(
        java_command(kafka, options, MAINS[tool], arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    if done.returncode != 0:
        said = f"{done.stdout}{done.stderr}"
        raise ToolFailure(f"{tool} {' '.join(arguments)}: exit {done.returncode}\n{said}")
    return done.stdout
