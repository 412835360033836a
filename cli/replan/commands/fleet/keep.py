"""`fleet report` and `fleet maintain`: what the lake knows, and what it keeps."""

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.fleet.options import DEFAULT_FLEET, FleetFile, clock, opened_lake
from replan.commands.frame.output import note
from replan.errors import Exit
from replan.wording import count


def report(
    *,
    fleet: FleetFile = DEFAULT_FLEET,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where to write the report.")
    ],
) -> Exit:
    """Write what the lake knows of the fleet as one page, Markdown, CSV, JSON and Prometheus text.

    Exit codes:
      0  written
      1  an error

    Examples:
      replan fleet report -o report/
      replan fleet report --fleet ops/fleet.yaml -o report/
    """
    from replan.fleet.reports.files import write_reports

    opened, lake = opened_lake(fleet)
    lake.require()
    for file in write_reports(lake, opened, output):
        note(f"wrote {file}")
    return Exit.OK


def maintain(
    *,
    lake: Annotated[str, typer.Option(metavar="URI", help="The lake of Delta tables.")],
    keep: Annotated[
        int, typer.Option(metavar="DAYS", min=1, help="Remove rows of days that are older.")
    ] = 90,
    future: Annotated[
        bool,
        typer.Option(
            "--future", help="Remove rows of later hours than this one, too: a clock was wrong."
        ),
    ] = False,
) -> Exit:
    """Keep the tables of a lake small: remove old days, merge small files, delete files that nothing needs.

    Files that a table no longer has, or that a killed run left, are kept for seven days, for readers that have begun.

    Exit codes:
      0  done
      1  an error

    Examples:
      replan fleet maintain --lake lake/
      replan fleet maintain --lake s3a://ops/replan --keep 30
    """
    from replan.fleet.lake.delta import Lake
    from replan.fleet.lake.snapshots import AHEAD

    opened = Lake(lake)
    opened.require()
    now = clock()
    for one in opened.maintain(keep, now.date(), now + AHEAD if future else None):
        note(
            f"{one.table}: {count(one.rows_removed, 'row')} removed, {count(one.files_merged, 'file')} merged, "
            f"{count(one.files_removed, 'file')} deleted"
        )
    return Exit.OK
