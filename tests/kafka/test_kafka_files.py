"""Kafka's own tools read what replan writes, and replan reads what they write; the page names all their options."""

import json
import re
from pathlib import Path

import pytest
from tests.commandline import checked
from tests.kafka.harness.clients import create_topic
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.harness.tools import ToolFailure, run_tool_warm

PAGE = Path(__file__).parents[2] / "docs" / "from-kafka-tools.md"
HEADINGS = {
    "kafka-reassign-partitions": "## kafka-reassign-partitions.sh",
    "kafka-leader-election": "## kafka-leader-election.sh",
}


def test_files_go_both_ways(one_jvm: OneJvmCluster, tmp_path: Path) -> None:
    topic, flags = "kafka-files", ("--bootstrap-server", one_jvm.bootstrap)
    create_topic(one_jvm.bootstrap, topic, [[1, 2, 3], [2, 3, 1]])

    def run(*arguments: str, wanted: int = 0) -> str:
        return checked(*arguments, folder=tmp_path, wanted=wanted).stdout

    def tool(name: str, *arguments: str) -> str:
        return run_tool_warm(one_jvm.ground.kafka, name, *flags, *arguments)

    ours = str(tmp_path / "ours.json")
    run("export", "--format", "kafka-json", "--topic", topic, "-o", "ours.json", *flags)
    given = ("--reassignment-json-file", ours)
    assert "complete" in tool("kafka-reassign-partitions", *given, "--verify")
    rows = json.loads(Path(ours).read_text())
    rows["partitions"][0]["replicas"] = [3, 2, 1]
    Path(ours).write_text(json.dumps(rows))
    tool("kafka-reassign-partitions", *given, "--execute")
    run("import", "ours.json", "-o", "placement.yaml")
    run("plan", "--exit-zero", *flags)
    assert "order" not in run("drift", "--exit-zero", *flags)

    (tmp_path / "topics.json").write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    to_move = ("--topics-to-move-json-file", str(tmp_path / "topics.json"))
    text = tool("kafka-reassign-partitions", *to_move, "--broker-list", "3,4,5", "--generate")
    current, proposed = re.findall(r"^\{.*\}$", text, re.MULTILINE)
    (tmp_path / "current.json").write_text(current)
    run("import", "current.json", "-o", "current.yaml")
    assert run("plan", "-f", "current.yaml", "--exit-zero", *flags)
    (tmp_path / "proposed.json").write_text(proposed)
    run("import", "proposed.json", "-o", "proposed.yaml")
    run("plan", "-f", "proposed.yaml", *flags, wanted=2)

    elections = str(tmp_path / "elections.json")
    run("export", "--format", "kafka-election-json", "--topic", topic, "-o", elections, *flags)
    said = tool(
        "kafka-leader-election", "--election-type", "preferred", "--path-to-json-file", elections
    )
    assert "election" in said
    found = run(
        "elect",
        "--election-type",
        "preferred",
        "--path-to-json-file",
        elections,
        "--format",
        "json",
        *flags,
    )
    assert json.loads(found)["counts"]["not-needed"] == 2


@pytest.mark.parametrize("tool", HEADINGS)
def test_the_page_names_every_option(one_jvm: OneJvmCluster, tool: str) -> None:
    with pytest.raises(ToolFailure) as shown:
        run_tool_warm(one_jvm.ground.kafka, tool, "--help")
    options = set(re.findall(r"^(--[a-z][a-z.-]+)", str(shown.value), re.MULTILINE))
    assert len(options) > 5
    section = PAGE.read_text().partition(HEADINGS[tool])[2].partition("\n## ")[0]
    named = set(
        re.findall(r"`(--[a-z][a-z.-]+)", section.partition("What Kafka's tool forbids")[0])
    )
    assert options <= named
