"""The command `init`: from an empty folder to a placement that can be reviewed and planned."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from replan.commands.frame.output import note, save
from replan.commands.shared.target import ReadTarget
from replan.documents.files import shipped
from replan.errors import BadUsage, Exit

FORGES = {
    "github": {
        "github/pull-request.yml": ".github/workflows/replan-plan.yml",
        "github/apply.yml": ".github/workflows/replan-apply.yml",
        "github/drift.yml": ".github/workflows/replan-drift.yml",
    },
    "gitlab": {"gitlab/.gitlab-ci.yml": ".gitlab-ci.yml"},
    "none": {},
}
"""The files of examples/ci for each forge, and where they belong."""
EDITOR = """{
  "yaml.schemas": {"./placement.v1.json": ["placement.yaml", "placements/*.yaml"]}
}
"""


def init(
    *,
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where to write; by default here.")
    ] = Path(),
    forge: Annotated[
        Literal["github", "gitlab", "none"],
        typer.Option(help="Write the pipeline files of this forge, too."),
    ] = "none",
    rules: Annotated[
        bool,
        typer.Option(
            "--rules",
            help="Write what the lists of a topic have in common (replication factor, spread over racks) instead of "
            "the lists; replan then chooses brokers.",
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that are there already.")
    ] = False,
    cluster: ReadTarget,
) -> Exit:
    """Write what a repository of placements begins with.

    The placement file describes the cluster as it is, so that a plan of it copies nothing; where another replica than
    the first of its list leads, it elects that one. With --rules it holds rules instead of lists: drains and new
    brokers then need no list by hand. Beside it the schema, by which editors complete and check, the settings that
    name it, and pipeline files if a forge is named.

    Exit codes:
      0  written
      1  an error, or a file is there already

    Examples:
      replan init --bootstrap-server kafka-1:9092 --forge github
      replan init placements --rules --simulated cluster.json
    """
    from replan.placement_file.export import export_placement
    from replan.placement_file.schemas import PLACEMENT, find_schema

    placement = export_placement(cluster.observe(), commented=True, rules=rules)
    texts = {
        Path("placement.yaml"): placement,
        Path(PLACEMENT): find_schema(PLACEMENT).read_text(encoding="utf-8"),
        Path(".vscode/settings.json"): EDITOR,
        **dict(_pipelines(forge)),
    }
    there = [str(folder / path) for path in texts if (folder / path).exists()]
    if there and not force:
        raise BadUsage(
            f"already there: {', '.join(there)}; pass --force to overwrite, or name another folder"
        )
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        save(text, folder / path)
        note(f"wrote {folder / path}")
    note(_next(folder, forge))
    return Exit.OK


def _pipelines(forge: str) -> Iterator[tuple[Path, str]]:
    for source, target in FORGES[forge].items():
        yield (
            Path(target),
            (shipped("ci", in_checkout="examples/ci") / source).read_text(encoding="utf-8"),
        )


def _next(folder: Path, forge: str) -> str:
    where = "" if folder == Path() else f"cd {folder} && "
    pipelines = (
        ""
        if forge == "none"
        else "; the pipelines say in their first lines what they need, and `replan docs ci` explains them"
    )
    return (
        f"next: edit placement.yaml, then `{where}replan validate` and `replan plan` (`replan docs getting-started`)"
        f"{pipelines}"
    )
