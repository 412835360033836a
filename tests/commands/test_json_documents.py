"""Every JSON document that a command prints says what it is, and in which version of its form."""

import json
from pathlib import Path

import click
import pytest
from tests.commandline import built
from tests.commands.json_documents import KINDS
from tests.commands.shell import EXAMPLE, Shell

from replan.main import Replan, run

ALONE = {"show", "diff"}
"""Commands that ask no cluster."""


def prints_json(words: str) -> bool:
    forms = (p.type for p in built(words).params if p.name == "form")
    return any(isinstance(form, click.Choice) and "json" in form.choices for form in forms)


def test_all_commands_with_a_form_in_json_are_listed() -> None:
    assert {words for words in Replan.table if prints_json(words)} == set(KINDS)


@pytest.mark.slow
def test_each_says_its_kind_and_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, capsys)
    declared = (EXAMPLE / "placement.yaml").read_text()
    shell.placement.write_text(declared)
    (tmp_path / "other.yaml").write_text("version: 1\nassignments: {}\n")
    shell.on_cluster("plan", "-f", "placement.yaml", "-o", "plan.json", wanted=2)
    shell.on_cluster("plan", "-f", "other.yaml", "-o", "other.json")
    shell.on_cluster("apply", "plan.json")
    for words, kinds in KINDS.items():
        cluster = () if words in ALONE else ("--simulated", str(shell.cluster))
        for kind, arguments in kinds.items():
            command = [*words.split(), *arguments.split(), *cluster, "--format", "json"]
            code = run(command)
            document = json.loads(capsys.readouterr().out or "{}")
            assert (document.get("kind"), document.get("formatVersion")) == (kind, 1), (
                command,
                code,
            )
