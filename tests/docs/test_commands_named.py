"""What the pages say of the command line exists: every `replan …` names a command, and options that it has."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.docs.snippets import PAGES

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # typer imports what Click 9 drops
_IN_TEXT = re.compile(r"`(replan [^`]+)`")
_IN_BLOCK = re.compile(r"^(?:\$ )?(replan .+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def invocations(text: str) -> Iterator[str]:
    for block in _BLOCK.findall(text):
        yield from _IN_BLOCK.findall(block)
    yield from _IN_TEXT.findall(_BLOCK.sub("", text))


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the first words name, and the words behind."""
    import typer

    from replan.commands.api import CommandGroup
    from replan.main import app

    command = typer.main.get_command(app)
    while isinstance(command, CommandGroup) and words:
        words = command.worded(click.Context(command), words)
        if words[0].startswith("-"):
            break
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"no such command: {words[0]}"
        command, words = found, words[1:]
    return command, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_option_on_a_page_exists(page: Path) -> None:
    for line in invocations(page.read_text(encoding="utf-8")):
        command, rest = command_of(shlex.split(line, comments=True)[1:])
        known = {name for parameter in command.params for name in parameter.opts}
        known |= {"--help", "-h", "--version"}
        named = [word for word in rest if re.fullmatch(r"--?[a-z][a-z-]*", word)]
        assert set(named) <= known, f"{page.name}: {line}"
