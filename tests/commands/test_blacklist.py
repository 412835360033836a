"""`blacklist show|add|remove`, from the first entry to the old order, on the embedded cluster."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands.shell import Shell


class Listed(Shell):
    """With an empty placement beside the cluster."""

    def shown(self) -> dict[str, Any]:
        """What `blacklist show` says."""
        found: dict[str, Any] = json.loads(self.said("blacklist", "show", "--format", "json"))
        return found

    def said(self, *arguments: object, wanted: int = 0) -> str:
        """Stdout of a command on the embedded cluster."""
        return self.on_cluster(*arguments, wanted=wanted)[0]


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Listed:
    monkeypatch.chdir(tmp_path)
    made = Listed(tmp_path, capsys)
    made.placement.write_text("version: 1\n# nobody is declared\nassignments: {}\n")
    return made


def test_an_entry_is_added_applied_shown_and_taken_out(shell: Listed) -> None:
    before = shell.said("export")
    shell.run("blacklist", "add", "1", "--reason", "disk at 92 %", "--owner", "storage")
    [entry] = shell.shown()["entries"]
    assert (entry["broker"], entry["state"], entry["reason"]) == (1, "in-force", "disk at 92 %")
    assert entry["leads"] != 0
    shell.said("apply", "-f", "placement.yaml", "--auto-approve")
    found = shell.shown()
    assert found["entries"][0]["leads"] == 0
    assert found["entries"][0]["lastInList"] == found["entries"][0]["replicas"]
    assert found["remembered"]
    assert "[1," not in shell.said("export")

    shell.run("blacklist", "remove", "1")
    assert "# nobody is declared" in shell.placement.read_text()
    shell.said("apply", "-f", "placement.yaml", "--auto-approve")
    assert shell.said("export") == before
    assert shell.shown() == {
        "formatVersion": 1,
        "kind": "replan.blacklist",
        "declared": True,
        "entries": [],
        "racksWithoutBrokers": [],
        "remembered": [],
    }


def test_a_rack_is_listed_as_its_brokers_are(shell: Listed) -> None:
    document = json.loads(shell.cluster.read_text())
    brokers = document.get("snapshot", document)["brokers"]
    rack = next(b["rack"] for b in brokers if b["id"] == 1)
    shell.run("blacklist", "add", "--rack", rack, "--reason", "maintenance")
    of_rack = [b["id"] for b in brokers if b["rack"] == rack]
    assert [e["broker"] for e in shell.shown()["entries"]] == of_rack
    shell.said("apply", "-f", "placement.yaml", "--auto-approve")
    assert {e["leads"] for e in shell.shown()["entries"]} == {0}
    shell.said("drift", "-f", "placement.yaml")
    shell.run("blacklist", "add", "--rack", "nowhere")
    assert [e["rack"] for e in shell.shown()["racksWithoutBrokers"]] == ["nowhere"]
    assert "No registered broker is in rack nowhere" in shell.said("blacklist", "show")
    shell.run("blacklist", "remove", "--rack", "nowhere")
    shell.run("blacklist", "remove", "--rack", rack)
    assert shell.shown()["entries"] == []


def test_a_new_topic_is_caught_by_the_next_drift(shell: Listed) -> None:
    shell.run("blacklist", "add", "1")
    shell.said("apply", "-f", "placement.yaml", "--auto-approve")
    shell.said("drift")
    document = json.loads(shell.cluster.read_text())
    seen = document.get("snapshot", document)
    seen["topics"].append(
        {"name": "new", "minInsyncReplicas": 1, "partitions": [{"replicas": [1, 2]}]}
    )
    shell.cluster.write_text(json.dumps(document))
    assert "new-0" in shell.said("drift", wanted=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("add", "1", "--review-by", "soon"),
        ("add", "1", "--move", "never"),
        ("add", "-1"),
        ("remove", "1"),
        ("remove",),
        ("add", "1", "--rack", "a"),
        ("add", "1", "-f", "missing.yaml"),
        ("add", "1", "--topic", ""),
    ],
    ids=" ".join,
)
def test_what_is_wrong_changes_nothing(shell: Listed, arguments: tuple[str, ...]) -> None:
    before = shell.placement.read_bytes()
    shell.run("blacklist", *arguments, wanted=1)
    assert shell.placement.read_bytes() == before


def test_it_is_shown_as_text(shell: Listed) -> None:
    assert "empty" in shell.said("blacklist", "show")
    shell.run("blacklist", "add", "9", "--review-by", "2020-01-01")
    shell.run(
        "blacklist", "add", "1", "--review-by", "2020-01-01", "--topic", "orders", "--move", "later"
    )
    said = shell.said("blacklist", "show")
    assert "not registered" in said
    assert "to be reviewed" in said
    assert "topics orders; move later" in said
