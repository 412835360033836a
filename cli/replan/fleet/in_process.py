"""The work of all clusters on this machine without Spark: in this process, or in one for each core where it is much.

The same functions as inside Spark, so both engines mean the same; a test holds them to it. Memory is that of the
largest cluster for each process: each writes what it finds. A worker that is lost costs its cluster a second try in a
new worker, and the second time an error.
"""

import gc
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait

from msgspec.structs import replace

from replan.errors import BadFile, unexpected
from replan.fleet.do_task import (
    CLUSTER_TRIES,
    COMPARED_AT_ONCE,
    Stage,
    TaskDone,
    do_task,
    not_done,
)
from replan.fleet.lake.delta import Lake, lake_at
from replan.fleet.lake.files import RowFile
from replan.fleet.tasks.work import Task
from replan.model.garbage_collection import GARBAGE_THRESHOLD
from replan.workers import Worker, WorkerLost, WorkerPool

MUCH = 200_000
"""Beyond so many partitions it pays to start processes (half a second each)."""


class Here:
    """This machine, without Spark."""

    def do_tasks(
        self, tasks: Sequence[Task], stages: Sequence[Stage], lake: Lake, run: str
    ) -> Iterator[TaskDone]:
        """What was done for each task, and for the parts that it comes to, as it comes."""
        workers, many = os.cpu_count() or 1, sum(task.partitions for task in tasks)
        if many < (MUCH if min(len(tasks), workers) > 1 else 2 * COMPARED_AT_ONCE):
            return (do_task(task, stages, lake, run) for task in tasks)
        return _in_workers(tasks, stages, (lake.address, run), workers)

    def histories(
        self, lake: Lake, clusters: Sequence[str], run: str
    ) -> Iterator[tuple[str, list[RowFile]]]:
        """The files of the new history of each cluster whose history has changed; raises BadFile."""
        from replan.fleet.stages.history import kept_history_of, put_history

        for name, history in kept_history_of(lake, clusters):
            changed, file = put_history(name, history, lake, run)
            if changed:
                yield name, [] if file is None else [file]


def _in_workers(
    tasks: Sequence[Task], stages: Sequence[Stage], into: tuple[str, str], most: int
) -> Iterator[TaskDone]:
    """`into`: the lake, and the run."""
    waiting = deque((task, 1) for task in tasks)
    busy: dict[Connection, tuple[Task, int, Worker[Task, TaskDone]]] = {}
    idle: list[Worker[Task, TaskDone]] = []
    with WorkerPool(partial(_done, stages, *into)) as pool:
        while waiting or busy:
            while waiting and (idle or len(busy) < most):
                (task, tries), worker = waiting.popleft(), idle.pop() if idle else pool.start()
                busy[worker.pipe] = task, tries, worker
                worker.give(task)
            for pipe in (p for p in wait(list(busy)) if isinstance(p, Connection)):
                task, tries, worker = busy.pop(pipe)
                try:
                    done = worker.take()
                except WorkerLost as lost:
                    worker.end()
                    if tries < CLUSTER_TRIES:
                        waiting.appendleft((task, tries + 1))
                        continue
                    done = not_done(task, stages, _lost(lost.code, tries))
                else:
                    waiting.extend((part, 1) for part in done.parts)
                    idle.append(worker)
                yield replace(done, attempt=tries - 1)


def _done(stages: Sequence[Stage], address: str, run: str, task: Task) -> TaskDone:
    """In a worker; raises BadFile where it cannot write."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    try:
        return do_task(task, stages, lake_at(address), run)
    except BadFile:
        raise
    except Exception as problem:  # noqa: BLE001 - one cluster's trouble never ends the run for the others
        return not_done(task, stages, unexpected(problem))


def _lost(code: int, tries: int) -> str:
    """How a worker ended, and what may be done."""
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    return (
        f"the worker process that judged it was ended {how}, {tries} times; "
        "the kernel does that where memory is short (its log says so)"
    )
