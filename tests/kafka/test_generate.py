"""10,000 partitions in balance: replan moves nothing, where Kafka's `--generate` proposes thousands of copies.

The brokers are fake, on the wire only; both programs are real, and read the same cluster.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.commandline import replan
from tests.kafka.harness.distribution import distribution
from tests.kafka.harness.fake_cluster import FakeCluster, Shape
from tests.kafka.harness.tools import run_tool_warm

SHAPE = Shape(brokers=12, partitions=10_000, per_topic=1_000)
"""Each partition on three brokers of three racks; each broker as often as the others, and as often first."""
pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]


def test_what_is_balanced_stays_where_generate_proposes_thousands_of_copies(
    kafka_version: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    names = [f"t{number:05d}" for number in range(SHAPE.topics)]
    rule = {"replicationFactor": 3, "spread": "rack"}
    placement = {"version": 1, "assignments": dict.fromkeys(names, rule)}
    balance = {"balance": {"replicas": "1%"}}
    (tmp_path / "placement.yaml").write_text(json.dumps(placement | balance))
    (tmp_path / "topics.json").write_text(
        json.dumps({"version": 1, "topics": [{"topic": name} for name in names]})
    )
    with FakeCluster(SHAPE) as cluster:
        flags = ("--bootstrap-server", cluster.bootstrap)
        done = replan(
            *("plan", *flags, "--format", "json", "-o", "plan.json"),
            folder=tmp_path,
            XDG_STATE_HOME=str(tmp_path),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        generated = run_tool_warm(
            distribution(kafka_version),
            "kafka-reassign-partitions",
            *flags,
            "--topics-to-move-json-file",
            str(tmp_path / "topics.json"),
            "--broker-list",
            ",".join(str(broker + 1) for broker in range(SHAPE.brokers)),
            "--generate",
        )
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert (plan["moves"], plan["refusals"]) == ([], [])
    before, proposed = (
        {
            (row["topic"], row["partition"]): set(row["replicas"])
            for row in json.loads(found)["partitions"]
        }
        for found in re.findall(r"^\{.*\}$", generated, re.MULTILINE)
    )
    assert len(before) == len(proposed) == SHAPE.partitions
    copies = sum(len(proposed[name] - before[name]) for name in before)
    record_property("copies that --generate proposes", copies)
    assert copies > 5_000
