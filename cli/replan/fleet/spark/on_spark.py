"""The work of all clusters in Spark: a session as long as the run, and what it does in it.

Spark says who does which task, and does it again where an executor or its Python dies; the third time the task is left
undone, and says so. Where Java itself ends, or a worker that the driver asks, all is done once more in a new session.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar
from warnings import catch_warnings, simplefilter

from pyspark.sql import SparkSession

from replan.fleet.do_task import CLUSTER_TRIES, Stage, TaskDone, not_done
from replan.fleet.lake.delta import Lake
from replan.fleet.lake.files import RowFile, sweep_run
from replan.fleet.spark.frames import (
    done_frame,
    done_in,
    kept_histories,
    one_partition_each,
    tasks_frame,
)
from replan.fleet.spark.session import JavaNotStarted, ProcessLost, spark_session
from replan.fleet.tasks.work import Task

Result = TypeVar("Result")


class InSpark:
    """Spark's executors; the session is started when there is something to do, and ended with the `with`."""

    def __init__(
        self, master: str = "", remote: str | None = None, session: SparkSession | None = None
    ) -> None:
        self.master, self.remote = master, remote
        self._session = session
        self._open = ExitStack()

    def __enter__(self) -> "InSpark":
        return self

    def __exit__(self, *raised: object) -> bool | None:
        return self._open.__exit__(*raised)  # type: ignore[arg-type]

    def do_tasks(
        self, tasks: Sequence[Task], stages: Sequence[Stage], lake: Lake, run: str
    ) -> Sequence[TaskDone]:
        """Do the tasks, and put what they find into the stores of the lake's tables; raises ReplanError."""

        def job(spark: SparkSession) -> Sequence[TaskDone]:
            done: list[TaskDone] = []
            waiting = tasks
            while waiting:
                with one_partition_each(spark, waiting):
                    frame = done_frame(tasks_frame(spark, waiting), stages, lake, run)
                    finished = done_in(frame, waiting)
                waiting = [part for one in finished for part in one.parts]
                done += finished
            return done

        try:
            return self._tried(job, lake, run)
        except JavaNotStarted:
            raise
        except ProcessLost as ended:
            return [not_done(task, stages, f"{ended}, {CLUSTER_TRIES} times") for task in tasks]

    def histories(
        self, lake: Lake, clusters: Sequence[str], run: str
    ) -> Iterator[tuple[str, list[RowFile]]]:
        """The files of the new history of each cluster whose history has changed; raises ReplanError."""
        by_cluster: dict[str, list[RowFile]] = {}
        changed: set[str] = set()
        for row in self._tried(
            lambda spark: kept_histories(spark, lake, clusters, run).collect(), lake, run
        ):
            if row["changed"]:
                changed.add(row["cluster"])
            if row["file"] is not None:
                by_cluster.setdefault(row["cluster"], []).append(RowFile(**row["file"].asDict()))
        return ((name, by_cluster.get(name, [])) for name in sorted(changed))

    def _tried(self, job: Callable[[SparkSession], Result], lake: Lake, run: str) -> Result:
        """What the job finds, in a second session where the first one loses Java or a worker of the driver.

        Raises ProcessLost where the second one does, too.
        """
        for left in reversed(range(CLUSTER_TRIES)):
            try:
                with self.used() as spark, catch_warnings():
                    simplefilter(
                        "ignore", ResourceWarning
                    )  # PySpark lets the garbage collector close its socket
                    return job(spark)
            except ProcessLost:
                sweep_run(lake, run)
                if not left:
                    raise
        raise AssertionError  # it has returned or raised

    @contextmanager
    def used(self) -> Iterator[SparkSession]:
        """The session, which what is raised ends; it says of that what Spark says."""
        if self._session is None:
            self._session = self._open.enter_context(spark_session(self.master, self.remote))
        try:
            yield self._session
        except BaseException as problem:
            self._session = None
            self._open.pop_all().__exit__(type(problem), problem, problem.__traceback__)
            raise
