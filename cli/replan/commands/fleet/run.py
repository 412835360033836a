"""`fleet collect` and `fleet run`: from asking the clusters to the report."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.fleet.options import (
    DEFAULT_FLEET,
    FleetFile,
    Judging,
    Tolerate,
    clock,
    opened_lake,
)
from replan.commands.frame.output import note, result
from replan.errors import Exit

if TYPE_CHECKING:
    from replan.fleet.collect import CollectedCluster
    from replan.fleet.fleet_file import Fleet, FleetCluster

ASKED_WITH: "Mapping[str, Sequence[str]]" = {
    "snapshot": ("replan.snapshots.files", "replan.snapshots.json_form"),
    "simulated": ("replan.commands.shared.with_journal", "replan.simulator.control_plane"),
    "bootstrap_servers": ("replan.commands.shared.with_journal", "replan.kafka.control_plane"),
}
"""What a cluster is read with, by how it is named."""


def collect(*, fleet: FleetFile = DEFAULT_FLEET, tolerate: Tolerate = 0) -> Exit:
    """Ask all clusters of a fleet, each within its own time, and keep their snapshots in the lake.

    Exit codes:
      0  all have answered
      1  an error, or a cluster that did not answer

    Examples:
      replan fleet collect
      replan fleet collect --fleet ops/fleet.yaml --tolerate-errors 2
    """
    from replan.fleet.lake.delta import Hour
    from replan.fleet.run import FleetRun, run_collect

    opened, lake = opened_lake(fleet)
    errors = run_collect(opened, lake, _observer(opened), Hour.at(clock()))
    for error in errors.to_pylist():
        note(f"{error['cluster']}: {error['message']}")
    return FleetRun({"errors": errors}).exit_code(tolerate)


def run(
    *,
    fleet: FleetFile = DEFAULT_FLEET,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write the report and the plans here."),
    ] = None,
    judging: Judging,
) -> Exit:
    """Do it all: collect, rates, drift, cost, plan, history, and the report.

    Each part replaces what it wrote for the same hour; after a crash, run it again. What was judged before, and has
    not changed since, is not judged again.

    Exit codes:
      0  no drift in any cluster
      1  an error, or a cluster that could not be judged
      2  drift

    Examples:
      replan fleet run -o report/
      replan fleet run --as-of 2026-11-20T06:00:00Z
    """
    from replan.fleet.do_task import Stage
    from replan.fleet.lake.delta import Hour
    from replan.fleet.lake.tables import ERRORS, HISTORY, key_of
    from replan.fleet.run import judge_fleet, run_collect, run_history, write_plans
    from replan.fleet.run_text import render_fleet_drift

    opened, lake = opened_lake(fleet)
    now = clock()
    if judging.as_of is None:
        _progress("collecting")
        uncollected = run_collect(opened, lake, _observer(opened), Hour.at(now))
    else:
        lake.require()
        uncollected = ERRORS.schema.empty_table()
    unanswered = frozenset(uncollected.column("cluster").to_pylist())
    with judging.where().workers() as workers:
        _progress("rates, drift, costs, plans")
        judged = judge_fleet(opened, lake, list(Stage), workers, now, unanswered, judging.as_of)
        judged = judged.with_errors(uncollected)
        _progress("history")
        run_history(lake, opened.clusters, workers)
    if output is not None:
        from replan.fleet.reports.files import write_reports

        _progress("report")
        write_plans(opened, lake, judged, output / "plans")
        write_reports(lake, opened, output)
    _progress("")
    ages = {key_of(row): row for row in lake.read(HISTORY, "open").to_pylist()}
    result(render_fleet_drift(judged, ages))
    return judged.exit_code(judging.tolerate)


def _observer(fleet: "Fleet") -> "Callable[[FleetCluster], CollectedCluster]":
    """What asks a cluster; all that its answer needs is imported before, as no cluster takes that time."""
    import pyarrow as pa

    from replan.commands.fleet.observe import collected_from
    from replan.commands.shared.target import JournaledTarget
    from replan.fleet.lake.store import local_copy

    pa.array(())  # it imports whatever arrays may be made of
    for field, modules in ASKED_WITH.items():
        if any(getattr(cluster, field) is not None for cluster in fleet.clusters.values()):
            for module in modules:
                import_module(module)

    def observe(cluster: "FleetCluster") -> "CollectedCluster":
        """One cluster as a command sees it: with the orders that its journal remembers."""
        there = nullcontext() if cluster.snapshot is None else local_copy(str(cluster.snapshot))
        with there as snapshot:
            target = JournaledTarget(
                bootstrap_server=cluster.bootstrap_servers,
                command_config=cluster.command_config,
                simulated=cluster.simulated,
                snapshot=snapshot,
                timeout=cluster.timeout_seconds,
            )
            return collected_from(target)

    return observe


def _progress(stage: str) -> None:
    """The stage that runs, on a terminal."""
    from replan.commands.frame.output import note_passing

    note_passing(f"fleet: {stage} …" if stage else "")
