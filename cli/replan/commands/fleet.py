"""`fleet drift`: many clusters at once, through the Spark pipeline."""

from pathlib import Path

from replan.commands.output import result
from replan.errors import Exit
from replan.fleet.drift import run_fleet_drift
from replan.fleet.report import render_fleet_drift


def drift(snapshots: Path, placements: Path, output: Path | None, master: str) -> Exit:
    """Compare each cluster's newest snapshot with its placement. 0 none, 2 drift, 1 where a cluster is in error."""
    found = run_fleet_drift(snapshots, placements, output, master)
    result(render_fleet_drift(found))
    return found.exit_code
