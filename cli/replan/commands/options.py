"""Options that several commands take, each with its help."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from replan.applying.settings import Settings

Files = Annotated[
    list[Path],
    typer.Option("-f", "--file", metavar="PATH", help="Placement file or folder; repeats."),
]
DEFAULT_FILES = [Path("placement.yaml")]
PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN", help="A plan that `replan plan -o` has saved.")
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write there rather than to stdout."),
]
Everything = Annotated[bool, typer.Option("--all", help="List everything, however long.")]
AS = typer.Option("--format", help="How the result is written.")
"""`--format`; a command names the forms that it has: `Annotated[Literal["text", "json"], AS]`."""


@dataclass(frozen=True)
class Pace:
    """How cautiously and how broadly a plan is performed."""

    settle: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="How long all replicas of a target must stay in sync before one is removed. "
            "Longer than the brokers' session timeout (9 s), during which a dead one still counts.",
        ),
    ] = 15.0
    slots: Annotated[
        int,
        typer.Option(
            metavar="COUNT", min=1, help="Copies that a broker sends or receives at once."
        ),
    ] = 5

    def settings(self) -> "Settings":
        """The applier's settings."""
        from replan.applying.settings import Settings

        return Settings(settle_seconds=self.settle, slots_per_broker=self.slots)
