"""Which engine does the work of a fleet, and doing it. What is done is in `perform`."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from replan.errors import BadUsage
from replan.fleet.lake.delta import Lake
from replan.fleet.lake.files import sweep
from replan.fleet.perform import Stage
from replan.fleet.spark.java import SUBMITTED
from replan.fleet.tasks.todo import Todo

if TYPE_CHECKING:
    from replan.fleet.spark.on_spark import Done

LONG_PARTITIONS = 15_000_000
"""Beyond so many a quick start of Java is not worth its slower code."""
LOCAL_MASTER = "local[*]"


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
    """A folder that all executors see: without a lake the tables are there as long as the run lasts."""

    def __post_init__(self) -> None:
        for option, value in (("--master", self.master), ("--remote", self.remote)):
            if self.engine is Engine.LOCAL and value is not None:
                raise BadUsage(f"{option} {value} goes with --engine spark")
        if self.master is not None and self.remote is not None:
            raise BadUsage("--master and --remote are two ways to Spark; name one of them")

    def in_spark(self, todo: Todo) -> bool:
        """Whether Spark does this: for no task it is not started."""
        return bool(todo.tasks) and self.chosen(os.environ) is Engine.SPARK

    def chosen(self, environment: Mapping[str, str]) -> Engine:
        """The engine: by itself Spark where it is given; on one machine it is never the faster one (docs/fleet.md)."""
        if self.engine is not Engine.AUTO:
            return self.engine
        given = self.master is not None or self.remote is not None or SUBMITTED in environment
        return Engine.SPARK if given else Engine.LOCAL


def folder_between(where: Where) -> Path:
    """Where the tables of a run in Spark are that has no lake; raises BadUsage where executors elsewhere see none."""
    from replan.fleet.spark.on_spark import require_spark

    require_spark()
    from replan.fleet.spark.session import alone

    elsewhere = where.remote is not None or not alone(where.master or LOCAL_MASTER)
    if where.between is None and elsewhere:
        raise BadUsage(
            f"with {'--remote' if where.remote else '--master'} {where.remote or where.master} the executors need a "
            "folder that all of them see: a lake there, or with two folders an --output there"
        )
    return where.between or Path(gettempdir())


def done_in_spark(
    where: Where, todo: Todo, stages: Sequence[Stage], lake: Lake, run: str
) -> "Sequence[Done]":
    """Let executors do all tasks, and write what they find into the stores of a lake's tables; raises ReplanError."""
    from replan.fleet.spark.on_spark import TRIES, all_undone, performed_in, require_spark

    require_spark()
    from replan.fleet.spark.session import JavaEnded, Length, spark_session

    length = Length.LONG if todo.partitions > LONG_PARTITIONS else Length.SHORT
    ended = None
    for _ in range(TRIES):
        try:
            with spark_session(where.master or LOCAL_MASTER, length, where.remote) as spark:
                return performed_in(spark, todo.tasks, stages, lake, run)
        except JavaEnded as problem:
            ended = problem
            sweep(lake, run)
    return all_undone(todo.tasks, stages, f"{ended}, {TRIES} times")
