"""What the program says of itself: its help in parts, its versions, its pages, and what a shell completes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from tests.commandline import CLI, built, environment, replan

from replan.main import Replan, run

TOP = Path(__file__).parents[2]


def said(capsys: pytest.CaptureFixture[str], *arguments: str, wanted: int = 0) -> str:
    """What a command writes to stdout, or to stderr where it fails."""
    assert run(list(arguments)) == wanted
    out, err = capsys.readouterr()
    return err if wanted else out


def test_every_command_is_listed_under_a_heading(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "--help")
    first = next(iter(Replan.table)).split()[0]
    assert first in Replan.headings
    assert "Commands:" not in text
    listed = re.findall(r"^  ([a-z]+)  ", text.partition("Look at")[2], re.MULTILINE)
    assert listed == list(dict.fromkeys(words.split()[0] for words in Replan.table))
    for heading in Replan.headings.values():
        assert f"\n{heading}:\n" in text


def test_help_of_a_command_is_what_its_option_shows(capsys: pytest.CaptureFixture[str]) -> None:
    asked = said(capsys, "help", "elect", "preferred")
    assert asked == said(capsys, "elect", "preferred", "--help")
    assert asked.startswith("Usage: replan elect preferred ")
    assert said(capsys, "help") == said(capsys, "--help")


@pytest.mark.parametrize(
    ("words", "told"),
    [("plan more", "replan plan has no commands of its own"), ("plna", "Did you mean 'plan'?")],
)
def test_help_of_what_is_no_command_is_an_error(
    words: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in said(capsys, "help", *words.split(), wanted=1)


def test_a_word_that_is_an_argument_is_named_once() -> None:
    command = built("throttle RATE")
    context = click.Context(command, info_name="RATE", parent=click.Context(Replan()))
    assert command.collect_usage_pieces(context) == ["[OPTIONS]"]


@pytest.mark.parametrize("words", ["plan", "apply", "doctor"])
def test_defaults_are_shown_as_people_write_them(words: str) -> None:
    command = built(words)
    text = command.get_help(click.Context(command))
    assert "[default: " in text
    assert "[default: (" not in text


def test_the_version_names_what_a_bug_report_needs(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = said(capsys, "--version").splitlines()
    assert first.startswith("replan ")
    python = ".".join(map(str, sys.version_info[:3]))
    assert second.startswith(f"Python {python}, librdkafka ")
    assert "kafka-python " in second


def test_every_page_can_be_printed_without_the_repository(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listed = [line.split()[0] for line in said(capsys, "docs").splitlines()]
    assert listed == sorted(page.stem for page in (TOP / "docs").glob("*.md"))
    assert said(capsys, "docs", "fleet") == (TOP / "docs/fleet.md").read_text()
    assert said(capsys, "docs", "docs/fleet.md") == (TOP / "docs/fleet.md").read_text()
    assert "no page is called nothing; write one of applying, " in said(
        capsys, "docs", "nothing", wanted=1
    )


@pytest.mark.command
def test_bash_completes_commands_with_what_it_is_given(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    program = tmp_path / "replan"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m replan "$@"\n')
    program.chmod(0o755)
    script = replan("completion", "bash", folder=tmp_path).stdout
    asked = """
COMP_WORDS=(replan elect pre); COMP_CWORD=2; _replan_completion replan
printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(
        [bash, "-c", script + asked],
        env=environment(PATH=f"{tmp_path}:/usr/bin:/bin", PYTHONPATH=str(CLI)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "preferred\n"
