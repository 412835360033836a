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
    from replan.reporting.plans.annotations import Annotation


class AnnotationForm(StrEnum):
    """Who reads them."""

    GITHUB = "github"
    GITLAB = "gitlab"
    SARIF = "sarif"
    JUNIT = "junit"


class AnnotationFile(Struct, frozen=True):
    """One form, and the file that it is written to; None: stderr, which a workflow reads as its log."""

    kind: AnnotationForm
    path: Path | None


def parse_annotations(text: str | AnnotationFile) -> AnnotationFile:
    """Read `github`, or `sarif:replan.sarif`. Raises BadParameter."""
    if isinstance(text, AnnotationFile):
        return text
    name, _, path = text.partition(":")
    if name not in set(AnnotationForm):
        raise typer.BadParameter(f"{text!r}: write one of {', '.join(AnnotationForm)}")
    if not path and name != AnnotationForm.GITHUB:
        raise typer.BadParameter(f"{name} needs a file: write {name}:FILE")
    return AnnotationFile(AnnotationForm(name), Path(path) if path else None)


Annotations = Annotated[
    list[AnnotationFile] | None,
    typer.Option(
        "--annotations",
        metavar="FORM[:FILE]",
        parser=parse_annotations,
        help="Write each refusal, conflict and warning with the line of the placement that causes it, also where there "
        "is no plan: `github` (workflow commands on stderr), `gitlab:FILE` (code quality), `sarif:FILE`, `junit:FILE`; "
        "repeatable.",
    ),
]


@contextmanager
def annotated(
    forms: Sequence[AnnotationFile] | None, files: Sequence[Path]
) -> Iterator["list[Annotation]"]:
    """Write what the block collects when it ends, and why there is no plan where it fails."""
    collected: list[Annotation] = []
    if not forms:
        yield collected
        return
    try:
        yield collected
    except ReplanError as error:
        from replan.reporting.plans.annotations import error_annotations

        collected += error_annotations(error)
        raise
    finally:
        for form in forms:
            _write(form, collected, str(files[0]))


def _write(form: AnnotationFile, annotations: Sequence["Annotation"], file: str) -> None:
    text = _rendered(form.kind, annotations, file)
    if form.path is not None:
        save(text, form.path)
    elif text:
        note(text)


def _rendered(kind: AnnotationForm, annotations: Sequence["Annotation"], file: str) -> str:
    from replan.reporting.plans import annotation_forms

    match kind:
        case AnnotationForm.GITHUB:
            return annotation_forms.render_github(annotations)
        case AnnotationForm.GITLAB:
            return annotation_forms.render_gitlab(annotations, file)
        case AnnotationForm.SARIF:
            return annotation_forms.render_sarif(annotations, __version__)
        case AnnotationForm.JUNIT:
            return annotation_forms.annotations_junit(annotations)
