"""docs/scenarios.md describes the language as it is."""

import re
from pathlib import Path

from replan.faults.api import FIRST_WORDS
from replan.scenarios.api import COMMANDS, run_scenario

TEXT = (Path(__file__).parents[3] / "docs" / "scenarios.md").read_text(encoding="utf-8")


def test_the_output_of_its_example_is_as_written() -> None:
    example = TEXT.split("```text\n")[1].partition("```\n")[0]
    run = run_scenario(example, "docs/scenarios.md")
    assert run.passed, run.difference()


def test_every_command_stands_in_its_tables() -> None:
    named = {
        words for row in re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE) for words in _said(row)
    }
    first = {words.split()[0] for words in named}
    assert COMMANDS.keys() - {"at"} - FIRST_WORDS <= first


def _said(row: str) -> list[str]:
    return re.findall(r"`([^`]+)`", row)
