"""Kafka's own tools read what replan writes, and replan reads what they write; the page names all their options."""

import json
import re
from pathlib import Path

import pytest
from tests.commandline import checked
from tests.kafka.harness.clients import create_topic
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.harness.tools import ToolFailure, run_tool_warm
from tests.kafka.site import described

from replan.main import run

PAGE = Path(__file__).parents[2] / "docs" / "from-kafka-tools.md"
HEADINGS = {
    "kafka-reassign-partitions": "## kafka-reassign-partitions.sh",
    "kafka-leader-election": "## kafka-leader-election.sh",
}


def test_files_go_both_ways(one_jvm: OneJvmCluster, tmp_path: Path) -> None:
    topic, flags = "kafka-files", ("--bootstrap-server", one_jvm.bootstrap)
    create_topic(one_jvm.bootstrap, topic, [[1, 2, 3], [2, 3, 1]])

    def command(*arguments: str, wanted: int = 0) -> str:
        return checked(*arguments, folder=tmp_path, wanted=wanted).stdout

    def tool(name: str, *arguments: str) -> str:
        return run_tool_warm(one_jvm.ground.kafka, name, *flags, *arguments)

    ours = str(tmp_path / "ours.json")
    command("export", "--format", "kafka-json", "--topic", topic, "-o", "ours.json", *flags)
    given = ("--reassignment-json-file", ours)
    assert "complete" in tool("kafka-reassign-partitions", *given, "--verify")
    rows = json.loads(Path(ours).read_text())
    rows["partitions"][0]["replicas"] = [3, 2, 1]
    Path(ours).write_text(json.dumps(rows))
    tool("kafka-reassign-partitions", *given, "--execute")
    command("import", "ours.json", "-o", "placement.yaml")
    command("plan", "--exit-zero", *flags)
    assert "order" not in command("drift", "--exit-zero", *flags)

    (tmp_path / "topics.json").write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    to_move = ("--topics-to-move-json-file", str(tmp_path / "topics.json"))
    text = tool("kafka-reassign-partitions", *to_move, "--broker-list", "3,4,5", "--generate")
    current, proposed = re.findall(r"^\{.*\}$", text, re.MULTILINE)
    (tmp_path / "current.json").write_text(current)
    command("import", "current.json", "-o", "current.yaml")
    assert command("plan", "-f", "current.yaml", "--exit-zero", *flags)
    (tmp_path / "proposed.json").write_text(proposed)
    command("import", "proposed.json", "-o", "proposed.yaml")
    command("plan", "-f", "proposed.yaml", *flags, wanted=2)

    elections = str(tmp_path / "elections.json")
    command("export", "--format", "kafka-election-json", "--topic", topic, "-o", elections, *flags)
    said = tool(
        "kafka-leader-election", "--election-type", "preferred", "--path-to-json-file", elections
    )
    assert "election" in said
    found = command(
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


FORBIDDEN = [
    ("--election-type", "preferred"),
    ("--all-topic-partitions",),
    ("--election-type", "other", "--all-topic-partitions"),
    ("--election-type", "preferred", "--partition", "0"),
    ("--election-type", "preferred", "--topic", "TOPIC", "--all-topic-partitions"),
    ("--election-type", "preferred", "--path-to-json-file", "FILE", "--all-topic-partitions"),
    ("--election-type", "preferred", "--path-to-json-file", "FILE", "--topic", "TOPIC"),
    ("--election-type", "preferred", "--path-to-json-file", "missing.json"),
    ("--election-type", "preferred", "--path-to-json-file", "BROKEN"),
]


@pytest.mark.nightly
def test_what_kafkas_tool_forbids_ends_with_1_and_elects_nobody(
    one_jvm: OneJvmCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A partition that an election would change is led by its second replica before and afterwards."""
    topic, flags = "forbidden", ("--bootstrap-server", one_jvm.bootstrap)
    create_topic(one_jvm.bootstrap, topic, [[1, 2, 3]])
    name = {"topic": topic, "partition": 0}
    files = {"FILE": {"partitions": [name]}, "BROKEN": {"partitions": name}}
    words = {"TOPIC": topic}
    for kind, document in files.items():
        words[kind] = str(tmp_path / f"{kind.lower()}.json")
        Path(words[kind]).write_text(json.dumps(document))
    lists = {**name, "replicas": [2, 1, 3]}
    reorder = tmp_path / "reorder.json"
    reorder.write_text(json.dumps({"version": 1, "partitions": [lists]}))
    given = ("--reassignment-json-file", str(reorder), "--execute")
    run_tool_warm(one_jvm.ground.kafka, "kafka-reassign-partitions", *flags, *given)
    for forbidden in FORBIDDEN:
        arguments = [words.get(word, word) for word in forbidden]
        with pytest.raises(ToolFailure):
            run_tool_warm(one_jvm.ground.kafka, "kafka-leader-election", *flags, *arguments)
        assert run(["elect", *arguments, *flags]) == 1, arguments
        assert capsys.readouterr().err
    assert described(one_jvm, topic) == [([2, 1, 3], 1)]


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
