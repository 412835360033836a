"""The stages of `fleet` that judge what the lake has: rates, drift, cost, plan, history."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.fleet.options import (
    DEFAULT_FLEET,
    EngineChoice,
    FleetFile,
    Judging,
    OutputFolder,
    clock,
    opened_lake,
)
from replan.commands.frame.output import note, result
from replan.errors import BadUsage, Exit

if TYPE_CHECKING:
    from replan.fleet.do_task import Stage
    from replan.fleet.run import FleetRun


def rates(
    *,
    fleet: FleetFile = DEFAULT_FLEET,
    judging: Judging,
) -> Exit:
    """Find how fast each partition is written to, from the snapshots of the last day.

    Exit codes:
      0  done
      1  an error, or a cluster of which nothing could be read

    Examples:
      replan fleet rates
      replan fleet rates --engine spark --master spark://spark-1:7077
    """
    from replan.fleet.do_task import Stage

    return _lake_stages(fleet, [Stage.RATES], None, judging)


def drift(
    *,
    fleet: FleetFile = DEFAULT_FLEET,
    snapshots: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Without a fleet file: a folder with one snapshot (file or folder) per cluster.",
        ),
    ] = None,
    placements: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Without a fleet file: a folder with one placement (file or folder) per cluster.",
        ),
    ] = None,
    output: OutputFolder = None,
    judging: Judging,
) -> Exit:
    """Show where many clusters differ from their placements, and whose the difference is.

    Exit codes:
      0  no drift in any cluster
      1  an error, or a cluster that could not be compared
      2  drift

    Examples:
      replan fleet drift --fleet fleet.yaml
      replan fleet drift --snapshots snapshots/ --placements placements/ --engine spark -o drift/
    """
    from replan.fleet.do_task import DRIFT_STAGES

    if (snapshots is None) != (placements is None):
        raise BadUsage("--snapshots and --placements go together; without both the lake is read")
    if snapshots is not None and judging.as_of is not None:
        raise BadUsage("--as-of goes with a lake; a folder has one moment")
    if snapshots is None or placements is None:
        return _lake_stages(fleet, DRIFT_STAGES, output, judging)
    from replan.fleet.folders import judged_folders

    where = judging.where(None if output is None else output.resolve().parent)
    with judged_folders(snapshots, placements, DRIFT_STAGES, where, clock()) as run:
        return _shown(run, output, judging.tolerate)


def diff(
    *,
    fleet: FleetFile = DEFAULT_FLEET,
    output: OutputFolder = None,
    judging: Judging,
) -> Exit:
    """Find the partitions of many clusters that are not as declared, whoever made them so.

    Exit codes:
      0  none differs
      1  an error, or a cluster that could not be compared
      2  some differ

    Examples:
      replan fleet diff
      replan fleet diff --fleet ops/fleet.yaml -o diff/
    """
    from replan.fleet.do_task import Stage

    return _lake_stages(fleet, [Stage.DIFF], output, judging)


def classify(
    *,
    fleet: FleetFile = DEFAULT_FLEET,
    output: OutputFolder = None,
    judging: Judging,
) -> Exit:
    """Find what drifted in many clusters, and who must act; `fleet drift` is this after `fleet diff`.

    Exit codes:
      0  no drift in any cluster
      1  an error, or a cluster that could not be compared
      2  drift

    Examples:
      replan fleet classify
      replan fleet classify --fleet ops/fleet.yaml
    """
    from replan.fleet.do_task import Stage

    return _lake_stages(fleet, [Stage.CLASSIFY], output, judging)


def cost(
    *,
    fleet: FleetFile = DEFAULT_FLEET,
    judging: Judging,
) -> Exit:
    """Find what it takes to put each drifted partition right: bytes, those between racks, time, money.

    Exit codes:
      0  done
      1  an error, or a cluster that could not be compared

    Examples:
      replan fleet cost
      replan fleet cost --fleet ops/fleet.yaml
    """
    from replan.fleet.do_task import Stage

    return _lake_stages(fleet, [Stage.COST], None, judging)


def plan(
    *,
    fleet: FleetFile = DEFAULT_FLEET,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Write each plan to a file CLUSTER.plan.json here; an earlier one of who has none now is removed.",
        ),
    ] = None,
    judging: Judging,
) -> Exit:
    """Plan every cluster of the lake; each plan is the one that `replan plan` makes of the same snapshot.

    Exit codes:
      0  done
      1  an error, or a cluster that cannot be planned

    Examples:
      replan fleet plan -o plans/
      replan fleet plan --fleet ops/fleet.yaml --tolerate-errors 1
    """
    from replan.fleet.do_task import Stage
    from replan.fleet.run import judge_fleet, write_plans

    opened, lake = opened_lake(fleet)
    with judging.where().workers() as workers:
        run = judge_fleet(opened, lake, [Stage.PLAN], workers, clock(), as_of=judging.as_of)
    if output is not None:
        write_plans(opened, lake, run, output)
    return _summarised(run, judging.tolerate)


def history(*, fleet: FleetFile = DEFAULT_FLEET, choice: EngineChoice) -> Exit:
    """Bring the history of all clusters up to date: since when each thing drifts, and how often it came back.

    Exit codes:
      0  done
      1  an error

    Examples:
      replan fleet history
      replan fleet history --fleet ops/fleet.yaml
    """
    from replan.fleet.run import run_history

    opened, lake = opened_lake(fleet)
    lake.require()
    with choice.where().workers() as workers:
        run_history(lake, opened.clusters, workers)
    return Exit.OK


def _lake_stages(
    file: Path,
    stages: "Sequence[Stage]",
    output: Path | None,
    judging: Judging,
) -> Exit:
    from replan.fleet.run import judge_fleet

    opened, lake = opened_lake(file)
    with judging.where().workers() as workers:
        run = judge_fleet(opened, lake, stages, workers, clock(), as_of=judging.as_of)
    if "drift" in run.rows or "differences" in run.rows:
        return _shown(run, output, judging.tolerate)
    return _summarised(run, judging.tolerate)


def _shown(run: "FleetRun", output: Path | None, tolerated: int) -> Exit:
    from replan.fleet.run import publish
    from replan.fleet.run_text import render_fleet_diff, render_fleet_drift

    if output is not None:
        publish(run, output)
    result((render_fleet_drift if "drift" in run.rows else render_fleet_diff)(run))
    return run.exit_code(tolerated)


def _summarised(run: "FleetRun", tolerated: int) -> Exit:
    from replan.fleet.run_text import error_lines

    if run.errors.num_rows:
        note("\n".join(error_lines(run, run.errors.num_rows)))
    rows = (f"{name} {rows:,}" for name, rows in run.counts.items())
    note(f"rows written: {', '.join(rows)}")
    return run.exit_code(tolerated)
