"""`elect preferred`: on the embedded cluster, after a restart that left its leaderships to others."""

import json
from pathlib import Path

import pytest
from tests.commands.shell import Shell

from replan.model.api import BrokerId
from replan.planning.api import loads

pytestmark = pytest.mark.slow

ALL = ("elect", "preferred", "--all")


class Restarted(Shell):
    """Broker 1 leads nothing, and leads by preference."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder, capsys)
        document = json.loads(self.cluster.read_text())
        self.moved = 0
        for topic in document["topics"]:
            for partition in topic["partitions"]:
                if partition["replicas"][0] == 1:
                    partition["leader"] = partition["replicas"][1]
                    self.moved += 1
        self.cluster.write_text(json.dumps(document))

    def of_broker_1(self) -> set[int | None]:
        """Who leads what broker 1 leads by preference."""
        return {s.leader for s in self.states() if s.replicas[0] == BrokerId(1)}


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Restarted:
    monkeypatch.chdir(tmp_path)
    return Restarted(tmp_path, capsys)


def test_every_preferred_replica_leads_again(shell: Restarted) -> None:
    said, _ = shell.on_cluster(*ALL, "--format", "json")
    found = json.loads(said)
    assert found["counts"]["elected"] == shell.moved > 0
    assert {p["preferred"] for p in found["partitions"] if p["result"] == "elected"} == {1}
    assert shell.of_broker_1() == {1}
    again = json.loads(shell.on_cluster(*ALL, "--format", "json")[0])
    assert again["counts"]["not-needed"] == sum(found["counts"].values())
    assert again["partitions"] == []
    named = json.loads(
        shell.on_cluster("elect", "preferred", "--topic", "*", "--format", "json")[0]
    )
    assert {p["result"] for p in named["partitions"]} == {"not-needed"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("elect", "--election-type", "PREFERRED", "--all-topic-partitions"),
        ("elect", "--all-topic-partitions", "--election-type=preferred"),
        ("elect", "preferred", "--path-to-json-file", "elections.json"),
        ("elect", "--topic", "*", "--election-type", "preferred"),
        ("elect", "preferred", "--election-file", "elections.yaml"),
    ],
    ids=" ".join,
)
def test_kafkas_own_spellings_are_taken(shell: Restarted, arguments: tuple[str, ...]) -> None:
    document = json.loads(shell.cluster.read_text())
    rows = [
        {"topic": t["name"], "partition": number}
        for t in document["topics"]
        for number, _ in enumerate(t["partitions"])
    ]
    text = json.dumps({"partitions": rows * 2})
    (shell.folder / "elections.json").write_text(text)
    (shell.folder / "elections.yaml").write_text(
        "partitions:\n" + "".join(f"- {r['topic']}-{r['partition']}\n" for r in rows)
    )
    shell.on_cluster(*arguments)
    assert shell.of_broker_1() == {1}


@pytest.mark.parametrize(
    "arguments",
    [
        ("elect", "preferred"),
        ("elect", "preferred", "--partition", "0"),
        ("elect", "preferred", "--all", "--topic", "orders"),
        ("elect", "preferred", "--all", "--path-to-json-file", "elections.json"),
        ("elect", "preferred", "--topic", "orders", "--path-to-json-file", "elections.json"),
        ("elect", "preferred", "--topic", "orders", "--topic", "clicks", "--partition", "0"),
        ("elect", "preferred", "--topic", "ord*", "--partition", "0"),
        ("elect", "preferred", "--topic", "orders", "--partition", "orders-0"),
        ("elect", "preferred", "--topic", "typo"),
        ("elect", "preferred", "--path-to-json-file", "missing.json"),
        ("elect", "--election-type", "preferred"),
        ("elect", "--election-type", "other", "--all"),
        ("elect", "--election-type"),
        ("elect", "--all-topic-partitions"),
        ("elect", "preferred", "--election-type", "preferred", "--all"),
        ("elect", "preferred", "--all", "--allow", "leaders=1"),
    ],
    ids=" ".join,
)
def test_what_kafkas_tool_forbids_ends_with_1_and_changes_nothing(
    shell: Restarted, arguments: tuple[str, ...]
) -> None:
    (shell.folder / "elections.json").write_text('{"partitions": ["orders-0"]}')
    before = shell.cluster.read_bytes()
    shell.on_cluster(*arguments, wanted=1)
    assert shell.cluster.read_bytes() == before


def test_kafkas_name_of_the_client_properties_is_taken(shell: Restarted) -> None:
    _, said = shell.on_cluster(*ALL, "--admin.config", "client.properties", wanted=1)
    assert "--command-config goes with --bootstrap-server" in said


def test_a_plan_of_elections_is_saved_shown_and_applied(shell: Restarted) -> None:
    said, noted = shell.on_cluster(*ALL, "-o", "plan.json", wanted=2)
    assert "planned" in said
    assert "replan apply plan.json" in noted
    assert shell.of_broker_1() != {1}
    made = loads((shell.folder / "plan.json").read_text(), "plan.json")
    assert len(made.moves) == shell.moved
    shell.run("show", "plan.json")
    shell.on_cluster("apply", "plan.json")
    assert shell.of_broker_1() == {1}


def test_a_partition_is_named_by_topic_and_number_or_by_its_name(shell: Restarted) -> None:
    said, _ = shell.on_cluster(
        "elect", "preferred", "--topic", "orders", "--partition", "0", "--format", "json"
    )
    assert [(p["topic"], p["partition"]) for p in json.loads(said)["partitions"]] == [("orders", 0)]
    said, _ = shell.on_cluster(
        "elect", "preferred", "--partition", "orders-0", "--partition", "nope-1", wanted=3
    )
    assert "nope-1: the cluster has no such partition" in said


def test_a_placement_beside_it_holds(shell: Restarted) -> None:
    (shell.folder / "placement.yaml").write_text(
        "version: 1\nassignments: {}\nblacklists: {leaders: [{broker: 1}]}\nlimits: {leaders: 0}\n"
    )
    said, _ = shell.on_cluster(*ALL, "--format", "json", wanted=3)
    rules = {p.get("rule") for p in json.loads(said)["partitions"] if p["result"] == "failed"}
    assert rules == {"leader-blacklisted"}
    assert shell.of_broker_1() != {1}
    (shell.folder / "placement.yaml").write_text(
        "version: 1\nassignments: {}\nlimits: {leaders: 0}\n"
    )
    _, said = shell.on_cluster(*ALL, wanted=3)
    assert f"--allow leaders={shell.moved}" in said
    shell.on_cluster(*ALL, "--allow", f"leaders={shell.moved}")
    assert shell.of_broker_1() == {1}
