"""`fleet watch`: snapshots are judged as they arrive."""

import os
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.fleet.options import DEFAULT_FLEET, EngineChoice, FleetFile, opened_lake
from replan.commands.frame.output import note, save
from replan.commands.frame.signals import asked_to_stop
from replan.errors import BadUsage, Exit

if TYPE_CHECKING:
    from replan.fleet.watch import JudgedBatch


def watch(
    *,
    fleet: FleetFile = DEFAULT_FLEET,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where Spark keeps what it has handed over; a folder `watch` in the lake by default, "
            "and of a lake in a store as long as it watches.",
        ),
    ] = None,
    trigger: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, help="From the beginning of a batch to that of the next."
        ),
    ] = 10,
    metrics: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Keep the numbers of the watch here, as Prometheus reads them."
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Judge what has arrived by now, and end.")
    ] = False,
    choice: EngineChoice,
) -> Exit:
    """Keep drift, costs and history current while snapshots arrive in the lake.

    The first signal ends it after the snapshots that it is judging, the second one at once. It may be killed at any
    time: started again, it goes on where it was, and every snapshot has its effect once.

    Exit codes:
      0    all that had arrived is judged (--once)
      1    an error
      130  interrupted

    Examples:
      replan fleet watch --once
      replan fleet watch --master spark://spark-1:7077 --trigger 60 --metrics /var/lib/node_exporter/replan.prom
    """
    from replan.fleet.engine import Engine
    from replan.fleet.in_process import Here
    from replan.fleet.watch import Watch, WatchTotals, watch_here, watch_in

    if not isfinite(trigger):
        raise BadUsage("--trigger: write how many seconds, e.g. 60")
    where = choice.where()
    on_spark = where.chosen_engine(os.environ) is Engine.SPARK
    if checkpoint is not None and not on_spark:
        raise BadUsage("--checkpoint goes with Spark; this machine needs none")
    if choice.remote is not None:
        raise BadUsage("watch needs a session of its own; give --master instead of --remote")
    opened, lake = opened_lake(fleet)
    watched = WatchTotals()

    def note_batch(batch: "JudgedBatch") -> None:
        for hour in batch.hours:
            note(f"judged {hour.cluster} {hour.day} {hour.hour:02}h")
        for error in batch.errors.to_pylist():
            note(f"{error['cluster']}, {error['stage']}: {error['message']}")
        watched.add(batch)
        if metrics is not None:
            save(watched.metrics(), metrics)

    stop = asked_to_stop(lambda: None, note)
    watching = Watch(opened, lake, trigger, note_batch, stop)
    with where.workers() as workers:
        if isinstance(workers, Here):
            watch_here(workers, watching, once=once)
            return Exit.INTERRUPTED if stop.asked else Exit.OK
        with workers.used() as session:
            watch_in(session, watching, checkpoint, once=once)
    return Exit.INTERRUPTED if stop.asked else Exit.OK
