"""The command `diff`: what a change of placement files means, between files or git revisions."""

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.frame.output import result
from replan.commands.inputs.options import AS, Everything, ExitZero, Files, Form, placement_files
from replan.errors import BadPlacement, BadUsage, Exit

if TYPE_CHECKING:
    from replan.model.declared.placement import Placement
    from replan.placement_file.yaml_text.sources import Source


def diff(
    *,
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="A placement file or folder, or a git revision.")
    ],
    new: Annotated[
        str, typer.Argument(metavar="NEW", help="The same; by default the files as they are.")
    ] = "",
    files: Files = None,
    form: Annotated[Form, AS] = "text",
    everything: Everything = False,
    exit_zero: ExitZero = False,
) -> Exit:
    """Show what a change of placement files means.

    No cluster is asked. Replica lists are shown by what becomes of them: copies, drops, another order, another leader.
    All other keys are compared one by one. Layout, comments and the order of files do not count. Of a git revision the
    files of -f are read.

    Exit codes:
      0  both mean the same
      1  an error
      2  they differ (0 with --exit-zero)

    Examples:
      replan diff main
      replan diff old.yaml new.yaml --format markdown
    """
    from replan.reporting.plans import placement_difference as difference

    named = placement_files(files)
    found = difference.between(_placement(old, named), _placement(new, named))
    match form:
        case "text":
            result(difference.render_placement_difference(found, everything=everything))
        case "markdown":
            result(difference.render_placement_difference_markdown(found))
        case "json":
            result(difference.render_placement_difference_json(found))
    return Exit.OK if found.none or exit_zero else Exit.CHANGES


def _placement(named: str, files: Sequence[Path]) -> "Placement":
    """A file or folder of this name, else the files at this revision; the files as they are where nothing is named."""
    from replan.placement_file.load import load_placement, load_sources
    from replan.placement_file.yaml_text.events import fastest_parser

    if not named or Path(named).exists():
        return load_placement([Path(named)] if named else files)
    if _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}") is None:
        raise BadUsage(f"{named}: neither a file or folder nor a git revision here; check the name")
    sources = [source for file in files for source in _at(named, file)]
    return load_sources(sources, fastest_parser())


def _at(revision: str, path: Path) -> "Iterator[Source]":
    """The text of a file, or of the YAML files of a folder, at a revision."""
    from replan.placement_file.yaml_text.sources import SUFFIXES, Source

    kind = _git("cat-file", "-t", f"{revision}:./{path}")
    if kind is None:
        raise BadPlacement(
            f"{revision}: there is no {path}; name the files of that revision with -f"
        )
    paths = [path]
    if kind.strip() == "tree":
        inside = (_git("ls-tree", "--name-only", f"{revision}:./{path}") or "").splitlines()
        paths = [path / name for name in inside if Path(name).suffix in SUFFIXES and name[0] != "."]
    for file in paths:
        yield Source(f"{revision}:{file}", _git("show", f"{revision}:./{file}") or "")


def _git(*arguments: str) -> str | None:
    """What git prints; None where it fails. Raises BadUsage where there is no git."""
    try:
        done = subprocess.run(  # noqa: S603 - a revision is one argument, and no option
            ["git", *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as problem:
        raise BadUsage("git is not installed; name two files instead") from problem
    return done.stdout if done.returncode == 0 else None
