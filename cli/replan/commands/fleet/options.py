"""The options that the commands of a fleet share, the fleet file with its lake, and the clock of a run."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from msgspec import Struct

from replan.commands.frame.output import note
from replan.errors import BadUsage

if TYPE_CHECKING:
    from datetime import datetime

    from replan.fleet.engine import SparkTarget
    from replan.fleet.fleet_file import Fleet
    from replan.fleet.lake.delta import Lake

FleetFile = Annotated[
    Path,
    typer.Option("--fleet", metavar="FILE", help="The fleet file (`replan schema fleet`)."),
]
DEFAULT_FLEET = Path("fleet.yaml")
OutputFolder = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Write the tables as Parquet files, too."),
]
Tolerate = Annotated[
    int,
    typer.Option(
        "--tolerate-errors",
        metavar="N",
        min=0,
        help="Do not exit 1 while at most N clusters have an error.",
    ),
]


def moment(text: "str | datetime") -> "datetime":
    """Read a time, or a day, which means its end (UTC). Raises BadParameter where it is none."""
    from datetime import UTC, datetime, time

    if isinstance(text, datetime):
        return text
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is not None and len(text) == len("2026-11-21"):
        at = datetime.combine(at, time.max, UTC)
    if at is None or at.tzinfo is None:
        raise typer.BadParameter(
            f"{text!r} is no time; write e.g. 2026-11-22T06:00:00Z, or 2026-11-22 for its end (UTC)"
        )
    return at


AsOf = Annotated[
    Any,  # a datetime, which Typer would read by itself
    typer.Option(
        "--as-of",
        metavar="TIME",
        parser=moment,
        help="Judge the newest snapshots at this time or before, by today's placements; nothing is collected.",
    ),
]


class EngineChoice(Struct, frozen=True, kw_only=True):
    """What does the work, and where."""

    engine: Annotated[
        Literal["auto", "local", "spark"],
        typer.Option(
            help="What does the work: `local` is this machine without Java, `spark` needs the extra `fleet`; "
            "`auto` takes `spark` where it is given by --master, --remote or spark-submit."
        ),
    ] = "auto"
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The Spark master; local[*] unless it is given."),
    ] = None
    remote: Annotated[
        str | None,
        typer.Option(metavar="sc://HOST", help="A Spark Connect server instead of a master."),
    ] = None

    def where(self, between: Path | None = None) -> "SparkTarget":
        """The engine, which is said where nobody named it; `between`: a folder that all executors see."""
        from replan.fleet.engine import Engine, SparkTarget

        target = SparkTarget(Engine(self.engine), self.master, self.remote, between)
        if (why := target.why(os.environ)) is not None:
            note(why)
        return target


class Judging(EngineChoice, frozen=True):
    """How what the lake has is judged: as of when, with how many errors, and by which engine."""

    as_of: AsOf = None
    tolerate: Tolerate = 0


def opened_lake(file: Path) -> "tuple[Fleet, Lake]":
    """The fleet of a file and its lake; raises BadPlacement, and BadUsage where it names no lake."""
    from replan.fleet.fleet_file import read_fleet
    from replan.fleet.lake.delta import Lake

    fleet = read_fleet(file)
    if fleet.lake is None:
        raise BadUsage(f"{file} names no lake; add e.g. `lake: lake/`")
    return fleet, Lake(fleet.lake)


def clock() -> "datetime":
    """When a run begins."""
    from datetime import UTC, datetime

    return datetime.now(UTC)
