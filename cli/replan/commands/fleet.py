"""`fleet …`: many clusters at once and their history, in this process or through the Spark pipeline."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from replan.commands.output import note, result
from replan.errors import BadUsage, Exit
from replan.wording import count


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


def maintain(
    *,
    lake: Annotated[str, typer.Option(metavar="URI", help="The lake of Delta tables.")],
    keep: Annotated[
        int, typer.Option(metavar="DAYS", min=1, help="Remove rows of days that are older.")
    ] = 90,
) -> Exit:
    """Keep the tables of a lake small: remove old days, merge small files, delete files that nothing needs.

    Files that a table no longer has are kept for seven days, for readers that have begun.

    Exit codes:
      0  done
      1  an error

    Examples:
      replan fleet maintain --lake s3a://ops/replan --keep 30
    """
    from datetime import UTC, datetime

    from replan.fleet.lake.delta import Lake

    done = list(Lake(lake).maintain(keep, datetime.now(UTC).date()))
    for one in done:
        note(
            f"{one.table}: {count(one.rows_removed, 'row')} removed, {count(one.files_merged, 'file')} merged, "
            f"{count(one.files_removed, 'file')} deleted"
        )
    if not done:
        raise BadUsage(f"{lake}: there is no table of replan's here")
    return Exit.OK
