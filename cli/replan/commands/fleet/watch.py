"""`fleet watch`: snapshots are judged as they arrive."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.fleet.options import DEFAULT_FLEET, EngineChoice, FleetFile, opened_lake
from replan.commands.frame.output import note
from replan.commands.frame.signals import asked_to_stop
from replan.errors import BadUsage, Exit

if TYPE_CHECKING:
    pass


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

    The first signal ends it after the snapshots that it is judging, the second one at once. It may be killed at any
    time: started again, it goes on where it was, and every snapshot has its effect once.

    Exit codes:
      0    all that had arrived is judged (--once)
      1    an error
      130  interrupted

    Examples:
      replan fleet watch
      replan fleet watch --once --checkpoint /var/lib/replan/watch
    """
    from replan.fleet.spark.on_spark import require_spark

    if choice.engine == "local":
        raise BadUsage("watch runs on Spark; leave --engine out")
    if choice.remote is not None:
        raise BadUsage("watch needs a session of its own; give --master instead of --remote")
    require_spark()
    from replan.fleet.engine import LOCAL_MASTER
    from replan.fleet.spark.session import Length, spark_session
    from replan.fleet.watch import Batch, watch

    opened, lake = opened_lake(fleet)
    place = str(checkpoint.absolute()) if checkpoint else f"{lake.address.rstrip('/')}/watch"

    def seen(batch: Batch) -> None:
        for hour in batch.hours:
            note(f"judged {hour.cluster} {hour.day} {hour.hour:02}h")
        for error in batch.errors.to_pylist():
            note(f"{error['cluster']}, {error['stage']}: {error['message']}")

    with spark_session(choice.master or LOCAL_MASTER, Length.SHORT, choice.remote) as spark:
        stop = asked_to_stop(lambda: None, note)
        watch(spark, opened, lake, place, seen, stop, once=once)
    return Exit.INTERRUPTED if stop.asked else Exit.OK
