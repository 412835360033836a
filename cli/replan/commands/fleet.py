"""`fleet …`: many clusters at once and their history, on this machine or through Spark."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replan.commands.output import note, result
from replan.errors import BadUsage, Exit
from replan.wording import count

if TYPE_CHECKING:
    from replan.fleet.engine import Where
    from replan.fleet.fleet_file import Fleet, FleetCluster
    from replan.fleet.lake.delta import Hour, Lake
    from replan.fleet.perform import Stage
    from replan.fleet.run import FleetRun
    from replan.fleet.todo import Todo
    from replan.model.snapshot import Snapshot

FleetFile = Annotated[
    Path,
    typer.Option("--fleet", metavar="FILE", help="The fleet file (`replan schema fleet`)."),
]
DEFAULT_FLEET = Path("fleet.yaml")
Output = Annotated[
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


@dataclass(frozen=True)
class EngineChoice:
    """What does the work, and where."""

    engine: Annotated[
        Literal["auto", "local", "spark"],
        typer.Option(
            help="What does the work: `local` is this machine without Java, `spark` needs the extra `fleet`; "
            "`auto` takes `spark` beyond some four million partitions, or where --master or --remote is given."
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

    def where(self, between: Path | None) -> "Where":
        """The engine; `between` is a folder that all executors see."""
        from replan.fleet.engine import Engine, Where

        return Where(Engine(self.engine), self.master, self.remote, between)


def collect(*, fleet: FleetFile = DEFAULT_FLEET, tolerate: Tolerate = 0) -> Exit:
    """Ask all clusters of a fleet, each within its own time, and keep their snapshots in the lake.

    Exit codes:
      0  all have answered
      1  an error, or a cluster that did not answer

    Examples:
      replan fleet collect
      replan fleet collect --fleet ops/fleet.yaml --tolerate-errors 2
    """
    from replan.fleet.run import FleetRun, run_collect

    opened, lake = _opened(fleet)
    errors = run_collect(opened, lake, _observe, _now())
    for error in errors.to_pylist():
        note(f"{error['cluster']}: {error['message']}")
    return FleetRun({"errors": errors}).exit_code(tolerate)


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
    output: Output = None,
    tolerate: Tolerate = 0,
    choice: EngineChoice,
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
    from replan.fleet.perform import Stage

    if (snapshots is None) != (placements is None):
        raise BadUsage("--snapshots and --placements go together; without both the lake is read")
    if snapshots is None or placements is None:
        return _lake_stages(fleet, [Stage.DRIFT], output, tolerate, choice)
    from replan.fleet.run import run_stages
    from replan.fleet.todo import from_folders

    between = None if output is None else output.resolve().parent
    where = choice.where(between)
    found = run_stages(from_folders(snapshots, placements), [Stage.DRIFT], where, _now())
    return _shown(found, output, tolerate)


def rates(
    *, fleet: FleetFile = DEFAULT_FLEET, tolerate: Tolerate = 0, choice: EngineChoice
) -> Exit:
    """Find how fast each partition is written to, from the snapshots of the last day.

    Exit codes:
      0  done
      1  an error, or a cluster of which nothing could be read

    Examples:
      replan fleet rates
      replan fleet rates --engine spark --master spark://spark-1:7077
    """
    from replan.fleet.perform import Stage

    return _lake_stages(fleet, [Stage.RATES], None, tolerate, choice)


def cost(*, fleet: FleetFile = DEFAULT_FLEET, tolerate: Tolerate = 0, choice: EngineChoice) -> Exit:
    """Find what it takes to put each drifted partition right: bytes, those between racks, time, money.

    Exit codes:
      0  done
      1  an error, or a cluster that could not be compared

    Examples:
      replan fleet cost
      replan fleet cost --fleet ops/fleet.yaml
    """
    from replan.fleet.perform import Stage

    return _lake_stages(fleet, [Stage.COST], None, tolerate, choice)


def plan(
    *,
    fleet: FleetFile = DEFAULT_FLEET,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Write each plan to a file CLUSTER.plan.json here.",
        ),
    ] = None,
    tolerate: Tolerate = 0,
    choice: EngineChoice,
) -> Exit:
    """Plan every cluster of the lake; each plan is the one that `replan plan` makes of the same snapshot.

    Exit codes:
      0  done
      1  an error, or a cluster that cannot be planned

    Examples:
      replan fleet plan -o plans/
      replan fleet plan --fleet ops/fleet.yaml --tolerate-errors 1
    """
    from replan.fleet.perform import Stage

    opened, lake = _opened(fleet)
    found = _written(opened, lake, [Stage.PLAN], choice)
    if output is not None:
        _save_plans(found, output)
    return _summarised(found, tolerate)


def history(*, fleet: FleetFile = DEFAULT_FLEET) -> Exit:
    """Bring the history of all clusters up to date: since when each thing drifts, and how often it came back.

    Exit codes:
      0  done
      1  an error

    Examples:
      replan fleet history
      replan fleet history --fleet ops/fleet.yaml
    """
    from replan.fleet.run import run_history

    opened, lake = _opened(fleet)
    run_history(lake, opened.clusters)
    return Exit.OK


def run(
    *,
    fleet: FleetFile = DEFAULT_FLEET,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write the report and the plans here."),
    ] = None,
    tolerate: Tolerate = 0,
    choice: EngineChoice,
) -> Exit:
    """Do it all: collect, rates, drift, cost, plan, history, and the report.

    Each part replaces what it wrote for the same hour; after a crash, run it again.

    Exit codes:
      0  no drift in any cluster
      1  an error, or a cluster that could not be judged
      2  drift

    Examples:
      replan fleet run -o report/
      replan fleet run --fleet ops/fleet.yaml --tolerate-errors 2
    """
    from replan.fleet.perform import Stage
    from replan.fleet.report import render_fleet_drift
    from replan.fleet.run import run_collect, run_history

    opened, lake = _opened(fleet)
    now = _now()
    _progress("collecting")
    uncollected = run_collect(opened, lake, _observe, now)
    _progress("rates, drift, costs, plans")
    unanswered = frozenset(uncollected.column("cluster").to_pylist())
    found = _written(opened, lake, list(Stage), choice, now, unanswered)
    found = found.with_errors(uncollected)
    _progress("history")
    run_history(lake, opened.clusters)
    if output is not None:
        from replan.fleet.reports.files import write_reports

        _progress("report")
        _save_plans(found, output / "plans")
        write_reports(lake, opened, output)
    _progress("")
    result(render_fleet_drift(found))
    return found.exit_code(tolerate)


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

    opened, lake = _opened(fleet)
    for file in write_reports(lake, opened, output):
        note(f"wrote {file}")
    return Exit.OK


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
      replan fleet maintain --lake lake/
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


def _opened(file: Path) -> "tuple[Fleet, Lake]":
    from replan.fleet.fleet_file import read_fleet
    from replan.fleet.lake.delta import Lake

    fleet = read_fleet(file)
    if fleet.lake is None:
        raise BadUsage(f"{file} names no lake; add e.g. `lake: lake/`")
    return fleet, Lake(fleet.lake)


def _lake_stages(
    file: Path, stages: "Sequence[Stage]", output: Path | None, tolerated: int, choice: EngineChoice
) -> Exit:
    opened, lake = _opened(file)
    found = _written(opened, lake, stages, choice)
    if "drift" in found.rows:
        return _shown(found, output, tolerated)
    return _summarised(found, tolerated)


def _written(
    fleet: "Fleet",
    lake: "Lake",
    stages: "Sequence[Stage]",
    choice: EngineChoice,
    now: "Hour | None" = None,
    unanswered: "Collection[str]" = (),
) -> "FleetRun":
    from replan.fleet.run import run_stages, write
    from replan.fleet.todo import from_lake

    now = now or _now()
    todo: Todo = from_lake(fleet, lake, unanswered)
    between = None if "://" in lake.address else Path(lake.address)
    found = run_stages(todo, stages, choice.where(between), now)
    write(lake, todo, found, stages, now)
    return found


def _shown(found: "FleetRun", output: Path | None, tolerated: int) -> Exit:
    from replan.fleet.publish import publish
    from replan.fleet.report import render_fleet_drift

    if output is not None:
        publish(found, output)
    result(render_fleet_drift(found))
    return found.exit_code(tolerated)


def _summarised(found: "FleetRun", tolerated: int) -> Exit:
    from replan.fleet.report import error_lines

    if found.errors.num_rows:
        note("\n".join(error_lines(found, found.errors.num_rows)))
    rows = (f"{name} {table.num_rows:,}" for name, table in found.rows.items())
    note(f"rows written: {', '.join(rows)}")
    return found.exit_code(tolerated)


def _save_plans(found: "FleetRun", folder: Path) -> None:
    from replan.commands.output import save

    folder.mkdir(parents=True, exist_ok=True)
    for row in found.rows["plans"].select(["cluster", "document"]).to_pylist():
        save(row["document"], folder / f"{row['cluster']}.plan.json")


def _observe(cluster: "FleetCluster") -> "Snapshot":
    """One cluster as a command sees it: with the orders that its journal remembers."""
    from replan.commands.observed import observed
    from replan.commands.target import JournaledTarget

    target = JournaledTarget(
        bootstrap_server=cluster.bootstrap_servers,
        command_config=cluster.command_config,
        simulated=cluster.simulated,
        snapshot=cluster.snapshot,
        timeout=cluster.timeout_seconds,
    )
    return observed(target).snapshot


def _now() -> "Hour":
    from datetime import UTC, datetime

    from replan.fleet.lake.delta import Hour

    return Hour.of("", datetime.now(UTC).isoformat())


def _progress(stage: str) -> None:
    """The stage that runs, on a terminal."""
    from replan.commands.output import passing

    passing(f"fleet: {stage} …" if stage else "")


def watch(
    *,
    fleet: FleetFile = DEFAULT_FLEET,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where Spark keeps what it has handed over; a folder `watch` in the lake by default.",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Judge what has arrived by now, and end.")
    ] = False,
    choice: EngineChoice,
) -> Exit:
    """Keep drift, costs and history current while snapshots arrive in the lake; needs Spark.

    It may be killed at any time: started again, it goes on where it was, and every snapshot has its effect once.

    Exit codes:
      0    all that had arrived is judged (--once)
      1    an error
      130  interrupted

    Examples:
      replan fleet watch
      replan fleet watch --once --checkpoint /var/lib/replan/watch
    """
    from replan.fleet.on_spark import require_spark

    if choice.engine == "local":
        raise BadUsage("watch runs on Spark; leave --engine out")
    if choice.remote is not None:
        raise BadUsage("watch needs a session of its own; give --master instead of --remote")
    require_spark()
    from replan.fleet.engine import LOCAL_MASTER
    from replan.fleet.session import Length, spark_session
    from replan.fleet.watch import Batch, watch

    opened, lake = _opened(fleet)
    place = str(checkpoint.absolute()) if checkpoint else f"{lake.address.rstrip('/')}/watch"

    def seen(batch: Batch) -> None:
        for hour in batch.hours:
            note(f"judged {hour.cluster} {hour.day} {hour.hour:02}h")
        for error in batch.run.errors.to_pylist() if batch.run is not None else ():
            note(f"{error['cluster']}, {error['stage']}: {error['message']}")

    with spark_session(choice.master or LOCAL_MASTER, Length.SHORT, choice.remote) as spark:
        watch(spark, opened, lake, place, seen, once=once)
    return Exit.OK
