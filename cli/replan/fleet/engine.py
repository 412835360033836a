"""Which engine does the work of a fleet, and doing it. What is done is in `perform`."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import gettempdir

from replan.errors import BadUsage
from replan.fleet.in_process import perform_here
from replan.fleet.lake.delta import Lake
from replan.fleet.lake.files import sweep
from replan.fleet.lake.store import SUBMITTED
from replan.fleet.perform import Done, Stage, not_done
from replan.fleet.spark.java import alone
from replan.fleet.tasks.todo import Todo

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

    @property
    def is_elsewhere(self) -> bool:
        """Whether Spark's executors are not on this machine."""
        return self.remote is not None or not alone(self.master or LOCAL_MASTER)

    def chosen(self, environment: Mapping[str, str]) -> Engine:
        """The engine: by itself Spark where it is given; on one machine it is never the faster one (docs/fleet.md)."""
        if self.engine is not Engine.AUTO:
            return self.engine
        return Engine.LOCAL if self._given_by(environment) is None else Engine.SPARK

    def why(self, environment: Mapping[str, str]) -> str | None:
        """Which engine does the work and why, where nobody has named one."""
        if self.engine is not Engine.AUTO:
            return None
        given = self._given_by(environment)
        if given is None:
            return "engine: local, as neither --master nor --remote nor spark-submit gives Spark"
        return f"engine: spark, which {given} gives"

    def _given_by(self, environment: Mapping[str, str]) -> str | None:
        if self.master is not None:
            return f"--master {self.master}"
        if self.remote is not None:
            return f"--remote {self.remote}"
        return "spark-submit" if SUBMITTED in environment else None


def folder_between(where: Where, todo: Todo) -> Path:
    """Where the tables of a run are that has no lake; raises BadUsage where executors elsewhere see none."""
    if not (where.in_spark(todo) and where.is_elsewhere):
        return Path(gettempdir())
    if where.between is None:
        raise BadUsage(
            f"with {'--remote' if where.remote else '--master'} {where.remote or where.master} the executors need a "
            "folder that all of them see: a lake there, or with two folders an --output there"
        )
    return where.between


def done_by(
    where: Where, todo: Todo, stages: Sequence[Stage], lake: Lake, run: str
) -> Sequence[Done]:
    """Do all tasks, and put what they find into the stores of a lake's tables; raises ReplanError."""
    if not where.in_spark(todo):
        return list(perform_here(todo.tasks, stages, todo.partitions, lake, run))
    from replan.fleet.spark.on_spark import TRIES, performed_in, require_spark

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
    return [not_done(task, stages, f"{ended}, {TRIES} times") for task in todo.tasks]
