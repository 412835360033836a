"""`--annotations`: the refusals and warnings of a plan, at the line that causes them, as a pull request shows them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from replan import __version__
from replan.commands.frame.output import note, save
from replan.errors import ReplanError

if TYPE_CHECKING:
    from replan.reporting.plans.findings import Finding


class Kind(StrEnum):
    """Who reads them."""

    GITHUB = "github"
    GITLAB = "gitlab"
    SARIF = "sarif"
    JUNIT = "junit"


class Wanted(Struct, frozen=True):
    """One form, and the file that it is written to; None: stderr, which a workflow reads as its log."""

    kind: Kind
    path: Path | None


def wanted(text: str | Wanted) -> Wanted:
    """Read `github`, or `sarif:replan.sarif`. Raises BadParameter."""
    if isinstance(text, Wanted):
        return text
    name, _, path = text.partition(":")
    if name not in set(Kind):
        raise typer.BadParameter(f"{text!r}: write one of {', '.join(Kind)}")
    if not path and name != Kind.GITHUB:
        raise typer.BadParameter(f"{name} needs a file: write {name}:FILE")
    return Wanted(Kind(name), Path(path) if path else None)


Annotations = Annotated[
    list[Wanted] | None,
    typer.Option(
        "--annotations",
        metavar="FORM[:FILE]",
        parser=wanted,
        help="Write each refusal, conflict and warning with the line of the placement that causes it, also where there "
        "is no plan: `github` (workflow commands on stderr), `gitlab:FILE` (code quality), `sarif:FILE`, `junit:FILE`; "
        "repeatable.",
    ),
]


class Collected:
    """The findings so far."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []


@contextmanager
def annotated(forms: Sequence[Wanted] | None, files: Sequence[Path]) -> Iterator[Collected]:
    """Write what was found when the block ends, and why there is no plan where it fails."""
    collected = Collected()
    if not forms:
        yield collected
        return
    try:
        yield collected
    except ReplanError as error:
        from replan.reporting.plans.findings import error_findings

        collected.findings += error_findings(error)
        raise
    finally:
        for form in forms:
            _write(form, collected.findings, str(files[0]))


def _write(form: Wanted, findings: Sequence["Finding"], file: str) -> None:
    text = _rendered(form.kind, findings, file)
    if form.path is not None:
        save(text, form.path)
    elif text:
        note(text)


def _rendered(kind: Kind, findings: Sequence["Finding"], file: str) -> str:
    from replan.reporting.plans import annotations

    match kind:
        case Kind.GITHUB:
            return annotations.render_github(findings)
        case Kind.GITLAB:
            return annotations.render_gitlab(findings, file)
        case Kind.SARIF:
            return annotations.render_sarif(findings, __version__)
        case Kind.JUNIT:
            return annotations.render_junit(findings)
