"""`fleet drift`: many clusters at once, through the Spark pipeline."""

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.output import result
from replan.errors import Exit


def drift(
    snapshots: Annotated[
        Path, typer.Option(metavar="DIR", help="One snapshot (file or folder) a cluster.")
    ],
    placements: Annotated[
        Path, typer.Option(metavar="DIR", help="One placement (file or folder) a cluster.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Publish the tables there.")
    ] = None,
    master: Annotated[str, typer.Option(metavar="URL", help="The Spark master.")] = "local[*]",
) -> Exit:
    """Drift of many clusters at once: 0 none, 2 drift, 1 where a cluster could not be compared."""
    from replan.fleet.drift import run_fleet_drift
    from replan.fleet.report import render_fleet_drift

    found = run_fleet_drift(snapshots, placements, output, master)
    result(render_fleet_drift(found))
    return found.exit_code
