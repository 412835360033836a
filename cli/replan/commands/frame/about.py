"""What the program says of itself: its version, its documentation, the help of its commands, and its completion."""

import platform
from collections.abc import Iterator
from enum import StrEnum
from importlib.resources.abc import Traversable
from typing import Annotated

import click
import typer

from replan import __version__
from replan.commands.frame.command_line import COMPLETE
from replan.commands.frame.output import result
from replan.documents.files import shipped
from replan.errors import BadUsage, Exit


class Shell(StrEnum):
    """The shells that can complete commands and options."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def versions() -> str:
    """What a bug report names, two lines."""
    from replan.kafka import client_versions

    programs = {"Python": platform.python_version(), **client_versions()}
    named = ", ".join(f"{name} {of}" for name, of in programs.items())
    machine = platform.platform(aliased=True, terse=True)
    return f"replan {__version__}\n{named}, {machine}, {platform.machine()}\n"


def show_help(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]...", help="A command, e.g. `elect preferred`."),
    ] = None,
) -> Exit:
    """Show the help of a command, or the list of all.

    Exit codes:
      0  shown
      1  there is no such command

    Examples:
      replan help
      replan help elect preferred
    """
    context = click.get_current_context().find_root()
    for word in words or ():
        if not isinstance(context.command, click.Group):
            raise BadUsage(f"{context.command_path} has no commands of its own")
        name, command, _ = context.command.resolve_command(context, [word])
        if command is None:
            raise BadUsage(f"no such command: {word}")
        context = click.Context(command, parent=context, info_name=name)
    result(f"{context.get_help()}\n")
    return Exit.OK


def docs(
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="The name of a page, e.g. operations.")
    ] = None,
) -> Exit:
    """Print a page of the documentation, as Markdown, or the list of its pages.

    Exit codes:
      0  printed
      1  there is no such page

    Examples:
      replan docs
      replan docs operations
    """
    pages = dict(_pages())
    if topic is None:
        width = max(map(len, pages))
        result("".join(f"{name:{width}}  {_title(page)}\n" for name, page in pages.items()))
        return Exit.OK
    page = pages.get(topic.removeprefix("docs/").removesuffix(".md"))
    if page is None:
        raise BadUsage(f"no page is called {topic}; write one of {', '.join(pages)}")
    result(page.read_text(encoding="utf-8"))
    return Exit.OK


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell that completes.")],
) -> Exit:
    """Print what lets a shell complete commands and options.

    For bash and zsh: `eval "$(replan completion zsh)"` in ~/.zshrc or ~/.bashrc; for fish: write it to
    ~/.config/fish/completions/replan.fish.

    Exit codes:
      0  printed
      1  no such shell

    Examples:
      replan completion bash
      replan completion zsh
    """
    from typer._completion_shared import get_completion_script

    made = get_completion_script(prog_name="replan", complete_var=COMPLETE, shell=shell.value)
    result(f"{made}\n")
    return Exit.OK


def _pages() -> Iterator[tuple[str, Traversable]]:
    """Each page with its name, sorted."""
    folder = shipped("docs", in_checkout="docs")
    for page in sorted(folder.iterdir(), key=lambda entry: entry.name.removesuffix(".md")):
        if page.name.endswith(".md"):
            yield page.name.removesuffix(".md"), page


def _title(page: Traversable) -> str:
    with page.open(encoding="utf-8") as lines:
        return next(lines, "").removeprefix("# ").rstrip()
