"""The placement schema in an editor: yaml-language-server completes, explains, and marks a mistake at its line."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.tools import FOLDER, INSTALL

pytestmark = pytest.mark.browser
SERVER = FOLDER / "node_modules" / "yaml-language-server" / "bin" / "yaml-language-server"
SCHEMA = Path(__file__).parents[2] / "schema" / "placement.v1.json"
MODELINE = "# yaml-language-server: $schema=placement.v1.json\n"


class Editor:
    """What an editor says to the server, and hears, over stdin and stdout (Language Server Protocol 3.17)."""

    def __init__(self, folder: Path) -> None:
        assert SERVER.exists(), f"yaml-language-server is missing: {INSTALL}"
        self._process = subprocess.Popen(
            ["node", str(SERVER), "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._number = 0
        self._uri = (folder / "placement.yaml").as_uri()
        self._diagnostics: list[dict[str, Any]] = []
        capabilities = {"textDocument": {"hover": {"contentFormat": ["markdown"]}}}
        self._ask(
            "initialize",
            {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities},
        )
        self._say("initialized", {})

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def open(self, text: str) -> list[tuple[int, str]]:
        """Open the file; line (from 1) and message of each mistake."""
        document = {"uri": self._uri, "languageId": "yaml", "version": 1, "text": MODELINE + text}
        self._say("textDocument/didOpen", {"textDocument": document})
        while True:
            message = self._hear()
            if message.get("method") == "textDocument/publishDiagnostics":
                found = message["params"]["diagnostics"]
                return [(d["range"]["start"]["line"] + 1, d["message"]) for d in found]

    def complete(self, line: int, column: int) -> set[str]:
        """The labels that are offered at a place, counted from 1."""
        found = self._ask("textDocument/completion", self._at(line, column))
        return {item["label"] for item in found["items"]}

    def hover(self, line: int, column: int) -> str:
        """What is shown at a place."""
        found: str = self._ask("textDocument/hover", self._at(line, column))["contents"]["value"]
        return found

    def _at(self, line: int, column: int) -> dict[str, Any]:
        position = {"line": line - 1, "character": column - 1}
        return {"textDocument": {"uri": self._uri}, "position": position}

    def _ask(self, method: str, params: object) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._hear()
            if message.get("id") == self._number and "method" not in message:
                return message["result"]

    def _say(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _hear(self) -> dict[str, Any]:
        """The next message; what the server itself asks for gets an empty answer."""
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline().strip()) or not length:
            assert self._process.poll() is None, "the server has ended"
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        if "method" in message and "id" in message:
            asked = message["params"].get("items", []) if message.get("params") else []
            empty = [None] * len(asked) if message["method"] == "workspace/configuration" else None
            self._send({"id": message["id"], "result": empty})
        return message


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    (tmp_path / "placement.v1.json").write_text(SCHEMA.read_text())
    found = Editor(tmp_path)
    yield found
    found.close()


def test_keys_are_completed_where_they_belong(editor: Editor) -> None:
    editor.open("version: 1\n\nassignments:\n  clicks:\n    \n")
    assert {"preferredLeaders", "blacklists", "throttles", "limits"} <= editor.complete(3, 1)
    inside = editor.complete(6, 5)
    assert {"replicationFactor", "spread", "brokers", "partitions"} <= inside
    assert "blacklists" not in inside


def test_values_are_completed(editor: Editor) -> None:
    editor.open("version: 1\nassignments:\n  clicks:\n    spread: \n")
    assert {"rack", "none", "in-rack"} <= editor.complete(5, 13)


def test_a_key_is_explained(editor: Editor) -> None:
    editor.open("version: 1\nblacklists:\n  replicas:\n    - broker: 9\n")
    schema = json.loads(SCHEMA.read_text())
    described = schema["properties"]["blacklists"]["properties"]["replicas"]["description"]
    shown = editor.hover(4, 5).replace("&nbsp;", " ").replace("\\", "")
    assert described[:40] in shown


def test_a_mistake_is_marked_at_its_line_and_a_valid_file_is_not(editor: Editor) -> None:
    wrong = editor.open("version: 1\nassignments:\n  clicks:\n    replicationFactor: three\n")
    assert [line for line, _ in wrong] == [5]


def test_what_is_right_has_no_mark(editor: Editor) -> None:
    valid = Path(__file__).parents[1] / "schema" / "accepts" / "everything-of-this-release.yaml"
    assert editor.open(valid.read_text()) == []
