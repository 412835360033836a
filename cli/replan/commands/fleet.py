"""`fleet drift`: many clusters at once, in this process or through the Spark pipeline."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from replan.commands.output import result
from replan.errors import Exit


def drift(
    *,
    snapshots: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="A folder with one snapshot (file or folder) per cluster."
        ),
    ],
    placements: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="A folder with one placement (file or folder) per cluster."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write the result as Parquet tables."),
    ] = None,
    engine: Annotated[
        Literal["auto", "local", "spark"],
        typer.Option(
            help="What does the work: `local` is this process and needs no Java, `spark` needs the extra `fleet`; "
            "`auto` takes `spark` beyond some four million partitions, or where --master is given."
        ),
    ] = "auto",
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The Spark master; local[*] unless it is given."),
    ] = None,
) -> Exit:
    """Show where many clusters differ from their placements.

    Exit codes:
      0  no drift in any cluster
      1  an error, or a cluster that could not be compared
      2  drift

    Examples:
      replan fleet drift --snapshots snapshots/ --placements placements/
      replan fleet drift --snapshots snapshots/ --placements placements/ --engine spark -o drift/
    """
    from replan.fleet.drift import Engine, run_fleet_drift
    from replan.fleet.report import render_fleet_drift

    found = run_fleet_drift(snapshots, placements, output, Engine(engine), master)
    result(render_fleet_drift(found))
    return found.exit_code
