"""`blacklist show|add|remove`, from the first entry to the old order, on the embedded cluster."""

import json
import shutil
from pathlib import Path

import pytest

from replan.main import run

EXAMPLE = Path(__file__).parents[2] / "examples" / "demo"


class Shell:
    """Runs commands in a folder with a cluster and an empty placement."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.cluster, self.placement = folder / "cluster.json", folder / "placement.yaml"
        self._capsys = capsys
        shutil.copy(EXAMPLE / "cluster.json", self.cluster)
        self.placement.write_text("version: 1\n# nobody is declared\nassignments: {}\n")

    def run(self, *arguments: str, wanted: int = 0) -> tuple[str, str]:
        """Stdout and stderr of a command."""
        assert run(list(arguments)) == wanted
        return self._capsys.readouterr()

    def on_cluster(self, *arguments: str, wanted: int = 0) -> str:
        """Stdout of a command on the embedded cluster."""
        return self.run(*arguments, "--simulated", str(self.cluster), wanted=wanted)[0]

    def shown(self) -> dict[str, list[dict[str, object]]]:
        """What `blacklist show` says."""
        found: dict[str, list[dict[str, object]]] = json.loads(
            self.on_cluster("blacklist", "show", "--format", "json")
        )
        return found


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


def test_an_entry_is_added_applied_shown_and_taken_out(shell: Shell) -> None:
    before = shell.on_cluster("export")
    shell.run("blacklist", "add", "1", "--reason", "disk at 92 %", "--owner", "storage")
    [entry] = shell.shown()["entries"]
    assert (entry["broker"], entry["state"], entry["reason"]) == (1, "in-force", "disk at 92 %")
    assert entry["leads"] != 0
    shell.on_cluster("apply", "-f", "placement.yaml", "--auto-approve")
    found = shell.shown()
    assert found["entries"][0]["leads"] == 0
    assert found["entries"][0]["lastInList"] == found["entries"][0]["replicas"]
    assert found["remembered"]
    assert "[1," not in shell.on_cluster("export")

    shell.run("blacklist", "remove", "1")
    assert "# nobody is declared" in shell.placement.read_text()
    shell.on_cluster("apply", "-f", "placement.yaml", "--auto-approve")
    assert shell.on_cluster("export") == before
    assert shell.shown() == {"entries": [], "remembered": []}


def test_a_new_topic_is_caught_by_the_next_drift(shell: Shell) -> None:
    shell.run("blacklist", "add", "1")
    shell.on_cluster("apply", "-f", "placement.yaml", "--auto-approve")
    shell.on_cluster("drift")
    document = json.loads(shell.cluster.read_text())
    seen = document.get("snapshot", document)
    seen["topics"].append(
        {"name": "new", "minInsyncReplicas": 1, "partitions": [{"replicas": [1, 2]}]}
    )
    shell.cluster.write_text(json.dumps(document))
    assert "new-0" in shell.on_cluster("drift", wanted=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("add", "1", "--expires", "soon"),
        ("add", "1", "--move", "never"),
        ("add", "-1"),
        ("remove", "1"),
        ("add", "1", "-f", "missing.yaml"),
        ("add", "1", "--topic", ""),
    ],
    ids=" ".join,
)
def test_what_is_wrong_changes_nothing(shell: Shell, arguments: tuple[str, ...]) -> None:
    before = shell.placement.read_bytes()
    shell.run("blacklist", *arguments, wanted=1)
    assert shell.placement.read_bytes() == before


def test_it_is_shown_as_text(shell: Shell) -> None:
    assert "empty" in shell.on_cluster("blacklist", "show")
    shell.run("blacklist", "add", "9", "--expires", "2020-01-01")
    shell.run(
        "blacklist", "add", "1", "--expires", "2020-01-01", "--topic", "orders", "--move", "later"
    )
    said = shell.on_cluster("blacklist", "show")
    assert "not registered" in said
    assert "expired" in said
    assert "topics orders; move later" in said
