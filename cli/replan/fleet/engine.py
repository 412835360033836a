"""Which engine does the work of a fleet, and doing it. What is done is in `do_task`."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from replan.errors import BadUsage
from replan.fleet.do_task import Stage, TaskDone
from replan.fleet.in_process import Here
from replan.fleet.lake.delta import Lake
from replan.fleet.lake.files import RowFile
from replan.fleet.lake.store import SUBMITTED, require
from replan.fleet.spark.java import alone
from replan.fleet.tasks.work import Task

if TYPE_CHECKING:
    from replan.fleet.spark.on_spark import InSpark

LOCAL_MASTER = "local[*]"


class Workers(Protocol):
    """Who does the work: the executors of Spark, or this machine."""

    def do_tasks(
        self, tasks: Sequence[Task], stages: Sequence[Stage], lake: Lake, run: str
    ) -> Iterable[TaskDone]:
        """Do the tasks, and put what they find into the stores of the lake's tables; raises ReplanError."""

    def histories(
        self, lake: Lake, clusters: Sequence[str], run: str
    ) -> Iterable[tuple[str, list[RowFile]]]:
        """The files of the new history of each cluster whose history has changed; raises ReplanError."""


class Engine(StrEnum):
    """What does the work."""

    AUTO = "auto"
    LOCAL = "local"
    """This machine without Spark."""
    SPARK = "spark"


class SparkTarget(Struct, frozen=True):
    """The engine that is asked for, and where Spark runs. Raises BadUsage where they contradict each other."""

    engine: Engine = Engine.AUTO
    master: str | None = None
    remote: str | None = None
    between: Path | None = None
    """A folder that all executors see: without a lake of its own a run has one there as long as it lasts."""

    def __post_init__(self) -> None:
        for option, value in (("--master", self.master), ("--remote", self.remote)):
            if self.engine is Engine.LOCAL and value is not None:
                raise BadUsage(f"{option} {value} goes with --engine spark")
        if self.master is not None and self.remote is not None:
            raise BadUsage("--master and --remote are two ways to Spark; name one of them")

    @contextmanager
    def workers(self) -> "Iterator[Here | InSpark]":
        """Who does the work; Spark is started when there is something to do. Raises ReplanError without PySpark."""
        if self.chosen_engine(os.environ) is Engine.LOCAL:
            yield Here()
            return
        for package in ("pyspark", "pandas"):
            require("the engine spark", package)
        if self.remote is not None:
            require("Spark Connect", "grpc", "pyspark[connect]")
        from replan.fleet.spark.on_spark import InSpark

        with InSpark(self.master or LOCAL_MASTER, self.remote) as spark:
            yield spark

    def chosen_engine(self, environment: Mapping[str, str]) -> Engine:
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


def folder_between(where: SparkTarget) -> Path:
    """Where the lake of a run of two folders is; raises BadUsage where executors elsewhere would not see it."""
    is_here = where.remote is None and alone(where.master or LOCAL_MASTER)
    if is_here or where.chosen_engine(os.environ) is not Engine.SPARK:
        return Path(gettempdir())
    if where.between is None:
        raise BadUsage(
            f"with {'--remote' if where.remote else '--master'} {where.remote or where.master} the executors need a "
            "folder that all of them see: a lake there, or with two folders an --output there"
        )
    return where.between
