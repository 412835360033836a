"""Which engine does the work of a fleet, and doing it. What is done is in `perform`."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import gettempdir

from replan.documents.work_folder import work_folder
from replan.errors import BadUsage
from replan.fleet.in_process import perform_here
from replan.fleet.perform import Rows, Stage, together
from replan.fleet.spark.java import SUBMITTED
from replan.fleet.tasks.todo import Todo

LONG_PARTITIONS = 15_000_000
"""Beyond so many a quick start of Java is not worth its slower code."""
LOCAL_MASTER = "local[*]"
FOLDER = ".replan-fleet-"
"""How the folder begins in which executors write what they find."""


class Engine(StrEnum):
    """What does the work."""

    AUTO = "auto"
    LOCAL = "local"
    """This machine without Spark."""
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Where:
    """The engine that is asked for, and where Spark runs. Raises BadUsage where they contradict each other."""

    engine: Engine = Engine.AUTO
    master: str | None = None
    remote: str | None = None
    between: Path | None = None
    """A folder that all executors see, where they run elsewhere."""

    def __post_init__(self) -> None:
        for option, value in (("--master", self.master), ("--remote", self.remote)):
            if self.engine is Engine.LOCAL and value is not None:
                raise BadUsage(f"{option} {value} goes with --engine spark")
        if self.master is not None and self.remote is not None:
            raise BadUsage("--master and --remote are two ways to Spark; name one of them")

    def chosen(self, environment: Mapping[str, str]) -> Engine:
        """The engine: by itself Spark where it is given; on one machine it is never the faster one (docs/fleet.md)."""
        if self.engine is not Engine.AUTO:
            return self.engine
        given = self.master is not None or self.remote is not None or SUBMITTED in environment
        return Engine.SPARK if given else Engine.LOCAL


def done_by(where: Where, todo: Todo, stages: Sequence[Stage]) -> Rows:
    """The rows of all tasks; raises ReplanError where the engine itself fails."""
    if not todo.tasks or where.chosen(os.environ) is Engine.LOCAL:
        return together(perform_here(todo.tasks, stages, todo.partitions), stages)
    from replan.fleet.spark.on_spark import (
        TRIES,
        give_up,
        perform_in,
        put_tasks,
        require_spark,
        rows_in,
    )

    require_spark()
    from replan.fleet.spark.session import JavaEnded, Length, alone, spark_session

    master = where.master or LOCAL_MASTER
    if where.between is None and (where.remote is not None or not alone(master)):
        raise BadUsage(
            f"with {'--remote' if where.remote else '--master'} {where.remote or master} the executors need a folder "
            "that all of them see: a lake there, or with two folders an --output there"
        )
    length = Length.LONG if todo.partitions > LONG_PARTITIONS else Length.SHORT
    with work_folder(where.between or Path(gettempdir()), FOLDER) as place:
        put_tasks(place, todo.tasks)
        for attempt in range(TRIES):
            try:
                with spark_session(master, length, where.remote) as spark:
                    perform_in(spark, stages, place)
                break
            except JavaEnded as problem:
                if attempt == TRIES - 1:
                    give_up(stages, place, f"{problem}, {TRIES} times")
        return rows_in(stages, place)
